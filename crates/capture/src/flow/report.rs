//! The records of a connection and of a file.

use super::clock::time;
use super::connection::{Connection, Point};
use super::control::control;
use super::direction::{Again, Direction};
use super::rate::{carried, goodput};
use super::records::{
    self, Back, Bottleneck, Burst, CaptureFile, ConnectionSeries, Data, Options, QueueAtLosses, ReceiverWindow, Reordered, Retransmitted,
    RoundTrips,
};
use super::rtt::Rtt;
use super::series::Bin;
use super::verdict::{features, is_bound, verdict};
use crate::read::Input;

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// Returns round trips by a clock that is wrong by `uncertainty` ns: a shorter time is no number.
fn trips(rtt: &Rtt, uncertainty: i64) -> Option<RoundTrips> {
    (rtt.is_known() && rtt.max > uncertainty).then(|| RoundTrips {
        samples: rtt.count,
        min_s: (rtt.min > uncertainty).then(|| seconds(rtt.min)),
        mean_s: rtt.mean().filter(|mean| *mean > uncertainty as f64).map(|mean| mean / 1e9),
        max_s: seconds(rtt.max),
    })
}

/// Record of a file.
pub(crate) fn file(input: &Input) -> CaptureFile {
    let counts = &input.counts;
    CaptureFile {
        name: input.name.clone(),
        frames: counts.frames,
        tcp: counts.tcp,
        not_tcp: counts.not_tcp + counts.not_ip,
        unreadable: counts.link_type + counts.cut + counts.malformed + counts.fragments,
        notes: input.remarks(),
    }
}

/// Record of a connection.
pub(crate) fn connection(connection: &Connection) -> records::Connection {
    let main = connection.main();
    let (direction, back) = (&connection.directions[main], &connection.directions[1 - main]);
    let point = connection.point(main);
    let full = direction.full(connection.agreed());
    let uncertainty = connection.clock.uncertainty();
    let captured = match (direction.counts.segments > 0, direction.counts.acks > 0) {
        (true, true) => "both ways",
        (true, false) => "data only",
        (false, true) => "acks only",
        (false, false) => "no data",
    };
    let features = features(connection, main);
    let verdict = verdict(connection, main, &features);
    records::Connection {
        number: connection.number,
        source: connection.ends[main].to_string(),
        destination: connection.ends[1 - main].to_string(),
        opened_by: if main == 0 { "sender" } else { "receiver" },
        start_s: seconds(connection.first),
        duration_s: seconds(connection.last - connection.first),
        packets: connection.packets,
        copies: trips(&copies(connection), -1),
        captured,
        capture_point: point.word(),
        handshake: connection.has_handshake(),
        ended: ended(connection),
        syns_retransmitted: connection.directions.iter().map(|direction| u64::from(direction.handshake.syns.saturating_sub(1))).sum(),
        fins_retransmitted: connection.directions.iter().map(|direction| direction.counts.fins_again).sum(),
        options: Options {
            mss_bytes: full,
            mss_is_agreed: connection.agreed().is_some(),
            window_scale: connection.scale(1 - main),
            sack: connection.directions.iter().all(|direction| direction.handshake.sack_permitted),
            timestamps: connection.has_timestamps(),
        },
        data: data(connection, main),
        back: Back { bytes: back.counts.bytes, segments: back.counts.segments, retransmitted: back.counts.again.iter().sum() },
        rtt: trips(direction.trips(), uncertainty),
        rtt_near: trips(&direction.rtt.near, uncertainty),
        rtt_far: trips(&direction.rtt.far, uncertainty),
        bottleneck: bottleneck(connection, main, point, full, is_bound(&verdict)),
        receiver: receiver(connection, main),
        series: series(direction),
        features: features.named().collect(),
        verdict,
        control: control(connection, main),
        notes: notes(connection, main, point, captured),
    }
}

/// Delays of all copies that were left out.
fn copies(connection: &Connection) -> Rtt {
    let [one, other] = connection.directions.each_ref().map(|direction| &direction.copies);
    let mut both = *one;
    (both.count, both.sum) = (one.count + other.count, one.sum + other.sum);
    (both.min, both.max) = (one.min.min(other.min), one.max.max(other.max));
    both
}

fn ended(connection: &Connection) -> &'static str {
    if connection.directions.iter().any(|direction| direction.closing.reset) {
        "reset"
    } else if connection.directions.iter().all(|direction| direction.closing.fin) {
        "closed"
    } else if connection.directions.iter().any(|direction| direction.closing.fin) {
        "half closed"
    } else {
        "open"
    }
}

fn data(connection: &Connection, main: usize) -> Data {
    let direction = &connection.directions[main];
    let counts = &direction.counts;
    let (bytes, _) = carried(direction);
    let again = |kind: Again| counts.again[kind as usize];
    Data {
        segments: counts.segments,
        bytes: counts.bytes,
        bytes_acked: bytes,
        goodput_bps: goodput(connection, main).map(|bytes| 8.0 * bytes),
        flight_max_bytes: direction.flight_max,
        longest_bytes: counts.len_max,
        offload: counts.offload,
        retransmitted: Retransmitted {
            segments: counts.again.iter().sum(),
            bytes: counts.bytes_again,
            fast: again(Again::Fast),
            timeout: again(Again::Timeout),
            tail_probe: again(Again::Probe),
            unknown: again(Again::Unknown),
            needless: counts.needless,
            lost_before_capture: counts.lost_before,
        },
        episodes: direction.losses.episodes.len() as u64 + direction.losses.forgotten,
        timeouts: direction.losses.episodes.iter().filter(|episode| episode.is_timeout).count(),
        reordered: Reordered { before_capture: counts.reordered_before, behind_capture: counts.reordered_behind },
        never_captured_bytes: counts.unseen,
        ce_packets: counts.marked,
        ece_acks: counts.ece,
        cwr_segments: counts.cwr,
        duplicate_acks: counts.duplicate_acks,
        window_probes: counts.window_probes,
    }
}

/// Rate and queue of the bottleneck. Rates are of IP packets.
fn bottleneck(connection: &Connection, main: usize, point: Point, full: u32, is_bound: bool) -> Option<Bottleneck> {
    let direction = &connection.directions[main];
    let counts = &direction.counts;
    let found = super::rate::bottleneck(connection, main)?;
    let rate = found.rate;
    let ip = counts.ip_bytes as f64 / counts.bytes.max(1) as f64;
    let bits = |payload: f64| payload * ip * 8.0;
    // Delay of the queue in round trips before losses at which it was full.
    let base = direction.trips().min as f64 / 1e9;
    let mut held: Vec<f64> = direction
        .losses
        .episodes
        .iter()
        .filter(|episode| episode.rtt > 0 && episode.again > episode.needless)
        .map(|episode| (seconds(episode.rtt) - base).max(0.0) * rate.value * ip)
        .collect();
    held.sort_by(f64::total_cmp);
    let quantile = |at: f64| held[((held.len() as f64 - 1.0) * at).round() as usize];
    // (Behind the bottleneck nothing comes faster than it lets go.)
    let bursts = (point != Point::Receiver && direction.rates.bursts.passed > u64::from(full))
        .then_some(Burst { passed_bytes: direction.rates.bursts.passed, at_first_loss_bytes: direction.rates.bursts.at_first_loss });
    let queue =
        (!held.is_empty()).then(|| QueueAtLosses { median: quantile(0.5), low: quantile(0.16), high: quantile(0.84), losses: held.len() });
    Some(Bottleneck {
        rate_bps: bits(rate.value),
        rate_low_bps: bits(rate.low),
        rate_high_bps: (!is_bound).then(|| bits(rate.high)),
        is_lower_bound: is_bound,
        rate_by: found.by,
        trains: found.trains,
        queue_at_losses_bytes: queue,
        burst: bursts,
    })
}

fn receiver(connection: &Connection, main: usize) -> ReceiverWindow {
    let direction = &connection.directions[main];
    ReceiverWindow {
        window_min_bytes: direction.receiver.window_min,
        window_max_bytes: (direction.counts.acks > 0).then_some(direction.receiver.window_max),
        window_is_scaled: connection.scale(1 - main).is_some(),
        zero_windows: direction.counts.zero_windows,
        zero_window_s: seconds(direction.counts.zero_window_time),
    }
}

/// The direction over time, in the bins in which anything happened. Rates are of payload.
fn series(direction: &Direction) -> ConnectionSeries {
    let bins: Vec<_> = direction.series.bins.iter().enumerate().filter(|(_, bin)| bin.sent > 0 || bin.acked > 0 || bin.rtts > 0).collect();
    let width = seconds(direction.series.width);
    fn column<T>(bins: &[(usize, &Bin)], of: impl Fn(&Bin) -> T) -> Vec<T> {
        bins.iter().map(|(_, bin)| of(bin)).collect()
    }
    ConnectionSeries {
        width_s: width,
        time_s: bins.iter().map(|(i, _)| *i as f64 * width).collect(),
        sent_bytes: column(&bins, |bin| bin.sent),
        acked_bytes: column(&bins, |bin| bin.acked),
        flight_max_bytes: column(&bins, |bin| Some(bin.flight_max).filter(|flight| *flight > 0)),
        window_min_bytes: column(&bins, |bin| bin.window_min),
        rtt_mean_s: column(&bins, |bin| (bin.rtts > 0).then(|| seconds(bin.rtt_sum / i64::from(bin.rtts)))),
        retransmitted: column(&bins, |bin| bin.again),
    }
}

/// Reasons for which numbers are missing or uncertain.
fn notes(connection: &Connection, main: usize, point: Point, captured: &str) -> Vec<String> {
    let direction = &connection.directions[main];
    let counts = &direction.counts;
    let copies = copies(connection);
    let mut notes = Vec::new();
    let mut say = |is_so: bool, what: String| {
        if is_so {
            notes.push(what);
        }
    };
    say(captured == "data only", "no ACK was captured: round-trip times, windows and bytes in flight are unknown".to_owned());
    say(captured == "acks only", "no data was captured: retransmissions are unknown".to_owned());
    let is_late = !connection.has_handshake();
    say(is_late, "the handshake was not captured: the scale of the windows and the mss are unknown".to_owned());
    say(
        point == Point::Unknown && captured == "both ways",
        "neither handshake nor timestamps say where on the path it was captured: what is in flight is a lower bound".to_owned(),
    );
    say(counts.unseen > 0, format!("{} bytes were acknowledged and are not in the capture: it has lost packets", counts.unseen));
    say(
        copies.count > 0,
        format!("{} packets are copies of others, late by {} to {}: they were left out", copies.count, time(copies.min), time(copies.max)),
    );
    if let Some(said) = direction
        .rtt
        .near_said
        .filter(|said| said - direction.rtt.near.min > (direction.trips().min / 10).max(connection.clock.uncertainty()))
    {
        say(
            true,
            format!(
                "the round trip is {}, as data follow the window that they need, and not {}, as the handshake has it: a host was late there",
                time(direction.trips().min),
                time(direction.trips().min + said - direction.rtt.near.min)
            ),
        );
    }
    say(direction.forgotten() > 0, format!("more was in flight than is kept: {} stretches were forgotten", direction.forgotten()));
    say(
        connection.backwards > 0,
        format!(
            "{} packets were captured before the one that stands before them, by up to {}",
            connection.backwards,
            time(connection.clock.back)
        ),
    );
    let uncertainty = connection.clock.uncertainty();
    say(
        direction.trips().is_known() && direction.trips().min < uncertainty,
        format!("the clock of the capture is uncertain by {}: what is shorter is not known", time(uncertainty)),
    );
    say(
        counts.offload > 0,
        format!("{} segments are longer than the mss by offload (TSO, GRO): times within them are unknown", counts.offload),
    );
    notes
}
