//! The rules: how strongly what a capture shows speaks for each cause.

use super::Cause;
use super::facts::Facts;
use crate::flow::connection::Connection;

/// A cause, how strongly it is spoken for, and what shows it.
pub type Found = (Cause, f64, String);

/// Rises from 0 at `low` to 1 at `high`.
pub fn ramp(value: f64, low: f64, high: f64) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn ms(seconds: f64) -> String {
    format!("{:.3} ms", 1e3 * seconds)
}

/// How unlikely it is that even odds make it so `of` times and more among `all`: one less the p-value of the sign test (Conover, Practical
/// Nonparametric Statistics, section 3.4).
pub fn no_chance(of: u32, all: u32) -> f64 {
    // Binomial coefficients, each from the one before; scaled where they grow too large.
    let (mut one, mut less, mut total) = (1.0, 0.0, 0.0);
    for count in 0..=all {
        less += if count < of { one } else { 0.0 };
        total += one;
        one *= f64::from(all - count) / f64::from(count + 1);
        if total > 1e200 {
            (one, less, total) = (one / total, less / total, 1.0);
        }
    }
    less / total
}

/// Every cause that anything speaks for.
pub fn causes(connection: &Connection, main: usize, facts: &Facts, full: u32) -> Vec<Found> {
    let counts = &connection.ways[main].counts;
    let mut found = Vec::new();
    let again: u64 = counts.again.iter().sum();
    let needless = counts.needless as f64 / again.max(1) as f64;
    let moved = counts.reordered_before + counts.reordered_behind;
    // Now and then a retransmission is needless on any path, and who learns of it takes the reduction back. A timer that is too short, before
    // anything behind the segment had arrived, says nothing of the order.
    let by_timer = counts.blind as f64 / again.max(1) as f64;
    // (A control that halves nothing, and grows soon, is held all the same by what comes time and again.)
    let often = again as f64 / counts.segments.max(1) as f64;
    let reduced = ramp(needless, 0.4, 0.75) * (1.0 - by_timer) * ramp(facts.held_by_order, 0.1, 0.3).max(ramp(often, 0.003, 0.02));
    let waited = ramp(facts.order, 0.2, 0.5);
    // What is overtaken does no harm where something else leaves the sender nothing to send, or nothing to gain.
    let blocked = if connection.scale(1 - main).is_some() { facts.receiver } else { 0.0 };
    let harmed = (1.0 - facts.standing()) * (1.0 - ramp(facts.silent(), 0.3, 0.7)) * (1.0 - ramp(blocked, 0.2, 0.6));
    let reordering = reduced.max(waited) * harmed;
    let why = if waited > reduced {
        format!(
            "{} of the time its sender waited for what had been overtaken, and nothing was lost there; {moved} segments were",
            percent(facts.order)
        )
    } else {
        format!(
            "{} of {again} segments sent again had arrived, and {} of the time the window was smaller for it; {moved} more were overtaken",
            counts.needless,
            percent(facts.held_by_order)
        )
    };
    found.push((Cause::Reordering, reordering, why));
    let (waits, left) = ends(connection, main, facts, reordering);
    found.extend(waits);
    let free = left * (1.0 - reordering);
    if counts.ece > 0 {
        let more = ramp(counts.ece as f64, 0.0, 1.0 + facts.lost as f64);
        found.push((Cause::CongestionEcn, free * more, format!("{} ACKs echo marks; {} segments were lost", counts.ece, facts.lost)));
    }
    let unmarked = if counts.ece > 0 { 0.5 * free } else { free };
    if facts.episodes == 0 {
        found.extend(lossless(facts, unmarked));
    } else {
        found.extend(losses(facts, counts.segments, full, unmarked));
    }
    found
}

/// What the ends do, and a path that becomes another; and what is left for the network.
fn ends(connection: &Connection, main: usize, facts: &Facts, reordering: f64) -> (Vec<Found>, f64) {
    let way = &connection.ways[main];
    let counts = &way.counts;
    let mut found = Vec::new();
    let is_scaled = connection.scale(1 - main).is_some();
    let time = (connection.last - connection.first).max(1) as f64;
    let closed = counts.zero_window_time as f64 / time;
    let (blocked, shrunk) = if is_scaled { (facts.receiver, facts.closing) } else { (0.0, 0.0) };
    let closing = ramp(shrunk.max(closed), 0.08, 0.25);
    found.push((
        Cause::ClosingWindow,
        closing,
        format!(
            "{} of the time its sender waited for a window that had been larger; it closed {} times, for {}: the application there does not read as fast",
            percent(shrunk),
            counts.zero_windows,
            percent(closed)
        ),
    ));
    // A write waits for the ACK of the one before it, and that for a second segment.
    let nagle = ramp(facts.nagle, 0.2, 0.5) * (1.0 - closing) * (1.0 - ramp(blocked, 0.2, 0.6)) * (1.0 - reordering);
    found.push((
        Cause::Nagle,
        nagle,
        format!(
            "{} of the time a write shorter than a segment waited for a delayed ACK, {} each time; TCP_NODELAY, or one write of each message, \
             avoids that",
            percent(facts.nagle),
            ms(facts.nagle_each)
        ),
    ));
    // Who has more to send fills its segments; the end of what an application wrote is a short one. (So is what is left of a full buffer.)
    let short = counts.below_mss as f64 / counts.segments.max(1) as f64;
    let pieces = if facts.episodes == 0 { ramp(short, 0.01, 0.04) * (1.0 - ramp(facts.acks, 0.4, 0.6)) } else { 0.0 };
    let silent = facts.silent();
    // In front of a queue that is never empty, and behind it, nobody waited for an application: the capture shows the queue's rate.
    let standing = facts.standing();
    let application = ramp(silent, 0.3, 0.7).max(0.9 * pieces)
        * (1.0 - closing)
        * (1.0 - ramp(blocked, 0.2, 0.6))
        * (1.0 - reordering)
        * (1.0 - nagle)
        * (1.0 - standing);
    found.push((
        Cause::Application,
        application,
        format!(
            "{} of the time its sender had nothing to send, though it might have; {} of its segments are short",
            percent(silent),
            percent(short)
        ),
    ));
    let mut free = (1.0 - closing) * (1.0 - nagle) * (1.0 - application);
    if let Some(change) = &facts.change {
        let size = ramp((change.to / change.from).max(change.from / change.to), 1.2, 1.4);
        // Who loses segments is limited by that, and so is who is told of marks.
        let marked = counts.ece as f64 / counts.acks.max(1) as f64;
        let path = 0.95 * size * free * (1.0 - ramp(facts.lost as f64, 0.0, 4.0)) * (1.0 - ramp(marked, 0.0, 0.01));
        found.push((
            Cause::PathChange,
            path,
            format!(
                "the least round trip went from {} to {} after {:.3} s, with as much in flight",
                ms(change.from),
                ms(change.to),
                change.time
            ),
        ));
        free *= 1.0 - path;
    }
    // A window that holds more than the path only fills the queue in front of it.
    let window = ramp(blocked, 0.2, 0.6) * (1.0 - standing);
    found.push((
        Cause::ReceiveWindow,
        free * window,
        format!("{} of the time the window was full; it is {} bytes", percent(blocked), way.window_max),
    ));
    (found, free * (1.0 - window))
}

/// Without a loss: the path is full, or a buffer, or neither yet.
fn lossless(facts: &Facts, free: f64) -> Vec<Found> {
    let full = ramp(facts.used, 0.8, 0.92) * ramp(facts.typical / facts.base.max(1e-6), 0.05, 0.15) * facts.is_known();
    let flat = ramp(facts.plateau, 0.15, 0.3) * ramp(facts.acks, 0.3, 0.6) * if facts.grows { 0.3 } else { 1.0 };
    let mut found = vec![
        (
            Cause::FullPath,
            free * full,
            format!(
                "nothing was lost, {} of what the bottleneck passes was used, and a queue stood at it: {} more than the least round trip",
                percent(facts.used),
                ms(facts.typical)
            ),
        ),
        (
            Cause::SendBuffer,
            free * (1.0 - full) * flat,
            format!(
                "nothing was lost, and {} bytes were in flight {} of the time: no window of the network stands still",
                facts.level,
                percent(facts.plateau)
            ),
        ),
    ];
    if facts.grows {
        let why = "nothing was lost, and its window still grew at the end".to_owned();
        found.push((Cause::Growing, 0.7 * free * (1.0 - full) * (1.0 - flat), why));
    }
    found
}

/// Which losses they are: what the queue did before them, how many came together, and what passed between them.
fn losses(facts: &Facts, segments: u64, full: u32, free: f64) -> Vec<Found> {
    let deep = ramp(facts.stretch / facts.base.max(1e-6), 0.1, 0.3) * ramp(facts.fullness, 0.35, 0.65) * ramp(facts.rtt_rank, 0.55, 0.8);
    let queue = format!("a queue stretched the round trip from {} by up to {}", ms(facts.base), ms(facts.stretch));
    let times = facts.episodes;
    // A queue that is full lets one pass for each that leaves it.
    let blocks = ramp(facts.in_runs, 0.4, 0.7) * ramp(facts.blocks as f64, 1.0, 3.0);
    // A queue that drops early has let others pass that found twice as much, and yet it is no chance: what is lost finds a queue, and more than
    // most, or one that is never empty.
    let in_queue = no_chance(facts.in_queue, facts.timed);
    let early = no_chance(facts.early, facts.timed) * no_chance(facts.in_longer, facts.timed).max(in_queue * ramp(facts.used, 0.8, 0.92));
    // Where the path is full all the time, and what is lost finds no full queue, losses take nothing from the flow.
    let harmless = facts.standing() * ramp(facts.used, 0.92, 0.98) * (1.0 - deep) * (1.0 - early) * (1.0 - blocks);
    let deep = deep * (1.0 - 0.5 * blocks);
    let deep = deep * (1.0 - early);
    let (all, free) = (free, free * (1.0 - harmless));
    // A token bucket and a queue lose the same segments; only the queue makes others wait.
    let (told, waited) = facts.bucketed();
    let bucket = told * (1.0 - waited);
    let ring = blocks * (1.0 - 0.8 * deep) * (1.0 - bucket);
    let (full_before, full_behind) = (facts.ahead.map(full_queue), facts.late.map(full_queue));
    let late = ramp(facts.rtt_rank, 0.72, 0.9);
    // A full queue is in front of what is lost; before a token bucket the sender may be as far ahead, but no round trip grows.
    let queued = full_behind.unwrap_or(0.0).max(full_before.unwrap_or(0.0) * late);
    let policer = (1.0 - deep) * ((1.0 - ring) * (1.0 - queued) * (1.0 - in_queue) * policed(facts, segments)).max(bucket);
    let other = free * (1.0 - ring) * (1.0 - policer) * (1.0 - deep) * (1.0 - early);
    let together = 1.0 - ramp(facts.single, 0.5, 0.7);
    let small = match full_before.into_iter().chain(full_behind).reduce(f64::max) {
        // (Ranks say little where all found as much: then round trips do.)
        Some(full) => full.max(late * ramp(facts.fullness, 0.6, 0.8)).max(0.5 * together),
        None => together.max(late),
    };
    let small = small.max(told * waited);
    let is_seen = full_before.is_some() || full_behind.is_some();
    let seen = if facts.coarse && !is_seen { 0.6 } else { 1.0 };
    let mut found = vec![
        (
            Cause::CongestionLoss,
            all * deep,
            format!("{times} losses with a full queue: {queue}, and was {} full before them", percent(facts.fullness)),
        ),
        (
            Cause::FullPath,
            all * harmless,
            format!(
                "{} of what the bottleneck passes was used, and a queue stood at it: {} more than the least round trip; what was lost, {} segments, took \
                 nothing from that",
                percent(facts.used),
                ms(facts.typical),
                facts.lost
            ),
        ),
        (
            Cause::ReceiverRing,
            free * ring,
            format!(
                "blocks of up to {} segments in a row were lost, {} times: a queue lets some pass, a ring that nobody empties does not",
                facts.run, facts.blocks
            ),
        ),
        (
            Cause::ActiveQueue,
            all * early * (1.0 - ring) * (1.0 - bucket),
            format!(
                "{} of {} losses found less than half of the longest queue that others passed, and {} found a queue all the same: {queue}",
                facts.early, facts.timed, facts.in_queue
            ),
        ),
        (
            Cause::RandomLoss,
            seen * other * (1.0 - small),
            format!("{times} losses, {} of them of one segment alone, with the queue anywhere: {queue}", percent(facts.single)),
        ),
        (
            Cause::SmallBuffer,
            seen * other * small,
            format!(
                "{times} losses of {} segments of {full} bytes, {} of them of one alone, and hardly a queue before them: {queue}",
                facts.lost,
                percent(facts.single)
            ),
        ),
    ];
    if let Some(one) = facts.bucket.filter(|_| bucket >= policer) {
        found.push((
            Cause::Policer,
            free * policer,
            format!(
                "a bucket of {:.0} bytes that {:.2} Mb/s of payload fill tells what is lost from what passes, in {} of pairs of such segments; in a \
                 queue of that size they would wait for {}, and {}",
                one.depth,
                one.rate * 8e-6,
                percent(one.explains),
                ms(one.depth / one.rate),
                one.waited.map_or("how long they do is not known".to_owned(), |share| format!("{} waited for half of that", percent(share)))
            ),
        ));
    } else if let Some(rate) = facts.rate {
        let own = facts.tokens.map_or(facts.used, |(_, own)| own) * rate.value * 8e-6;
        found.push((
            Cause::Policer,
            free * policer,
            format!(
                "between losses as much passed as {own:.2} Mb/s of payload give, whatever was sent, and no queue before them; the path itself passes {:.2} Mb/s",
                rate.value * 8e-6
            ),
        ));
    }
    found
}

/// Whether what the segments lost found before them was as much as any found, so that a queue was full: its median rank, and what four of five
/// ranks are above. Where chance or a token bucket drops, they are anywhere.
pub fn full_queue((median, low): (f64, f64)) -> f64 {
    ramp(median, 0.65, 0.8) * ramp(low, 0.4, 0.6)
}

/// Whether a token bucket explains the losses: it lets as much pass between them as it was filled with, and within them at the same rate.
fn policed(facts: &Facts, segments: u64) -> f64 {
    let slow = 1.0 - ramp(facts.tokens.map_or(0.0, |(_, own)| own), 0.8, 0.9);
    let alike = match (facts.passed_between, facts.tokens) {
        (Some(passed), Some((_, own))) => 1.0 - ramp((passed / own).ln().abs(), 0.2, 0.5),
        _ => 0.0,
    };
    // Losses of one segment alone: by a bucket, if they came without a queue and the path has much more.
    let empty = match (facts.late, facts.tokens) {
        (Some((median, _)), Some((_, own))) if facts.is_receiver => (1.0 - ramp(median, 0.6, 0.8)) * (1.0 - ramp(own, 0.6, 0.75)),
        _ => 0.0,
    };
    let by_tokens = facts.tokens.map_or(0.0, |(share, _)| ramp(share, 0.45, 0.7) * alike) * ramp(facts.lost_each, 1.4, 2.5).max(empty);
    // (A bucket that was full in between lets more pass.)
    let by_rates = alike * ramp(facts.lost_each, 2.5, 5.0) * (1.0 - ramp(facts.rtt_rank, 0.7, 0.85));
    // Where many are lost and no queue is seen, less passes than the path could carry.
    let by_within = match (facts.passed_between, facts.tokens) {
        (Some(passed), Some(_)) => {
            (1.0 - ramp(passed, 0.6, 0.75)) * ramp(facts.lost_each, 4.0, 8.0) * (1.0 - ramp(facts.rtt_rank, 0.6, 0.8))
        }
        _ => 0.0,
    };
    // Who sends at the rate of the bucket whatever is lost (BBR) shows no other.
    let share = facts.lost as f64 / segments.max(1) as f64;
    let by_sender = ramp(facts.used, 0.8, 0.93) * ramp(share, 0.005, 0.02) * (1.0 - ramp(facts.rtt_rank, 0.65, 0.85));
    (slow * by_tokens.max(by_rates)).max(by_within).max(by_sender * (1.0 - ramp(facts.single, 0.5, 0.7)))
}

#[cfg(test)]
mod tests {
    use super::no_chance;

    #[test]
    fn the_sign_test_has_its_values() {
        // By hand: P(X >= 3) of 3, P(X >= 2) of 3, P(X >= 8) of 10 = (45 + 10 + 1) / 1024, of a fair coin.
        for (of, all, p) in [(3, 3, 0.125), (2, 3, 0.5), (8, 10, 56.0 / 1024.0), (0, 9, 1.0), (0, 0, 1.0)] {
            assert!((no_chance(of, all) - (1.0 - p)).abs() < 1e-12, "{of} of {all}");
        }
        // Half of an even number is as likely as not, but for half of the middle: for many about 1 / sqrt(2 pi n).
        assert!((no_chance(2000, 4000) - 0.5).abs() < 0.01);
        assert!(no_chance(4000, 4000) > 0.999_999 && no_chance(1900, 4000) < 0.01);
    }
}
