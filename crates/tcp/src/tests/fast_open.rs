//! TCP Fast Open (RFC 7413).

use super::*;
use longfat_core::packet::Cookie;
use proptest::prelude::*;

/// Cookie of 8 bytes that the server's key makes for this client.
fn cookie() -> Cookie {
    Cookie::new(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap()
}

fn set_to(fast_open: FastOpen) -> TcpConfig {
    TcpConfig { fast_open, ..config("rfc") }
}

/// Client and server 10 ms apart. The client remembers `known`, with an MSS of 1460.
fn pair<'a>(client: TcpConfig, server: TcpConfig, known: Option<Cookie>) -> Pair<'a> {
    let mut pair = Pair::with_iss(client, server, ms(10), 0, 0);
    if let Some(known) = known {
        pair.client.set_cookie(known, 1460);
    }
    pair.server.set_cookie(cookie(), 1460);
    pair
}

fn cached<'a>() -> Pair<'a> {
    pair(set_to(FastOpen::Cached), set_to(FastOpen::Cached), Some(cookie()))
}

/// Every segment, as (ms, by the client?, text).
fn shown(pair: &Pair<'_>) -> Vec<String> {
    let line = |(t, client, s): &(Time, bool, Segment)| format!("{} {} {s:?}", t.as_ps() / 1_000_000_000, if *client { ">" } else { "<" });
    pair.log.iter().map(line).collect()
}

/// Figure in §2.1 of a request of 100 bytes, and an answer of 2,000 that goes before the handshake is done.
#[test]
fn a_request_goes_with_the_syn_and_its_answer_comes_after_one_round_trip() {
    let mut pair = cached();
    pair.client.write(100);
    pair.run_until(at_ms(10));
    assert_eq!((pair.server.state(), pair.server.bytes_delivered()), (State::SynReceived, 100));
    pair.server.write(2_000);
    pair.server.close();
    pair.run_until(at_ms(21));
    assert_eq!(
        shown(&pair)[..5],
        [
            "0 > SP 0:101(100) ack 0 win 65535 mss 1460 wscale 14 FO 0102030405060708 sackOK TS val 0 ecr 0",
            "10 < S. 0:1(0) ack 101 win 65535 mss 1460 wscale 14 sackOK TS val 10 ecr 0",
            "10 < . 1:1449(1448) ack 101 win 65535 TS val 10 ecr 0",
            "10 < FP. 1449:2002(552) ack 101 win 65535 TS val 10 ecr 0",
            "20 > . 101:101(0) ack 1 win 65535 TS val 20 ecr 10",
        ]
    );
    assert_eq!((pair.client.bytes_delivered(), pair.client.end_of_stream()), (2_000, true));
    let opened = pair.client.fast_opened().unwrap();
    assert_eq!(opened, FastOpened { cookie: None, sent: 100, taken: 100, is_negative: false });
    assert_eq!((pair.client.stats().bytes_sent, pair.client.stats().bytes_retransmitted), (100, 0));
    pair.run_until(at_ms(31));
    assert_eq!(pair.server.state(), State::FinWait2, "the client acknowledges the FIN, and stays open");
    assert!(pair.server.all_acked() && pair.client.all_acked());
    assert_eq!(pair.server.stats().bytes_retransmitted, 0);
}

/// §4.2.1: the first connection asks, the second has the cookie.
#[test]
fn a_cookie_is_asked_for_and_granted() {
    let mut first = pair(set_to(FastOpen::Request), set_to(FastOpen::Request), None);
    first.client.write(100);
    first.run_until(at_ms(100));
    assert!(shown(&first)[0].contains(" S 0:1(0) ack 0 win 65535 mss 1460 wscale 14 FO  sackOK"), "{:?}", shown(&first));
    assert!(shown(&first)[1].contains(" S. 0:1(0) ack 1 win 65535 mss 1460 wscale 14 FO 0102030405060708 sackOK"));
    let learnt = first.client.fast_opened().unwrap();
    assert_eq!((learnt.cookie, learnt.sent, learnt.is_negative), (Some(cookie()), 0, false));
    let mut second = pair(set_to(FastOpen::Cached), set_to(FastOpen::Cached), learnt.cookie);
    second.client.write(100);
    second.run_until(at_ms(11));
    assert_eq!(second.server.bytes_delivered(), 100);
}

/// §4.2.2: the server acknowledges the SYN alone, and the data goes with the ACK of the SYN-ACK.
#[test]
fn data_that_is_not_taken_goes_again_at_once() {
    let other = Cookie::new(&[9; 8]);
    for (client, server, known, granted) in [
        (FastOpen::Stale, FastOpen::Stale, other, Some(cookie())),
        (FastOpen::Full, FastOpen::Full, Some(cookie()), None),
        (FastOpen::Cached, FastOpen::Off, Some(cookie()), None),
    ] {
        let mut pair = pair(set_to(client), set_to(server), known);
        pair.client.write(3_000);
        pair.client.close();
        pair.run_until(at_ms(31));
        // 1460 less 32 bytes of options: MSS, SACK and timestamps, window scale, and the cookie.
        assert_eq!(pair.log[0].2.len, 1428);
        assert_eq!((pair.log[1].2.ack, pair.log[1].2.fast_open()), (1, granted), "{client:?}");
        assert_eq!((pair.log[2].0, pair.log[2].2.len, pair.log[2].2.seq), (at_ms(20), 1448, 1));
        assert_eq!(pair.server.bytes_delivered(), 3_000);
        let opened = pair.client.fast_opened().unwrap();
        assert_eq!(opened, FastOpened { cookie: granted, sent: 1428, taken: 0, is_negative: granted.is_none() });
        let stats = pair.client.stats();
        assert_eq!((stats.bytes_sent, stats.bytes_retransmitted, stats.timeouts), (4_428, 1_428, 0));
    }
}

#[test]
fn without_a_cookie_no_data_goes_and_none_is_taken() {
    // A client that does not ask, and a server that has no use for the option of one that does.
    for (client, server) in [(FastOpen::Off, FastOpen::Cached), (FastOpen::Request, FastOpen::Off)] {
        let mut pair = pair(set_to(client), set_to(server), None);
        pair.client.write(100);
        pair.run_until(at_ms(31));
        assert_eq!((pair.log[0].2.len, pair.log[1].2.fast_open()), (0, None));
        assert_eq!(pair.server.bytes_delivered(), 100);
        assert!(pair.client.fast_opened().is_none_or(|opened| !opened.is_negative));
    }
    // Data with a request, which no client of ours sends, is not taken (§4.2.2).
    let mut server = Connection::listen(set_to(FastOpen::Cached), 0, ms(0));
    server.set_cookie(cookie(), 1460);
    let mut syn = Segment::new(0, flags::SYN, 100);
    syn.set_fast_open(Cookie::REQUEST);
    server.handle_segment(Time::ZERO, &syn, Ecn::NotEct);
    let (answer, _) = server.poll_transmit(Time::ZERO).unwrap();
    assert_eq!((answer.ack, answer.fast_open(), server.bytes_delivered()), (1, Some(cookie()), 0));
}

/// §4.1.3, §4.2.2: as much as the server is known to take, and 536 bytes where nothing is known.
#[test]
fn data_in_a_syn_fills_the_segment_that_the_server_takes() {
    for (mss, expected) in [(1460, 1428), (9_000, 1428), (536, 504), (20, 0)] {
        let mut pair = cached();
        pair.client.set_cookie(cookie(), mss);
        pair.client.write(10_000);
        pair.client.close();
        pair.run_until(at_ms(200));
        assert_eq!(pair.log[0].2.len, expected);
        assert!(pair.log[0].2.ip_len() <= 1500);
        assert_eq!(pair.server.bytes_delivered(), 10_000);
        // RFC 6928: the initial window is whole, whatever went with the SYN.
        assert_eq!(pair.data().filter(|(t, _)| *t == at_ms(20)).count() as u64, (10_000 - u64::from(expected)).div_ceil(1448));
    }
}

/// §4.2.2: a SYN that is retransmitted has neither data nor option, and §4.1.3.1: the client remembers that.
#[test]
fn a_lost_syn_goes_again_without_data_and_option() {
    for fast_open in [FastOpen::Cached, FastOpen::Request] {
        let known = (fast_open == FastOpen::Cached).then(cookie);
        let mut pair =
            pair(set_to(fast_open), set_to(fast_open), known).network(|n, _, _, _| if n == 0 { vec![] } else { vec![Duration::ZERO] });
        pair.client.write(3_000);
        pair.run_until(at_ms(1_500));
        assert_eq!((pair.log[1].0, pair.log[1].2.len, pair.log[1].2.fast_open()), (at_ms(1_000), 0, None));
        assert_eq!((pair.server.bytes_delivered(), pair.log[2].2.fast_open()), (3_000, None));
        assert!(pair.client.fast_opened().unwrap().is_negative);
        // RFC 5681 §3.1.
        assert_eq!(pair.data().filter(|(t, _)| *t == at_ms(1_020)).count(), 1);
    }
}

/// §4.2.2: a SYN-ACK that is retransmitted has no option, and acknowledges what was taken.
#[test]
fn a_lost_syn_ack_goes_again_and_the_answer_is_repaired_after_the_handshake() {
    let mut pair = cached().network(|_, client, s, _| if !client && s.has(flags::SYN) { vec![] } else { vec![Duration::ZERO] });
    pair.client.write(100);
    pair.run_until(at_ms(10));
    pair.server.write(2_000);
    pair.run_until(at_ms(900));
    // What came without the SYN-ACK is dropped (RFC 9293 §3.10.7.3), and nothing is reset.
    assert_eq!((pair.client.state(), pair.log.len()), (State::SynSent, 3));
    pair.network = Box::new(|_, _, _, _| vec![Duration::ZERO]);
    pair.run_until(at_ms(5_000));
    assert_eq!((pair.client.bytes_delivered(), pair.server.bytes_delivered()), (2_000, 100));
    let again: Vec<&Segment> = pair.log.iter().map(|(_, _, s)| s).filter(|s| s.has(flags::SYN | flags::ACK)).skip(1).collect();
    assert!(!again.is_empty() && again.iter().all(|s| s.len == 0 && s.fast_open().is_none() && s.ack == 101), "{again:?}");
    assert!(!pair.client.fast_opened().unwrap().is_negative, "the data was taken");
    assert_eq!(pair.client.stats().bytes_sent, 100);
}

/// An application that has data of a connection is told of its end: the listener does not listen again.
#[test]
fn a_reset_or_silence_ends_a_connection_that_has_data() {
    let syn = cached_syn();
    let listener = |retries| {
        let mut server = Connection::listen(set_to(FastOpen::Cached).with(|tcp| tcp.timers.syn_ack_retries = retries), 0, ms(0));
        server.set_cookie(cookie(), 1460);
        server.handle_segment(Time::ZERO, &syn, Ecn::NotEct);
        server.poll_transmit(Time::ZERO).unwrap();
        server
    };
    let mut server = listener(None);
    server.handle_segment(at_ms(1), &Segment::new(101, flags::RST, 0), Ecn::NotEct);
    assert_eq!((server.state(), server.aborted()), (State::Closed, Some(Abort::Reset)));
    let mut server = listener(Some(1));
    while let Some(at) = server.poll_timeout() {
        server.handle_timeout(at);
        while server.poll_transmit(at).is_some() {}
    }
    assert_eq!((server.state(), server.aborted(), server.bytes_delivered()), (State::Closed, Some(Abort::TimedOut), 100));
    // Another SYN is challenged.
    let mut server = listener(None);
    server.handle_segment(at_ms(1), &Segment::new(150, flags::SYN, 0), Ecn::NotEct);
    assert_eq!((server.state(), server.poll_transmit(at_ms(1)).unwrap().0.ack), (State::SynReceived, 101));
    // One with the number of the first is a retransmission.
    server.handle_segment(at_ms(2), &Segment::new(0, flags::SYN, 0), Ecn::NotEct);
    assert_eq!(server.poll_transmit(at_ms(2)).unwrap().0.ack, 101);
}

fn cached_syn() -> Segment {
    let mut syn = Segment::new(0, flags::SYN, 100);
    syn.set_mss(1460);
    syn.window = 65_535;
    syn.set_fast_open(cookie());
    syn
}

/// RFC 7413 §4.2.2: a SYN-ACK may bring data, and a server may take part of it.
#[test]
fn a_syn_ack_with_data_and_of_a_part_is_taken() {
    let mut client = Connection::connect(set_to(FastOpen::Cached), 0, ms(0));
    client.set_cookie(cookie(), 1460);
    client.write(1_000);
    client.poll_transmit(Time::ZERO).unwrap();
    for wrong in [0, 1_002] {
        let mut answer = Segment::new(500, flags::SYN | flags::ACK, 0);
        answer.ack = wrong;
        client.handle_segment(at_ms(20), &answer, Ecn::NotEct);
        assert_eq!(client.state(), State::SynSent);
        assert!(client.poll_transmit(at_ms(20)).unwrap().0.has(flags::RST));
    }
    let mut answer = Segment::new(500, flags::SYN | flags::ACK | flags::FIN, 200);
    (answer.ack, answer.window) = (401, 10_000);
    answer.set_mss(1460);
    client.handle_segment(at_ms(20), &answer, Ecn::NotEct);
    assert_eq!((client.bytes_delivered(), client.fast_opened().unwrap().taken), (200, 400));
    let (rest, _) = client.poll_transmit(at_ms(20)).unwrap();
    assert_eq!((rest.seq, rest.len, rest.ack), (401, 600, 702));
}

/// A SYN with data and a FIN, which no client of ours sends: the stream ends with the handshake.
#[test]
fn a_fin_that_comes_with_a_syn_closes_once_the_handshake_is_done() {
    let mut server = Connection::listen(set_to(FastOpen::Cached), 0, ms(0));
    server.set_cookie(cookie(), 1460);
    let mut syn = cached_syn();
    syn.flags |= flags::FIN;
    server.handle_segment(Time::ZERO, &syn, Ecn::NotEct);
    let (answer, _) = server.poll_transmit(Time::ZERO).unwrap();
    assert_eq!((answer.ack, server.end_of_stream(), server.state()), (102, true, State::SynReceived));
    let mut ack = Segment::new(102, flags::ACK, 0);
    (ack.ack, ack.window) = (1, 65_535);
    server.handle_segment(at_ms(20), &ack, Ecn::NotEct);
    assert_eq!(server.state(), State::CloseWait);
}

/// Both sides open at once, one of them with data: it goes again once the handshake is done.
#[test]
fn simultaneous_opens_with_data_lose_none() {
    let mut pair = cached();
    pair.server = Connection::connect(set_to(FastOpen::Cached), 99, ms(0));
    pair.server.set_cookie(cookie(), 1460);
    pair.client.write(10_000);
    pair.server.write(500);
    pair.run_until(at_ms(3_000));
    assert_eq!((pair.client.bytes_delivered(), pair.server.bytes_delivered()), (500, 10_000));
}

/// The application stops while its data is on the way with the SYN: what was sent is the stream.
#[test]
fn stopping_before_the_syn_ack_ends_the_stream_with_what_the_syn_had() {
    for server in [FastOpen::Cached, FastOpen::Off] {
        let mut pair = pair(set_to(FastOpen::Cached), set_to(server), Some(cookie()));
        pair.client.write(100_000);
        pair.run_until(at_ms(5));
        pair.client.stop();
        pair.run_until(at_ms(1_000));
        assert_eq!((pair.server.bytes_delivered(), pair.server.end_of_stream(), pair.client.all_acked()), (1_428, true, true));
    }
}

#[test]
fn cookies_have_an_even_number_of_4_to_16_bytes_or_none() {
    for len in 0..=20 {
        let bytes: Vec<u8> = (1..=len).collect();
        let made = Cookie::new(&bytes);
        assert_eq!(made.is_some(), [0, 4, 6, 8, 10, 12, 14, 16].contains(&len), "{len}");
        let Some(made) = made else { continue };
        let (back, n) = made.bytes();
        assert_eq!(&back[..n], bytes);
        let mut syn = Segment::new(7, flags::SYN, 0);
        syn.set_mss(1460);
        syn.set_sack_permitted();
        syn.set_timestamps(1, 2);
        assert!(syn.set_fast_open(made) && !syn.set_fast_open(made));
        syn.set_window_scale(14);
        assert_eq!((syn.fast_open(), syn.window_scale(), syn.mss()), (Some(made), Some(14), Some(1460)));
        assert!(syn.options_len() <= 40 && syn.options_len() == 20 + (2 + u32::from(len)).next_multiple_of(4));
        let mut packet = Vec::new();
        wire::emit(wire::Address::default(), wire::Address::default(), Ecn::NotEct, &syn, &[], &mut packet);
        assert_eq!(wire::parse(&packet).unwrap().segment, syn);
    }
}

/// One segment of the opening is lost, whichever it is, or comes twice: all arrives, and nothing is reset.
#[test]
fn any_one_segment_may_be_lost_or_doubled() {
    for fast_open in [FastOpen::Request, FastOpen::Cached, FastOpen::Stale, FastOpen::Full] {
        for hit in 0..12 {
            for copies in [0, 2] {
                let known = if fast_open == FastOpen::Stale { Cookie::new(&[9; 4]) } else { Some(cookie()) };
                let mut pair = pair(set_to(fast_open), set_to(fast_open), known)
                    .network(move |n, _, _, _| if n == hit { vec![ms(3); copies] } else { vec![Duration::ZERO] });
                pair.client.write(5_000);
                pair.client.close();
                pair.run_until(at_ms(12));
                pair.server.write(9_000);
                pair.server.close();
                pair.run_until(at_ms(20_000));
                let delivered = (pair.server.bytes_delivered(), pair.client.bytes_delivered());
                assert_eq!(delivered, (5_000, 9_000), "{fast_open:?}, segment {hit}, {copies} copies: {:#?}", shown(&pair));
                assert!(pair.client.all_acked() && pair.server.all_acked() && pair.client.end_of_stream() && pair.server.end_of_stream());
                assert!(pair.log.iter().all(|(_, _, s)| !s.has(flags::RST)), "{:#?}", shown(&pair));
                let sent = |end: &Connection| end.stats().bytes_sent - end.stats().bytes_retransmitted;
                assert_eq!(
                    (sent(&pair.client), sent(&pair.server)),
                    (5_000, 9_000),
                    "each byte counts once, and again where it went again"
                );
            }
        }
    }
}

proptest! {
    /// Whatever both ends are set to, whatever is lost, doubled or late: every byte arrives once, and in order.
    #[test]
    fn every_byte_arrives_once_whatever_the_path_does(
        client in 0usize..5, server in 0usize..5,
        stacks in (prop::sample::select(vec!["rfc", "linux", "bsd-reno-1994"]), prop::sample::select(vec!["rfc", "linux"])),
        known in prop::sample::select(vec![None, Some(1u8), Some(9)]),
        mss in prop::sample::select(vec![0u16, 40, 536, 1460, 9000]),
        volumes in (0u64..20_000, 0u64..20_000),
        answers_at in 0u64..60,
        fates in prop::collection::vec((0u8..10, 0u64..60), 0..40),
    ) {
        let all = [FastOpen::Off, FastOpen::Request, FastOpen::Cached, FastOpen::Stale, FastOpen::Full];
        // An end that gives up would leave the other alone.
        let with = |stack, i: usize| TcpConfig { fast_open: all[i], ..config(stack) }
            .with(|tcp| (tcp.timers.syn_retries, tcp.timers.syn_ack_retries, tcp.timers.user_timeout) = (None, None, None));
        let mut pair = Pair::with_iss(with(stacks.0, client), with(stacks.1, server), ms(10), u32::MAX - 700, 5).network(move |n, _, _, _| {
            match fates.get(n as usize) {
                Some((0..=2, _)) => vec![],
                Some((3, late)) => vec![Duration::ZERO, ms(*late)],
                Some((4 | 5, late)) => vec![ms(*late)],
                _ => vec![Duration::ZERO],
            }
        });
        if let Some(byte) = known {
            pair.client.set_cookie(Cookie::new(&[byte; 8]).unwrap(), mss);
        }
        pair.server.set_cookie(Cookie::new(&[1; 8]).unwrap(), 1460);
        pair.client.write(volumes.0);
        pair.client.close();
        pair.run_until(at_ms(answers_at));
        pair.server.write(volumes.1);
        pair.server.close();
        for second in 1..400 {
            pair.run_until(at_ms(second * 1_000));
            pair.client.assert_invariants();
            pair.server.assert_invariants();
        }
        prop_assert_eq!((pair.server.bytes_delivered(), pair.client.bytes_delivered()), volumes, "{:#?}", shown(&pair));
        prop_assert!(pair.client.all_acked() && pair.server.all_acked() && pair.client.end_of_stream() && pair.server.end_of_stream());
    }
}
