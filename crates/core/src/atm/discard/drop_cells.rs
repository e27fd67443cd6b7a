//! `drop_cells`: a lost cell makes the next ones of its channel be dropped, wherever a frame ends.

use super::plain::Plain;
use super::{AfterLoss, BUFFER, DiscardKind};
use crate::params::{Kind, ParamSpec, Value};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "drop_cells",
    summary: "once a cell finds the buffer full, it and the next cells of its channel are dropped, so many together, wherever frames end",
    source: "Romanow and Floyd 1995, section 4",
    params: &[
        BUFFER,
        ParamSpec {
            name: "cells",
            kind: Kind::Count { unit: "cells", min: 1, max: 1_000_000 },
            // RF95 §4 says "a significant number"; this is a packet of 9180 bytes, the largest of the paper.
            default: Some(Value::Count(192)),
            doc: "cells of a channel that are dropped together, the one that did not fit among them",
        },
    ],
    after_loss: |params| AfterLoss::Cells(params.integer("cells") as u32 - 1),
    accounts: false,
    check: |_, _| Ok(()),
    build: |_, _| Box::new(Plain),
};
