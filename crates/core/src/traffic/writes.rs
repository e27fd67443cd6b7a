//! `writes`: an application with a rate of its own.

use super::{
    Application, Demand, Departures, Over, Rank, SHAPE, Schedule, Socket, TrafficKind, Volume, Wait, nothing_to_check, rate, shape_of,
};
use crate::params::{Choice, Kind, ParamSpec, Params, Value};
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "writes",
    summary: "writes over TCP at a rate of its own, whatever TCP has sent of it; the run does not wait for it",
    source: "none: longfat's own, for the constant rate, Poisson and Pareto of Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, section III",
    params: &[
        rate("rate", "mean, of payload written"),
        ParamSpec {
            name: "size",
            kind: Kind::Bytes { min: 1, max: 1 << 30 },
            default: Some(Value::Bytes(1460)),
            doc: "bytes of each write",
        },
        ParamSpec {
            name: "gaps",
            kind: Kind::Choice(&["even", "poisson", "pareto"]),
            default: Some(Value::Choice("even")),
            doc: "time between writes: even (a constant rate), exponential (Poisson arrivals) or Pareto, independent of each other",
        },
        ParamSpec {
            name: "shape",
            kind: SHAPE,
            default: Some(Value::Number(1.5)),
            doc: "shape of Pareto gaps; the variance is infinite below 2",
        },
    ],
    check: nothing_to_check,
    canonical: without_a_shape_of_other_gaps,
    rank: Rank::Limited,
    volume: Volume::None,
    demand: |params, time| {
        // Upper bound: writes that cannot go at once go together.
        let bytes = schedule(params).mean_bps() * time.as_secs_f64() / 8.0;
        Demand { bytes, piece: params.integer("size") as u32 }
    },
    over: Over::Tcp(|params, life| {
        let size = params.integer("size");
        Box::new(Writes { departures: Departures::new(schedule(params), size as u32, life.start, life.rng), size })
    }),
};

/// Only Pareto gaps have a shape.
fn without_a_shape_of_other_gaps(choice: Choice) -> Choice {
    if choice.params.choice("gaps") == "pareto" { choice } else { choice.with(&[("shape", Value::Auto)]) }
}

fn schedule(params: &Params) -> Schedule {
    let rate = params.rate("rate");
    match params.choice("gaps") {
        "even" => Schedule::Constant { rate },
        _ => Schedule::Random { rate, shape: shape_of(params, "shape") },
    }
}

#[derive(Debug)]
struct Writes {
    departures: Departures,
    size: u64,
}

impl Application for Writes {
    fn act(&mut self, now: Time, socket: &mut dyn Socket) -> Wait {
        while self.departures.next() <= now {
            socket.write(self.size);
            self.departures.advance();
        }
        Wait::until(self.departures.next())
    }
}
