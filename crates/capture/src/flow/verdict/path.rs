//! Change of the path: its least round trip steps, and no queue explains that.

use crate::flow::direction::Direction;

/// A step of the least round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Time from the first packet, in s.
    pub time: f64,
    /// Least round trip before and after, in s.
    pub from: f64,
    pub to: f64,
}

/// Round trips looked at on each side of a step.
const TRIPS: f64 = 6.0;

/// The largest step of the direction's round trips.
///
/// For some round trips before it none was as long as the shortest for as many after it (or the other way round). A queue may do that too,
/// but only with more (or less) in flight: with the same flight round trips are longer by a fifth and more, or the path is another. On either
/// side the least round trip stays where it is.
pub(crate) fn change(direction: &Direction) -> Option<Change> {
    let trips = direction.trips();
    if !trips.is_known() {
        return None;
    }
    let width = direction.series.width as f64 / 1e9;
    let bins: Vec<_> = direction.series.bins.iter().enumerate().filter(|(_, bin)| bin.rtts > 0 && bin.flight_max > 0).collect();
    let mut found: Option<Change> = None;
    for at in 1..bins.len() {
        // (Of the longer ones: a round trip is known one of them later than what is in flight.)
        let trip = bins[at - 1..(at + 2).min(bins.len())].iter().map(|(_, bin)| bin.rtt_min).max().unwrap_or(0);
        let long = (TRIPS * trip as f64 / 1e9 / width).ceil().max(4.0) as usize;
        if at < long || at + long > bins.len() {
            continue;
        }
        // (A bin may hold both sides of the step.)
        let sides = [&bins[at - long..at - 1], &bins[(at + 1).min(bins.len() - 1)..at + long]];
        let [before, after] = sides.map(|side| {
            let least = side.iter().map(|(_, bin)| bin.rtt_min).min().unwrap_or(0) as f64 / 1e9;
            let most = side.iter().map(|(_, bin)| bin.rtt_max).max().unwrap_or(0) as f64 / 1e9;
            let flight = side.iter().map(|(_, bin)| bin.flight_max).sum::<u64>() as f64 / side.len().max(1) as f64;
            let peak = side.iter().map(|(_, bin)| bin.flight_max).max().unwrap_or(0) as f64;
            let lost: u32 = side.iter().map(|(_, bin)| bin.again).sum();
            let samples: u32 = side.iter().map(|(_, bin)| bin.rtts).sum();
            (least, most, flight, lost, samples, peak)
        });
        let by = |one: f64, other: f64| 1.0 + 0.5 * (one / other - 1.0);
        let is_up = after.0 > before.1 && after.0 > 1.2 * before.0 && after.5 < by(after.0, before.0) * before.2;
        let is_down = before.0 > after.1 && before.0 > 1.2 * after.0 && before.5 < by(before.0, after.0) * after.2;
        // A queue that fills has no step, wherever one looks.
        let is_level = sides.iter().all(|side| {
            let (first, second) = side.split_at(side.len() / 2);
            let [first, second] = [first, second].map(|half| half.iter().map(|(_, bin)| bin.rtt_min).min().unwrap_or(1).max(1) as f64);
            first.max(second) < 1.2 * first.min(second)
        });
        let is_quiet = before.3 + after.3 == 0 && before.4.min(after.4) >= 16;
        // The queue is empty on one side of the step, as at the least of all.
        let is_least = before.0.min(after.0) < 1.1 * trips.min as f64 / 1e9;
        let size = |change: &Change| (change.to / change.from).ln().abs();
        let one = Change { time: bins[at].0 as f64 * width, from: before.0, to: after.0 };
        if (is_up || is_down) && is_level && is_quiet && is_least && found.as_ref().is_none_or(|other| size(&one) > size(other)) {
            found = Some(one);
        }
    }
    found
}
