//! `[[flow]]`: a group of connections, and the fields of their ends.

use super::{NO_TIME, SOME_TIME, TIME, count, one_of};
use crate::shape::{Case, Field, Shape, Variants};
use longfat_core::packet::Dscp;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::traffic;
use longfat_tcp::{congestion, options, stack, window_sizing};
use std::sync::{LazyLock, Mutex, PoisonError};

pub(crate) static CONTROL: Variants = Variants { what: "congestion control", tag: "kind", default: None, cases: controls };

pub(crate) static SIZING: Variants = one_of!(window_sizing::REGISTRY, "window sizing");
pub(crate) static TRAFFIC: Variants = one_of!(traffic::REGISTRY, "traffic");

/// Returns the controls of the registry, and registered ones, which tell what they were made from.
fn controls() -> &'static [Case] {
    /// The last list made, and of how many sources. A list stays for good; there are as many as there were changes.
    static LAST: Mutex<(Vec<&'static str>, &'static [Case])> = Mutex::new((Vec::new(), &[]));
    let extensions = congestion::extensions::kinds();
    let now: Vec<&'static str> = extensions.iter().flat_map(|kind| [kind.name, kind.source]).collect();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.1.is_empty() || last.0 != now {
        let case = |kind: &congestion::ControlKind| Case::of_params(kind.name, kind.summary, kind.source, kind.params);
        let mut cases: Vec<Case> = congestion::REGISTRY.iter().map(case).collect();
        cases.extend(extensions.into_iter().map(|kind| {
            let mut case = case(kind);
            case.fields.push(Field::new("source", Shape::Text, "what it was made from; part of the identity of a run"));
            case
        }));
        *last = (now, Vec::leak(cases));
    }
    last.1
}

/// Returns the fields of one end of a connection: the stack, and every parameter of TCP.
pub(crate) fn endpoint() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let buffer = options::PARAMS.iter().find(|p| p.name == "send_buffer").map_or(Kind::Bool, |p| p.kind);
        let mut fields = vec![
            Field::auto("stack", Kind::Choice(stack::NAMES), "named set of parameters to start from; by default `rfc`"),
            Field::auto(
                "kernel",
                Kind::Choice(stack::KERNELS),
                "the version whose documented rules the stack `linux` has (docs/stacks/linux.md); by default the last",
            ),
            Field::auto(
                "window",
                buffer,
                "send_buffer and receive_buffer at once: the largest window; \"auto\": as large as the path makes it, by `window_sizing`, which is `drs` then unless it is given",
            ),
        ];
        // The stack decides a parameter without a value.
        fields.extend(options::PARAMS.iter().map(|p| match p.name {
            "congestion_control" => Field::new(p.name, Shape::Variants(&CONTROL), p.doc),
            "window_sizing" => Field::new(p.name, Shape::Variants(&SIZING), p.doc),
            _ => Field::auto(p.name, p.kind, p.doc),
        }));
        fields
    });
    &TABLE
}

/// A time that can be random.
fn drawn(name: &'static str, doc: &'static str) -> Field {
    Field { shape: Shape::Drawn(ParamSpec { name, kind: TIME, default: Some(NO_TIME), doc }), ..Field::or(name, TIME, NO_TIME, doc) }
}

/// A group of connections.
pub(crate) fn flow() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = vec![
            Field::new("name", Shape::Text, "by default `flow1`, `flow2`.. in the order of the file"),
            Field::new(
                "from",
                Shape::Names,
                "who connects and sends: a host, a group of them (`left`, `right`, `in`, `out`) or a list, taken in turn; by default `left`",
            ),
            Field::new("to", Shape::Names, "who listens; by default `right`"),
            Field::or("count", count(0, 100_000), Value::Count(1), "senders in the group; 0 leaves it out"),
            Field::or(
                "streams",
                count(1, 10_000),
                Value::Count(1),
                "parallel connections of each sender, which start together and count as one where senders are compared",
            ),
            drawn("start", "when the first sender connects; where it is random, each sender's own draw"),
            drawn("stagger", "time from one sender's start to the next one's; where it is random, each drawn anew"),
            Field::auto("stop", SOME_TIME, "when the application stops, and closes; by default it goes on until the run ends"),
            Field::auto("read_rate", Kind::Rate, "payload that the receiving application reads in a second; by default all, at once"),
            Field::or(
                "dscp",
                Kind::Dscp,
                Value::Dscp(Dscp::DEFAULT),
                "differentiated services codepoint of its packets, both ways: a name that `ip` and `tc` know, or 0 to 63",
            ),
            Field::new("traffic", Shape::Variants(&TRAFFIC), "behaviour of the sending application; by default `bulk`"),
            Field::new(
                "relays",
                Shape::Text,
                "name of a flow above that ends at this one's `from`, a proxy: it reads that flow, and writes to this one what it reads, as far as the send buffer has room",
            ),
            Field::new("receiver", Shape::Table(endpoint), "differences at the listening end"),
        ];
        fields.extend(endpoint());
        fields
    });
    &TABLE
}
