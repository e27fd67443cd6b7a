//! `leo`: a path by satellites in low Earth orbit, which is selected anew at fixed times.

use super::{CourseKind, Levels, SOME_TIME, time};
use crate::params::{ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::Duration;

const INTERVAL: Duration = Duration::from_secs(15);

/// The registry entry.
pub(super) const KIND: CourseKind = CourseKind {
    name: "leo",
    summary: "a satellite in low Earth orbit: every 15 s another satellite and another path, so a new value, any from low to high as likely",
    // Both: the interval of 15 s, and the same instants for all terminals. Mohan and others: delay and rate change at them.
    source: "Mohan and others, A Multifaceted Look at Starlink Performance, WWW 2024; Tanveer and others, Making Sense of Constellations, CoNEXT Companion 2023",
    params: &[
        time("interval", Some(Value::Duration(INTERVAL)), "from one reconfiguration to the next"),
        ParamSpec {
            name: "first",
            kind: SOME_TIME,
            default: Some(Value::Auto),
            doc: "when the first reconfiguration is, at most one interval from the start; when not given, one interval. All terminals change at the same instants",
        },
    ],
    check: |params| match first(params) <= params.duration("interval") {
        true => Ok(()),
        false => Err("first must be at most one interval".to_owned()),
    },
    mean: |_| 0.5,
    build: |params, rng| Box::new(Leo { next: first(params), interval: params.duration("interval"), rng }),
    of_rates_alone: false,
};

fn first(params: &Params) -> Duration {
    if params.is_auto("first") { params.duration("interval") } else { params.duration("first") }
}

struct Leo {
    next: Duration,
    interval: Duration,
    rng: Rng,
}

impl Levels for Leo {
    fn next(&mut self) -> (Duration, f64) {
        (std::mem::replace(&mut self.next, self.interval), self.rng.uniform())
    }
}
