//! System calls (socket(2), tcp(7) and the pages they name).

use super::{Host, Role, Socket};
use crate::settings::IpVersion;
use crate::syntax::{Call, Expression};
use longfat_core::time::{Duration, Time};
use longfat_tcp::{Abort, Connection, State};
use std::collections::BTreeMap;

/// Outcome of a call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Attempt {
    Returns(i64),
    Fails(&'static str),
    /// Not yet done; `Some`: try again at that time at the latest.
    Blocks(Option<Time>),
    /// Result differs from the script's: the expected and the actual one.
    Differs(String),
    /// Mistake of the script.
    Wrong(String),
    Unsupported(String),
}

/// Progress of a call that is tried more than once.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Progress {
    pub(super) begun: Option<Time>,
    pub(super) bytes: u64,
}

use Attempt::{Blocks, Fails, Returns, Unsupported, Wrong};

/// Returns the new file descriptor: the one in the script. If the script expects anything else, it expects an error.
fn new_fd(call: &Call) -> i64 {
    match call.result {
        Expression::Integer(fd) if fd >= 0 => fd,
        _ => 3,
    }
}

impl Host {
    /// Tries `call`. A call that blocks is tried again with the same `progress`.
    pub(crate) fn attempt(&mut self, now: Time, call: &Call, progress: &mut Progress) -> Attempt {
        let attempt = self.make_call(now, call, progress);
        self.follow(now);
        attempt
    }

    fn make_call(&mut self, now: Time, call: &Call, progress: &mut Progress) -> Attempt {
        match call.name.as_str() {
            "socket" => return self.socket(call),
            "poll" => return self.poll(now, call, progress),
            _ => {}
        }
        let wants = match call.name.as_str() {
            "close" => 1,
            "listen" | "shutdown" => 2,
            "bind" | "connect" | "accept" | "accept4" | "read" | "write" | "send" | "recv" | "sendto" | "recvfrom" => 3,
            "fcntl" | "ioctl" | "sendmsg" | "recvmsg" | "writev" | "readv" => 2,
            "setsockopt" | "getsockopt" => 5,
            name => return Unsupported(format!("the system call {name}")),
        };
        if call.arguments.len() < wants {
            return Wrong(format!("{} takes {wants} arguments or more", call.name));
        }
        let Expression::Integer(fd) = call.arguments[0] else {
            return Wrong(format!("{} needs a file descriptor first", call.name));
        };
        if !self.sockets.contains_key(&fd) {
            return Fails("EBADF");
        }
        let argument = |i: usize| call.arguments.get(i).cloned().unwrap_or(Expression::Anything);
        match call.name.as_str() {
            "bind" => Returns(0),
            "listen" => self.listen(fd),
            "accept" | "accept4" => self.accept(fd, call),
            "connect" => self.connect(now, fd, progress),
            "close" => self.close(now, fd, progress),
            "shutdown" => self.shutdown(fd, &argument(1)),
            "fcntl" => self.fcntl(fd, &call.arguments[1..]),
            "ioctl" => self.ioctl(fd, &call.arguments[1..]),
            "setsockopt" => self.setsockopt(now, fd, &call.arguments[1..]),
            "getsockopt" => self.getsockopt(now, fd, &call.arguments[1..]),
            "read" | "recv" | "recvfrom" => self.read(fd, &argument(2), &argument(3), progress),
            "write" | "send" | "sendto" => self.write(fd, &argument(2), &argument(3), progress),
            "readv" => self.read(fd, &vector_len(&argument(1)), &Expression::Integer(0), progress),
            "writev" => self.write(fd, &vector_len(&argument(1)), &Expression::Integer(0), progress),
            "recvmsg" => self.read(fd, &message_len(&argument(1)), &argument(2), progress),
            _ => self.write(fd, &message_len(&argument(1)), &argument(2), progress),
        }
    }

    fn socket(&mut self, call: &Call) -> Attempt {
        if let Some(kind) = call.arguments.get(1)
            && !words(kind).is_some_and(|all| all.iter().any(|w| w == "SOCK_STREAM"))
        {
            return Unsupported("a socket that is not SOCK_STREAM".to_owned());
        }
        if let Some(Expression::Word(protocol)) = call.arguments.get(2)
            && protocol != "IPPROTO_TCP"
        {
            return Unsupported(format!("a socket of {protocol}"));
        }
        if let (Some(Expression::Word(family)), IpVersion::V4) = (call.arguments.first(), self.settings.ip)
            && family == "AF_INET6"
        {
            return Wrong("AF_INET6 with --ip_version=ipv4".to_owned());
        }
        let fd = new_fd(call);
        let nonblocking = call.arguments.get(1).and_then(words).is_some_and(|all| all.iter().any(|w| w == "SOCK_NONBLOCK"));
        let socket = Socket {
            role: Role::Fresh,
            nonblocking,
            nodelay: false,
            cork: false,
            linger: None,
            low_water: 1,
            quick_ack: None,
            max_pacing_rate: None,
            window_clamp: None,
            kept: BTreeMap::new(),
            write_shut: false,
            read_shut: false,
            settings: self.settings.clone(),
            maxseg: None,
            error: None,
            error_told: false,
        };
        self.sockets.insert(fd, socket);
        Returns(fd)
    }

    fn listen(&mut self, fd: i64) -> Attempt {
        if self.endpoint.is_some() {
            return Unsupported("a second connection or listener".to_owned());
        }
        self.sockets.get_mut(&fd).expect("checked").role = Role::Listener;
        self.make(fd, true);
        Returns(0)
    }

    fn accept(&mut self, fd: i64, call: &Call) -> Attempt {
        if self.sockets[&fd].role != Role::Listener {
            return Fails("EINVAL");
        }
        let ready = self.endpoint.as_ref().is_some_and(|(owner, c)| *owner == fd && is_open(c) && c.aborted().is_none());
        if !ready {
            return if self.sockets[&fd].nonblocking { Fails("EAGAIN") } else { Blocks(None) };
        }
        let child = new_fd(call);
        let flags = call.arguments.get(3).and_then(words).unwrap_or_default();
        let nonblocking = call.name == "accept4" && flags.iter().any(|w| w == "SOCK_NONBLOCK");
        let socket = Socket { role: Role::Connection, nonblocking, ..self.sockets[&fd].clone() };
        self.sockets.insert(child, socket);
        self.endpoint.as_mut().expect("it is ready").0 = child;
        Returns(child)
    }

    fn connect(&mut self, now: Time, fd: i64, progress: &mut Progress) -> Attempt {
        match (self.sockets[&fd].role, progress.begun) {
            (Role::Listener, _) => return Fails("EISCONN"),
            (Role::Fresh, _) if self.endpoint.is_some() => return Unsupported("a second connection".to_owned()),
            (Role::Fresh, _) => {
                self.open(fd);
                progress.begun = Some(now);
                return if self.sockets[&fd].nonblocking { Fails("EINPROGRESS") } else { Blocks(None) };
            }
            (Role::Connection, _) => {}
        }
        self.note_error();
        let Some(connection) = self.connection() else { return Fails("ECONNABORTED") };
        match (connection.state(), progress.begun) {
            (State::SynSent | State::SynReceived, None) => Fails("EALREADY"),
            (State::SynSent | State::SynReceived, Some(_)) => Blocks(None),
            (State::Closed, _) => self.take_error(fd).map_or(Fails("ECONNABORTED"), Fails),
            (_, Some(_)) => Returns(0),
            (_, None) => Fails("EISCONN"),
        }
    }

    /// The socket's SYN is due.
    pub(super) fn open(&mut self, fd: i64) {
        self.sockets.get_mut(&fd).expect("checked").role = Role::Connection;
        self.make(fd, false);
    }

    fn close(&mut self, now: Time, fd: i64, progress: &mut Progress) -> Attempt {
        let (role, linger) = (self.sockets[&fd].role, self.sockets[&fd].linger);
        let first = progress.begun.is_none();
        let begun = *progress.begun.get_or_insert(now);
        if let Some((owner, connection)) = &mut self.endpoint
            && *owner == fd
        {
            if first && (role == Role::Listener || linger == Some(Duration::ZERO)) {
                connection.abort();
            } else if first {
                connection.release();
            }
            // socket(7), SO_LINGER: until all is sent and acknowledged, or the time has passed.
            let waits = role == Role::Connection && connection.state() != State::Closed && !connection.all_acked();
            if let Some(until) = linger.map(|time| begun.saturating_add(time)).filter(|until| waits && now < *until) {
                return Blocks(Some(until));
            }
        }
        self.sockets.remove(&fd);
        Returns(0)
    }

    fn shutdown(&mut self, fd: i64, how: &Expression) -> Attempt {
        let (read, write) = match how {
            Expression::Word(w) if w == "SHUT_RD" => (true, false),
            Expression::Word(w) if w == "SHUT_WR" => (false, true),
            Expression::Word(w) if w == "SHUT_RDWR" => (true, true),
            Expression::Integer(n @ 0..=2) => (*n != 1, *n != 0),
            _ => return Wrong("shutdown takes SHUT_RD, SHUT_WR or SHUT_RDWR".to_owned()),
        };
        if !self.is_connected(fd) {
            return Fails("ENOTCONN");
        }
        let socket = self.sockets.get_mut(&fd).expect("checked");
        socket.read_shut |= read;
        socket.write_shut |= write;
        if write {
            self.endpoint().expect("it is connected").close();
        }
        Returns(0)
    }

    fn fcntl(&mut self, fd: i64, arguments: &[Expression]) -> Attempt {
        let socket = self.sockets.get_mut(&fd).expect("checked");
        match (&arguments[0], arguments.get(1)) {
            (Expression::Word(w), _) if w == "F_GETFL" => {
                // <fcntl.h>: O_RDWR and O_NONBLOCK.
                Returns(if socket.nonblocking { 0x802 } else { 0x2 })
            }
            (Expression::Word(w), Some(flags)) if w == "F_SETFL" => {
                socket.nonblocking = match flags {
                    Expression::Integer(n) => n & 0x800 != 0,
                    flags => words(flags).is_some_and(|all| all.iter().any(|w| w == "O_NONBLOCK")),
                };
                Returns(0)
            }
            _ => Unsupported("fcntl but F_GETFL and F_SETFL".to_owned()),
        }
    }

    fn ioctl(&mut self, fd: i64, arguments: &[Expression]) -> Attempt {
        let counts = if self.owns(fd) { self.connection().map(|c| (c.unread(), c.unacked())) } else { None };
        let (unread, (unacked, unsent)) = counts.unwrap_or_default();
        let value = match &arguments[0] {
            // tcp(7).
            Expression::Word(w) if matches!(w.as_str(), "SIOCINQ" | "FIONREAD") => unread,
            Expression::Word(w) if matches!(w.as_str(), "SIOCOUTQ" | "TIOCOUTQ") => unacked,
            Expression::Word(w) if w == "SIOCOUTQNSD" => unsent,
            _ => return Unsupported("ioctl but SIOCINQ, SIOCOUTQ and SIOCOUTQNSD".to_owned()),
        };
        match arguments.get(1) {
            Some(out) => given(out, value as i64),
            None => Returns(0),
        }
    }

    fn poll(&mut self, now: Time, call: &Call, progress: &mut Progress) -> Attempt {
        let (Some(Expression::List(entries)), Some(Expression::Integer(timeout))) = (call.arguments.first(), call.arguments.get(2)) else {
            return Wrong("poll takes [{fd=, events=, revents=}], their number and a timeout in ms".to_owned());
        };
        self.note_error();
        let mut ready = 0;
        let mut differs = None;
        for entry in entries {
            let Expression::Record(fields) = entry else { return Wrong("poll takes {fd=, events=, revents=}".to_owned()) };
            let field = |name: &str| fields.iter().find(|(n, _)| n == name).map(|(_, value)| value);
            let Some(Expression::Integer(fd)) = field("fd") else { return Wrong("an entry of poll needs its fd".to_owned()) };
            let Some(asked) = field("events").and_then(words) else { return Wrong("an entry of poll needs its events".to_owned()) };
            let events = self.events(*fd, &asked);
            ready += i64::from(!events.is_empty());
            if let Some(mut expected) = field("revents").and_then(words) {
                let mut events: Vec<String> = events.iter().map(|e| (*e).to_owned()).collect();
                events.sort();
                expected.sort();
                if events != expected {
                    differs = Some(Attempt::Differs(format!("revents of fd {fd}: {} instead of {}", or(&events), or(&expected))));
                }
            }
        }
        let begun = *progress.begun.get_or_insert(now);
        let due = begun + Duration::from_millis((*timeout).clamp(0, 1_000_000_000) as u64);
        if ready == 0 && *timeout != 0 && (*timeout < 0 || now < due) {
            return Blocks((*timeout > 0).then_some(due));
        }
        differs.unwrap_or(Returns(ready))
    }

    /// Returns the events that poll(2) reports for `fd`.
    fn events(&self, fd: i64, asked: &[String]) -> Vec<&'static str> {
        let Some(socket) = self.sockets.get(&fd) else { return vec!["POLLNVAL"] };
        let connection = self.connection().filter(|_| self.owns(fd));
        let state = connection.map_or(State::Closed, Connection::state);
        let open = connection.is_some_and(is_open);
        let ended = socket.read_shut
            || connection.is_some_and(Connection::end_of_stream)
            || (socket.role == Role::Connection && state == State::Closed);
        let readable = match socket.role {
            Role::Listener => open,
            _ => ended || connection.is_some_and(|c| c.unread() >= socket.low_water),
        };
        let room = connection.is_some_and(|c| c.unacked().0 < socket.settings.setup.params().integer("send_buffer"));
        let writable = socket.role == Role::Connection && ((open && room) || socket.write_shut || state == State::Closed);
        let all = [
            ("POLLIN", readable, true),
            ("POLLRDNORM", readable, true),
            ("POLLOUT", writable, true),
            ("POLLWRNORM", writable, true),
            ("POLLRDHUP", socket.role == Role::Connection && ended, true),
            ("POLLERR", socket.error.is_some(), false),
            ("POLLHUP", socket.role != Role::Listener && (state == State::Closed || (ended && socket.write_shut)), false),
        ];
        all.iter().filter(|(name, is, ask)| *is && (!ask || asked.iter().any(|a| a == name))).map(|(name, ..)| *name).collect()
    }

    /// A reset leaves an error behind: ECONNREFUSED for an attempt to connect, else ECONNRESET; giving up ETIMEDOUT.
    pub(crate) fn note_error(&mut self) {
        if let Some((fd, connection)) = &self.endpoint
            && let Some(abort) = connection.aborted()
            && let Some(socket) = self.sockets.get_mut(fd)
            && !socket.error_told
            && socket.error.is_none()
            && socket.role == Role::Connection
        {
            socket.error = Some(match abort {
                Abort::TimedOut => "ETIMEDOUT",
                Abort::Reset if connection.was_refused() => "ECONNREFUSED",
                Abort::Reset => "ECONNRESET",
            });
        }
    }

    pub(super) fn take_error(&mut self, fd: i64) -> Option<&'static str> {
        let socket = self.sockets.get_mut(&fd)?;
        let error = socket.error.take();
        socket.error_told |= error.is_some();
        error
    }

    pub(super) fn owns(&self, fd: i64) -> bool {
        self.endpoint.as_ref().is_some_and(|(owner, _)| *owner == fd)
    }

    pub(super) fn is_connected(&self, fd: i64) -> bool {
        let open = self.connection().is_some_and(is_open);
        let unread = self.connection().is_some_and(|c| c.unread() > 0);
        self.owns(fd) && self.sockets[&fd].role == Role::Connection && (open || unread)
    }
}

/// True if data may go. RFC 7413 §4.2.2: a server that has taken the data of a SYN may answer before the handshake is done.
fn is_open(connection: &Connection) -> bool {
    let state = connection.state();
    (connection.is_established() && state != State::Closed) || (state == State::SynReceived && connection.opened_fast())
}

/// The words of `A|B`, of a word, of nothing (0).
pub(super) fn words(expression: &Expression) -> Option<Vec<String>> {
    match expression {
        Expression::Word(word) => Some(vec![word.clone()]),
        Expression::Integer(0) => Some(Vec::new()),
        Expression::Or(all) => all.iter().map(words).collect::<Option<Vec<_>>>().map(|all| all.concat()),
        _ => None,
    }
}

fn or(words: &[String]) -> String {
    if words.is_empty() { "0".to_owned() } else { words.join("|") }
}

/// An output of a call: `[5]`, or `...`.
pub(super) fn given(expected: &Expression, value: i64) -> Attempt {
    match expression_value(expected) {
        Some(n) if n != value => Attempt::Differs(format!("it gives {value} instead of {n}")),
        _ => Returns(0),
    }
}

pub(super) fn expression_value(expression: &Expression) -> Option<i64> {
    match expression {
        Expression::Integer(n) => Some(*n),
        Expression::List(all) if all.len() == 1 => expression_value(&all[0]),
        _ => None,
    }
}

/// The bytes of `[{..., 100}, {..., 200}]`.
fn vector_len(expression: &Expression) -> Expression {
    let Expression::List(all) = expression else { return Expression::Anything };
    let one = |e: &Expression| match e {
        Expression::Record(fields) => match fields.last() {
            Some((_, Expression::Integer(n))) => Some(*n),
            _ => None,
        },
        _ => None,
    };
    let sum = all.iter().map(one).try_fold(0_i64, |sum, n| sum.checked_add(n?));
    sum.map_or(Expression::Anything, Expression::Integer)
}

/// The bytes of `{msg_name(...)=..., msg_iov(1)=[{..., 100}], msg_flags=0}`.
fn message_len(expression: &Expression) -> Expression {
    let Expression::Record(fields) = expression else { return Expression::Anything };
    fields.iter().find(|(name, _)| name == "msg_iov").map_or(Expression::Anything, |(_, vector)| vector_len(vector))
}
