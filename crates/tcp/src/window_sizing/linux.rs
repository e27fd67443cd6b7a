//! Autotuning as Linux does it, by its documentation (ip-sysctl: `tcp_moderate_rcvbuf`, `tcp_rmem`, `tcp_wmem`,
//! `tcp_adv_win_scale`; socket(7)) and by what is told of its behaviour.
//!
//! The receiver measures how much the application reads in a round trip. When that is more than ever before, by a share g, the window may be
//! `2 (1 + 2 g)` times it: six times in slow start, where it doubles. The change "tcp: smoother receiver autotuning" (2017) says so of
//! g = 1/4 and 1/2. From what it is to what it may be, the window grows by two bytes for each that arrives, and each segment that lets it
//! grow is acknowledged at once. The sender makes room for the memory of two windows (three with BBR); the whole of its buffer holds data.
//! Neither gives room back. Measured on Linux 6.18 (docs/window-sizing/linux.md).
//!
//! Not verified: how the round trip is measured (here as `drs` does it), and what memory pressure does to a window (ip-sysctl,
//! `tcp_mem`: TCP moderates its consumption; here a window does not grow beyond what the host allows, but what it has grown to, it stays).

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
    summary: "Linux autotuning: room for two to six times what was read in a round trip, and for the memory of two windows; buffers only grow",
    source: "Linux Documentation/networking/ip-sysctl: tcp_moderate_rcvbuf, tcp_rmem, tcp_wmem",
    params: &[
        MAXWND,
        memory("rmem_default", 131_072, "tcp_rmem[1]: the receive buffer at the start, of which the window is a half"),
        memory("rmem_max", 6 << 20, "tcp_rmem[2]: the most that it grows to by itself"),
        ParamSpec {
            name: "rmem_data",
            kind: Kind::Number { min: 0.1, max: 1.0 },
            default: Some(Value::Auto),
            doc: "the share of the receive buffer that is data, once a segment has come. By default the share that Linux 6.6 and later measure, which follows from the mss: 0.63 at an MTU of 1500, 0.71 at 9000; earlier kernels have 0.5",
        },
        memory("wmem_default", 16_384, "tcp_wmem[1]: the send buffer at the start"),
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
    most: |config| {
        let window = half(config, "rmem_default").max(readable(config, "rmem_max"));
        (config.window_sizing.params.integer("wmem_max"), window)
    },
    send: |config| Some(Box::new(Send::new(config))),
    receive: |config| Some(Box::new(Receive::new(config))),
};

/// Returns the half of a receive buffer that is data before a segment has come (ip-sysctl, `tcp_adv_win_scale` = 1).
fn half(config: &TcpConfig, name: &str) -> u64 {
    config.window_sizing.params.integer(name) / 2
}

/// The data that a receive buffer holds once the memory of a segment is known.
fn readable(config: &TcpConfig, name: &str) -> u64 {
    let params = &config.window_sizing.params;
    let share = if params.is_auto("rmem_data") { share_of_data(config.mss) } else { params.number("rmem_data") };
    (params.integer(name) as f64 * share) as u64
}

/// Payload of a full segment over the memory that a driver spends on it: a buffer of 2 KiB, or pages of 4 KiB where it does not fit into
/// one, and 256 bytes of bookkeeping. Measured on Linux 6.18, windows of 6 MiB of memory: 0.625 at an MTU of 1500, 0.711 at 9000
/// (docs/window-sizing/linux.md).
fn share_of_data(mss: u32) -> f64 {
    const SMALL: u32 = 2048;
    const PAGE: u32 = 4096;
    const BOOKKEEPING: u32 = 256;
    // Ethernet, IPv4 and TCP headers with timestamps.
    let packet = mss + 66;
    let buffer = if packet <= SMALL { SMALL } else { packet.div_ceil(PAGE) * PAGE };
    f64::from(mss) / f64::from(buffer + BOOKKEEPING)
}

/// Memory that the send buffer counts for a full segment when it makes room for a window: a buffer of a power of two that holds the payload,
/// its headers and 512 bytes besides, and 256 bytes of bookkeeping. Measured on Linux 6.18 by `SO_SNDBUF` of new connections at every mss
/// from 1436 to 15,988 bytes: 2304 bytes at an MTU of 1500, 16,640 at 9000 (docs/window-sizing/linux.md).
const fn memory_of_segment(mss: u64) -> u64 {
    const TIMESTAMPS: u64 = 12;
    (mss + TIMESTAMPS + 512).next_power_of_two() + 256
}

/// Segments for which the send buffer has room before cwnd is larger.
const LEAST_SEGMENTS: u64 = 10;

#[derive(Debug)]
struct Send {
    buffer: u64,
    /// Windows for which there is room. Measured on Linux 6.18: three with BBR, two with `cubic` and `reno`.
    windows: u64,
}

impl Send {
    fn new(config: &TcpConfig) -> Self {
        let windows = if matches!(config.congestion_control.kind, "bbr" | "bbr3") { 3 } else { 2 };
        Send { buffer: config.window_sizing.params.integer("wmem_default"), windows }
    }
}

impl SendSizing for Send {
    fn update(&mut self, state: &SendState) {
        let segments = state.cwnd.div_ceil(state.mss).max(LEAST_SEGMENTS);
        self.buffer = self.buffer.max(self.windows * segments * memory_of_segment(state.mss));
    }

    fn buffer(&self) -> u64 {
        self.buffer
    }

    /// A writer that found the buffer full, blocked or waiting for `EPOLLOUT`, is woken when a third of it is free. Measured on Linux 6.18.
    fn wakes_writer_at(&self, size: u64) -> u64 {
        size / 3 * 2
    }
}

/// Returns the bytes taken to be read in a round trip before anything is, as `ss` shows it (`rcv_space`): ten segments, but at most the
/// first window less a segment. Measured on Linux 6.18: 56,588 bytes at an MTU of 9000. If it were more than the window lets through, no
/// round trip could bring more, and the window would never grow.
fn first_read(window: u64, mss: u64) -> u64 {
    // The whole segments in a window come to more than this. In a window of less than two segments they come to more than half of it.
    (10 * mss).min(window.saturating_sub(mss).max(window / 2))
}

#[derive(Debug)]
pub(super) struct Receive {
    meter: FlightMeter,
    /// Bytes that had been read when the round trip began.
    read: u64,
    /// The most that was read in one, so far.
    space: u64,
    /// Size that the window may grow to.
    most: u64,
    /// Size that the window may grow to from the first segment on.
    first: u64,
    /// Size that the window has grown to.
    buffer: u64,
    /// Bytes that had arrived before the segment that is looked at; and whether that let the window grow.
    received: u64,
    grew: bool,
    memory: u64,
}

impl Receive {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let buffer = half(config, "rmem_default");
        let space = first_read(buffer, u64::from(config.mss));
        let first = readable(config, "rmem_default");
        Receive { meter: FlightMeter::default(), read: 0, space, most: buffer, first, buffer, received: 0, grew: false, memory: u64::MAX }
    }

    /// `copied` bytes were read in a round trip. What the window may grow to now.
    pub(super) fn on_round(&mut self, copied: u64) -> u64 {
        if copied <= self.space {
            return self.most;
        }
        let (window, more) = (2 * copied as u128, (copied - self.space) as u128);
        let most = window + 2 * window * more / self.space as u128;
        self.most = self.most.max(u64::try_from(most).unwrap_or(u64::MAX).min(self.memory));
        self.space = copied;
        self.most
    }
}

impl ReceiveSizing for Receive {
    fn on_established(&mut self, rtt: Duration) {
        self.meter.on_established(rtt);
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        if self.meter.on_arrival(arrival, false).is_some_and(|flight| flight.ends_round) {
            self.on_round(arrival.read.saturating_sub(self.read));
            self.read = arrival.read;
        }
        self.most = self.most.max(self.first.min(self.memory));
        let before = self.buffer;
        self.buffer = self.most.min(before + 2 * arrival.received.saturating_sub(self.received));
        self.received = arrival.received;
        self.grew = self.buffer > before;
    }

    fn has_news(&self) -> bool {
        self.grew
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{congestion, stack};

    /// `SO_SNDBUF` of a new connection on Linux 6.18, by control and mss: 10 segments of cwnd.
    #[test]
    fn the_send_buffer_of_a_new_connection_is_that_of_a_kernel() {
        let measured = [
            ("cubic", 1436, 46_080),
            ("reno", 1448, 46_080),
            ("bbr", 1448, 69_120),
            ("bbr", 1524, 69_120),
            ("bbr", 1528, 130_560),
            ("bbr", 3572, 130_560),
            ("bbr", 3576, 253_440),
            ("bbr", 8936, 499_200),
            ("bbr", 15_864, 990_720),
        ];
        for (control, mss, expected) in measured {
            let base = TcpConfig::new(&stack::named("linux").params(), 1500);
            let window_sizing = crate::window_sizing::choice("linux");
            let config = TcpConfig { congestion_control: congestion::choice(control), window_sizing, ..base };
            let mut send = Send::new(&config);
            let (now, srtt) = (longfat_core::time::Time::ZERO, Duration::ZERO);
            let cwnd = 10 * mss;
            send.update(&SendState { now, cwnd, ssthresh: u64::MAX, needed: cwnd, rwnd: 1 << 30, una: 1, mss, round: 0, srtt });
            assert_eq!(send.buffer(), expected, "{control}, mss {mss}");
        }
    }
}
