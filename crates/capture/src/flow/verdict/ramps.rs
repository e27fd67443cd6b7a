//! Ramps: the thresholds of all rules, as a table.

use super::features::{Feature, Features};
use longfat_record::trace::Cause;

/// A share that rises from 0, where a feature is `low`, to 1, where it is `high`: how far the feature speaks for a cause, or against it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    /// The cause whose rule it was made for; others use it as well.
    pub cause: Cause,
    pub feature: Feature,
    pub low: f64,
    pub high: f64,
    /// The captures that it was chosen on.
    pub source: &'static str,
}

impl Ramp {
    /// The share that these features have; 0 where the feature is unknown.
    pub(crate) fn of(&self, features: &Features) -> f64 {
        features.known(self.feature).map_or(0.0, |value| rise(value, self.low, self.high))
    }
}

/// Rises from 0 at `low` to 1 at `high`.
pub(crate) fn rise(value: f64, low: f64, high: f64) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

/// Sets of captures, as `notebook/capture-verdicts.md` has them.
const FIRST: &str = "bench/verdicts.py --split dev; kernel, 30 and 80 ms";
const LOSSES: &str = "bench/verdicts.py --split dev and train; bench/kernel_captures.py --split train";
const ORDER: &str = "bench/verdicts.py --split train --seed 6; 44 traces of bench/policed.py and bench/strangers.py";
const EARLY: &str = "bench/verdicts.py --split train --seed 11";
const STRANGE: &str = "bench/strangers.py, first and second set";
/// Flows between two namespaces, by `bench/live_verdicts.py`.
const LIVE: &str = "bench/live_verdicts.py --split dev";
const NAGLE: &str = "48 simulated runs of small writes";

macro_rules! ramps {
    ($($name:ident: $cause:ident, $feature:ident, $low:literal, $high:literal, $source:ident;)*) => {
        $(pub(crate) const $name: Ramp =
            Ramp { cause: Cause::$cause, feature: Feature::$feature, low: $low, high: $high, source: $source };)*

        /// Every ramp.
        const TABLE: &[Ramp] = &[$($name),*];
    };
}

ramps! {
    WINDOW_FULL: ReceiveWindow, Receiver, 0.2, 0.6, FIRST;
    WINDOW_SHRUNK: ClosingWindow, Closing, 0.08, 0.25, FIRST;
    WINDOW_CLOSED: ClosingWindow, Closed, 0.08, 0.25, FIRST;
    SILENT: Application, Silent, 0.3, 0.7, FIRST;
    SHORT: Application, Short, 0.01, 0.04, FIRST;
    SHORT_FOR_ACKS: Application, Acks, 0.4, 0.6, FIRST;
    NAGLE_WAIT: Nagle, Nagle, 0.2, 0.5, NAGLE;
    BUFFER_FULL: SendBuffer, BufferFull, 0.2, 0.6, LIVE;
    LEVEL_STANDS: SendBuffer, Plateau, 0.15, 0.3, FIRST;
    WAITS_FOR_ACKS: SendBuffer, Acks, 0.3, 0.6, FIRST;
    USED: FullPath, Used, 0.8, 0.92, LOSSES;
    USED_UP: FullPath, Used, 0.92, 0.98, ORDER;
    QUEUE_SEEN: FullPath, TypicalShare, 0.05, 0.15, LOSSES;
    QUEUE_STANDS: FullPath, TypicalShare, 0.5, 1.5, STRANGE;
    RATE_KNOWN: FullPath, LevelSegments, 5.0, 8.0, LOSSES;
    STEPS: PathChange, Step, 1.2, 1.4, FIRST;
    STEP_LOSES: PathChange, Lost, 0.0, 4.0, STRANGE;
    STEP_MARKED: PathChange, Marked, 0.0, 0.01, STRANGE;
    NEEDLESS: Reordering, Needless, 0.4, 0.75, ORDER;
    HELD: Reordering, HeldByOrder, 0.1, 0.3, ORDER;
    OFTEN: Reordering, Again, 0.003, 0.02, ORDER;
    OVERTAKEN: Reordering, Order, 0.2, 0.5, ORDER;
    MARKS: CongestionEcn, Marks, 0.0, 1.0, FIRST;
    QUEUE_LONG: CongestionLoss, StretchShare, 0.1, 0.3, LOSSES;
    QUEUE_FULL: CongestionLoss, Fullness, 0.35, 0.65, LOSSES;
    RTT_LONG: CongestionLoss, RttRank, 0.55, 0.8, LOSSES;
    IN_RUNS: ReceiverRing, InRuns, 0.4, 0.7, LOSSES;
    BLOCKS: ReceiverRing, Blocks, 1.0, 3.0, LOSSES;
    HOST_DROPS: ReceiverRing, HostDrops, 0.3, 0.7, LIVE;
    FOUND_QUEUE: ActiveQueue, InQueueShare, 0.2, 0.5, LIVE;
    LOST_EARLY: ActiveQueue, EarlyShare, 0.05, 0.3, LIVE;
    OWN_QUEUE: ActiveQueue, OwnQueue, 0.02, 0.08, LIVE;
    RTT_LONGEST: SmallBuffer, RttRank, 0.72, 0.9, LOSSES;
    SMALL_FULL: SmallBuffer, Fullness, 0.6, 0.8, LOSSES;
    ALONE: SmallBuffer, Single, 0.5, 0.7, LOSSES;
    AHEAD: SmallBuffer, AheadMedian, 0.65, 0.8, LOSSES;
    AHEAD_MOST: SmallBuffer, AheadLow, 0.4, 0.6, LOSSES;
    LATE: SmallBuffer, LateMedian, 0.65, 0.8, LOSSES;
    LATE_MOST: SmallBuffer, LateLow, 0.4, 0.6, LOSSES;
    BUCKET: Policer, BucketExplains, 0.8, 0.92, ORDER;
    BUCKET_SURE: Policer, BucketSigmas, 3.0, 4.5, ORDER;
    BUCKET_OFTEN: Policer, Episodes, 2.0, 5.0, ORDER;
    BUCKET_WAITED: SmallBuffer, BucketWaited, 0.7, 0.95, ORDER;
    TOKENS_FAST: Policer, TokenRate, 0.8, 0.9, LOSSES;
    TOKENS_DIFFER: Policer, TokenMisfit, 0.2, 0.5, LOSSES;
    TOKENS_OFTEN: Policer, TokenShare, 0.45, 0.7, LOSSES;
    TOKENS_FOR_ONE: Policer, TokenRate, 0.6, 0.75, LOSSES;
    ONE_LATE: Policer, LateMedian, 0.6, 0.8, LOSSES;
    SOME_EACH: Policer, LostEach, 1.4, 2.5, LOSSES;
    MORE_EACH: Policer, LostEach, 2.5, 5.0, LOSSES;
    MANY_EACH: Policer, LostEach, 4.0, 8.0, LOSSES;
    RATE_RTT: Policer, RttRank, 0.7, 0.85, LOSSES;
    WITHIN_RTT: Policer, RttRank, 0.6, 0.8, LOSSES;
    WITHIN_FAST: Policer, Between, 0.6, 0.75, LOSSES;
    SENDER_USES: Policer, Used, 0.8, 0.93, LOSSES;
    SENDER_LOSES: Policer, LostShare, 0.005, 0.02, LOSSES;
    SENDER_RTT: Policer, RttRank, 0.65, 0.85, LOSSES;
    PATH_USED: ActiveQueue, Used, 0.8, 0.92, EARLY;
}

/// Thresholds of the rules: cause, feature, low, high, and the captures that they were chosen on.
pub fn thresholds() -> impl Iterator<Item = (&'static str, &'static str, f64, f64, &'static str)> {
    TABLE.iter().map(|ramp| (ramp.cause.word(), ramp.feature.spec().name, ramp.low, ramp.high, ramp.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ramp_rises_and_has_a_source() {
        for ramp in TABLE {
            assert!(ramp.low < ramp.high && !ramp.source.is_empty(), "{ramp:?}");
            let mut features = Features::default();
            assert_eq!(ramp.of(&features), 0.0);
            features.set([(ramp.feature, ramp.high)]);
            assert_eq!(ramp.of(&features), 1.0, "{ramp:?}");
        }
    }
}
