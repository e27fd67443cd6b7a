//! `telnet`: keystrokes of a user.

use super::{SOME_TIME, TrafficKind, nothing_to_check, writes};
use crate::params::{Choice, Kind, ParamSpec, Params, Value};
use crate::units::Rate;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "telnet",
    summary: "someone types: `writes` with Poisson gaps, said by their mean; the run does not wait for it",
    source: "Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, appendix A; Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992",
    params: &[
        ParamSpec {
            name: "interval",
            kind: SOME_TIME,
            default: None,
            doc: "mean time from one write to the next; its distribution is exponential",
        },
        ParamSpec { name: "size", kind: Kind::Bytes { min: 1, max: 65_535 }, default: Some(Value::Bytes(1)), doc: "payload of each write" },
    ],
    check: nothing_to_check,
    canonical: |choice| as_writes(&choice.params),
    ..writes::KIND
};

/// "At random times" (Romanow and Floyd 1995, appendix A) is taken as a Poisson process. Departs from what people type: Danzig and
/// Jamin 1991 (tcplib) and Paxson and Floyd 1995 found gaps with a heavy tail.
fn as_writes(params: &Params) -> Choice {
    let (interval, size) = (params.duration("interval"), params.integer("size"));
    let rate = Rate::from_bps((u128::from(size) * 8_000_000_000_000 / u128::from(interval.as_ps())).max(1) as u64);
    let params = Params::defaults(writes::KIND.params);
    let choice = Choice { kind: writes::KIND.name, params };
    (writes::KIND.canonical)(choice.with(&[("rate", Value::Rate(rate)), ("size", Value::Bytes(size)), ("gaps", Value::Choice("poisson"))]))
}
