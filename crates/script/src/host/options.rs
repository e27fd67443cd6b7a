//! Socket options (socket(7), tcp(7)).

use super::calls::{Attempt, given, words};
use super::{Host, Role};
use crate::syntax::Expression;
use longfat_core::params::Value;

/// Options that change nothing an endpoint alone would show.
const WITHOUT_EFFECT: &[&str] =
    &["SO_REUSEADDR", "SO_REUSEPORT", "SO_DEBUG", "SO_PRIORITY", "SO_MARK", "IP_MTU_DISCOVER", "IPV6_V6ONLY", "IP_BIND_ADDRESS_NO_PORT"];

impl Host {
    /// `[level, name, value, length]`.
    pub(super) fn setsockopt(&mut self, fd: i64, arguments: &[Expression]) -> Attempt {
        let Expression::Word(name) = &arguments[1] else { return Attempt::Unsupported("a socket option by its number".to_owned()) };
        let value = integer(&arguments[2]);
        let early = self.sockets[&fd].role == Role::Fresh || self.connection().is_some_and(|c| !c.is_established()) || !self.owns(fd);
        let socket = self.sockets.get_mut(&fd).expect("checked");
        match (name.as_str(), value) {
            ("TCP_NODELAY", Some(n)) => {
                socket.nodelay = n != 0;
                self.apply(fd);
            }
            ("TCP_CORK", Some(n)) => {
                socket.cork = n != 0;
                self.apply(fd);
            }
            ("SO_SNDBUF", Some(n)) if n > 0 => {
                socket.settings.params.set("send_buffer", Value::Bytes((n as u64).min(1 << 30)));
                if early {
                    self.remake(fd);
                } else {
                    return Attempt::Unsupported("SO_SNDBUF of an established connection".to_owned());
                }
            }
            ("SO_RCVBUF", Some(n)) if n > 0 => {
                if !early {
                    return Attempt::Unsupported("SO_RCVBUF of an established connection".to_owned());
                }
                socket.settings.params.set("receive_buffer", Value::Bytes((n as u64).min(1 << 30)));
                self.remake(fd);
            }
            ("TCP_MAXSEG", Some(n)) if n > 0 => {
                if !early {
                    return Attempt::Unsupported("TCP_MAXSEG of an established connection".to_owned());
                }
                socket.maxseg = Some(n.min(65_535) as u32);
                self.remake(fd);
            }
            ("TCP_CONGESTION", _) => {
                let control = match &arguments[2] {
                    Expression::Text(text) => text.clone(),
                    Expression::List(all) if all.len() == 1 => match &all[0] {
                        Expression::Text(text) => text.clone(),
                        _ => return Attempt::Wrong("TCP_CONGESTION takes a name".to_owned()),
                    },
                    _ => return Attempt::Wrong("TCP_CONGESTION takes a name".to_owned()),
                };
                if !early {
                    return Attempt::Unsupported("TCP_CONGESTION of an established connection".to_owned());
                }
                if !socket.settings.set_control(&control) {
                    return Attempt::Unsupported(format!("the congestion control {control}"));
                }
                self.remake(fd);
            }
            ("SO_LINGER", _) => match &arguments[2] {
                Expression::Record(fields) => {
                    let field = |name: &str| fields.iter().find(|(n, _)| n == name).and_then(|(_, value)| integer(value));
                    let (on, time) = (field("onoff").unwrap_or(0), field("linger").unwrap_or(0));
                    if on != 0 && time != 0 {
                        return Attempt::Unsupported("SO_LINGER with a time".to_owned());
                    }
                    socket.resets = on != 0;
                }
                _ => return Attempt::Wrong("SO_LINGER takes {onoff=1, linger=0}".to_owned()),
            },
            (name, _) if WITHOUT_EFFECT.contains(&name) => {}
            ("SO_SNDBUF" | "SO_RCVBUF" | "TCP_MAXSEG" | "TCP_NODELAY" | "TCP_CORK", _) => {
                return Attempt::Wrong(format!("{name} takes a number, such as [1]"));
            }
            (name, _) => return Attempt::Unsupported(format!("the socket option {name}")),
        }
        Attempt::Returns(0)
    }

    /// `[level, name, value, length]`: the value is what the script expects.
    pub(super) fn getsockopt(&mut self, fd: i64, arguments: &[Expression]) -> Attempt {
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
        let socket = &self.sockets[&fd];
        // socket(7): Linux doubles what is set, and says so.
        let factor = if socket.settings.stack == "linux" { 2 } else { 1 };
        let buffer = |name: &str| (socket.settings.params.integer(name) * factor).min(i64::MAX as u64) as i64;
        let value = match name.as_str() {
            "TCP_NODELAY" => i64::from(socket.nodelay),
            "TCP_CORK" => i64::from(socket.cork),
            "SO_SNDBUF" => buffer("send_buffer"),
            "SO_RCVBUF" => buffer("receive_buffer"),
            "SO_ACCEPTCONN" => i64::from(socket.role == Role::Listener),
            "TCP_MAXSEG" => match self.connection() {
                Some(connection) if connection.is_established() => connection.info().mss as i64,
                // tcp(7): before the handshake, what was set, or the least that every host takes (RFC 9293 §3.7.1).
                _ => socket.maxseg.map_or(536, i64::from),
            },
            _ => return Attempt::Unsupported(format!("the socket option {name}")),
        };
        given(&arguments[2], value)
    }

    /// Tells the connection what can change at any time.
    fn apply(&mut self, fd: i64) {
        let (nodelay, cork) = (self.sockets[&fd].nodelay, self.sockets[&fd].cork);
        if self.owns(fd)
            && let Some(connection) = self.endpoint()
        {
            connection.set_nagle(!nodelay);
            connection.set_cork(cork);
        }
    }

    /// A listener that nobody has called yet is made anew.
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
