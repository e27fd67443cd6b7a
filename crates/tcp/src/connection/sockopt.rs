//! Socket options that an application can set or ask on a connection that is open (socket(7), tcp(7)).

use super::Connection;
use crate::TcpConfig;
use crate::congestion::CongestionControl;
use crate::sender::Sender;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

impl Connection {
    /// Sets whether a partial segment waits while data is unacknowledged (RFC 896); TCP_NODELAY turns it off.
    pub fn set_nagle(&mut self, on: bool) {
        self.outlet().stream.set_nagle(on);
    }

    /// Sets whether partial segments wait in any case: TCP_CORK.
    pub fn set_cork(&mut self, on: bool) {
        self.outlet().stream.set_cork(on);
    }

    /// SO_SNDBUF: bytes written and not acknowledged.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.outlet().buffer.set_most(bytes);
    }

    /// SO_RCVBUF: unread data and window. The window's scale stays as the SYN had it, and what is promised stays promised.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.receiver.set_most_buffer(bytes);
        self.ack_now |= self.receives() && self.receiver.wants_update();
    }

    /// TCP_WINDOW_CLAMP: the most that is advertised, whatever the buffer.
    pub fn clamp_window(&mut self, bytes: u64) {
        self.receiver.clamp = bytes;
        self.ack_now |= self.receives() && self.receiver.wants_update();
    }

    /// SO_MAX_PACING_RATE: what is sent is spaced to this rate at most, also where nothing would be; `None`: no bound.
    pub fn set_max_pacing_rate(&mut self, rate: Option<Rate>) {
        self.outlet().pacer.set_most(rate);
    }

    /// The rate that what is sent is spaced at, if it is.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.ask_sender(Sender::pacing_rate)
    }

    /// The rate at which data last arrived, in bytes of payload a second, where the control has it measured.
    pub fn delivery_rate(&self) -> Option<f64> {
        self.sending.sender()?.delivery_rate()
    }

    /// TCP_QUICKACK: on, a delayed ACK goes now and so many segments are acknowledged at once as at the start of a connection, but one
    /// at least; off, none are.
    pub fn set_quick_ack(&mut self, on: bool) {
        self.receiver.acks.quick = if on { self.config.quick_acks.max(1) } else { 0 };
        self.ack_now |= on && self.receiver.owes_ack();
    }

    /// TCP_CONGESTION: the control of `config`, from here on. `false`: data has been sent, and a control cannot take over another's
    /// window.
    pub fn replace_control(&mut self, now: Time, config: &TcpConfig) -> bool {
        if self.sent_until() > 1 {
            return false;
        }
        let rtt = self.handshake.rtt().filter(|rtt| !rtt.is_zero());
        let established = self.is_established();
        let sender = self.outlet();
        sender.replace_control(config);
        if established {
            sender.established(now, rtt);
        }
        true
    }

    /// Puts another control in the place of the present one, made of it by `wrap`.
    pub fn wrap_control(&mut self, wrap: impl FnOnce(Box<dyn CongestionControl + Send>) -> Box<dyn CongestionControl + Send>) {
        self.outlet().wrap_control(wrap);
    }

    /// The least round trip so far, the SYN's included.
    pub fn min_rtt(&self) -> Option<Duration> {
        let measured = [self.handshake.rtt(), self.sending.sender().map(|sender| sender.stats().rtt_min)];
        measured.into_iter().flatten().filter(|rtt| !rtt.is_zero()).min()
    }

    /// The largest segment that has arrived.
    pub fn largest_received(&self) -> u32 {
        self.receiver.largest_segment()
    }

    /// The packets that the other side says were marked, where it counts them: accurate ECN.
    pub fn marked_packets(&self) -> Option<u64> {
        self.sending.ecn()?.marked_packets()
    }
}
