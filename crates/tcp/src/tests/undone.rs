//! No reduction is taken back without proof: over random networks, of which the tests know what was lost and what was only late.

use super::*;
use longfat_core::rng::Rng;
use proptest::prelude::*;
use std::cell::RefCell;

const KINDS: [RecoveryKind; 6] =
    [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack];

/// Harm that a network does, each with a probability: lose data, lose an ACK, hold up data or an ACK (for up to `lateness`), make a copy.
/// And every one to three seconds it holds up all data for up to `stall` ms, in order: with more than a second the timeout is spurious.
#[derive(Clone, Copy, Debug, Default)]
struct Harm {
    loss: f64,
    ack_loss: f64,
    late: f64,
    ack_late: f64,
    lateness: u64,
    copies: f64,
    stall: u64,
}

/// When a network holds up all data, each from and until when.
fn stalls(most: u64, seed: u64) -> Vec<(Time, Time)> {
    let mut rng = Rng::named(seed, "stalls");
    let mut from = at_ms(300 + rng.below(700));
    let mut all = Vec::new();
    while most > 0 && all.len() < 100 {
        let until = from + ms(1 + rng.below(most));
        all.push((from, until));
        from = until + ms(1_000 + rng.below(2_000));
    }
    all
}

/// Detections of spurious retransmissions in use.
#[derive(Clone, Copy, Debug)]
struct Detections {
    timestamps: bool,
    dsack: bool,
    frto: bool,
    tail_probe: bool,
}

/// A data segment as the network saw it: when it was sent, its bytes, and when copies of it arrived.
#[derive(Clone, Debug)]
struct Passage {
    sent: Time,
    start: u32,
    end: u32,
    arrivals: Vec<Time>,
}

/// A reduction, and when it was taken back, if it was.
#[derive(Clone, Copy, Debug)]
struct Reduced {
    at: Time,
    undone: Option<Time>,
}

struct Outcome {
    stats: Stats,
    reductions: Vec<Reduced>,
    passages: Vec<Passage>,
    ended: Time,
}

impl Outcome {
    /// Returns true if, when `reduced` was taken back, something had arrived that was retransmitted for it nevertheless: an older
    /// transmission, or two copies of the new one.
    fn is_proven(&self, reduced: Reduced) -> bool {
        let undone = reduced.undone.expect("undone");
        let again = self.passages.iter().enumerate().filter(|(_, p)| p.sent >= reduced.at && p.sent <= undone);
        let mut again = again.filter_map(|(n, again)| {
            let mut before = self.passages[..n].iter().filter(|p| p.start < again.end && again.start < p.end).peekable();
            before.peek()?;
            let in_time = |p: &Passage| p.arrivals.iter().filter(|at| **at <= undone).count();
            Some(before.any(|p| in_time(p) > 0) || in_time(again) > 1)
        });
        again.any(|needless| needless)
    }

    /// Returns the retransmissions from `from` to `until`: when each was sent, and when the transmission before it and this one arrived.
    fn again(&self, from: Time, until: Time) -> Vec<(Time, Time, Time)> {
        let older = |n: usize, p: &Passage| self.passages[..n].iter().rfind(|older| older.start == p.start).map(|older| older.arrivals[0]);
        let sent = self.passages.iter().enumerate().filter(|(_, p)| p.sent >= from && p.sent < until);
        sent.filter_map(|(n, p)| Some((p.sent, older(n, p)?, p.arrivals[0]))).collect()
    }

    /// Returns true if something under way when `reduced` came arrived before it was taken back: the timer went off early, whatever was
    /// lost. F-RTO proves this (RFC 5682 §2.1, steps 2b and 3b): behind a lost segment the others may be only late, and it goes by their
    /// ACKs.
    fn was_early(&self, reduced: Reduced) -> bool {
        let undone = reduced.undone.expect("undone");
        let mut before = self.passages.iter().take_while(|p| p.sent < reduced.at);
        before.any(|p| p.arrivals.iter().any(|at| *at > reduced.at && *at <= undone))
    }
}

fn run(
    recovery: RecoveryKind,
    detections: Detections,
    harm: Harm,
    segments: u64,
    window: u32,
    delayed_ack: DelayedAck,
    seed: u64,
) -> Outcome {
    let mut sender = TcpConfig { recovery, mss: 1000, initial_window: window, timestamps: detections.timestamps, ..config("rfc") };
    // Above all that a round trip can be here: the timer does not go off by itself.
    sender.timers.rto_min = ms(1_000);
    if harm.stall > 0 {
        // Slow growth, so that there is still data when the network stalls.
        sender.initial_ssthresh = u64::from(window) * 1000;
    }
    (sender.repair.undo, sender.repair.frto, sender.repair.tail_probe) =
        (detections.timestamps || detections.dsack, detections.frto, detections.tail_probe);
    let receiver = TcpConfig { delayed_ack, timestamps: detections.timestamps, dsack: detections.dsack, ..config("rfc") };
    let passages = RefCell::new(Vec::new());
    let (reductions, stats, ended) = {
        let mut rng = Rng::named(seed, "network");
        let stalls = stalls(harm.stall, seed);
        let pair = Pair::with_iss(sender, receiver, ms(50), 0, 0);
        let clock = pair.clock.clone();
        let mut pair = pair.network(|_, client, segment, _| {
            if segment.has(flags::SYN) {
                return vec![Duration::ZERO];
            }
            let stall = stalls.iter().find(|(from, until)| client && *from <= clock.get() && clock.get() < *until);
            let held = stall.map_or(Duration::ZERO, |(_, until)| until.since(clock.get()));
            let lost = rng.chance(if client { harm.loss } else { harm.ack_loss });
            let late = if client { harm.late } else { harm.ack_late };
            let count = if lost { 0 } else { 1 + usize::from(rng.chance(harm.copies)) };
            let extra: Vec<_> =
                (0..count).map(|_| if rng.chance(late) { held + ms(1 + rng.below(harm.lateness.max(1))) } else { held }).collect();
            if client && segment.len > 0 {
                let (start, end) = (segment.seq, segment.seq + u32::from(segment.len));
                let arrivals = extra.iter().map(|extra| clock.get() + ms(50) + *extra).collect();
                passages.borrow_mut().push(Passage { sent: clock.get(), start, end, arrivals });
            }
            extra
        });
        pair.client.write(segments * 1000);
        let mut reductions: Vec<Reduced> = Vec::new();
        let mut seen = (0, 0);
        while pair.step(at_ms(60_000_000)) && pair.server.bytes_delivered() < segments * 1000 {
            let stats = pair.client.stats();
            let now = (stats.fast_retransmits + stats.timeouts, stats.spurious_recoveries);
            if now.1 > seen.1 {
                reductions.last_mut().expect("something was taken back").undone = Some(pair.now);
            }
            if now.0 > seen.0 {
                // Second of two ACKs that come at once may take back what the first one began.
                let undone = (now.1 > seen.1 + 1).then_some(pair.now);
                reductions.push(Reduced { at: pair.now, undone });
            }
            seen = now;
        }
        assert_eq!(pair.server.bytes_delivered(), segments * 1000);
        (reductions, pair.client.stats(), pair.now)
    };
    assert!(stats.segments_retransmitted <= stats.segments_sent && stats.bytes_retransmitted <= stats.bytes_sent, "{stats:?}");
    Outcome { stats, reductions, passages: passages.into_inner(), ended }
}

fn detections() -> impl Strategy<Value = Detections> {
    let any = prop::bool::ANY;
    (any, any, any, any).prop_map(|(timestamps, dsack, frto, tail_probe)| Detections { timestamps, dsack, frto, tail_probe })
}

fn delayed_ack() -> impl Strategy<Value = DelayedAck> {
    prop_oneof![Just(DelayedAck::Off), Just(config("rfc").delayed_ack)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Nothing comes out of order or twice: what is missing was lost, and no reduction is for nothing. (Without SACK going back makes
    /// duplicate ACKs of its own, and needless reductions.)
    #[test]
    fn what_was_lost_is_not_undone(
        recovery in prop::sample::select(&[RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack]), detections in detections(), delayed_ack in delayed_ack(),
        loss in 0.002..0.25f64, segments in 50u64..600, window in 2u32..80, seed in 0u64..1 << 32,
    ) {
        let harm = Harm { loss, ..Harm::default() };
        let outcome = run(recovery, detections, harm, segments, window, delayed_ack, seed);
        prop_assert_eq!(outcome.stats.spurious_recoveries, 0, "{:?}", outcome.stats);
        // Each was for a loss.
        let lost = outcome.passages.iter().filter(|p| p.arrivals.is_empty()).count() as u64;
        prop_assert!(outcome.stats.fast_retransmits + outcome.stats.timeouts <= lost);
    }

    /// Whatever the network does, what is taken back was for nothing: the network knows of something that arrived and was retransmitted.
    /// Or, by
    /// F-RTO, it was early.
    #[test]
    fn what_is_undone_was_for_nothing(
        recovery in prop::sample::select(&KINDS), detections in detections(), delayed_ack in delayed_ack(),
        loss in 0.0..0.05f64, ack_loss in 0.0..0.2f64, late in 0.0..0.2f64, lateness in 1u64..120,
        copies in prop_oneof![Just(0.0), 0.0..0.05f64], stall in prop_oneof![Just(0), 1u64..6_000], segments in 50u64..600, window in 2u32..80, seed in 0u64..1 << 32,
    ) {
        let harm = Harm { loss, ack_loss, late, ack_late: late, lateness, copies, stall };
        let outcome = run(recovery, detections, harm, segments, window, delayed_ack, seed);
        for reduced in outcome.reductions.iter().filter(|reduced| reduced.undone.is_some()) {
            let right = outcome.is_proven(*reduced) || detections.frto && outcome.was_early(*reduced);
            prop_assert!(right, "{:?}: {:?}", reduced, outcome.stats);
        }
    }
}

/// Eifel, DSACKs and F-RTO, each alone.
const EACH: [Detections; 3] = [
    Detections { timestamps: true, dsack: false, frto: false, tail_probe: false },
    Detections { timestamps: false, dsack: true, frto: false, tail_probe: false },
    Detections { timestamps: false, dsack: false, frto: true, tail_probe: false },
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Nothing is lost, and all data is late together at times: each timeout is for nothing, and whichever way there is to tell tells so.
    #[test]
    fn each_way_agrees_about_a_timeout_for_nothing(
        recovery in prop::sample::select(&[RecoveryKind::Sack, RecoveryKind::Rack]), delayed_ack in delayed_ack(),
        stall in 1_000u64..2_500, segments in 1_000u64..3_000, window in 4u32..20, seed in 0u64..1 << 32,
    ) {
        for detections in EACH {
            let outcome = run(recovery, detections, Harm { stall, ..Harm::default() }, segments, window, delayed_ack, seed);
            // Reductions of the last two seconds may not be decided before the end.
            let known = outcome.reductions.iter().filter(|reduced| reduced.at + ms(2_000) < outcome.ended);
            let taken = known.clone().filter(|reduced| reduced.undone.is_some()).count();
            prop_assert_eq!(taken, known.count(), "{:?}: {:?}", detections, outcome.stats);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// No data is lost, and some is late: each fast retransmit is for nothing. Eifel takes it back if what was sent first arrives first
    /// (RFC 3522 §3.2), the DSACKs do once the last copy has been reported (RFC 3708 §2). Neither can know where what an older repair
    /// retransmitted
    /// is still under way, Eifel not where one ACK overtakes another; and both come too late where there is a new reduction by then.
    #[test]
    fn each_way_agrees_about_a_fast_retransmit_for_nothing(
        recovery in prop::sample::select(&[RecoveryKind::Sack, RecoveryKind::Rack]), delayed_ack in delayed_ack(),
        late in 0.005..0.1f64, lateness in 1u64..80, segments in 100u64..600, window in 4u32..60, seed in 0u64..1 << 32,
    ) {
        let harm = Harm { late, lateness, ..Harm::default() };
        // An ACK may wait.
        let back = ms(50 + 40);
        for detections in &EACH[..2] {
            let outcome = run(recovery, *detections, harm, segments, window, delayed_ack, seed);
            let next = outcome.reductions.iter().skip(1).map(|next| next.at).chain([outcome.ended]);
            for (reduced, until) in outcome.reductions.iter().zip(next) {
                let again = outcome.again(reduced.at, until);
                let told = again.iter().map(|(_, older, newer)| if detections.dsack { *newer.max(older) } else { *older }).max();
                let is_first = again.iter().all(|(_, older, newer)| older < newer);
                let is_alone = outcome.again(Time::ZERO, reduced.at).iter().all(|(sent, ..)| *sent + ms(50 + lateness) + back < reduced.at);
                let is_known = told.is_some_and(|told| told + back < until) && is_alone && (detections.dsack || is_first);
                prop_assert!(reduced.undone.is_some() || !is_known, "{:?}: {:?}, {:?}", detections, reduced, outcome.stats);
            }
        }
    }
}

/// The properties would not hold for want of anything to hold of: such networks do make needless reductions, and each way finds some.
#[test]
fn each_way_finds_needless_reductions() {
    let harm = Harm { loss: 0.005, ack_loss: 0.02, late: 0.03, ack_late: 0.03, lateness: 60, ..Harm::default() };
    let none = Detections { timestamps: false, dsack: false, frto: false, tail_probe: true };
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        for detections in [Detections { timestamps: true, ..none }, Detections { dsack: true, ..none }] {
            let undone = |seed| run(recovery, detections, harm, 400, 20, DelayedAck::Off, seed).stats.spurious_recoveries;
            let found: u64 = (0..20).map(undone).sum();
            assert!(found > 10, "{recovery:?} {detections:?}: {found}");
        }
        for detections in EACH {
            let harm = Harm { stall: 2_500, ..Harm::default() };
            let stats: Vec<_> = (0..20).map(|seed| run(recovery, detections, harm, 2_000, 10, DelayedAck::Off, seed).stats).collect();
            let found: u64 = stats.iter().map(|stats| stats.timeouts.min(stats.spurious_recoveries)).sum();
            assert!(found > 10, "{recovery:?} {detections:?}: {found}");
        }
    }
}
