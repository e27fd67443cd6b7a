//! Congestion control of a flow, estimated by the window's shape between losses.
//!
//! Bytes in flight are the window, where nothing else limits the sender. After a loss each congestion control leaves its own share of the
//! window and then grows on its own curve. The curves here are those of the controls of the same names in the registry, in the form that
//! their sources give. A model-based control does neither.

use super::connection::Connection;
use super::direction::{Direction, Episode};
use super::records::ControlEstimate;
use super::series::Bin;

/// Congestion control whose curve is known.
struct Candidate {
    name: &'static str,
    /// Least and greatest share of the window that it may leave, by the least round trip over that at the loss.
    left: fn(f64) -> [f64; 2],
    /// Window at some time in seconds after the reduction.
    after: fn(time: f64, epoch: &Epoch) -> f64,
    /// Penalty for a candidate that may have several curves: H-TCP is Reno for the first second.
    freedom: f64,
}

/// Epoch from the end of a reduction to the next loss. Windows in segments, times in s.
struct Epoch {
    /// Window before the reduction, and before the one before that.
    before: f64,
    earlier: f64,
    /// Window left by the reduction.
    start: f64,
    rtt: f64,
    /// The least round trip over that at the loss.
    queue: f64,
    /// Time from the first loss to the end of the reduction.
    repaired: f64,
    samples: Vec<(f64, f64)>,
}

const CANDIDATES: &[Candidate] = &[
    // RFC 5681 section 3.1 and 3.2: half, and a segment each round trip.
    Candidate { name: "reno", left: |_| [0.5; 2], after: |time, epoch| epoch.start + time / epoch.rtt, freedom: 0.0 },
    Candidate { name: "cubic", left: |_| [0.7; 2], after: cubic, freedom: 0.0 },
    Candidate { name: "htcp", left: |queue| [0.5, queue.clamp(0.5, 0.8)], after: htcp, freedom: 0.6 },
    // Kelly, Scalable TCP, CCR 33(2), 2003: an eighth less, and a hundredth more each round trip.
    Candidate { name: "scalable", left: |_| [0.875; 2], after: |time, epoch| epoch.start * 1.01_f64.powf(time / epoch.rtt), freedom: 0.0 },
];

/// RFC 9438 sections 4.2 and 4.3: the greater of the cubic curve around the last window and of what Reno would have on average.
fn cubic(time: f64, epoch: &Epoch) -> f64 {
    const C: f64 = 0.4;
    // Section 4.7: who came less far than before leaves room to others.
    let top = if epoch.before < 0.97 * epoch.earlier { epoch.before * 0.85 } else { epoch.before };
    let k = ((top - epoch.start).max(0.0) / C).cbrt();
    let curve = C * (time - k).powi(3) + top;
    let reno = epoch.start + 3.0 * (1.0 - 0.7) / (1.0 + 0.7) * time / epoch.rtt;
    curve.max(reno)
}

/// Leith and Shorten, H-TCP, PFLDnet 2004: the longer since a loss, the faster.
fn htcp(time: f64, epoch: &Epoch) -> f64 {
    let share = epoch.start / epoch.before;
    let queue = epoch.queue.clamp(0.5, 0.8);
    // Share left by the queue that it has seen; half if its rate has changed much.
    let left = if (share - queue).abs() < share - 0.5 { queue } else { 0.5 };
    let since = epoch.repaired + time;
    // Integral of 1 + 10 (t - 1) + ((t - 1) / 2)^2 from one second on.
    let whole = |t: f64| t + if t > 1.0 { 5.0 * (t - 1.0).powi(2) + (t - 1.0).powi(3) / 12.0 } else { 0.0 };
    epoch.start + 2.0 * (1.0 - left) * (whole(since) - whole(epoch.repaired)) / epoch.rtt
}

/// An estimate, without a name where nothing can be told.
pub(crate) fn control(connection: &Connection, main: usize) -> ControlEstimate {
    let direction = &connection.directions[main];
    let said = |name, confidence, why| ControlEstimate { name, confidence, why };
    let waits = &direction.waits;
    let total = waits.total().max(1) as f64;
    if (waits.receiver + waits.idle + waits.unprompted + waits.nagle) as f64 / total > 0.3 {
        return said(None, 0.0, "something else than its window limited it".to_owned());
    }
    let again: u64 = direction.counts.again.iter().sum();
    if 3 * direction.counts.needless > again {
        return said(None, 0.0, "too many retransmissions were spurious: its window went down without a loss".to_owned());
    }
    let full = f64::from(direction.full(connection.agreed()));
    let real: Vec<&Episode> = direction.losses.episodes.iter().filter(|episode| episode.again > episode.needless).collect();
    if let Some((peak, later)) = drained(direction, &real) {
        return said(
            Some("bbr"),
            0.8,
            format!(
                "without a loss what was in flight fell from {:.0} to {:.0} segments: a start that drains its queue",
                peak / full,
                later / full
            ),
        );
    }
    if let Some(times) = beyond(direction, &real, full) {
        return said(
            Some("bbr"),
            0.8,
            format!("it has {times:.1} times the window that Reno has at as many losses: losses do not govern it"),
        );
    }
    let (kept, epochs) = epochs(direction, &real, full);
    if kept.len() >= 3 {
        let kept = super::statistics::quantile(&kept, 0.5).unwrap_or(0.0);
        if kept > 0.93 {
            return said(Some("bbr"), 0.7, format!("{:.0} % of the window is left after a loss: losses do not govern it", 100.0 * kept));
        }
    }
    if epochs.is_empty() {
        return said(None, 0.0, "no two losses are far enough apart to see a window grow".to_owned());
    }
    let mut scores: Vec<(&'static str, f64)> = CANDIDATES.iter().map(|one| (one.name, misfit(one, &epochs) + one.freedom)).collect();
    scores.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(name, best), (_, second), ..] = scores[..] else { unreachable!("there are four candidates") };
    let confidence = (1.0 - (best - second).exp()) * (1.0 - (-(epochs.len() as f64) / 2.0).exp());
    let listed: Vec<String> = scores.iter().map(|(name, score)| format!("{name} {score:.1}")).collect();
    let why = format!("misfit of the window between {} losses: {}", epochs.len(), listed.join(", "));
    if best > 4.0 || confidence < 0.3 { said(None, confidence, why) } else { said(Some(name), confidence.min(0.95), why) }
}

/// Returns the distance of a candidate from the observation: shares left and curves, in deviations; the median of the epochs.
fn misfit(one: &Candidate, epochs: &[Epoch]) -> f64 {
    let each: Vec<f64> = epochs
        .iter()
        .map(|epoch| {
            // A segment or two more or less are no sign.
            let share = epoch.start / epoch.before;
            let left =
                (one.left)(epoch.queue).map(|left| (share - left).abs()).into_iter().fold(1.0, f64::min) / (0.05 + 1.5 / epoch.before);
            let grown = epoch.samples.iter().map(|(_, window)| window - epoch.start).fold(0.0_f64, |a, b| a.max(b.abs()));
            let unit = 0.1 * grown + 0.02 * epoch.before + 1.0;
            let squares: f64 = epoch.samples.iter().map(|(time, window)| (((one.after)(*time, epoch) - window) / unit).powi(2)).sum();
            0.5 * (left * left).min(16.0) + 0.5 * (squares / epoch.samples.len() as f64).min(16.0)
        })
        .collect();
    super::statistics::quantile(&each, 0.5).unwrap_or(f64::MAX)
}

/// Returns the shares of the window that losses left, and the epochs in which growth can be seen.
fn epochs(direction: &Direction, episodes: &[&Episode], full: f64) -> (Vec<f64>, Vec<Epoch>) {
    let (mut kept, mut epochs) = (Vec::new(), Vec::new());
    let trips = direction.trips();
    let rtt = trips.smoothed as f64 / 1e9;
    if !trips.is_known() || rtt <= 0.0 {
        return (kept, epochs);
    }
    let highest = |bins: &[(i64, &Bin)]| {
        super::statistics::quantile(&bins.iter().map(|(_, bin)| bin.flight_max as f64 / full).collect::<Vec<_>>(), 0.5)
    };
    for (i, episode) in episodes.iter().enumerate() {
        let own = if episode.rtt > 0 { episode.rtt } else { trips.smoothed };
        // Segments sent in the repair must be acknowledged first.
        let begin = episode.end + own + own / 4;
        let end = episodes.get(i + 1).map_or(i64::MAX, |next| next.start - own / 2);
        let bins: Vec<(i64, &Bin)> = direction.series.between(begin, end).filter(|(_, bin)| bin.flight_max > 0).collect();
        let first: Vec<(i64, &Bin)> = bins.iter().take_while(|(time, _)| *time < begin + own + direction.series.width).copied().collect();
        let Some(start) = highest(&first) else { continue };
        let before = episode.flight as f64 / full;
        if episode.is_timeout || before < 8.0 {
            continue;
        }
        // Slow start goes beyond its window by the data it sends until it learns of the loss. A share of a small window is too coarse.
        if i > 0 && before >= 20.0 {
            kept.push(start / before);
        }
        let long = (end.min(bins.last().map_or(begin, |(time, _)| *time)) - begin) as f64 / own as f64;
        if i == 0 || long < 6.0 || bins.len() < 8 {
            continue;
        }
        let mid = begin + own / 2;
        let means: Vec<f64> =
            bins.iter().filter(|(_, bin)| bin.rtts > 0).map(|(_, bin)| bin.rtt_sum as f64 / f64::from(bin.rtts) / 1e9).collect();
        let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
        epochs.push(Epoch {
            before,
            earlier: episodes[i - 1].flight as f64 / full,
            start,
            rtt: if mean > 0.0 { mean } else { rtt },
            queue: trips.min as f64 / own as f64,
            repaired: (mid - episode.start) as f64 / 1e9,
            samples: bins.iter().map(|(time, bin)| ((*time - mid).max(0) as f64 / 1e9, bin.flight_max as f64 / full)).collect(),
        });
    }
    (kept, epochs)
}

/// How many times the window of Reno at as many losses (Mathis et al., CCR 27(3), 1997) was in flight, where that is far more. Where losses are as
/// frequent as this, all controls that are governed by them have about Reno's (RFC 9438 section 4.3, RFC 3649 section 5).
fn beyond(direction: &Direction, episodes: &[&Episode], full: f64) -> Option<f64> {
    let share = episodes.len() as f64 / direction.counts.segments.max(1) as f64;
    let flights: Vec<f64> = direction.series.bins.iter().filter(|bin| bin.flight_max > 0).map(|bin| bin.flight_max as f64 / full).collect();
    let times = super::statistics::quantile(&flights, 0.5)? * share.sqrt() / 1.22;
    (episodes.len() >= 10 && share > 0.005 && times > 4.0).then_some(times)
}

/// Most and then least in flight, where it fell by half within a few round trips without a loss or a mark: Cardwell et al., BBR, ACM Queue
/// 14(5), 2016, leave their start so. A control that is governed by losses keeps what it has.
fn drained(direction: &Direction, episodes: &[&Episode]) -> Option<(f64, f64)> {
    if direction.counts.ece + direction.counts.needless > 0 || !direction.trips().is_known() {
        return None;
    }
    let trip = direction.trips().smoothed;
    let until = episodes.first().map_or(i64::MAX, |episode| episode.start);
    let bins: Vec<(i64, &Bin)> = direction.series.between(0, until).filter(|(_, bin)| bin.flight_max > 0).collect();
    let (at, peak) = bins.iter().map(|(time, bin)| (*time, bin.flight_max)).max_by_key(|(time, flight)| (*flight, -*time))?;
    let begin = bins.first()?.0;
    // Slow start takes a few round trips, and so does the drain.
    if at > begin + 25 * trip || peak < 20 * u64::from(direction.counts.len_max.min(1500)) {
        return None;
    }
    let later: Vec<f64> =
        bins.iter().filter(|(time, _)| *time > at + 3 * trip && *time < at + 15 * trip).map(|(_, bin)| bin.flight_max as f64).collect();
    let settled = super::statistics::quantile(&later, 0.5).filter(|_| later.len() >= 8)?;
    (settled < 0.55 * peak as f64).then_some((peak as f64, settled))
}
