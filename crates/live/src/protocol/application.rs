//! Application of a flow, as a message has it: a kind of traffic and its parameters, in the spelling of experiments.

use std::collections::BTreeMap;

use longfat_core::params::Literal;
use longfat_core::rng::Rng;
use longfat_core::time::Time;
use longfat_core::traffic::{self, Datagrams, Life, Over, Program, Rank, Traffic, until};
use serde::{Deserialize, Serialize};

use super::{Fault, fault};

/// Most bytes of a value, or of a name.
const LONGEST: usize = 64;

/// Application at the sender of a flow. The server runs it where it sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Kind of traffic.
    pub kind: String,
    /// Parameters that differ from nothing: each as an experiment writes it. A missing one has its default.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Seed of its random numbers, the experiment's.
    pub seed: u64,
    /// Name of its random stream, by which all backends draw the same numbers.
    pub stream: String,
}

impl Application {
    /// Returns the application of `traffic` in the flow called `name`.
    pub fn of(traffic: &Traffic, seed: u64, name: &str) -> Self {
        // A volume that was drawn is one that is given.
        let said = traffic.volume().map_or_else(|| traffic.clone(), Traffic::ttcp);
        let written =
            said.kind().params.iter().filter_map(|spec| Some((spec.name.to_owned(), spec.kind.write(said.params().get(spec.name))?)));
        let mut stream = format!("{name} traffic");
        // Experiments have shorter names; a longer one draws other numbers.
        while stream.len() > LONGEST {
            stream.pop();
        }
        Application { kind: said.kind().name.to_owned(), params: written.collect(), seed, stream }
    }

    /// Returns its traffic.
    ///
    /// # Errors
    /// A kind that measures the path, which probes do here, and parameters that it does not have or cannot take. The error repeats nothing of the other side's.
    pub fn traffic(&self) -> Result<Traffic, Fault> {
        let kind = traffic::find(&self.kind).ok_or_else(|| Fault("no kind of traffic has this name".to_owned()))?;
        if self.params.keys().any(|name| kind.params.iter().all(|spec| spec.name != name)) {
            return fault(format!("`{}` has no such parameter", kind.name));
        }
        let mut choice = traffic::choice(kind.name);
        for spec in kind.params {
            let refused = || Fault(format!("`{}` of `{}` is {}", spec.name, kind.name, spec.kind.expectation()));
            let value = match self.params.get(spec.name) {
                Some(written) => spec.read(literal(written).ok_or_else(refused)?).map_err(|_| refused())?,
                None => spec.default.ok_or_else(refused)?,
            };
            choice.params.set(spec.name, value);
        }
        let traffic =
            Traffic::new(choice).map_err(|refusal| Fault(format!("`{}` of `{}`: {}", refusal.param, kind.name, refusal.sentence)))?;
        // A session has probes of its own.
        let is_asked = matches!(traffic.kind().over, Over::Asked { .. });
        let is_of_session = traffic.rank() != Rank::Probe && !traffic.is_drawn() && !is_asked;
        if is_of_session { Ok(traffic) } else { fault(format!("a session has no `{}`", kind.name)) }
    }

    /// Returns the program of its `traffic` at the sender, from `start` to `stop`.
    ///
    /// # Panics
    /// If the traffic does not go over TCP.
    pub fn program(&self, traffic: &Traffic, start: Time, stop: Time) -> Program {
        let Over::Tcp(made) = traffic.kind().over else { panic!("{} does not go over TCP", traffic.kind().name) };
        let life = Life { start, rng: Rng::named(self.seed, &self.stream), volume: traffic.volume() };
        Program::new(made(traffic.params(), life), start, stop)
    }

    /// Returns the end of a flow of its `traffic` over UDP: the one that `sends` from `start` to `stop`, or the one that receives.
    ///
    /// # Panics
    /// If the traffic goes over TCP.
    pub fn datagrams(&self, traffic: &Traffic, sends: bool, start: Time, stop: Time) -> Box<dyn Datagrams> {
        let Over::Datagrams { sender, receiver, .. } = traffic.kind().over else { panic!("{} goes over TCP", traffic.kind().name) };
        let life = Life { start, rng: Rng::named(self.seed, &self.stream), volume: None };
        if sends { until(stop, sender(traffic.params(), life)) } else { receiver() }
    }

    /// Checks its bounds.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let is_short = |value: &serde_json::Value| value.as_str().is_none_or(|text| text.len() <= LONGEST);
        if self.stream.len() > LONGEST || !self.params.values().all(is_short) {
            return fault(format!("an application has names and values of at most {LONGEST} bytes"));
        }
        self.traffic().map(drop)
    }
}

/// A value of JSON as a file would have it. `None`: a list or an object.
fn literal(value: &serde_json::Value) -> Option<Literal<'_>> {
    match value {
        serde_json::Value::String(text) => Some(Literal::Text(text)),
        serde_json::Value::Bool(is) => Some(Literal::Bool(*is)),
        serde_json::Value::Number(number) => number.as_i64().map(Literal::Integer).or_else(|| number.as_f64().map(Literal::Float)),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use longfat_core::params::{Kind, Value};
    use longfat_core::time::Duration;
    use longfat_core::traffic::Volume;
    use longfat_core::units::Rate;
    use proptest::prelude::*;

    /// Traffic of every kind that a session has, small: where a parameter has no default, it has one that fits.
    pub(crate) fn every_kind() -> Vec<Traffic> {
        let is_of_session =
            |kind: &traffic::TrafficKind| !matches!(kind.volume, Volume::Drawn(_)) && !matches!(kind.over, Over::Asked { .. });
        let kinds = traffic::REGISTRY.iter().filter(|kind| kind.rank != Rank::Probe && is_of_session(kind));
        kinds.map(|kind| example(kind.name, 20_000, 10)).collect()
    }

    fn example(kind: &str, bytes: u64, ms: u64) -> Traffic {
        let mut choice = traffic::choice(kind);
        for spec in traffic::named(kind).params.iter().filter(|spec| spec.default.is_none()) {
            let value = match spec.kind {
                Kind::Bytes { min, max } => Value::Bytes(bytes.clamp(min, max)),
                Kind::Count { min, max, .. } => Value::Count(10.clamp(min, max)),
                Kind::Duration { min, max } => Value::Duration(Duration::from_millis(ms).clamp(min, max)),
                // At least a packet of 1500 bytes per millisecond, for the times on.
                Kind::Rate => Value::Rate(Rate::from_bps((100 * bytes).max(12_000_000))),
                Kind::Number { min, .. } => Value::Number(min),
                other => panic!("{kind}: {} needs an example of {other:?}", spec.name),
            };
            choice.params.set(spec.name, value);
        }
        Traffic::new(choice).unwrap_or_else(|refusal| panic!("{kind}: {}: {}", refusal.param, refusal.sentence))
    }

    proptest! {
        #[test]
        fn every_traffic_of_a_session_comes_as_it_was_sent(bytes in 1_000_u64..1 << 30, ms in 1_u64..100_000, seed: u64) {
            for kind in every_kind() {
                let traffic = example(kind.kind().name, bytes, ms);
                let sent = Application::of(&traffic, seed, "flow1");
                let came: Application = serde_json::from_str(&serde_json::to_string(&sent).unwrap()).unwrap();
                prop_assert_eq!(came.check(), Ok(()));
                prop_assert_eq!(came.traffic(), Ok(traffic));
            }
        }
    }

    #[test]
    fn a_volume_that_was_drawn_is_given() {
        let mut traffic = traffic::choice("flows");
        let exponential = longfat_core::params::Value::Choice("exponential");
        traffic.params.set("sizes", exponential);
        traffic.params.set("size", longfat_core::params::Value::Bytes(100_000));
        let drawn = Traffic::new(traffic).unwrap().draw(&mut longfat_core::rng::Rng::named(1, "size"));
        let sent = Application::of(&drawn, 1, "flow1");
        assert_eq!((sent.kind.as_str(), sent.traffic().unwrap().volume()), ("ttcp", drawn.volume()));
    }

    #[test]
    fn an_application_that_cannot_be_is_refused() {
        let sent = Application::of(&Traffic::ttcp(1000), 1, "flow1");
        let with = |kind: &str, params: &[(&str, serde_json::Value)]| Application {
            kind: kind.to_owned(),
            params: params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            ..sent.clone()
        };
        for wrong in [
            with("nosuch", &[]),
            with("udp", &[("rate", 1.into())]),
            with("udp", &[("rate", "1 Mbit/s".into()), ("size", "39 bytes".into())]),
            with("ping", &[]),
            with("flows", &[("sizes", "web-search".into())]),
            with("ttcp", &[]),
            with("ttcp", &[("volume", "0 bytes".into())]),
            with("ttcp", &[("volume", 1000.into())]),
            with("ttcp", &[("volume", serde_json::json!(["1 MB"]))]),
            with("bulk", &[("volume", "1 MB".into())]),
            Application { stream: "x".repeat(65), ..sent.clone() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
