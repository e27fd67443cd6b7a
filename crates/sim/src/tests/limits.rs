//! Tests of the time that senders spent waiting for each limit, in runs whose limit is known.

use longfat_core::params::Value;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Experiment, Host, Nic, OnFull};
use longfat_tcp::{LimitedBy, TcpConfig, congestion};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

/// Returns the shares of the time from the handshake on, in the order of [`LimitedBy::ALL`], and the application's share.
fn shares(experiment: &Experiment) -> [f64; 6] {
    let trace = run(experiment).unwrap();
    let flow = &trace.flows[0];
    let end = flow.acked_all.unwrap_or(trace.end);
    let life = end.since(flow.established.unwrap()).as_secs_f64();
    let limited: f64 = flow.total.limited_s.iter().sum();
    assert!(limited <= life * (1.0 + 1e-12), "{limited} of {life}");
    let [cwnd, rwnd, sndbuf, pacing, host] = flow.total.limited_s.map(|time| time / life);
    [cwnd, rwnd, sndbuf, pacing, host, 1.0 - limited / life]
}

#[track_caller]
fn mostly(shares: [f64; 6], which: usize, least: f64) {
    assert!(shares[which] > least, "{shares:?}");
}

const APPLICATION: usize = 5;

fn with(change: impl FnOnce(&mut TcpConfig)) -> Dumbbell {
    let mut dumbbell = Dumbbell::default();
    change(&mut dumbbell.tcp);
    dumbbell
}

#[test]
fn each_limit_has_its_time() {
    mostly(shares(&Dumbbell::default().experiment()), LimitedBy::Cwnd as usize, 0.99);
    // 10 Mb/s over 20 ms is 25 kB.
    mostly(shares(&with(|tcp| tcp.receive_buffer = 16_384).experiment()), LimitedBy::Rwnd as usize, 0.9);
    mostly(shares(&with(|tcp| tcp.send_buffer = 16_384).experiment()), LimitedBy::SendBuffer as usize, 0.9);
    let telnet = Dumbbell { traffic: Traffic::of("writes", &[("rate", Value::Rate(Rate::from_bps(80_000)))]), ..Dumbbell::default() };
    mostly(shares(&telnet.experiment()), APPLICATION, 0.99);
    let mut paced = with(|tcp| tcp.congestion_control = congestion::choice("bbr"));
    paced.queue = droptail(Capacity::Bdp(4.0));
    mostly(shares(&paced.experiment()), LimitedBy::Pacing as usize, 0.8);
    // The interface is the bottleneck, and its queue is short.
    let slow = Dumbbell { edge_rate: Rate::from_bps(5_000_000), ..Dumbbell::default() };
    let mut experiment = slow.experiment();
    let from = experiment.flows[0].from;
    experiment.hosts.push(Host { nic: Some(Nic { txqueuelen: 4, on_full: OnFull::Wait }), ..Host::new(from) });
    mostly(shares(&experiment), LimitedBy::Host as usize, 0.9);
}

/// A volume over a path that nothing holds back: the time after its last byte was sent is the application's, and nothing counts after its end.
#[test]
fn what_comes_after_the_last_byte_is_the_application_s() {
    let short = Dumbbell { traffic: Traffic::ttcp(5_000), ..Dumbbell::default() };
    mostly(shares(&short.experiment()), APPLICATION, 0.9);
}
