use proptest::prelude::*;

use super::*;
use crate::packet::{Direction, Segment};
use crate::queue::tests::packet;

/// A packet of 4096 bytes of data, as the paper's, and an ACK.
const DATA: u16 = 4096;
const ACK: u16 = 0;

fn shape(transmit: u64, per_peer: u64, receive: u64) -> Shape {
    Shape { buffer_size: 2048, transmit, per_peer, reserved: 0, peers: 1, receive }
}

/// Puts `packet` where there is room. Returns true if there was.
fn add(pool: &mut Pool, (packet, segment): (Packet, Segment), packets: &mut Packets) -> bool {
    match pool.place(&packet) {
        Place::Transmit => pool.push_transmit(packets.insert(Direction::There, packet, segment), packets),
        Place::Receive => pool.push_receive(packets.insert(Direction::There, packet, segment), packets),
        Place::Nowhere => return false,
    }
    true
}

/// Adds packets from `ingress` until none fits. Returns how many did.
fn fill(pool: &mut Pool, ingress: u16, len: u16, packets: &mut Packets) -> u64 {
    (0..).find(|&seq| !add(pool, packet(seq, len, ingress), packets)).unwrap().into()
}

#[test]
fn the_builds_of_table_1_hold_what_the_paper_says() {
    // A packet of 4096 bytes and headers takes 3 buffers. Build 224: 42 packets of 128 buffers, 32 of 96: "about 300 kB".
    let packets = &mut Packets::new();
    let mut build_224 = Pool::new(shape(224, 128, 96));
    assert_eq!(fill(&mut build_224, 0, DATA, packets), 42 + 32);
    assert_eq!(74 * u64::from(DATA), 303_104);
    // Build 60: 14 of 44, 5 of 16: about 80 kB (section 6).
    assert_eq!(fill(&mut Pool::new(shape(60, 44, 16)), 0, DATA, packets), 14 + 5);
    // r60 and r200: the transmit side alone.
    assert_eq!(fill(&mut Pool::new(shape(60, 60, 0)), 0, DATA, packets), 20);
    assert_eq!(fill(&mut Pool::new(shape(200, 200, 0)), 0, DATA, packets), 66);
    // Section 7: a small packet takes a whole buffer.
    assert_eq!(fill(&mut Pool::new(shape(224, 128, 96)), 0, ACK, packets), 224);
}

#[test]
fn a_packet_takes_whole_buffers() {
    let shape = shape(224, 128, 96);
    assert_eq!([1, 40, 2048, 2049, 4096, 4097, 4148].map(|ip_len| shape.cost(ip_len)), [1, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn one_peer_cannot_take_what_is_guaranteed_to_another() {
    let packets = &mut Packets::new();
    let mut pool = Pool::new(Shape { reserved: 9, peers: 2, ..shape(60, 60, 0) });
    // Peer 7 gets its 9 and the common 42.
    assert_eq!(fill(&mut pool, 7, DATA, packets), 17);
    // Peer 3 finds its 9, and nothing more.
    assert_eq!(fill(&mut pool, 3, DATA, packets), 3);
    // A third peer has no guarantee.
    assert_eq!(fill(&mut pool, 4, DATA, packets), 0);
    // Buffers that peer 7 gives back go to the common pool, so now the third may send.
    pool.pop(packets);
    assert_eq!(fill(&mut pool, 4, DATA, packets), 1);
}

#[test]
fn what_waits_longest_moves_first_and_order_within_a_peer_is_kept() {
    // Transmit side: 6 buffers, so two data packets; receive sides: 6 each.
    let mut pool = Pool::new(shape(6, 6, 6));
    let packets = &mut Packets::new();
    let mut at = |ps, (mut packet, segment): (Packet, Segment)| {
        packet.stamp = crate::time::Time::from_ps(ps);
        packets.insert(Direction::There, packet, segment)
    };
    let ids = [at(0, packet(0, DATA, 0)), at(0, packet(1, DATA, 0)), at(2, packet(2, DATA, 0)), at(1, packet(3, DATA, 1))];
    pool.push_transmit(ids[0], packets);
    pool.push_transmit(ids[1], packets);
    pool.push_receive(ids[2], packets);
    pool.push_receive(ids[3], packets);
    assert!(pool.take_waiting(packets).is_none(), "the transmit side is full");
    assert_eq!(pool.pop(packets), Some(ids[0]));
    // Room for an ACK, but it would pass the data packet of its peer.
    assert_eq!(pool.place(&packet(4, ACK, 1).0), Place::Receive);
    let moved = pool.take_waiting(packets).unwrap();
    assert_eq!(moved, ids[3]);
    pool.push_transmit(moved, packets);
    assert!(pool.take_waiting(packets).is_none());
    assert_eq!((pool.packets(), pool.used()), (3, 9));
}

proptest! {
    /// The account agrees with a count of the packets held, and no limit is ever passed.
    #[test]
    fn the_account_is_exact(
        steps in prop::collection::vec((0..3_u16, 0..=4096_u16, any::<bool>()), 1..400),
        reserved in 0..6_u64,
        per_peer in 6..30_u64,
        receive in prop_oneof![Just(0_u64), 3..20_u64],
    ) {
        let shape = Shape { reserved, peers: 2, ..shape(30, per_peer, receive) };
        let mut pool = Pool::new(shape);
        let packets = &mut Packets::new();
        for (seq, (ingress, len, pop)) in steps.into_iter().enumerate() {
            if pop {
                if let Some(sent) = pool.pop(packets) {
                    packets.remove(sent);
                }
                while let Some(moved) = pool.take_waiting(packets) {
                    prop_assert!(pool.transmit_used() + shape.cost(packets[moved].ip_len()) <= shape.transmit);
                    pool.push_transmit(moved, packets);
                }
            }
            add(&mut pool, packet(seq as u32, len, ingress), packets);
            let cost = |line: &Line, of: Option<u16>| -> u64 {
                line.iter(packets).map(|id| &packets[id]).filter(|p| of.is_none_or(|i| p.ingress == i)).map(|p| shape.cost(p.ip_len())).sum()
            };
            prop_assert_eq!(pool.transmit_used(), cost(&pool.line, None));
            prop_assert!(pool.transmit_used() <= shape.transmit);
            let mut common = 0;
            for peer in &pool.peers {
                let used = cost(&pool.line, Some(peer.ingress));
                prop_assert_eq!(peer.transmit_used, used);
                prop_assert!(used <= per_peer);
                prop_assert_eq!(peer.receive_used, cost(&peer.receive, None));
                prop_assert!(peer.receive_used <= receive);
                common += used.saturating_sub(peer.reserved);
            }
            prop_assert_eq!(pool.common_used, common);
            prop_assert!(common <= shape.transmit - 2 * reserved);
            let waiting: u64 = pool.peers.iter().map(|p| p.receive.len() as u64).sum();
            prop_assert_eq!(pool.packets(), pool.line.len() as u64 + waiting);
            prop_assert!(waiting == 0 || !pool.line.is_empty(), "nothing waits for an idle transmit side");
        }
    }
}
