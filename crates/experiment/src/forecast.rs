//! Progress of a run as a share of its work, for the time left.
//!
//! Virtual time says little. A slow start crosses a fifth of it with hardly a packet, and connections that start in a crowd cost as much as
//! all the rest. What a run's time goes into is packets that cross links, so these are counted, and what is still to come is estimated: as
//! planned at first, by the trend later. Connections cost besides: they are made before the first packet, and written down after the last.

use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_model::cost;
use longfat_model::route::Routes;

/// Cost of a flow before its first packet and after its last, in packets that cross a link in a crowd. Measured with 100,000 flows: 2 and 9
/// us, and 0.4 us for a crossing. Among few flows a crossing costs less, and flows hardly count.
const MADE: f64 = 5.0;
const WRITTEN: f64 = 20.0;
/// Packets that open a connection, and packets that close it.
const OPENING: f64 = 3.0;
const CLOSING: f64 = 3.0;

/// The forecast of one run.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Work before the run starts, and work after it has ended.
    before: f64,
    after: f64,
    /// Expected end in seconds of virtual time, and expected link crossings by then, before the run starts.
    end: f64,
    planned: f64,
    /// True if it ends with its volumes, whenever that is.
    ends_with_volume: bool,
    /// Times and crossings of the run so far.
    past: Vec<(f64, f64)>,
}

/// Points of the past that are kept. At this number, every other one is dropped.
const KEPT: usize = 512;

impl Forecast {
    /// Returns the forecast of a run of `experiment` that is to start.
    pub fn new(experiment: &Experiment) -> Self {
        let routes = Routes::new(&experiment.network);
        let planned = experiment.flows.iter().zip(cost::packets(experiment)).map(|(flow, packets)| {
            let links = routes.path(flow.from, flow.to).map_or(1, |path| path.len());
            let handshakes = match flow.traffic.volume() {
                _ if !flow.traffic.is_tcp() => 0.0,
                Some(_) => OPENING + CLOSING,
                None => OPENING,
            };
            // One ACK per two packets.
            (packets * 1.5 + handshakes) * links as f64
        });
        let planned = planned.sum();
        let end = cost::expected_end(experiment);
        Forecast::of(experiment.flows.len(), end.as_secs_f64(), planned, end < experiment.measure.duration)
    }

    fn of(flows: usize, end: f64, planned: f64, ends_with_volume: bool) -> Self {
        let (before, after) = (MADE * flows as f64, WRITTEN * flows as f64);
        Forecast { before, after, end: end.max(1e-12), planned, ends_with_volume, past: vec![(0.0, 0.0)] }
    }

    /// The run is at `now`, and links have been crossed so often: the share of its work that is done, below 1.
    pub fn share(&mut self, now: Time, crossings: u64) -> f64 {
        self.share_at(now.as_secs_f64(), crossings as f64)
    }

    fn share_at(&mut self, now: f64, crossings: f64) -> f64 {
        if self.past.len() == KEPT {
            let mut number = 0;
            self.past.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.past.push((now, crossings));
        let left = if self.ends_with_volume {
            self.planned - crossings
        } else {
            // The rate of the later half so far counts for as much as there is behind it.
            let half = self.past.partition_point(|(time, _)| *time < now / 2.0).min(self.past.len() - 2);
            let (then, before) = self.past[half];
            let planned = self.planned / self.end;
            let trend = if now > then { (crossings - before) / (now - then) } else { planned };
            let known = (now / self.end).min(1.0);
            (self.end - now) * (known * trend + (1.0 - known) * planned)
        };
        let done = self.before + crossings;
        let all = done + left.max(0.0) + self.after;
        if all > 0.0 { (done / all).min(0.99) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Forecast;

    /// A run as it went: seconds of a clock, of virtual time, and crossings, twenty times at even spacing of the clock.
    type Curve = [(f64, f64, u64)];

    /// The estimate of all the time over what it was, when so much of it had gone by.
    fn estimate(mut forecast: Forecast, curve: &Curve, at: f64) -> f64 {
        let all = curve.last().unwrap().0;
        let mut share = 0.0;
        for &(clock, time, crossings) in curve.iter().take_while(|(clock, ..)| *clock <= at * all * 1.03) {
            share = forecast.share_at(time, crossings as f64) / clock;
        }
        1.0 / share / all
    }

    /// CUBIC over 100 Gbit/s and 50 ms for 4 s.
    const FAST: &Curve = &[
        (1.5357, 0.92, 5068277),
        (3.1056, 1.13, 12943280),
        (4.6668, 1.33, 20443281),
        (6.1826, 1.46, 25318285),
        (7.6839, 1.59, 30193287),
        (15.3501, 2.29, 56443296),
        (23.0478, 3.01, 83443308),
        (30.6862, 4.0, 120568323),
    ];
    /// CUBIC over 10 Gbit/s and 100 ms for 20 s.
    const LONG: &Curve = &[
        (1.0658, 2.25, 3464869),
        (2.0760, 3.15, 6839875),
        (3.1203, 4.2, 10777382),
        (4.1206, 5.3, 14902391),
        (5.1371, 6.35, 18839910),
        (10.3191, 11.05, 36465207),
        (15.3919, 14.9, 50903317),
        (20.4894, 20.0, 70029878),
    ];
    /// 20,000 connections that start at once, on 1 Gbit/s and on 100 Mbit/s, 100 ms, for 20 s.
    const CROWD: &Curve = &[
        (1.0022, 0.65, 578425),
        (2.0132, 2.5, 1546760),
        (3.0155, 4.0, 2330439),
        (4.0071, 5.6, 3045071),
        (5.0199, 6.7, 3623728),
        (9.964, 11.05, 5769770),
        (14.9829, 15.5, 7929381),
        (19.9127, 20.0, 10110733),
    ];
    const LARGER_CROWD: &Curve = &[
        (0.2302, 0.15, 152699),
        (0.3157, 0.2, 204991),
        (0.4514, 1.15, 435158),
        (0.5729, 2.4, 547508),
        (0.7248, 3.45, 655392),
        (1.427, 8.65, 939738),
        (2.1621, 13.55, 1188775),
        (2.8537, 20.0, 1536477),
    ];

    /// Flows, the end, and what was planned for each: what the bottleneck carries, an ACK for two, three links; and handshakes.
    const RUNS: [(&Curve, usize, f64, f64); 4] = [
        (FAST, 1, 4.0, 155_386_740.0),
        (LONG, 1, 20.0, 77_693_370.0),
        (CROWD, 20_000, 20.0, 7_769_337.0 + 180_000.0),
        (LARGER_CROWD, 20_000, 20.0, 776_934.0 + 180_000.0),
    ];

    #[test]
    fn the_time_left_is_right_within_a_factor_of_two_from_a_tenth_on() {
        for (i, (curve, flows, end, planned)) in RUNS.into_iter().enumerate() {
            for at in [0.1, 0.25, 0.5, 0.75] {
                let over = estimate(Forecast::of(flows, end, planned, false), curve, at);
                assert!((0.5..2.0).contains(&over), "run {i} at {at}: {over}");
            }
        }
    }

    /// 100,000 connections that start at once, on 1 Gbit/s for 6 s: seconds of a clock at the first report, the last, and the end.
    #[test]
    fn connections_cost_before_the_first_packet_and_after_the_last() {
        let mut forecast = Forecast::of(100_000, 6.0, 3_230_000.0, false);
        for (clock, time, crossings) in [(0.447, 1e-9, 1.0), (2.44, 6.0, 4_917_960.0)] {
            let over = clock / forecast.share_at(time, crossings) / 3.34;
            assert!((0.6..1.7).contains(&over), "at {clock} s: {over}");
        }
    }

    #[test]
    fn a_volume_is_done_when_it_has_crossed_its_links() {
        let mut forecast = Forecast::of(0, 10.0, 1000.0, true);
        // However long it takes.
        assert_eq!([(1.0, 10.0), (30.0, 500.0), (60.0, 2000.0)].map(|(time, n)| forecast.share_at(time, n)), [0.01, 0.5, 0.99]);
    }

    #[test]
    fn the_trend_takes_over_from_the_plan() {
        // A hundred a second where a thousand were planned.
        let mut forecast = Forecast::of(0, 10.0, 10_000.0, false);
        let shares: Vec<f64> = (1..=20_000).map(|n| forecast.share_at(f64::from(n) / 2000.0, f64::from(n) / 20.0)).collect();
        assert!(shares[1999] < 0.02 && (shares[17_999] - 0.83).abs() < 0.01, "{} {}", shares[1999], shares[17_999]);
        assert!(shares.is_sorted() && shares[19_999] == 0.99);
        // A run without knowledge or work.
        assert_eq!(Forecast::of(0, 1.0, 0.0, false).share_at(0.0, 0.0), 0.0);
    }
}
