//! Delay and loss that the probes between two real hosts measured, each direction by itself.

use super::{Bound, Metric, Scope, ratio};
use crate::trace::{ProbeRecord, Trace};

/// Source of the estimate.
const HULL: &str = "Moon, Skelly and Towsley 1999";

/// The value of the probes to the far host (0) or from it (1); none where no probe came through.
fn of(trace: &Trace, place: usize, value: impl Fn(&ProbeRecord) -> f64) -> Vec<(Scope, f64)> {
    let probes = trace.real_time.map(|real| real.probes[place]).filter(|probes| probes.arrived > 0);
    probes.map(|probes| (Scope::Run, value(&probes))).into_iter().collect()
}

/// A metric: a quantile of the waits of one direction. `$count` of the record says how many there are.
macro_rules! wait {
    ($name:literal, $place:literal, $count:ident, $waits:ident[$at:literal], $summary:literal) => {
        Metric {
            name: $name,
            unit: "s",
            bound: Bound::NotNegative,
            summary: concat!("between real hosts: queueing delay of probes ", $summary, "; NaN without such a probe"),
            source: HULL,
            compute: |_, trace| of(trace, $place, |probes| if probes.$count > 0 { probes.$waits[$at].as_secs_f64() } else { f64::NAN }),
        }
    };
}

pub(super) const UP_P50: Metric = wait!("queue_delay_up_p50_s", 0, loaded_count, loaded[0], "to the far host in the measured span, median");
pub(super) const UP_P95: Metric =
    wait!("queue_delay_up_p95_s", 0, loaded_count, loaded[1], "to the far host in the measured span, of which 95 of 100 wait no longer");
pub(super) const UP_P99: Metric =
    wait!("queue_delay_up_p99_s", 0, loaded_count, loaded[2], "to the far host in the measured span, of which 99 of 100 wait no longer");
pub(super) const UP_IDLE_P50: Metric =
    wait!("queue_delay_up_idle_p50_s", 0, idle_count, idle[0], "to the far host before the flows begin, median");
pub(super) const UP_IDLE_P95: Metric =
    wait!("queue_delay_up_idle_p95_s", 0, idle_count, idle[1], "to the far host before the flows begin, of which 95 of 100 wait no longer");
pub(super) const DOWN_P50: Metric =
    wait!("queue_delay_down_p50_s", 1, loaded_count, loaded[0], "from the far host in the measured span, median");
pub(super) const DOWN_P95: Metric = wait!(
    "queue_delay_down_p95_s",
    1,
    loaded_count,
    loaded[1],
    "from the far host in the measured span, of which 95 of 100 wait no longer"
);
pub(super) const DOWN_P99: Metric = wait!(
    "queue_delay_down_p99_s",
    1,
    loaded_count,
    loaded[2],
    "from the far host in the measured span, of which 99 of 100 wait no longer"
);
pub(super) const DOWN_IDLE_P50: Metric =
    wait!("queue_delay_down_idle_p50_s", 1, idle_count, idle[0], "from the far host before the flows begin, median");
pub(super) const DOWN_IDLE_P95: Metric = wait!(
    "queue_delay_down_idle_p95_s",
    1,
    idle_count,
    idle[1],
    "from the far host before the flows begin, of which 95 of 100 wait no longer"
);

pub(super) const LOSS_UP: Metric = Metric {
    name: "probe_loss_up_share",
    unit: "1",
    bound: Bound::Share,
    summary: "between real hosts: probes to the far host that did not arrive, over probes sent, of the whole run",
    source: "RFC 7680",
    compute: |_, trace| of(trace, 0, lost),
};

pub(super) const LOSS_DOWN: Metric = Metric {
    name: "probe_loss_down_share",
    unit: "1",
    bound: Bound::Share,
    summary: "between real hosts: probes from the far host that did not arrive, over probes sent, of the whole run",
    source: "RFC 7680",
    compute: |_, trace| of(trace, 1, lost),
};

fn lost(probes: &ProbeRecord) -> f64 {
    ratio(probes.sent.saturating_sub(probes.arrived) as f64, probes.sent as f64)
}

/// A metric: a quantile of the time from when a probe was due until it left, of the host for which it is greater.
macro_rules! late {
    ($name:literal, $at:literal, $summary:literal) => {
        Metric {
            name: $name,
            unit: "s",
            bound: Bound::NotNegative,
            summary: concat!(
                "between real hosts: time from when a probe was due until it left its host, ",
                $summary,
                ", of the host where it is greater"
            ),
            source: "none: longfat's own",
            compute: |_, trace| {
                let late = |place| of(trace, place, |probes| probes.timer_error[$at].as_secs_f64());
                late(0).into_iter().chain(late(1)).max_by(|a, b| a.1.total_cmp(&b.1)).into_iter().collect()
            },
        }
    };
}

pub(super) const TIMER_ERROR_P50: Metric = late!("timer_error_p50_s", 0, "median");
pub(super) const TIMER_ERROR_P99: Metric = late!("timer_error_p99_s", 1, "of which 99 of 100 are no greater");
