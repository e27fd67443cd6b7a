//! How long packets wait in the queue of a link, where somebody asks.

use super::Link;
use crate::quantiles::Quantiles;
use crate::time::Duration;

/// How long packets waited. Those that went straight onto an idle line are counted, not recorded.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Waits of the packets that left.
    spread: Quantiles,
    /// Packets that had left before the first recorded one, and packets in `spread` since.
    before: u64,
    recorded: u64,
}

impl Waits {
    /// A packet leaves the queue, in which it was for so long.
    #[inline]
    pub fn record(&mut self, wait: Duration) {
        self.spread.record(wait);
        self.recorded += 1;
    }
}

impl Link {
    /// How long each packet waits in the queue is to be recorded.
    pub fn record_waits(&mut self) {
        self.waits = Some(Box::default());
    }

    /// Discards the waits recorded so far.
    pub fn forget_waits(&mut self) {
        if let Some(waits) = &mut self.waits {
            **waits = Waits { before: self.count.transmitted, ..Waits::default() };
        }
    }

    /// The waits that the shares `of` of all packets did not exceed that have left the queue since [`Link::forget_waits`] (each from 0 to
    /// 1, rising), within 1/128; `None` where none has, or where they are not recorded.
    pub fn waits<const N: usize>(&self, of: [f64; N]) -> Option<[Duration; N]> {
        let waits = self.waits.as_ref()?;
        waits.spread.at(of, self.count.transmitted - waits.before - waits.recorded)
    }
}
