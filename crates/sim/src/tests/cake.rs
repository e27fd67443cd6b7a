//! Tests of `cake` on a whole path: its ACK filter on a narrow reverse path, and codepoints that it washes off.

use std::fmt::Write;

use longfat_core::queue::DropReason;
use longfat_experiment::Document;
use longfat_record::trace::{FlowRecord, Trace};

use crate::run;

/// Payload of the flows with this name after the warmup, in Mb/s.
fn mbps(trace: &Trace, flows: &[FlowRecord]) -> f64 {
    let bytes: u64 = flows.iter().map(|flow| flow.total.delivered - flow.at_warmup.delivered).sum();
    bytes as f64 * 8e-6 / trace.span.1.since(trace.span.0).as_secs_f64()
}

/// `longfat run narrow-uplink --quick`, as a table: behind each queue of the uplink what the download gets, what it sends back, and what becomes of that.
#[test]
fn an_ack_filter_where_the_way_back_is_narrow() {
    let text = include_str!("../../../../experiments/narrow-uplink.toml");
    let document = Document::parse(text, "narrow-uplink.toml").and_then(|document| document.quick()).unwrap().expect("a short form");
    let mut table =
        format!("{:30} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "", "down", "up", "ACKs", "filtered", "overflow", "early", "wait, ms");
    for number in 0..document.run_count() {
        let experiment = document.run(number).unwrap().experiment;
        let trace = run(&experiment).unwrap();
        let labels: Vec<String> = document.labels(number).into_iter().map(|(_, label)| label).collect();
        let uplink = experiment.network.links.iter().position(|link| link.rate.as_bps() == 1_000_000).unwrap();
        let link = &trace.links[uplink];
        let drops = |reason| link.drops.iter().filter(|drop| drop.0 == reason).map(|drop| drop.1).sum::<u64>();
        writeln!(
            table,
            "{:30} {:8.1} {:8.3} {:8} {:8} {:8} {:8} {:8.1}",
            labels.join(", "),
            mbps(&trace, &trace.flows[..1]),
            mbps(&trace, &trace.flows[1..]),
            trace.flows[0].acks_sent,
            drops(DropReason::AckFilter),
            drops(DropReason::Overflow),
            drops(DropReason::Early),
            link.queue_mean_bytes * 8.0 / 1e6 * 1e3,
        )
        .unwrap();
        assert!((drops(DropReason::AckFilter) > 0) == labels.iter().any(|label| label.contains("filter") || label.contains("aggressive")));
    }
    insta::assert_snapshot!(table);
}

/// A queue on the way goes by codepoints, and one before it washes them off, or does not: the ping goes first, or waits behind a bulk flow.
#[test]
fn what_is_washed_off_a_later_queue_does_not_see() {
    let mean = |wash: bool| {
        let link = |from: &str, to: &str, said: &str| format!("[[path.link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{said}\n");
        let text = format!(
            "[path]\nhosts = [\"a\", \"b\"]\nrouters = [\"r\", \"s\"]\n{}{}{}\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\ndscp = \"EF\"\ntraffic = {{ kind = \"ping\", interval = \"10 ms\", size = \"100 bytes\" }}\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nstack = \"linux\"\n[measure]\nduration = \"10 s\"\nwarmup = \"2 s\"\n",
            link("a", "r", "rate = \"1 Gbit/s\""),
            link("r", "s", &format!("rate = \"100 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ kind = \"cake\", wash = {wash} }}")),
            link(
                "s",
                "b",
                "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { kind = \"prio\", class = [{ dscp = \"EF\" }, { queue = { kind = \"droptail\", limit = \"100 packets\" } }] }"
            ),
        );
        let run_of = Document::parse(&text, "wash.toml").and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{e}\n{text}"));
        run(&run_of.experiment).unwrap().flows[0].rtt.mean_s * 1e3
    };
    // 20 ms there and back, and at most a packet of 0.6 ms before it; or some part of 100 packets, 60 ms.
    let (kept, washed) = (mean(false), mean(true));
    assert!((20.0..21.0).contains(&kept), "{kept} ms");
    assert!((40.0..85.0).contains(&washed), "{washed} ms");
}
