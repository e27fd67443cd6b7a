//! Hosts of today: bursts, small queues, interrupts without a processor, clumps.

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Experiment, Flow, Host, Interrupts, Nic, Offload, OnFull};
use longfat_record::trace::Trace;
use longfat_tcp::TcpConfig;
use proptest::prelude::*;

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

const GSO: Offload = Offload { gso_max_size: Some(65_536), min_tso_segs: 2, tso_win_divisor: 3, tso_rtt_log: 9, limit_output_bytes: None };

/// One CUBIC flow with a window of 4 MB over 1 Gb/s and 20 ms, with edges of 10 Gb/s: nothing is lost, and its edge is ten times as fast.
fn gigabit() -> Dumbbell {
    let window = 4 << 20;
    let edge_rate = Rate::from_bps(10_000_000_000);
    Dumbbell {
        rate: Rate::from_bps(1_000_000_000),
        edge_rate,
        rtt: Duration::from_millis(20),
        edge_delay: Duration::from_micros(10),
        tcp: TcpConfig { send_buffer: window, receive_buffer: window, ..tcp("linux") },
        queue: droptail(Capacity::Packets(10_000)),
        duration: Duration::from_secs(4),
        ..Dumbbell::default()
    }
}

fn interrupts(us: u64, gro_max_size: Option<u64>) -> Interrupts {
    Interrupts { rx_ring: None, rx_usecs: Duration::from_micros(us), rx_frames: None, gro_max_size }
}

/// The run with this at the sender's host, and at the receiver's.
fn with(mut experiment: Experiment, sender: Option<Offload>, receiver: Option<Interrupts>) -> Trace {
    let flow = experiment.flows[0].clone();
    experiment.hosts = vec![Host { offload: sender, ..Host::new(flow.from) }, Host { interrupts: receiver, ..Host::new(flow.to) }];
    experiment.hosts.retain(|host| host.offload.is_some() || host.interrupts.is_some());
    run(&experiment).unwrap()
}

#[test]
fn an_ack_answers_a_clump() {
    let experiment = gigabit().experiment();
    let acks = |receiver| {
        let trace = with(experiment.clone(), None, receiver);
        let flow = &trace.flows[0];
        assert_eq!((flow.total.packets_dropped, flow.total.segments_retransmitted), (0, 0));
        // 1 Gb/s of 1500 bytes, of which the window needs all but the start.
        assert!(flow.total.delivered as f64 > 0.93 * 4.0 * 1e9 / 8.0 * 1448.0 / 1500.0, "{}", flow.total.delivered);
        flow.total.segments_sent as f64 / flow.acks_sent as f64
    };
    assert!((acks(None) - 2.0).abs() < 0.05);
    assert!((acks(Some(interrupts(100, None))) - 2.0).abs() < 0.05, "interrupts alone answer each second segment");
    // A packet takes 12 us: the first and those of the next 100 us, 9 in all. At an ACK a clump, and clocks of 1 ms tick in some.
    let clumps = acks(Some(interrupts(100, Some(65_536))));
    assert!((7.5..=9.0).contains(&clumps), "{clumps}");
    // 45 take 540 us.
    let long = acks(Some(interrupts(2000, Some(65_536))));
    assert!((27.0..=45.0).contains(&long), "{long}");
}

#[test]
fn interrupts_delay_the_round_trip() {
    let ping = Traffic::ping(Duration::from_millis(10), 84);
    let experiment = Dumbbell { traffic: ping, duration: Duration::from_secs(1), ..Dumbbell::default() }.experiment();
    let rtt = |how| with(experiment.clone(), None, how).flows[0].rtt.mean_s;
    let plain = rtt(None);
    assert!((rtt(Some(interrupts(300, None))) - plain - 300e-6).abs() < 1e-9);
    assert!((rtt(Some(interrupts(300, Some(65_536)))) - plain - 300e-6).abs() < 1e-9, "what is no TCP is no clump");
    let first = Interrupts { rx_frames: Some(1), ..interrupts(300, None) };
    assert!((rtt(Some(first)) - plain).abs() < 1e-9, "each is enough");
}

#[test]
fn a_ring_loses_what_comes_before_the_interrupt() {
    // 400 packets of 1000 bytes, 8 us apart, and an interrupt 800 us after the first of each batch: the first and 100 more come up to it,
    // and the ring holds 50. That makes 3 batches of 101 and a last one of 97.
    let traffic = Traffic::udpmon(400, Duration::ZERO, 1000);
    let rate = Rate::from_bps(1_000_000_000);
    let queue = droptail(Capacity::Packets(1000));
    let dumbbell = Dumbbell { traffic, rate, edge_rate: rate, queue, duration: Duration::from_secs(2), ..Dumbbell::default() };
    let how = Interrupts { rx_ring: Some(50), ..interrupts(800, None) };
    let trace = with(dumbbell.experiment(), None, Some(how));
    assert_eq!(trace.flows[0].total.delivered, 4 * 50 * 972);
}

#[test]
fn bursts_fill_the_queue_behind_a_fast_edge() {
    let paced = |pacing| {
        let mut dumbbell = gigabit();
        dumbbell.tcp.sending.pacing = pacing;
        // Just less than the path holds: without bursts no queue stands.
        (dumbbell.tcp.send_buffer, dumbbell.tcp.receive_buffer) = (2_000_000, 2_000_000);
        dumbbell.experiment()
    };
    let queue = |experiment: Experiment, offload| {
        let mut experiment = experiment;
        experiment.measure.warmup = Duration::from_secs(2);
        let trace = with(experiment, offload, None);
        (trace.links[0].queue_max_packets, trace.flows[0].total.delivered)
    };
    // Paced at 120 % of a window each round trip a thousandth of a second is over 64 KiB, so 45 segments go at once, with the offload or by the
    // pacer's own quantum of 1 ms; of 3000 bytes it is two.
    let (default, bytes) = queue(paced(longfat_tcp::Pacing::On), None);
    let (gso, _) = queue(paced(longfat_tcp::Pacing::On), Some(GSO));
    let (one, _) = queue(paced(longfat_tcp::Pacing::On), Some(Offload { gso_max_size: Some(3000), ..GSO }));
    assert!(gso >= default && one < gso, "{default} {gso} {one}");
    // Clocked by ACKs a sender without offload answers each with two or three segments, and with it in bursts.
    let (clocked, same) = queue(paced(longfat_tcp::Pacing::Off), Some(GSO));
    assert!(clocked >= 40, "{clocked}");
    assert!((same as f64 / bytes as f64 - 1.0).abs() < 0.02, "{same} and {bytes}");
}

#[test]
fn small_queues_hold_back_what_the_interface_cannot_send() {
    // The interface is the bottleneck: without a limit all 4 MB of the window are in it, less what 20 ms hold of 1 Gb/s.
    let slow = Dumbbell { rate: Rate::from_bps(10_000_000_000), edge_rate: Rate::from_bps(1_000_000_000), ..gigabit() }.experiment();
    let queue = |limit, flows: usize| {
        let mut experiment = slow.clone();
        let flow = experiment.flows[0].clone();
        experiment.flows = (0..flows).map(|i| Flow { stream_of: i, ..flow.clone() }).collect();
        let nic = Nic { txqueuelen: 10_000, on_full: OnFull::Wait };
        let offload = Offload { limit_output_bytes: limit, ..GSO };
        experiment.hosts = vec![Host { nic: Some(nic), offload: Some(offload), ..Host::new(flow.from) }];
        experiment.network.links[2].queue = droptail(Capacity::Packets(10_000));
        let trace = run(&experiment).unwrap();
        assert!(trace.links[2].busy_s > 0.9 * 4.0, "{}", trace.links[2].busy_s);
        let bytes: Vec<u64> = trace.flows.iter().map(|flow| flow.total.delivered).collect();
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(*least as f64 > 0.8 * *most as f64, "{bytes:?}");
        trace.links[2].queue_max_bytes
    };
    assert!(queue(None, 1) > 1_000_000);
    // A burst begins below the limit: 100 kB and 45 segments of 1500 at most, for each flow.
    let (one, three) = (queue(Some(100_000), 1), queue(Some(100_000), 3));
    assert!((100_000..=100_000 + 45 * 1500).contains(&one), "{one}");
    assert!(three <= 3 * (100_000 + 45 * 1500), "{three}");
    // A limit of 1 MiB does not count, but a thousandth of a second does: at twice the rate in slow start 244 kB, or two bursts.
    let linux = queue(Some(1 << 20), 1);
    assert!(linux < 400_000, "{linux}");
}

/// A queue of 20 packets above segmentation offload holds 20 bursts: a standing queue of megabytes where 20 segments are 30 kB.
#[test]
fn a_limit_above_offload_counts_bursts() {
    let slow = Dumbbell { rate: Rate::from_bps(10_000_000_000), edge_rate: Rate::from_bps(1_000_000_000), ..gigabit() }.experiment();
    let most = |gso: Option<u64>| {
        let mut experiment = slow.clone();
        experiment.network.links[2].queue =
            droptail(Capacity::Packets(20)).with(&[("gso_max_size", gso.map_or(Value::Auto, Value::Bytes))]);
        let trace = with(experiment, Some(GSO), None);
        assert!(trace.flows[0].total.packets_dropped > 0, "the queue overflows");
        trace.links[2].queue_max_packets
    };
    // A burst is 45 segments of 1448 bytes at most. One may be with the interface, and 20 wait.
    let (segments, bursts) = (most(None), most(Some(65_536)));
    assert_eq!(segments, 20);
    assert!((400..=21 * 45).contains(&bursts), "{bursts}");
}

/// A third of the congestion window is more than the receiver ever takes: what it takes goes, and nobody waits for more.
#[test]
fn a_small_window_of_the_receiver_holds_no_burst_back() {
    let mut dumbbell = gigabit();
    (dumbbell.tcp.receive_buffer, dumbbell.tcp.initial_window) = (14_480, 100);
    dumbbell.tcp.window_sizing = longfat_tcp::window_sizing::choice("static");
    let bytes = |offload| with(dumbbell.experiment(), offload, None).flows[0].total.delivered as f64;
    let (plain, bursts) = (bytes(None), bytes(Some(GSO)));
    // A window each 20 ms.
    assert!(plain > 0.9 * 14_480.0 * 4.0 / 20e-3, "{plain}");
    assert!(bursts > 0.9 * plain, "{bursts} of {plain}");
}

#[test]
fn what_is_not_said_changes_nothing() {
    let plain = with(gigabit().experiment(), None, None);
    // Segments one by one, and nobody who waits for an interrupt.
    let said = with(gigabit().experiment(), Some(Offload::default()), Some(interrupts(0, None)));
    let text = |trace: &Trace| format!("{:?}", trace.flows);
    assert!(text(&plain) == text(&said), "{:?}\n{:?}", plain.flows[0], said.flows[0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(240))]
    /// Whatever the hosts of today do, every stream is delivered whole, the audit of each run balances, and two runs are the same.
    #[test]
    fn every_byte_is_delivered(
        (gso, min, divisor, log) in (prop::option::of(prop_oneof![Just(1500_u64), Just(9000), Just(65_536), Just(500_000)]), 1_u64..5, 0_u64..5, prop_oneof![Just(0_u64), Just(9), Just(31)]),
        limit in prop::option::of(1_u64..200_000),
        (txqueuelen, wait) in (2_u64..60, prop::option::of(any::<bool>())),
        (ring, us, frames) in (prop::option::of(3_u64..40), 0_u64..3000, prop::option::of(1_u64..9)),
        gro in prop::option::of(prop_oneof![Just(1_u64), Just(5000), Just(65_536)]),
        control in prop_oneof![Just("cubic"), Just("bbr"), Just("prague"), Just("reno")],
        (loss_rate, streams, seed) in (prop_oneof![Just(0.0), Just(0.02)], 1_usize..4, 0_u64..100),
    ) {
        let tcp = TcpConfig { congestion_control: longfat_tcp::congestion::choice(control), ..tcp("linux") };
        let dumbbell = Dumbbell {
            tcp,
            edge_rate: Rate::from_bps(20_000_000),
            traffic: Traffic::ttcp(300_000),
            queue: droptail(Capacity::Packets(20)),
            loss: loss::choice("bernoulli").with(&[("probability", Value::Number(loss_rate))]),
            duration: Duration::from_secs(3600),
            ..Dumbbell::default()
        };
        let mut experiment = dumbbell.experiment();
        experiment.seed = seed;
        let flow = experiment.flows[0].clone();
        experiment.flows = (0..streams).map(|i| Flow { stream_of: i, ..flow.clone() }).collect();
        experiment.flows.push(Flow { traffic: Traffic::udp(Rate::from_bps(1_003_000), 1000), ..flow.clone() });
        let on_full = if wait == Some(false) { OnFull::Stall } else { OnFull::Wait };
        let limit_output_bytes = limit.filter(|_| wait == Some(true));
        let offload = Offload { gso_max_size: gso, min_tso_segs: min, tso_win_divisor: divisor, tso_rtt_log: log, limit_output_bytes };
        let how = Interrupts { rx_ring: ring, rx_usecs: Duration::from_micros(us), rx_frames: frames, gro_max_size: gro };
        let nic = wait.map(|_| Nic { txqueuelen, on_full });
        for node in [flow.from, flow.to] {
            experiment.hosts.push(Host { nic, offload: Some(offload), interrupts: Some(how), ..Host::new(node) });
        }
        experiment.hosts.sort_by_key(|host| host.node);
        if nic.is_some() {
            let hosts = [flow.from, flow.to];
            for link in experiment.network.links.iter_mut().filter(|link| hosts.contains(&link.from)) {
                link.queue = droptail(Capacity::Packets(txqueuelen));
            }
        }
        let trace = run(&experiment).unwrap();
        prop_assert!(trace.flows[..streams].iter().all(|flow| flow.total.delivered == 300_000), "{:?}", trace.flows);
        prop_assert!(format!("{trace:?}") == format!("{:?}", run(&experiment).unwrap()), "two runs differ");
    }
}
