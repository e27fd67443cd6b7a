//! One end of a TCP connection: a kernel socket with an application on it.

use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::AsRawFd;

use longfat_core::time::Time;
use longfat_core::traffic;
use longfat_core::traffic::Program;
use longfat_tcp::ReceiveBy;
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Protocol, Type};

use crate::Error;
use crate::info::{self, Info};
use crate::options::Options;
use crate::sending::Sending;
use crate::sys;

/// Bytes of one read, at most.
const PIECE: u64 = 1 << 20;
/// Bytes of one read that is copied, at most: they stay in the caches of a core.
const COPIED: usize = 1 << 17;

/// A new TCP socket with these options, bound to `local`. In the namespace of this thread.
pub fn socket(options: &Options, local: SocketAddrV4) -> Result<socket2::Socket, Error> {
    let made = || -> io::Result<socket2::Socket> {
        let socket = socket2::Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if let Some(buffers) = options.buffers {
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, buffers.send)?;
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffers.receive)?;
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, buffers.window)?;
        }
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, options.maxseg)?;
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, options.nodelay.into())?;
        if options.user_timeout > 0 {
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, options.user_timeout)?;
        }
        if options.paced {
            // One less than "no bound": the kernel then paces, and nothing is bounded (socket(7), SO_MAX_PACING_RATE).
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, -2)?;
        }
        socket.bind(&local.into())?;
        Ok(socket)
    };
    let socket = made().map_err(|e| Error::system(&format!("a TCP socket at {local} could not be made"), e))?;
    let name = options.control.as_bytes();
    socket.set_tcp_congestion(name).map_err(|e| Error::NoControl { name: options.control.to_owned(), why: e.to_string() })?;
    // The kernel could silently use a default instead.
    let got = socket.tcp_congestion().unwrap_or_default();
    if got.split(|byte| *byte == 0).next() != Some(name) {
        return Err(Error::system("the congestion control of a socket is not the one asked for", String::from_utf8_lossy(&got)));
    }
    Ok(socket)
}

/// Connected socket, and the operations that are pending on it.
#[derive(Debug)]
pub struct Stream {
    /// The socket; there once it is connected, or connecting.
    pub socket: socket2::Socket,
    /// Written by the application, and not yet taken by the socket.
    pub pending: u64,
    /// Taken by the socket.
    pub written: u64,
    /// Read by the application.
    pub read: u64,
    /// The application has said that no more follows; and the kernel was told.
    is_closing: bool,
    /// The kernel was told.
    pub is_shut: bool,
    /// The other end's stream has ended.
    pub has_ended: bool,
    /// The kernel gave the connection up, or it was reset.
    pub failure: Option<io::ErrorKind>,
    /// The most it may advertise, if that is bounded.
    window: Option<i32>,
    /// The last write found the buffer full.
    is_full: bool,
    /// Bytes that it writes, and reads, at one go at most.
    pub burst: u64,
    /// Source of what it writes.
    pub sending: Sending,
    /// Memory into which it copies what it reads; empty: that is thrown away in the kernel.
    into: Vec<u8>,
}

impl Stream {
    /// Makes a stream on `socket`, with nothing written; it advertises at most `window` bytes.
    ///
    /// It is closed when the run ends, or is killed, and not before. What it has not sent by then is thrown away (`SO_LINGER` of zero, socket(7)): else the kernel
    /// would go on to send it for minutes, to nobody, and the memory that it takes would keep the windows of the next runs small.
    pub fn new(socket: socket2::Socket, window: Option<i32>) -> Self {
        // A socket that is gone already has nothing to throw away.
        let _ = socket.set_linger(Some(std::time::Duration::ZERO));
        Stream {
            socket,
            pending: 0,
            written: 0,
            read: 0,
            is_closing: false,
            is_shut: false,
            has_ended: false,
            failure: None,
            window,
            is_full: false,
            burst: u64::MAX,
            sending: Sending::default(),
            into: Vec::new(),
        }
    }

    /// Takes what it reads from the kernel this way.
    pub fn receive_by(&mut self, by: ReceiveBy) {
        self.into = match by {
            ReceiveBy::Truncate => Vec::new(),
            ReceiveBy::Copy => vec![0; COPIED],
        };
    }

    /// Bounds the window again, if the kernel has forgotten it. When it learns from arriving segments how much of a buffer is payload, it
    /// reckons `TCP_WINDOW_CLAMP` anew from the buffer (seen on 6.18), so that only the width of the window's field bounds what is advertised.
    fn hold_window(&self) {
        let Some(window) = self.window else { return };
        let mut clamp = [0; 4];
        let asked = sys::option(&self.socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &mut clamp);
        if asked.is_ok() && i32::from_ne_bytes(clamp) != window {
            // A socket that is closed meanwhile advertises nothing. That the window held is judged at the end.
            let _ = sys::set_option(&self.socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window);
        }
    }

    /// True if it would write if the socket took more.
    pub fn wants_to_write(&self) -> bool {
        self.pending > 0 && self.failure.is_none()
    }

    fn note(&mut self, error: &io::Error) {
        if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected) {
            self.failure = self.failure.or(Some(error.kind()));
        }
    }

    /// Gives the socket as much of the written data as it takes. An application that found the buffer full waits until the kernel says that
    /// there is room (poll(2)): a third of the buffer. An application that tried again at once would keep the buffer full, which
    /// applications do not.
    pub fn flush(&mut self) {
        if self.is_full && !sys::is_writable(&self.socket) {
            return;
        }
        self.is_full = false;
        let end = self.written.saturating_add(self.burst);
        while self.wants_to_write() && self.written < end {
            match self.sending.send(&self.socket, self.pending) {
                Ok(sent) => {
                    self.written += sent as u64;
                    // A stream without end stays one.
                    self.pending -= if self.pending == u64::MAX { 0 } else { sent as u64 };
                }
                Err(error) => {
                    self.is_full = error.kind() == io::ErrorKind::WouldBlock;
                    self.note(&error);
                    break;
                }
            }
        }
        if self.is_closing && self.pending == 0 && !self.is_shut && self.failure.is_none() {
            self.is_shut = self.socket.shutdown(Shutdown::Write).is_ok();
        }
    }

    /// Takes up to `most` bytes that have arrived; returns their number.
    pub fn take(&mut self, most: u64) -> u64 {
        let mut taken = 0;
        while taken < most && !self.has_ended {
            let left = (most - taken).min(PIECE);
            let got = if self.into.is_empty() {
                sys::discard(&self.socket, left)
            } else {
                let into = &mut self.into[..(left as usize).min(COPIED)];
                recv(self.socket.as_raw_fd(), into, MsgFlags::MSG_DONTWAIT).map(|len| len as u64).map_err(io::Error::from)
            };
            match got {
                Ok(0) => self.has_ended = true,
                Ok(len) => taken += len,
                Err(error) => {
                    self.note(&error);
                    break;
                }
            }
        }
        self.read += taken;
        if taken > 0 {
            self.hold_window();
        }
        taken
    }

    /// True if all written data is acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.pending == 0 && sys::unacknowledged(&self.socket) == 0
    }
}

impl traffic::Socket for Stream {
    fn write(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
        self.flush();
    }
    fn close(&mut self) {
        self.is_closing = true;
        self.flush();
    }
    fn stop(&mut self) {
        // Data that the kernel has taken cannot be taken back: the kernel sends it.
        self.pending = 0;
        self.close();
    }
    fn read(&mut self, most: u64) -> u64 {
        self.take(most)
    }
    fn unread(&self) -> u64 {
        sys::unread(&self.socket)
    }
}

/// A program at one end, with the stream it has once it is connected.
#[derive(Debug)]
pub struct End {
    /// Program of the application.
    pub program: Program,
    /// Stream, once it is connected or connecting.
    pub stream: Option<Stream>,
}

impl End {
    /// Returns the kernel's view of the connection, once there is one.
    pub fn info(&self) -> Option<Info> {
        self.stream.as_ref().and_then(|stream| info::of(&stream.socket).ok())
    }

    /// True if the kernel gave the connection up, or it was reset.
    pub fn has_failed(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.failure.is_some())
    }

    /// Lets the program act, if its wait is over.
    pub fn attend(&mut self, now: Time) {
        let Some(stream) = &mut self.stream else { return };
        stream.flush();
        let wait = self.program.wait();
        if wait.until <= now || wait.acked && stream.is_acknowledged() || wait.readable && sys::unread(&stream.socket) > 0 {
            self.program.act(now, stream);
        }
        // An end whose program does not read takes all data at once.
        if !wait.readable {
            stream.take(stream.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::traffic::Socket as _;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn data_is_taken_to_the_byte_whether_it_is_copied_or_not() {
        for by in [ReceiveBy::Truncate, ReceiveBy::Copy] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut to = Stream::new(listener.accept().unwrap().0.into(), None);
            to.receive_by(by);
            let writer = std::thread::spawn(move || from.write_all(&[7; 3 * COPIED + 5]).map(|()| drop(from)));
            let mut taken = to.read(0);
            while !to.has_ended {
                let most = if taken == 0 { 3 } else { u64::MAX };
                let got = to.read(most);
                assert!(got <= most);
                taken += got;
            }
            writer.join().unwrap().unwrap();
            assert_eq!((taken, to.read, to.failure, to.read(1)), (3 * COPIED as u64 + 5, 3 * COPIED as u64 + 5, None, 0), "{by:?}");
            let memory: u64 = to.into.iter().map(|byte| u64::from(*byte)).sum();
            assert_eq!(memory > 0, by == ReceiveBy::Copy, "its memory has the data");
        }
    }

    #[test]
    fn a_control_that_the_kernel_lacks_is_named() {
        let options = Options { control: "nosuch", maxseg: 1460, buffers: None, nodelay: true, user_timeout: 0, paced: false };
        let error = socket(&options, SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap_err();
        assert!(matches!(&error, Error::NoControl { name, .. } if name == "nosuch"), "{error}");
        assert!(error.to_string().starts_with("nosuch: this kernel does not have it ("), "{error}");
    }
}
