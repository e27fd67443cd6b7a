//! Jitter: a random extra delay of each packet.

use crate::rng::Rng;
use crate::time::Duration;

/// A random extra delay per packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Distribution of the delay.
    pub spread: Spread,
    /// Probability that a packet has the same extra delay as the one before: the correlation of two in a row.
    pub correlation: f64,
    /// True if packets keep their order: one that would overtake another arrives at the same time.
    pub in_order: bool,
}

/// Distribution of a random delay. No delay is negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Uniform from zero to this.
    Uniform(Duration),
    /// Normal with this standard deviation, cut off at [`CUT`] deviations to either side. The mean is [`CUT`] deviations.
    Normal(Duration),
    /// Pareto of shape 3 with this standard deviation, moved so that the least is zero, and cut off [`CUT`] deviations above its mean. The
    /// cut leaves a mean of 0.521 and a standard deviation of 0.643 times the given one.
    Pareto(Duration),
}

/// Standard deviations from the mean beyond which nothing is drawn.
pub const CUT: f64 = 4.0;
/// Shape of the Pareto distribution: the least whole number with a variance.
const SHAPE: f64 = 3.0;
/// Mean of the Pareto distribution, in deviations. The mean of shape a, from its least value m on, exceeds m by m / (a - 1), and its
/// deviation is m / (a - 1) * sqrt(a / (a - 2)). So for a = 3 it is 1 / sqrt(3) deviations.
pub const PARETO_MEAN: f64 = 0.577_350_269_189_625_8;

impl Spread {
    /// Draws one delay.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        let times = |deviation: Duration, deviations: f64| Duration::from_ps((deviations * deviation.as_ps() as f64) as u64);
        match *self {
            Spread::Uniform(most) => times(most, rng.uniform()),
            Spread::Normal(deviation) => times(deviation, CUT + within(|| rng.normal())),
            Spread::Pareto(deviation) => {
                // From its least value on, in deviations.
                let mean = PARETO_MEAN * SHAPE;
                times(deviation, PARETO_MEAN + within(|| rng.pareto(SHAPE, mean) - mean))
            }
        }
    }
}

/// Draws deviations from the mean until one is within the cut, and returns it.
fn within(mut draw: impl FnMut() -> f64) -> f64 {
    loop {
        let drawn = draw();
        if drawn.abs() <= CUT {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns mean, standard deviation, least and most of many draws, in ms.
    fn drawn(spread: Spread) -> [f64; 4] {
        let mut rng = Rng::named(1, "jitter");
        let all: Vec<f64> = (0..200_000).map(|_| spread.draw(&mut rng).as_secs_f64() * 1e3).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / all.len() as f64;
        let (least, most) = all.iter().fold((f64::MAX, 0.0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
        [mean, variance.sqrt(), least, most]
    }

    #[test]
    fn each_has_its_moments_and_its_ends() {
        let ten = Duration::from_millis(10);
        let [mean, deviation, least, most] = drawn(Spread::Uniform(ten));
        assert!((mean - 5.0).abs() < 0.05 && (deviation - 10.0 / 12.0_f64.sqrt()).abs() < 0.05 && least >= 0.0 && most < 10.0);
        let [mean, deviation, least, most] = drawn(Spread::Normal(ten));
        assert!((mean - 40.0).abs() < 0.1 && (deviation - 10.0).abs() < 0.1, "{mean} {deviation}");
        assert!((0.0..5.0).contains(&least) && (75.0..=80.0).contains(&most), "{least} {most}");
        // From the least value m = 1.1547 to c = 5.7321: by integration the mean is m + 0.5208, the deviation 0.6429.
        let [mean, deviation, least, most] = drawn(Spread::Pareto(ten));
        assert!((mean - 5.208).abs() < 0.06 && (deviation - 6.429).abs() < 0.1, "{mean} {deviation}");
        assert!((0.0..0.01).contains(&least) && (44.0..=45.78).contains(&most), "{least} {most}");
    }
}
