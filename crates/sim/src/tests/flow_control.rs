//! IEEE 802.3x flow control and shaped senders: which senders are stopped, when, and which losses that avoids.

use std::sync::Arc;

use longfat_core::link::Shaper;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Experiment, Host, Link, Nic, OnFull, Pause};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

const MEMORY: u64 = 500_000;

/// The switch of Antony and others 2003: from 1 Gb/s into 599 Mb/s over 96 ms, with half a megabyte between.
fn lambda(traffic: Traffic) -> Experiment {
    let queue = droptail(Capacity::Bytes(MEMORY));
    let (rate, edge_rate) = (Rate::from_bps(599_000_000), Rate::from_bps(1_000_000_000));
    let mut experiment = Dumbbell { traffic, queue, rate, edge_rate, duration: Duration::from_secs(3), ..Dumbbell::default() }.experiment();
    for link in &mut experiment.network.links {
        let delay = if link.rate == rate { Duration::from_millis(48) } else { Duration::from_micros(10) };
        (link.delay, link.overhead, link.min_frame) = (delay, 38, 84);
    }
    experiment
}

fn with_pause(mut experiment: Experiment, on: u64, quanta: u64) -> Experiment {
    for link in experiment.network.links.iter_mut().filter(|link| link.bottleneck) {
        link.pause = Some(Pause { on, off: on / 2, quanta });
    }
    experiment
}

#[test]
fn a_burst_is_stopped_before_the_memory_is_full() {
    let burst = || lambda(Traffic::udpmon(5000, Duration::ZERO, 1028));
    let plain = run(&burst()).unwrap();
    assert!(plain.flows[0].total.packets_dropped > 1000, "{}", plain.flows[0].total.packets_dropped);
    // A short PAUSE is repeated.
    for quanta in [65_535, 200, 50] {
        let trace = run(&with_pause(burst(), 400_000, quanta)).unwrap();
        assert_eq!((trace.flows[0].total.packets_dropped, trace.flows[0].packets_delivered), (0, 5000), "{quanta}");
        let experiment = burst();
        let of = |wanted: &dyn Fn(&Link) -> bool| {
            let place = experiment.network.links.iter().position(wanted).unwrap();
            &trace.links[place]
        };
        let (bottleneck, edge) = (of(&|link| link.bottleneck), of(&|link| link.from == experiment.flows[0].from));
        // After the PAUSE is sent, 0.7 us long, and until it has come, 10 us later, the sender goes on; what it has sent takes 10 us; and it
        // sends its last packet to the end.
        let headroom = (20.7e-6_f64 * 1e9 / 8.0) as u64 + 2 * 1028;
        assert!((400_000..400_000 + headroom).contains(&bottleneck.queue_max_bytes), "{quanta}: {}", bottleneck.queue_max_bytes);
        assert!(edge.pauses >= 2 && edge.held_s > 0.0, "{quanta}: {} {}", edge.pauses, edge.held_s);
    }
}

#[test]
fn it_reaches_back_into_the_sender() {
    // The sender's queue holds 50 packets; TCP waits for room there, and nothing is lost anywhere.
    let mut experiment = lambda(Traffic::bulk());
    let window = 32 << 20;
    let flow = &mut experiment.flows[0];
    Arc::make_mut(&mut flow.sender).send_buffer = window;
    Arc::make_mut(&mut flow.receiver).receive_buffer = window;
    let from = flow.from;
    experiment.hosts.push(Host { nic: Some(Nic { txqueuelen: 50, on_full: OnFull::Wait }), ..Host::new(from) });
    for link in experiment.network.links.iter_mut().filter(|link| link.from == from) {
        link.queue = droptail(Capacity::Packets(50));
    }
    let rate = |experiment: &Experiment| {
        let trace = run(experiment).unwrap();
        (trace.flows[0].total.delivered as f64 * 8e-6 / 3.0, trace.flows[0].total.packets_dropped)
    };
    let (lossy, dropped) = rate(&experiment);
    let (whole, none) = rate(&with_pause(experiment, 400_000, 65_535));
    assert!(dropped > 0 && none == 0);
    assert!(whole > 300.0 && whole > 2.0 * lossy, "{whole} and {lossy} Mb/s");
}

#[test]
fn a_shaped_sender_loses_nothing() {
    let shaped = |rate: u64, burst| {
        let mut experiment = lambda(Traffic::udpmon(5000, Duration::ZERO, 1028));
        let shaper = Shaper { rate: Rate::from_bps(rate), burst };
        experiment.hosts.push(Host { shaper: Some(shaper), ..Host::new(experiment.flows[0].from) });
        run(&experiment).unwrap().flows[0].total.packets_dropped
    };
    // 599 Mb/s of frames are 577 of IP.
    assert_eq!(shaped(570_000_000, 0), 0);
    assert!(shaped(700_000_000, 0) > 0);
    // The bucket's burst is sent at once, beyond the rate, and has to fit into the memory.
    assert_eq!(shaped(570_000_000, 480_000), 0);
    assert!(shaped(570_000_000, 530_000) > 0);
}
