//! Probes of a model, whose waits are known: clocks apart, skewed and set, queues that fill and empty, jitter.

use super::{Crossing, STEP, Waits, waits};
use proptest::prelude::*;

const SECOND: f64 = 1e9;

/// Random numbers of the model (xorshift64, Marsaglia 2003).
struct Random(u64);

impl Random {
    /// Next number, from 0 up to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
    /// Exponential of this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}

#[derive(Clone)]
struct Model {
    seed: u64,
    seconds: f64,
    skew: f64,
    /// Time and size of steps of the other clock.
    steps: Vec<(f64, f64)>,
    /// Mean of what a host adds to a delay.
    jitter: f64,
}

/// Probes, with the waits that they had.
struct Made {
    up: Vec<Crossing>,
    down: Vec<Crossing>,
    up_waits: Vec<f64>,
    down_waits: Vec<f64>,
}

impl Model {
    /// 100 probes per second each way, over 20 ms up and 15 ms down; `queue` gives the wait of a direction at a time.
    fn make(&self, queue: &mut dyn FnMut(&mut Random, bool, f64) -> f64) -> Made {
        let mut random = Random(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let offset = 5e14 * random.next();
        let theirs = |time: f64| {
            let stepped: f64 = self.steps.iter().filter(|(at, _)| *at <= time).map(|(_, size)| size).sum();
            (offset + time * (1.0 + self.skew) + stepped).round() as u64
        };
        let ours = |time: f64| (7e12 + time).round() as u64;
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for number in 0..(100.0 * self.seconds) as u32 {
            for is_up in [true, false] {
                let at = f64::from(number) * SECOND / 100.0 + random.next() * 1e5;
                let wait = queue(&mut random, is_up, at);
                let came = at + if is_up { 20e6 } else { 15e6 } + wait + random.exponential(self.jitter);
                let (list, crossing) = if is_up {
                    (&mut up, Crossing { sent: ours(at), came: theirs(came) })
                } else {
                    (&mut down, Crossing { sent: theirs(at), came: ours(came) })
                };
                list.push((crossing, wait));
            }
        }
        // Results come in any order.
        for list in [&mut up, &mut down] {
            for place in (1..list.len()).rev() {
                list.swap(place, (random.next() * (place + 1) as f64) as usize);
            }
        }
        let (up, up_waits) = up.into_iter().unzip();
        let (down, down_waits) = down.into_iter().unzip();
        Made { up, down, up_waits, down_waits }
    }
}

impl Made {
    fn solve(&self) -> Waits {
        waits(&self.up, &self.down).unwrap()
    }
    /// Errors of all waits, in order of size: nanoseconds.
    fn errors(&self, found: &Waits) -> Vec<f64> {
        let up = found.up.iter().zip(&self.up_waits);
        let known = up.chain(found.down.iter().zip(&self.down_waits)).filter(|(found, _)| !found.is_nan());
        let mut errors: Vec<f64> = known.map(|(found, truth)| (found - truth).abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }
}

fn share(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// 90 of 100 probes wait 2 to 6 ms.
fn busy(random: &mut Random, _is_up: bool, _at: f64) -> f64 {
    if random.next() < 0.9 { 2e6 + 4e6 * random.next() } else { 0.0 }
}

fn model(seed: u64, skew: f64) -> Model {
    Model { seed, seconds: 20.0, skew, steps: Vec::new(), jitter: 500.0 }
}

/// 20 s, 100 probes per second, waits of 2 to 6 ms for 90 of 100 of them, 50 ppm either way, 40 seeds.
#[test]
fn waits_of_busy_paths_are_known_to_microseconds() {
    let (mut worst_skew, mut worst_error) = (0.0_f64, 0.0_f64);
    for seed in 1..=40 {
        for skew in [50e-6, -50e-6] {
            let made = model(seed, skew).make(&mut busy);
            let found = made.solve();
            assert!(found.steps.is_empty());
            worst_skew = worst_skew.max((found.skew - skew).abs());
            worst_error = worst_error.max(share(&made.errors(&found), 0.99));
        }
    }
    println!("skew within {:.3} ppm, 99 of 100 waits within {:.2} us", worst_skew * 1e6, worst_error / 1e3);
    assert!(worst_skew < 0.15e-6 && worst_error < 4000.0, "{worst_skew} {worst_error}");
}

/// A queue that stands for the whole run but its first second: the other direction knows the skew.
#[test]
fn a_standing_queue_is_seen_from_an_idle_second() {
    for seed in 1..=10 {
        let mut standing = |random: &mut Random, is_up: bool, at: f64| if is_up && at > SECOND { 30e6 + 5e6 * random.next() } else { 0.0 };
        let made = model(seed, 20e-6).make(&mut standing);
        let found = made.solve();
        assert!(found.steps.is_empty() && share(&made.errors(&found), 0.99) < 10_000.0);
        assert!((found.base_rtt - 35e6).abs() < 5000.0, "{}", found.base_rtt);
    }
}

/// A queue that was never empty before becomes so: that is no step.
#[test]
fn a_queue_that_empties_is_no_step() {
    for seed in 1..=10 {
        let mut empties = |_: &mut Random, is_up: bool, at: f64| if is_up && at < 12.0 * SECOND { 8e6 } else { 0.0 };
        let made = model(seed, -30e-6).make(&mut empties);
        let found = made.solve();
        assert!(found.steps.is_empty() && share(&made.errors(&found), 0.99) < 10_000.0, "{:?}", found.steps);
    }
}

#[test]
fn nothing_is_known_without_both_directions() {
    let one = [Crossing { sent: 1, came: 2 }];
    assert!(waits(&one, &[]).is_none() && waits(&[], &one).is_none());
    let both = waits(&one, &one).unwrap();
    assert_eq!((both.up, both.down, both.steps), (vec![0.0], vec![0.0], Vec::new()));
}

proptest! {
    /// Clocks of any skew up to 200 ppm, on a path whose queues come and go.
    #[test]
    fn skew_does_not_show_in_waits(seed in 1_u64.., ppm in -200.0..200.0_f64, share_busy in 0.0..0.9_f64, deep in 1e5..2e7_f64) {
        let mut queue = |random: &mut Random, _: bool, at: f64| {
            if at > SECOND && random.next() < share_busy { deep * random.next() } else { 0.0 }
        };
        let made = Model { seconds: 10.0, ..model(seed, ppm * 1e-6) }.make(&mut queue);
        let found = made.solve();
        prop_assert!(found.steps.is_empty());
        prop_assert!((found.skew - ppm * 1e-6).abs() < 1e-6, "{}", found.skew);
        prop_assert!(share(&made.errors(&found), 0.99) < 10_000.0);
        prop_assert!(found.up.iter().chain(&found.down).all(|wait| *wait >= 0.0));
    }

    /// A clock that is set by 1 ms to 10 s either way, while up to one direction is busy.
    #[test]
    fn a_step_is_found_where_it_is(seed in 1_u64.., at in 3.0..17.0_f64, log in 6.0..10.0_f64, back: bool, busy_up: bool, ppm in -50.0..50.0_f64) {
        let size = 10_f64.powf(log) * if back { -1.0 } else { 1.0 };
        let step = at * SECOND;
        let mut queue = |random: &mut Random, is_up: bool, at: f64| {
            if at > SECOND && is_up == busy_up && random.next() < 0.5 { 3e6 * random.next() } else { 0.0 }
        };
        let made = Model { steps: vec![(step, size)], ..model(seed, ppm * 1e-6) }.make(&mut queue);
        let found = made.solve();
        prop_assert_eq!(found.steps.len(), 1, "{:?}", found.steps);
        prop_assert!((found.steps[0] as f64 - 7e12 - step).abs() < 0.2 * SECOND);
        let errors = made.errors(&found);
        // Up to STEP of a step may stay in a stretch whose corridor a queue keeps wide.
        prop_assert!(share(&errors, 0.99) < STEP, "{}", share(&errors, 0.99));
        // Four round trips of 20 s are under way at the step.
        prop_assert!(errors.len() > made.up.len() * 2 * 98 / 100);
    }
}
