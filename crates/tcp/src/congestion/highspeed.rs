//! HighSpeed TCP (RFC 3649): above 38 segments AIMD whose a and b follow from a response function that reaches 83,000 segments
//! at a loss rate of 1e-7, where Reno would need 2e-10.

use super::promises::{CONVERGES, FULL, beside_cubic, sawtooth};
use super::{AckSample, COUNT_ACKS, CongestionControl, CongestionEvent, ControlKind, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};

pub(super) const KIND: ControlKind = ControlKind {
    name: "highspeed",
    summary: "AIMD(a(w), b(w)) above 38 segments",
    source: "RFC 3649",
    params: &[
        ParamSpec {
            name: "table",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "a(w) and b(w) from the table of RFC 3649's appendix B, and not from its formulas (Linux: true)",
        },
        COUNT_ACKS,
    ],
    // Measured on 6.1 (docs/congestion/highspeed.md).
    linux: &[("table", Value::Bool(true)), (COUNT_ACKS.name, Value::Bool(true))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.43, "RFC 3649 section 5: b(133) = 0.43 where the buffer overflows"),
        CONVERGES,
        beside_cubic(0.3, 0.65, "RFC 3649 section 5: Reno up to 38 segments, a(w) under 2 up to 133"),
    ],
    build: |c| Box::new(HighSpeed::new(c)),
};

/// RFC 3649 §5: the two points the response function goes through, and the decrease at the upper one.
const LOW_WINDOW: f64 = 38.0;
const LOW_P: f64 = 1e-3;
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_P: f64 = 1e-7;
const HIGH_DECREASE: f64 = 0.1;

/// Largest window for which RFC 3649's appendix B computes b(w).
const LAST_WINDOW: f64 = 100_000.0;

/// Returns the place of `w` between Low_Window (0) and High_Window (1), on a logarithmic scale.
fn position(w: f64) -> f64 {
    libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW)
}

/// The loss rate at which the response function has the window `w` segments: the inverse of RFC 3649 §5's
/// w = (p / Low_P)^S Low_Window.
fn loss_rate(w: f64) -> f64 {
    LOW_P * libm::exp(position(w) * libm::log(HIGH_P / LOW_P))
}

/// b(w): the share of a window of `w` segments that a loss takes.
pub(super) fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    // RFC 3649 §5: linear in log w, through 0.5 and High_Decrease; the program of appendix B follows the line beyond High_Window, to
    // 100,000 segments. We stay at what it is there: at 567,000 segments, less than 1 GiB, it would be zero.
    0.5 + (HIGH_DECREASE - 0.5) * position(w.min(LAST_WINDOW))
}

/// a(w): the segments that a window of `w` segments grows by in a round trip.
pub(super) fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = decrease(w);
    // RFC 3649 §5: what balances b(w) at the loss rate p(w). The response function meets Reno's at Low_Window only to the digits
    // the RFC gives, so that a(w) there would start at 0.96.
    (w * w * loss_rate(w) * 2.0 * b / (2.0 - b)).max(1.0)
}

/// RFC 3649, Appendix B, Table 12: w from which a row holds, and b(w). a(w) is the number of the row.
#[rustfmt::skip]
const TABLE: [(f64, f64); 73] = [
    (38.0, 0.50), (118.0, 0.44), (221.0, 0.41), (347.0, 0.38), (495.0, 0.37), (663.0, 0.35), (851.0, 0.34), (1_058.0, 0.33),
    (1_284.0, 0.32), (1_529.0, 0.31), (1_793.0, 0.30), (2_076.0, 0.29), (2_378.0, 0.28), (2_699.0, 0.28), (3_039.0, 0.27),
    (3_399.0, 0.27), (3_778.0, 0.26), (4_177.0, 0.26), (4_596.0, 0.25), (5_036.0, 0.25), (5_497.0, 0.24), (5_979.0, 0.24),
    (6_483.0, 0.23), (7_009.0, 0.23), (7_558.0, 0.22), (8_130.0, 0.22), (8_726.0, 0.22), (9_346.0, 0.21), (9_991.0, 0.21),
    (10_661.0, 0.21), (11_358.0, 0.20), (12_082.0, 0.20), (12_834.0, 0.20), (13_614.0, 0.19), (14_424.0, 0.19),
    (15_265.0, 0.19), (16_137.0, 0.19), (17_042.0, 0.18), (17_981.0, 0.18), (18_955.0, 0.18), (19_965.0, 0.17),
    (21_013.0, 0.17), (22_101.0, 0.17), (23_230.0, 0.17), (24_402.0, 0.16), (25_618.0, 0.16), (26_881.0, 0.16),
    (28_193.0, 0.16), (29_557.0, 0.15), (30_975.0, 0.15), (32_450.0, 0.15), (33_986.0, 0.15), (35_586.0, 0.14),
    (37_253.0, 0.14), (38_992.0, 0.14), (40_808.0, 0.14), (42_707.0, 0.13), (44_694.0, 0.13), (46_776.0, 0.13),
    (48_961.0, 0.13), (51_258.0, 0.13), (53_677.0, 0.12), (56_230.0, 0.12), (58_932.0, 0.12), (61_799.0, 0.12),
    (64_851.0, 0.11), (68_113.0, 0.11), (71_617.0, 0.11), (75_401.0, 0.10), (79_517.0, 0.10), (84_035.0, 0.10),
    (89_053.0, 0.10), (94_717.0, 0.09),
];

/// a(w) and b(w) by the table: of the last row whose w is reached, of the first below it.
fn row(w: f64) -> (f64, f64) {
    let n = TABLE.partition_point(|(from, _)| *from <= w).max(1);
    (n as f64, TABLE[n - 1].1)
}

/// a(w), computed for a window of so many bytes; good for one segment more. a(w) < w / 50: a segment of growth is dozens of ACKs, so that
/// the logarithms cost nothing.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Increase {
    a: f64,
    computed_at: u64,
}

impl Increase {
    #[inline]
    pub(super) fn at(&mut self, w: &Window) -> f64 {
        if w.cwnd.wrapping_sub(self.computed_at) >= w.mss {
            (self.computed_at, self.a) = (w.cwnd, increase(w.segments()));
        }
        self.a
    }
}

/// AIMD whose constants depend on the window.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    window: Window,
    table: bool,
    count_acks: bool,
    increase: Increase,
}

impl HighSpeed {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let (table, count_acks) = (params.boolean("table"), params.boolean(COUNT_ACKS.name));
        HighSpeed { window: Window::new(config), table, count_acks, increase: Increase::default() }
    }
}

impl CongestionControl for HighSpeed {
    keeps_window!();

    fn on_ack(&mut self, ack: &AckSample) {
        let w = &mut self.window;
        if w.slow_start(ack) || !ack.cwnd_limited {
            return;
        }
        // RFC 3649 §5: w += a(w) / w for each segment acknowledged.
        let a = if self.table { row(w.segments()).0 } else { self.increase.at(w) };
        let counted = if self.count_acks { w.as_one(ack) } else { *ack };
        w.increase(&counted, a);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // RFC 3649 §5: w = (1 - b(w)) w.
        let w = self.window.segments();
        self.window.reduce(event, 1.0 - if self.table { row(w).1 } else { decrease(w) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;
    use longfat_core::time::{Duration, Time};

    #[test]
    fn the_table_of_appendix_b_follows_from_the_formulas() {
        for (a, (w, b)) in (1..).map(f64::from).zip(TABLE) {
            assert!((decrease(w) - b).abs() < 0.0051, "b({w}) = {}, in the table {b}", decrease(w));
            // The RFC computes its table with a rounded p(w) = 1 / (12.8 w^1.2), and truncates a.
            let rounded = w * w / (12.8 * libm::pow(w, 1.2)) * 2.0 * decrease(w) / (2.0 - decrease(w));
            assert_eq!(libm::floor(rounded.max(1.0)), a, "a({w}) = {rounded}");
            // Ours is that of its formulas, at most 3.5 % more.
            assert!((0.0..0.035).contains(&(increase(w) / rounded.max(1.0) - 1.0)), "a({w}) = {}, not {rounded}", increase(w));
        }
        // Beyond it a loss still takes something, and growth goes on along the response function.
        let table_end = decrease(LAST_WINDOW);
        assert!((table_end - 0.09).abs() < 0.001);
        for w in [200_000.0, 567_000.0, 741_000.0] {
            assert_eq!(decrease(w), table_end);
            assert!((increase(w) / (w * w * loss_rate(w) * 2.0 * table_end / (2.0 - table_end)) - 1.0).abs() < 1e-12);
            assert!(increase(w) > increase(LAST_WINDOW));
        }
        // RFC 3649 §5: at 83,000 segments 72 segments a round trip, and a tenth.
        assert_eq!(increase(HIGH_WINDOW) as u64, 72);
        assert!((decrease(HIGH_WINDOW) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_table_gives_whole_segments() {
        for (w, expected) in [(1.0, (1.0, 0.5)), (117.9, (1.0, 0.5)), (118.0, (2.0, 0.44)), (83_000.0, (70.0, 0.1)), (1e6, (73.0, 0.09))] {
            assert_eq!(row(w), expected, "{w}");
        }
        let mut c = (KIND.build)(&config("highspeed", &[("table", Value::Bool(true))], 1_100));
        rounds(c.as_mut(), Time::ZERO, Duration::from_millis(100), 0, 1);
        assert!((segments(c.as_ref()) - 1_108.0).abs() < 0.1, "a(1,100) is 8, not {}", increase(1_100.0));
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert!((segments(c.as_ref()) / 1_108.0 - 0.67).abs() < 1e-3);
    }

    #[test]
    fn the_response_function_goes_through_its_two_points_and_the_ones_between() {
        assert!((loss_rate(LOW_WINDOW) / 1e-3 - 1.0).abs() < 1e-9);
        assert!((loss_rate(HIGH_WINDOW) / 1e-7 - 1.0).abs() < 1e-9);
        // RFC 3649 §5, Table 3 (w at p): 0.12 / p^0.835.
        for (p, w) in [(1e-4, 263.0), (1e-5, 1_795.0), (1e-6, 12_279.0)] {
            assert!((loss_rate(w) / p - 1.0).abs() < 0.03, "p({w}) = {}", loss_rate(w));
        }
    }

    #[test]
    fn grows_and_shrinks_by_a_and_b_of_its_window() {
        let rtt = Duration::from_millis(100);
        for (w, a, b) in [(20, 1.0, 0.5), (1_058, increase(1_058.0), decrease(1_058.0))] {
            let mut c = (KIND.build)(&config("highspeed", &[], w));
            rounds(c.as_mut(), Time::ZERO, rtt, 0, 1);
            let gained = segments(c.as_ref()) - w as f64;
            assert!((gained / a - 1.0).abs() < 0.03, "{w}: {gained}, not {a}");
            let mut c = (KIND.build)(&config("highspeed", &[], w));
            reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
            assert!((segments(c.as_ref()) / w as f64 - (1.0 - b)).abs() < 1e-4);
        }
    }

    #[test]
    fn delayed_acks_halve_the_growth_of_one_that_counts_acks() {
        for (count, acked, growth) in [(false, 2, 1.0), (true, 2, 0.5), (true, 1, 0.5)] {
            let mut c = (KIND.build)(&config("highspeed", &[(COUNT_ACKS.name, Value::Bool(count))], 30));
            for n in 0..15 {
                let sample = ack(Time::ZERO + Duration::from_millis(n), Duration::from_millis(50));
                give(c.as_mut(), &AckSample { acked: acked * MSS, delivered: acked * MSS, ..sample });
            }
            assert!((segments(c.as_ref()) - 30.0 - growth).abs() < 0.02, "{count} {acked}: {}", segments(c.as_ref()));
        }
        // Slow start counts segments all the same.
        let config = TcpConfig { initial_ssthresh: u64::MAX, ..config("highspeed", &[(COUNT_ACKS.name, Value::Bool(true))], 10) };
        let mut c = (KIND.build)(&config);
        give(c.as_mut(), &AckSample { acked: 2 * MSS, delivered: 2 * MSS, ..ack(Time::ZERO, Duration::from_millis(50)) });
        assert_eq!(c.cwnd(), 12 * MSS);
    }
}
