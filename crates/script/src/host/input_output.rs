//! Reading and writing (recv(2), send(2), socket(7)).

use super::calls::{Attempt, Progress, words};
use super::{Host, Role};
use crate::syntax::Expression;
use Attempt::{Blocks, Fails, Returns, Unsupported, Wrong};
use longfat_tcp::{FastOpen, State};

impl Host {
    pub(super) fn read(&mut self, fd: i64, len: &Expression, flags: &Expression, progress: &mut Progress) -> Attempt {
        let Expression::Integer(len) = len else { return Wrong("the number of bytes is missing".to_owned()) };
        let len = len.unsigned_abs();
        let flags = words(flags).unwrap_or_default();
        let known = ["MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_PEEK", "MSG_WAITALL"];
        if let Some(flag) = flags.iter().find(|f| !known.contains(&f.as_str())) {
            return Unsupported(format!("reading with {flag}"));
        }
        let flag = |name: &str| flags.iter().any(|f| f == name);
        self.note_error();
        let nonblocking = self.sockets[&fd].nonblocking || flag("MSG_DONTWAIT");
        // recv(2), socket(7): how much there must be, unless the stream ends before.
        let least = if flag("MSG_WAITALL") { len } else { len.min(self.sockets[&fd].low_water) };
        let connected = self.is_connected(fd);
        let Some(connection) = self.endpoint().filter(|_| connected) else {
            return match self.take_error(fd) {
                _ if progress.bytes > 0 => Returns(progress.bytes as i64),
                Some(error) => Fails(error),
                None if self.sockets[&fd].error_told || self.sockets[&fd].read_shut => Returns(0),
                None => Fails("ENOTCONN"),
            };
        };
        let unread = connection.unread().min(len - progress.bytes);
        progress.bytes = match unread {
            _ if flag("MSG_PEEK") => connection.unread().min(len),
            // A call that reads nothing opens no window.
            0 => progress.bytes,
            _ => progress.bytes + connection.read(unread),
        };
        let ended = connection.end_of_stream() || connection.state() == State::Closed;
        if progress.bytes >= least || (progress.bytes > 0 && (ended || nonblocking)) {
            return Returns(progress.bytes as i64);
        }
        match self.take_error(fd) {
            Some(error) => Fails(error),
            None if ended || self.sockets[&fd].read_shut => Returns(0),
            None if nonblocking => Fails("EAGAIN"),
            None => Blocks(None),
        }
    }

    pub(super) fn write(&mut self, fd: i64, len: &Expression, flags: &Expression, progress: &mut Progress) -> Attempt {
        let Expression::Integer(len) = len else { return Wrong("the number of bytes is missing".to_owned()) };
        let len = len.unsigned_abs();
        let flags = words(flags).unwrap_or_default();
        if let Some(flag) = flags.iter().find(|f| !matches!(f.as_str(), "MSG_DONTWAIT" | "MSG_NOSIGNAL" | "MSG_MORE" | "MSG_FASTOPEN")) {
            return Unsupported(format!("writing with {flag}"));
        }
        self.note_error();
        if let Some(error) = self.take_error(fd) {
            return Fails(error);
        }
        let nonblocking = self.sockets[&fd].nonblocking || flags.iter().any(|f| f == "MSG_DONTWAIT");
        let mut connected = self.is_connected(fd);
        // RFC 7413 appendix A.1: the call connects, too, and its data goes with the SYN if there is a cookie.
        if self.sockets[&fd].role == Role::Fresh && flags.iter().any(|f| f == "MSG_FASTOPEN") {
            let fast_open = self.sockets[&fd].settings.config(false).fast_open;
            if fast_open == FastOpen::Off {
                return Fails("EOPNOTSUPP");
            }
            if self.endpoint.is_some() {
                return Unsupported("a second connection".to_owned());
            }
            self.open(fd);
            connected = fast_open != FastOpen::Request && self.sockets[&fd].settings.cookie.is_some();
            if !connected && nonblocking {
                return Fails("EINPROGRESS");
            }
        }
        let socket = &self.sockets[&fd];
        let cork = socket.cork || flags.iter().any(|f| f == "MSG_MORE");
        let buffer = socket.settings.setup.params().integer("send_buffer");
        if socket.write_shut || socket.error_told || socket.role != Role::Connection {
            return Fails("EPIPE");
        }
        if !connected {
            return if nonblocking { Fails("EAGAIN") } else { Blocks(None) };
        }
        let connection = self.endpoint().expect("it is connected");
        connection.set_cork(cork);
        let taken = (len - progress.bytes).min(buffer.saturating_sub(connection.unacked().0));
        if taken > 0 {
            connection.write(taken);
        }
        progress.bytes += taken;
        match progress.bytes {
            n if n == len => Returns(n as i64),
            0 if nonblocking => Fails("EAGAIN"),
            n if nonblocking => Returns(n as i64),
            _ => Blocks(None),
        }
    }
}
