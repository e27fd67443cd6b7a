//! Departure times of the packets of a [`Schedule`]: a packet leaves when the bits of the packets before it are due.

use super::{Schedule, Spell};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;
use std::f64::consts::PI;

const PS_PER_S: u128 = 1_000_000_000_000;

/// Departures of one flow, in time.
#[derive(Clone, Debug)]
pub struct Departures {
    schedule: Schedule,
    /// Bits of a packet.
    bits: u64,
    start: Time,
    /// Packets that have left.
    count: u64,
    next: Time,
    /// Time between the two packets before the next one.
    gap: Duration,
    /// Remainder of the on time at `next`.
    on_left: Duration,
    rng: Rng,
}

impl Departures {
    /// Returns the departures of packets of `size` bytes from `start` on.
    pub fn new(schedule: Schedule, size: u32, start: Time, rng: Rng) -> Self {
        let mut departures = Departures {
            schedule,
            bits: u64::from(size) * 8,
            start,
            count: 0,
            next: start,
            gap: Duration::ZERO,
            on_left: Duration::ZERO,
            rng,
        };
        if let Schedule::OnOff { on, off, .. } = schedule {
            departures.begin(on, off);
        }
        departures
    }

    /// Returns when the next packet leaves.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Goes on to the packet after the one that has left.
    pub fn advance(&mut self) {
        self.count += 1;
        // Each instant of the first two schedules is computed from the start, so that no error adds up.
        let bits = u128::from(self.count) * u128::from(self.bits);
        let before = self.next;
        self.next = match self.schedule {
            Schedule::Constant { rate } => self.start + Duration::from_ps((bits * PS_PER_S / u128::from(rate.as_bps())) as u64),
            Schedule::Sinusoid { mean, amplitude, period } => {
                // The rate changes little from packet to packet.
                let guess = (self.next + self.gap).since(self.start);
                self.start + sinusoid(bits, mean, amplitude, period, guess)
            }
            Schedule::OnOff { rate, on, off } => self.on_off(rate.transmit_time(self.bits / 8), on, off),
            Schedule::Random { rate, shape } => self.next.saturating_add(self.draw_gap(self.bits as f64 / rate.as_bps() as f64, shape)),
        };
        self.gap = self.next.since(before);
    }

    /// Returns the time after `need` more of on time.
    fn on_off(&mut self, mut need: Duration, on: Spell, off: Spell) -> Time {
        let mut at = self.next;
        while need > self.on_left {
            need = need - self.on_left;
            at = at.saturating_add(self.on_left).saturating_add(self.draw(off));
            self.on_left = self.draw(on);
        }
        self.on_left = self.on_left - need;
        at.saturating_add(need)
    }

    /// Draws a gap of `mean` seconds on average, of at least 1 ps.
    fn draw_gap(&mut self, mean: f64, shape: Option<f64>) -> Duration {
        let seconds = match shape {
            Some(shape) => self.rng.pareto(shape, mean),
            None => self.rng.exponential(mean),
        };
        Duration::from_secs_f64(seconds).max(Duration::from_ps(1))
    }

    /// Draws the state in which the flow starts. One of random times is as if it had been going for ever, so that it has its mean rate from
    /// the start on: it is on with the probability of its share of time, and for the rest of a spell that is met at a random instant (Cox
    /// 1962, *Renewal Theory*, §5: of density P(X > x) / mean).
    fn begin(&mut self, on: Spell, off: Spell) {
        let share = on.mean.as_secs_f64() / (on.mean.as_secs_f64() + off.mean.as_secs_f64());
        if on.shape.is_none() && off.shape.is_none() {
            self.on_left = on.mean;
        } else if self.rng.chance(share) {
            self.on_left = self.rest(on);
        } else {
            self.next = self.start.saturating_add(self.rest(off));
            self.on_left = self.draw(on);
        }
    }

    fn draw(&mut self, spell: Spell) -> Duration {
        match spell.shape {
            None => spell.mean,
            Some(shape) => Duration::from_secs_f64(self.rng.pareto(shape, spell.mean.as_secs_f64())),
        }
    }

    /// Draws the rest of a spell at an instant chosen at random.
    fn rest(&mut self, spell: Spell) -> Duration {
        let (u, mean) = (self.rng.uniform(), spell.mean.as_secs_f64());
        let Some(shape) = spell.shape else { return Duration::from_secs_f64(u * mean) };
        // P(X > x) is 1 up to the least time m = mean (a - 1) / a and (m / x)^a beyond it. Its integral over the mean is x / mean,
        // then 1 - (m / x)^(a - 1) / a: here is where it is u.
        let least = mean * (shape - 1.0) / shape;
        Duration::from_secs_f64(if u * mean <= least { u * mean } else { least * libm::pow(shape * (1.0 - u), -1.0 / (shape - 1.0)) })
    }
}

/// Returns when a sinusoid has sent `bits`: the t at which mean t + amplitude period / 2 pi (1 - cos(2 pi t / period)) = bits. The search
/// begins at `guess`.
fn sinusoid(bits: u128, mean: Rate, amplitude: Rate, period: Duration, guess: Duration) -> Duration {
    let (mean_bps, period_ps) = (u128::from(mean.as_bps()), u128::from(period.as_ps()));
    // Every period sends the mean: whole periods are whole numbers.
    let per_period = mean_bps * period_ps;
    let periods = bits * PS_PER_S / per_period;
    let rest = (bits * PS_PER_S - periods * per_period) as f64 / 1e12;
    let (mean, amplitude, t) = (mean.as_bps() as f64, amplitude.as_bps() as f64, period.as_secs_f64());
    // The search is Newton's method, kept within bounds that close in: where the rate falls to zero it alone would diverge.
    let (mut low, mut high) = (((rest - amplitude * t / PI) / mean).max(0.0), (rest / mean).min(t));
    let mut x = guess.saturating_sub(period * periods as u64).as_secs_f64().clamp(low, high);
    for _ in 0..64 {
        let (sin, cos) = libm::sincos(2.0 * PI * x / t);
        let too_much = mean * x + amplitude * t / (2.0 * PI) * (1.0 - cos) - rest;
        if too_much > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let newton = x - too_much / (mean + amplitude * sin);
        // A NaN is not within the bounds either.
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        let moved = if next > x { next - x } else { x - next };
        x = next;
        if moved < 1e-12 {
            break;
        }
    }
    period * periods as u64 + Duration::from_secs_f64(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    const MBPS: u64 = 1_000_000;

    fn rng() -> Rng {
        Rng::named(3, "departures")
    }

    /// Returns the seconds at which packets leave before `until`.
    fn times(schedule: Schedule, size: u32, until: f64) -> Vec<f64> {
        let mut departures = Departures::new(schedule, size, Time::ZERO, rng());
        std::iter::from_fn(|| {
            let at = departures.next().as_secs_f64();
            departures.advance();
            (at < until).then_some(at)
        })
        .collect()
    }

    #[test]
    fn a_constant_rate_is_exact() {
        // 1500 bytes at 7 Mb/s: 12/7 ms, of which no whole number of ps is an exact multiple.
        let mut departures = Departures::new(Schedule::Constant { rate: Rate::from_bps(7 * MBPS) }, 1500, Time::ZERO, rng());
        for n in 0..7_000_u64 {
            assert_eq!(departures.next().as_ps(), n * 12_000_000_000 / 7);
            departures.advance();
        }
    }

    #[test]
    fn a_sinusoid_sends_its_integral() {
        let (mean, amplitude, period) = (100.0e6, 60.0e6, 30.0);
        let schedule =
            Schedule::Sinusoid { mean: Rate::from_bps(100 * MBPS), amplitude: Rate::from_bps(60 * MBPS), period: Duration::from_secs(30) };
        let times = times(schedule, 1500, 75.0);
        for (n, t) in times.iter().enumerate() {
            let integral = mean * t + amplitude * period / (2.0 * PI) * (1.0 - libm::cos(2.0 * PI * t / period));
            assert!((integral - 12_000.0 * n as f64).abs() < 0.01, "packet {n} at {t} s: {integral} bits");
        }
        // Computed by hand: in the first half period 100 Mb/s x 15 s + 60 Mb/s x 30 s / pi, and in a whole one the mean.
        let before = |until: f64| times.iter().filter(|t| **t < until).count() as f64 * 12_000.0;
        assert!((before(15.0) - (1.5e9 + 1.8e9 / PI)).abs() < 12_001.0, "{}", before(15.0));
        assert!((before(60.0) - 6.0e9).abs() < 12_001.0, "{}", before(60.0));
    }

    #[test]
    fn on_and_off_times_of_one_length_are_a_square_wave() {
        let second = Spell { mean: Duration::from_secs(1), shape: None };
        let off = Spell { mean: Duration::from_secs(3), shape: None };
        // 8 packets of 1250 bytes a second while on.
        let times = times(Schedule::OnOff { rate: Rate::from_bps(80_000), on: second, off }, 1250, 9.0);
        let expected: Vec<f64> = (0..=8).chain(33..=40).chain(65..=71).map(|eighths| f64::from(eighths) / 8.0).collect();
        assert_eq!(times.len(), expected.len(), "{times:?}");
        assert!(times.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{times:?}");
    }

    #[test]
    fn heavy_tailed_on_and_off_times_have_their_mean_rate_from_the_start() {
        let spell = |ms, shape| Spell { mean: Duration::from_millis(ms), shape: Some(shape) };
        let schedule = Schedule::OnOff { rate: Rate::from_bps(MBPS), on: spell(200, 1.6), off: spell(600, 1.6) };
        // In the first 100 ms and in the tenth second, over 20,000 flows: a quarter of 1 Mb/s. (A flow that started with a whole
        // on or off time would send nothing like it at first.)
        let (mut first, mut tenth) = (0, 0);
        for flow in 0..20_000 {
            let rng = Rng::named(flow, "on_off");
            let mut departures = Departures::new(schedule, 125, Time::ZERO, rng);
            while departures.next() < Time::ZERO + Duration::from_secs(2) {
                let at = departures.next().as_secs_f64();
                first += u64::from(at < 0.1);
                tenth += u64::from(at >= 1.0);
                departures.advance();
            }
        }
        let rate = |packets: u64, seconds: f64| packets as f64 * 1000.0 / seconds / 20_000.0;
        assert!((rate(tenth, 1.0) / 250_000.0 - 1.0).abs() < 0.03, "{}", rate(tenth, 1.0));
        // The packet that a spell begun before the start would still have owed comes at its beginning: half a packet too many.
        assert!((rate(first, 0.1) / 250_000.0 - 1.0).abs() < 0.05, "{}", rate(first, 0.1));
    }

    #[test]
    fn the_rest_of_a_time_has_the_distribution_of_renewal_theory() {
        let spell = Spell { mean: Duration::from_secs(3), shape: Some(1.5) };
        let mut departures = Departures::new(Schedule::Constant { rate: Rate::from_bps(1) }, 125, Time::ZERO, rng());
        let rests: Vec<f64> = (0..100_000).map(|_| departures.rest(spell).as_secs_f64()).collect();
        let share = |x: f64| rests.iter().filter(|rest| **rest > x).count() as f64 / rests.len() as f64;
        // The least is 1 s: P(rest > x) = 1 - x / 3 up to it, and (1 / x)^0.5 / 1.5 beyond.
        for (x, expected) in [(0.5, 5.0 / 6.0), (1.0, 2.0 / 3.0), (4.0, 1.0 / 3.0), (100.0, 1.0 / 15.0)] {
            assert!((share(x) - expected).abs() < 0.005, "{x}: {} for {expected}", share(x));
        }
    }

    #[test]
    fn random_gaps_have_their_mean_and_tail() {
        // 1500 bytes at 12 Mb/s: 1 ms on average.
        let gaps = |shape| {
            let times = times(Schedule::Random { rate: Rate::from_bps(12 * MBPS), shape }, 1500, 200.0);
            times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f64>>()
        };
        for (shape, beyond, share) in [(None, 2e-3, 0.135_335), (Some(2.5), 1.2e-3, 0.176_777)] {
            let gaps = gaps(shape);
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((mean / 1e-3 - 1.0).abs() < 0.01, "{mean}");
            // P(X > 2 mean) = e^-2; of Pareto the least is 0.6 ms, and P(X > 2 x that) = 2^-2.5.
            let more = gaps.iter().filter(|gap| **gap > beyond).count() as f64 / gaps.len() as f64;
            assert!((more - share).abs() < 0.003, "{more} for {share}");
        }
    }

    proptest! {
        #[test]
        fn departures_go_forward(mean in 1_u64..1000, share in 0.0_f64..=1.0, period_ms in 1_u64..100_000, size in 40_u32..65_535) {
            let amplitude = Rate::from_bps(((mean * MBPS) as f64 * share).max(1.0) as u64);
            let schedule = Schedule::Sinusoid { mean: Rate::from_bps(mean * MBPS), amplitude, period: Duration::from_millis(period_ms) };
            let mut departures = Departures::new(schedule, size, Time::ZERO, rng());
            let mut before = None;
            for _ in 0..500 {
                prop_assert!(before < Some(departures.next()), "{:?} after {before:?}", departures.next());
                before = Some(departures.next());
                departures.advance();
            }
        }
    }
}
