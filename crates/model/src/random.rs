//! Random times: how they are written, and how they are drawn.

use longfat_core::rng::Rng;
use longfat_core::time::Duration;
use longfat_core::units::text::TIME;
use std::fmt;

/// Distribution of a random time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform from the first up to, and without, the second.
    Uniform(Duration, Duration),
    /// Exponential with this mean: gaps of a Poisson process.
    Exponential(Duration),
}

/// Valid texts of a distribution, for messages.
pub const EXPECTED: &str = "\"uniform 0 s..1 s\" or \"exponential 1 s\"";
/// Longest time that a text may have, so that no sum of times overflows.
const MOST: Duration = Duration::from_secs(100_000);

impl Distribution {
    /// Returns the distribution that `text` describes. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let time = |text: &str| match TIME.parse(text.trim()).map(Duration::from_ps) {
            Ok(time) if time <= MOST => Ok(time),
            Ok(_) => Err(format!("`{}` is more than {}", text.trim(), TIME.format(MOST.as_ps()))),
            Err(error) => Err(format!("`{}` is no duration: {error}", text.trim())),
        };
        let (kind, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        match kind {
            "uniform" => {
                let (from, to) =
                    rest.split_once("..").ok_or_else(|| "a uniform time lies between two, with `..` between them".to_owned())?;
                let (from, to) = (time(from)?, time(to)?);
                if from >= to { Err("the first time is not before the second".to_owned()) } else { Ok(Distribution::Uniform(from, to)) }
            }
            "exponential" => match time(rest)? {
                Duration::ZERO => Err("its mean is zero".to_owned()),
                mean => Ok(Distribution::Exponential(mean)),
            },
            _ => Err(format!("there is no distribution `{kind}`")),
        }
    }

    /// Draws one time.
    pub fn draw(self, rng: &mut Rng) -> Duration {
        match self {
            Distribution::Uniform(from, to) => from + Duration::from_ps(rng.below((to - from).as_ps())),
            Distribution::Exponential(mean) => Duration::from_secs_f64(rng.exponential(mean.as_secs_f64())),
        }
    }

    /// Returns the upper bound of the times, if there is one.
    pub fn most(self) -> Option<Duration> {
        match self {
            Distribution::Uniform(_, to) => Some(to),
            Distribution::Exponential(_) => None,
        }
    }
}

/// Writes the text of an experiment file, which reads back as the same distribution.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Duration| TIME.format(time.as_ps());
        match self {
            Distribution::Uniform(from, to) => write!(f, "uniform {}..{}", time(from), time(to)),
            Distribution::Exponential(mean) => write!(f, "exponential {}", time(mean)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["uniform 0 s..1 s", "uniform 100 ms..1.5 s", "exponential 30 ms"] {
            assert_eq!(Distribution::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Distribution::parse(" uniform  0s .. 1 s").unwrap().to_string(), "uniform 0 s..1 s");
        for (text, why) in [
            ("uniform 1 s", "`..`"),
            ("uniform 2 s..1 s", "not before"),
            ("uniform 1..2 s", "`1` is no duration"),
            ("exponential", "no duration"),
            ("exponential 0 s", "mean is zero"),
            ("exponential 100001 s", "more than"),
            ("normal 1 s", "no distribution `normal`"),
        ] {
            let error = Distribution::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut rng = Rng::named(1, "draws");
        let n = 20_000;
        let mut moments = |text: &str| {
            let distribution = Distribution::parse(text).unwrap();
            let drawn: Vec<f64> = (0..n).map(|_| distribution.draw(&mut rng).as_secs_f64()).collect();
            let mean = drawn.iter().sum::<f64>() / f64::from(n);
            (mean, (drawn.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n)).sqrt())
        };
        // Four times the standard error of a mean, sigma / sqrt(n), and about as much of a deviation.
        let (mean, deviation) = moments("uniform 2 s..4 s");
        assert!((mean - 3.0).abs() < 0.017 && (deviation - 2.0 / 12.0_f64.sqrt()).abs() < 0.02, "{mean} {deviation}");
        let (mean, deviation) = moments("exponential 2 s");
        assert!((mean - 2.0).abs() < 0.057 && (deviation - 2.0).abs() < 0.1, "{mean} {deviation}");
    }
}
