//! `random_walk`: each value lies near the one before.

use super::{CourseKind, Levels, time};
use crate::params::{Kind, ParamSpec, Value};
use crate::rng::Rng;
use crate::time::Duration;

/// The registry entry.
pub(super) const KIND: CourseKind = CourseKind {
    name: "random_walk",
    summary: "from each value to one near it, reflected at low and high; it begins in the middle",
    source: "none: longfat's own",
    params: &[
        time("step", Some(Value::Duration(Duration::from_millis(100))), "for how long each value holds"),
        ParamSpec {
            name: "by",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.1)),
            doc: "how far it may go in a step, up or down, every distance as likely: a share of high less low",
        },
    ],
    check: |params| if params.number("by") > 0.0 { Ok(()) } else { Err("by must be over 0: with 0 nothing changes".to_owned()) },
    // Steps are even, and reflected: every level is as likely as any other.
    mean: |_| 0.5,
    build: |params, rng| Box::new(RandomWalk { step: params.duration("step"), by: params.number("by"), level: 0.5, rng }),
    of_rates_alone: false,
};

struct RandomWalk {
    step: Duration,
    by: f64,
    level: f64,
    rng: Rng,
}

impl Levels for RandomWalk {
    fn next(&mut self) -> (Duration, f64) {
        let level = self.level;
        let next = level + self.by * (2.0 * self.rng.uniform() - 1.0);
        self.level = if next < 0.0 {
            -next
        } else if next > 1.0 {
            2.0 - next
        } else {
            next
        };
        (self.step, level)
    }
}
