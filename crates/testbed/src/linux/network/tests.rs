//! The emulated network by itself, told what the time is.

use super::*;
use longfat_core::time::Duration;
use longfat_experiment::Document;
use longfat_model::Node;

const HOSTS: [u32; 3] = [0x0a00_0001, 0x0a00_0002, 0x0a00_0003];

/// Two hosts, 8 Mbit/s and 10 ms between them: 1000 bytes take 1 ms.
fn network(bottleneck: &str) -> Network {
    network_of(&format!(
        "[path]\npreset = \"explicit\"\nhosts = [\"a\", \"b\"]\n\
         [[path.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nmtu = \"1500 bytes\"\n{bottleneck}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"1 s\"\nevents = true\n"
    ))
}

/// Returns the network of an experiment with the hosts a, b (and c), whose first flow goes from a to b.
fn network_of(text: &str) -> Network {
    let document = Document::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    let experiment = document.run(0).unwrap_or_else(|e| panic!("{e}")).experiment;
    let nodes: Vec<usize> = (0..HOSTS.len()).filter(|node| experiment.network.nodes.get(*node).is_some_and(Node::is_host)).collect();
    let mut network = Network::new(&experiment, &nodes, &HOSTS[..nodes.len()]);
    network.expect(Tuple { from: HOSTS[0], to: HOSTS[1], protocol: TCP, from_port: 1024, to_port: 1024 }, 0);
    network
}

/// A TCP segment in an IP packet of `len` bytes, sent by a host at `at`.
fn send(network: &mut Network, at: Time, from: usize, len: u16, tos: u8) {
    send_to(network, at, (from, 1 - from), len, tos);
}

fn send_to(network: &mut Network, at: Time, (from, to): (usize, usize), len: u16, tos: u8) {
    let (place, bytes) = network.log.frames.vacant();
    bytes[..40].fill(0);
    (bytes[0], bytes[1], bytes[9], bytes[32]) = (0x45, tos, TCP, 5 << 4);
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes[12..16].copy_from_slice(&HOSTS[from].to_be_bytes());
    bytes[16..20].copy_from_slice(&HOSTS[to].to_be_bytes());
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
    assert_eq!(network.next(), us(10_250), "when a packet leaves is known: nobody has to look");
    network.catch_up(us(1100));
    let link = &network.links[0];
    assert_eq!((link.carried().transmitted, link.count.backlog), (2, 1), "the first has left, and the second begins");
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
    let marked = network.ready.iter().filter(|delivery| delivery.tos == Some(3)).count() as u64;
    assert_eq!(marked, network.links[0].count.marks);
    assert!((1..5).contains(&marked), "{marked}");
}

#[test]
fn what_is_washed_on_the_way_says_so() {
    let mut network = network("queue = { kind = \"cake\", wash = true }");
    // EF and ECT(1), and none with ECT(1).
    [46 << 2 | 1, 1].into_iter().for_each(|tos| send(&mut network, us(0), 0, 1000, tos));
    network.advance(us(50_000));
    assert_eq!(network.ready.iter().map(|delivery| delivery.tos).collect::<Vec<_>>(), [Some(1), None]);
}

#[test]
fn acks_of_real_packets_are_filtered() {
    let mut network = network("queue = { kind = \"cake\", ack_filter = \"aggressive\" }");
    for n in 1..=5_u8 {
        let (place, bytes) = network.log.frames.vacant();
        bytes[..40].fill(0);
        // From a to b: ACK, of 256 n.
        (bytes[0], bytes[9], bytes[30], bytes[32], bytes[33]) = (0x45, TCP, n, 5 << 4, 0x10);
        bytes[2..4].copy_from_slice(&40_u16.to_be_bytes());
        bytes[12..16].copy_from_slice(&HOSTS[0].to_be_bytes());
        bytes[16..20].copy_from_slice(&HOSTS[1].to_be_bytes());
        bytes[20..24].copy_from_slice(&[4, 0, 4, 0]);
        network.log.frames.filled(place, 40);
        network.enter(us(0), place);
    }
    network.advance(us(50_000));
    // The first is on the line when the others come; of these the last is left.
    let kinds: Vec<_> = network.log.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Dropped(DropReason::AckFilter); 3]);
    let acks: Vec<u8> = network.ready.iter().map(|delivery| network.log.frames.get(delivery.frame)[30]).collect();
    assert_eq!(acks, [1, 5]);
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

/// Two ports of a switch share 10,000 bytes; the line to b is slow, that to c slower.
#[test]
fn queues_that_share_a_memory_take_of_it_what_the_other_leaves() {
    let link = |from: &str, to: &str, rate: &str| {
        format!("[[path.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"1 ms\"\nmtu = \"1500 bytes\"\n")
    };
    let text = format!(
        "[path]\npreset = \"explicit\"\nhosts = [\"a\", \"b\", \"c\"]\nrouters = [\"s\"]\n{}{}{}\
         [[router]]\nname = \"s\"\nshared_buffer = \"10000 bytes\"\nsharing = \"complete\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[[flow]]\nfrom = \"a\"\nto = \"c\"\n[measure]\nduration = \"1 s\"\n",
        link("a", "s", "80 Gbit/s"),
        link("s", "b", "8 Mbit/s"),
        link("s", "c", "1 Mbit/s"),
    );
    let mut network = network_of(&text);
    let overflow = |network: &Network| network.links.iter().map(|link| link.count.drops[DropReason::Overflow as usize]).collect::<Vec<_>>();
    // Each port has one packet in transmission. Five of the waiting packets are for c, and five for b: the memory is full.
    (0..6).for_each(|_| send_to(&mut network, us(0), (0, 2), 1000, 0));
    (0..6).for_each(|_| send_to(&mut network, us(10), (0, 1), 1000, 0));
    send_to(&mut network, us(20), (0, 2), 1000, 0);
    network.advance(us(1500));
    assert_eq!(overflow(&network).iter().sum::<u64>(), 1);
    // Before these come, three packets to b have left (one each ms) and none to c (one each 8 ms): there is room for three, whoever asks.
    (0..6).for_each(|_| send_to(&mut network, us(4_000), (0, 2), 1000, 0));
    network.advance(us(5_009));
    assert_eq!(overflow(&network).iter().sum::<u64>(), 1 + 3);
    // This packet comes at the very instant at which the fourth to b leaves. Departures are first.
    send_to(&mut network, us(4_010), (0, 2), 1000, 0);
    network.advance(us(7_000));
    assert_eq!(overflow(&network).iter().sum::<u64>(), 1 + 3);
}

/// From 50 ms on what goes from r1 to r2 takes the longer of two links.
#[test]
fn a_route_that_moves_takes_the_other_link_from_then_on() {
    let link = |name: &str, from: &str, to: &str, delay: &str| {
        format!(
            "[[path.link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"80 Gbit/s\"\ndelay = \"{delay}\"\nmtu = \"1500 bytes\"\n"
        )
    };
    let text = format!(
        "[path]\npreset = \"explicit\"\nhosts = [\"a\", \"b\"]\nrouters = [\"r1\", \"r2\"]\n{}{}{}{}\
         [[path.move]]\nat = \"50 ms\"\nlink = \"short\"\nby = \"long\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"1 s\"\n",
        link("left", "a", "r1", "1 us"),
        link("short", "r1", "r2", "5 ms"),
        link("long", "r1", "r2", "20 ms"),
        link("right", "r2", "b", "1 us"),
    );
    let mut network = network_of(&text);
    for at in [0, 49_900, 50_100] {
        network.advance(us(at));
        send(&mut network, us(at), 0, 1000, 0);
    }
    network.advance(us(200_000));
    let took: Vec<u64> =
        network.ready.iter().zip([0, 49_900, 50_100]).map(|(came, at)| came.at.since(us(at)).as_ps() / 1_000_000_000).collect();
    assert_eq!(took, [5, 5, 20], "ms");
}

/// A connection is known by its ports, and so is its group; of one that the experiment does not know, the hosts are.
#[test]
fn classes_know_groups_by_their_ports_and_hosts_by_their_addresses() {
    let order = |class: &str, unknown: bool| {
        let mut network = network(&format!("queue = {{ kind = \"prio\", class = [{class}, {{}}] }}"));
        if unknown {
            // Both are between the same hosts.
            network.known.clear();
        }
        // Two UDP packets of no known flow, and one of the flow: the first is on the link when the others come.
        let udp = |network: &mut Network| {
            let (place, bytes) = network.log.frames.vacant();
            bytes[..40].fill(0);
            (bytes[0], bytes[9], bytes[25]) = (0x45, 17, 200);
            bytes[2..4].copy_from_slice(&1000_u16.to_be_bytes());
            bytes[12..16].copy_from_slice(&HOSTS[0].to_be_bytes());
            bytes[16..20].copy_from_slice(&HOSTS[1].to_be_bytes());
            bytes[20..24].copy_from_slice(&[9, 0, 9, 0]);
            network.log.frames.filled(place, 1000);
            network.enter(us(100), place);
        };
        (0..2).for_each(|_| udp(&mut network));
        send(&mut network, us(100), 0, 1000, 0);
        network.advance(us(50_000));
        let protocol = |delivery: &Delivery| network.log.frames.get(delivery.frame)[9];
        network.ready.iter().map(protocol).collect::<Vec<u8>>()
    };
    assert_eq!(order("{ group = \"flow1\" }", false), [17, TCP, 17]);
    assert_eq!(order("{ group = \"flow1\" }", true), [17, 17, TCP], "no port of the group's");

    let mut network = network_of(
        "[path]\npreset = \"explicit\"\nhosts = [\"a\", \"b\", \"c\"]\nrouters = [\"r\"]\n\
         [[path.link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"1 Gbit/s\"\n[[path.link]]\nfrom = \"c\"\nto = \"r\"\nrate = \"1 Gbit/s\"\n\
         [[path.link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"8 Mbit/s\"\nqueue = { kind = \"prio\", class = [{ host = \"c\" }, {}] }\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[[flow]]\nfrom = \"c\"\nto = \"b\"\n[measure]\nduration = \"1 s\"\n",
    );
    (0..3).for_each(|_| send_to(&mut network, us(100), (0, 1), 1000, 0));
    send_to(&mut network, us(200), (2, 1), 1000, 0);
    network.advance(us(50_000));
    let from = |delivery: &Delivery| network.log.frames.get(delivery.frame)[15];
    assert_eq!(network.ready.iter().map(from).collect::<Vec<u8>>(), [1, 3, 1, 1], "nobody said which connections are of c");
}

/// A segment of `len` bytes of payload at the sequence number `seq`, from a to b, or back.
fn send_segment(network: &mut Network, at: Time, from: usize, (flags, seq, ack): (u8, u32, u32), len: u16) {
    let (place, bytes) = network.log.frames.vacant();
    bytes[..40].fill(0);
    (bytes[0], bytes[9], bytes[32], bytes[33]) = (0x45, TCP, 5 << 4, flags);
    bytes[2..4].copy_from_slice(&(40 + len).to_be_bytes());
    bytes[12..16].copy_from_slice(&HOSTS[from].to_be_bytes());
    bytes[16..20].copy_from_slice(&HOSTS[1 - from].to_be_bytes());
    bytes[20..24].copy_from_slice(&[4, 0, 4, 0]);
    bytes[24..28].copy_from_slice(&seq.to_be_bytes());
    bytes[28..32].copy_from_slice(&ack.to_be_bytes());
    network.log.frames.filled(place, (40 + len).into());
    network.enter(at, place);
}

/// Each packet has a row where it is sent, at each link, and where it is lost or arrives. Numbers are offsets, also once 32 bits have
/// wrapped.
#[test]
fn a_record_of_packets_tells_of_each_what_became_of_it() {
    let text = "[path]\npreset = \"explicit\"\nhosts = [\"a\", \"b\"]\n\
         [[path.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nmtu = \"1500 bytes\"\n\
         queue = { kind = \"droptail\", limit = \"1 packet\" }\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"1 s\"\nevents = true\npackets = \"all\"\n";
    let mut network = network_of(text);
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    // The initial sequence number is the last but 100.
    let iss = u32::MAX - 100;
    send_segment(&mut network, us(0), 0, (SYN, iss, 0), 0);
    network.advance(us(20_000));
    send_segment(&mut network, us(20_000), 1, (SYN | ACK, 7, iss.wrapping_add(1)), 0);
    network.advance(us(50_000));
    for n in 0..3 {
        send_segment(&mut network, us(50_000), 0, (ACK, iss.wrapping_add(1 + 960 * n), 8), 960);
    }
    network.advance(us(100_000));
    let dropped: Vec<_> = network.log.events.iter().map(|event| event.seq).collect();
    assert_eq!(dropped, [1920], "one is sent, one waits");
    let rows = network.log.rows.take().unwrap().into_rows();
    let told: Vec<String> = rows
        .iter()
        .map(|row| {
            let link = row.link.map_or_else(|| "end".to_owned(), |link| format!("link {link}"));
            let ack = row.ack.map_or_else(|| "-".to_owned(), |ack| ack.to_string());
            let us = row.time.as_ps() / 1_000_000;
            format!("{us} {} {link}{} {}:{} ack {ack}", row.kind.word(), if row.is_back { " back" } else { "" }, row.seq, row.len)
        })
        .collect();
    let expected = "\
0 sent end 0:0 ack -
0 queued link 0 0:0 ack -
10040 delivered end 0:0 ack -
20000 sent end back 0:0 ack 0
20000 queued link 1 back 0:0 ack 0
30040 delivered end back 0:0 ack 0
50000 sent end 0:960 ack 0
50000 sent end 960:960 ack 0
50000 sent end 1920:960 ack 0
50000 queued link 0 0:960 ack 0
50000 queued link 0 960:960 ack 0
50000 queued link 0 1920:960 ack 0
50000 dropped_overflow link 0 1920:960 ack 0
61000 delivered end 0:960 ack 0
62000 delivered end 960:960 ack 0";
    assert_eq!(told.join("\n"), expected);
    assert_eq!(network.log.first_bytes(), [iss.wrapping_add(1)]);
}

/// Packets with different delays arrive in time and in order, and none waits for ever: the link learns only later which packet is the next.
#[test]
fn links_that_change_hand_over_what_they_have() {
    for (what, link, sent, expected) in [
        ("plain", "", 3, vec![(1, 11_000), (2, 12_000), (3, 13_000)]),
        (
            "delays that change",
            "delay_trace = { kind = \"steps\", values = [{ at = \"0 s\", delay = \"10 ms\" }, { at = \"1500 us\", delay = \"30 ms\" }, { at = \"2500 us\", delay = \"10 ms\" }] }",
            3,
            // The third is not before the second.
            vec![(1, 11_000), (2, 32_000), (3, 32_000)],
        ),
        ("held back", "reorder = { probability = 1.0, by = \"7 ms\" }", 2, vec![(1, 18_000), (2, 19_000)]),
        ("twice", "duplicate = 1.0", 2, vec![(1, 11_000), (1, 11_000), (2, 12_000), (2, 12_000)]),
        ("lost", "loss = { kind = \"periodic\", period = \"2 packets\" }", 3, vec![(1, 11_000), (3, 13_000)]),
        ("out", "down = [{ from = \"1500 us\", to = \"4 ms\" }]", 3, vec![(1, 11_000), (2, 14_500), (3, 15_500)]),
    ] {
        let mut network = network(link);
        for n in 1..=sent {
            send_segment(&mut network, us(0), 0, (16, n, 0), 960);
        }
        for at in (0..60_000).step_by(50) {
            network.advance(us(at));
            assert!(network.next() > us(at), "{what}: it goes on");
        }
        let came: Vec<_> =
            network.ready.iter().map(|delivery| (network.log.frames.get(delivery.frame)[27], delivery.at.as_ps() / 1_000_000)).collect();
        assert_eq!(came, expected, "{what}");
        network.catch_up(us(60_000));
        assert_eq!(network.packets.len(), 0, "{what}");
    }
    // A random time on top, in whatever order: all come, within it.
    let mut network = network("jitter = { most = \"20 ms\", in_order = false }");
    (1..=100).for_each(|n| send_segment(&mut network, us(0), 0, (16, n, 0), 60));
    network.advance(us(200_000));
    let came: Vec<u64> = network.ready.iter().map(|delivery| delivery.at.as_ps() / 1_000_000).collect();
    let order: Vec<u8> = network.ready.iter().map(|delivery| network.log.frames.get(delivery.frame)[27]).collect();
    assert_eq!((came.len(), network.packets.len(), came.is_sorted(), order.is_sorted()), (100, 0, true, false));
    assert!(came[0] >= 10_100 && came[99] <= 10_000 + 100 * 100 + 20_000, "{came:?}");
}
