//! The emulated network by itself, told what the time is.

use super::*;
use crate::linux::frame::TCP;
use longfat_core::time::Duration;
use longfat_experiment::Document;

const HOSTS: [u32; 2] = [0x0a00_0001, 0x0a00_0002];

/// Two hosts, 8 Mbit/s and 10 ms between them: 1000 bytes take 1 ms.
fn network(bottleneck: &str) -> Network {
    let text = format!(
        "[path]\npreset = \"explicit\"\nhosts = [\"a\", \"b\"]\n\
         [[path.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nmtu = \"1500 bytes\"\n{bottleneck}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"1 s\"\nevents = true\n"
    );
    let document = Document::parse(&text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    let experiment = document.run(0).unwrap_or_else(|e| panic!("{e}")).experiment;
    let mut network = Network::new(&experiment, &[0, 1], &HOSTS);
    network.expect(Tuple { from: HOSTS[0], to: HOSTS[1], protocol: TCP, from_port: 1024, to_port: 1024 }, 0);
    network
}

/// A TCP segment in an IP packet of `len` bytes, sent by a host at `at`.
fn send(network: &mut Network, at: Time, from: usize, len: u16, tos: u8) {
    let (place, bytes) = network.log.frames.vacant();
    bytes[..40].fill(0);
    (bytes[0], bytes[1], bytes[9], bytes[32]) = (0x45, tos, TCP, 5 << 4);
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes[12..16].copy_from_slice(&HOSTS[from].to_be_bytes());
    bytes[16..20].copy_from_slice(&HOSTS[1 - from].to_be_bytes());
    bytes[20..24].copy_from_slice(&[4, 0, 4, 0]);
    network.log.frames.filled(place, len.into());
    network.enter(at, place);
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

#[test]
fn departures_are_counted_from_when_the_line_is_free_however_late_one_looks() {
    let mut network = network("");
    (0..3).for_each(|_| send(&mut network, us(100), 0, 1000, 0));
    // The other way is free meanwhile.
    send(&mut network, us(150), 1, 100, 0);
    assert_eq!(network.next(), us(1100), "the first has left");
    network.advance(us(50_000));
    let came: Vec<_> = network.ready.iter().map(|delivery| (delivery.at, delivery.host)).collect();
    assert_eq!(came, [(us(10_250), 0), (us(11_100), 1), (us(12_100), 1), (us(13_100), 1)]);
    assert_eq!((network.links[0].count.delivered, network.packets.len(), network.next()), (3, 0, Time::MAX));
}

#[test]
fn what_does_not_fit_is_dropped_and_its_place_is_free() {
    let mut network = network("queue = { kind = \"droptail\", limit = \"2 packets\" }");
    (0..5).for_each(|_| send(&mut network, us(0), 0, 1000, 0));
    assert_eq!(network.log.dropped, [2], "one is sent, two wait");
    assert_eq!(network.log.events.len(), 2);
    network.advance(us(50_000));
    assert_eq!(network.ready.len(), 3);
    for delivery in std::mem::take(&mut network.ready) {
        network.log.frames.free(delivery.frame);
    }
    let made = network.log.frames.made();
    for _ in 0..made {
        let _ = network.log.frames.vacant();
    }
    assert_eq!(network.log.frames.made(), made, "every place was free");
}

#[test]
fn a_packet_that_was_marked_says_so() {
    let mut network = network("queue = { kind = \"step\", limit = \"60 packets\", threshold = \"1 packets\" }");
    (0..5).for_each(|_| send(&mut network, us(0), 0, 1000, 2));
    network.advance(us(50_000));
    let marked = network.ready.iter().filter(|delivery| delivery.is_marked).count() as u64;
    assert_eq!(marked, network.links[0].count.marks);
    assert!((1..5).contains(&marked), "{marked}");
}

#[test]
fn what_is_for_nobody_here_is_counted_and_thrown_away() {
    let mut network = network("");
    let (place, bytes) = network.log.frames.vacant();
    bytes[0] = 0x60;
    network.log.frames.filled(place, 40);
    network.enter(us(1), place);
    assert_eq!((network.strays, network.packets.len()), (1, 0));
}
