//! The host under test: its sockets, and the one TCP endpoint behind them.

mod calls;
mod counters;
pub(crate) mod info;
mod input_output;
mod options;

use crate::compare::Sent;
use crate::offload::{self, Frame};
use crate::settings::{Push, Settings};
use counters::Counters;
use longfat_core::packet::{Ecn, Segment, flags};
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use longfat_tcp::{Connection, State};
use std::collections::{BTreeMap, VecDeque};

pub(crate) use calls::{Attempt, Progress};

/// Our initial sequence number: near the end, so that numbers wrap in any script that sends more than 8 KB.
pub(crate) const ISS: u32 = 0xffff_e000;

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
    /// SO_LINGER, if it is on: the time for which a close waits; a time of zero resets.
    linger: Option<Duration>,
    /// SO_RCVLOWAT.
    low_water: u64,
    quick_ack: Option<bool>,
    max_pacing_rate: Option<Rate>,
    window_clamp: Option<u64>,
    /// Options that are kept and do nothing else: IP_TOS, SO_PRIORITY and the like.
    kept: BTreeMap<String, i64>,
    write_shut: bool,
    read_shut: bool,
    /// Settings, with the changes of SO_RCVBUF, TCP_CONGESTION and the like.
    settings: Settings,
    maxseg: Option<u32>,
    /// SO_ERROR, reported once.
    error: Option<&'static str>,
    error_told: bool,
}

#[derive(Debug)]
pub(crate) struct Host {
    sockets: BTreeMap<i64, Socket>,
    /// Settings with which a new socket starts.
    pub settings: Settings,
    /// Connection, with the socket that owns it: the listener until it is accepted.
    endpoint: Option<(i64, Connection)>,
    counters: Counters,
    /// One past the last new byte that has been sent.
    sent_until: u32,
}

impl Host {
    pub(crate) fn new(settings: Settings) -> Self {
        Host { sockets: BTreeMap::new(), settings, endpoint: None, counters: Counters::default(), sent_until: ISS }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.endpoint.as_ref().map(|(_, connection)| connection)
    }

    fn endpoint(&mut self) -> Option<&mut Connection> {
        self.endpoint.as_mut().map(|(_, connection)| connection)
    }

    /// True if there was a socket: sysctls then come too late.
    pub(crate) fn has_sockets(&self) -> bool {
        !self.sockets.is_empty() || self.endpoint.is_some()
    }

    /// Makes the endpoint of `fd`.
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
        if let Some(cookie) = socket.settings.cookie {
            // The client remembers an MSS of the server that is no less than its own.
            connection.set_cookie(cookie, u16::MAX);
        }
        if socket.nodelay {
            connection.set_nagle(false);
        }
        connection.set_cork(socket.cork);
        connection.set_max_pacing_rate(socket.max_pacing_rate);
        connection.clamp_window(socket.window_clamp.unwrap_or(u64::MAX));
        if let Some(on) = socket.quick_ack {
            connection.set_quick_ack(on);
        }
        self.endpoint = Some((fd, connection));
        self.counters = Counters::default();
        self.sent_until = ISS;
    }

    /// The state of the connection may have changed.
    fn follow(&mut self, now: Time) {
        if let Some((_, connection)) = &self.endpoint {
            self.counters.follow(now, connection);
        }
    }

    /// A segment arrives. `false`: there is no endpoint to take it. Where a listener is idle again, it takes a new connection
    /// (`true` in the second place: numbers start anew).
    pub(crate) fn handle(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> (bool, bool) {
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
        self.counters.came(now, segment);
        self.follow(now);
        (true, anew)
    }

    /// Appends the segments that the endpoint sends now to `out`, up to a length of `most`.
    pub(crate) fn transmit(&mut self, now: Time, out: &mut VecDeque<(Time, Sent)>, most: usize) {
        let dscp = self.dscp();
        let Some((_, connection)) = &mut self.endpoint else { return };
        let offloads = self.settings.push == Push::Frames;
        let segments = if offloads { self.settings.offload.segments(connection, self.settings.setup.params()) } else { 1 };
        let mut frame = Frame::default();
        while out.len() <= most {
            let Some((segment, ecn)) = connection.poll_transmit(now) else { break };
            let end = segment.seq.wrapping_add(segment.seq_len());
            let new = segment.len > 0 && end.wrapping_sub(self.sent_until) as i32 > 0;
            if new || segment.has(flags::SYN) {
                self.sent_until = end;
            }
            if let (true, Some((_, last))) = (frame.takes(&segment, new, segments), out.back_mut()) {
                offload::mark(&mut last.segment);
            }
            self.counters.went(now, &segment);
            out.push_back((now, Sent { segment, len: segment.len.into(), ecn, dscp }));
        }
        if let (true, Some((_, last))) = (frame.ends(), out.back_mut()) {
            offload::mark(&mut last.segment);
        }
    }

    /// Returns the differentiated services field of sent packets (RFC 2474 §3): IP_TOS without the ECN field, which is TCP's.
    fn dscp(&self) -> u8 {
        let owner = self.endpoint.as_ref().and_then(|(fd, _)| self.sockets.get(fd));
        let tos = owner.and_then(|s| ["IP_TOS", "IPV6_TCLASS"].iter().find_map(|name| s.kept.get(*name)));
        tos.map_or(0, |tos| (*tos as u8) >> 2)
    }

    /// Returns the time at which the endpoint next acts by itself.
    pub(crate) fn wakes(&self, now: Time) -> Option<Time> {
        let connection = self.connection()?;
        [connection.poll_timeout(), connection.paced_until(now)].into_iter().flatten().min()
    }

    pub(crate) fn timeout(&mut self, now: Time) {
        if let Some(connection) = self.endpoint() {
            connection.handle_timeout(now);
        }
        self.follow(now);
    }
}
