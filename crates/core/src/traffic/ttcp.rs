//! `ttcp`: a fixed volume, as the measurement program of that name sends it.

use super::{Application, Demand, Over, Rank, Socket, Traffic, TrafficKind, Volume, Wait, as_said, nothing_to_check};
use crate::params::{Kind, ParamSpec, Value};
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "ttcp",
    summary: "writes a fixed volume as fast as TCP takes it, then closes; the run ends once all such flows are done",
    source: "Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, section 4.4",
    params: &[ParamSpec {
        name: "volume",
        kind: Kind::Bytes { min: 1, max: 1 << 50 },
        default: None,
        doc: "payload bytes of each connection",
    }],
    check: nothing_to_check,
    canonical: as_said,
    rank: Rank::Volume,
    volume: Volume::Said(|params| params.integer("volume")),
    demand: |params, _| Demand { bytes: params.integer("volume") as f64, piece: u32::MAX },
    over: Over::Tcp(|params, _| Box::new(Ttcp { volume: params.integer("volume") })),
};

impl Traffic {
    /// Returns the traffic of a volume of so many bytes.
    pub fn ttcp(volume: u64) -> Self {
        Traffic::of("ttcp", &[("volume", Value::Bytes(volume))])
    }
}

#[derive(Debug)]
struct Ttcp {
    volume: u64,
}

impl Application for Ttcp {
    fn act(&mut self, _now: Time, socket: &mut dyn Socket) -> Wait {
        socket.write(self.volume);
        socket.close();
        Wait::FOR_EVER
    }
}
