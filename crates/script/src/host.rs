//! The host under test: its sockets, and the one TCP endpoint behind them.

mod calls;
mod options;

use crate::settings::Settings;
use longfat_core::packet::{Ecn, Segment};
use longfat_core::tcp::{Connection, State};
use longfat_core::time::{Duration, Time};
use std::collections::BTreeMap;

pub use calls::{Attempt, Progress};

/// Our initial sequence number: near the end, so that numbers wrap in any script that sends more than 8 KB.
pub const ISS: u32 = 0xffff_e000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Fresh,
    Listener,
    Connection,
}

#[derive(Clone, Debug)]
struct Socket {
    role: Role,
    nonblocking: bool,
    nodelay: bool,
    cork: bool,
    /// SO_LINGER with a time of zero: close resets.
    resets: bool,
    write_shut: bool,
    read_shut: bool,
    /// What SO_RCVBUF, TCP_CONGESTION and the like changed.
    settings: Settings,
    maxseg: Option<u32>,
    /// SO_ERROR: told once.
    error: Option<&'static str>,
    error_told: bool,
}

#[derive(Debug)]
pub struct Host {
    sockets: BTreeMap<i64, Socket>,
    /// Before any socket is made, what a new one starts from.
    pub settings: Settings,
    /// The connection, with the socket that owns it: the listener until it is accepted.
    endpoint: Option<(i64, Connection)>,
}

impl Host {
    pub fn new(settings: Settings) -> Self {
        Host { sockets: BTreeMap::new(), settings, endpoint: None }
    }

    pub fn connection(&self) -> Option<&Connection> {
        self.endpoint.as_ref().map(|(_, connection)| connection)
    }

    fn endpoint(&mut self) -> Option<&mut Connection> {
        self.endpoint.as_mut().map(|(_, connection)| connection)
    }

    /// Whether there was a socket yet: after that, sysctls come too late.
    pub fn has_sockets(&self) -> bool {
        !self.sockets.is_empty() || self.endpoint.is_some()
    }

    /// The endpoint as `fd` would make it.
    fn make(&mut self, fd: i64, listens: bool) {
        let socket = &self.sockets[&fd];
        let mut config = socket.settings.config(listens);
        if let Some(maxseg) = socket.maxseg {
            // tcp(7), TCP_MAXSEG; the option does not count the timestamps, mss does.
            config.mss = config.mss.min(maxseg.saturating_sub(if config.timestamps { 12 } else { 0 }).max(32));
        }
        let mut connection =
            if listens { Connection::listen(config, ISS, Duration::ZERO) } else { Connection::connect(config, ISS, Duration::ZERO) };
        connection.set_auto_read(false);
        if socket.nodelay {
            connection.set_nagle(false);
        }
        connection.set_cork(socket.cork);
        self.endpoint = Some((fd, connection));
    }

    /// A segment arrives. `false`: there is no endpoint to take it. Where a listener is idle again, it takes a new connection
    /// (`true` in the second place: numbers start anew).
    pub fn handle(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> (bool, bool) {
        let mut anew = false;
        let listener = self.sockets.iter().find(|(_, s)| s.role == Role::Listener).map(|(fd, _)| *fd);
        let idle = self.connection().is_some_and(|c| c.state() == State::Closed);
        let owned = self.endpoint.as_ref().is_some_and(|(fd, _)| self.sockets.get(fd).is_some_and(|s| s.role == Role::Connection));
        if let Some(listener) = listener
            && idle
            && !owned
        {
            self.make(listener, true);
            anew = true;
        }
        let Some(connection) = self.endpoint() else { return (false, anew) };
        connection.handle_segment(now, segment, ecn);
        (true, anew)
    }

    /// What the endpoint sends now, if anything.
    pub fn transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        self.endpoint()?.poll_transmit(now)
    }

    /// When the endpoint next does something by itself.
    pub fn wakes(&self, now: Time) -> Option<Time> {
        let connection = self.connection()?;
        [connection.poll_timeout(), connection.paced_until(now)].into_iter().flatten().min()
    }

    pub fn timeout(&mut self, now: Time) {
        if let Some(connection) = self.endpoint() {
            connection.handle_timeout(now);
        }
    }
}
