//! What a world has done by some instant: what is measured over a span is the difference of two of these.

use longfat_core::atm::aal5;
use longfat_core::time::{Duration, Time};

use longfat_record::trace::{self, FlowCounts};
use longfat_tcp::LimitedBy;

use super::{CellTotals, World};
use crate::stage::endpoint::Endpoint;

/// Counts of each flow now, in the order of the experiment.
pub fn counts(world: &World) -> Vec<FlowCounts> {
    let of = |(flow, ends): (usize, &[Endpoint])| {
        let (sender, receiver) = (&ends[0].agent, &ends[1].agent);
        let (sent, received) = (sender.stats(), receiver.stats());
        let limited = sender.limited(world.milestones[flow].gave_up.unwrap_or(world.now));
        FlowCounts {
            delivered: receiver.bytes_delivered(),
            arrived: receiver.bytes_arrived(),
            duplicate: received.bytes_duplicate,
            sent: sent.bytes_sent,
            retransmitted: sent.bytes_retransmitted,
            segments_sent: sent.segments_sent,
            segments_retransmitted: sent.segments_retransmitted,
            packets_dropped: world.ledger.dropped_of(flow).packets,
            limited_s: limited.map_or([f64::NAN; LimitedBy::ALL.len()], |times| times.map(Duration::as_secs_f64)),
        }
    };
    world.endpoints.chunks(2).enumerate().map(of).collect()
}

/// What the links and flows had done by some instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub time: Time,
    /// One for each flow.
    pub flows: Vec<FlowCounts>,
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
                let packets_in = world.ports.in_front_of(number).map_or(0, |port| port.packets_in);
                let line = trace::LinkTotals::of(&world.links[number], world.now);
                LinkTotals { line: trace::LinkTotals { packets_in, busy: cells.busy, waited, waits: None, ..line }, cells }
            }
        }
    }
}

impl Snapshot {
    /// Of `world` now; its links have been advanced to now.
    pub fn of(world: &World) -> Self {
        Snapshot {
            time: world.now,
            flows: counts(world),
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
