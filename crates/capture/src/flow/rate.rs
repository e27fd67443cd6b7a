//! Rates of a connection and of its bottleneck.

use super::connection::{Connection, Point};
use super::direction::{Direction, Rate, Trains};

/// Payload acknowledged (or, where no ACK was captured, sent) and the seconds it took, from the first segment on.
pub(crate) fn carried(direction: &Direction) -> (u64, f64) {
    let until = direction.acked.min(direction.closing.stream_end.unwrap_or(u64::MAX));
    let acked = direction.acked_first.map_or(0, |first| until.saturating_sub(first));
    let (bytes, end) = if acked > 0 {
        (acked, direction.last_acked_time)
    } else {
        (direction.counts.bytes - direction.counts.bytes_again.min(direction.counts.bytes), direction.last_data.unwrap_or(0))
    };
    let begin = direction.first_data.unwrap_or(end);
    (bytes, (end - begin).max(0) as f64 / 1e9)
}

/// Returns the payload bytes per second. None where the clock or a time shorter than a round trip forbids it, or where no sent data was
/// acknowledged.
pub(crate) fn goodput(connection: &Connection, main: usize) -> Option<f64> {
    let direction = &connection.directions[main];
    let (bytes, time) = carried(direction);
    let least = if direction.trips().is_known() { direction.trips().min.max(connection.clock.clear()) } else { connection.clock.clear() };
    let is_answered = direction.counts.acks == 0 || direction.counts.segments == 0 || direction.last_acked_time > 0;
    (time > 0.0 && time * 1e9 >= least as f64 && is_answered).then(|| bytes as f64 / time)
}

/// Bottleneck, and the number of trains by which it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bottleneck {
    pub rate: Rate,
    pub by: &'static str,
    pub trains: u64,
}

/// The bottleneck: behind it, by how segments come; before it, by how they are acknowledged. A sender gives away bursts of segments, and a
/// receiver bursts of ACKs: where the place is not known, the slower of both is the bottleneck. It passes what was acknowledged.
pub(crate) fn bottleneck(connection: &Connection, main: usize) -> Option<Bottleneck> {
    let direction = &connection.directions[main];
    let of =
        |trains: &Trains, by| trains.estimate(connection.clock.uncertainty()).map(|rate| Bottleneck { rate, by, trains: trains.count });
    let (acks, segments) = (of(&direction.rates.ack_trains, "acks"), of(&direction.rates.data_trains, "segments"));
    let mut found = match connection.point(main) {
        Point::Receiver => segments?,
        Point::Unknown => [acks?, segments?].into_iter().min_by(|one, other| one.rate.value.total_cmp(&other.rate.value))?,
        _ => acks?,
    };
    let passed = goodput(connection, main).unwrap_or(0.0);
    found.rate.value = found.rate.value.max(passed);
    (found.rate.high >= passed).then_some(found)
}
