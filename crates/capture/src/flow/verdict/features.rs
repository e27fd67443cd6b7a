//! Features: the numbers that verdicts are told by, in one flat row.

use std::ops::Index;

/// An entry of the registry of features.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name in reports.
    pub name: &'static str,
    /// Unit: `1` for counts and shares.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Definition: an RFC, a paper, or longfat's own.
    pub source: &'static str,
}

macro_rules! features {
    ($($feature:ident $name:literal [$unit:literal] $doc:literal, $source:expr;)*) => {
        /// A number that verdicts are told by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Feature { $($feature),* }

        /// Every feature, in the order of [`Feature`].
        pub const REGISTRY: &[Spec] = &[$(Spec { name: $name, unit: $unit, doc: $doc, source: $source }),*];

        const ALL: &[Feature] = &[$(Feature::$feature),*];
    };
}

/// Defined by longfat.
const OURS: &str = "longfat's own";
const FLACH: &str = "Flach et al., SIGCOMM 2016, section 3";
const SIGN: &str = "sign test: Conover, Practical Nonparametric Statistics, section 3.4";
const PAIRS: &str = "Mann and Whitney, 1947";

features! {
    // Time between new segments, by what the sender waited for.
    Receiver "receive_window_wait" ["1"] "share of the time in which its sender waited for room in the receive window; 0 where the scale is unknown", "RFC 9293 section 3.8.6";
    Closing "shrunk_window_wait" ["1"] "the part of it in which the window was smaller than it had been", "RFC 9293 section 3.8.6";
    Closed "window_closed" ["1"] "share of the time in which the receive window was zero", "RFC 9293 section 3.8.6.1";
    Silent "silent" ["1"] "share of the time in which its sender was silent though it might have sent", OURS;
    Acks "ack_wait" ["1"] "share of the time in which its sender waited for an acknowledgment", OURS;
    Nagle "nagle_wait" ["1"] "share of the time in which a short segment waited for a delayed acknowledgment", "RFC 896";
    NagleEach "nagle_each" ["s"] "how long that took each time", "RFC 896";
    Order "order_wait" ["1"] "share of the time in which its sender waited for overtaken segments", OURS;
    HeldByOrder "held_by_order" ["1"] "share of the time in which its window was smaller for needless retransmissions", "RFC 5681 section 3.1";
    // Counters of the hosts, which a capture does not have.
    BufferFull "send_buffer_wait" ["1"] "share of the time in which all that its send buffer holds was sent, and its application had more; unknown in a capture", OURS;
    HostDrops "lost_in_receiver" ["1"] "packets that the receiver's counters say it dropped, over segments lost; unknown in a capture", OURS;
    OwnQueue "own_queue" ["1"] "share of the samples in which its round trip showed twice the wait of probes beside it, two segments and 2 ms; unknown in a capture", OURS;
    // Segments and acknowledgments.
    Short "short_segments" ["1"] "share of the segments that are shorter than the mss", OURS;
    Again "retransmitted" ["1"] "retransmissions over segments", OURS;
    Needless "needless" ["1"] "share of the retransmissions that had arrived before", "RFC 2883, RFC 3522";
    Blind "by_timer" ["1"] "share of the retransmissions by a timer, before anything behind them had arrived", OURS;
    Marked "marked_acks" ["1"] "share of the acknowledgments that echo marks", "RFC 3168";
    Marks "marks_per_loss" ["1"] "acknowledgments that echo marks, over segments lost and one", "RFC 3168";
    // Round trips, the rate, and how much was in flight.
    Base "rtt_min" ["s"] "least round trip; 0 where it is unknown", OURS;
    Typical "queue_delay_median" ["s"] "median of the round trips above the least one", OURS;
    Stretch "queue_delay_high" ["s"] "95 % quantile of the longest round trips above the least one", OURS;
    TypicalShare "queue_delay_median_share" ["1"] "`queue_delay_median` over `rtt_min`", OURS;
    StretchShare "queue_delay_high_share" ["1"] "`queue_delay_high` over `rtt_min`", OURS;
    Rate "bottleneck_rate" ["B/s"] "payload that the bottleneck lets through", "Jain and Routhier, 1986";
    Used "utilization" ["1"] "goodput over `bottleneck_rate`; 0 where that is unknown", OURS;
    Plateau "plateau" ["1"] "share of the bins in which as much was in flight as most often, to within two segments", OURS;
    Level "plateau_level" ["B"] "payload in flight most often", OURS;
    LevelSegments "plateau_segments" ["1"] "`plateau_level` in full segments", OURS;
    Grows "grows" ["1"] "1 where what is in flight still grows at the end, else 0", OURS;
    Held "queue_segments" ["1"] "segments that the queue held when it was longest", OURS;
    Coarse "coarse_clock" ["1"] "1 where round trips are known by timestamps of milliseconds, and no queue was longer than some", OURS;
    AtReceiver "at_receiver" ["1"] "1 where it was captured at the receiver, else 0", OURS;
    Step "path_step" ["1"] "the longer over the shorter of the least round trips on both sides of a step", OURS;
    StepFrom "path_rtt_before" ["s"] "least round trip before the step", OURS;
    StepTo "path_rtt_after" ["s"] "least round trip after the step", OURS;
    StepTime "path_step_time" ["s"] "when the path stepped, from the first packet", OURS;
    // Losses, in episodes of a round trip each.
    Episodes "loss_episodes" ["1"] "episodes in which a segment was lost that had not arrived", OURS;
    Lost "lost" ["1"] "segments lost", OURS;
    LostShare "lost_share" ["1"] "segments lost over segments sent", OURS;
    LostEach "lost_per_episode" ["1"] "median of the segments lost per episode", OURS;
    Single "single_losses" ["1"] "share of the episodes in which one segment was lost", OURS;
    Run "longest_run" ["1"] "most segments lost one behind the other", OURS;
    InRuns "lost_in_runs" ["1"] "share of the losses in runs of 8 and more, slow start left out", OURS;
    Blocks "runs" ["1"] "episodes with a run of 8 and more, slow start left out", OURS;
    RttRank "rtt_rank_at_losses" ["1"] "rank of the round trips before losses: 1 is the longest, 0.5 is chance", OURS;
    Fullness "queue_fullness" ["1"] "how full the queue was before losses, by the round trip", OURS;
    Timed "timed_episodes" ["1"] "episodes with a known round trip, slow start left out", OURS;
    Early "early_losses" ["1"] "of these, how many found less than half of the longest queue that others passed", SIGN;
    EarlyShare "early_losses_share" ["1"] "`early_losses` over `timed_episodes`", OURS;
    InQueue "losses_in_queue" ["1"] "of these, how many found a longer queue than a sender's own burst makes", SIGN;
    InQueueShare "losses_in_queue_share" ["1"] "`losses_in_queue` over `timed_episodes`", OURS;
    InLonger "losses_in_longer_queue" ["1"] "of these, how many found more than the median queue as well", SIGN;
    EarlySure "early_losses_sure" ["1"] "how unlikely even odds make as many losses early", SIGN;
    InQueueSure "losses_in_queue_sure" ["1"] "how unlikely even odds make as many losses find such a queue", SIGN;
    InLongerSure "losses_in_longer_queue_sure" ["1"] "how unlikely even odds make as many losses find such a longer queue", SIGN;
    AlikeShare "losses_at_one_length_share" ["1"] "`losses_at_one_length` over `timed_episodes`", OURS;
    Alike "losses_at_one_length" ["1"] "of these, how many found the queue as long as most did, to within a tenth", SIGN;
    // Token buckets and queues as explanations.
    Between "passed_within" ["1"] "rate between the first and the last loss of episodes, over `bottleneck_rate`", FLACH;
    TokenShare "token_share" ["1"] "share of the times between episodes in which one rate passed", FLACH;
    TokenRate "token_rate" ["1"] "this rate over `bottleneck_rate`", FLACH;
    TokenMisfit "token_misfit" ["1"] "logarithm of `passed_within` over `token_rate`, without its sign", FLACH;
    AheadMedian "ahead_median" ["1"] "rank of the sender's lead over the bottleneck at the first loss of an episode: median", PAIRS;
    AheadLow "ahead_low" ["1"] "the same: what four of five are above", PAIRS;
    LateMedian "late_median" ["1"] "rank of the lateness of segments at the first loss of an episode: median", PAIRS;
    LateLow "late_low" ["1"] "the same: what four of five are above", PAIRS;
    BucketExplains "bucket_explains" ["1"] "share of pairs of a lost and a passed segment in which the lost one found more in the best token bucket", PAIRS;
    BucketSigmas "bucket_sigmas" ["1"] "`bucket_explains` less a half, in standard errors", PAIRS;
    BucketWaited "bucket_waited" ["1"] "share of what passed with as much before it that waited half as long as in a queue", "Cruz, IEEE Transactions on Information Theory 37, 1991";
    BucketRate "bucket_rate" ["B/s"] "payload that fills the bucket", "Cruz, IEEE Transactions on Information Theory 37, 1991";
    BucketDepth "bucket_depth" ["B"] "what half of the segments lost found in it", "Cruz, IEEE Transactions on Information Theory 37, 1991";
}

/// A number for each feature; NaN where it is unknown.
#[derive(Clone, Debug)]
pub(crate) struct Features([f64; REGISTRY.len()]);

impl Feature {
    /// The feature of this name.
    pub(crate) fn named(name: &str) -> Option<Feature> {
        REGISTRY.iter().position(|spec| spec.name == name).map(|place| ALL[place])
    }

    /// The feature's entry in the registry.
    pub(crate) fn spec(self) -> &'static Spec {
        &REGISTRY[self as usize]
    }
}

impl Default for Features {
    fn default() -> Self {
        Features([f64::NAN; REGISTRY.len()])
    }
}

impl Features {
    /// Sets each of these.
    pub(crate) fn set<const N: usize>(&mut self, values: [(Feature, f64); N]) {
        values.into_iter().for_each(|(feature, value)| self.0[feature as usize] = value);
    }

    /// The value of a feature, where it is known.
    pub(crate) fn known(&self, feature: Feature) -> Option<f64> {
        Some(self[feature]).filter(|value| !value.is_nan())
    }

    /// A count.
    pub(crate) fn count(&self, feature: Feature) -> u32 {
        self[feature] as u32
    }

    /// A feature that is 1 or 0.
    pub(crate) fn is(&self, feature: Feature) -> bool {
        self[feature] > 0.0
    }

    /// Names and values, in the order of the registry.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        REGISTRY.iter().zip(ALL).map(|(spec, feature)| (spec.name, self.known(*feature)))
    }
}

impl Index<Feature> for Features {
    type Output = f64;

    fn index(&self, feature: Feature) -> &f64 {
        &self.0[feature as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_values_are_found_by_them() {
        let mut features = Features::default();
        features.set([(Feature::Lost, 3.0)]);
        let known: Vec<_> = features.named().filter(|(_, value)| value.is_some()).collect();
        assert_eq!(known, [("lost", Some(3.0))]);
        let mut names: Vec<_> = REGISTRY.iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REGISTRY.len());
        assert!(REGISTRY.iter().all(|spec| !spec.unit.is_empty() && !spec.doc.is_empty() && !spec.source.is_empty()));
    }
}
