//! ECN from end to end: what is negotiated, what is sent ECN-capable, and that the marks told are the marks made.

use std::sync::Arc;

use super::samples::Recorder;
use super::*;
use crate::ecn::EcnKind;
use longfat_core::rng::Rng;

fn with(ecn: EcnKind) -> TcpConfig {
    TcpConfig { ecn, ..config("rfc") }
}

/// Treatment of a transfer's data by the network.
struct Weather {
    marks: u64,
    losses: u64,
    delays: u64,
    lost_acks: u64,
    /// Options are taken off the ACKs.
    strips: bool,
}

/// `segment` without its AccECN option.
fn stripped(segment: &Segment) -> Segment {
    let mut bare = Segment::new(segment.seq, segment.flags, segment.len);
    (bare.ack, bare.window) = (segment.ack, segment.window);
    segment.timestamps().into_iter().for_each(|(val, ecr)| bare.set_timestamps(val, ecr));
    segment.mss().into_iter().for_each(|mss| bare.set_mss(mss));
    segment.window_scale().into_iter().for_each(|shift| bare.set_window_scale(shift));
    if segment.sack_permitted() {
        bare.set_sack_permitted();
    }
    for i in 0..segment.sack_count() {
        let (left, right) = segment.sack(i);
        bare.push_sack(left, right);
    }
    bare
}

/// Bytes that arrived marked, bytes told to be marked, and bytes that arrived twice: a segment that was late may come, marked, after
/// its retransmission, and what a receiver has already it need not tell of.
struct Feedback {
    made: u64,
    told: u64,
    twice: u64,
}

impl Feedback {
    fn assert_exact(&self, what: &str) {
        assert!(self.made > 500 * 1448);
        assert!(self.told <= self.made && self.made - self.told <= self.twice, "{what}: {} of {}, {}", self.told, self.made, self.twice);
    }
}

/// 2000 segments through `weather` (in percent), with a window of 40.
fn transfer(kind: EcnKind, seed: u64, weather: &Weather) -> Feedback {
    let mut rng = Rng::named(seed, "weather");
    let made = Rc::new(Cell::new(0));
    let count = made.clone();
    let mut pair = Pair::new(with(kind), with(kind), ms(20)).network(move |n, client, segment, ecn| {
        if !client {
            if weather.strips {
                *segment = stripped(segment);
            }
            return if n > 4 && rng.below(100) < weather.lost_acks { vec![] } else { vec![Duration::ZERO] };
        }
        if segment.len == 0 || rng.below(100) < weather.losses {
            return if segment.len == 0 { vec![Duration::ZERO] } else { vec![] };
        }
        if *ecn != Ecn::NotEct && rng.below(100) < weather.marks {
            *ecn = Ecn::Ce;
            count.set(count.get() + u64::from(segment.len));
        }
        vec![if rng.below(100) < weather.delays { ms(1 + rng.below(15)) } else { Duration::ZERO }]
    });
    let samples = Arc::default();
    pair.run_until(at_ms(50));
    pair.client.set_control(Box::new(Recorder { window: 40 * 1448, samples: Arc::clone(&samples) }));
    pair.client.write(2000 * 1448);
    pair.run_until(at_ms(300_000));
    assert!(pair.client.all_acked());
    let samples = samples.lock().unwrap();
    assert!(samples.iter().all(|ack| ack.marked <= ack.delivered));
    assert_eq!(samples.iter().map(|ack| ack.delivered).sum::<u64>(), 2000 * 1448);
    Feedback { made: made.get(), told: samples.iter().map(|ack| ack.marked).sum(), twice: pair.server.stats().duplicates_received * 1448 }
}

#[test]
fn under_dctcp_every_marked_byte_is_told_of() {
    for seed in 0..4 {
        for (losses, delays) in [(0, 0), (2, 0), (0, 20), (2, 20)] {
            let told = transfer(EcnKind::Dctcp, seed, &Weather { marks: 30, losses, delays, lost_acks: 0, strips: false });
            told.assert_exact(&format!("seed {seed}, {losses} % lost, {delays} % late"));
        }
    }
}

#[test]
fn under_accecn_every_marked_byte_is_told_of_even_if_acks_are_lost() {
    for seed in 0..4 {
        for (losses, delays, lost_acks) in [(0, 0, 0), (2, 0, 0), (0, 20, 0), (2, 20, 0), (0, 0, 30), (2, 20, 30)] {
            let told = transfer(EcnKind::AccEcn, seed, &Weather { marks: 30, losses, delays, lost_acks, strips: false });
            told.assert_exact(&format!("seed {seed}, {losses} % lost, {delays} % late, {lost_acks} % of the ACKs lost"));
        }
    }
}

#[test]
fn without_the_option_the_three_bits_are_enough_unless_many_acks_are_lost() {
    for (lost_acks, least, most) in [(0, 1.0, 1.0), (20, 1.0, 1.05)] {
        let Feedback { made, told, .. } =
            transfer(EcnKind::AccEcn, 1, &Weather { marks: 30, losses: 0, delays: 0, lost_acks, strips: true });
        let ratio = told as f64 / made as f64;
        // RFC 9768 §3.2.2.5.2: where the field may have wrapped, it is taken to have.
        assert!(ratio >= least && ratio <= most, "{lost_acks}: {ratio}");
    }
}

/// Segments of 1000 bytes arrive at a receiver that acknowledges every second one: the ACKs it sends, as (segments, ECE).
#[test]
fn dctcp_acknowledges_marked_and_unmarked_data_apart() {
    let mut pair = Pair::with_iss(with(EcnKind::Dctcp), with(EcnKind::Dctcp), ms(10), 0, 0);
    pair.run_until(at_ms(100));
    let mut acks = Vec::new();
    for (n, ecn) in (0..).zip([0, 0, 1, 1, 1, 0, 0, 1, 1, 0].map(|ce| if ce == 1 { Ecn::Ce } else { Ecn::Ect0 })) {
        let mut segment = Segment::new(1 + 1000 * n, flags::ACK, 1000);
        (segment.ack, segment.window) = (1, 1000);
        segment.set_timestamps(1_000_000, 0);
        pair.server.handle_segment(pair.now, &segment, ecn);
        while let Some((ack, _)) = pair.server.poll_transmit(pair.now) {
            acks.push(((ack.ack - 1) / 1000, ack.has(flags::ECE)));
        }
    }
    // RFC 8257 §3.2 and figure 1. The eighth comes while the seventh, not marked, waits for its ACK; so does the tenth.
    assert_eq!(acks, [(2, false), (3, true), (5, true), (6, false), (7, false), (8, true), (9, true), (10, false)]);
}

#[test]
fn the_handshake_of_accecn() {
    let mut pair = Pair::new(with(EcnKind::AccEcn), with(EcnKind::AccEcn), ms(10));
    pair.client.write(3 * 1448);
    pair.run_until(at_ms(1_000));
    let flags_of = |i: usize| pair.log[i].2.flags & (flags::SYN | flags::AE | flags::CWR | flags::ECE);
    assert_eq!(flags_of(0), flags::SYN | flags::AE | flags::CWR | flags::ECE);
    assert_eq!(flags_of(1), flags::SYN | flags::CWR, "the SYN came as it was sent: not ECN-capable");
    // §3.2.2.1: a pure ACK tells the same of the SYN-ACK, though there is data that could have carried it.
    assert_eq!((flags_of(2), pair.log[2].2.len), (flags::CWR, 0));
    assert_eq!((flags_of(3), pair.log[3].2.len), (flags::AE | flags::ECE, 1436));
    // §3.2.3.2.1.
    let options: Vec<bool> = pair.log.iter().take(5).map(|(_, _, s)| s.accecn().is_some()).collect();
    assert_eq!(options, [false, true, true, true, false]);
    assert!(pair.log.iter().all(|(_, _, s)| s.options_len() <= 40));
}

/// Returns whether the data of the client and of the server was ECN-capable where the network does `mangle` to what is not data.
fn capable(client: EcnKind, server: EcnKind, mangle: impl Fn(bool, &mut Ecn)) -> [bool; 2] {
    let seen = Rc::new(Cell::new([false; 2]));
    let note = seen.clone();
    let mut pair = Pair::new(with(client), with(server), ms(10)).network(move |_, client, segment, ecn| {
        if segment.len == 0 {
            mangle(client && segment.has(flags::SYN), ecn);
        } else if *ecn != Ecn::NotEct {
            let mut seen = note.get();
            seen[usize::from(!client)] = true;
            note.set(seen);
        }
        vec![Duration::ZERO]
    });
    pair.client.write(10_000);
    pair.server.write(10_000);
    pair.run_until(at_ms(1_000));
    assert_eq!((pair.server.bytes_delivered(), pair.client.bytes_delivered()), (10_000, 10_000));
    seen.get()
}

#[test]
fn data_is_ecn_capable_where_both_ends_are_and_the_path_is_honest() {
    use EcnKind::{AccEcn, Classic, Dctcp, Off};
    for client in [Off, Classic, Dctcp, AccEcn] {
        for server in [Off, Classic, Dctcp, AccEcn] {
            let both = client != Off && server != Off;
            assert_eq!(capable(client, server, |_, _| {}), [both; 2], "{client:?} {server:?}");
        }
    }
    // RFC 9768 §3.2.2.3: each end is told what became of its SYN.
    assert_eq!(
        capable(AccEcn, AccEcn, |syn, ecn| if syn {
            *ecn = Ecn::Ect0;
        }),
        [false, true]
    );
    assert_eq!(
        capable(AccEcn, AccEcn, |syn, ecn| if !syn {
            *ecn = Ecn::Ce;
        }),
        [true, false]
    );
}

/// Two-way data: the counters ride on it, and it makes room for them.
#[test]
fn the_option_beside_data_makes_the_payload_shorter_not_the_packet_longer() {
    let mut pair = Pair::new(with(EcnKind::AccEcn), with(EcnKind::AccEcn), ms(10)).network(|n, client, segment, ecn| {
        if segment.len > 0 && n % 5 == 0 && *ecn != Ecn::NotEct {
            *ecn = Ecn::Ce;
        }
        if client && n % 37 == 3 { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(300_000);
    pair.server.write(300_000);
    pair.run_until(at_ms(30_000));
    assert_eq!((pair.server.bytes_delivered(), pair.client.bytes_delivered()), (300_000, 300_000));
    assert!(pair.log.iter().any(|(_, _, s)| s.len > 0 && s.accecn().is_some()));
    assert_eq!(pair.log.iter().map(|(_, _, s)| s.ip_len()).max(), Some(1500));
}

/// A window of 20 segments of 1000 bytes, of which those numbered `marked` are marked and `lost` are lost; ACKs of the second window come a
/// millisecond apart, from 400 ms on. When data was sent from then on, and the sender afterwards.
fn marked_once(prr_on_marks: bool, marked: &[u64], lost: &[u64]) -> (Vec<u64>, TcpInfo) {
    let recovery = RecoveryKind::Rack;
    let client = TcpConfig { recovery, mss: 1000, initial_window: 20, initial_ssthresh: 20_000, ..with(EcnKind::Classic) }.with(|tcp| {
        tcp.repair.prr_on_marks = prr_on_marks;
        tcp.growth.whole_segments = true;
    });
    let server = TcpConfig { delayed_ack: DelayedAck::Off, ..with(EcnKind::Classic) };
    let mut data = 0;
    let mut pair = Pair::with_iss(client, server, ms(50), 0, 0).network(|_, client, segment, ecn| {
        if !client || segment.len == 0 {
            return vec![Duration::ZERO];
        }
        let n = data;
        data += 1;
        if marked.contains(&n) {
            *ecn = Ecn::Ce;
        }
        if lost.contains(&n) { vec![] } else { vec![if n >= 20 { ms(n.min(40) - 20) } else { Duration::ZERO }] }
    });
    pair.client.write(61_000);
    pair.run_until(at_ms(20_000));
    assert!(pair.client.all_acked());
    let sent = pair.data().map(|(at, _)| at.as_ps() / 1_000_000_000).filter(|at| (300..325).contains(at)).collect();
    (sent, pair.client.info())
}

/// RFC 9937: a segment goes for every second one that arrives, where RFC 3168 alone lets half a window arrive before the next goes.
#[test]
fn by_prr_a_mark_halves_the_rate_for_a_round_trip() {
    let (at_once, _) = marked_once(false, &[20], &[]);
    assert!(at_once[0] >= 309, "{at_once:?}");
    let (eased, info) = marked_once(true, &[20], &[]);
    assert_eq!(eased[..8], [300, 302, 304, 306, 308, 310, 312, 314], "{eased:?}");
    assert_eq!(info.ssthresh, 10_000);
}

/// `prague` moves its window by fractions itself, so that the stack's PRR is not for its marks; for its losses it is.
#[test]
fn prague_answers_marks_without_prr() {
    let config = TcpConfig::new(&crate::stack::find("linux").unwrap().params(), 1500);
    for (name, eases) in [("reno", true), ("cubic", true), ("dctcp", true), ("prague", false), ("bbr", false), ("bbr3", false)] {
        let mut config = config.clone();
        config.congestion_control = crate::congestion::choice(name);
        let prr = crate::congestion::build(&config).traits().prr;
        assert_eq!(prr == crate::congestion::PrrUse::Reductions, eases, "{name}");
        assert_eq!(prr == crate::congestion::PrrUse::Never, name.starts_with("bbr"), "{name}");
    }
}

/// RFC 3168 §6.1.2: marks and losses of one window are one indication of congestion.
#[test]
fn a_loss_while_the_window_comes_down_does_not_reduce_it_again() {
    let (_, info) = marked_once(true, &[20], &[25]);
    assert_eq!((info.ssthresh, info.lost), (10_000, 0));
}
