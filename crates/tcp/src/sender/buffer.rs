//! The send buffer: what sizes it, the most it may be, and what memory there is for it.

use crate::TcpConfig;
use crate::window_sizing::{self, SendSizing, SendState};

/// Sizes are in bytes of payload.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// What it holds now.
    size: u64,
    sizing: Option<Box<dyn SendSizing + Send>>,
    /// What the application, or the configuration, allows.
    most: u64,
    /// What the host has for it.
    memory: u64,
}

impl SendBuffer {
    pub fn new(config: &TcpConfig) -> Self {
        SendBuffer {
            size: window_sizing::send_buffer(config),
            sizing: (window_sizing::kind(config).send)(config),
            most: window_sizing::bounds(config).0,
            memory: u64::MAX,
        }
    }

    /// Segments are of another size: sizing begins anew, within the same memory.
    pub fn start_over(&mut self, config: &TcpConfig) {
        self.sizing = (window_sizing::kind(config).send)(config);
        self.most = window_sizing::bounds(config).0;
        self.bound();
    }

    /// What it holds now.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether it follows the windows, and wants [`Self::follow`].
    #[inline]
    pub fn is_sized(&self) -> bool {
        self.sizing.is_some()
    }

    /// The windows may have moved.
    pub fn follow(&mut self, state: &SendState) {
        if let Some(sizing) = &mut self.sizing {
            sizing.update(state);
        }
        self.bound();
    }

    /// What it would be with memory enough.
    pub fn wanted(&self) -> u64 {
        self.sizing.as_ref().map_or(u64::MAX, |sizing| sizing.buffer()).min(self.most)
    }

    fn bound(&mut self) {
        self.size = self.wanted().min(self.memory);
    }

    /// The application asks for so much.
    pub fn set_most(&mut self, bytes: u64) {
        self.most = bytes;
        self.bound();
    }

    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The host has so much memory for it.
    pub fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
        self.bound();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack;

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
    }
}
