//! Queues inside queues: found in the parameters of the outer queue, checked and built.

use super::classes::CLASS;
use super::fifo::LIMIT;
use super::{Queue, QueueContext, named};
use crate::params::{Choice, Kept, Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{Capacity, Rate};

/// Queue that holds the packets of a scheduler or shaper, or of one of its classes.
pub(super) const QUEUE: ParamSpec = ParamSpec {
    name: "queue",
    kind: Kind::Queue,
    default: Some(Value::Auto),
    doc: "any queue: what holds the packets. A bdp inside is that of the rate there. When not given: `droptail` of one bdp, and of 10 packets of the MTU at least",
};

/// Returns the greatest rate at which the queue inside of `params` can be served: their `ceil`, or else their `rate`, or else that
/// `around`.
fn rate_inside(params: &Params, around: Rate) -> Rate {
    let given = |wanted| {
        params.0.iter().find_map(|(name, value)| if let (true, Value::Rate(rate)) = (*name == wanted, value) { Some(*rate) } else { None })
    };
    given("ceil").or_else(|| given("rate")).unwrap_or(around)
}

impl QueueContext {
    /// Returns the place inside of `params`, with the name `name` among its siblings.
    pub(super) fn inside(&self, params: &Params, name: &str) -> Self {
        let rng = Rng::named(self.rng.clone().next_u64(), name);
        QueueContext { rate: rate_inside(params, self.rate), rng, ..self.clone() }
    }
}

/// Returns the name of a table of the array `name`, by its place.
fn called(name: &str, place: usize) -> String {
    format!("{name} {}", place + 1)
}

/// Builds the queue inside of `params`, whose place is `context`.
pub(super) fn inner(params: &Params, context: &QueueContext) -> Box<dyn Queue + Send> {
    let place = context.inside(params, QUEUE.name);
    let choice = params.queue(QUEUE.name).map_or_else(|| usual(&place), |choice| (*choice).clone());
    build(&choice, place)
}

/// Returns the queue that holds packets if none is given.
fn usual(place: &QueueContext) -> Choice {
    let bytes = place.rate.bytes_in(place.rtt).max(10 * u64::from(place.mtu));
    super::choice(super::droptail::KIND.name).with(&[(LIMIT.name, Value::Capacity(Capacity::Bytes(bytes)))])
}

/// Returns the place of the class with this number, from 0, of a queue with these parameters.
pub(super) fn place_of_class(params: &Params, number: usize, context: &QueueContext) -> QueueContext {
    context.inside(params, &called(CLASS, number))
}

/// Builds the queue, and all queues inside.
pub fn build(choice: &Choice, context: QueueContext) -> Box<dyn Queue + Send> {
    (named(choice.kind).build)(&choice.params, context)
}

/// Checks that the queue can work here, and all queues inside. The error is one sentence for the user.
pub fn check(choice: &Choice, context: &QueueContext) -> Result<(), String> {
    (named(choice.kind).check)(&choice.params, context)?;
    check_inside(&choice.params, context)
}

fn check_inside(params: &Params, context: &QueueContext) -> Result<(), String> {
    for (name, value) in &params.0 {
        match value {
            Value::Queue(choice) => {
                check(choice, &context.inside(params, name)).map_err(|sentence| format!("the {} inside: {sentence}", choice.kind))?;
            }
            Value::Tables(tables) => {
                for (place, table) in tables.all().iter().enumerate() {
                    let name = called(name, place);
                    check_inside(table, &context.inside(params, &name)).map_err(|sentence| format!("{name}: {sentence}"))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns `params` with BDPs as bytes, also inside: the rate there times `rtt`.
pub fn in_bytes(params: &Params, rate: Rate, rtt: Duration) -> Params {
    let inside = rate_inside(params, rate);
    let settled = |value: Value| match value {
        Value::Capacity(Capacity::Bdp(x)) => Value::Capacity(Capacity::Bytes((x * rate.bytes_in(rtt) as f64) as u64)),
        Value::Queue(choice) => Value::Queue(Kept::from(Choice { kind: choice.kind, params: in_bytes(&choice.params, inside, rtt) })),
        Value::Tables(tables) => {
            Value::Tables(Kept::from(tables.all().iter().map(|table| in_bytes(table, inside, rtt)).collect::<Vec<_>>()))
        }
        value => value,
    };
    Params(params.0.iter().map(|&(name, value)| (name, settled(value))).collect())
}
