//! A proxy: a host that reads one connection and writes to another what it reads (a split connection, RFC 3135 section 2.4).
//!
//! The send buffer of the second connection bounds what the proxy reads. While that is full, what arrives on the first stays unread, and
//! its receive window closes.

use longfat_core::time::Time;
use longfat_core::traffic::{Application, Socket, Wait};
use longfat_model::Experiment;

use super::{Agent, Host};

/// The application of a relay's second connection: it opens it, and the host writes.
#[derive(Debug)]
pub(crate) struct Opens;

impl Application for Opens {
    fn act(&mut self, _now: Time, _socket: &mut dyn Socket) -> Wait {
        Wait::FOR_EVER
    }
}

impl Host {
    /// Joins the two ends of each relay of `experiment` at this host.
    pub(super) fn join_relays(&mut self, experiment: &Experiment) {
        for (first, second) in experiment.relays() {
            let place = |end: usize| self.members.iter().position(|member| member.endpoint.number == end);
            let (Some(reads), Some(writes)) = (place(2 * first + 1), place(2 * second)) else { continue };
            self.members[reads].relay = Some(writes);
            self.members[writes].relay = Some(reads);
            if let Agent::Tcp(tcp) = &mut self.members[reads].endpoint.agent {
                tcp.set_auto_read(false);
            }
        }
    }

    /// Moves what has arrived on one connection to the other, as far as its send buffer has room, and the end of the stream after the last
    /// byte. Returns the other end if the member `number` is one of a relay and something was moved.
    pub(super) fn relay(&mut self, number: usize) -> Option<usize> {
        let other = self.members[number].relay?;
        let is_reader = !self.members[number].endpoint.number.is_multiple_of(2);
        let (reads, writes) = if is_reader { (number, other) } else { (other, number) };
        let [reads, writes] = self.members.get_disjoint_mut([reads, writes]).expect("a relay has two ends");
        let (Agent::Tcp(from), Agent::Tcp(to)) = (&mut reads.endpoint.agent, &mut writes.endpoint.agent) else { return None };
        if !to.is_established() || writes.has_relayed_all {
            return None;
        }
        let memory = to.memory();
        let bytes = from.unread().min(memory.send_buffer.saturating_sub(memory.send_buffered));
        if bytes > 0 {
            to.write(from.read(bytes));
        }
        writes.has_relayed_all = from.end_of_stream() && from.unread() == 0;
        if writes.has_relayed_all {
            to.close();
        }
        (bytes > 0 || writes.has_relayed_all).then_some(other)
    }
}
