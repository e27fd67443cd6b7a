//! Keys of an experiment file and their meanings: the tables behind validation, schema and reference.

mod flow;
mod host;
mod link;
mod live;
mod path;
mod places;
mod router;
mod unsteady;

pub(crate) use flow::{CONTROL, SIZING, TRAFFIC, endpoint, flow};
pub(crate) use host::host;
pub(crate) use link::{DISCARD, LOSS, explicit_link, link, pause, way};
pub(crate) use live::{live, live_host};
pub(crate) use path::{PATH, path_change};
pub(crate) use router::{SHARING, router};
pub(crate) use unsteady::{DELAY_TRACE, RATE_TRACE, at, delay_step, harq, jitter, outage, rate_step, reorder};

use super::backend;
use super::error::Fault;
use super::shape::{Field, Shape, one_of};
use super::tree::Node;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;
use longfat_record::metric::REGISTRY;
use longfat_record::warning::NAMES as WARNINGS;
use std::sync::LazyLock;

/// Returns the faults of a whole file. For an unknown key, a fault also says where it would be right.
pub(crate) fn check(file: &Node) -> Vec<Fault> {
    let mut faults = Vec::new();
    Shape::Table(root).check(file, &mut Vec::new(), &mut faults);
    let said = |key| file.as_table().and_then(|table| table.get(key));
    let is_live = said("backend").and_then(Node::as_text).and_then(backend::find).is_some_and(backend::Backend::is_live);
    if said("path").is_none() && !is_live {
        let fault = Fault::new(file.span, "", "the experiment has no `path`");
        faults.push(fault.expected("path: hosts, routers and the links between them"));
    }
    let with_place = |mut fault: Fault| match fault.unknown.take().and_then(|unknown| places::hint(&unknown.0, &unknown.1)) {
        Some(hint) => fault.help(hint),
        None => fault,
    };
    faults.into_iter().map(with_place).collect()
}

/// Seeds stay exact where numbers are doubles.
pub(crate) const MAX_SEED: u64 = 1 << 53;
const TIME: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) };
/// One way or round trip of a path: at most 1000 s.
const DELAY: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(1000) };
const SOME_TIME: Kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) };
const FALSE: Value = Value::Bool(false);
const NO_TIME: Value = Value::Duration(Duration::ZERO);

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { unit: "", min, max }
}

/// The whole file.
pub(crate) fn root() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::new("title", Shape::Text, "one line that heads the report"),
            Field::new("description", Shape::Text, "question of the experiment, and sources of its numbers"),
            Field {
                name: "expect",
                shape: Shape::OneOrMany(ParamSpec { name: "expect", kind: Kind::Choice(WARNINGS), default: None, doc: "" }),
                required: false,
                doc: "warnings that some of the runs are known to give: they are not printed, and one that no run gives is a warning itself",
            },
            Field::new(
                "base",
                Shape::Text,
                "another experiment file that this one changes: its path from the folder of this one. Tables are changed key by key, and so are flows, hosts and links of the same name, and the one flow of each file unless both have names; what has a `sweep`, `kind` or `preset`, and every other value, is replaced",
            ),
            Field::or(
                "backend",
                Kind::Choice(backend::NAMES),
                Value::Choice(backend::DEFAULT),
                "backend that runs it; `longfat list backends` names them",
            ),
            Field::or("seed", count(0, MAX_SEED), Value::Count(1), "start of all randomness"),
            Field::or("repeats", count(1, 1_000_000), Value::Count(1), "runs of each combination; repeat n (from 0) runs with seed + n"),
            Field::or(
                "ties",
                Kind::Choice(&["link_order", "random"]),
                Value::Choice("link_order"),
                "packets that arrive at a router at the same instant are queued in the order in which their links are numbered, as in Weigle and Feng 2001, or in a random one",
            ),
            Field::or(
                "departures",
                Kind::Choice(&["first", "last"]),
                Value::Choice("first"),
                "whether a packet leaves a queue before or after those that arrive at it at the same instant: whether they find its place free",
            ),
            Field::new("path", Shape::Variants(&PATH), "hosts, routers and the links between them; needed but by the backend `live`"),
            Field::new("live", Shape::Table(live), "the two hosts of a run by the backend `live`; other backends do not look at it"),
            Field::new(
                "host",
                Shape::List(&Shape::Table(host)),
                "hosts that are not ideal; by default they take no time and have room for everything",
            ),
            Field::new(
                "router",
                Shape::List(&Shape::Table(router)),
                "routers that are not ideal; by default each of their links has a queue with its own memory",
            ),
            Field::required("flow", Shape::List(&Shape::Table(flow)), "the TCP connections, in groups"),
            Field::required("measure", Shape::Table(measure), "how long a run is, and what it records"),
            Field::new(
                "skip",
                Shape::List(&Shape::Labels),
                "combinations of a sweep to leave out: each names axes and, of each, one label or a list of them",
            ),
            Field::new(
                "precision",
                Shape::Table(precision),
                "repeats of a combination go on until a metric is known this well; `repeats` is the most",
            ),
            Field::new("search", Shape::Table(search), "runs only the values of one axis needed to find where a metric reaches a bound"),
            Field::new(
                "quick",
                Shape::Changes,
                "changes that `longfat run --quick` makes for a short run of the same question: values by their path, such as \"measure.duration\" = \"10 s\"",
            ),
        ]
    });
    &TABLE
}

/// Returns the fields of the precision at which repeats are enough.
pub(crate) fn precision() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            metric("a metric of the run"),
            Field::param(ParamSpec {
                name: "within",
                kind: Kind::Number { min: 1e-12, max: 1e18 },
                default: None,
                doc: "half of the 95 % confidence interval of its mean may be so much",
            }),
            Field::or(
                "relative",
                Kind::Bool,
                Value::Bool(true),
                "`within` is a share of the mean; otherwise it is in the unit of the metric",
            ),
            Field::or("least", count(2, 1_000_000), Value::Count(3), "repeats of each combination before anything is concluded"),
        ]
    });
    &TABLE
}

/// Returns the fields of a search along an axis.
pub(crate) fn search() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let any = Kind::Number { min: -1e18, max: 1e18 };
        vec![
            Field::required("axis", Shape::Text, "the axis that is searched; its values go one way, and so does the metric along them"),
            metric("a metric of the run; of several repeats, its mean"),
            Field::auto("at_least", any, "look for the first value of the axis at which the metric is so much or more"),
            Field::auto("at_most", any, "look for the first value of the axis at which the metric is so much or less"),
        ]
    });
    &TABLE
}

fn metric(doc: &'static str) -> Field {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| REGISTRY.iter().map(|metric| metric.name).collect());
    Field::param(ParamSpec { name: "metric", kind: Kind::Choice(&NAMES), default: None, doc })
}

/// Duration and recording.
pub(crate) fn measure() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::param(ParamSpec {
                name: "duration",
                kind: SOME_TIME,
                default: None,
                doc: "virtual time after which a run ends at the latest",
            }),
            Field::or("warmup", TIME, NO_TIME, "left out of the rates of bulk flows"),
            Field::auto("interval", SOME_TIME, "spacing of the time series; without it there are none"),
            Field::or("events", Kind::Bool, FALSE, "record each drop, mark, retransmission and window reduction"),
            Field::new(
                "packets",
                Shape::Text,
                "record what happens to each packet: of a link, a host or router, or a flow by its name, or all, as in `packets = \"all\"`; links are called as in results (`bottleneck>` is one way)",
            ),
            Field::or("acks", Kind::Bool, FALSE, "record cwnd, ssthresh, srtt and windows of each TCP sender at each ACK that comes to it"),
        ]
    });
    &TABLE
}
