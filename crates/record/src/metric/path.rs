//! Idle path between two real hosts, before the run and after it.

use super::{Bound, Metric, Scope};
use crate::trace::{RealTime, Trace};

/// A value that is known if it is not zero.
fn known(trace: &Trace, value: impl Fn(&RealTime) -> f64) -> Vec<(Scope, f64)> {
    trace.real_time.as_ref().map(value).filter(|value| *value > 0.0).map(|value| (Scope::Run, value)).into_iter().collect()
}

pub(super) const BASE_RTT_BEFORE: Metric = Metric {
    name: "base_rtt_before_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "between real hosts: round trip of a TCP handshake before the run, the least of three",
    source: "none: longfat's own",
    compute: |_, trace| known(trace, |real| real.base_rtt[0].as_secs_f64()),
};

pub(super) const BASE_RTT_AFTER: Metric = Metric {
    name: "base_rtt_after_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "between real hosts: round trip of a TCP handshake after the run, the least of three",
    source: "none: longfat's own",
    compute: |_, trace| known(trace, |real| real.base_rtt[1].as_secs_f64()),
};

pub(super) const MTU_UP: Metric = Metric {
    name: "mtu_up_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "between real hosts: largest packet that came to the far host unfragmented, before the run",
    source: "RFC 8899",
    compute: |_, trace| known(trace, |real| real.surveys[0].mtu[0] as f64),
};

pub(super) const MTU_DOWN: Metric = Metric {
    name: "mtu_down_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "between real hosts: largest packet that came from the far host unfragmented, before the run",
    source: "RFC 8899",
    compute: |_, trace| known(trace, |real| real.surveys[0].mtu[1] as f64),
};
