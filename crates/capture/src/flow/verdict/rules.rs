//! The rules: how strongly what a capture shows speaks for each cause.

use super::features::{Feature, Features};
use super::ramps;
use crate::flow::connection::Connection;
use longfat_record::trace::Cause;

/// A cause, how strongly it is spoken for, and what shows it.
pub(crate) type Found = (Cause, f64, String);

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn ms(seconds: f64) -> String {
    format!("{:.3} ms", 1e3 * seconds)
}

/// Returns every cause for which there is evidence.
pub(crate) fn causes(connection: &Connection, main: usize, features: &Features, full: u32) -> Vec<Found> {
    let counts = &connection.directions[main].counts;
    let mut found = Vec::new();
    let again = counts.retransmitted();
    let moved = counts.reordered_before + counts.reordered_behind;
    // Some retransmissions are spurious on any path, and a sender that learns of it takes the reduction back. A timer that is too short,
    // before any data behind the segment had arrived, says nothing about the order.
    // (Scalable controls are limited by frequent losses too.)
    let held = ramps::HELD.of(features).max(ramps::OFTEN.of(features));
    let reduced = ramps::NEEDLESS.of(features) * (1.0 - features[Feature::Blind]) * held;
    let waited = ramps::OVERTAKEN.of(features);
    // Reordering does no harm where something else leaves the sender nothing to send, or nothing to gain.
    let harmed = (1.0 - standing(features)) * (1.0 - ramps::SILENT.of(features)) * (1.0 - ramps::WINDOW_FULL.of(features));
    let reordering = reduced.max(waited) * harmed;
    let why = if waited > reduced {
        format!(
            "its sender waited for overtaken segments {} of the time, and nothing was lost there; {moved} were overtaken",
            percent(features[Feature::Order])
        )
    } else {
        format!(
            "{} of {again} retransmissions were spurious, and the window was smaller for them {} of the time; {moved} more segments were overtaken",
            counts.needless,
            percent(features[Feature::HeldByOrder])
        )
    };
    found.push((Cause::Reordering, reordering, why));
    let (waits, left) = ends(connection, main, features, reordering);
    found.extend(waits);
    let free = left * (1.0 - reordering);
    if counts.ece > 0 {
        found.push((
            Cause::CongestionEcn,
            free * ramps::MARKS.of(features),
            format!("{} ACKs echo marks; {} segments were lost", counts.ece, features[Feature::Lost]),
        ));
    }
    let unmarked = if counts.ece > 0 { 0.5 * free } else { free };
    if features[Feature::Episodes] == 0.0 {
        found.extend(lossless(features, unmarked));
    } else {
        // A buffer that its host says was full limits in spite of losses: in a capture they hide it.
        let buffer = ramps::BUFFER_FULL.of(features) * (1.0 - standing(features));
        if buffer > 0.0 {
            found.push((Cause::SendBuffer, unmarked * buffer, full_buffer(features)));
        }
        found.extend(losses(features, full, unmarked * (1.0 - buffer)));
    }
    found
}

/// Returns the causes at the ends and a path that changes, and the share left for the network.
fn ends(connection: &Connection, main: usize, features: &Features, reordering: f64) -> (Vec<Found>, f64) {
    let direction = &connection.directions[main];
    let counts = &direction.counts;
    let mut found = Vec::new();
    let closing = ramps::WINDOW_SHRUNK.of(features).max(ramps::WINDOW_CLOSED.of(features));
    let blocked = ramps::WINDOW_FULL.of(features);
    found.push((
        Cause::ClosingWindow,
        closing,
        format!(
            "{} of the time its sender waited for a window that had been larger; it closed {} times, for {}: the application there does not read as fast",
            percent(features[Feature::Closing]),
            counts.zero_windows,
            percent(features[Feature::Closed])
        ),
    ));
    // A write waits for the ACK of the one before it, and that for a second segment.
    let nagle = ramps::NAGLE_WAIT.of(features) * (1.0 - closing) * (1.0 - blocked) * (1.0 - reordering);
    found.push((
        Cause::Nagle,
        nagle,
        format!(
            "{} of the time a write shorter than a segment waited for a delayed ACK, {} each time; TCP_NODELAY, or one write of each message, \
             avoids that",
            percent(features[Feature::Nagle]),
            ms(features[Feature::NagleEach])
        ),
    ));
    // A sender with more to send fills its segments. The end of an application's write is a short one. (So is the rest of a full buffer.)
    let is_lossless = features[Feature::Episodes] == 0.0;
    let pieces = if is_lossless { ramps::SHORT.of(features) * (1.0 - ramps::SHORT_FOR_ACKS.of(features)) } else { 0.0 };
    // No wait in front of a queue that is never empty, or behind it, is for an application: the capture shows the queue's rate.
    let standing = standing(features);
    let application = ramps::SILENT.of(features).max(0.9 * pieces)
        * (1.0 - closing)
        * (1.0 - blocked)
        * (1.0 - reordering)
        * (1.0 - nagle)
        * (1.0 - standing);
    found.push((
        Cause::Application,
        application,
        format!(
            "{} of the time its sender had nothing to send, though it might have; {} of its segments are short",
            percent(features[Feature::Silent]),
            percent(features[Feature::Short])
        ),
    ));
    let mut free = (1.0 - closing) * (1.0 - nagle) * (1.0 - application);
    if features.known(Feature::Step).is_some() {
        // Losses limit a sender that has them, and so do marks.
        let other = (1.0 - ramps::STEP_LOSES.of(features)) * (1.0 - ramps::STEP_MARKED.of(features));
        let path = 0.95 * ramps::STEPS.of(features) * free * other;
        found.push((
            Cause::PathChange,
            path,
            format!(
                "the least round trip went from {} to {} after {:.3} s, with as much in flight",
                ms(features[Feature::StepFrom]),
                ms(features[Feature::StepTo]),
                features[Feature::StepTime]
            ),
        ));
        free *= 1.0 - path;
    }
    // A window that holds more than the path only fills the queue in front of it.
    let window = blocked * (1.0 - standing);
    found.push((
        Cause::ReceiveWindow,
        free * window,
        format!("{} of the time the window was full; it is {} bytes", percent(features[Feature::Receiver]), direction.receiver.window_max),
    ));
    (found, free * (1.0 - window))
}

fn full_buffer(features: &Features) -> String {
    format!("{} of the time all in the send buffer was sent, and its application had more", percent(features[Feature::BufferFull]))
}

/// Returns the causes without a loss: a full path, a full buffer, or neither yet.
fn lossless(features: &Features, free: f64) -> Vec<Found> {
    let full = ramps::USED.of(features) * ramps::QUEUE_SEEN.of(features) * ramps::RATE_KNOWN.of(features);
    let flat = ramps::LEVEL_STANDS.of(features) * ramps::WAITS_FOR_ACKS.of(features) * if features.is(Feature::Grows) { 0.3 } else { 1.0 };
    // The host of the sender knows.
    let flat = features.known(Feature::BufferFull).map_or(flat, |_| ramps::BUFFER_FULL.of(features));
    let mut found = vec![
        (
            Cause::FullPath,
            free * full,
            format!(
                "nothing was lost, {} of what the bottleneck passes was used, and a queue stood at it: {} more than the least round trip",
                percent(features[Feature::Used]),
                ms(features[Feature::Typical])
            ),
        ),
        (
            Cause::SendBuffer,
            free * (1.0 - full) * flat,
            match features.known(Feature::BufferFull) {
                Some(_) => full_buffer(features),
                None => format!(
                    "nothing was lost, and {} bytes were in flight {} of the time: no window of the network stands still",
                    features[Feature::Level],
                    percent(features[Feature::Plateau])
                ),
            },
        ),
    ];
    if features.is(Feature::Grows) {
        let why = "nothing was lost, and its window still grew at the end".to_owned();
        found.push((Cause::Growing, 0.7 * free * (1.0 - full) * (1.0 - flat), why));
    }
    found
}

/// Returns the causes of losses, by the queue before them, how many came together, and what passed between them.
fn losses(features: &Features, full: u32, free: f64) -> Vec<Found> {
    let deep = ramps::QUEUE_LONG.of(features) * ramps::QUEUE_FULL.of(features) * ramps::RTT_LONG.of(features);
    let queue =
        format!("a queue stretched the round trip from {} by up to {}", ms(features[Feature::Base]), ms(features[Feature::Stretch]));
    let times = features.count(Feature::Episodes);
    // A queue that is full lets one pass for each that leaves it.
    let blocks = ramps::IN_RUNS.of(features) * ramps::BLOCKS.of(features);
    // The counters of the receiver know.
    let counted = features.known(Feature::HostDrops).map(|_| ramps::HOST_DROPS.of(features));
    let blocks = counted.unwrap_or(blocks);
    // A queue that drops early has let other segments pass that found twice as much, and yet its drops are not random: lost segments find a
    // queue, and a longer one than most, or one that is never empty.
    let in_queue = features[Feature::InQueueSure];
    let early = features[Feature::EarlySure] * features[Feature::InLongerSure].max(in_queue * ramps::PATH_USED.of(features));
    // Losses take nothing from the flow where the path is full all the time, and lost segments find no full queue.
    let harmless = standing(features) * ramps::USED_UP.of(features) * (1.0 - deep) * (1.0 - early) * (1.0 - blocks);
    let deep = deep * (1.0 - if counted.is_some() { blocks } else { 0.5 * blocks });
    let deep = deep * (1.0 - early);
    let (all, free) = (free, free * (1.0 - harmless));
    // A token bucket and a queue lose the same segments; only the queue makes others wait.
    let (told, waited) = bucketed(features);
    let bucket = told * (1.0 - waited);
    let ring = counted.unwrap_or(blocks * (1.0 - 0.8 * deep) * (1.0 - bucket));
    let (full_before, full_behind) = (full_before(features), full_behind(features));
    let late = ramps::RTT_LONGEST.of(features);
    // A full queue is in front of the lost segments. Before a token bucket the sender may be as far ahead, but no round trip grows.
    let queued = full_behind.unwrap_or(0.0).max(full_before.unwrap_or(0.0) * late);
    let policer = (1.0 - deep) * ((1.0 - ring) * (1.0 - queued) * (1.0 - in_queue) * policed(features)).max(bucket);
    let other = free * (1.0 - ring) * (1.0 - policer) * (1.0 - deep) * (1.0 - early);
    let together = 1.0 - ramps::ALONE.of(features);
    let small = match full_before.into_iter().chain(full_behind).reduce(f64::max) {
        // (Ranks say little where all found as much: then round trips do.)
        Some(full) => full.max(late * ramps::SMALL_FULL.of(features)).max(0.5 * together),
        None => together.max(late),
    };
    let small = small.max(told * waited);
    let is_seen = full_before.is_some() || full_behind.is_some();
    let seen = if features.is(Feature::Coarse) && !is_seen { 0.6 } else { 1.0 };
    let mut found = vec![
        (
            Cause::CongestionLoss,
            all * deep,
            format!("{times} losses with a full queue: {queue}, and was {} full before them", percent(features[Feature::Fullness])),
        ),
        (
            Cause::FullPath,
            all * harmless,
            format!(
                "{} of what the bottleneck passes was used, and a queue stood at it: {} more than the least round trip; what was lost, {} segments, took \
                 nothing from that",
                percent(features[Feature::Used]),
                ms(features[Feature::Typical]),
                features[Feature::Lost]
            ),
        ),
        (
            Cause::ReceiverRing,
            free * ring,
            match counted {
                Some(_) => format!("the receiver counted {} of the lost segments as dropped", percent(features[Feature::HostDrops])),
                None => format!(
                    "blocks of up to {} segments in a row were lost, {} times: a queue lets some pass, a ring that nobody empties does not",
                    features[Feature::Run],
                    features[Feature::Blocks]
                ),
            },
        ),
        (
            Cause::ActiveQueue,
            all * early * (1.0 - ring) * (1.0 - bucket),
            format!(
                "{} of {} losses found less than half of the longest queue that others passed, and {} found a queue all the same: {queue}",
                features[Feature::Early],
                features[Feature::Timed],
                features[Feature::InQueue]
            ),
        ),
        (
            Cause::RandomLoss,
            seen * other * (1.0 - small),
            format!(
                "{times} losses, {} of them of one segment alone, with the queue anywhere: {queue}",
                percent(features[Feature::Single])
            ),
        ),
        (
            Cause::SmallBuffer,
            seen * other * small,
            format!(
                "{times} losses of {} segments of {full} bytes, {} of them of one alone, and hardly a queue before them: {queue}",
                features[Feature::Lost],
                percent(features[Feature::Single])
            ),
        ),
    ];
    if let Some(explains) = features.known(Feature::BucketExplains).filter(|_| bucket >= policer) {
        let (depth, rate) = (features[Feature::BucketDepth], features[Feature::BucketRate]);
        found.push((
            Cause::Policer,
            free * policer,
            format!(
                "a bucket of {depth:.0} bytes that {:.2} Mb/s of payload fill tells what is lost from what passes, in {} of pairs of such segments; in a \
                 queue of that size they would wait for {}, and {}",
                rate * 8e-6,
                percent(explains),
                ms(depth / rate),
                features
                    .known(Feature::BucketWaited)
                    .map_or("how long they do is not known".to_owned(), |share| format!("{} waited for half of that", percent(share)))
            ),
        ));
    } else if let Some(rate) = features.known(Feature::Rate) {
        let own = features.known(Feature::TokenRate).unwrap_or(features[Feature::Used]) * rate * 8e-6;
        found.push((
            Cause::Policer,
            free * policer,
            format!(
                "between losses as much passed as {own:.2} Mb/s of payload give, whatever was sent, and no queue before them; the path itself passes {:.2} Mb/s",
                rate * 8e-6
            ),
        ));
    }
    found
}

/// How strongly a token bucket, or a queue, is spoken for by which segments were lost; and a queue, in which all wait, by what waited, half
/// where nothing is known of that.
pub(crate) fn bucketed(features: &Features) -> (f64, f64) {
    let seen = features.known(Feature::BucketWaited).map_or(0.5, |_| ramps::BUCKET_WAITED.of(features));
    let told = ramps::BUCKET.of(features) * ramps::BUCKET_SURE.of(features) * ramps::BUCKET_OFTEN.of(features);
    (told, seen)
}

/// Evidence that the rate is used up and a queue is never empty, so that other causes do no harm.
fn standing(features: &Features) -> f64 {
    // (Of a window of a few segments trains show the sender's rate, of which all is used.)
    ramps::USED.of(features) * ramps::QUEUE_STANDS.of(features) * ramps::RATE_KNOWN.of(features)
}

/// Evidence that lost segments found a full queue: the median rank of the data before them, and the rank that four of five exceed. Losses by
/// chance or by a token bucket have any rank.
fn full_before(features: &Features) -> Option<f64> {
    features.known(Feature::AheadMedian).map(|_| ramps::AHEAD.of(features) * ramps::AHEAD_MOST.of(features))
}

/// Returns the evidence of a full queue as seen behind it, by the ranks of how late segments came.
pub(crate) fn full_behind(features: &Features) -> Option<f64> {
    features.known(Feature::LateMedian).map(|_| ramps::LATE.of(features) * ramps::LATE_MOST.of(features))
}

/// Returns how well a token bucket explains the losses: it lets as much pass between them as it was filled with, and within them at the
/// same rate.
fn policed(features: &Features) -> f64 {
    let is_known = features.known(Feature::TokenMisfit).is_some();
    let slow = 1.0 - ramps::TOKENS_FAST.of(features);
    let alike = if is_known { 1.0 - ramps::TOKENS_DIFFER.of(features) } else { 0.0 };
    // Losses of one segment alone: by a bucket, if they came without a queue and the path has much more.
    let is_seen =
        features.is(Feature::AtReceiver) && [Feature::LateMedian, Feature::TokenRate].iter().all(|one| features.known(*one).is_some());
    let empty = if is_seen { (1.0 - ramps::ONE_LATE.of(features)) * (1.0 - ramps::TOKENS_FOR_ONE.of(features)) } else { 0.0 };
    let by_tokens = ramps::TOKENS_OFTEN.of(features) * alike * ramps::SOME_EACH.of(features).max(empty);
    // (A bucket that was full in between lets more pass.)
    let by_rates = alike * ramps::MORE_EACH.of(features) * (1.0 - ramps::RATE_RTT.of(features));
    // Less passes than the path could carry where many are lost and no queue is seen.
    let many = ramps::MANY_EACH.of(features) * (1.0 - ramps::WITHIN_RTT.of(features));
    let by_within = if is_known { (1.0 - ramps::WITHIN_FAST.of(features)) * many } else { 0.0 };
    // A sender at the rate of the bucket whatever is lost (BBR) shows no other.
    let by_sender = ramps::SENDER_USES.of(features) * ramps::SENDER_LOSES.of(features) * (1.0 - ramps::SENDER_RTT.of(features));
    (slow * by_tokens.max(by_rates)).max(by_within).max(by_sender * (1.0 - ramps::ALONE.of(features)))
}
