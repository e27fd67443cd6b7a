use super::*;
use std::f64::consts::PI;

fn params(changes: &[(&'static str, Value)]) -> Params {
    super::super::choice("lte").with(changes).params
}

/// Returns the powers of the first steps of 1 ms.
fn powers(doppler: f64, seed: u64, steps: usize) -> Vec<f64> {
    let mut fading = Fading::new(&params(&[("doppler", Value::Number(doppler))]), Rng::named(seed, "fading"));
    (0..steps).map(|_| fading.next()).collect()
}

/// TR 36.942 annex A: 0.6 log2(1 + SNR), nothing under -10 dB, 4.4 bit/s per Hz at most.
#[test]
fn a_signal_carries_the_truncated_bound() {
    let radio = Radio::new(&params(&[]));
    let at = |db: f64| radio.level(ratio(db)) * 4.4;
    assert_eq!(at(-10.1), 0.0);
    // Computed by hand: 0.6 log2(1.1) = 0.0825; 0.6 log2(2) = 0.6; 0.6 log2(11) = 2.0757; 0.6 log2(101) = 3.9949; full from 2^(4.4 / 0.6) -
    // 1 = 160.3 on, 22.05 dB.
    for (db, efficiency) in [(-9.999_999, 0.0825), (0.0, 0.6), (10.0, 2.0757), (20.0, 3.9949), (22.0, 4.3902), (22.1, 4.4), (40.0, 4.4)] {
        assert!((at(db) - efficiency).abs() < 2e-4, "{db} dB: {}", at(db));
    }
}

/// Compares the mean with two cases that are known in closed form.
#[test]
fn the_mean_is_that_of_the_integral() {
    let of = |snr: f64, min: f64, efficiency: f64| Radio { snr: ratio(snr), snr_min: ratio(min), alpha: 1.0, efficiency };
    // The untruncated mean is e^(1/s) E1(1/s) / ln 2 bit/s per Hz (Alouini and Goldsmith 1999). At s = 1: e E1(1) = 0.596347, / ln 2 =
    // 0.860347.
    let whole = of(0.0, -30.0, 10.0);
    assert!((whole.mean() * 10.0 - 0.860_347).abs() < 2e-6 * 10.0, "{}", whole.mean() * 10.0);
    // A rate that is either zero or full has as its mean the share of time without outage: e^(-1/10).
    let step = of(10.0, 0.0, 0.5);
    assert!((step.mean() - libm::exp(-0.1)).abs() < 1e-12);
}

/// Compares the fading over many coherence times: mean 1, exponential, the autocorrelation of Clarke's spectrum, and the crossings of
/// Rice's formula.
#[test]
fn a_signal_fades_as_clarke_and_rayleigh_say() {
    let (doppler, runs, steps) = (5.0, 40_u64, 200_000_usize);
    let all: Vec<_> = (0..runs).map(|seed| powers(doppler, seed, steps)).collect();
    let n = (runs as usize * steps) as f64;
    let share = |of: &dyn Fn(f64) -> bool| all.iter().flatten().filter(|power| of(**power)).count() as f64 / n;
    let mean = all.iter().flatten().sum::<f64>() / n;
    // 8000 s are 40,000 times 1 / doppler.
    assert!((mean - 1.0).abs() < 0.01, "{mean}");
    for level in [0.01, 0.1, 0.5, 1.0, 2.0, 4.0] {
        let expected = 1.0 - libm::exp(-level);
        let seen = share(&|power| power < level);
        assert!((seen / expected - 1.0).abs() < 0.03, "under {level}: {seen} for {expected}");
        // Times a second at which the envelope comes up through rho: sqrt(2 pi) doppler rho e^(-rho^2) (Rice).
        let crossings: usize = all.iter().map(|run| run.windows(2).filter(|pair| pair[0] < level && level <= pair[1]).count()).sum();
        let seen = crossings as f64 / (n * 1e-3);
        let expected = (2.0 * PI * level).sqrt() * doppler * libm::exp(-level);
        assert!((seen / expected - 1.0).abs() < 0.03, "through {level}: {seen} for {expected}");
    }
    // The covariance of powers is J0(2 pi doppler t)^2 (from tables of J0).
    for (x, j0) in [(0.5, 0.938_470), (1.0, 0.765_198), (2.404_826, 0.0), (3.831_706, -0.402_760)] {
        let lag = (x / (2.0 * PI * doppler) * 1000.0_f64).round() as usize;
        let pairs = (runs as usize * (steps - lag)) as f64;
        let seen = all.iter().map(|run| run.iter().zip(&run[lag..]).map(|(a, b)| (a - 1.0) * (b - 1.0)).sum::<f64>()).sum::<f64>() / pairs;
        assert!((seen - j0 * j0).abs() < 0.03, "at {lag} ms: {seen} for {}", j0 * j0);
    }
}

/// Compares the course as a whole: mean rate and share of outage.
#[test]
fn the_rate_is_as_much_as_theory_says_and_out_as_often() {
    for snr in [0.0, 15.0] {
        let params = params(&[("snr", Value::Number(snr))]);
        let (mut sum, mut out, steps, runs) = (0.0, 0, 100_000, 20);
        for seed in 0..runs {
            let mut lte = (KIND.build)(&params, Rng::named(seed, "rate"));
            for _ in 0..steps {
                let (time, level) = lte.next();
                assert_eq!(time, Duration::from_millis(1));
                sum += level;
                out += usize::from(level == 0.0);
            }
        }
        let n = f64::from(steps) * runs as f64;
        let (mean, outage) = (sum / n, out as f64 / n);
        let expected = (KIND.mean)(&params);
        assert!((mean / expected - 1.0).abs() < 0.01, "{snr} dB: {mean} for {expected}");
        // Rayleigh: 1 - e^(-SNRmin / SNR). At 15 dB 0.32 %, in 800 or so fades, so a standard deviation of 4 % of it.
        let expected = 1.0 - libm::exp(-ratio(-10.0 - snr));
        assert!((outage / expected - 1.0).abs() < 0.12, "{snr} dB: {outage} for {expected}");
    }
}
