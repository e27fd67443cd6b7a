//! `epd`: early packet discard.

use super::{AfterLoss, Arrival, BUFFER, Discard, DiscardKind, THRESHOLD, Verdict, check_early, threshold};
use crate::params::Params;

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "epd",
    summary: "early packet discard: while the queue is above a threshold, frames that begin are dropped whole",
    source: "Romanow and Floyd 1995, section 5",
    params: &[BUFFER, THRESHOLD],
    after_loss: |_| AfterLoss::Rest,
    accounts: false,
    check: check_early,
    build: |params, _| Box::new(Epd::new(params)),
};

pub(super) struct Epd {
    threshold: u64,
}

impl Epd {
    pub(super) fn new(params: &Params) -> Self {
        Epd { threshold: threshold(params) }
    }
}

impl Discard for Epd {
    fn on_frame(&mut self, arrival: &Arrival) -> Verdict {
        // RF95 §5: while the buffer in use exceeds the threshold, the first cell of a packet is dropped and so are all its others. The rest
        // of the buffer is for frames that have begun.
        if arrival.queued > self.threshold { Verdict::Drop } else { Verdict::Accept }
    }
}
