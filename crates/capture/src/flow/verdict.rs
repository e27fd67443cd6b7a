//! What limited a flow, and how sure that is.
//!
//! Each cause is a rule over what the capture shows, with a strength between 0 and 1. The strongest wins; its confidence is its strength, less
//! what a second one nearly as strong and an incomplete capture take from it. How often that is right on captures whose cause is known:
//! `bench/verdicts.py`.

use super::connection::{Connection, Point};
use super::way::{Episode, Way};
use serde_json::{Value, json};

/// What can limit a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    ReceiveWindow,
    ReceiverHost,
    SendBuffer,
    Application,
    CongestionLoss,
    CongestionEcn,
    SmallBuffer,
    RandomLoss,
    Reordering,
    Growing,
    TooShort,
    Unknown,
}

impl Cause {
    /// Its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Cause::ReceiveWindow => "receive window",
            Cause::ReceiverHost => "receiver's host",
            Cause::SendBuffer => "send buffer",
            Cause::Application => "application",
            Cause::CongestionLoss => "congestion, by loss",
            Cause::CongestionEcn => "congestion, by ECN",
            Cause::SmallBuffer => "bursts over a small buffer",
            Cause::RandomLoss => "random loss",
            Cause::Reordering => "reordering",
            Cause::Growing => "a window that still grows",
            Cause::TooShort => "too short to tell",
            Cause::Unknown => "cannot tell",
        }
    }
}

/// Fewer segments than this say nothing.
const LEAST: u64 = 40;

/// What the rules look at.
struct Facts {
    /// Shares of the time between new segments.
    receiver: f64,
    application: f64,
    acks: f64,
    /// Least round trip, and how far queues have stretched it, in s.
    base: f64,
    stretch: f64,
    /// Over episodes: how full the queue was, 0 to 1, as the round trip before says; the spread of what was in flight over its mean.
    fullness: f64,
    spread: f64,
    episodes: usize,
    /// Segments lost.
    lost: u64,
    /// The longest run of segments lost one behind the other.
    run: u32,
    /// Share of the bins in which as much was in flight as most often, to within two segments.
    plateau: f64,
    /// What was in flight most often.
    level: u64,
    /// Whether what is in flight still grows at the end.
    grows: bool,
}

fn facts(way: &Way, full: u32) -> Facts {
    let waits = &way.waits;
    let total = (waits.receiver + waits.recovery + waits.acks + waits.idle + waits.unprompted).max(1) as f64;
    let trips = way.trips();
    let base = if trips.is_known() { trips.min as f64 / 1e9 } else { 0.0 };
    let means: Vec<f64> = way.series.bins.iter().filter(|bin| bin.rtts > 0).map(|bin| bin.rtt_max as f64 / 1e9).collect();
    // A queue may be full before losses only.
    let before: Vec<f64> = way.episodes.iter().map(|episode| episode.rtt as f64 / 1e9).collect();
    let before = quantile(&before, 0.5).unwrap_or(base);
    let stretch = quantile(&means, 0.95).map_or(0.0, |high| high.max(before) - base).max(0.0);
    let flights: Vec<f64> = way.episodes.iter().map(|episode| episode.flight as f64).collect();
    let fullness = way
        .episodes
        .iter()
        .filter(|episode| episode.rtt > 0)
        .map(|episode| if stretch > 0.0 { ((episode.rtt as f64 / 1e9 - base) / stretch).clamp(0.0, 1.0) } else { 0.0 });
    let levels: Vec<u64> = way.series.bins.iter().map(|bin| bin.flight_max).filter(|flight| *flight > 0).collect();
    let (level, plateau) = plateau(&levels, u64::from(full));
    let lost = way.counts.again.iter().sum::<u64>().saturating_sub(way.counts.needless);
    let late = &levels[levels.len() * 3 / 4..];
    let earlier = &levels[levels.len() / 2..levels.len() * 3 / 4];
    let mean = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len().max(1) as f64;
    Facts {
        receiver: waits.receiver as f64 / total,
        application: (waits.idle + waits.unprompted) as f64 / total,
        acks: waits.acks as f64 / total,
        base,
        stretch,
        fullness: average(fullness),
        // The first one ends slow start, which goes beyond what later ones reach.
        spread: spread(flights.get(1..).unwrap_or_default()),
        episodes: way.episodes.len(),
        lost,
        run: way.episodes.iter().map(|episode: &Episode| episode.run).max().unwrap_or(0),
        plateau,
        level,
        grows: mean(late) > 1.05 * mean(earlier),
    }
}

fn average(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(((sorted.len() as f64 - 1.0) * at).round().max(0.0) as usize).copied()
}

/// How far values lie from their median, over it: the median distance, scaled to what is the standard deviation of normal ones (1.4826).
/// 0 of fewer than two.
fn spread(values: &[f64]) -> f64 {
    let Some(middle) = quantile(values, 0.5).filter(|middle| *middle > 0.0) else { return 0.0 };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    1.4826 * quantile(&distances, 0.5).unwrap_or(0.0) / middle
}

/// The level that most values are at, to within two segments, and their share.
fn plateau(levels: &[u64], full: u64) -> (u64, f64) {
    let mut sorted = levels.to_vec();
    sorted.sort_unstable();
    let (mut best, mut level, mut from) = (0, 0, 0);
    for until in 0..sorted.len() {
        while sorted[until] - sorted[from] > 2 * full {
            from += 1;
        }
        if until + 1 - from > best {
            (best, level) = (until + 1 - from, sorted[until]);
        }
    }
    (level, best as f64 / levels.len().max(1) as f64)
}

/// Rises from 0 at `low` to 1 at `high`.
fn ramp(value: f64, low: f64, high: f64) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

/// The verdict on the way `main` of a connection.
pub fn verdict(connection: &Connection, main: usize) -> Value {
    let way = &connection.ways[main];
    let full = way.full(connection.agreed());
    let facts = facts(way, full);
    let (mut limits, doubt) = limits(connection, main);
    if way.counts.acks == 0 || way.counts.segments == 0 {
        return said(Cause::Unknown, 0.0, "only one way was captured: the cause of a pause lies in the other".to_owned(), &limits, &[]);
    }
    if way.counts.segments < LEAST {
        return said(Cause::TooShort, 1.0, format!("{} segments with data", way.counts.segments), &limits, &[]);
    }
    let mut found = causes(connection, main, &facts, full);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (cause, strength, why) = found.remove(0);
    if strength < 0.2 {
        return said(Cause::Unknown, 0.0, "no rule fits what the capture shows".to_owned(), &limits, &found);
    }
    if matches!(cause, Cause::SmallBuffer | Cause::RandomLoss) && facts.episodes < 4 {
        limits.push("few losses: chance decides what they look like".to_owned());
    }
    let second = found.first().map_or(0.0, |(_, strength, _)| *strength);
    let confidence = (strength * (1.0 - 0.5 * ramp(second / strength, 0.5, 1.0)) * doubt).clamp(0.0, 0.99);
    said(cause, confidence, why, &limits, &found)
}

fn said(cause: Cause, confidence: f64, why: String, limits: &[String], others: &[(Cause, f64, String)]) -> Value {
    let others: Vec<Value> = others
        .iter()
        .filter(|(_, strength, _)| *strength >= 0.2)
        .map(|(cause, strength, why)| json!({ "cause": cause.word(), "strength": strength, "why": why }))
        .collect();
    json!({ "cause": cause.word(), "confidence": confidence, "why": why, "limits": limits, "others": others })
}

/// What the capture lacks, and what is left of the confidence then.
fn limits(connection: &Connection, main: usize) -> (Vec<String>, f64) {
    let way = &connection.ways[main];
    let (mut limits, mut left) = (Vec::new(), 1.0);
    if connection.scale(1 - main).is_none() {
        limits.push("without the handshake the window's scale is unknown: whether the receive window limits cannot be told".to_owned());
        left *= 0.6;
    }
    if connection.point(main) == Point::Unknown {
        limits.push("where it was captured is unknown: what is in flight is a lower bound".to_owned());
        left *= 0.6;
    }
    if way.counts.unseen > way.counts.bytes / 100 {
        limits.push("more than one byte in a hundred is missing from the capture: losses cannot be told from gaps".to_owned());
        left *= 0.5;
    }
    if connection.backwards > connection.packets / 100 {
        limits.push("its clock runs backwards: round trips are not to be trusted".to_owned());
        left *= 0.5;
    }
    (limits, left)
}

fn causes(connection: &Connection, main: usize, facts: &Facts, full: u32) -> Vec<(Cause, f64, String)> {
    let way = &connection.ways[main];
    let counts = &way.counts;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let ms = |seconds: f64| format!("{:.3} ms", 1e3 * seconds);
    let mut found = Vec::new();
    let mut add = |cause, strength: f64, why: String| found.push((cause, strength, why));

    let time = (connection.last - connection.first).max(1) as f64;
    let closed = counts.zero_window_time as f64 / time;
    let is_scaled = connection.scale(1 - main).is_some();
    let shrinks = way.window_min.is_some_and(|least| (least as f64) < 0.5 * way.window_max as f64) && counts.zero_windows > 0;
    let blocked = if is_scaled { facts.receiver } else { 0.0 };
    if closed > 0.0 || blocked > 0.0 {
        let host = if shrinks { ramp(blocked.max(closed), 0.1, 0.5) } else { 0.0 };
        add(
            Cause::ReceiverHost,
            host,
            format!(
                "its window closed {} times, for {} of the time: the application there does not read as fast",
                counts.zero_windows,
                percent(closed)
            ),
        );
        let why = format!("{} of the time the window was full; it is {} bytes", percent(blocked), way.window_max);
        add(Cause::ReceiveWindow, (1.0 - host) * ramp(blocked, 0.2, 0.6), why);
    }
    // Who has more to send fills its segments; the end of what an application wrote is a short one.
    let short = counts.below_mss as f64 / counts.segments.max(1) as f64;
    let pieces = if facts.episodes == 0 { ramp(short, 0.01, 0.04) * (1.0 - ramp(blocked, 0.2, 0.6)) } else { 0.0 };
    let application = ramp(facts.application, 0.3, 0.7).max(0.9 * pieces);
    add(
        Cause::Application,
        application,
        format!(
            "{} of the time its sender had nothing to send, though it might have; {} of its segments are short",
            percent(facts.application),
            percent(short)
        ),
    );
    let free = (1.0 - ramp(blocked, 0.2, 0.6)) * (1.0 - application);
    if counts.ece > 0 {
        let more = ramp(counts.ece as f64, 0.0, 1.0 + facts.lost as f64);
        add(Cause::CongestionEcn, free * more, format!("{} ACKs echo marks; {} segments were lost", counts.ece, facts.lost));
    }
    let again: u64 = counts.again.iter().sum();
    let needless = counts.needless as f64 / again.max(1) as f64;
    let moved = counts.reordered_before + counts.reordered_behind;
    if again > 0 && moved > 0 {
        add(
            Cause::Reordering,
            free * ramp(needless, 0.3, 0.7),
            format!("{} of {again} segments sent again had arrived; {moved} were overtaken", counts.needless),
        );
    }
    if facts.episodes == 0 {
        let is_flat = ramp(facts.plateau, 0.4, 0.7) * ramp(facts.acks, 0.3, 0.6);
        let why = format!(
            "nothing was lost, and {} bytes were in flight {} of the time: no window of the network stands still",
            facts.level,
            percent(facts.plateau)
        );
        add(Cause::SendBuffer, if counts.ece == 0 { free * is_flat } else { 0.0 }, why);
        if facts.grows {
            let why = "nothing was lost, and its window still grew at the end".to_owned();
            add(Cause::Growing, 0.7 * free * (1.0 - is_flat), why);
        }
        return found;
    }
    losses(facts, full, free * (1.0 - ramp(needless, 0.3, 0.7)), counts.ece > 0, &ms, &mut add);
    found
}

/// Which losses they are: by how far queues stretch the round trip, whether they were full then, and how alike the windows were.
fn losses(facts: &Facts, full: u32, free: f64, has_marks: bool, ms: &dyn Fn(f64) -> String, add: &mut dyn FnMut(Cause, f64, String)) {
    let free = if has_marks { 0.5 * free } else { free };
    let depth = facts.stretch / facts.base.max(1e-6);
    let is_deep = ramp(depth, 0.1, 0.3);
    let is_full = ramp(facts.fullness, 0.35, 0.65);
    let alike = 1.0 - ramp(facts.spread, 0.15, 0.4);
    let queue = format!("a queue stretched the round trip from {} by up to {}", ms(facts.base), ms(facts.stretch));
    let times = facts.episodes;
    add(
        Cause::CongestionLoss,
        free * is_deep * is_full,
        format!("{times} losses with a full queue: {queue}, and was {:.0} % full before them", 100.0 * facts.fullness),
    );
    let random = (1.0 - is_full).max((1.0 - is_deep) * (1.0 - alike));
    // Alone most of them, and at any window.
    let single = 1.0 - ramp(facts.lost as f64 / times.max(1) as f64, 2.0, 12.0);
    add(
        Cause::RandomLoss,
        free * random * (0.4 + 0.6 * single) * (1.0 - is_deep * is_full),
        format!(
            "{times} losses with {:.0} % of the queue in use before them, at windows that differ by {:.0} %: {queue}",
            100.0 * facts.fullness,
            100.0 * facts.spread
        ),
    );
    add(
        Cause::SmallBuffer,
        free * (1.0 - is_deep) * (is_full.max(1.0 - single) * 0.5 + 0.5 * alike),
        format!("{times} losses, and hardly a queue before them: {queue}; {} segments of {full} bytes lost", facts.lost),
    );
    add(
        Cause::ReceiverHost,
        free * ramp(f64::from(facts.run), 32.0, 100.0) * (1.0 - is_deep * is_full) * 0.7,
        format!("up to {} segments in a row were lost: a ring that overflows, and not a queue, which lets some pass", facts.run),
    );
}
