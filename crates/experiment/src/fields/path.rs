//! `[path]`: hosts, routers, switches and the links between them.

use super::{DELAY, DISCARD, TIME, count, explicit_link, link};
use crate::shape::{Case, Field, QUEUE, Shape, Variants};
use longfat_core::atm::port;
use longfat_core::params::{Kind, ParamSpec, Value};
use std::sync::LazyLock;

pub(crate) static PATH: Variants = Variants { what: "path", tag: "preset", default: Some("explicit"), cases: paths };

fn paths() -> &'static [Case] {
    static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let link = |name, doc| Field::new(name, Shape::Table(link), doc);
        let bottleneck = Field {
            required: true,
            ..link("bottleneck", "the link (or each of the links) shared by the flows; its queue is one BDP of droptail unless given")
        };
        let edge = link(
            "edge",
            "the link of each host; its queue never limits unless given. By default ten times as fast as the bottleneck, with its framing and mtu and without delay",
        );
        let needed = Field { required: true, ..link("edge", "the link of each host; its queue never limits unless given") };
        // RF95 §2: a 16-port switch.
        let most = port::MAX_INPUTS as u64;
        let ports = Field::or("ports", count(2, most), Value::Count(16), "most links per switch");
        let buffers = Field::or(
            "buffers",
            Kind::Choice(&["output", "input"]),
            Value::Choice("output"),
            "of each switch: one buffer in front of each link that leaves it, or one behind each that comes to it",
        );
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
                source: "none: longfat's own; as in Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, Figure 1",
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
                source: "none: longfat's own",
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
                        "queue of each router in front of each of its links, in both directions, unless the hop has its own",
                    ),
                ],
            },
            Case {
                name: "parking_lot",
                doc: "routers in a row with a bottleneck between each two; flows from `left` to `right` cross all of them, flows from `in1` to `out1` and so on cross one",
                source: "none: longfat's own",
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
                source: "Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, section 2 and Figure 1, for one switch; of several: longfat's own",
                fields: vec![
                    Field::or("senders", count(1, 1000), Value::Count(1), "hosts `left1`.."),
                    Field::or("receivers", count(1, 1000), Value::Count(1), "hosts `right1`..; one, unless there are several switches"),
                    Field::or("switches", count(1, 100), Value::Count(1), "how many in a row"),
                    Field { doc: "the link from the last switch to `right1`; with several switches, each link between two", ..bottleneck },
                    needed,
                    Field::new(
                        "discard",
                        Shape::Variants(&DISCARD),
                        "policy of each output port of the switches, unless its link has its own; by default `plain`",
                    ),
                    ports,
                    buffers,
                ],
            },
            Case {
                name: "star",
                doc: "hosts `left1`.. and `right1`.. on one packet switch, the router `switch`",
                source: "none: longfat's own; as in Phanishayee and others, Measurement and Analysis of TCP Throughput Collapse in Cluster-based Storage Systems, FAST 2008, Figure 1",
                fields: vec![
                    Field::or("senders", count(1, 1000), Value::Count(1), "hosts `left1`.."),
                    Field::or("receivers", count(1, 1000), Value::Count(1), "hosts `right1`.."),
                    Field { doc: "the link from the switch to each receiver; its queue is one BDP of droptail unless given", ..bottleneck },
                    Field { doc: "the link of each sender; its queue never limits unless given", ..needed },
                ],
            },
            Case {
                name: "explicit",
                doc: "hosts, routers, switches and links by name",
                source: "none: longfat's own",
                fields: vec![
                    Field::required("hosts", Shape::Names, "nodes that end flows; they do not forward packets"),
                    Field::new("routers", Shape::Names, "nodes that pass packets on"),
                    Field::new("switches", Shape::Names, "nodes that pass cells on; their links are of a type that carries cells"),
                    ports,
                    buffers,
                    Field::required("link", Shape::List(&Shape::Table(explicit_link)), "the links; each is two ways"),
                    Field::new(
                        "move",
                        Shape::List(&Shape::Table(path_change)),
                        "when routes move from a link to another between the same routers",
                    ),
                ],
            },
        ]
    });
    &TABLE
}

/// A route that moves.
pub(crate) fn path_change() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::param(ParamSpec { name: "at", kind: TIME, default: None, doc: "from when on" }),
            Field::required(
                "link",
                Shape::Text,
                "the link whose packets move, both ways: the first in the file of those that join its routers",
            ),
            Field::required("by", Shape::Text, "the link that they take; `link` itself, to go back"),
        ]
    });
    &TABLE
}
