//! What a world has done by some instant: what is measured over a span is the difference of two of these.

use longfat_core::atm::aal5;
use longfat_core::time::{Duration, Time};

use longfat_experiment::trace;

use super::{CellTotals, World};
use crate::endpoint::Agent;

/// What had arrived of a flow by some instant: bytes delivered in order, bytes that wait for that, and payload bytes that came again.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub delivered: u64,
    pub waiting: u64,
    pub duplicate: u64,
}

impl Arrived {
    pub fn of(receiver: &Agent) -> Self {
        let waiting = receiver.info().memory.receive_buffered;
        Arrived { delivered: receiver.bytes_delivered(), waiting, duplicate: receiver.stats().bytes_duplicate }
    }

    /// Of each flow, in order.
    pub fn of_all(world: &World) -> Vec<Self> {
        world.endpoints.chunks(2).map(|pair| Arrived::of(&pair[1].agent)).collect()
    }
}

/// What the links and flows had done by some instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub time: Time,
    /// One for each flow.
    pub flows: Vec<Arrived>,
    pub links: Vec<LinkTotals>,
    /// How long each processor has been at work.
    pub processors: Vec<Duration>,
    /// Of each memory the integrals over time of what is promised, buffered and wasted, in byte ps.
    pub memory: Vec<[u128; 3]>,
}

/// What a link had done by some instant.
#[derive(Clone, Debug)]
pub struct LinkTotals {
    /// Its line, and its queue: from a switch, in cells.
    pub line: trace::LinkTotals,
    /// From a switch.
    pub cells: CellTotals,
}

impl LinkTotals {
    fn of(world: &World, number: usize) -> Self {
        match world.cell_totals(number) {
            None => LinkTotals { line: trace::LinkTotals::of(&world.links[number], world.now), cells: CellTotals::default() },
            Some(cells) => {
                let waited = (cells.waited, cells.waited * u128::from(aal5::CELL));
                LinkTotals { line: trace::LinkTotals { busy: cells.busy, waited, waits: None }, cells }
            }
        }
    }
}

impl Snapshot {
    /// Of `world` now; its links have been advanced to now.
    pub fn of(world: &World) -> Self {
        Snapshot {
            time: world.now,
            flows: Arrived::of_all(world),
            links: (0..world.links.len()).map(|link| LinkTotals::of(world, link)).collect(),
            processors: world.hosts.processors.iter().map(|processor| processor.busy(world.now)).collect(),
            memory: world
                .hosts
                .pools
                .iter()
                .map(|pool| [&pool.promised, &pool.buffered, &pool.wasted].map(|of| of.integral(world.now)))
                .collect(),
        }
    }
}
