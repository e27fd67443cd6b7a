//! Access for tests to a connection, and the invariants that they check.

use super::{Connection, State};
use crate::congestion::CongestionControl;

impl Connection {
    /// The receiver gives up what it holds out of order, as RFC 2018 §8 allows it.
    pub(crate) fn renege(&mut self) {
        self.receiver.renege();
    }

    /// Replaces the control from here on.
    pub(crate) fn set_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        self.outlet().set_control(control);
    }

    /// Checks the invariants that hold between any two calls.
    pub(crate) fn assert_invariants(&self) {
        if let Some(sender) = self.sending.sender() {
            sender.assert_invariants(self.syn_now || self.state == State::Closed);
        }
    }
}
