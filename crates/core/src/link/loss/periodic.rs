//! `periodic`: every n-th packet of data is lost. This is the "one loss for each 1/p packets" behind the response functions of RFC 3649
//! appendix A, Kelly (CCR 33(2), 2003) and RFC 9438 §5.1, which have no variance.

use super::{Fate, Loss, LossKind};
use crate::packet::Packet;
use crate::params::{Kind, ParamSpec, Value};
use crate::time::Time;

const MOST: u64 = 1 << 53;

/// The registry entry.
pub(super) const KIND: LossKind = LossKind {
    name: "periodic",
    summary: "every n-th packet that carries data is lost",
    source: "RFC 3649 appendix A; Kelly, Scalable TCP, ACM CCR 33(2), 2003; RFC 9438 section 5.1",
    params: &[
        ParamSpec {
            name: "period",
            kind: Kind::Count { unit: "packets", min: 1, max: MOST },
            default: None,
            doc: "one of so many packets that carry data is lost; others do not count",
        },
        ParamSpec {
            name: "offset",
            kind: Kind::Count { unit: "packets", min: 1, max: MOST },
            default: Some(Value::Auto),
            doc: "the first that is lost; when not given, the one that ends the first period",
        },
    ],
    check: |_| Ok(()),
    build: |params, _| {
        let period = params.integer("period");
        let left = if params.is_auto("offset") { period } else { params.integer("offset") };
        Some(Box::new(Periodic { period, left }))
    },
};

struct Periodic {
    period: u64,
    /// Packets until one is lost, including that one.
    left: u64,
}

impl Loss for Periodic {
    fn on_packet(&mut self, _now: Time, packet: &Packet) -> Fate {
        if packet.len == 0 {
            return Fate::Deliver;
        }
        self.left -= 1;
        if self.left > 0 {
            return Fate::Deliver;
        }
        self.left = self.period;
        Fate::Lose
    }
}
