//! Answers of the network between the hosts to the recorder: samples and records of links, and the losses of each flow on them.

use longfat_core::link::Link;
use longfat_core::time::{Duration, Time};
use longfat_record::recorder::{Totals, Watched};
use longfat_record::trace::{FlowCounts, FlowRecord, FlowSample, LinkRecord, LinkSample, LinkTotals};

use crate::linux::network::Network;

impl Watched for Network {
    fn totals(&mut self, now: Time) -> Totals {
        let time = self.catch_up(now);
        let dropped = |packets: &u64| FlowCounts { packets_dropped: *packets, ..FlowCounts::default() };
        Totals {
            time,
            flows: self.log.dropped.iter().map(dropped).collect(),
            links: self.links.iter().map(|link| LinkTotals::of(link, time)).collect(),
            ..Totals::default()
        }
    }

    fn sample(&mut self, at: Time, _flows: &mut Vec<FlowSample>, links: &mut Vec<LinkSample>) {
        self.catch_up(at);
        links.extend(self.links.iter().enumerate().map(|(number, link)| LinkSample::of(number, link, at)));
    }

    fn forget_round_trips(&mut self, _flow: usize) {}

    fn forget_waits(&mut self) {
        self.links.iter_mut().for_each(Link::forget_waits);
    }

    fn flow(&self, _flow: usize) -> FlowRecord {
        FlowRecord::default()
    }

    fn link(&self, link: usize, span: Duration, from: &LinkTotals, to: &LinkTotals) -> LinkRecord {
        LinkRecord::of(&self.links[link], span, from, to)
    }
}
