//! `web`: transfers with a heavy tail of sizes, and time to think between them.

use super::{Application, Demand, Over, Rank, SHAPE, SOME_TIME, Socket, TrafficKind, Volume, Wait, as_said, nothing_to_check, shape_of};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "web",
    summary: "transfers of random size over one TCP connection, with time to think between them; the run does not wait for it",
    source: "Crovella and Bestavros, Self-Similarity in World Wide Web Traffic: Evidence and Possible Causes, IEEE/ACM ToN 5(6), 1997",
    params: &[
        ParamSpec {
            name: "size",
            kind: Kind::Bytes { min: 1, max: 1 << 40 },
            default: None,
            doc: "mean payload of a transfer; its distribution is Pareto",
        },
        ParamSpec {
            name: "shape",
            kind: SHAPE,
            default: Some(Value::Number(1.2)),
            doc: "shape of that distribution; the variance is infinite below 2",
        },
        ParamSpec {
            name: "think",
            kind: SOME_TIME,
            default: None,
            doc: "mean time from the acknowledgment of a transfer's last byte to the next transfer",
        },
        ParamSpec {
            name: "think_shape",
            kind: SHAPE,
            default: Some(Value::Auto),
            doc: "shape of the Pareto distribution of that time; by default it is exponential",
        },
    ],
    check: nothing_to_check,
    canonical: as_said,
    rank: Rank::Background,
    volume: Volume::None,
    demand: |params, time| {
        // Upper bound: a transfer takes time as well.
        let bytes = params.integer("size") as f64 * time.as_secs_f64() / params.duration("think").as_secs_f64();
        Demand { bytes, piece: u32::MAX }
    },
    over: Over::Tcp(|params, life| Box::new(Reading { transfers: Transfers::new(Web::of(params), life.rng), thinks: false })),
};

/// A reader who thinks, fetches a transfer, and thinks again once its last byte is acknowledged.
#[derive(Debug)]
struct Reading {
    transfers: Transfers,
    thinks: bool,
}

impl Application for Reading {
    fn act(&mut self, now: Time, socket: &mut dyn Socket) -> Wait {
        self.thinks = !self.thinks;
        if self.thinks {
            return Wait::until(now.saturating_add(self.transfers.think()));
        }
        socket.write(self.transfers.size());
        Wait::ACKED
    }
}

/// Transfers of random size over one connection; after the last byte of one is acknowledged, the reader thinks before the next.
/// Crovella and Bestavros 1997 (*IEEE/ACM ToN* 5(6)) found sizes and times of thought on the web to be Pareto.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Web {
    /// Mean size, in bytes of payload, and shape of its Pareto distribution.
    size: u64,
    shape: f64,
    /// Mean time to think; Pareto of this shape, or exponential.
    think: Duration,
    think_shape: Option<f64>,
}

impl Web {
    fn of(params: &Params) -> Self {
        Web {
            size: params.integer("size"),
            shape: params.number("shape"),
            think: params.duration("think"),
            think_shape: shape_of(params, "think_shape"),
        }
    }
}

/// Transfers of one flow.
#[derive(Debug)]
struct Transfers {
    web: Web,
    rng: Rng,
}

/// Largest single transfer: 1 PiB.
const LARGEST: u64 = 1 << 50;

impl Transfers {
    /// Returns the transfers, with the flow's own random stream.
    fn new(web: Web, rng: Rng) -> Self {
        Transfers { web, rng }
    }

    /// Draws the bytes of the next transfer: at least one.
    fn size(&mut self) -> u64 {
        let size = self.rng.pareto(self.web.shape, self.web.size as f64);
        // A cast of a float to an integer saturates.
        ((size + 0.5) as u64).clamp(1, LARGEST)
    }

    /// Draws how long the reader thinks before the next transfer, at least 1 ps.
    fn think(&mut self) -> Duration {
        let mean = self.web.think.as_secs_f64();
        let seconds = match self.web.think_shape {
            Some(shape) => self.rng.pareto(shape, mean),
            None => self.rng.exponential(mean),
        };
        Duration::from_secs_f64(seconds).max(Duration::from_ps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_thoughts_have_their_means_and_tails() {
        let web = Web { size: 100_000, shape: 2.5, think: Duration::from_millis(500), think_shape: None };
        let mut transfers = Transfers::new(web, Rng::named(1, "web"));
        let n = 200_000;
        let sizes: Vec<f64> = (0..n).map(|_| transfers.size() as f64).collect();
        let thoughts: Vec<f64> = (0..n).map(|_| transfers.think().as_secs_f64()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let beyond = |values: &[f64], x: f64| values.iter().filter(|value| **value > x).count() as f64 / values.len() as f64;
        assert!((mean(&sizes) / 1e5 - 1.0).abs() < 0.01, "{}", mean(&sizes));
        assert!((mean(&thoughts) / 0.5 - 1.0).abs() < 0.01, "{}", mean(&thoughts));
        // The least size is 60,000 bytes: P(X > 600,000) = 10^-2.5. Of an exponential, P(X > 1 s) = e^-2.
        assert!((beyond(&sizes, 6e5) - 0.003_162).abs() < 0.0004, "{}", beyond(&sizes, 6e5));
        assert!((beyond(&thoughts, 1.0) - 0.1353).abs() < 0.003, "{}", beyond(&thoughts, 1.0));
        assert!(sizes.iter().all(|size| *size >= 59_999.0));

        let mut pareto = Transfers::new(Web { think_shape: Some(1.5), ..web }, Rng::named(1, "web"));
        let thoughts: Vec<f64> = (0..n).map(|_| pareto.think().as_secs_f64()).collect();
        // The least is 0.5 / 3 s: P(X > 4 x least) = 4^-1.5 = 1/8.
        assert!((beyond(&thoughts, 2.0 / 3.0) - 0.125).abs() < 0.003, "{}", beyond(&thoughts, 2.0 / 3.0));
    }
}
