//! The shortcut of Weigle and Feng 2001 §II for simulations: fwnd = cwnd, which nothing limits but maxwnd.
//!
//! The sender keeps no more than cwnd asks for. A receiver that knows cwnd without being told does not exist, so this one promises
//! whatever its bounds allow, with or without memory for it: use `drs` where the receiver's memory is the question.

use super::{MAXWND, SendSizing, SendState, SizingKind, check_maxwnd, unbounded};
use crate::TcpConfig;

pub(super) const KIND: SizingKind = SizingKind {
    name: "ideal",
    summary: "fwnd = cwnd, up to maxwnd: the shortcut of the right-sizing study",
    source: "Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, section II",
    params: &[MAXWND],
    check: check_maxwnd,
    most: unbounded,
    send: |config| Some(Box::new(Ideal { buffer: at_first(config) })),
    receive: |_| None,
};

/// Segments that wait beside what the windows let go: the two of limited transmit (RFC 3042), and a full one, without which the sender
/// would be waiting for the application.
pub(super) const SPARE: u64 = 3;

#[derive(Debug)]
pub(super) struct Ideal {
    buffer: u64,
}

/// Returns the buffer needed for the initial window: until the handshake is done there is no other to follow.
pub(super) fn at_first(config: &TcpConfig) -> u64 {
    config.first_window() + SPARE * u64::from(config.mss)
}

impl SendSizing for Ideal {
    fn update(&mut self, state: &SendState) {
        self.buffer = state.needed.min(state.rwnd) + SPARE * state.mss;
    }

    fn buffer(&self) -> u64 {
        self.buffer
    }
}
