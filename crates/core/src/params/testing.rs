//! Random parameters for the conformance tests of the registries.

use super::{Kept, Kind, ParamSpec, Params, Value};
use crate::packet::Dscp;
use crate::time::Duration;
use crate::units::{Capacity, Rate};
use proptest::prelude::*;
use proptest::sample::select;

/// Returns a value of `kind`, more often small than large, so that limits are met.
pub fn any_value(kind: Kind) -> BoxedStrategy<Value> {
    let small = |min: u64, max: u64| min..=max.min(min + 40);
    match kind {
        Kind::Bytes { min, max } => prop_oneof![small(min, max), min..=max].prop_map(Value::Bytes).boxed(),
        Kind::Count { min, max, .. } => prop_oneof![9 => small(min, max), 1 => min..=max].prop_map(Value::Count).boxed(),
        Kind::Capacity => prop_oneof![
            (1..60_u64).prop_map(Capacity::Packets),
            (1..60_000_u64).prop_map(Capacity::Bytes),
            (0.1..3.0).prop_map(Capacity::Bdp),
        ]
        .prop_map(Value::Capacity)
        .boxed(),
        Kind::Duration { min, max } => (min.as_ps()..=max.as_ps()).prop_map(|ps| Value::Duration(Duration::from_ps(ps))).boxed(),
        Kind::Rate => (1..10_000_000_000_u64).prop_map(|bps| Value::Rate(Rate::from_bps(bps))).boxed(),
        Kind::Number { min, max } => (min..=max).prop_map(Value::Number).boxed(),
        Kind::Portion { .. } => prop_oneof![(0..60_u64).prop_map(Value::Count), (0.0..=1.0).prop_map(Value::Number)].boxed(),
        Kind::Window => (1_u64..10_000).prop_map(|n| Value::Capacity(Capacity::Packets(n))).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Dscp => (0..64_u8).prop_map(|n| Value::Dscp(Dscp::new(n).unwrap())).boxed(),
        Kind::Dscps => prop::collection::vec(0..64_u8, 1..9)
            .prop_map(|all| Value::Dscps(all.into_iter().map(|n| Dscp::new(n).unwrap()).collect()))
            .boxed(),
        Kind::Names(_) => prop::collection::vec(select(vec!["a", "b", "c"]).prop_map(str::to_owned), 1..3)
            .prop_map(|names| Value::Names(Kept::from(names)))
            .boxed(),
        // Values that hold other entries are made by the tests of their registry.
        Kind::Queue | Kind::Tables(_) => Just(Value::Auto).boxed(),
        Kind::Choice(words) | Kind::ChoiceOrCsv(words) => select(words).prop_map(Value::Choice).boxed(),
    }
}

/// Parameters for `specs`: for each the default or, as often, any value.
pub fn any_params(specs: &'static [ParamSpec]) -> BoxedStrategy<Params> {
    let each = specs.iter().map(|spec| match spec.default {
        Some(default) => prop_oneof![Just(default), any_value(spec.kind)].boxed(),
        None => any_value(spec.kind),
    });
    each.collect::<Vec<_>>().prop_map(|values| Params(specs.iter().map(|s| s.name).zip(values).collect())).boxed()
}
