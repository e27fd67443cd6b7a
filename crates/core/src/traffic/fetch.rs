//! `fetch`: a transfer that the receiver asks for, as a client does.

use super::{Application, Demand, Over, Rank, Socket, Traffic, TrafficKind, Volume, Wait, as_said, nothing_to_check};
use crate::params::{Kind, ParamSpec, Value};
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "fetch",
    summary: "the receiver asks for a fixed volume over a connection it opens; the sender writes that and closes; the run ends once all such flows are done",
    source: "Radhakrishnan and others, TCP Fast Open, CoNEXT 2011, section 2",
    params: &[
        ParamSpec { name: "volume", kind: Kind::Bytes { min: 1, max: 1 << 50 }, default: None, doc: "payload bytes of each answer" },
        ParamSpec {
            name: "request",
            kind: Kind::Bytes { min: 1, max: 1 << 30 },
            default: Some(Value::Bytes(200)),
            doc: "payload bytes of the request",
        },
    ],
    check: nothing_to_check,
    canonical: as_said,
    rank: Rank::Volume,
    volume: Volume::Said(|params| params.integer("volume")),
    demand: |params, _| Demand { bytes: params.integer("volume") as f64, piece: u32::MAX },
    over: Over::Asked {
        asks: |params| Box::new(Asks { request: params.integer("request") }),
        answers: |params| Box::new(Answers { left: params.integer("request"), volume: params.integer("volume") }),
    },
};

impl Traffic {
    /// Returns the traffic of a volume of so many bytes that the receiver asks for.
    pub fn fetch(volume: u64) -> Self {
        Traffic::of("fetch", &[("volume", Value::Bytes(volume))])
    }
}

/// The client writes its request.
#[derive(Debug)]
struct Asks {
    request: u64,
}

impl Application for Asks {
    fn act(&mut self, _now: Time, socket: &mut dyn Socket) -> Wait {
        socket.write(self.request);
        Wait::FOR_EVER
    }
}

/// The server answers once the whole request is there.
#[derive(Debug)]
struct Answers {
    /// Bytes of the request that have not come.
    left: u64,
    volume: u64,
}

impl Application for Answers {
    fn act(&mut self, _now: Time, socket: &mut dyn Socket) -> Wait {
        self.left -= socket.read(self.left);
        if self.left > 0 {
            return Wait { readable: true, ..Wait::FOR_EVER };
        }
        socket.write(self.volume);
        socket.close();
        Wait::FOR_EVER
    }
}
