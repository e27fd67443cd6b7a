//! Features of a connection's direction, measured.

use super::features::{Feature, Features};
use super::path::change;
use crate::flow::connection::{Connection, Point};
use crate::flow::direction::{Direction, Episode, TICK};
use crate::flow::rate::{bottleneck, goodput};
use crate::flow::series::Bin;
use crate::flow::statistics::{average, no_chance, quantile, rank, ranked};

/// Features of the direction `main` of a connection.
pub(crate) fn features(connection: &Connection, main: usize) -> Features {
    let direction = &connection.directions[main];
    let real: Vec<&Episode> = direction.losses.episodes.iter().filter(|episode| episode.again > episode.needless).collect();
    // The first one ends slow start, which goes beyond what later ones reach.
    let later: Vec<&Episode> = real.iter().skip(1).copied().collect();
    let judged = if later.len() >= 2 { later } else { real.clone() };
    let mut features = Features::default();
    ends(connection, main, &mut features);
    path(connection, main, &real, &mut features);
    losses(direction, &real, &judged, &mut features);
    queue_at_losses(connection, main, &judged, &mut features);
    buckets(connection, main, &real, &judged, &mut features);
    features
}

/// Waits of the ends, and fates of segments.
fn ends(connection: &Connection, main: usize, features: &mut Features) {
    let direction = &connection.directions[main];
    let (waits, counts) = (&direction.waits, &direction.counts);
    let total = waits.total().max(1) as f64;
    let share = |of: i64| of as f64 / total;
    let ratio = |of: u64, among: u64| of as f64 / among.max(1) as f64;
    let (receiver, closing) = if connection.scale(1 - main).is_some() { (waits.receiver, waits.closing) } else { (0, 0) };
    let again = counts.retransmitted();
    features.set([
        (Feature::Receiver, share(receiver)),
        (Feature::Closing, share(closing)),
        (Feature::Closed, counts.zero_window_time as f64 / (connection.last - connection.first).max(1) as f64),
        (Feature::Silent, share(waits.idle) + share(waits.unprompted)),
        (Feature::Acks, share(waits.acks)),
        (Feature::Nagle, share(waits.nagle)),
        (Feature::NagleEach, waits.nagle as f64 / 1e9 / f64::from(waits.nagles.max(1))),
        (Feature::Order, share(waits.order)),
        (Feature::HeldByOrder, held_by_order(direction, direction.full(connection.agreed()))),
        (Feature::Short, ratio(counts.below_mss, counts.segments)),
        (Feature::Again, ratio(again, counts.segments)),
        (Feature::Needless, ratio(counts.needless, again)),
        (Feature::Blind, ratio(counts.blind, again)),
        (Feature::Marked, ratio(counts.ece, counts.acks)),
    ]);
}

/// Round trips, the bottleneck's rate, and how much was in flight.
fn path(connection: &Connection, main: usize, real: &[&Episode], features: &mut Features) {
    let direction = &connection.directions[main];
    let full = direction.full(connection.agreed());
    let base = base(direction);
    let highs: Vec<f64> = timed(direction).map(|bin| bin.rtt_max as f64 / 1e9).collect();
    let before: Vec<f64> = real.iter().filter(|episode| episode.rtt > 0).map(|episode| episode.rtt as f64 / 1e9).collect();
    let before = quantile(&before, 0.5).unwrap_or(base);
    let typical = quantile(&means(direction), 0.5).map_or(0.0, |middle| (middle - base).max(0.0));
    let stretch = quantile(&highs, 0.95).map_or(0.0, |high| high.max(before) - base).max(0.0);
    let levels: Vec<u64> = direction.series.bins.iter().map(|bin| bin.flight_max).filter(|flight| *flight > 0).collect();
    let (level, plateau) = plateau(&levels, u64::from(full));
    let late = &levels[levels.len() * 3 / 4..];
    let earlier = &levels[levels.len() / 2..levels.len() * 3 / 4];
    let mean = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len().max(1) as f64;
    let is = |is_so: bool| f64::from(u8::from(is_so));
    let passed = goodput(connection, main).unwrap_or(0.0);
    let rate = rate(connection, main);
    features.set([
        (Feature::Base, base),
        (Feature::Typical, typical),
        (Feature::Stretch, stretch),
        (Feature::TypicalShare, typical / base.max(1e-6)),
        (Feature::StretchShare, stretch / base.max(1e-6)),
        (Feature::Rate, rate.unwrap_or(f64::NAN)),
        (Feature::Used, rate.filter(|rate| *rate > 0.0).map_or(0.0, |rate| passed / rate)),
        (Feature::Plateau, plateau),
        (Feature::Level, level as f64),
        (Feature::LevelSegments, level as f64 / f64::from(full)),
        (Feature::Grows, is(mean(late) > 1.05 * mean(earlier))),
        (Feature::Held, rate.map_or(f64::NAN, |rate| stretch * rate / f64::from(full))),
        (Feature::Coarse, is(direction.rtt.near.is_known() && direction.rtt.near.min as f64 / 1e9 > 0.1 * base && stretch < 0.005)),
        (Feature::AtReceiver, is(connection.point(main) == Point::Receiver)),
    ]);
    if let Some(change) = change(direction) {
        features.set([
            (Feature::Step, (change.to / change.from).max(change.from / change.to)),
            (Feature::StepFrom, change.from),
            (Feature::StepTo, change.to),
            (Feature::StepTime, change.time),
        ]);
    }
}

/// Measures how many segments were lost, and how many at a time. `judged` are the episodes without the end of slow start.
fn losses(direction: &Direction, real: &[&Episode], judged: &[&Episode], features: &mut Features) {
    let lost = |episode: &&Episode| u64::from(episode.again - episode.needless.min(episode.again));
    let is_long = |episode: &&&Episode| episode.run >= 8;
    let each: Vec<f64> = judged.iter().map(|episode| lost(episode) as f64).collect();
    let all: u64 = real.iter().map(lost).sum();
    let later: u64 = judged.iter().map(lost).sum();
    let in_runs: u64 = judged.iter().filter(is_long).map(|episode| u64::from(episode.run)).sum();
    features.set([
        (Feature::Episodes, real.len() as f64),
        (Feature::Lost, all as f64),
        (Feature::LostShare, all as f64 / direction.counts.segments.max(1) as f64),
        (Feature::Marks, direction.counts.ece as f64 / (1.0 + all as f64)),
        (Feature::LostEach, quantile(&each, 0.5).unwrap_or(0.0)),
        (Feature::Single, average(judged.iter().map(|episode| f64::from(u8::from(lost(episode) <= 1))))),
        (Feature::Run, real.iter().map(|episode| episode.run).max().unwrap_or(0).into()),
        (Feature::InRuns, in_runs as f64 / later.max(1) as f64),
        (Feature::Blocks, judged.iter().filter(is_long).count() as f64),
    ]);
}

/// Measures the length of the queue at losses, by the round trip before them.
fn queue_at_losses(connection: &Connection, main: usize, judged: &[&Episode], features: &mut Features) {
    let direction = &connection.directions[main];
    let (base, means) = (base(direction), means(direction));
    let longest = (direction.trips().sustained as f64 / 1e9 - base).max(0.0);
    let blur = if connection.point(main) == Point::Sender { 0.0 } else { TICK as f64 / 1e9 };
    // (In slow start the acknowledgment of two segments lets four go, RFC 5681 section 3.1.)
    let full = f64::from(direction.full(connection.agreed()));
    // A probe is not of such a burst: it waits for the end of a segment, and for its host.
    let (segments, host) = if direction.losses.is_exact { (1.0, 1e-3) } else { (4.0, 0.0) };
    let burst = rate(connection, main).map_or(0.0, |rate| segments * full / rate.max(1.0)) + host;
    let trip = |episode: &Episode| (episode.rtt > 0).then_some(episode.rtt as f64 / 1e9);
    let trips: Vec<f64> = judged.iter().filter_map(|episode| trip(episode)).collect();
    let count = |is_so: &dyn Fn(f64) -> bool| trips.iter().filter(|trip| is_so(**trip)).count() as u32;
    let all = direction.losses.episodes.iter().filter(|episode| episode.again > episode.needless).filter_map(trip);
    let stretch = features[Feature::Stretch];
    let timed = trips.len() as u32;
    // Round trips are those of segments before the lost one, and the queue may have grown since; probes were in the queue with it.
    let shorter = if direction.losses.is_exact { 1.25 } else { 2.0 };
    let early = count(&|trip| shorter * (trip - base) + if direction.losses.is_exact { burst } else { blur } < longest);
    let in_queue = count(&|trip| trip - base > burst + blur);
    let in_longer = count(&|trip| trip - base > burst + blur && rank(&means, trip) > 0.5);
    let alike = quantile(&trips, 0.5).map_or(0, |middle| count(&|trip| 10.0 * (trip - middle).abs() <= middle - base));
    features.set([
        (Feature::RttRank, average(trips.iter().map(|trip| rank(&means, *trip)))),
        (Feature::Fullness, average(all.map(|trip| if stretch > 0.0 { ((trip - base) / stretch).clamp(0.0, 1.0) } else { 0.0 }))),
        (Feature::Timed, timed.into()),
        (Feature::Early, early.into()),
        (Feature::EarlyShare, f64::from(early) / f64::from(timed)),
        (Feature::EarlySure, no_chance(early, timed)),
        (Feature::InQueue, in_queue.into()),
        (Feature::InQueueShare, f64::from(in_queue) / f64::from(timed)),
        (Feature::InQueueSure, no_chance(in_queue, timed)),
        (Feature::InLonger, in_longer.into()),
        (Feature::InLongerSure, no_chance(in_longer, timed)),
        (Feature::Alike, alike.into()),
        (Feature::AlikeShare, f64::from(alike) / f64::from(timed)),
    ]);
}

/// Evidence that a token bucket, or a queue, explains the losses.
fn buckets(connection: &Connection, main: usize, real: &[&Episode], judged: &[&Episode], features: &mut Features) {
    let direction = &connection.directions[main];
    let full = direction.full(connection.agreed());
    if let Some(rate) = rate(connection, main) {
        let passed = between(real, base(direction), full).map(|passed| passed / rate);
        let tokens = tokens(real, f64::from(full)).map(|(share, own)| (share, own / rate));
        if let Some(passed) = passed {
            features.set([(Feature::Between, passed)]);
        }
        if let Some((share, own)) = tokens {
            features.set([(Feature::TokenShare, share), (Feature::TokenRate, own)]);
        }
        if let (Some(passed), Some((_, own))) = (passed, tokens) {
            features.set([(Feature::TokenMisfit, (passed / own).ln().abs())]);
        }
    }
    if let Some((median, low)) = ranked(judged.iter().filter_map(|episode| direction.rates.bursts.ranks.of(episode.waited.ahead))) {
        features.set([(Feature::AheadMedian, median), (Feature::AheadLow, low)]);
    }
    if let Some((median, low)) = ranked(judged.iter().filter_map(|episode| direction.rates.lateness.ranks.of(episode.waited.late?))) {
        features.set([(Feature::LateMedian, median), (Feature::LateLow, low)]);
    }
    if let Some(bucket) = direction.rates.buckets.best() {
        // Chance would give a share of a half, with a standard error that goes with the losses (Mann and Whitney 1947).
        let error = (12.0 * f64::from(bucket.losses)).sqrt().recip();
        features.set([
            (Feature::BucketExplains, bucket.explains),
            (Feature::BucketSigmas, (bucket.explains - 0.5) / error),
            (Feature::BucketWaited, bucket.waited.unwrap_or(f64::NAN)),
            (Feature::BucketRate, bucket.rate),
            (Feature::BucketDepth, bucket.depth),
        ]);
    }
}

/// Returns the payload that the bottleneck passes, in bytes per second.
fn rate(connection: &Connection, main: usize) -> Option<f64> {
    bottleneck(connection, main).map(|found| found.rate.value)
}

/// The least round trip, in s; 0 where it is unknown.
fn base(direction: &Direction) -> f64 {
    let trips = direction.trips();
    if trips.is_known() { trips.min as f64 / 1e9 } else { 0.0 }
}

/// Bins in which a round trip is known.
fn timed(direction: &Direction) -> impl Iterator<Item = &Bin> {
    direction.series.bins.iter().filter(|bin| bin.rtts > 0)
}

/// Mean round trip of each such bin, in s.
fn means(direction: &Direction) -> Vec<f64> {
    timed(direction).map(|bin| bin.rtt_sum as f64 / f64::from(bin.rtts) / 1e9).collect()
}

/// How long a window is smaller after it was halved for nothing: it grows by a segment in each round trip (RFC 5681 section 3.1). Who finds
/// out, and takes that back (RFC 3522, RFC 3708), has as much in flight as before.
fn held_by_order(direction: &Direction, full: u32) -> f64 {
    let trip = direction.trips().smoothed.max(1);
    let ends = direction.last_data.unwrap_or(0);
    let mut held = 0;
    for (place, episode) in
        direction.losses.episodes.iter().enumerate().filter(|(_, episode)| episode.needless > 0 && episode.needless >= episode.again)
    {
        let next = direction.losses.episodes.get(place + 1).map_or(ends, |next| next.start);
        let after = episode.end.saturating_add(trip);
        let most = direction.series.between(after, next.min(after.saturating_add(trip))).map(|(_, bin)| bin.flight_max).max().unwrap_or(0);
        if 10 * most < 9 * episode.flight {
            let growth = trip.saturating_mul((episode.flight / u64::from(2 * full.max(1))) as i64);
            held += growth.min(next - episode.end).max(0);
        }
    }
    held as f64 / (ends - direction.first_data.unwrap_or(ends)).max(1) as f64
}

/// Returns the bytes per second that passed between the first and the last loss of episodes, where these are apart.
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
