//! The state of a control by name: what it knows and decides with, to be read and set from outside, one list for both.
//!
//! A control lists its variables in [`CongestionControl::state`]; those of its [`Window`](super::Window) are added here.

use super::CongestionControl;
use longfat_core::time::{Duration, Time};
use std::ops::RangeInclusive;

/// Unit of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Bytes of payload.
    Bytes,
    /// May be fractions.
    Segments,
    /// Time of the control's clock, or a duration.
    Seconds,
    /// Rate of payload.
    BitsPerSecond,
    /// Number without a unit: a factor or a share.
    Number,
    /// 0 or 1.
    Flag,
}

impl Unit {
    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Segments => "segments",
            Unit::Seconds => "seconds",
            Unit::BitsPerSecond => "bits per second",
            Unit::Number => "a number",
            Unit::Flag => "True or False",
        }
    }

    /// Returns true if values have no fractions.
    pub fn is_whole(self) -> bool {
        self == Unit::Bytes
    }
}

/// Variable of a control.
pub struct Variable<'a> {
    /// Name in its paper or RFC.
    pub name: &'static str,
    /// Unit of `value` and `range`.
    pub unit: Unit,
    /// `None`: it has none yet, or no bound.
    pub value: Option<f64>,
    /// Values that it can be set to.
    pub range: RangeInclusive<f64>,
    set: Box<dyn FnOnce(f64) + 'a>,
}

/// The longest and the largest that can be set: 115 days, 1 PiB, 100 Tbit/s, as many segments.
const MOST_SECONDS: f64 = 1e7;
const MOST_BYTES: f64 = (1_u64 << 50) as f64;
const MOST_BPS: f64 = 1e14;
const MOST_SEGMENTS: f64 = 1e9;

impl<'a> Variable<'a> {
    /// Any variable: its value now, and how it is set.
    pub fn new(name: &'static str, unit: Unit, value: Option<f64>, range: RangeInclusive<f64>, set: impl FnOnce(f64) + 'a) -> Self {
        Variable { name, unit, value: value.filter(|value| value.is_finite()), range, set: Box::new(set) }
    }

    /// A factor, a share.
    pub fn number(name: &'static str, at: &'a mut f64, range: RangeInclusive<f64>) -> Self {
        Variable::new(name, Unit::Number, Some(*at), range, |value| *at = value)
    }

    /// A window in segments, with fractions.
    pub fn segments(name: &'static str, at: &'a mut f64) -> Self {
        Variable::new(name, Unit::Segments, Some(*at), 0.0..=MOST_SEGMENTS, |value| *at = value)
    }

    /// A window in bytes; `u64::MAX` is none.
    pub fn bytes(name: &'static str, at: &'a mut u64, least: u64) -> Self {
        let value = (*at < u64::MAX).then_some(*at as f64);
        Variable::new(name, Unit::Bytes, value, least as f64..=MOST_BYTES, |value| *at = value as u64)
    }

    /// A rate, kept in bytes a second.
    pub fn rate(name: &'static str, at: &'a mut f64) -> Self {
        Variable::new(name, Unit::BitsPerSecond, Some(*at * 8.0), 0.0..=MOST_BPS, |bps| *at = bps / 8.0)
    }

    /// A time that something takes; zero is none yet.
    pub fn span(name: &'static str, at: &'a mut Duration) -> Self {
        let value = (!at.is_zero()).then(|| at.as_secs_f64());
        Variable::new(name, Unit::Seconds, value, 0.0..=MOST_SECONDS, |seconds| *at = Duration::from_secs_f64(seconds))
    }

    /// A duration kept in seconds; zero is none yet.
    pub fn seconds(name: &'static str, at: &'a mut f64) -> Self {
        Variable::new(name, Unit::Seconds, (*at > 0.0).then_some(*at), 0.0..=MOST_SECONDS, |seconds| *at = seconds)
    }

    /// A point in time.
    pub fn instant(name: &'static str, at: &'a mut Time) -> Self {
        let value = at.since(Time::ZERO).as_secs_f64();
        Variable::new(name, Unit::Seconds, Some(value), 0.0..=MOST_SECONDS, |seconds| *at = Time::ZERO + Duration::from_secs_f64(seconds))
    }

    /// A condition, true or false.
    pub fn flag(name: &'static str, at: &'a mut bool) -> Self {
        Variable::new(name, Unit::Flag, Some(f64::from(u8::from(*at))), 0.0..=1.0, |value| *at = value != 0.0)
    }
}

/// Reasons for which a variable cannot be set.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// No variable has that name. These are there now.
    Unknown(Vec<&'static str>),
    /// The value is not in this range, or no whole number of bytes.
    Outside(Unit, RangeInclusive<f64>),
}

/// The variables of `control`, those of its window first; what has none now is left out only where nothing could be set.
pub fn variables(control: &mut dyn CongestionControl) -> Vec<(&'static str, Unit, Option<f64>)> {
    let mut all = Vec::new();
    if let Some(window) = control.window_mut() {
        all.extend(window.state().into_iter().map(|v| (v.name, v.unit, v.value)));
    }
    all.extend(control.state().into_iter().map(|v| (v.name, v.unit, v.value)));
    all
}

/// Sets the variable `name` of `control`; nothing else changes, and no time passes.
///
/// # Errors
/// No such variable, or a value outside its range (not a number; a fraction of a byte).
pub fn set(control: &mut dyn CongestionControl, name: &str, value: f64) -> Result<(), Refusal> {
    let known: Vec<&str> = variables(control).into_iter().map(|(name, ..)| name).collect();
    let of = |all: Vec<Variable<'_>>| all.into_iter().find(|v| v.name == name).map(|v| v.set(value));
    let done = control.window_mut().and_then(|window| of(window.state())).or_else(|| of(control.state()));
    done.unwrap_or(Err(Refusal::Unknown(known)))
}

impl Variable<'_> {
    fn set(self, value: f64) -> Result<(), Refusal> {
        let fits = self.range.contains(&value) && (!self.unit.is_whole() || value.fract() == 0.0);
        if !fits {
            return Err(Refusal::Outside(self.unit, self.range));
        }
        (self.set)(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::config;
    use super::super::{Congestion, Established, REGISTRY, established, testing};
    use super::*;
    use crate::conformance::{ack, event};
    use longfat_core::rng::Rng;

    /// Every control that can be built by its name alone, after a little life in congestion avoidance.
    fn controls() -> impl Iterator<Item = (&'static str, Box<dyn CongestionControl + Send>)> {
        REGISTRY.iter().filter(|kind| kind.params.iter().all(|p| p.default.is_some())).map(|kind| {
            let mut control = (kind.build)(&config(kind.name, &[], 100));
            established(&mut *control, &Established { now: Time::ZERO, rtt: None, sack: true, seed: 1 });
            for n in 0..500 {
                testing::give(&mut *control, &ack(n, testing::MSS));
            }
            (kind.name, control)
        })
    }

    /// Returns the range of a variable that is there.
    fn range(control: &mut dyn CongestionControl, name: &str) -> Option<RangeInclusive<f64>> {
        let of = |all: Vec<Variable<'_>>| all.into_iter().find(|v| v.name == name).map(|v| v.range);
        control.window_mut().and_then(|window| of(window.state())).or_else(|| of(control.state()))
    }

    /// Draws a value from `range`: every order of magnitude is as likely, and the ends come now and then.
    fn drawn(range: &RangeInclusive<f64>, unit: Unit, rng: &mut Rng) -> f64 {
        let (least, most) = (*range.start(), *range.end());
        let low = least.max(most * 1e-9);
        let value = match rng.below(8) {
            0 => least,
            1 => most,
            _ => low * libm::pow(most / low, rng.uniform()),
        };
        match unit {
            Unit::Flag => value.round(),
            _ if unit.is_whole() => value.floor().max(least.ceil()),
            _ => value.clamp(least, most),
        }
    }

    #[test]
    fn what_is_set_is_read_and_nothing_else_moves() {
        for (seed, (name, mut control)) in (0..20).flat_map(|seed| controls().map(move |one| (seed, one))) {
            let mut rng = Rng::named(seed, name);
            let mut before = variables(&mut *control);
            assert!(before.iter().any(|(v, unit, _)| *v == "cwnd" && *unit == Unit::Bytes), "{name}: {before:?}");
            for i in 0..before.len() {
                let (variable, unit, value) = before[i];
                assert_eq!(before.iter().filter(|(other, ..)| *other == variable).count(), 1, "{name}: {variable}");
                let wanted = drawn(&range(&mut *control, variable).expect("it was listed"), unit, &mut rng);
                set(&mut *control, variable, wanted).unwrap_or_else(|why| panic!("{name}: {variable} = {wanted}: {why:?}"));
                let after = variables(&mut *control);
                for (j, (old, new)) in before.iter().zip(&after).enumerate() {
                    let expected = if i == j { Some(wanted) } else { before[j].2 };
                    let close = match (new.2, expected) {
                        // Times are kept to the picosecond, and zero is none yet.
                        (Some(x), Some(y)) => (x - y).abs() <= 1e-9 * y.abs() + 1e-12,
                        (None, Some(y)) => old.1 == Unit::Seconds && y < 1e-12,
                        (x, y) => x == y,
                    };
                    assert!(close, "{name}: {variable} = {wanted} made {} {:?}, not {expected:?}", old.0, new.2);
                }
                // Back, where it had a value.
                match value {
                    Some(value) => set(&mut *control, variable, value).unwrap(),
                    None => before[i].2 = Some(wanted),
                }
            }
        }
    }

    #[test]
    fn a_control_lives_on_with_whatever_can_be_set() {
        for (name, control) in controls() {
            let names: Vec<&str> = { control }.state().iter().map(|v| v.name).chain(["cwnd", "ssthresh"]).collect();
            for variable in names {
                for most in [false, true] {
                    let mut control = controls().find(|(other, _)| *other == name).unwrap().1;
                    // A control without a window has no ssthresh.
                    let Some(range) = range(&mut *control, variable) else { continue };
                    set(&mut *control, variable, if most { *range.end() } else { *range.start() }).unwrap();
                    for n in 500..1_500 {
                        testing::give(&mut *control, &ack(n, testing::MSS));
                        if n % 200 == 0 {
                            let kind = if n % 400 == 0 { Congestion::Loss } else { Congestion::Timeout };
                            let flight = control.cwnd();
                            control.on_congestion(&event(kind, n, flight));
                            control.on_recovered(Time::ZERO + Duration::from_millis(n));
                        }
                        assert!(control.cwnd() >= testing::MSS, "{name}: {variable}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut control = (super::super::find("illinois").unwrap().build)(&config("illinois", &[], 100));
        let outside = |result: Result<(), Refusal>| matches!(result, Err(Refusal::Outside(..)));
        for value in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert!(outside(set(&mut *control, "alpha", value)), "{value}");
        }
        // A window is of whole bytes, and at least a segment.
        assert!(outside(set(&mut *control, "cwnd", 1000.5)) && outside(set(&mut *control, "cwnd", 999.0)));
        assert!(outside(set(&mut *control, "ssthresh", 1999.0)));
        let Err(Refusal::Unknown(names)) = set(&mut *control, "alfa", 1.0) else { panic!("there is no alfa") };
        assert_eq!(names, ["cwnd", "ssthresh", "alpha", "beta", "rtt_max"]);
    }

    /// CUBIC with a plateau of one's own: RFC 9438 §4.2, K = cbrt((W_max - cwnd) / C).
    #[test]
    fn a_curve_begins_at_the_w_max_that_was_set() {
        let mut control = (super::super::find("cubic").unwrap().build)(&config("cubic", &[], 700));
        set(&mut *control, "w_max", 1000.0).unwrap();
        testing::give(&mut *control, &ack(0, testing::MSS));
        let value =
            |control: &mut dyn CongestionControl, name: &str| variables(control).into_iter().find(|v| v.0 == name).and_then(|v| v.2);
        assert!((value(&mut *control, "k").unwrap() - libm::cbrt(300.0 / 0.4)).abs() < 1e-9);
        set(&mut *control, "k", 2.0).unwrap();
        assert_eq!(value(&mut *control, "k"), Some(2.0));
    }
}
