//! The send buffer: how it follows the windows, and what memory there is for it.

use super::Sender;
use crate::window_sizing::SendState;
use longfat_core::time::Time;

impl Sender {
    /// The state may have changed: sizes the send buffer.
    #[inline]
    pub(crate) fn size_buffer(&mut self, now: Time) {
        if self.sizing.is_some() {
            self.follow_window(now);
        }
    }

    #[inline(never)]
    fn follow_window(&mut self, now: Time) {
        let cwnd = self.window();
        let state = SendState {
            now,
            cwnd,
            ssthresh: self.control.ssthresh(),
            needed: self.board.outstanding() + cwnd.saturating_sub(self.board.pipe()),
            rwnd: self.rwnd(),
            una: self.board.una(),
            mss: self.mss,
            round: self.round,
            srtt: self.rtt.srtt(),
        };
        if let Some(sizing) = &mut self.sizing {
            sizing.update(&state);
        }
        self.bound_buffer();
    }

    /// What the send buffer would be with memory enough.
    pub(crate) fn wanted_buffer(&self) -> u64 {
        self.sizing.as_ref().map_or(u64::MAX, |sizing| sizing.buffer()).min(self.most_buffer)
    }

    pub(super) fn bound_buffer(&mut self) {
        self.send_buffer = self.wanted_buffer().min(self.memory);
    }

    /// The application asks for so much.
    pub fn set_most_buffer(&mut self, bytes: u64) {
        self.most_buffer = bytes;
        self.bound_buffer();
    }

    /// What memory the host has for the send buffer.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The host has so much memory for the send buffer.
    pub fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
        self.bound_buffer();
    }
}
