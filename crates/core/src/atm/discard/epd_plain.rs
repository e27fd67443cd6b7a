//! `epd_plain`: early packet discard that lets the rest of a frame pass that lost a cell in the buffer.

use super::epd::Epd;
use super::{AfterLoss, BUFFER, DiscardKind, THRESHOLD, check_early};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "epd_plain",
    summary: "like epd, but where the buffer overflows all the same, the rest of the frame passes",
    // RF95 §5 does not say if the rest of a frame passes that loses a cell in spite of the threshold: it does here, and not in `epd`.
    source: "Romanow and Floyd 1995, section 5",
    params: &[BUFFER, THRESHOLD],
    after_loss: |_| AfterLoss::Nothing,
    accounts: false,
    check: check_early,
    build: |params, _| Box::new(Epd::new(params)),
};
