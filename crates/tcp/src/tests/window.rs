//! Flow control: the receiver's window, zero windows and probes, delayed ACKs, ECN, PAWS.

use super::*;
use crate::ecn::EcnKind;

#[test]
fn without_window_scaling_a_window_is_at_most_64_kib_a_round_trip() {
    // ANSNET paper §2.2: 64 kB every 70 ms is the most, however fast the link: 7.3 Mb/s (and 64 KiB is 65,536, the field 65,535).
    for (scale, expected) in [(false, 65_535), (true, 1 << 20)] {
        let mut receiver = config("rfc");
        receiver.window_scale = scale;
        receiver.receive_buffer = 1 << 20;
        let mut pair = Pair::new(config("rfc"), receiver, ms(35));
        pair.client.write(u64::MAX);
        pair.run_until(at_ms(3_000));
        let most = pair.client.stats().in_flight_max;
        assert!(most <= expected && most > expected - 1448 - 128, "{most}");
    }
}

#[test]
fn the_send_buffer_limits_too() {
    let mut pair = Pair::new(TcpConfig { send_buffer: 30_000, ..config("rfc") }, config("rfc"), ms(35));
    pair.client.write(u64::MAX);
    pair.run_until(at_ms(2_000));
    assert!((28_000..=30_000).contains(&pair.client.stats().in_flight_max));
}

#[test]
fn a_closed_window_is_probed_and_the_stream_goes_on_when_it_opens() {
    for stack in ["rfc", "bsd-tahoe-1988", "bsd-reno-1994", "linux"] {
        let receiver = TcpConfig { receive_buffer: 8_000, ..config(stack) };
        let mut pair = Pair::new(config(stack), receiver, ms(10));
        pair.server.set_auto_read(false);
        pair.client.write(50_000);
        pair.run_until(at_ms(30_000));
        let stuck = pair.server.bytes_delivered();
        assert!((8_000 - 1448..=8_000).contains(&stuck), "{stack}: {stuck}");
        let probes: Vec<Time> = pair.log.iter().filter(|(t, client, _)| *client && *t > at_ms(1_500)).map(|(t, ..)| *t).collect();
        // RFC 9293 §3.8.6.1: again and again, with growing gaps.
        assert!(probes.len() >= 3, "{stack}: {} probes", probes.len());
        let gaps: Vec<u64> = probes.windows(2).map(|w| w[1].since(w[0]).as_ps()).collect();
        assert!(gaps.windows(2).all(|g| g[1] >= g[0]), "{stack}: {gaps:?}");
        assert_eq!(pair.client.stats().fast_retransmits, 0);
        let mut last = 0;
        for _ in 0..3_000 {
            pair.run_until(pair.now + ms(20));
            pair.server.read(4_000);
            last = pair.server.bytes_delivered();
        }
        assert_eq!(last, 50_000, "{stack}");
    }
}

/// A probe of a window that is closed to the last byte: one new byte in `rfc`, in `linux` nothing, with the number before the left edge (so a
/// kernel, 6.18). Either is answered at once.
#[test]
fn a_probe_of_a_closed_window_is_of_its_stack() {
    for (stack, len, before_edge) in [("rfc", 1, 0), ("linux", 0, 1)] {
        let sender = TcpConfig { mss: 1000, ..config(stack) };
        let mut pair = Pair::with_iss(sender, TcpConfig { receive_buffer: 4_000, ..config(stack) }, ms(10), 0, 0);
        pair.server.set_auto_read(false);
        pair.client.write(20_000);
        pair.run_until(at_ms(10_000));
        assert_eq!(pair.server.bytes_delivered(), 4_000, "{stack}");
        let edge = 4_001 - before_edge;
        let probes: Vec<Time> =
            pair.log.iter().filter(|(_, client, s)| *client && s.seq == edge && s.len == len).map(|(t, ..)| *t).collect();
        let answer = |at: Time| pair.log.iter().any(|(t, client, s)| !client && *t == at + ms(10) && (s.ack, s.window) == (4_001, 0));
        assert!(probes.len() >= 3 && probes[1..].iter().all(|at| answer(*at)), "{stack}: {probes:?}");
        let stats = pair.client.stats();
        assert_eq!((stats.fins_retransmitted, stats.timeouts), (0, 0), "{stack}");
        assert!(len > 0 || stats.segments_retransmitted == 0, "{stats:?}");
    }
}

#[test]
fn a_lost_window_update_does_not_stop_the_stream() {
    for stack in ["rfc", "linux"] {
        loses_a_window_update(stack);
    }
}

fn loses_a_window_update(stack: &str) {
    let receiver = TcpConfig { receive_buffer: 4_000, ..config(stack) };
    let mut lose = false;
    let flag = std::rc::Rc::new(std::cell::Cell::new(false));
    let seen = flag.clone();
    let mut pair = Pair::new(config(stack), receiver, ms(10)).network(move |_, client, _, _| {
        if !client && seen.get() && !lose {
            lose = true;
            return vec![];
        }
        vec![Duration::ZERO]
    });
    pair.server.set_auto_read(false);
    pair.client.write(20_000);
    pair.run_until(at_ms(500));
    flag.set(true);
    pair.server.set_auto_read(true);
    pair.run_until(at_ms(20_000));
    assert_eq!(pair.server.bytes_delivered(), 20_000);
}

#[test]
fn every_second_segment_is_acknowledged_at_once_a_lone_one_after_the_delay() {
    let sender = TcpConfig { initial_window: 5, ..config("rfc") };
    let mut pair = Pair::new(sender, config("rfc"), ms(10));
    pair.client.write(5 * 1448);
    pair.run_until(at_ms(1_000));
    let acks: Vec<u64> =
        pair.log.iter().filter(|(_, client, s)| !client && !s.has(flags::SYN)).map(|(t, ..)| t.as_ps() / 1_000_000_000).collect();
    // Data leaves at 20 ms and arrives at 30 ms: segments 1-2, 3-4, and the fifth 40 ms later.
    assert_eq!(acks, [30, 30, 70]);
}

#[test]
fn a_gap_and_its_filling_are_acknowledged_at_once() {
    let mut pair =
        Pair::new(config("rfc"), config("rfc"), ms(10)).network(|n, _, _, _| if n == 2 { vec![ms(5)] } else { vec![Duration::ZERO] });
    pair.client.write(4 * 1448);
    pair.run_until(at_ms(1_000));
    let acks: Vec<(u64, usize)> = pair
        .log
        .iter()
        .filter(|(_, client, s)| !client && !s.has(flags::SYN))
        .map(|(t, _, s)| (t.as_ps() / 1_000_000_000, s.sack_count()))
        .collect();
    // (What comes later answers the retransmission that this reordering brought about.)
    let acks = &acks[..4];
    // Three segments beyond the gap at 30 ms, three ACKs with a block; the first at 35 ms fills it.
    assert_eq!(acks, [(30, 1), (30, 1), (30, 1), (35, 0)]);
}

#[test]
fn sack_blocks_name_the_newest_range_first() {
    let (mut server, mut client) = (Connection::listen(config("rfc"), 0, ms(0)), Connection::connect(config("rfc"), 0, ms(0)));
    let now = Time::ZERO;
    let (syn, _) = client.poll_transmit(now).unwrap();
    server.handle_segment(now, &syn, Ecn::NotEct);
    let (syn_ack, _) = server.poll_transmit(now).unwrap();
    client.handle_segment(now, &syn_ack, Ecn::NotEct);
    let (ack, _) = client.poll_transmit(now).unwrap();
    server.handle_segment(now, &ack, Ecn::NotEct);
    let mut blocks = |seq: u32| {
        let mut segment = Segment::new(seq, flags::ACK, 100);
        segment.ack = 1;
        segment.set_timestamps(0, 0);
        server.handle_segment(now, &segment, Ecn::NotEct);
        let (ack, _) = server.poll_transmit(now).unwrap();
        (0..ack.sack_count()).map(|i| ack.sack(i)).collect::<Vec<_>>()
    };
    assert_eq!(blocks(201), [(201, 301)]);
    assert_eq!(blocks(401), [(401, 501), (201, 301)]);
    assert_eq!(blocks(601), [(601, 701), (401, 501), (201, 301)]);
    // RFC 2018 §4: the block of the segment that caused this ACK, then the others, most recent first; three fit.
    assert_eq!(blocks(801), [(801, 901), (601, 701), (401, 501)]);
    assert_eq!(blocks(301), [(201, 501), (801, 901), (601, 701)]);
    // RFC 2883 §4: a duplicate is told first.
    assert_eq!(blocks(601), [(601, 701), (601, 701), (201, 501)]);
}

#[test]
fn a_mark_halves_the_window_once_a_round_trip_and_loses_nothing() {
    let ecn = TcpConfig { ecn: EcnKind::Classic, initial_window: 20, initial_ssthresh: 20 * 1448, ..config("rfc") };
    let mut pair = Pair::new(ecn.clone(), ecn, ms(50)).network(|n, _, segment, ecn| {
        assert!(segment.len == 0 || n < 3 || *ecn == Ecn::Ect0);
        if (10..14).contains(&n) {
            *ecn = Ecn::Ce;
        }
        vec![Duration::ZERO]
    });
    pair.client.write(60 * 1448);
    pair.run_until(at_ms(280));
    assert_eq!(pair.client.info().ssthresh, 10 * 1448);
    pair.run_until(at_ms(5_000));
    assert_eq!(pair.client.info().ssthresh, 10 * 1448);
    assert_eq!(pair.client.stats().segments_retransmitted, 0);
    assert_eq!(pair.data().filter(|(_, s)| s.has(flags::CWR)).count(), 1);
    assert_eq!(pair.server.bytes_delivered(), 60 * 1448);
}

#[test]
fn an_old_timestamp_is_refused_and_answered() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
    pair.client.write(1448);
    pair.run_until(at_ms(500));
    let mut old = Segment::new(0xffff_fff1_u32.wrapping_add(1448), flags::ACK, 100);
    old.ack = 0x7fff_fff1;
    old.set_timestamps(0, 0);
    pair.server.handle_segment(pair.now, &old, Ecn::NotEct);
    assert_eq!(pair.server.bytes_delivered(), 1448);
    assert!(pair.server.poll_transmit(pair.now).is_some());
}

#[test]
fn a_fin_behind_a_closed_window_is_probed_for() {
    // Everything is acknowledged and the window is closed; the update that opens it is lost: only the persist timer can
    // bring the FIN across (RFC 9293 §3.8.6.1).
    let closed = Rc::new(Cell::new(false));
    let lossy = closed.clone();
    let mut pair = Pair::new(config("rfc"), TcpConfig { receive_buffer: 3_000, ..config("rfc") }, ms(10))
        .network(move |_, client, _, _| if !client && lossy.get() { vec![] } else { vec![Duration::ZERO] });
    pair.server.set_auto_read(false);
    pair.client.write(3_000);
    pair.run_until(at_ms(1_000));
    assert_eq!((pair.server.bytes_delivered(), pair.client.all_acked()), (3_000, true));
    pair.client.close();
    pair.run_until(at_ms(1_100));
    assert!(!pair.server.end_of_stream());
    closed.set(true);
    pair.server.read(3_000);
    pair.run_until(pair.now + ms(20));
    closed.set(false);
    pair.run_until(at_ms(10_000));
    assert!(pair.server.end_of_stream() && pair.client.all_acked());
}

#[test]
fn a_send_buffer_under_one_segment_is_sent_a_buffer_a_round_trip() {
    // SO_SNDBUF of 500: all that the application could write is as much as there is to send (RFC 9293 §3.8.6.2.1 rule 2).
    let mut pair = Pair::new(TcpConfig { send_buffer: 500, ..config("rfc") }, config("rfc"), ms(10));
    pair.client.write(5_000);
    pair.client.close();
    pair.run_until(at_ms(1_000));
    // Ten round trips of 20 ms, each with a delayed ACK of 40 ms (the first large segment is what "full" means to the receiver).
    assert_eq!(pair.server.bytes_delivered(), 5_000);
}

#[test]
fn blocks_beside_data_make_the_payload_shorter_not_the_packet_longer() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10))
        .network(|n, client, _, _| if client && n % 7 == 3 { vec![] } else { vec![Duration::ZERO] });
    pair.client.write(300_000);
    pair.server.write(300_000);
    pair.run_until(at_ms(30_000));
    assert_eq!((pair.server.bytes_delivered(), pair.client.bytes_delivered()), (300_000, 300_000));
    assert!(pair.log.iter().any(|(_, _, s)| s.len > 0 && s.sack_count() > 0));
    // RFC 6691 §2.
    assert_eq!(pair.log.iter().map(|(_, _, s)| s.ip_len()).max(), Some(1500));
}

/// One loss and some marks in the same window of data: one reduction, and one CWR (RFC 3168 §6.1.2).
#[test]
fn a_loss_and_a_mark_in_one_window_reduce_once() {
    let ecn = TcpConfig { ecn: EcnKind::Classic, initial_window: 20, initial_ssthresh: 20 * 1448, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::new(ecn.clone(), ecn, ms(50)).network(move |_, client, segment, ecn| {
        data += u64::from(client && segment.len > 0);
        match data {
            2 if client => vec![],
            // The echo of this mark outlasts the recovery that begins with the loss.
            19 if client => {
                *ecn = Ecn::Ce;
                vec![ms(1)]
            }
            _ => vec![Duration::ZERO],
        }
    });
    pair.client.write(200 * 1448);
    pair.run_until(at_ms(5_000));
    assert_eq!(pair.client.stats().fast_retransmits, 1);
    assert_eq!(pair.client.info().ssthresh, 10 * 1448);
    let cwr: Vec<u64> = pair.data().filter(|(_, s)| s.has(flags::CWR)).map(|(at, _)| at.as_ps() / 1_000_000_000).collect();
    // On the first new data after the reduction at 200 ms.
    assert!(cwr.len() == 1 && (200..300).contains(&cwr[0]), "{cwr:?}");
}

#[test]
fn a_window_probe_is_not_ecn_capable() {
    let ecn = TcpConfig { ecn: EcnKind::Classic, ..config("rfc") };
    let probing = Rc::new(Cell::new(false));
    let seen = Rc::new(Cell::new(0));
    let (flag, count) = (probing.clone(), seen.clone());
    let mut pair = Pair::new(ecn.clone(), TcpConfig { receive_buffer: 4_000, ..ecn }, ms(10)).network(move |_, client, segment, ecn| {
        if client && segment.len > 0 && flag.get() {
            assert!(*ecn == Ecn::NotEct && !segment.has(flags::CWR));
            count.set(count.get() + 1);
        }
        vec![Duration::ZERO]
    });
    pair.server.set_auto_read(false);
    pair.client.write(20_000);
    pair.run_until(at_ms(500));
    probing.set(true);
    pair.run_until(at_ms(10_000));
    assert!(seen.get() >= 2);
}

#[test]
fn linux_bounds_the_variance_and_the_rfc_the_whole_rto() {
    for (stack, expected) in [("linux", ms(500)), ("rfc", ms(1000))] {
        let mut pair = Pair::new(config(stack), config(stack), ms(150));
        pair.client.write(20_000_000);
        pair.run_until(at_ms(6_000));
        // A steady path of 300 ms: rttvar is near nothing. RFC 6298 §2.4: at least 1 s; Linux: srtt + 200 ms.
        let rto = pair.client.info().rto;
        assert!(rto.as_secs_f64() / expected.as_secs_f64() > 0.99 && rto.as_secs_f64() / expected.as_secs_f64() < 1.15, "{stack}: {rto:?}");
    }
}

/// A window that closes while pacing holds the sender back is probed all the same: what opens it again may be lost.
#[test]
fn a_window_closed_between_two_paced_segments_is_probed() {
    let sender = TcpConfig { mss: 1000, ..config("rfc") }.with(|tcp| {
        tcp.sending.pacing = Pacing::On;
        tcp.sending.pacing_ss_ratio = 10;
        tcp.sending.pacing_ca_ratio = 10;
        tcp.sending.nagle = false;
    });
    let receiver = TcpConfig { receive_buffer: 2_000, delayed_ack: DelayedAck::Off, window_scale: false, ..config("rfc") };
    let opened = std::cell::Cell::new(false);
    let mut pair = Pair::with_iss(sender, receiver, ms(10), 0, 0).network(|_, client, segment, _| {
        // The first window update is lost.
        let lost = !client && segment.window > 0 && segment.ack == 2_001 && !opened.replace(true);
        if lost { vec![] } else { vec![Duration::ZERO] }
    });
    pair.server.set_auto_read(false);
    pair.client.write(4_000);
    pair.run_until(at_ms(900));
    assert_eq!(pair.server.unread(), 2_000);
    pair.server.set_auto_read(true);
    pair.server.read(2_000);
    pair.run_until(at_ms(20_000));
    assert!(opened.get() && pair.server.bytes_delivered() == 4_000, "{:?}", pair.client);
}
