//! Socket options (socket(7), tcp(7)).

use super::calls::{Attempt, expression_value, given, words};
use super::info;
use super::{Host, Role};
use crate::code;
use crate::syntax::Expression;
use longfat_core::params::Value;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use longfat_tcp::Connection;

/// Options that are kept, and that change nothing an endpoint alone would show but for the differentiated services field.
const KEPT: &[&str] = &[
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_DEBUG",
    "SO_PRIORITY",
    "SO_MARK",
    "IP_TOS",
    "IPV6_TCLASS",
    "IP_MTU_DISCOVER",
    "IPV6_V6ONLY",
    "IP_BIND_ADDRESS_NO_PORT",
    // `--set tcp.fast_open` says whether an endpoint knows it.
    "TCP_FASTOPEN",
];
/// socket(7): -1, or all ones in 32 bits, is no bound.
const NO_BOUND: i64 = 0xffff_ffff;

impl Host {
    /// `[level, name, value, length]`.
    pub(super) fn setsockopt(&mut self, now: Time, fd: i64, arguments: &[Expression]) -> Attempt {
        let Expression::Word(name) = &arguments[1] else { return Attempt::Unsupported("a socket option by its number".to_owned()) };
        let value = integer(&arguments[2]);
        let early = self.sockets[&fd].role == Role::Fresh || self.connection().is_some_and(|c| !c.is_established()) || !self.owns(fd);
        let socket = self.sockets.get_mut(&fd).expect("checked");
        match (name.as_str(), value) {
            ("TCP_NODELAY", Some(n)) => {
                socket.nodelay = n != 0;
                // tcp(7): setting it flushes what waits, even under a cork, which later writes are still under.
                self.apply(fd, |connection| {
                    connection.set_nagle(n == 0);
                    if n != 0 {
                        connection.set_cork(false);
                    }
                });
            }
            ("TCP_CORK", Some(n)) => {
                socket.cork = n != 0;
                self.apply(fd, |connection| connection.set_cork(n != 0));
            }
            ("SO_SNDBUF" | "SO_RCVBUF", Some(n)) if n > 0 => {
                let (param, set): (_, fn(&mut Connection, u64)) = match name.as_str() {
                    "SO_SNDBUF" => ("send_buffer", Connection::set_send_buffer),
                    _ => ("receive_buffer", Connection::set_receive_buffer),
                };
                // Linux doubles the value that is set (socket(7)). All of a send buffer may be payload, half of a receive buffer.
                let doubles = name == "SO_SNDBUF" && socket.settings.stack == "linux";
                let bytes = (n as u64 * if doubles { 2 } else { 1 }).min(1 << 30);
                socket.settings.setup.set(param, Value::Bytes(bytes));
                match self.endpoint() {
                    Some(connection) if !early => set(connection, bytes),
                    _ => self.remake(fd),
                }
            }
            ("SO_RCVLOWAT", Some(n)) if n >= 0 => socket.low_water = (n as u64).max(1),
            ("TCP_QUICKACK", Some(n)) => {
                socket.quick_ack = Some(n != 0);
                self.apply(fd, |connection| connection.set_quick_ack(n != 0));
            }
            ("SO_MAX_PACING_RATE" | "TCP_MAX_PACING_RATE", Some(n)) if n >= -1 => {
                // Rate in bytes per second.
                let rate = (0..NO_BOUND).contains(&n).then(|| Rate::from_bps((n as u64 * 8).max(1)));
                socket.max_pacing_rate = rate;
                self.apply(fd, |connection| connection.set_max_pacing_rate(rate));
            }
            ("TCP_WINDOW_CLAMP", Some(n)) if n > 0 => {
                socket.window_clamp = Some(n as u64);
                self.apply(fd, |connection| connection.clamp_window(n as u64));
            }
            ("TCP_MAXSEG", Some(n)) if n > 0 => {
                if !early {
                    return Attempt::Unsupported("TCP_MAXSEG of an established connection".to_owned());
                }
                socket.maxseg = Some(n.min(65_535) as u32);
                self.remake(fd);
            }
            ("TCP_USER_TIMEOUT", Some(n)) if n > 0 => {
                if !early {
                    return Attempt::Unsupported("TCP_USER_TIMEOUT of an established connection".to_owned());
                }
                socket.settings.setup.set("user_timeout", Value::Duration(Duration::from_millis(n as u64)));
                self.remake(fd);
            }
            ("TCP_CONGESTION", _) => {
                let Expression::Text(control) = single(&arguments[2]) else {
                    return Attempt::Wrong("TCP_CONGESTION takes a name".to_owned());
                };
                if !socket.settings.set_control(control) {
                    return Attempt::Unsupported(format!("the congestion control {control}"));
                }
                let config = socket.settings.config(false);
                match self.endpoint() {
                    Some(connection) if !early => {
                        if !connection.replace_control(now, &config) {
                            return Attempt::Unsupported("TCP_CONGESTION of a connection that has sent data".to_owned());
                        }
                    }
                    _ => self.remake(fd),
                }
            }
            ("SO_LINGER", _) => match &arguments[2] {
                Expression::Record(fields) => {
                    let field = |name: &str| fields.iter().find(|(n, _)| n == name).and_then(|(_, value)| integer(value));
                    let (on, time) = (field("onoff").unwrap_or(0), field("linger").unwrap_or(0));
                    socket.linger = (on != 0).then(|| Duration::from_secs(time.clamp(0, 1_000_000) as u64));
                }
                _ => return Attempt::Wrong("SO_LINGER takes {onoff=1, linger=0}".to_owned()),
            },
            (name, value) if KEPT.contains(&name) => {
                socket.kept.extend(value.map(|value| (name.to_owned(), value)));
            }
            (
                "SO_SNDBUF"
                | "SO_RCVBUF"
                | "SO_RCVLOWAT"
                | "TCP_MAXSEG"
                | "TCP_NODELAY"
                | "TCP_CORK"
                | "TCP_QUICKACK"
                | "SO_MAX_PACING_RATE"
                | "TCP_MAX_PACING_RATE"
                | "TCP_WINDOW_CLAMP",
                _,
            ) => {
                return Attempt::Wrong(format!("{name} takes a number, such as [1]"));
            }
            (name, _) => return Attempt::Unsupported(format!("the socket option {name}")),
        }
        Attempt::Returns(0)
    }

    /// `[level, name, value, length]`: the value is what the script expects.
    pub(super) fn getsockopt(&mut self, now: Time, fd: i64, arguments: &[Expression]) -> Attempt {
        let Expression::Word(name) = &arguments[1] else { return Attempt::Unsupported("a socket option by its number".to_owned()) };
        self.note_error();
        if name == "SO_ERROR" {
            let error = self.take_error(fd);
            return match (&arguments[2], error) {
                (expected, None) => given(expected, 0),
                (expected, Some(error)) if words(single(expected)).is_some_and(|w| w == [error]) => Attempt::Returns(0),
                (Expression::Anything, Some(_)) => Attempt::Returns(0),
                (_, Some(error)) => Attempt::Differs(format!("it gives {error}")),
            };
        }
        if name == "TCP_INFO" {
            return self.tcp_info(now, single(&arguments[2]));
        }
        let socket = &self.sockets[&fd];
        if name == "TCP_CONGESTION" {
            let control = socket.settings.setup.params().choice("congestion_control");
            return match single(&arguments[2]) {
                Expression::Text(expected) if expected != control => Attempt::Differs(format!("it gives {control} instead of {expected}")),
                _ => Attempt::Returns(0),
            };
        }
        if name == "SO_LINGER" {
            let seconds = socket.linger.map(|time| (time.as_ps() / 1_000_000_000_000) as i64);
            let expected = |name: &str| match &arguments[2] {
                Expression::Record(fields) => fields.iter().find(|(n, _)| n == name).map_or(&Expression::Anything, |(_, value)| value),
                _ => &Expression::Anything,
            };
            return match given(expected("onoff"), i64::from(seconds.is_some())) {
                Attempt::Returns(_) => given(expected("linger"), seconds.unwrap_or(0)),
                differs => differs,
            };
        }
        let buffer = |name: &str, factor: u64| (socket.settings.setup.params().integer(name) * factor).min(i64::MAX as u64) as i64;
        let value = match name.as_str() {
            "TCP_NODELAY" => i64::from(socket.nodelay),
            "TCP_CORK" => i64::from(socket.cork),
            "SO_SNDBUF" => buffer("send_buffer", 1),
            // The half that is not payload.
            "SO_RCVBUF" => buffer("receive_buffer", if socket.settings.stack == "linux" { 2 } else { 1 }),
            "SO_RCVLOWAT" => socket.low_water as i64,
            "TCP_QUICKACK" => i64::from(socket.quick_ack.unwrap_or(socket.settings.setup.params().integer("quick_acks") > 0)),
            "SO_MAX_PACING_RATE" | "TCP_MAX_PACING_RATE" => socket.max_pacing_rate.map_or(NO_BOUND, |rate| (rate.as_bps() / 8) as i64),
            "TCP_WINDOW_CLAMP" if socket.window_clamp.is_some() => socket.window_clamp.unwrap_or(0) as i64,
            name if KEPT.contains(&name) => socket.kept.get(name).copied().unwrap_or(0),
            "SO_ACCEPTCONN" => i64::from(socket.role == Role::Listener),
            "TCP_MAXSEG" => match self.connection() {
                Some(connection) if connection.is_established() => connection.info().mss as i64,
                // The value before the handshake (tcp(7)): as set, or the least that every host takes (RFC 9293 §3.7.1).
                _ => socket.maxseg.map_or(536, i64::from),
            },
            _ => return Attempt::Unsupported(format!("the socket option {name}")),
        };
        given(&arguments[2], value)
    }

    /// TCP_INFO: the fields that `expected` names, as in a block.
    fn tcp_info(&self, now: Time, expected: &Expression) -> Attempt {
        let Expression::Record(fields) = expected else { return Attempt::Returns(0) };
        for (name, expected) in fields {
            let expected = match expected {
                Expression::Word(word) => match info::lookup(word, self, now) {
                    Some(Ok(code::Value::Int(n))) => Some(n),
                    _ => return Attempt::Wrong(format!("{word} is no value of {name}")),
                },
                other => expression_value(other).map(i128::from),
            };
            match (info::lookup(name, self, now), expected) {
                (None, _) => return Attempt::Wrong(format!("{name} is no field of tcp_info")),
                (Some(Err(why)), _) => return Attempt::Unsupported(why),
                (Some(Ok(value)), Some(n)) if value != code::Value::Int(n) => {
                    return Attempt::Differs(format!("{name} is {value} instead of {n}"));
                }
                _ => {}
            }
        }
        Attempt::Returns(0)
    }

    /// Tells the connection what can change at any time.
    fn apply(&mut self, fd: i64, change: impl FnOnce(&mut Connection)) {
        if self.owns(fd)
            && let Some(connection) = self.endpoint()
        {
            change(connection);
        }
    }

    /// Makes a listener without a connection anew.
    fn remake(&mut self, fd: i64) {
        if self.sockets[&fd].role == Role::Listener && self.owns(fd) {
            self.make(fd, true);
        }
    }
}

fn single(expression: &Expression) -> &Expression {
    match expression {
        Expression::List(all) if all.len() == 1 => &all[0],
        other => other,
    }
}

fn integer(expression: &Expression) -> Option<i64> {
    match single(expression) {
        Expression::Integer(n) => Some(*n),
        _ => None,
    }
}
