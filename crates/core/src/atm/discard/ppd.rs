//! `ppd`: partial packet discard.

use super::plain::Plain;
use super::{AfterLoss, BUFFER, DiscardKind};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "ppd",
    summary: "partial packet discard: once a cell of a frame is dropped, so are all that follow but the last",
    source: "Armitage and Adams 1993; Romanow and Floyd 1995, section 4",
    params: &[BUFFER],
    after_loss: |_| AfterLoss::Rest,
    accounts: false,
    check: |_, _| Ok(()),
    build: |_, _| Box::new(Plain),
};
