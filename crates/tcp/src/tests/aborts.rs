//! Connections that end because nothing answers, and those that somebody tries to end (RFC 9293 §3.8.3, §3.10.7.4; RFC 5961).

use super::*;

/// Linux documents this for `tcp_retries2`: the connection ends at the first timeout after 924.6 s.
#[test]
fn the_user_timeout_ends_a_connection_that_nothing_answers() {
    let cut = Rc::new(Cell::new(false));
    let is_cut = cut.clone();
    let mut pair = Pair::new(config("linux"), config("linux"), ms(10))
        .network(move |_, _, _, _| if is_cut.get() { vec![] } else { vec![Duration::ZERO] });
    pair.client.write(100_000);
    pair.run_until(at_ms(1_000));
    assert!(pair.client.all_acked());
    cut.set(true);
    pair.client.write(1000);
    pair.flush();
    let rto = pair.client.info().rto;
    pair.run_until(at_ms(1_000_000_000));
    assert_eq!((pair.client.state(), pair.client.aborted()), (State::Closed, Some(Abort::TimedOut)));
    // The tail loss probe goes first; then a timer that begins at rto and doubles up to 120 s.
    let again: Vec<Time> = pair.data().map(|(at, _)| at).filter(|at| *at > at_ms(1_000)).collect();
    let (mut at, mut span) = (again[0], rto);
    for sent in &again[1..] {
        at += span;
        assert_eq!(*sent, at);
        span = (span * 2).min(Duration::from_secs(120));
    }
    // The next timeout would have been the first after 924.6 s from where the timer was first set.
    let from = again[0];
    let least = Duration::from_millis(924_600);
    assert!(again.last().unwrap().since(from) < least && (at + span).since(from) >= least, "{:?} {at:?} {span:?}", again.last());
    // It has told nobody; whoever still speaks to it is refused.
    assert!(!pair.log.last().unwrap().2.has(flags::RST));
    cut.set(false);
    pair.server.write(10);
    pair.run_until(at_ms(1_000_001_000));
    assert_eq!(pair.server.aborted(), Some(Abort::Reset));
}

#[test]
fn without_a_user_timeout_it_never_gives_up() {
    let cut = Rc::new(Cell::new(false));
    let is_cut = cut.clone();
    let mut pair =
        Pair::new(config("rfc"), config("rfc"), ms(10)).network(move |_, _, _, _| if is_cut.get() { vec![] } else { vec![Duration::ZERO] });
    pair.run_until(at_ms(1_000));
    cut.set(true);
    pair.client.write(1000);
    pair.run_until(at_ms(10_000_000));
    cut.set(false);
    pair.run_until(at_ms(10_100_000));
    assert!(pair.client.all_acked() && pair.client.aborted().is_none());
}

/// RFC 9293 §3.8.6.1 (MUST-37): a closed window may stay closed, as long as the probes are answered.
#[test]
fn a_closed_window_is_probed_without_end_while_there_are_answers() {
    let cut = Rc::new(Cell::new(false));
    let is_cut = cut.clone();
    let mut pair = Pair::new(config("linux"), TcpConfig { receive_buffer: 10_000, ..config("linux") }, ms(10))
        .network(move |_, _, _, _| if is_cut.get() { vec![] } else { vec![Duration::ZERO] });
    pair.server.set_auto_read(false);
    pair.client.write(100_000);
    pair.run_until(at_ms(5_000_000));
    assert_eq!((pair.client.aborted(), pair.client.info().rwnd), (None, 0));
    cut.set(true);
    pair.run_until(at_ms(5_900_000));
    assert_eq!(pair.client.aborted(), None);
    pair.run_until(at_ms(6_200_000));
    assert_eq!(pair.client.aborted(), Some(Abort::TimedOut));
}

/// A SYN that nothing answers, repeated `retries` times, of which `linear` do not double the wait: the seconds at which SYNs go, and at which it is
/// over.
fn unanswered(retries: u32, linear: u32) -> (Vec<u64>, u64) {
    let client = config("linux").with(|tcp| {
        tcp.timers.syn_retries = Some(retries);
        tcp.timers.syn_linear_timeouts = linear;
    });
    let mut pair = Pair::new(client, config("linux"), ms(10)).network(|_, _, _, _| vec![]);
    let mut over = 0;
    while pair.client.state() != State::Closed {
        assert_eq!((pair.client.state(), pair.client.aborted()), (State::SynSent, None));
        over += 1;
        pair.run_until(at_ms(1000 * over));
    }
    assert_eq!(pair.client.aborted(), Some(Abort::TimedOut));
    assert!(!pair.client.was_refused());
    (pair.log.iter().map(|(at, ..)| at.as_ps() / 1_000_000_000_000).collect(), over)
}

/// ip-sysctl: with `tcp_syn_retries` = 6 the last repetition is after 63 s and the attempt ends after 127 s; with `tcp_syn_linear_timeouts` = 4 that
/// is 67 and 131 s. With 2 retries both were measured on Linux 6.18.
#[test]
fn a_syn_is_not_sent_for_ever() {
    assert_eq!(unanswered(6, 0), (vec![0, 1, 3, 7, 15, 31, 63], 127));
    assert_eq!(unanswered(6, 4), (vec![0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131));
    assert_eq!(unanswered(2, 0), (vec![0, 1, 3], 7));
    assert_eq!(unanswered(2, 4), (vec![0, 1, 2, 3, 4, 5], 7));
    assert_eq!(unanswered(0, 4), (vec![0], 1));
}

/// A server whose SYN-ACKs do not arrive; then, from `ms` on, the network is well, and a client without timestamps calls.
fn called_again(end: impl Fn(&mut Pair)) -> u64 {
    let well = Rc::new(Cell::new(false));
    let is_well = well.clone();
    let mut pair = Pair::new(config("linux"), config("linux"), ms(10))
        .network(move |_, client, _, _| if client || is_well.get() { vec![Duration::ZERO] } else { vec![] });
    pair.run_until(at_ms(100));
    assert_eq!(pair.server.state(), State::SynReceived);
    end(&mut pair);
    assert_eq!((pair.server.state(), pair.server.aborted()), (State::Listen, None));
    let before = pair.log.len();
    well.set(true);
    let plain = TcpConfig { timestamps: false, sack: false, mss: 1000, ..config("rfc") };
    pair.client = Connection::connect(plain, 77_000, ms(5));
    pair.client.write(50_000);
    pair.server.write(30_000);
    pair.run_until(pair.now + ms(3_000));
    assert!(pair.client.all_acked() && pair.server.all_acked());
    assert_eq!((pair.server.bytes_delivered(), pair.client.bytes_delivered()), (50_000, 30_000));
    assert_eq!(pair.server.stats().segments_retransmitted + pair.client.stats().segments_retransmitted, 0);
    assert!(pair.log[before..].iter().all(|(_, _, s)| !s.has(flags::SYN | flags::ACK) || s.sack_count() == 0));
    pair.server.info().srtt.as_ps() / 1_000_000_000
}

/// RFC 9293 §3.10.7.4: a half-open connection of a listener is forgotten, and what it was to be leaves no trace.
#[test]
fn a_listener_outlives_a_handshake_that_fails() {
    // A reset that names the next byte.
    let srtt = called_again(|pair| {
        let mut reset = Segment::new(0xffff_fff1, flags::RST, 0);
        reset.seq = reset.seq.wrapping_add(9);
        pair.server.handle_segment(pair.now, &reset, Ecn::NotEct);
        assert_eq!(pair.server.state(), State::SynReceived, "RFC 5961 §3.2: it must be exact");
        reset.seq = 0xffff_fff1;
        pair.server.handle_segment(pair.now, &reset, Ecn::NotEct);
    });
    assert_eq!(srtt, 20);
    // Another SYN in the window.
    called_again(|pair| pair.server.handle_segment(pair.now, &Segment::new(5, flags::SYN, 0), Ecn::NotEct));
    // Nothing comes for `tcp_synack_retries` = 5 (the client is gone).
    called_again(|pair| {
        pair.client.abort();
        pair.run_until(at_ms(64_000));
    });
}

#[test]
fn a_reset_ends_a_simultaneous_open() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10)).network(|n, _, _, _| if n < 2 { vec![Duration::ZERO] } else { vec![] });
    pair.server = Connection::connect(config("rfc"), 99, ms(0));
    pair.run_until(at_ms(50));
    assert_eq!(pair.client.state(), State::SynReceived);
    pair.client.handle_segment(pair.now, &Segment::new(100, flags::RST, 0), Ecn::NotEct);
    assert_eq!((pair.client.state(), pair.client.aborted()), (State::Closed, Some(Abort::Reset)));
    assert!(pair.client.was_refused());
}

/// RFC 5961 §5.2: what acknowledges less than SND.UNA - MAX.SND.WND is not even looked at for its data.
#[test]
fn an_ack_from_before_the_window_is_refused() {
    let small = TcpConfig { receive_buffer: 20_000, timestamps: false, ..config("rfc") };
    let mut pair = Pair::with_iss(small.clone(), small, ms(10), 0, 0);
    pair.client.write(100_000);
    pair.run_until(at_ms(5_000));
    assert!(pair.client.all_acked());
    for (ack, taken) in [(80_001, 10), (80_000, 10), (100_002, 10), (100_001, 20)] {
        let mut data = Segment::new(1 + pair.client.bytes_delivered() as u32, flags::ACK, 10);
        (data.ack, data.window) = (ack, 20_000);
        pair.client.handle_segment(pair.now, &data, Ecn::NotEct);
        assert_eq!(pair.client.bytes_delivered(), taken, "{ack}");
        // At once where it is refused.
        let answer = pair.client.poll_transmit(pair.now).map(|(answer, _)| answer.ack);
        assert_eq!(answer, (ack == 80_000 || ack == 100_002).then_some(1 + taken as u32), "{ack}");
    }
}

/// RFC 5961 §7.
#[test]
fn challenges_are_answered_ten_times_in_five_seconds() {
    let mut pair = Pair::with_iss(config("rfc"), config("rfc"), ms(10), 0, 0);
    pair.run_until(at_ms(100));
    let mut answers = |at: u64| {
        (0..30)
            .filter(|n| {
                let mut attack = Segment::new(500, [flags::RST, flags::SYN, flags::ACK][n % 3], 0);
                // ACK of what was never sent.
                attack.ack = 1_000_000;
                attack.set_timestamps(1_000_000, 0);
                pair.server.handle_segment(at_ms(at), &attack, Ecn::NotEct);
                pair.server.poll_transmit(at_ms(at)).is_some()
            })
            .count()
    };
    assert_eq!([answers(1_000), answers(5_999), answers(6_000)], [10, 0, 10]);
    assert_eq!(pair.server.state(), State::Established);
}
