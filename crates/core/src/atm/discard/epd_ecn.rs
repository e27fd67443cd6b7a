//! `epd_ecn`: like `epd_red`, but frames of ECN-capable packets are marked instead of dropped.
//!
//! RF95 §7 would have TCP answer to explicit notification (Floyd 1994). The mark is the explicit forward congestion indication
//! of the cells (ITU-T I.371), and becomes CE where the frame becomes a packet again.

use super::epd_red::{EpdRed, PARAMS, check};
use super::{AfterLoss, DiscardKind};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "epd_ecn",
    summary: "like epd_red, but frames of ECN-capable packets are marked instead of dropped while the average is under max_threshold",
    source: "Romanow and Floyd 1995, section 7; Floyd 1994; RFC 3168",
    params: PARAMS,
    after_loss: |_| AfterLoss::Rest,
    accounts: false,
    check,
    build: |params, context| Box::new(EpdRed::new(params, context, true)),
};
