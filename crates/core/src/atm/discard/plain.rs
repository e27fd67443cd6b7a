//! `plain`: a cell that does not fit is dropped, and its frame is not looked at.

use super::{AfterLoss, Arrival, BUFFER, Discard, DiscardKind, Verdict};

/// The registry entry.
pub const KIND: DiscardKind = DiscardKind {
    name: "plain",
    summary: "a cell that finds the buffer full is dropped; the others of its frame pass as if nothing had happened",
    source: "Romanow and Floyd 1995, section 3",
    params: &[BUFFER],
    after_loss: |_| AfterLoss::Nothing,
    accounts: false,
    check: |_, _| Ok(()),
    build: |_, _| Box::new(Plain),
};

/// Lets every frame begin. Whether it looks at the rest of one that lost a cell is the registry's to say.
pub(super) struct Plain;

impl Discard for Plain {
    fn on_frame(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Accept
    }
}
