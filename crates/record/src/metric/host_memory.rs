//! Memory of hosts that bound it: what their connections promised, buffered and wasted.

use super::{Bound, Metric, Scope};
use crate::trace::{Level, MemoryRecord, Trace};

const PROMISED: &str = "Weigle and Feng 2001, section V";
const WASTED: &str = "Weigle and Feng 2001, section I-B";

pub(super) const PROMISED_MEAN: Metric = Metric {
    name: "memory_promised_mean_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "receive windows advertised and not filled by data in order, on a host with `memory`, and on all of them; mean over the measured span",
    source: PROMISED,
    compute: |_, trace| of(trace, |memory| memory.promised.mean),
};

pub(super) const PROMISED_PEAK: Metric = Metric {
    name: "memory_promised_peak_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "the same, the most at one time in the whole run; of all hosts the sum of their peaks",
    source: PROMISED,
    compute: |_, trace| of(trace, |memory| peak(&memory.promised)),
};

pub(super) const BUFFERED_MEAN: Metric = Metric {
    name: "memory_buffered_mean_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "payload written and not acknowledged, and received and not read, on a host with `memory`, and on all of them; mean over the measured span",
    source: PROMISED,
    compute: |_, trace| of(trace, |memory| memory.buffered.mean),
};

pub(super) const BUFFERED_PEAK: Metric = Metric {
    name: "memory_buffered_peak_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "the same, the most at one time in the whole run; of all hosts the sum of their peaks",
    source: PROMISED,
    compute: |_, trace| of(trace, |memory| peak(&memory.buffered)),
};

pub(super) const WASTED_MEAN: Metric = Metric {
    name: "memory_wasted_mean_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "of what is buffered, what is written and not sent; of what is promised, that for which nothing is on its way; mean",
    source: WASTED,
    compute: |_, trace| of(trace, |memory| memory.wasted.mean),
};

pub(super) const WASTED_PEAK: Metric = Metric {
    name: "memory_wasted_peak_bytes",
    unit: "byte",
    bound: Bound::NotNegative,
    summary: "the same, the most at one time in the whole run, looked at every 100 ms; of all hosts the sum of their peaks",
    source: WASTED,
    compute: |_, trace| of(trace, |memory| peak(&memory.wasted)),
};

pub(super) const DROPS: Metric = Metric {
    name: "memory_drops",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "packets that came to a host with `memory` and found none left",
    source: PROMISED,
    compute: |_, trace| of(trace, |memory| memory.drops as f64),
};

fn peak(level: &Level) -> f64 {
    level.peak as f64
}

/// Returns one value per host with bounded memory, and their sum; nothing where there are none.
fn of(trace: &Trace, value: fn(&MemoryRecord) -> f64) -> Vec<(Scope, f64)> {
    let bounded = trace.hosts.iter().enumerate().filter_map(|(i, host)| Some((i, host.memory.as_ref()?)));
    let mut values: Vec<(Scope, f64)> = bounded.map(|(i, memory)| (Scope::Host(i), value(memory))).collect();
    if !values.is_empty() {
        values.push((Scope::Run, values.iter().map(|(_, value)| value).sum()));
    }
    values
}
