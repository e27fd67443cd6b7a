//! Reliability of the rules, and the causes that they cannot tell apart.

use super::features::{Feature, Features};
use super::rules::{bucketed, full_behind};
use longfat_record::trace::Cause;

/// Verdicts, by the cause they named: how many were right, and how many there were. They were counted on 1461 captures whose cause was known,
/// 630 of a kernel and 831 simulated (`notebook/capture-confidence.md`). Nagle's algorithm was counted on 144 others, all of them simulated.
/// The causes that the model tells apart have its probability; but congestion by loss looks like a receiver's ring that is too slow.
const COUNTED: &[(Cause, u32, u32)] = &[
    (Cause::ReceiveWindow, 117, 131),
    (Cause::ClosingWindow, 99, 99),
    (Cause::SendBuffer, 122, 141),
    (Cause::Application, 106, 106),
    (Cause::Nagle, 21, 21),
    (Cause::FullPath, 90, 95),
    (Cause::CongestionLoss, 108, 216),
    (Cause::CongestionEcn, 90, 90),
    (Cause::ReceiverRing, 33, 33),
    (Cause::Reordering, 68, 68),
    (Cause::PathChange, 40, 40),
];

/// Confidences counted for flows between two hosts, whose counters are known: `bench/live_verdicts.py --split dev`.
const COUNTED_LIVE: &[(Cause, u32, u32)] = &[];

/// True if the counters of both hosts are known, and not a capture alone.
fn has_counters(features: &Features) -> bool {
    features.known(Feature::BufferFull).is_some()
}

/// Returns the probability that a verdict of this cause is right, whatever else is known; 1 if it was not counted. By Laplace's rule of
/// succession.
pub(crate) fn reliability(cause: Cause, features: &Features) -> f64 {
    let counted = if has_counters(features) { COUNTED_LIVE } else { COUNTED };
    let counted = counted.iter().find(|(counted, ..)| *counted == cause);
    counted.map_or(1.0, |&(_, right, all)| f64::from(right + 1) / f64::from(all + 2))
}

/// Returns the causes that nothing in this capture tells from `cause`.
pub(crate) fn alike(cause: Cause, features: &Features) -> Vec<Cause> {
    // A buffer of a few segments is smaller than a burst; where the path holds as few, it is a whole buffer too.
    let is_both = features[Feature::Held] < 10.0 && features[Feature::Stretch] > 0.1 * features[Feature::Base];
    // Behind the path, to some milliseconds: whether an ACK called for a segment cannot be seen on a short one.
    let is_behind = features.is(Feature::AtReceiver);
    let is_blurred = is_behind && features[Feature::Plateau] > 0.3 && (0.3..0.65).contains(&features[Feature::Silent]);
    // Trains of a few segments in flight do not show what the path can carry.
    let is_few = features[Feature::Used] > 0.8 && features[Feature::LevelSegments] < 8.0;
    // Segments that passed have unknown waits, or some had to wait for the segments before them and some had not.
    let (told, waited) = bucketed(features);
    let is_hidden = told > 0.5 && (0.2..0.8).contains(&waited);
    // A capture behind the loss does not show when lost segments were sent. Only a queue that was full before it is seen there.
    let is_blind = is_behind && features.known(Feature::BucketExplains).is_none() && full_behind(features).is_none_or(|full| full < 0.5);
    match cause {
        Cause::CongestionLoss if is_both && has_counters(features) => vec![Cause::SmallBuffer],
        Cause::CongestionLoss | Cause::SendBuffer | Cause::ActiveQueue | Cause::Application if has_counters(features) => Vec::new(),
        Cause::CongestionLoss if is_both => vec![Cause::ReceiverRing, Cause::SmallBuffer],
        Cause::CongestionLoss => vec![Cause::ReceiverRing],
        // The shorter of two queues in a row that slow start fills loses later, and always at its own length.
        Cause::ActiveQueue if features[Feature::AlikeShare] > 0.5 => vec![Cause::ReceiverRing],
        // Losses that find a queue, and no longer one than others: chance on a path that is full.
        Cause::ActiveQueue if features[Feature::InLongerSure] < 0.95 => {
            vec![Cause::RandomLoss]
        }
        Cause::SmallBuffer if is_both => vec![Cause::CongestionLoss],
        Cause::SmallBuffer if is_hidden => vec![Cause::Policer],
        Cause::SmallBuffer | Cause::RandomLoss if is_blind => vec![Cause::Policer],
        Cause::Policer if is_hidden => vec![Cause::SmallBuffer],
        // A sender whose application offers less lets its window grow no further (RFC 7661): it stands still at that rate.
        Cause::SendBuffer if is_few => vec![Cause::Application, Cause::FullPath],
        Cause::SendBuffer => vec![Cause::Application],
        Cause::Application if is_blurred => vec![Cause::SendBuffer],
        _ => Vec::new(),
    }
}

/// Returns what looks the same in a capture, and where it can be told apart.
pub(crate) fn double(cause: Cause, features: &Features) -> Option<&'static str> {
    match cause {
        Cause::CongestionLoss | Cause::SendBuffer if has_counters(features) => None,
        Cause::CongestionLoss => Some(
            "a receiver slower than the path, whose ring overflows, looks the same: its own counters tell (`ethtool -S`, /proc/net/softnet_stat)",
        ),
        Cause::SendBuffer => Some(
            "an application that writes as much in each round trip looks the same: its host tells (`ss -ti`: sndbuf_limited, app_limited)",
        ),
        Cause::ActiveQueue => Some(
            "a link whose rate changes looks much the same: a queue of one length makes round trips of many; its own counters tell (`tc -s qdisc`)",
        ),
        Cause::SmallBuffer => {
            Some("a policer, or a queue as short as the path, looks much the same where several segments are lost at a time")
        }
        Cause::RandomLoss => Some("a policer that takes one segment at a time looks much the same"),
        Cause::Policer => Some("a small buffer looks much the same where several segments are lost at a time"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_sure_a_verdict_is_follows_how_often_it_was_right() {
        assert_eq!(reliability(Cause::CongestionLoss, &Features::default()), 109.0 / 218.0);
        assert_eq!(reliability(Cause::Growing, &Features::default()), 1.0);
        // Causes that are often wrong name an alternative.
        for &(cause, right, all) in COUNTED {
            assert!(right <= all);
            assert!(double(cause, &Features::default()).is_some() || reliability(cause, &Features::default()) >= 0.85, "{cause:?}");
        }
    }
}
