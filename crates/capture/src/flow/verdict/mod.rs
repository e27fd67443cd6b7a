//! Verdicts: the cause that limited a flow, and the confidence in it.
//!
//! Each cause is a rule over what the capture shows, with a strength between 0 and 1. The strongest wins. Where that is one of the losses on the
//! path, a fitted model says which. The confidence is how often verdicts of this cause were right on captures whose cause was known, times the
//! strength or the model's probability, less what an incomplete capture takes from it. `bench/verdicts.py` measures both.

mod features;
mod measured;
mod model;
mod next;
mod path;
mod ramps;
mod reliability;
mod rules;

use super::clock::time;
use super::connection::{Connection, Point};
use super::records::{OtherCause, Verdict};
use super::statistics::no_chance;
pub(crate) use features::Feature;
use features::Features;
pub use features::{REGISTRY as FEATURES, Spec};
use longfat_record::trace::Cause;
pub(crate) use measured::features;
use next::next;
use ramps::rise;
pub use ramps::thresholds;
use reliability::{alike, double, reliability};
use rules::{Found, causes};
use std::cmp::Ordering;

/// Does this verdict say that the path was never full? Then trains show the sender's rate, which bounds the path's from below.
pub(crate) fn is_bound(verdict: &Verdict) -> bool {
    use Cause::{Application, ClosingWindow, Nagle, ReceiveWindow, SendBuffer};
    [Application, ClosingWindow, Nagle, ReceiveWindow, SendBuffer].iter().any(|cause| verdict.cause == cause.word())
}

/// A cause that is less strongly spoken for is not named.
const LEAST_STRENGTH: f64 = 0.2;
/// Fewer segments than this say nothing.
const LEAST: u64 = 40;

/// The verdict on the direction `main` of a connection, by its features.
pub(crate) fn verdict(connection: &Connection, main: usize, features: &Features) -> Verdict {
    let direction = &connection.directions[main];
    let full = direction.full(connection.agreed());
    let (mut limits, doubt) = limits(connection, main);
    if direction.counts.acks == 0 || direction.counts.segments == 0 {
        return said(Cause::Unknown, 0.0, "only one way was captured: the cause of a pause lies in the other".to_owned(), &limits, &[]);
    }
    let uncertain = connection.clock.uncertainty();
    if direction.trips().mean().is_some_and(|mean| mean < uncertain as f64) && direction.waits.longest < connection.clock.clear() {
        let why = format!("the clock of the capture is uncertain by {}, longer than a round trip", time(uncertain));
        return said(Cause::Unknown, 0.0, why, &limits, &[]);
    }
    if direction.counts.segments < LEAST {
        return said(Cause::TooShort, 1.0, format!("{} segments with data", direction.counts.segments), &limits, &[]);
    }
    let mut found = causes(connection, main, features, full);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    if found[0].1 < LEAST_STRENGTH {
        return said(Cause::Unknown, 0.0, "no rule fits what the capture shows".to_owned(), &limits, &found);
    }
    let is_fitted = model::CAUSES.contains(&found[0].0);
    if is_fitted {
        fitted(&mut found, features);
    }
    let (cause, strength, why) = found.remove(0);
    // Few losses may all be alike by chance, at even odds.
    let losses = if cause.is_of_losses() { features.count(Feature::Episodes) } else { u32::MAX };
    let surprise = if losses < 32 { no_chance(losses, losses) } else { 1.0 };
    if surprise < 0.95 {
        limits.push(format!("{losses} times something was lost: chance may have made that look so"));
    }
    if matches!(cause, Cause::SmallBuffer | Cause::RandomLoss) && features.is(Feature::Coarse) {
        limits.push("the clock of the timestamps is too coarse to see a queue as small as there may be".to_owned());
    }
    limits.extend(double(cause, features).map(str::to_owned));
    let second = found.first().map_or(0.0, |(_, strength, _)| *strength);
    let mut alike = alike(cause, features);
    let least = if is_fitted { LEAST_STRENGTH } else { 0.6 * strength };
    alike.extend(found.first().filter(|(other, strength_of, _)| *strength_of > least && !alike.contains(other)).map(|one| one.0));
    // A probability of the model counts the others already. But a clock too coarse to see a small queue does not tell these two apart: neither
    // is more likely than half of both.
    let pair = [Cause::SmallBuffer, Cause::RandomLoss];
    let is_blurred = features.is(Feature::Coarse) && pair.contains(&cause) && found.first().is_some_and(|other| pair.contains(&other.0));
    let doubt_of_others = match is_fitted {
        true if is_blurred => (strength + second) / (2.0 * strength),
        true => 1.0,
        false => 1.0 - 0.5 * rise(second / strength, 0.5, 1.0),
    };
    let confidence = (reliability(cause, features) * strength * doubt_of_others * doubt * surprise).clamp(0.0, 0.99);
    let cannot_tell_from = alike.into_iter().map(Cause::word).collect();
    Verdict { cannot_tell_from, ..said(cause, confidence, why, &limits, &found) }
}

/// Causes of losses by the model, most likely first. They replace those of the rules.
fn fitted(found: &mut [Found], features: &Features) {
    let mut probabilities = model::probabilities(features);
    if features.known(Feature::OwnQueue).is_some() {
        // Probes tell whether lost segments found a queue, and a shorter one than others passed: without both none is managed.
        let is_told = features.count(Feature::Timed) > 0;
        let managed = if is_told { ramps::FOUND_QUEUE.of(features) * ramps::LOST_EARLY.of(features) } else { 1.0 };
        // A queue of its own is that of a scheduler: fair queueing, which drops by flow.
        let own = ramps::OWN_QUEUE.of(features);
        let is_active = |cause| f64::from(u8::from(cause == Cause::ActiveQueue));
        probabilities.iter_mut().for_each(|(cause, one)| *one *= 1.0 - is_active(*cause) * (1.0 - managed));
        let total: f64 = probabilities.iter().map(|(_, one)| one).sum();
        probabilities.iter_mut().for_each(|(cause, one)| *one = (1.0 - own) * *one / total + own * is_active(*cause));
    }
    for (cause, probability) in probabilities {
        found.iter_mut().filter(|one| one.0 == cause).for_each(|one| one.1 = probability);
    }
    found.sort_by(|a, b| (model::CAUSES.contains(&b.0), b.1).partial_cmp(&(model::CAUSES.contains(&a.0), a.1)).unwrap_or(Ordering::Equal));
}

fn said(cause: Cause, confidence: f64, why: String, limits: &[String], others: &[Found]) -> Verdict {
    let others = others.iter().filter(|(_, strength, _)| *strength >= LEAST_STRENGTH);
    Verdict {
        cause: cause.word(),
        cannot_tell_from: Vec::new(),
        confidence,
        why,
        next: next(cause),
        limits: limits.to_vec(),
        others: others.map(|(cause, strength, why)| OtherCause { cause: cause.word(), strength: *strength, why: why.clone() }).collect(),
    }
}

/// Defects of the capture, and the share of the confidence that they leave.
fn limits(connection: &Connection, main: usize) -> (Vec<String>, f64) {
    let direction = &connection.directions[main];
    let (mut limits, mut left) = (Vec::new(), 1.0);
    if connection.scale(1 - main).is_none() {
        limits.push("without the handshake the window's scale is unknown: whether the receive window limits cannot be told".to_owned());
        left *= 0.6;
    }
    if connection.point(main) == Point::Unknown {
        limits.push("where it was captured is unknown: what is in flight is a lower bound".to_owned());
        left *= 0.6;
    }
    if direction.counts.unseen > direction.counts.bytes / 100 {
        limits.push("more than one byte in a hundred is missing from the capture: losses cannot be told from gaps".to_owned());
        left *= 0.5;
    }
    if connection.backwards > connection.packets / 100 {
        limits.push("its clock runs backwards: round trips are not to be trusted".to_owned());
        left *= 0.5;
    }
    (limits, left)
}
