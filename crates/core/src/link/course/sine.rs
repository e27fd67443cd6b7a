//! `sine`: a sine wave between two values.

use super::{CourseKind, Levels, time, words};
use crate::params::{Params, Value};
use crate::time::Duration;

/// The registry entry.
pub(super) const KIND: CourseKind = CourseKind {
    name: "sine",
    summary: "a sine between low and high, in steps; it begins in the middle, on its way up",
    source: "none: longfat's own",
    params: &[
        time("period", None, "from one top to the next"),
        time("step", Some(Value::Auto), "for how long each value holds; when not given a hundredth of the period"),
    ],
    check: |params| {
        let (period, step) = (params.duration("period"), step(params));
        if step > period / 4 {
            Err(format!("a step of {} is more than a quarter of the period, {}", words(step), words(period)))
        } else {
            Ok(())
        }
    },
    mean: |_| 0.5,
    build: |params, _| Box::new(Sine { period: params.duration("period"), step: step(params), at: 0 }),
    of_rates_alone: false,
};

fn step(params: &Params) -> Duration {
    if params.is_auto("step") { params.duration("period") / 100 } else { params.duration("step") }
}

struct Sine {
    period: Duration,
    step: Duration,
    /// Time within the period, in ps.
    at: u64,
}

impl Levels for Sine {
    fn next(&mut self) -> (Duration, f64) {
        // The value in the middle of the step.
        let middle = (self.at as f64 + self.step.as_ps() as f64 / 2.0) / self.period.as_ps() as f64;
        self.at = (self.at + self.step.as_ps()) % self.period.as_ps();
        (self.step, (1.0 + libm::sin(2.0 * std::f64::consts::PI * middle)) / 2.0)
    }
}
