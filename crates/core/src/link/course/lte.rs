//! `lte`: a mobile radio link, whose signal fades as its terminal moves, and which carries what the signal allows.

use super::{CourseKind, Levels, SOME_TIME, words};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::Duration;

/// The registry entry.
pub(super) const KIND: CourseKind = CourseKind {
    name: "lte",
    summary: "a mobile radio link: the signal fades (Rayleigh), and each step carries what its signal allows. high is the rate at full efficiency, low what an outage leaves",
    // Each list has this order: the Doppler shift and its spectrum; the rate for a signal; the fading.
    source: "3GPP TS 36.101 annex B.2; 3GPP TR 36.942 annex A; R. H. Clarke, BSTJ 47(6), 1968; Xiao, Zheng and Beaulieu, IEEE Trans. Wireless Communications 5(12), 2006",
    params: &[
        ParamSpec {
            name: "snr",
            kind: Kind::Number { min: -30.0, max: 60.0 },
            default: Some(Value::Number(15.0)),
            doc: "mean ratio of signal to noise and interference, in dB",
        },
        ParamSpec {
            name: "doppler",
            kind: Kind::Number { min: 0.01, max: 10_000.0 },
            // EPA5, the channel of a pedestrian.
            default: Some(Value::Number(5.0)),
            doc: "greatest Doppler shift, in Hz: speed times carrier frequency over the speed of light. 5 is that of EPA5 (2.7 km/h at 2 GHz), 70 that of EVA70",
        },
        ParamSpec {
            name: "step",
            kind: SOME_TIME,
            // A transmission time interval.
            default: Some(Value::Duration(Duration::from_millis(1))),
            doc: "for how long each rate holds: one subframe",
        },
        ParamSpec {
            name: "alpha",
            kind: Kind::Number { min: 0.1, max: 1.0 },
            default: Some(Value::Number(0.6)),
            doc: "share of the Shannon bound that is reached: 0.6 downlink, 0.4 uplink",
        },
        ParamSpec {
            name: "snr_min",
            kind: Kind::Number { min: -30.0, max: 60.0 },
            default: Some(Value::Number(-10.0)),
            doc: "with less signal than this, in dB, there is nothing: an outage",
        },
        ParamSpec {
            name: "efficiency",
            kind: Kind::Number { min: 0.1, max: 10.0 },
            default: Some(Value::Number(4.4)),
            doc: "the most, in bit/s per Hz, to which high belongs: 4.4 downlink, 2 uplink",
        },
    ],
    check: |params| {
        let (step, doppler) = (params.duration("step"), params.number("doppler"));
        if step.as_secs_f64() * doppler > 0.1 {
            return Err(format!("a step of {} is more than a tenth of 1 / doppler: fades would be stepped over", words(step)));
        }
        Ok(())
    },
    mean: |params| Radio::new(params).mean(),
    build: |params, rng| Box::new(Lte { radio: Radio::new(params), step: params.duration("step"), fading: Fading::new(params, rng) }),
    of_rates_alone: true,
};

/// Rate that a signal carries: the truncated Shannon bound of TR 36.942 annex A.
#[derive(Clone, Copy, Debug)]
struct Radio {
    /// Ratios, not dB.
    snr: f64,
    snr_min: f64,
    alpha: f64,
    efficiency: f64,
}

/// Returns the ratio of a value in dB.
fn ratio(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

impl Radio {
    fn new(params: &Params) -> Self {
        let [snr, snr_min] = ["snr", "snr_min"].map(|name| ratio(params.number(name)));
        Radio { snr, snr_min, alpha: params.number("alpha"), efficiency: params.number("efficiency") }
    }

    /// Returns the share of `efficiency` that a signal carries.
    fn level(&self, snr: f64) -> f64 {
        if snr < self.snr_min { 0.0 } else { (self.alpha * libm::log2(1.0 + snr) / self.efficiency).min(1.0) }
    }

    /// Returns the mean share for a signal that is distributed exponentially (Rayleigh fading), with the mean `snr`: by Simpson's rule over
    /// the logarithm of the signal, up to the signal that carries all of it, and from there on in closed form.
    fn mean(&self) -> f64 {
        let full = libm::pow(2.0, self.efficiency / self.alpha) - 1.0;
        let more_than = |snr: f64| libm::exp(-snr / self.snr);
        if full <= self.snr_min {
            return more_than(self.snr_min);
        }
        // The signal exceeds 50 times its mean with a probability of e^-50.
        let (from, to) = (libm::log(self.snr_min), libm::log(full.min(50.0 * self.snr).max(self.snr_min)));
        let density = |x: f64| {
            let snr = libm::exp(x);
            self.level(snr.max(self.snr_min)) * snr / self.snr * more_than(snr)
        };
        const PARTS: u32 = 2000;
        let width = (to - from) / f64::from(PARTS);
        let weight = |i: u32| match i {
            0 | PARTS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let sum: f64 = (0..=PARTS).map(|i| weight(i) * density(from + f64::from(i) * width)).sum();
        sum * width / 3.0 + more_than(full)
    }
}

/// Waves that are summed. Their sums are normal except for 1 / (2 WAVES) of the density of the deepest fades.
const WAVES: usize = 64;

/// The gain of a channel with Clarke's spectrum: waves of the same strength from all around, each with a phase of its own.
///
/// Xiao, Zheng and Beaulieu 2006: angles are drawn, one from each of as many sectors, so that the autocorrelation over all runs is Bessel's
/// J0(2 pi doppler t) exactly, whatever their number, and the mean power of each run is 1.
struct Fading {
    /// Real part, imaginary part and rotation per step of each wave.
    waves: Box<[[f64; 4]; WAVES]>,
}

impl Fading {
    fn new(params: &Params, mut rng: Rng) -> Self {
        use std::f64::consts::TAU;
        let turn = TAU * params.number("doppler") * params.duration("step").as_secs_f64();
        let mut waves = Box::new([[0.0; 4]; WAVES]);
        for (i, wave) in waves.iter_mut().enumerate() {
            let angle = TAU * (i as f64 + rng.uniform()) / WAVES as f64;
            let (sin, cos) = libm::sincos(TAU * rng.uniform());
            let (turn_sin, turn_cos) = libm::sincos(turn * libm::cos(angle));
            *wave = [cos, sin, turn_cos, turn_sin];
        }
        Fading { waves }
    }

    /// Returns the power now, whose mean is 1, and goes on to the next step.
    fn next(&mut self) -> f64 {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for [re, im, cos, sin] in self.waves.iter_mut() {
            real += *re;
            imaginary += *im;
            (*re, *im) = (*re * *cos - *im * *sin, *re * *sin + *im * *cos);
        }
        (real * real + imaginary * imaginary) / WAVES as f64
    }
}

struct Lte {
    radio: Radio,
    step: Duration,
    fading: Fading,
}

impl Levels for Lte {
    fn next(&mut self) -> (Duration, f64) {
        (self.step, self.radio.level(self.radio.snr * self.fading.next()))
    }
}

#[cfg(test)]
mod tests;
