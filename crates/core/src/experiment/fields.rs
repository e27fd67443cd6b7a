//! Every key of an experiment file, with what it means: the tables behind validation, schema and reference.

use super::shape::{Case, Field, Shape, Variants};
use crate::atm::{discard, port};
use crate::link::{framing, loss};
use crate::params::{Kind, ParamSpec, Value};
use crate::probe;
use crate::queue;
use crate::tcp::{congestion, options, right_sizing, stack};
use crate::time::Duration;
use crate::traffic::LEAST_SIZE;
use std::sync::LazyLock;

/// The least MTU: leaves the 32 bytes of the least mss after 40 bytes of headers and 12 of timestamps.
const LEAST_MTU: u64 = 84;
/// Seeds stay exact where numbers are doubles.
pub const MAX_SEED: u64 = 1 << 53;
const TIME: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) };
/// One way or round trip of a path: at most 1000 s.
const DELAY: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(1000) };
const SOME_TIME: Kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) };
/// Of a Pareto distribution with a mean.
const SHAPE: Kind = Kind::Number { min: 1.01, max: 100.0 };
const FALSE: Value = Value::Bool(false);
const NO_TIME: Value = Value::Duration(Duration::ZERO);

const LINK_TYPES: [&str; framing::REGISTRY.len()] = {
    let mut names = [""; framing::REGISTRY.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = framing::REGISTRY[i].name;
        i += 1;
    }
    names
};

const STACKS: [&str; stack::REGISTRY.len()] = {
    let mut names = [""; stack::REGISTRY.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = stack::REGISTRY[i].name;
        i += 1;
    }
    names
};

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { unit: "", min, max }
}

/// The whole file.
pub fn root() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::new("title", Shape::Text, "one line that heads the report"),
            Field::new("description", Shape::Text, "what the experiment asks, and where its numbers come from"),
            Field::new(
                "base",
                Shape::Text,
                "another experiment file that this one changes: its path from the folder of this one. Tables are changed key by key, and so are flows, hosts and links of the same name; what has a `sweep`, `kind` or `preset`, and every other value, is replaced",
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
            Field::required("path", Shape::Variants(&PATH), "hosts, routers and the links between them"),
            Field::new(
                "host",
                Shape::List(&Shape::Table(host)),
                "what is special about hosts; without it they take no time and have room for all",
            ),
            Field::required("flow", Shape::List(&Shape::Table(flow)), "the TCP connections, in groups"),
            Field::required("measure", Shape::Table(measure), "how long a run is, and what it records"),
            Field::new(
                "skip",
                Shape::List(&Shape::Labels),
                "combinations of a sweep to leave out: each names axes and, of each, one label or a list of them",
            ),
            Field::new(
                "quick",
                Shape::Changes,
                "what `longfat run --quick` changes, to show in short what the experiment shows at length: values by their path, such as \"measure.duration\" = \"10 s\"",
            ),
        ]
    });
    &TABLE
}

pub static PATH: Variants = Variants { what: "path", tag: "preset", default: Some("explicit"), cases: paths };

fn paths() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let link = |name, doc| Field::new(name, Shape::Table(link), doc);
        let bottleneck = Field {
            required: true,
            ..link("bottleneck", "the link (or each of the links) shared by the flows; its queue is one BDP of droptail unless given")
        };
        let edge = Field { required: true, ..link("edge", "the link of each host; its queue never limits unless given") };
        // RF95 §2: a 16-port switch.
        let most = port::MAX_INPUTS as u64;
        let ports = Field::or("ports", count(2, most), Value::Count(16), "of each switch: the most links at it");
        let one_rtt = ParamSpec {
            name: "rtt",
            kind: DELAY,
            default: Some(Value::Auto),
            doc: "base round trip, propagation only: host to host and back",
        };
        vec![
            Case {
                name: "dumbbell",
                doc: "hosts `left1`.. on one side and `right1`.. on the other of one bottleneck between two routers",
                fields: vec![
                    Field::new(
                        "rtt",
                        Shape::OneOrMany(one_rtt),
                        "base round trip, propagation only, host to host and back; a list gives one for each pair. The bottleneck has what the edges leave of the smallest; what a pair has beyond that is on its right edge. Without it the bottleneck's delay stands",
                    ),
                    Field::auto("pairs", count(1, 1000), "pairs of hosts; by default as many as there are rtts"),
                    bottleneck,
                    edge,
                ],
            },
            Case {
                name: "chain",
                doc: "hosts `left` and `right` at the ends of a row of links, routers between them",
                fields: vec![
                    Field::param(ParamSpec {
                        doc: "base round trip, propagation only, host to host and back; what the hops that give a delay leave of it is shared equally by those that do not",
                        ..one_rtt
                    }),
                    Field::required(
                        "hops",
                        Shape::List(&Shape::Table(self::link)),
                        "the links, from left to right. The bottleneck is the one so marked, or the first of the slowest",
                    ),
                    Field::new(
                        "queue",
                        Shape::Variants(&QUEUE),
                        "of each router in front of each of its links, both ways, unless the hop has its own",
                    ),
                ],
            },
            Case {
                name: "parking_lot",
                doc: "routers in a row with a bottleneck between each two; flows from `left` to `right` cross all of them, flows from `in1` to `out1` and so on cross one",
                fields: vec![
                    Field::param(ParamSpec {
                        doc: "base round trip, propagation only, from `left` to `right` and back; what the two edges leave of it is shared equally by the bottlenecks",
                        ..one_rtt
                    }),
                    Field::or("bottlenecks", count(1, 1000), Value::Count(3), "how many in a row"),
                    bottleneck,
                    edge,
                ],
            },
            Case {
                name: "atm",
                doc: "hosts `left1`.. on a cell switch, and host `right1` behind it; or switches in a row, and hosts `right1`.. on the last",
                fields: vec![
                    Field::or("senders", count(1, 1000), Value::Count(1), "hosts `left1`.."),
                    Field::or("receivers", count(1, 1000), Value::Count(1), "hosts `right1`..; one, unless there are several switches"),
                    Field::or("switches", count(1, 100), Value::Count(1), "how many in a row"),
                    Field { doc: "the link from the last switch to `right1`; with several switches, each link between two", ..bottleneck },
                    edge,
                    Field::new(
                        "discard",
                        Shape::Variants(&DISCARD),
                        "of each output port of the switches, unless its link has its own; by default `plain`",
                    ),
                    ports,
                ],
            },
            Case {
                name: "explicit",
                doc: "hosts, routers, switches and links by name",
                fields: vec![
                    Field::required("hosts", Shape::Names, "nodes that end flows; they pass nothing on"),
                    Field::new("routers", Shape::Names, "nodes that pass packets on"),
                    Field::new("switches", Shape::Names, "nodes that pass cells on; their links are of a type that carries cells"),
                    ports,
                    Field::required("link", Shape::List(&Shape::Table(explicit_link)), "the links; each is two ways"),
                ],
            },
        ]
    });
    &TABLE
}

/// One way of a link.
pub fn way() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::auto(
                "type",
                Kind::Choice(&LINK_TYPES),
                "gives rate, overhead, min_frame and mtu, each of which can be changed beside it, and whether packets go in cells; by default `plain`",
            ),
            Field::auto("rate", Kind::Rate, "of framed packets; needed where the type gives none"),
            Field::auto("delay", DELAY, "propagation, one way; by default 0 s, or what the path's rtt leaves"),
            Field::auto("mtu", Kind::Bytes { min: LEAST_MTU, max: 65_535 }, "largest IP packet"),
            Field::auto(
                "overhead",
                Kind::Bytes { min: 0, max: 10_000 },
                "link-layer bytes added to each packet; with cells, in the AAL5 frame",
            ),
            Field::auto("min_frame", Kind::Bytes { min: 0, max: 65_535 }, "least frame, with overhead; shorter ones are padded"),
            Field::new(
                "queue",
                Shape::Variants(&QUEUE),
                "in front of the link; by default one BDP of droptail at a bottleneck, and none that limits (1 GiB) elsewhere",
            ),
            Field::new(
                "discard",
                Shape::Variants(&DISCARD),
                "of the output port of the switch that the link comes from; by default `plain`",
            ),
            Field::new("loss", Shape::Variants(&LOSS), "packets the link loses; by default none"),
            Field::or("bottleneck", Kind::Bool, FALSE, "the link whose utilization heads the report"),
        ]
    });
    &TABLE
}

/// A link both ways.
pub fn link() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = way().to_vec();
        fields.push(Field::new("reverse", Shape::Table(way), "what is different on the way back"));
        fields
    });
    &TABLE
}

/// A link of an explicit path.
pub fn explicit_link() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = vec![
            Field::new("name", Shape::Text, "by default its ends: `a-b`"),
            Field::required("from", Shape::Text, "one end"),
            Field::required("to", Shape::Text, "the other end"),
        ];
        fields.extend(link());
        fields
    });
    &TABLE
}

pub static QUEUE: Variants = Variants { what: "queue", tag: "kind", default: None, cases: queues };

fn queues() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        queue::REGISTRY
            .iter()
            .map(|q| Case { name: q.name, doc: q.summary, fields: q.params.iter().copied().map(Field::param).collect() })
            .collect()
    });
    &TABLE
}

pub static DISCARD: Variants = Variants { what: "discard policy", tag: "kind", default: None, cases: discards };

fn discards() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        discard::REGISTRY
            .iter()
            .map(|d| Case { name: d.name, doc: d.summary, fields: d.params.iter().copied().map(Field::param).collect() })
            .collect()
    });
    &TABLE
}

pub static LOSS: Variants = Variants { what: "loss", tag: "kind", default: None, cases: losses };

fn losses() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        loss::REGISTRY
            .iter()
            .map(|l| Case { name: l.name, doc: l.summary, fields: l.params.iter().copied().map(Field::param).collect() })
            .collect()
    });
    &TABLE
}

pub static CONTROL: Variants = Variants { what: "congestion control", tag: "kind", default: None, cases: controls };

fn controls() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        congestion::REGISTRY
            .iter()
            .map(|c| Case { name: c.name, doc: c.summary, fields: c.params.iter().copied().map(Field::param).collect() })
            .collect()
    });
    &TABLE
}

pub static SIZING: Variants = Variants { what: "window sizing", tag: "kind", default: None, cases: sizings };

fn sizings() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        right_sizing::REGISTRY
            .iter()
            .map(|s| Case { name: s.name, doc: s.summary, fields: s.params.iter().copied().map(Field::param).collect() })
            .collect()
    });
    &TABLE
}

pub static TRAFFIC: Variants = Variants { what: "traffic", tag: "kind", default: None, cases: traffic };

fn traffic() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let volume = ParamSpec {
            name: "volume",
            kind: Kind::Bytes { min: 1, max: 1 << 50 },
            default: None,
            doc: "payload bytes of each connection",
        };
        let interval = ParamSpec {
            name: "interval",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) },
            default: Some(Value::Duration(Duration::from_secs(1))),
            doc: "from one request to the next",
        };
        let size = ParamSpec {
            name: "size",
            kind: Kind::Bytes { min: probe::LEAST_SIZE as u64, max: 65_535 },
            default: Some(Value::Bytes(84)),
            doc: "the whole IP packet, request and reply alike",
        };
        let packet = Field::or("size", Kind::Bytes { min: LEAST_SIZE as u64, max: 65_535 }, Value::Bytes(1500), "the whole IP packet");
        let rate = |name, doc| Field::param(ParamSpec { name, kind: Kind::Rate, default: None, doc });
        let span = |name, doc| Field::param(ParamSpec { name, kind: SOME_TIME, default: None, doc });
        let shape = |name, doc| Field::or(name, SHAPE, Value::Number(1.5), doc);
        vec![
            Case { name: "bulk", doc: "writes without end; the run does not wait for it", fields: vec![] },
            Case {
                name: "ttcp",
                doc: "writes a fixed volume as fast as TCP takes it, then closes; the run ends once all such flows are done",
                fields: vec![Field::param(volume)],
            },
            Case {
                name: "ping",
                doc: "a probe, not TCP: an echo request now and then, which the other end answers; the run does not wait for it",
                fields: vec![Field::param(interval), Field::param(size)],
            },
            Case {
                name: "udp",
                doc: "UDP at a constant rate, or on and off at even times; the run does not wait for it",
                fields: vec![
                    rate("rate", "of IP packets, while on"),
                    packet,
                    Field::auto("on", SOME_TIME, "how long it sends before each pause; by default it does not pause"),
                    Field::auto("off", SOME_TIME, "how long each pause is"),
                ],
            },
            Case {
                name: "sinusoid",
                doc: "UDP at mean + amplitude sin(2 pi t / period), t from the start of the flow; the run does not wait for it",
                fields: vec![
                    rate("mean", "mean rate of IP packets"),
                    rate("amplitude", "how far the rate goes above and below the mean; at most the mean"),
                    span("period", "of the sine"),
                    packet,
                ],
            },
            Case {
                name: "on_off",
                doc: "UDP on and off for random times with heavy tails: many together are long-range dependent; the run does not wait for it",
                fields: vec![
                    rate("rate", "of IP packets, while on"),
                    packet,
                    span("on", "mean of the times it is on"),
                    span("off", "mean of the times it is off"),
                    shape("on_shape", "shape of the Pareto distribution of the times on; the variance is infinite below 2"),
                    shape("off_shape", "the same of the times off"),
                ],
            },
            Case {
                name: "writes",
                doc: "writes over TCP at a rate of its own, whatever TCP has sent of it; the run does not wait for it",
                fields: vec![
                    rate("rate", "mean, of payload written"),
                    Field::or("size", Kind::Bytes { min: 1, max: 1 << 30 }, Value::Bytes(1460), "bytes of each write"),
                    Field::or(
                        "gaps",
                        Kind::Choice(&["even", "poisson", "pareto"]),
                        Value::Choice("even"),
                        "time between writes: even (a constant rate), exponential (Poisson arrivals) or Pareto, independent of each other",
                    ),
                    shape("shape", "of Pareto gaps; the variance is infinite below 2"),
                ],
            },
            Case {
                name: "telnet",
                doc: "someone types: `writes` with Poisson gaps, said by their mean; the run does not wait for it",
                fields: vec![
                    span("interval", "mean time from one write to the next; its distribution is exponential"),
                    Field::or("size", Kind::Bytes { min: 1, max: 65_535 }, Value::Bytes(1), "payload of each write"),
                ],
            },
            Case {
                name: "web",
                doc: "transfers of random size over one TCP connection, with time to think between them; the run does not wait for it",
                fields: vec![
                    Field::param(ParamSpec {
                        name: "size",
                        kind: Kind::Bytes { min: 1, max: 1 << 40 },
                        default: None,
                        doc: "mean payload of a transfer; its distribution is Pareto",
                    }),
                    Field::or("shape", SHAPE, Value::Number(1.2), "shape of that distribution; the variance is infinite below 2"),
                    span("think", "mean time from the acknowledgment of a transfer's last byte to the next transfer"),
                    Field::auto("think_shape", SHAPE, "shape of the Pareto distribution of that time; by default it is exponential"),
                ],
            },
        ]
    });
    &TABLE
}

/// What can be said of one end of a connection: the stack, and every parameter of TCP.
pub fn endpoint() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let buffer = options::PARAMS.iter().find(|p| p.name == "send_buffer").map_or(Kind::Bool, |p| p.kind);
        let mut fields = vec![
            Field::auto("stack", Kind::Choice(&STACKS), "named set of parameters to start from; by default `rfc`"),
            Field::auto(
                "window",
                buffer,
                "send_buffer and receive_buffer at once: the largest window; \"auto\": as large as the path makes it, by `window_sizing`, which is `drs` then unless it is given",
            ),
        ];
        // Without a value the stack decides.
        fields.extend(options::PARAMS.iter().map(|p| match p.name {
            "congestion_control" => Field::new(p.name, Shape::Variants(&CONTROL), p.doc),
            "window_sizing" => Field::new(p.name, Shape::Variants(&SIZING), p.doc),
            _ => Field::auto(p.name, p.kind, p.doc),
        }));
        fields
    });
    &TABLE
}

/// A group of connections.
pub fn flow() -> &'static [Field] {
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
            Field::or("start", TIME, NO_TIME, "when the first sender connects"),
            Field::or("stagger", TIME, NO_TIME, "time from one sender's start to the next one's"),
            Field::auto("stop", SOME_TIME, "when the application stops, and closes; by default it goes on until the run ends"),
            Field::auto("read_rate", Kind::Rate, "payload that the receiving application reads in a second; by default all, at once"),
            Field::new("traffic", Shape::Variants(&TRAFFIC), "what the sending application does; by default `bulk`"),
            Field::new("receiver", Shape::Table(endpoint), "what is different at the listening end"),
        ];
        fields.extend(endpoint());
        fields
    });
    &TABLE
}

/// A host, or several alike.
pub fn host() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let cycles = Kind::Count { unit: "cycles", min: 0, max: 1_000_000_000 };
        let packet = |name, doc| Field::or(name, cycles, Value::Count(0), doc);
        let byte = |name, doc| Field::or(name, Kind::Number { min: 0.0, max: 1e6 }, Value::Number(0.0), doc);
        vec![
            Field::required("name", Shape::Names, "a host, a group of them (`left`, `right`, `in`, `out`) or a list"),
            Field::auto(
                "txqueuelen",
                Kind::Count { unit: "packets", min: 1, max: 1_000_000_000 },
                "length of the transmit queue in front of each of its links; by default it has room for all",
            ),
            Field::or(
                "on_full",
                Kind::Choice(&["stall", "wait", "drop"]),
                Value::Choice("stall"),
                "what becomes of TCP's segment when that is full: not sent and taken as congestion (Linux 2.4), kept until there is room, or lost",
            ),
            Field::auto(
                "cpu",
                Kind::Count { unit: "MHz", min: 1, max: 1_000_000 },
                "clock of the processor that serves its packets one after the other; by default they take no time",
            ),
            packet("send_packet", "to send a packet, whatever its size"),
            byte("send_byte", "cycles for each byte of a packet sent (IP)"),
            packet("receive_packet", "to receive a packet"),
            byte("receive_byte", "cycles for each byte of a packet received (IP)"),
            Field::auto(
                "overhead",
                SOME_TIME,
                "each packet it sends is held for a random time, even between none and this, and none overtakes another",
            ),
            Field::auto(
                "memory",
                Kind::Bytes { min: 1, max: 1 << 50 },
                "for the data that its connections have written and not got acknowledged, and received and not read (payload); by default it has room for all",
            ),
            Field::auto(
                "memory_min",
                Kind::Bytes { min: 1, max: 1 << 30 },
                "what each end of a connection has of it at least, to send, and as much to receive; by default two segments",
            ),
        ]
    });
    &TABLE
}

/// Duration and recording.
pub fn measure() -> &'static [Field] {
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
        ]
    });
    &TABLE
}
