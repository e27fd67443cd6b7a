//! `bulk`: an endless stream.

use super::{Application, Demand, Over, Rank, Socket, Traffic, TrafficKind, Volume, Wait, as_said, nothing_to_check};
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "bulk",
    summary: "writes without end; the run does not wait for it",
    source: "none: longfat's own",
    params: &[],
    check: nothing_to_check,
    canonical: as_said,
    rank: Rank::Endless,
    volume: Volume::None,
    demand: |_, _| Demand { bytes: f64::INFINITY, piece: u32::MAX },
    over: Over::Tcp(|_, _| Box::new(Bulk)),
};

impl Traffic {
    /// Returns the traffic of an endless stream.
    pub fn bulk() -> Self {
        Traffic::of("bulk", &[])
    }
}

#[derive(Debug)]
struct Bulk;

impl Application for Bulk {
    fn act(&mut self, _now: Time, socket: &mut dyn Socket) -> Wait {
        socket.write(u64::MAX);
        Wait::FOR_EVER
    }

    fn stop(&mut self, socket: &mut dyn Socket) {
        // A stream without end has no last byte to wait for.
        socket.stop();
    }
}
