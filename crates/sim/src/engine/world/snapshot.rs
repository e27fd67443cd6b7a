//! Totals of a world by an instant: a measurement over a span is the difference of two of these.

use longfat_core::atm::aal5;
use longfat_core::time::Duration;
use longfat_record::recorder::{MemoryTotals, Totals};
use longfat_record::trace::{FlowCounts, LinkTotals};
use longfat_tcp::LimitedBy;

use super::World;

impl World {
    /// Totals by now.
    pub fn totals_now(&mut self) -> Totals {
        self.advance_links();
        Totals {
            time: self.now,
            flows: (0..self.milestones.len()).map(|flow| self.flow_counts(flow)).collect(),
            links: (0..self.links.len()).map(|link| self.link_totals(link)).collect(),
            processors: self.hosts.processors.iter().map(|processor| processor.busy(self.now)).collect(),
            memory: self
                .hosts
                .pools
                .iter()
                .map(|pool| {
                    let gauges = [&pool.promised, &pool.buffered, &pool.wasted];
                    MemoryTotals { integrals: gauges.map(|of| of.integral(self.now)), peaks: gauges.map(|of| of.peak), drops: pool.drops }
                })
                .collect(),
        }
    }

    fn flow_counts(&self, flow: usize) -> FlowCounts {
        let (sender, receiver) = (&self.endpoints[2 * flow].agent, &self.endpoints[2 * flow + 1].agent);
        let (sent, received) = (sender.stats(), receiver.stats());
        let limited = sender.limited(self.milestones[flow].gave_up.unwrap_or(self.now));
        FlowCounts {
            delivered: receiver.bytes_delivered(),
            arrived: receiver.bytes_arrived(),
            duplicate: received.bytes_duplicate,
            sent: sent.bytes_sent,
            retransmitted: sent.bytes_retransmitted,
            segments_sent: sent.segments_sent,
            segments_retransmitted: sent.segments_retransmitted,
            packets_dropped: self.ledger.dropped_of(flow).packets,
            limited_s: limited.map_or([f64::NAN; LimitedBy::ALL.len()], |times| times.map(Duration::as_secs_f64)),
        }
    }

    /// Its line, and its queue: from a switch, in cells.
    fn link_totals(&self, number: usize) -> LinkTotals {
        let line = LinkTotals::of(&self.links[number], self.now);
        let Some(cells) = self.cell_totals(number) else { return line };
        LinkTotals {
            packets_in: self.ports.in_front_of(number).map_or(0, |port| port.packets_in),
            busy: cells.busy,
            waited: (cells.waited, cells.waited * u128::from(aal5::CELL)),
            waits: None,
            cells: Some(cells.totals()),
            ..line
        }
    }
}
