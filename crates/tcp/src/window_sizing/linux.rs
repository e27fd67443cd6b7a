//! Autotuning as Linux does it, by its documentation (ip-sysctl: `tcp_moderate_rcvbuf`, `tcp_rmem`, `tcp_wmem`,
//! `tcp_adv_win_scale`; socket(7)) and by what is told of its behaviour.
//!
//! The receiver measures how much the application reads in a round trip, and when that is more than ever before makes room for
//! twice as much. The sender makes room for twice its cwnd. Neither gives room back.
//!
//! Not verified, since the documentation does not say: how the round trip is measured (here as `drs` does it), what is added to
//! the doubled amount (here nothing), and what memory pressure does to a window (ip-sysctl, `tcp_mem`: TCP moderates its
//! consumption; here a window does not grow beyond what the host allows, but what it has grown to, it stays).

use super::flight::FlightMeter;
use super::{Answer, Arrival, MAXWND, ReceiveSizing, Refusal, SendSizing, SendState, SizingKind, check_maxwnd};
use crate::TcpConfig;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;

const MEMORY: Kind = Kind::Bytes { min: 4096, max: 1 << 31 };

const fn memory(name: &'static str, bytes: u64, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: MEMORY, default: Some(Value::Bytes(bytes)), doc }
}

pub(super) const KIND: SizingKind = SizingKind {
    name: "linux",
    summary: "Linux autotuning: room for twice what was read in a round trip, and for twice cwnd; buffers only grow",
    source: "Linux Documentation/networking/ip-sysctl: tcp_moderate_rcvbuf, tcp_rmem, tcp_wmem",
    params: &[
        MAXWND,
        memory("rmem_default", 131_072, "tcp_rmem[1]: the receive buffer at the start, of which the window is a half"),
        memory("rmem_max", 6 << 20, "tcp_rmem[2]: the most that it grows to by itself"),
        memory("wmem_default", 16_384, "tcp_wmem[1]: the send buffer at the start, half of it data"),
        memory("wmem_max", 4 << 20, "tcp_wmem[2]: the most that it grows to by itself"),
    ],
    check: |config| {
        for (default, max) in [("rmem_default", "rmem_max"), ("wmem_default", "wmem_max")] {
            let params = &config.window_sizing.params;
            let (start, most) = (params.integer(default), params.integer(max));
            if start > most {
                let sentence = format!("{start} bytes are more than `{max}`");
                return Err(Refusal { param: default, sentence, expected: format!("at most {most} bytes") });
            }
        }
        check_maxwnd(config)
    },
    most: |config| (data(config, "wmem_max"), data(config, "rmem_max")),
    send: |config| Some(Box::new(Send::new(config))),
    receive: |config| Some(Box::new(Receive::new(config))),
};

/// Of buffer memory a half is data: tcp_adv_win_scale = 1 says so of the receive buffer, and socket(7) of both, that they are
/// doubled for bookkeeping.
fn data(config: &TcpConfig, name: &str) -> u64 {
    config.window_sizing.params.integer(name) / 2
}

#[derive(Debug)]
struct Send {
    buffer: u64,
}

impl Send {
    fn new(config: &TcpConfig) -> Self {
        Send { buffer: data(config, "wmem_default") }
    }
}

impl SendSizing for Send {
    fn update(&mut self, state: &SendState) {
        self.buffer = self.buffer.max(2 * state.cwnd);
    }

    fn buffer(&self) -> u64 {
        self.buffer
    }
}

#[derive(Debug)]
struct Receive {
    meter: FlightMeter,
    /// What had been read when the round trip began.
    read: u64,
    /// The most that was read in one, so far.
    space: u64,
    buffer: u64,
    memory: u64,
}

impl Receive {
    fn new(config: &TcpConfig) -> Self {
        let buffer = data(config, "rmem_default");
        Receive { meter: FlightMeter::default(), read: 0, space: buffer / 2, buffer, memory: u64::MAX }
    }
}

impl ReceiveSizing for Receive {
    fn on_established(&mut self, rtt: Duration) {
        self.meter.on_established(rtt);
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        if self.meter.on_arrival(arrival, false).is_some_and(|flight| flight.ends_round) {
            self.space = self.space.max(arrival.read.saturating_sub(self.read));
            self.read = arrival.read;
            self.buffer = self.buffer.max((2 * self.space).min(self.memory));
        }
    }

    fn on_answer(&mut self, answer: &Answer) {
        self.meter.on_answer(answer);
    }

    fn measured(&self) -> (Duration, u64) {
        (self.meter.rtt(), self.space)
    }

    fn on_memory(&mut self, bytes: u64) {
        self.memory = bytes;
    }

    /// Memory is taken when data comes, not when its window is advertised (ip-sysctl, `tcp_mem`: allocated pages count).
    fn keeps_to_memory(&self) -> bool {
        false
    }

    fn buffer(&self) -> u64 {
        self.buffer
    }
}
