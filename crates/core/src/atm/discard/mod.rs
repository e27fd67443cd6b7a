//! Discard policies: the reaction of a switch's output port to a frame, and to the rest of a frame that lost a cell. One file per policy,
//! one line in [`REGISTRY`].

mod drop_cells;
mod epd;
mod epd_ecn;
mod epd_fair;
mod epd_plain;
mod epd_red;
mod plain;
mod ppd;

use crate::by_name;
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::queue::DropReason;
use crate::rng::Rng;
use crate::time::Time;
use crate::units::Rate;

/// The first cell of a frame, as its port sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time at which the whole cell has come.
    pub now: Time,
    /// Cells in the output buffer.
    pub queued: u64,
    /// Time at which the line falls silent unless more cells come, or at which it did.
    pub silent_from: Time,
    /// Cells of this channel in the output buffer; 0 unless the policy [accounts](DiscardKind::accounts).
    pub own: u64,
    /// Channels that have cells in the buffer.
    pub channels: u64,
    /// True if the packet in the frame is ECN-capable. Its IP header is in the first cell.
    pub is_ect: bool,
}

/// Decision on a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Its cells come into the buffer as long as it has room.
    Accept,
    /// Its cells come in as with `Accept`, each marked: congestion was experienced (EFCI).
    Mark,
    /// None of its cells comes in.
    Drop,
}

/// Decides frame by frame. Time never runs backwards between calls.
pub trait Discard {
    /// Decides on the frame whose first cell comes.
    fn on_frame(&mut self, arrival: &Arrival) -> Verdict;
}

/// Cells dropped besides one that found the buffer full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterLoss {
    /// No other cells.
    Nothing,
    /// The rest of its frame, but for the last cell.
    Rest,
    /// The next cells of its channel, whatever their frames.
    Cells(u32),
}

/// Facts about its place that a policy is given when it is made.
#[derive(Clone, Debug)]
pub struct DiscardContext {
    /// Rate of the link, in bits of whole cells.
    pub rate: Rate,
    /// Cells of the largest packet.
    pub frame: u32,
    /// Its own stream of randomness.
    pub rng: Rng,
}

/// One policy.
#[derive(Debug)]
pub struct DiscardKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: &'static [ParamSpec],
    /// Cells that it drops after the buffer has lost one.
    pub after_loss: fn(&Params) -> AfterLoss,
    /// True if it must be told how many cells each channel has in the buffer.
    pub accounts: bool,
    /// Checks what bounds on single parameters cannot say. `Err` is one sentence for the user.
    pub check: fn(&Params, &DiscardContext) -> Result<(), String>,
    /// Builds a policy, for one port.
    pub build: fn(&Params, DiscardContext) -> Box<dyn Discard + Send>,
}

/// Every policy, in the order of listings.
pub const REGISTRY: &[DiscardKind] =
    &[plain::KIND, ppd::KIND, drop_cells::KIND, epd::KIND, epd_plain::KIND, epd_red::KIND, epd_fair::KIND, epd_ecn::KIND];
by_name!(DiscardKind, "discard policy", with params);

/// Reasons why a port did not let a cell in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellDrop {
    /// The buffer was full.
    Overflow,
    /// Its frame had lost a cell, or its channel had ([`AfterLoss::Cells`]).
    Rest,
    /// Its frame was dropped whole.
    Early,
}

impl CellDrop {
    /// Returns the reason why its packet did not arrive.
    pub const fn reason(self) -> DropReason {
        match self {
            CellDrop::Overflow | CellDrop::Rest => DropReason::Overflow,
            CellDrop::Early => DropReason::Early,
        }
    }
}

const BUFFER: ParamSpec = ParamSpec {
    name: "buffer",
    kind: Kind::Count { unit: "cells", min: 1, max: 1_000_000_000 },
    // RF95 §2: 1000 or 2000 cells a port would not be unusual for a small switch.
    default: Some(Value::Count(1000)),
    doc: "cells the output buffer holds, the one in transmission not counted",
};

/// Returns the size of the buffer that `params` give.
pub fn buffer(params: &Params) -> u64 {
    params.integer("buffer")
}

const THRESHOLD: ParamSpec = ParamSpec {
    name: "threshold",
    kind: Kind::Portion { unit: "cells" },
    // RF95 §5.
    default: Some(Value::Number(0.5)),
    doc: "queue above which no new frame is let in: cells, or a fraction of the buffer",
};

/// Returns the threshold that `params` give, in cells.
fn threshold(params: &Params) -> u64 {
    cells_of(params.get("threshold"), buffer(params))
}

/// Returns a portion of the buffer, in cells.
fn cells_of(portion: Value, buffer: u64) -> u64 {
    match portion {
        Value::Count(cells) => cells,
        Value::Number(share) => (share * buffer as f64) as u64,
        other => panic!("{other:?} is no portion"),
    }
}

/// Checks the needs of early discard: a buffer that holds the largest frame, and a threshold within it.
fn check_early(params: &Params, context: &DiscardContext) -> Result<(), String> {
    let (buffer, threshold) = (buffer(params), threshold(params));
    if buffer < u64::from(context.frame) {
        return Err(format!("the buffer is {buffer} cells, less than one packet of the MTU ({} cells)", context.frame));
    }
    if threshold > buffer {
        return Err(format!("the threshold ({threshold} cells) is above the buffer ({buffer} cells)"));
    }
    Ok(())
}
