//! `traffic`: what the sending application does.

use super::SOME_TIME;
use crate::shape::{Case, Field, Variants};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::probe;
use longfat_core::time::Duration;
use longfat_core::traffic::LEAST_SIZE;
use std::sync::LazyLock;

/// Of a Pareto distribution with a mean.
const SHAPE: Kind = Kind::Number { min: 1.01, max: 100.0 };

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
            Case { name: "bulk", doc: "writes without end; the run does not wait for it", source: "none: longfat's own", fields: vec![] },
            Case {
                name: "ttcp",
                doc: "writes a fixed volume as fast as TCP takes it, then closes; the run ends once all such flows are done",
                source: "Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, section 4.4",
                fields: vec![Field::param(volume)],
            },
            Case {
                name: "ping",
                doc: "a probe, not TCP: an echo request now and then, which the other end answers; the run does not wait for it",
                source: "RFC 792; Bulot, Cottrell and Hughes-Jones, Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks, 2004, section 3",
                fields: vec![Field::param(interval), Field::param(size)],
            },
            Case {
                name: "udp",
                doc: "UDP at a constant rate, or on and off at even times; the run does not wait for it",
                source: "RFC 768",
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
                source: "Bulot, Cottrell and Hughes-Jones, Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks, 2004, sections 3 and 4.5",
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
                source: "Willinger, Taqqu, Sherman and Wilson, Self-Similarity Through High-Variability, IEEE/ACM ToN 5(1), 1997; Cox, Renewal Theory, 1962",
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
                source: "none: longfat's own, for the constant rate, Poisson and Pareto of Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, section III",
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
                source: "Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, appendix A; Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992",
                fields: vec![
                    span("interval", "mean time from one write to the next; its distribution is exponential"),
                    Field::or("size", Kind::Bytes { min: 1, max: 65_535 }, Value::Bytes(1), "payload of each write"),
                ],
            },
            Case {
                name: "web",
                doc: "transfers of random size over one TCP connection, with time to think between them; the run does not wait for it",
                source: "Crovella and Bestavros, Self-Similarity in World Wide Web Traffic: Evidence and Possible Causes, IEEE/ACM ToN 5(6), 1997",
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
