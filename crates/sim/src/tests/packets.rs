//! Tests that recorded packet events are those that happened, and that recording changes nothing.

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_model::{Experiment, Watched};
use longfat_record::trace::{EventKind, PacketKind, Trace};
use proptest::prelude::*;

use super::random;
use crate::run;
use longfat_model::dumbbell::{Dumbbell, tcp};

fn recorded(experiment: &Experiment, watched: Watched) -> Trace {
    let mut experiment = experiment.clone();
    experiment.measure.packets = Some(watched);
    run(&experiment).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Each packet that arrives at a TCP sender has its row. The row's state is the one that earlier packets left, and nothing else
    /// changes.
    #[test]
    fn every_ack_finds_its_sender(seed in any::<u64>()) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let mut experiment = experiment.unwrap();
        let plain = recorded(&experiment, Watched::All);
        experiment.measure.acks = true;
        let trace = recorded(&experiment, Watched::All);
        prop_assert_eq!(format!("{:?}", Trace { acks: vec![], ..trace.clone() }), format!("{plain:?}"), "{}", seed);
        prop_assert!(trace.acks.is_sorted_by_key(|row| (row.time, row.flow)));
        for (i, flow) in trace.flows.iter().enumerate() {
            let rows: Vec<_> = trace.acks.iter().filter(|row| row.flow == i as u32).collect();
            prop_assert_eq!(rows.len() as u64, if experiment.flows[i].traffic.is_tcp() { flow.acks_received } else { 0 }, "{}: flow {}", seed, i);
            let came = trace.packets.iter().filter(|row| row.flow == i as u32 && row.is_back && row.kind == PacketKind::Delivered);
            let mut acked = 0;
            // The first is the answer to its SYN.
            for (row, packet) in rows.iter().zip(came.skip(1)) {
                prop_assert_eq!(row.time, packet.time, "{}: flow {}", seed, i);
                prop_assert!(row.acked == acked && row.acked <= row.sent && row.cwnd > 0, "{}: flow {}: {:?}, {}", seed, i, row, acked);
                acked = acked.max(packet.ack.unwrap_or(0));
            }
        }
    }

    /// Every row is counted somewhere else as well, and every count has its rows.
    #[test]
    fn rows_are_what_is_counted(seed in any::<u64>()) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let experiment = experiment.unwrap();
        let (plain, trace) = (run(&experiment).unwrap(), recorded(&experiment, Watched::All));
        prop_assert_eq!(format!("{:?}", Trace { packets: vec![], ..trace.clone() }), format!("{plain:?}"), "{}", seed);
        let rows = |of: &dyn Fn(&longfat_record::trace::PacketEvent) -> bool| trace.packets.iter().filter(|row| of(row)).count() as u64;
        prop_assert!(trace.packets.is_sorted_by_key(|row| (row.time, row.kind)));
        for (i, link) in trace.links.iter().enumerate() {
            let at = |kind| rows(&|row| row.link == Some(i as u32) && row.kind == kind);
            prop_assert_eq!(at(PacketKind::Queued), link.packets_in, "{}: link {}", seed, i);
            prop_assert_eq!(at(PacketKind::Marked), link.marks, "{}: link {}", seed, i);
            for (reason, n) in &link.drops {
                prop_assert_eq!(at(PacketKind::Dropped(*reason)), *n, "{}: link {}", seed, i);
            }
        }
        for (i, flow) in trace.flows.iter().enumerate() {
            let of = |kind: fn(PacketKind) -> bool| rows(&|row| row.flow == i as u32 && kind(row.kind));
            prop_assert_eq!(rows(&|row| row.flow == i as u32 && !row.is_back && row.kind == PacketKind::Delivered), flow.packets_delivered);
            prop_assert_eq!(of(|kind| matches!(kind, PacketKind::Dropped(_))), flow.total.packets_dropped);
            // A segment with data, and only that, has a length.
            if experiment.flows[i].traffic.is_tcp() {
                let data = rows(&|row| row.flow == i as u32 && !row.is_back && row.kind == PacketKind::Sent && row.len > 0);
                prop_assert_eq!(data, flow.total.segments_sent, "{}: flow {}", seed, i);
            }
        }
        // Part of it is that part.
        let n = seed as usize;
        let link = n % trace.links.len();
        let of_link: Vec<_> = trace.packets.iter().filter(|row| row.link == Some(link as u32)).copied().collect();
        prop_assert_eq!(recorded(&experiment, Watched::Link(link)).packets, of_link);
        let flow = n % trace.flows.len();
        let of_flow: Vec<_> = trace.packets.iter().filter(|row| row.flow == flow as u32).copied().collect();
        prop_assert_eq!(recorded(&experiment, Watched::Flows(flow, flow + 1)).packets, of_flow);
        let node = n % experiment.network.nodes.len();
        let is_there = |row: &&longfat_record::trace::PacketEvent| match row.link {
            Some(link) => [experiment.network.links[link as usize].from, experiment.network.links[link as usize].to].contains(&node),
            None => {
                let flow = &experiment.flows[row.flow as usize];
                node == if row.is_back == (row.kind == PacketKind::Delivered) { flow.from } else { flow.to }
            }
        };
        let of_node: Vec<_> = trace.packets.iter().filter(is_there).copied().collect();
        prop_assert_eq!(recorded(&experiment, Watched::Node(node)).packets, of_node);
    }
}

/// One packet of 250 is lost: a row says which, and the fast retransmit is of that one.
#[test]
fn a_fast_retransmit_says_what_it_retransmits() {
    let periodic = loss::choice("periodic").with(&[("period", Value::Count(250))]);
    for stack in ["rfc", "linux", "reno-2001"] {
        let tcp = tcp(stack);
        let dumbbell =
            Dumbbell { loss: periodic.clone(), tcp, duration: Duration::from_secs(8), traffic: Traffic::bulk(), ..Dumbbell::default() };
        let mut experiment = dumbbell.experiment();
        experiment.measure.events = true;
        let trace = recorded(&experiment, Watched::Flows(0, 1));
        let lost: Vec<u64> =
            trace.packets.iter().filter(|row| matches!(row.kind, PacketKind::Dropped(_)) && !row.is_back).map(|row| row.seq).collect();
        let again: Vec<_> = trace.events.iter().filter(|event| event.kind == EventKind::FastRetransmit).collect();
        assert!(again.len() > 5, "{stack}: {}", again.len());
        for event in again {
            assert!(lost.contains(&event.seq), "{stack}: {event:?}");
            // It has gone once more, then or a little later.
            let sent = trace
                .packets
                .iter()
                .filter(|row| row.kind == PacketKind::Sent && !row.is_back && row.seq == event.seq && row.time >= event.time);
            assert!(sent.count() >= 1, "{stack}: {event:?}");
        }
    }
}
