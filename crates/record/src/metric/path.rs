//! Idle path between two real hosts, before the run and after it.

use super::{Bound, Metric, Scope};
use crate::trace::{RealTime, Trace};
use longfat_core::time::Time;

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

/// A metric of the delays of one direction, which are known where the bound of their error is.
macro_rules! one_way {
    ($name:literal, $field:ident[$place:literal], $summary:literal) => {
        Metric {
            name: $name,
            unit: "s",
            bound: Bound::NotNegative,
            summary: concat!("between real hosts whose clocks are synchronised: ", $summary),
            source: "RFC 7679; RFC 1589",
            compute: |_, trace| {
                let real = trace.real_time.filter(|real| real.one_way_error[1] > Time::ZERO);
                real.map(|real| (Scope::Run, real.$field[$place].as_secs_f64())).into_iter().collect()
            },
        }
    };
}

pub(super) const ONE_WAY_UP: Metric = one_way!("one_way_delay_up_s", one_way[0], "least delay of probes to the far host");
pub(super) const ONE_WAY_DOWN: Metric = one_way!("one_way_delay_down_s", one_way[1], "least delay of probes from the far host");
pub(super) const ONE_WAY_ERROR: Metric =
    one_way!("one_way_delay_error_s", one_way_error[0], "error of the delays of one direction, as the hosts estimate it");
pub(super) const ONE_WAY_ERROR_MAX: Metric =
    one_way!("one_way_delay_error_max_s", one_way_error[1], "bound of the error of the delays of one direction");

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
