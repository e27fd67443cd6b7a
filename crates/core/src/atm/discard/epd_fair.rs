//! `epd_fair`: early packet discard with per-channel accounting.
//!
//! R. Goyal, R. Jain, S. Kalyanaraman, S. Fahmy, "UBR+: Improving Performance of TCP over ATM-UBR Service", ICC 1997 (selective drop),
//! after J. Heinanen and K. Kilkki, "A fair buffer allocation scheme", Computer Communications 21, 1998. Their factor that grows stricter
//! as the buffer fills is left out.

use super::{AfterLoss, Arrival, BUFFER, Discard, DiscardKind, THRESHOLD, Verdict, check_early, threshold};
use crate::params::{Kind, ParamSpec, Value};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "epd_fair",
    summary: "early packet discard by channel: above the threshold, channels with more than their share of the queue lose new frames",
    source: "Goyal et al. 1997; Heinanen and Kilkki 1998",
    params: &[
        BUFFER,
        THRESHOLD,
        ParamSpec {
            name: "share",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            default: Some(Value::Number(1.0)),
            doc: "how many times an equal share of the queue a channel may have; channels without a cell in it do not count",
        },
    ],
    after_loss: |_| AfterLoss::Rest,
    accounts: true,
    check: check_early,
    build: |params, _| Box::new(EpdFair { threshold: threshold(params), share: params.number("share") }),
};

struct EpdFair {
    threshold: u64,
    share: f64,
}

impl Discard for EpdFair {
    fn on_frame(&mut self, arrival: &Arrival) -> Verdict {
        // Goyal et al. 1997: Y N / X > Z, with Y of X cells from this channel, and N channels that have any.
        let over = (arrival.own * arrival.channels) as f64 > self.share * arrival.queued as f64;
        if arrival.queued > self.threshold && over { Verdict::Drop } else { Verdict::Accept }
    }
}
