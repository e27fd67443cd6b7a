//! The send buffer: what sizes it, the most it may be, and what memory there is for it.

use crate::TcpConfig;
use crate::window_sizing::{self, SendSizing, SendState};

/// Sizes are in bytes of payload.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// Size now.
    size: u64,
    sizing: Option<Box<dyn SendSizing + Send>>,
    /// Most that the application, or the configuration, allows.
    most: u64,
    /// Memory that the host has for it.
    memory: u64,
    /// Offset up to which the application has been able to write, where a writer that found it full waits.
    taken: u64,
}

impl SendBuffer {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        SendBuffer {
            size: window_sizing::send_buffer(config),
            sizing: (window_sizing::kind(config).send)(config),
            most: window_sizing::bounds(config).0,
            memory: u64::MAX,
            taken: u64::MAX,
        }
        .with_taken()
    }

    fn with_taken(self) -> Self {
        let waits = self.sizing.as_ref().is_some_and(|sizing| sizing.wakes_writer_at(self.size) < self.size);
        SendBuffer { taken: if waits { 0 } else { u64::MAX }, ..self }
    }

    /// Offset up to which it reaches when all before `una` is acknowledged.
    #[inline]
    pub(crate) fn reach(&self, una: u64) -> u64 {
        una.saturating_add(self.size).min(self.taken)
    }

    /// All before `una` is acknowledged, and the application has something to write up to `end`: a writer that found the buffer full goes on
    /// once enough of it is free.
    #[inline]
    pub(crate) fn refill(&mut self, una: u64, end: u64) {
        if self.taken < u64::MAX {
            self.wake_writer(una, end);
        }
    }

    fn wake_writer(&mut self, una: u64, end: u64) {
        let Some(sizing) = &self.sizing else { return };
        let is_blocked = end > self.taken;
        if !is_blocked || self.taken.saturating_sub(una) <= sizing.wakes_writer_at(self.size) {
            self.taken = self.taken.max(una.saturating_add(self.size).min(u64::MAX - 1));
        }
    }

    /// Segments are of another size: sizing begins anew, within the same memory.
    pub(crate) fn start_over(&mut self, config: &TcpConfig) {
        self.sizing = (window_sizing::kind(config).send)(config);
        self.most = window_sizing::bounds(config).0;
        self.bound();
    }

    /// Returns the size now.
    #[inline]
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns true if it follows the windows, and wants [`Self::follow`].
    #[inline]
    pub(crate) fn is_sized(&self) -> bool {
        self.sizing.is_some()
    }

    /// The windows may have moved.
    pub(crate) fn follow(&mut self, state: &SendState) {
        if let Some(sizing) = &mut self.sizing {
            sizing.update(state);
        }
        self.bound();
    }

    /// Returns the size that it would have with memory enough.
    pub(crate) fn wanted(&self) -> u64 {
        self.sizing.as_ref().map_or(u64::MAX, |sizing| sizing.buffer()).min(self.most)
    }

    fn bound(&mut self) {
        self.size = self.wanted().min(self.memory);
    }

    /// The application asks for so much.
    pub(crate) fn set_most(&mut self, bytes: u64) {
        self.most = bytes;
        self.bound();
    }

    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// The host has so much memory for it.
    pub(crate) fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
        self.bound();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack;
    use longfat_core::params::Value;

    #[test]
    fn it_is_the_least_of_what_is_wanted_allowed_and_there() {
        let config = TcpConfig { send_buffer: 100_000, ..TcpConfig::new(&stack::named("rfc").params(), 1500) };
        let mut buffer = SendBuffer::new(&config);
        assert_eq!((buffer.size(), buffer.wanted(), buffer.is_sized()), (100_000, 100_000, false));
        buffer.set_memory(30_000);
        assert_eq!((buffer.size(), buffer.wanted()), (30_000, 100_000));
        buffer.set_most(20_000);
        assert_eq!((buffer.size(), buffer.wanted()), (20_000, 20_000));
        buffer.set_memory(u64::MAX);
        buffer.start_over(&config);
        assert_eq!(buffer.size(), 100_000);
        assert_eq!((buffer.reach(0), buffer.reach(70_000)), (100_000, 170_000), "nobody waits");
    }

    /// A writer that found the buffer full is woken when a third of it is free.
    #[test]
    fn a_writer_that_found_it_full_waits_until_a_third_is_free() {
        let config = TcpConfig {
            window_sizing: window_sizing::choice("linux").with(&[("wmem_default", Value::Bytes(30_000))]),
            ..TcpConfig::new(&stack::named("rfc").params(), 1500)
        };
        let mut buffer = SendBuffer::new(&config);
        buffer.refill(0, u64::MAX / 2);
        let reach = |buffer: &mut SendBuffer, una, end| {
            buffer.refill(una, end);
            buffer.reach(una)
        };
        assert_eq!(buffer.reach(0), 30_000);
        assert_eq!(reach(&mut buffer, 9_999, u64::MAX / 2), 30_000, "20,001 bytes are in use");
        assert_eq!(reach(&mut buffer, 10_000, u64::MAX / 2), 40_000);
        assert_eq!(reach(&mut buffer, 19_999, u64::MAX / 2), 40_000);
        // One that has written all that it had does not wait: what it writes later finds room.
        assert_eq!(reach(&mut buffer, 19_999, 40_000), 49_999);
    }
}
