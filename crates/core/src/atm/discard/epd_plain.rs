//! `epd_plain`: early packet discard that leaves alone what is left of a frame the buffer broke.

use super::epd::Epd;
use super::{AfterLoss, BUFFER, DiscardKind, THRESHOLD, check_early};

/// The registry entry.
pub const KIND: DiscardKind = DiscardKind {
    name: "epd_plain",
    summary: "as epd, but where the buffer overflows all the same, the rest of the frame passes",
    // RF95 §5 does not say what becomes of the rest of a frame that loses a cell in spite of the threshold: this, or what `epd` does.
    source: "Romanow and Floyd 1995, section 5",
    params: &[BUFFER, THRESHOLD],
    after_loss: |_| AfterLoss::Nothing,
    accounts: false,
    check: check_early,
    build: |params, _| Box::new(Epd::new(params)),
};
