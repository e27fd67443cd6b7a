//! Automatic TCP buffer tuning of the Pittsburgh Supercomputing Center: the send buffer follows cwnd, within a fair share of the
//! sender's memory; the receiver always advertises its socket's maximum.
//!
//! Nothing backs what the receiver promises: that is Weigle and Feng's objection (2001 §V). The share is the host's business, by the
//! demand that each connection shows ([`super::MemoryUse::send_wanted`]).

use super::{MAXWND, Refusal, SendSizing, SendState, SizingKind, check_maxwnd, unbounded};
use crate::TcpConfig;
use longfat_core::params::{Kind, ParamSpec, Value};

const MULTIPLE: Kind = Kind::Number { min: 1.0, max: 64.0 };

pub(super) const KIND: SizingKind = SizingKind {
    name: "auto-psc",
    summary: "PSC's automatic buffer tuning: the send buffer follows cwnd, the receiver advertises its maximum, memory or not",
    source: "Semke, Mahdavi and Mathis, Automatic TCP Buffer Tuning, SIGCOMM 1998",
    params: &[
        MAXWND,
        ParamSpec {
            name: "least",
            kind: MULTIPLE,
            default: Some(Value::Number(2.0)),
            doc: "the send buffer holds at least so many cwnd: one in flight, and one that a recovery sends on from",
        },
        ParamSpec {
            name: "most",
            kind: MULTIPLE,
            default: Some(Value::Number(4.0)),
            doc: "and at most so many: with twice `least`, a halved cwnd leaves the buffer as it is",
        },
    ],
    check: |config| {
        let (least, most) = multiples(config);
        if least > most {
            let sentence = format!("{least} is more than `most`, {most}");
            return Err(Refusal { param: "least", sentence, expected: format!("at most {most}") });
        }
        check_maxwnd(config)
    },
    most: unbounded,
    send: |config| Some(Box::new(AutoPsc::new(config))),
    receive: |_| None,
};

fn multiples(config: &TcpConfig) -> (f64, f64) {
    let params = &config.window_sizing.params;
    (params.number("least"), params.number("most"))
}

#[derive(Debug)]
struct AutoPsc {
    least: f64,
    most: f64,
    buffer: u64,
}

impl AutoPsc {
    fn new(config: &TcpConfig) -> Self {
        let (least, most) = multiples(config);
        // Until the handshake is done: for the initial window.
        AutoPsc { least, most, buffer: (config.first_window() as f64 * most) as u64 }
    }
}

impl SendSizing for AutoPsc {
    fn update(&mut self, state: &SendState) {
        let times = |n: f64| (state.cwnd as f64 * n) as u64;
        self.buffer = self.buffer.clamp(times(self.least), times(self.most));
    }

    fn buffer(&self) -> u64 {
        self.buffer
    }
}
