//! Hosts with transmit queues and processors.

use std::sync::Arc;

use longfat_core::params::{Params, Value};
use longfat_core::queue::DropReason;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Backlog, Cpu, Cycles, Experiment, Flow, Host, Intake, Nic, OnFull};
use longfat_record::trace::Trace;
use longfat_tcp::{TcpConfig, congestion};
use proptest::prelude::*;

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

/// `experiment` with this transmit queue at its senders.
fn with_nic(mut experiment: Experiment, txqueuelen: u64, on_full: OnFull) -> Experiment {
    for flow in &experiment.flows {
        if experiment.hosts.iter().all(|host| host.node != flow.from) {
            experiment.hosts.push(Host { nic: Some(Nic { txqueuelen, on_full }), ..Host::new(flow.from) });
        }
    }
    for link in experiment.network.links.iter_mut().filter(|link| experiment.hosts.iter().any(|host| host.node == link.from)) {
        link.queue = droptail(Capacity::Packets(txqueuelen));
    }
    experiment
}

/// One flow of Reno with windows of 8 MB over 622 Mb/s and 70 ms, from a host with a 1 Gb/s interface: its slow start doubles the
/// window each round trip, and sends bursts at twice the rate of the path.
fn slac() -> Dumbbell {
    let window = 8 << 20;
    Dumbbell {
        rate: Rate::from_bps(622_000_000),
        rtt: Duration::from_millis(70),
        tcp: TcpConfig { send_buffer: window, receive_buffer: window, ..tcp("rfc") },
        duration: Duration::from_secs(20),
        ..Dumbbell::default()
    }
}

#[test]
fn a_short_transmit_queue_stalls_and_a_long_one_does_not() {
    // The bottleneck is the interface itself: what comes out of it faster than 1 Gb/s only its own queue can hold.
    let fast = Dumbbell { rate: Rate::from_bps(1_000_000_000), edge_rate: Rate::from_bps(622_000_000), ..slac() };
    let traces: Vec<Trace> =
        [100, 2000, 10_000].into_iter().map(|n| run(&with_nic(fast.experiment(), n, OnFull::Stall)).unwrap()).collect();
    let stalls: Vec<u64> = traces.iter().map(|trace| trace.flows[0].send_stalls).collect();
    assert!(stalls[0] > 0, "{stalls:?}");
    assert_eq!(stalls[2], 0, "a window of 8 MB is under 6000 packets");
    for trace in &traces {
        // A stall is congestion without a loss.
        let flow = &trace.flows[0];
        assert_eq!((flow.total.packets_dropped, flow.total.segments_retransmitted, flow.timeouts), (0, 0, 0));
    }
    let goodput: Vec<u64> = traces.iter().map(|trace| trace.flows[0].total.delivered).collect();
    assert!(goodput[0] < goodput[2], "Reno halves its window at a stall, and 100 packets are far less than a BDP: {goodput:?}");
    assert!(traces[0].links[2].queue_max_packets <= 100);
    assert!(traces[2].links[2].queue_max_packets > 100);
}

#[test]
fn stall_wait_and_drop_differ_in_what_becomes_of_a_segment() {
    let fast = Dumbbell { rate: Rate::from_bps(1_000_000_000), edge_rate: Rate::from_bps(622_000_000), ..slac() };
    let mut experiment = fast.experiment();
    experiment.measure.warmup = Duration::from_secs(10);
    let flow = |on_full| run(&with_nic(experiment.clone(), 100, on_full)).unwrap().flows[0].clone();
    let (stall, wait, drop) = (flow(OnFull::Stall), flow(OnFull::Wait), flow(OnFull::Drop));
    assert!(stall.send_stalls > 0 && stall.total.packets_dropped == 0);
    assert_eq!((wait.send_stalls, wait.total.packets_dropped, wait.total.segments_retransmitted), (0, 0, 0));
    assert!(drop.send_stalls == 0 && drop.total.packets_dropped > 0 && drop.total.segments_retransmitted >= drop.total.packets_dropped);
    // Waiting costs nothing: the window of 8 MB keeps an interface busy whose BDP is 5.4 MB.
    let rate = (wait.total.delivered - wait.at_warmup.delivered) as f64 * 8.0 / 10.0;
    assert!(rate > 0.99 * 622e6 * 1448.0 / 1500.0, "{rate}");
    assert!(wait.total.delivered > stall.total.delivered);
}

#[test]
fn flows_that_wait_for_one_interface_have_their_turns() {
    let fast = Dumbbell { rate: Rate::from_bps(1_000_000_000), edge_rate: Rate::from_bps(100_000_000), ..slac() };
    let mut experiment = fast.experiment();
    let flow = experiment.flows[0].clone();
    // Each could fill the path alone, so that only their turns decide.
    let sender = TcpConfig { initial_window: 1000, ..(*flow.sender).clone() };
    experiment.flows = (0..3).map(|i| Flow { stream_of: i, sender: sender.clone().into(), ..flow.clone() }).collect();
    let trace = run(&with_nic(experiment, 10, OnFull::Wait)).unwrap();
    let bytes: Vec<f64> = trace.flows.iter().map(|flow| flow.total.delivered as f64).collect();
    assert!(bytes.iter().all(|b| (b / bytes[0] - 1.0).abs() < 0.05), "{bytes:?}");
    assert!(trace.links[2].busy_s > 0.97 * 20.0);
}

/// The hosts of SC2003, from §6.2.2 of Bulot, Cottrell and Hughes-Jones 2004; docs/hosts.md derives the costs.
fn sc2003(node: usize) -> Host {
    let cycles = Cycles { packet: 33_718, byte: 0.0403 };
    Host { cpu: Some(Cpu { mhz: 3060, send: cycles, receive: cycles, intake: Intake::default() }), ..Host::new(node) }
}

/// Payload in Mb/s, and the shares of time in which the processors of sender and receiver worked.
fn over_ten_gigabits(mtu: u32, ends: &[usize], rtt_ms: u64) -> (f64, Vec<f64>) {
    let window = 32 << 20;
    let tcp = TcpConfig {
        send_buffer: window,
        receive_buffer: window,
        mss: mtu - 52,
        congestion_control: congestion::choice("cubic"),
        ..tcp("rfc")
    };
    let rtt = Duration::from_millis(rtt_ms);
    let duration = Duration::from_secs(20);
    let mut experiment = Dumbbell {
        rate: Rate::from_bps(10_000_000_000),
        edge_rate: Rate::from_bps(10_000_000_000),
        rtt,
        tcp,
        duration,
        ..Dumbbell::default()
    }
    .experiment();
    experiment.network.links.iter_mut().for_each(|link| link.mtu = mtu);
    experiment.measure.warmup = Duration::from_secs(5);
    let flow = experiment.flows[0].clone();
    experiment.hosts =
        [flow.from, flow.to].into_iter().zip(0..).filter(|(_, end)| ends.contains(end)).map(|(node, _)| sc2003(node)).collect();
    let trace = run(&experiment).unwrap();
    let flow = &trace.flows[0];
    assert_eq!(flow.total.packets_dropped, 0);
    let rate = (flow.total.delivered - flow.at_warmup.delivered) as f64 * 8.0 / 15.0 / 1e6;
    (rate, trace.hosts.iter().map(|host| host.cpu_busy_s / 15.0).collect())
}

#[test]
fn the_two_limits_of_the_sc2003_hosts() {
    // §6.2.2: about 4.3 Gb/s with an MTU of 9000 bytes, about 700 Mb/s with 1500.
    for (mtu, limit) in [(9000, 4300.0), (1500, 700.0)] {
        let (rate, busy) = over_ten_gigabits(mtu, &[0], 17);
        assert!((rate / limit - 1.0).abs() < 0.02, "a sender alone at {mtu}: {rate} Mb/s");
        assert!(busy[0] > 0.99, "{busy:?}");
        let (rate, busy) = over_ten_gigabits(mtu, &[0, 1], 17);
        assert!((rate / limit - 1.0).abs() < 0.03, "both at {mtu}: {rate} Mb/s");
        assert!(busy.iter().any(|share| *share > 0.98), "{busy:?}");
    }
}

#[test]
fn an_idle_processor_costs_time_and_no_rate() {
    // A window of 8 MB over 70 ms is 959 Mb/s of payload, or 13,400 packets of 9000 bytes a second: a quarter of its time.
    let (free, _) = over_ten_gigabits(9000, &[], 300);
    let (rate, busy) = over_ten_gigabits(9000, &[0, 1], 300);
    assert!((rate / free - 1.0).abs() < 0.01, "{rate} and {free}");
    let expected = free / 4300.0;
    assert!(busy.iter().all(|share| (share / expected - 1.0).abs() < 0.05), "{busy:?}, expected {expected}");
}

#[test]
fn a_host_that_costs_nothing_changes_nothing() {
    let plain = slac().experiment();
    let mut said = plain.clone();
    let nothing = Cycles { packet: 0, byte: 0.0 };
    let cpu = Some(Cpu { mhz: 1000, send: nothing, receive: nothing, intake: Intake::default() });
    said.hosts = vec![Host { cpu, ..Host::new(plain.flows[0].from) }, Host { cpu, ..Host::new(plain.flows[0].to) }];
    let (plain, said) = (run(&plain).unwrap(), run(&said).unwrap());
    let text = |trace: &Trace| format!("{:?}{:?}", trace.flows, trace.links);
    assert!(text(&plain) == text(&said), "{:?}\n{:?}", plain.flows[0], said.flows[0]);
}

/// 400 packets of 1000 bytes of UDP at 1 Gb/s, back to back, into a host that takes `us` for each: the numbers of those that are lost, and
/// the bytes that are delivered.
fn burst_into(us: u64, intake: Intake) -> (u64, u64) {
    let traffic = Traffic::udpmon(400, Duration::ZERO, 1000);
    let rate = Rate::from_bps(1_000_000_000);
    let limit = droptail(Capacity::Packets(1000));
    let dumbbell = Dumbbell { traffic, rate, edge_rate: rate, queue: limit, duration: Duration::from_secs(2), ..Dumbbell::default() };
    let mut experiment = dumbbell.experiment();
    let (free, cost) = (Cycles { packet: 0, byte: 0.0 }, Cycles { packet: us, byte: 0.0 });
    let cpu = Cpu { mhz: 1, send: free, receive: cost, intake };
    experiment.hosts = vec![Host { cpu: Some(cpu), ..Host::new(experiment.flows[0].to) }];
    let trace = run(&experiment).unwrap();
    let lost = trace.links.iter().flat_map(|link| &link.drops).filter(|(reason, _)| *reason == DropReason::Overrun).map(|(_, n)| n).sum();
    (lost, trace.flows[0].total.delivered)
}

#[test]
fn a_receiver_slower_than_the_burst_loses_what_its_ring_cannot_hold() {
    // A packet comes every 8 us (1000 bytes at 1 Gb/s) and takes 16: of 400, which come in 3.2 ms, 200 are served meanwhile.
    let ring = |packets| Intake { rx_ring: Some(packets), ..Intake::default() };
    assert_eq!(burst_into(16, Intake::default()), (0, 400 * 972), "nothing is lost where there is room for all");
    // In steady state every second one finds a place: what waits at the end is the ring.
    let (lost, bytes) = burst_into(16, ring(50));
    assert!((148..=151).contains(&lost), "{lost} lost");
    assert_eq!(bytes, (400 - lost) * 972);
    assert_eq!(burst_into(16, ring(200)).0, 0);
    assert_eq!(burst_into(8, ring(2)).0, 0, "as fast as they come");
}

#[test]
fn a_throttled_backlog_loses_a_block() {
    let backlog = |throttles| Intake { backlog: Some(Backlog { max: 50, throttles }), ..Intake::default() };
    let (scattered, _) = burst_into(16, backlog(false));
    let (block, _) = burst_into(16, backlog(true));
    // Full after 100 packets, it takes 50 x 16 us to empty, in which another 100 come and are lost; and so again.
    assert!((148..=151).contains(&scattered), "{scattered} lost one by one");
    assert!((195..=205).contains(&block), "{block} lost in blocks");
}

#[test]
fn interrupts_wait_for_their_time_or_for_enough_packets() {
    // A ping each 10 ms: with a delay of 300 us its round trip is as much longer at each end that has it.
    let ping = Traffic::ping(Duration::from_millis(10), 84);
    let experiment = Dumbbell { traffic: ping, duration: Duration::from_secs(1), ..Dumbbell::default() }.experiment();
    let rtt = |intake: Intake| {
        let mut experiment = experiment.clone();
        let free = Cycles { packet: 0, byte: 0.0 };
        let cpu = Some(Cpu { mhz: 1000, send: free, receive: free, intake });
        experiment.hosts = vec![Host { cpu, ..Host::new(experiment.flows[0].to) }];
        run(&experiment).unwrap().flows[0].rtt.mean_s
    };
    let plain = rtt(Intake::default());
    let waits = Intake { rx_usecs: Duration::from_micros(300), ..Intake::default() };
    assert!((rtt(waits) - plain - 300e-6).abs() < 1e-9);
    assert!((rtt(Intake { rx_frames: Some(2), ..waits }) - plain - 300e-6).abs() < 1e-9, "the second one comes too late");
    assert!((rtt(Intake { rx_frames: Some(1), ..waits }) - plain).abs() < 1e-9, "each is enough");
}

/// `experiment` whose senders hold each packet for up to `most`.
fn with_overhead(mut experiment: Experiment, most: Duration) -> Experiment {
    let hosts = experiment.flows.iter().map(|flow| Host { overhead: Some(most), ..Host::new(flow.from) });
    experiment.hosts = hosts.collect();
    experiment
}

#[test]
fn an_overhead_is_even_between_none_and_the_most() {
    // A probe each 10 ms over a path of 20 ms, of which it meets nobody: the overhead is all that varies.
    let ping = Traffic::ping(Duration::from_millis(10), 84);
    let experiment = Dumbbell { traffic: ping, duration: Duration::from_secs(100), ..Dumbbell::default() }.experiment();
    let plain = run(&experiment).unwrap().flows[0].clone();
    let held = run(&with_overhead(experiment, Duration::from_millis(6))).unwrap().flows[0].clone();
    assert_eq!((plain.rtt.deviation_s, held.packets_delivered), (0.0, plain.packets_delivered));
    assert!(
        held.rtt.min_s - plain.rtt.min_s < 1e-4 && held.rtt.max_s - plain.rtt.min_s > 5.9e-3 && held.rtt.max_s - plain.rtt.min_s <= 6e-3
    );
    assert!((held.rtt.mean_s - plain.rtt.mean_s - 3e-3).abs() < 1e-4, "{}", held.rtt.mean_s);
    // The standard deviation of a uniform distribution is most / sqrt(12).
    assert!((held.rtt.deviation_s / (6e-3 / 12_f64.sqrt()) - 1.0).abs() < 0.03, "{}", held.rtt.deviation_s);
}

#[test]
fn packets_do_not_overtake_each_other_while_they_are_held() {
    // Held for up to 30 ms in a round trip of 20: a packet that overtook another would bring duplicate ACKs.
    let experiment =
        Dumbbell { duration: Duration::from_secs(20), queue: droptail(Capacity::Packets(1000)), ..Dumbbell::default() }.experiment();
    let mut experiment = with_overhead(experiment, Duration::from_millis(30));
    let window = 40_000;
    let flow = &mut experiment.flows[0];
    (Arc::make_mut(&mut flow.sender).send_buffer, Arc::make_mut(&mut flow.receiver).receive_buffer) = (window, window);
    let trace = run(&experiment).unwrap();
    let flow = &trace.flows[0];
    assert_eq!((flow.total.segments_retransmitted, flow.duplicates_received, flow.total.packets_dropped), (0, 0, 0));
    assert!(flow.total.delivered > 1_000_000);
    assert!(format!("{trace:?}") == format!("{:?}", run(&experiment).unwrap()), "two runs differ");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(480))]
    /// Whatever the hosts: the audit of each run balances, nobody waits for ever, and two runs are the same.
    #[test]
    fn hosts_keep_their_books(
        txqueuelen in 1_u64..50,
        on_full in prop_oneof![Just(OnFull::Stall), Just(OnFull::Wait), Just(OnFull::Drop)],
        mhz in prop::option::of(5_u64..1000),
        intake in (prop::option::of(3_u64..30), 0_u64..3000, prop::option::of(1_u64..4), prop::option::of((1_u64..30, any::<bool>()))),
        streams in 1_usize..4,
        recovery in prop_oneof![Just("sack"), Just("newreno")],
        seed in 0_u64..100,
    ) {
        let mut params = longfat_tcp::stack::find("rfc").unwrap().params();
        params.set("recovery", Value::Choice(recovery));
        let tcp = TcpConfig::new(&Params(params.0), 1500);
        let edge_rate = Rate::from_bps(20_000_000);
        let traffic = Traffic::ttcp(200_000);
        let dumbbell = Dumbbell { tcp, edge_rate, traffic, queue: droptail(Capacity::Packets(10)), duration: Duration::from_secs(3600), ..Dumbbell::default() };
        let mut experiment = dumbbell.experiment();
        experiment.seed = seed;
        let flow = experiment.flows[0].clone();
        experiment.flows = (0..streams).map(|_| flow.clone()).collect();
        // Not a packet each 8 ms: those come with every SYN retransmitted (after 1, 3, 7, ... s), and a backlog of one packet then drops
        // each.
        experiment.flows.push(Flow { traffic: Traffic::udp(Rate::from_bps(1_003_000), 1000), ..flow.clone() });
        let mut experiment = with_nic(experiment, txqueuelen, on_full);
        let cycles = Cycles { packet: 2000, byte: 1.0 };
        let (rx_ring, rx_usecs, rx_frames, backlog) = intake;
        let backlog = backlog.map(|(max, throttles)| Backlog { max, throttles });
        let intake = Intake { rx_ring, rx_usecs: Duration::from_micros(rx_usecs), rx_frames, backlog };
        experiment.hosts[0].cpu = mhz.map(|mhz| Cpu { mhz, send: cycles, receive: cycles, intake });
        experiment.hosts.push(Host { cpu: experiment.hosts[0].cpu, ..Host::new(flow.to) });
        let trace = run(&experiment).unwrap();
        prop_assert!(trace.flows[..streams].iter().all(|flow| flow.total.delivered == 200_000), "{:?}", trace.flows);
        prop_assert!(format!("{trace:?}") == format!("{:?}", run(&experiment).unwrap()), "two runs differ");
    }
}
