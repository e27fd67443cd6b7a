//! Opening and closing (RFC 9293 §3.5, §3.6).

use super::*;

#[test]
fn three_way_handshake_and_what_it_agrees() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
    pair.run_until(at_ms(100));
    assert!(pair.client.is_established() && pair.server.is_established());
    let shown: Vec<String> = pair
        .log
        .iter()
        .map(|(t, client, s)| format!("{:>3} ms {} {s:?}", t.as_ps() / 1_000_000_000, if *client { ">" } else { "<" }))
        .collect();
    assert_eq!(
        shown,
        [
            "  0 ms > S 4294967280:4294967281(0) ack 0 win 65535 mss 1460 wscale 14 sackOK TS val 0 ecr 0",
            " 10 ms < S. 2147483632:2147483633(0) ack 4294967281 win 65535 mss 1460 wscale 14 sackOK TS val 10 ecr 0",
            " 20 ms > . 4294967281:4294967281(0) ack 2147483633 win 65535 TS val 20 ecr 10",
        ]
    );
}

#[test]
fn options_are_used_only_when_both_offer_them() {
    let plain = TcpConfig { timestamps: false, window_scale: false, sack: false, ..config("rfc") };
    for (client, server) in [(config("rfc"), plain.clone()), (plain.clone(), config("rfc")), (plain.clone(), plain)] {
        let mut pair = Pair::new(client, server, ms(10));
        pair.client.write(100_000);
        pair.run_until(at_ms(2_000));
        assert_eq!(pair.server.bytes_delivered(), 100_000);
        assert!(pair.log.iter().skip(1).all(|(_, _, s)| s.timestamps().is_none() && s.sack_count() == 0 && s.window_scale().is_none()));
    }
}

#[test]
fn the_smaller_mss_rules() {
    let mut pair = Pair::new(TcpConfig { mss: 4096, ..config("rfc") }, TcpConfig { mss: 1000, ..config("rfc") }, ms(1));
    pair.client.write(50_000);
    pair.server.write(50_000);
    pair.run_until(at_ms(1_000));
    assert_eq!(pair.log.iter().map(|(_, _, s)| s.len).max(), Some(1000));
    assert_eq!((pair.server.bytes_delivered(), pair.client.bytes_delivered()), (50_000, 50_000));
}

#[test]
fn a_lost_syn_is_sent_again_and_leaves_a_window_of_one() {
    for lost in [0, 1] {
        let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10))
            .network(move |n, _, _, _| if n == lost { vec![] } else { vec![Duration::ZERO] });
        pair.client.write(100_000);
        pair.run_until(at_ms(1_020));
        let first_flight = pair.data().count();
        pair.run_until(at_ms(5_000));
        assert_eq!(pair.server.bytes_delivered(), 100_000);
        // RFC 6298 §2.1: after 1 s; RFC 5681 §3.1: initial window of one segment when the SYN was lost.
        if lost == 0 {
            assert_eq!(first_flight, 1);
        }
    }
}

#[test]
fn simultaneous_open_ends_established() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
    pair.server = Connection::connect(config("rfc"), 99, ms(0));
    pair.client.write(10_000);
    pair.server.write(20_000);
    pair.run_until(at_ms(3_000));
    assert_eq!((pair.client.bytes_delivered(), pair.server.bytes_delivered()), (20_000, 10_000));
}

#[test]
fn closing_from_one_side_from_both_and_at_once() {
    for (client_closes, server_closes) in [(0, 500), (500, 0), (100, 100)] {
        let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
        pair.client.write(30_000);
        let mut closes = [(client_closes, true), (server_closes, false)];
        closes.sort_unstable();
        for (at, client) in closes {
            pair.run_until(at_ms(at));
            let end = if client { &mut pair.client } else { &mut pair.server };
            end.close();
        }
        pair.run_until(at_ms(5_000));
        assert!(pair.client.end_of_stream() && pair.server.end_of_stream());
        assert!(pair.client.all_acked() && pair.server.all_acked());
        assert_eq!(pair.server.bytes_delivered(), 30_000);
        // RFC 9293 §3.6: whoever closed first waits two segment lifetimes; the other is done.
        let states = (pair.client.state(), pair.server.state());
        match (client_closes, server_closes) {
            (0, _) => assert_eq!(states, (State::TimeWait, State::Closed)),
            (_, 0) => assert_eq!(states, (State::Closed, State::TimeWait)),
            _ => assert_eq!(states, (State::TimeWait, State::TimeWait)),
        }
        pair.run_until(at_ms(70_000));
        assert_eq!((pair.client.state(), pair.server.state()), (State::Closed, State::Closed));
    }
}

#[test]
fn a_reset_must_name_the_next_byte() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
    pair.run_until(at_ms(100));
    let mut reset = Segment::new(0xffff_fff1_u32.wrapping_add(50), flags::RST, 0);
    pair.server.handle_segment(pair.now, &reset, Ecn::NotEct);
    assert_eq!(pair.server.state(), State::Established);
    // RFC 5961 §3.2: in the window but not exact: a challenge ACK.
    assert!(pair.server.poll_transmit(pair.now).is_some());
    reset.seq = 0xffff_fff1;
    pair.server.handle_segment(pair.now, &reset, Ecn::NotEct);
    assert_eq!(pair.server.state(), State::Closed);
}

#[test]
fn windows_count_in_segments_of_the_size_agreed() {
    // RFC 5681 §3.1: SMSS is what may be sent, not what this side could take.
    let mut pair = Pair::new(TcpConfig { mss: 4096, ..config("rfc") }, TcpConfig { mss: 1000, ..config("rfc") }, ms(10));
    pair.client.write(1_000_000);
    pair.run_until(at_ms(25));
    assert_eq!(pair.data().count(), 10);
    assert_eq!(pair.client.info().cwnd, 10_000);
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_establishes_nothing() {
    let mut server = Connection::listen(config("rfc"), 1000, ms(0));
    let mut syn = Segment::new(0, flags::SYN, 0);
    syn.window = 1000;
    server.handle_segment(Time::ZERO, &syn, Ecn::NotEct);
    server.poll_transmit(Time::ZERO).unwrap();
    for wrong in [1000, 1002, 0x8000_0000] {
        let mut ack = Segment::new(1, flags::ACK, 0);
        ack.ack = wrong;
        server.handle_segment(Time::ZERO, &ack, Ecn::NotEct);
        assert_eq!(server.state(), State::SynReceived);
        // RFC 9293 §3.10.7.4: a reset with the number it named.
        let (reset, _) = server.poll_transmit(Time::ZERO).unwrap();
        assert!(reset.flags == flags::RST && reset.seq == wrong, "{reset:?}");
    }
    let mut ack = Segment::new(1, flags::ACK, 0);
    ack.ack = 1001;
    server.handle_segment(Time::ZERO, &ack, Ecn::NotEct);
    assert_eq!(server.state(), State::Established);
    // And once established: answered, and its data not taken.
    let mut data = Segment::new(1, flags::ACK, 100);
    data.ack = 5000;
    server.handle_segment(Time::ZERO, &data, Ecn::NotEct);
    assert_eq!(server.bytes_delivered(), 0);
    assert_eq!(server.poll_transmit(Time::ZERO).unwrap().0.ack, 1);
}

#[test]
fn a_closed_end_answers_with_a_reset_so_that_the_other_does_not_try_for_ever() {
    // The server's FIN is acknowledged, but the ACK is lost, again and again, until TIME-WAIT is over.
    let patient = config("rfc").with(|tcp| tcp.timers.rto_max = Duration::from_secs(1_000));
    let mut pair = Pair::new(config("rfc"), patient, ms(10)).network(|_, client, segment, _| {
        if client && !segment.has(flags::SYN) && !segment.has(flags::FIN) && segment.ack == 0x7fff_fff2 {
            return vec![];
        }
        vec![Duration::ZERO]
    });
    pair.client.close();
    pair.run_until(at_ms(100));
    pair.server.close();
    pair.run_until(at_ms(60_000));
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::LastAck));
    pair.run_until(at_ms(400_000));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closed, State::Closed));
    assert!(pair.log.last().unwrap().2.has(flags::RST));
}

#[test]
fn only_a_repeated_fin_restarts_time_wait() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
    pair.client.close();
    pair.run_until(at_ms(100));
    pair.server.close();
    pair.run_until(at_ms(30_000));
    assert_eq!(pair.client.state(), State::TimeWait);
    let mut old = Segment::new(0x7fff_fff1_u32, flags::ACK, 1);
    old.set_timestamps(u32::MAX / 2, 0);
    pair.client.handle_segment(pair.now, &old, Ecn::NotEct);
    pair.run_until(at_ms(61_000));
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn a_number_before_the_first_is_refused() {
    let mut pair = Pair::with_iss(config("rfc"), config("rfc"), ms(10), 1_000_000, 0);
    pair.run_until(at_ms(100));
    for seq in [0, 999_000, 999_999, 1_000_000] {
        let mut old = Segment::new(seq, flags::ACK, 1_500);
        old.ack = 1;
        pair.server.handle_segment(pair.now, &old, Ecn::NotEct);
        assert!(pair.server.poll_transmit(pair.now).is_some());
    }
    // Only the last reaches into the window: 1,499 bytes of it.
    assert_eq!(pair.server.bytes_delivered(), 1_499);
}
