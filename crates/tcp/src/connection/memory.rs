//! Use of the host's memory by a connection.

use super::{Connection, Sending};
use crate::window_sizing::MemoryUse;
use longfat_core::packet::Segment;

impl Connection {
    /// Returns this connection's use of its host's memory, and its demand.
    #[inline]
    pub fn memory(&self) -> MemoryUse {
        let received = self.receiver.memory();
        match &self.sending {
            Sending::Active(sender) => sender.memory(received),
            Sending::Silent(silent) => MemoryUse {
                acked: u64::from(self.is_established()),
                send_buffer: silent.wanted_buffer.min(silent.memory),
                send_wanted: silent.wanted_buffer,
                ..received
            },
        }
    }

    /// How much of its host's memory this connection may have: `send` bytes for data written and not acknowledged, `receive` bytes
    /// for data not read and the window beyond it. Without a word, all it asks for.
    ///
    /// The send buffer keeps to it always: the application waits. What the receiver advertises from now on keeps to it where the
    /// window sizing is one that promises only what is there ([`window_sizing::ReceiveSizing::keeps_to_memory`]); `static` and
    /// others promise what they will. A limit below what is promised takes nothing back, since the right edge of a window does not
    /// move left (RFC 9293 §3.8.6.2.1): so a host that hands out memory must count, for each connection, the larger of its limit and of
    /// [`MemoryUse::receive_committed`], and of what is in its send buffer.
    ///
    /// With a limit of less than a segment the connection stands still: a host leaves each at least so much.
    ///
    /// [`window_sizing::ReceiveSizing::keeps_to_memory`]: crate::window_sizing::ReceiveSizing::keeps_to_memory
    pub fn set_memory_limit(&mut self, send: u64, receive: u64) {
        match &mut self.sending {
            Sending::Active(sender) => sender.buffer.set_memory(send),
            Sending::Silent(silent) => silent.memory = send,
        }
        self.ack_now |= self.receiver.set_memory(receive) && self.receives();
    }

    /// Returns true if the advertised window keeps to [`Self::set_memory_limit`].
    pub fn keeps_to_memory(&self) -> bool {
        self.receiver.keeps_to_memory()
    }

    /// How many more bytes this connection would hold if `segment` came now, and the application then read up to `reads`. For a host that
    /// has to find memory for it, or drop it.
    pub fn would_hold(&self, segment: &Segment, reads: u64) -> u64 {
        self.receiver.would_hold(segment, reads)
    }
}
