//! Runs that end before anything is measured.

use super::{Asked, Check, Warning};
use crate::trace::Trace;
use longfat_core::time::{Duration, Time};

pub(super) const WARNING: Warning = Warning {
    name: "ended_before_measured",
    summary: "the run ended before its measured span began",
    advice: "shorten the warmup, or let the flows send more",
    source: "none: longfat's own",
    about: &["measure.duration", "measure.warmup"],
    check: Check::After(check),
};

fn check(asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let begins = asked.experiment.span_start();
    if trace.end >= Time::ZERO + begins {
        return Vec::new();
    }
    let seconds = |duration: Duration| duration.as_secs_f64();
    vec![format!("the run ended at {} s, before the measured span began at {} s", seconds(trace.end.since(Time::ZERO)), seconds(begins))]
}
