//! The window that repair keeps to in place of the control's: while a recovery with SACK goes on, and while a window comes down with
//! nothing lost.

use crate::prr::Prr;

#[derive(Debug)]
pub(super) struct Steering {
    by: By,
    window: u64,
}

#[derive(Debug)]
enum By {
    /// The control's window as it is.
    Control,
    /// PRR, in a recovery.
    Recovery(Prr),
    /// PRR, with nothing lost.
    Easing(Prr),
}

impl Steering {
    pub(super) const NONE: Self = Steering { by: By::Control, window: 0 };

    /// PRR counts bytes: what a short segment delivered need not make room for a whole one. One segment may always be in flight (the loss
    /// window of RFC 5681 §3.1), or a recovery whose pipe is empty would wait for the timer.
    #[inline]
    pub(super) fn window(&self, mss: u64) -> u64 {
        self.window.max(mss)
    }

    /// With nothing lost the window comes down by `prr`, from what is in the `pipe`.
    pub(super) fn ease(&mut self, prr: Prr, pipe: u64) {
        (self.by, self.window) = (By::Easing(prr), pipe);
    }

    #[inline]
    pub(super) fn eases(&self) -> bool {
        matches!(self.by, By::Easing(_))
    }

    /// A recovery with SACK begins. What was coming down goes on as it was; if nothing was, PRR begins now, where there is one.
    pub(super) fn recover(&mut self, prr: impl FnOnce() -> Option<Prr>) {
        self.by = match std::mem::replace(&mut self.by, By::Control) {
            By::Easing(prr) => By::Recovery(prr),
            _ => prr().map_or(By::Control, By::Recovery),
        };
    }

    /// The control's window holds again.
    pub(super) fn stop(&mut self) {
        self.by = By::Control;
    }

    /// `delivered` more bytes have arrived, `pipe` are in flight. `safe`: the left edge moved, and no loss showed.
    pub(super) fn on_ack(&mut self, delivered: u64, pipe: u64, safe: bool, cwnd: impl FnOnce() -> u64) {
        self.window = match &mut self.by {
            By::Recovery(prr) | By::Easing(prr) => prr.on_ack(delivered, pipe, safe),
            By::Control => cwnd(),
        };
    }

    /// `bytes` were sent.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u64) {
        if let By::Recovery(prr) | By::Easing(prr) = &mut self.by {
            prr.sent(bytes);
        }
    }
}
