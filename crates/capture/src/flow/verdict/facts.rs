//! What the rules look at.

use super::path::{Change, change};
use super::rules::ramp;
use crate::flow::connection::{Connection, Point};
use crate::flow::report::carried;
use crate::flow::way::{Bucket, Episode, Rate, TICK, Trains, Way};

/// What a way shows, in s, bytes and shares from 0 to 1.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Shares of the time between new segments, by what the sender waited for; `closing` is part of `receiver`.
    pub receiver: f64,
    pub closing: f64,
    pub idle: f64,
    pub unprompted: f64,
    pub acks: f64,
    /// For a delayed acknowledgment, with a short segment; and how long that took each time, in s.
    pub nagle: f64,
    pub nagle_each: f64,
    /// For what was overtaken.
    pub order: f64,
    /// The share of the time for which the window was smaller for what had been sent again for nothing.
    pub held_by_order: f64,
    /// Least round trip; how far queues stretch it, most of the time and at most.
    pub base: f64,
    pub typical: f64,
    pub stretch: f64,
    /// Payload that the bottleneck lets through in a second, and the share of it that was acknowledged.
    pub rate: Option<Rate>,
    pub used: f64,
    /// Episodes of loss in which something was lost that had not arrived.
    pub episodes: usize,
    /// Where round trips before losses stand among all: 1 is the longest, 0.5 what chance gives.
    pub rtt_rank: f64,
    /// How full the queue was before losses, as the round trip says.
    pub fullness: f64,
    /// Episodes whose loss found less than half of the longest queue that others passed; those that found a queue longer than a sender's own
    /// burst makes; and of these, those that found more than the median queue.
    pub early: u32,
    pub in_queue: u32,
    pub in_longer: u32,
    /// Those that found the queue as long as most did, to within a tenth.
    pub alike: u32,
    /// Episodes that these are counted among.
    pub timed: u32,
    /// Round trips are known by timestamps of milliseconds, and no queue was longer than some of these.
    pub coarse: bool,
    /// Segments lost; and in an episode most of the time.
    pub lost: u64,
    pub lost_each: f64,
    /// Share of the episodes in which one segment was lost.
    pub single: f64,
    /// The longest run of segments lost one behind the other, and the share of the losses (but for those that end slow start) in runs of 8 and more.
    pub run: u32,
    pub in_runs: f64,
    /// Episodes with such a run.
    pub blocks: usize,
    /// What passed between the first and the last loss of an episode, over the bottleneck's rate.
    pub passed_between: Option<f64>,
    /// Share of the times between episodes in which as much passed as in the others, for their length; and that rate over the bottleneck's.
    pub tokens: Option<(f64, f64)>,
    /// Share of the bins in which as much was in flight as most often, to within two segments; and how much that was.
    pub plateau: f64,
    pub level: u64,
    /// Whether what is in flight still grows at the end.
    pub grows: bool,
    pub change: Option<Change>,
    /// Segments that the queue held when it was longest, by how far it stretched the round trip.
    pub held: Option<f64>,
    /// Payload of a full segment.
    pub full: u32,
    pub is_receiver: bool,
    /// Where what the first segment lost of an episode found before it stands among what all found, in most episodes: its median, and what
    /// four of five are above. By how far the sender ran ahead of the bottleneck, in front of it; by how late segments came, behind it.
    pub ahead: Option<(f64, f64)>,
    pub late: Option<(f64, f64)>,
    /// The token bucket, or the queue, that tells best what is lost and what passes.
    pub bucket: Option<Bucket>,
}

impl Facts {
    /// Whether trains show what the path can carry. Of a window of a few segments they show the sender's rate, of which all is used.
    pub fn is_known(&self) -> f64 {
        ramp(self.level as f64 / f64::from(self.full), 5.0, 8.0)
    }

    /// How strongly a token bucket, or a queue, is spoken for by which segments were lost; and a queue, in which all wait, by what waited, half
    /// where nothing is known of that.
    pub fn bucketed(&self) -> (f64, f64) {
        let Some(bucket) = self.bucket else { return (0.0, 0.0) };
        let seen = bucket.waited.map_or(0.5, |share| ramp(share, 0.7, 0.95));
        // By chance that share would be a half, with a standard error that goes with the losses (Mann and Whitney 1947).
        let error = (12.0 * f64::from(bucket.losses)).sqrt().recip();
        let is_no_chance = ramp((bucket.explains - 0.5) / error, 3.0, 4.5);
        let told = ramp(bucket.explains, 0.8, 0.92) * is_no_chance * ramp(self.episodes as f64, 2.0, 5.0);
        (told, seen)
    }

    /// The share of the time in which its sender was silent though it might have sent.
    pub fn silent(&self) -> f64 {
        self.idle + self.unprompted
    }

    /// Whether the rate is used up, and a queue is never empty: what is beside that does no harm.
    pub fn standing(&self) -> f64 {
        ramp(self.used, 0.8, 0.92) * ramp(self.typical / self.base.max(1e-6), 0.5, 1.5) * self.is_known()
    }
}

/// What the way `main` of a connection shows.
pub fn facts(connection: &Connection, main: usize) -> Facts {
    let way = &connection.ways[main];
    let full = way.full(connection.agreed());
    let waits = &way.waits;
    let total = waits.total().max(1) as f64;
    let share = |of: i64| of as f64 / total;
    let trips = way.trips();
    let base = if trips.is_known() { trips.min as f64 / 1e9 } else { 0.0 };
    let bins = &way.series.bins;
    let means: Vec<f64> = bins.iter().filter(|bin| bin.rtts > 0).map(|bin| bin.rtt_sum as f64 / f64::from(bin.rtts) / 1e9).collect();
    let highs: Vec<f64> = bins.iter().filter(|bin| bin.rtts > 0).map(|bin| bin.rtt_max as f64 / 1e9).collect();
    let real: Vec<&Episode> = way.episodes.iter().filter(|episode| episode.again > episode.needless).collect();
    let timed = || real.iter().filter(|episode| episode.rtt > 0).map(|episode| episode.rtt as f64 / 1e9);
    let before = quantile(&timed().collect::<Vec<_>>(), 0.5).unwrap_or(base);
    let stretch = quantile(&highs, 0.95).map_or(0.0, |high| high.max(before) - base).max(0.0);
    let level_of: Vec<u64> = bins.iter().map(|bin| bin.flight_max).filter(|flight| *flight > 0).collect();
    let (level, plateau) = plateau(&level_of, u64::from(full));
    let late = &level_of[level_of.len() * 3 / 4..];
    let earlier = &level_of[level_of.len() / 2..level_of.len() * 3 / 4];
    let mean = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len().max(1) as f64;
    // The first one ends slow start, which goes beyond what later ones reach.
    let later: Vec<&Episode> = real.iter().skip(1).copied().collect();
    let judged = if later.len() >= 2 { &later } else { &real };
    let losses = |of: &[&Episode], what: &dyn Fn(&Episode) -> f64| of.iter().map(|episode| what(episode)).collect::<Vec<f64>>();
    let longest = (trips.sustained as f64 / 1e9 - base).max(0.0);
    let blur = if connection.point(main) == Point::Sender { 0.0 } else { TICK as f64 / 1e9 };
    let trips_before: Vec<f64> = judged.iter().filter(|episode| episode.rtt > 0).map(|episode| episode.rtt as f64 / 1e9).collect();
    let count = |is_so: &dyn Fn(f64) -> bool| trips_before.iter().filter(|trip| is_so(**trip)).count() as u32;
    let rate = bottleneck(connection, main).map(|found| found.rate);
    // (In slow start the acknowledgment of two segments lets four go, RFC 5681 section 3.1.)
    let burst = rate.map_or(0.0, |rate| 4.0 * f64::from(full) / rate.value.max(1.0));
    let passed = goodput(connection, main).unwrap_or(0.0);
    let is_long = |episode: &&&Episode| episode.run >= 8;
    let lost_later: u64 = judged.iter().map(|episode| u64::from(episode.again - episode.needless.min(episode.again))).sum();
    let all_lost: u64 = real.iter().map(|episode| u64::from(episode.again - episode.needless.min(episode.again))).sum();
    let in_runs: u64 = judged.iter().filter(is_long).map(|episode| u64::from(episode.run)).sum();
    Facts {
        receiver: share(waits.receiver),
        closing: share(waits.closing),
        idle: share(waits.idle),
        unprompted: share(waits.unprompted),
        acks: share(waits.acks),
        nagle: share(waits.nagle),
        nagle_each: waits.nagle as f64 / 1e9 / f64::from(waits.nagles.max(1)),
        order: share(waits.order),
        held_by_order: held_by_order(way, full),
        base,
        typical: quantile(&means, 0.5).map_or(0.0, |middle| (middle - base).max(0.0)),
        stretch,
        rate,
        used: rate.filter(|rate| rate.value > 0.0).map_or(0.0, |rate| passed / rate.value),
        episodes: real.len(),
        rtt_rank: average(judged.iter().filter(|episode| episode.rtt > 0).map(|episode| rank(&means, episode.rtt as f64 / 1e9))),
        early: count(&|trip| 2.0 * (trip - base) + blur < longest),
        in_queue: count(&|trip| trip - base > burst + blur),
        in_longer: count(&|trip| trip - base > burst + blur && rank(&means, trip) > 0.5),
        alike: quantile(&trips_before, 0.5).map_or(0, |middle| count(&|trip| 10.0 * (trip - middle).abs() <= middle - base)),
        timed: trips_before.len() as u32,
        coarse: way.near.is_known() && way.near.min as f64 / 1e9 > 0.1 * base && stretch < 0.005,
        fullness: average(timed().map(|trip| if stretch > 0.0 { ((trip - base) / stretch).clamp(0.0, 1.0) } else { 0.0 })),
        lost: all_lost,
        lost_each: quantile(&losses(judged, &|episode| f64::from(episode.again - episode.needless.min(episode.again))), 0.5).unwrap_or(0.0),
        single: average(judged.iter().map(|episode| f64::from(u8::from(episode.again - episode.needless.min(episode.again) <= 1)))),
        run: real.iter().map(|episode| episode.run).max().unwrap_or(0),
        in_runs: in_runs as f64 / lost_later.max(1) as f64,
        blocks: judged.iter().filter(is_long).count(),
        passed_between: rate.and_then(|rate| between(&real, base, full).map(|passed| passed / rate.value)),
        tokens: rate.and_then(|rate| tokens(&real, f64::from(full)).map(|(share, own)| (share, own / rate.value))),
        plateau,
        level,
        grows: mean(late) > 1.05 * mean(earlier),
        change: change(way),
        held: rate.map(|rate| stretch * rate.value / f64::from(full)),
        full,
        is_receiver: connection.point(main) == Point::Receiver,
        ahead: ranked(judged.iter().filter_map(|episode| way.bursts.ranks.of(episode.waited.ahead))),
        late: ranked(judged.iter().filter_map(|episode| way.lateness.ranks.of(episode.waited.late?))),
        bucket: way.buckets.best(),
    }
}

/// How long a window is smaller after it was halved for nothing: it grows by a segment in each round trip (RFC 5681 section 3.1). Who finds
/// out, and takes that back (RFC 3522, RFC 3708), has as much in flight as before.
fn held_by_order(way: &Way, full: u32) -> f64 {
    let trip = way.trips().smoothed.max(1);
    let ends = way.last_data.unwrap_or(0);
    let mut held = 0;
    for (place, episode) in way.episodes.iter().enumerate().filter(|(_, episode)| episode.needless > 0 && episode.needless >= episode.again)
    {
        let next = way.episodes.get(place + 1).map_or(ends, |next| next.start);
        let after = episode.end.saturating_add(trip);
        let most = way.series.between(after, next.min(after.saturating_add(trip))).map(|(_, bin)| bin.flight_max).max().unwrap_or(0);
        if 10 * most < 9 * episode.flight {
            let growth = trip.saturating_mul((episode.flight / u64::from(2 * full.max(1))) as i64);
            held += growth.min(next - episode.end).max(0);
        }
    }
    held as f64 / (ends - way.first_data.unwrap_or(ends)).max(1) as f64
}

/// The bottleneck, and by how many trains of what it is known.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    pub rate: Rate,
    pub by: &'static str,
    pub trains: u64,
}

/// The bottleneck: behind it, by how segments come; before it, by how they are acknowledged. A sender gives away bursts of segments, and a
/// receiver bursts of ACKs: where the place is not known, the slower of both is the bottleneck. It passes what was acknowledged.
pub fn bottleneck(connection: &Connection, main: usize) -> Option<Bottleneck> {
    let way = &connection.ways[main];
    let of =
        |trains: &Trains, by| trains.estimate(connection.clock.uncertainty()).map(|rate| Bottleneck { rate, by, trains: trains.count });
    let (acks, segments) = (of(&way.ack_trains, "acks"), of(&way.data_trains, "segments"));
    let mut found = match connection.point(main) {
        Point::Receiver => segments?,
        Point::Unknown => [acks?, segments?].into_iter().min_by(|one, other| one.rate.value.total_cmp(&other.rate.value))?,
        _ => acks?,
    };
    let passed = goodput(connection, main).unwrap_or(0.0);
    found.rate.value = found.rate.value.max(passed);
    (found.rate.high >= passed).then_some(found)
}

/// Payload bytes a second. None where the clock or a time shorter than a round trip forbids it, or nothing of what was sent was acknowledged.
pub fn goodput(connection: &Connection, main: usize) -> Option<f64> {
    let way = &connection.ways[main];
    let (bytes, time) = carried(way);
    let least = if way.trips().is_known() { way.trips().min.max(connection.clock.clear()) } else { connection.clock.clear() };
    let is_answered = way.counts.acks == 0 || way.counts.segments == 0 || way.last_acked_time > 0;
    (time > 0.0 && time * 1e9 >= least as f64 && is_answered).then(|| bytes as f64 / time)
}

/// Bytes a second that passed between the first and the last loss of episodes, where these are apart.
fn between(episodes: &[&Episode], base: f64, full: u32) -> Option<f64> {
    let (mut passed, mut took, mut losses) = (0.0, 0.0, 0);
    for episode in episodes {
        let time = (episode.last_lost.0 - episode.first_lost.0) as f64 / 1e9;
        let bytes = episode.last_lost.1.saturating_sub(episode.first_lost.1);
        // The last one lost is behind these bytes.
        let lost = episode.lost.saturating_sub(u64::from(full));
        if time > base / 8.0 && bytes >= lost && episode.again >= 3 {
            passed += (bytes - lost) as f64;
            took += time;
            losses += episode.again;
        }
    }
    (losses >= 6 && took > 0.0).then(|| passed / took)
}

/// Between two losses a token bucket lets through what it was filled with (Flach et al., SIGCOMM 2016, section 3): the share of the times
/// for which that is so with one rate, and this rate in bytes a second.
fn tokens(episodes: &[&Episode], full: f64) -> Option<(f64, f64)> {
    let spans: Vec<(f64, f64)> = episodes
        .windows(2)
        .map(|pair| {
            let time = (pair[1].first_lost.0 - pair[0].last_lost.0) as f64 / 1e9;
            (pair[1].first_lost.1.saturating_sub(pair[0].last_lost.1) as f64, time)
        })
        .filter(|(bytes, time)| *time > 0.0 && *bytes > 4.0 * full)
        .collect();
    if spans.len() < 3 {
        return None;
    }
    let rates: Vec<f64> = spans.iter().map(|(bytes, time)| bytes / time).collect();
    let middle = quantile(&rates, 0.5)?;
    let alike = spans.iter().filter(|(bytes, time)| (bytes - middle * time).abs() < 0.07 * bytes + 2.0 * full).count();
    Some((alike as f64 / spans.len() as f64, middle))
}

/// The median, and what four of five are above.
fn ranked(ranks: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ranks: Vec<f64> = ranks.collect();
    Some((quantile(&ranks, 0.5)?, quantile(&ranks, 0.2)?))
}

pub fn average(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

pub fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(((sorted.len() as f64 - 1.0) * at).round().max(0.0) as usize).copied()
}

/// The share of `values` that are less, and half of those that are alike.
fn rank(values: &[f64], value: f64) -> f64 {
    let less = values.iter().filter(|other| **other < value).count() as f64;
    let alike = values.iter().filter(|other| **other == value).count() as f64;
    (less + alike / 2.0) / values.len().max(1) as f64
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
