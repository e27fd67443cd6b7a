//! `plain`: drops only cells that do not fit, without regard to their frames.

use super::{AfterLoss, Arrival, BUFFER, Discard, DiscardKind, Verdict};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "plain",
    summary: "a cell that finds the buffer full is dropped; the others of its frame pass as if nothing had happened",
    source: "Romanow and Floyd 1995, section 3",
    params: &[BUFFER],
    after_loss: |_| AfterLoss::Nothing,
    accounts: false,
    check: |_, _| Ok(()),
    build: |_, _| Box::new(Plain),
};

/// Accepts every frame. The registry entry sets the reaction to a frame that lost a cell.
pub(super) struct Plain;

impl Discard for Plain {
    fn on_frame(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Accept
    }
}
