//! Data connections: sockets with the options that a flow asks for, each read back, since the kernel may do otherwise in silence.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use longfat_host::flow::NOT_SENT;
use longfat_host::{sending, sys};
use longfat_tcp::{ReceiveBy, SendBy};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::Error;
use crate::protocol::message::{Direction, FlowOffer, ReceiveWay, SendWay};
use crate::protocol::{DATA_MAGIC, Token};

/// Bytes that open a data connection.
pub(crate) const OPENING: usize = DATA_MAGIC.len() + Token::LEN;
/// Widest window: 2^16 - 1, scaled by 2^14 (RFC 7323, section 2.3). What a socket has that nobody bounds.
const WIDEST: i32 = 65_535 << 14;
/// Bytes of an option that is a C `int`.
const INT: usize = 4;

/// Settings of one end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Congestion control; `None`: as the host has it.
    pub control: Option<String>,
    /// Bytes of payload that it advertises at most.
    pub window: Option<u64>,
    /// `TCP_MAXSEG`: payload of a segment and its options; `None`: as the path has it.
    pub maxseg: Option<u32>,
    /// True: small segments wait.
    pub nagle: bool,
    /// Codepoint of its packets.
    pub dscp: u8,
    /// Bound of the pacing, in bit/s.
    pub rate: Option<u64>,
    /// Way in which data is sent.
    pub send: SendBy,
}

/// Returns the way that `send` names in a message.
pub(crate) fn send_by(send: SendWay) -> SendBy {
    match send {
        SendWay::Copy => SendBy::Copy,
        SendWay::Sendfile => SendBy::Sendfile,
        SendWay::Zerocopy => SendBy::Zerocopy,
    }
}

/// Returns the way that `receive` names in a message.
pub(crate) fn receive_by(receive: ReceiveWay) -> ReceiveBy {
    match receive {
        ReceiveWay::Truncate => ReceiveBy::Truncate,
        ReceiveWay::Copy => ReceiveBy::Copy,
    }
}

impl Wish {
    /// Returns the settings of the server's end of `flow`, which may send at `rate`.
    pub(crate) fn of(flow: &FlowOffer, rate: Option<u64>) -> Self {
        let send = if flow.direction == Direction::Down { send_by(flow.send) } else { SendBy::Copy };
        Wish { control: flow.control.clone(), window: flow.window, maxseg: None, nagle: flow.nagle, dscp: flow.dscp, rate, send }
    }

    /// Sets all of it on `socket`, which is of `family`.
    ///
    /// # Errors
    /// The key of the flow, and the difference: a control that this host lacks or does not permit, a value that the kernel changed.
    pub(crate) fn set(&self, socket: &Socket, family: Domain) -> Result<(), Error> {
        let system = |what: &str| {
            let what = what.to_owned();
            move |e: io::Error| Error::system(format!("{what} could not be set"), e)
        };
        set_control(socket, self.control.as_deref())?;
        if let Some(window) = self.window {
            let window = i32::try_from(window).unwrap_or(i32::MAX);
            sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window).map_err(system("TCP_WINDOW_CLAMP"))?;
            let got = integer(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP);
            if got != Some(window) {
                let what = format!("a window of {window} bytes became {} bytes at this kernel: ask for that", got.unwrap_or(0));
                return Err(Error::unsupported("flow.window", what));
            }
        }
        if let Some(maxseg) = self.maxseg {
            let what = |e| Error::unsupported("flow.mss", format!("the kernel does not take TCP_MAXSEG of {maxseg} bytes ({e})"));
            sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, maxseg as i32).map_err(what)?;
        }
        sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, (!self.nagle).into()).map_err(system("TCP_NODELAY"))?;
        sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, NOT_SENT).map_err(system("TCP_NOTSENT_LOWAT"))?;
        mark(socket, family, self.dscp)?;
        let refused = |e| Error::unsupported("flow.send", format!("the kernel of {} does not send without a copy ({e})", host()));
        sending::allow(socket, self.send).map_err(refused)?;
        if let Some(rate) = self.rate.map(|rate| (rate / 8).max(1)).filter(|rate| *rate < u64::from(u32::MAX) - 1) {
            // The option is an unsigned integer of 32 bits (socket(7), SO_MAX_PACING_RATE).
            sys::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate as u32 as i32)
                .map_err(system("the rate of pacing"))?;
        }
        Ok(())
    }
}

/// Gives the packets of `socket`, which is of `family`, the codepoint `dscp`.
///
/// # Errors
/// A socket that does not take it.
pub(crate) fn mark(socket: &Socket, family: Domain, dscp: u8) -> Result<(), Error> {
    if dscp == 0 {
        return Ok(());
    }
    // A socket of IPv6 may carry IPv4 (RFC 3493, section 3.7), which has its codepoint apart.
    let tos = i32::from(dscp) << 2;
    let v4 = sys::set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, tos);
    let v6 = if family == Domain::IPV6 { sys::set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, tos) } else { Ok(()) };
    let marked = v6.and(v4.or_else(|e| if family == Domain::IPV6 { Ok(()) } else { Err(e) }));
    marked.map_err(|e| Error::system("the codepoint could not be set", e))
}

/// Bounds what connections that `listener` accepts advertise, from their handshakes on; `None`: the window scale is the bound.
pub(crate) fn bound_window(listener: &TcpListener, window: Option<u64>) {
    let window = window.and_then(|window| i32::try_from(window).ok()).unwrap_or(WIDEST);
    // Each connection is bounded again, and that is checked.
    let _ = sys::set_option(listener, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window);
}

fn integer(socket: &Socket, level: i32, name: i32) -> Option<i32> {
    let mut bytes = [0; INT];
    let len = sys::option(socket, level, name, &mut bytes).ok()?;
    (len == INT).then(|| i32::from_ne_bytes(bytes))
}

/// Returns the congestion control in force.
pub(crate) fn control_of(socket: &Socket) -> String {
    let name = socket.tcp_congestion().unwrap_or_default();
    name.split(|byte| *byte == 0).next().map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
}

/// Sets the congestion control, unless it is in force already: a process without rights may set only those that
/// `net.ipv4.tcp_allowed_congestion_control` lists (tcp(7)), which need not have the default.
pub(crate) fn set_control(socket: &Socket, name: Option<&str>) -> Result<(), Error> {
    let Some(name) = name else { return Ok(()) };
    if control_of(socket) == name {
        return Ok(());
    }
    let refused = |why: String| Err(Error::unsupported("flow.congestion_control", why));
    match socket.set_tcp_congestion(name.as_bytes()) {
        Ok(()) if control_of(socket) == name => Ok(()),
        Ok(()) => refused(format!("the kernel of {} took {} for {name}", host(), control_of(socket))),
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => {
            let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
            refused(format!(
                "{} does not let this user choose {name}. Run there: sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{} {name}\"",
                host(),
                allowed.trim()
            ))
        }
        Err(_) => refused(format!("the kernel of {} does not have {name}. Run there: modprobe tcp_{name}", host())),
    }
}

/// Returns the name of this host.
pub(crate) fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "this host".to_owned(), |name| name.trim().to_owned())
}

/// Checks that this host has the congestion controls of `flows`.
pub(crate) fn has_controls(flows: &[FlowOffer]) -> Result<(), Error> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).map_err(|e| Error::system("a TCP socket", e))?;
    flows.iter().try_for_each(|flow| set_control(&socket, flow.control.as_deref()))
}

/// Connects for data to `to` with these settings, and shows `token`, within `patience`.
pub(crate) fn connect(to: SocketAddr, wish: &Wish, token: Token, patience: Duration) -> Result<Socket, Error> {
    let family = Domain::for_address(to);
    let made = Socket::new(family, Type::STREAM, Some(Protocol::TCP));
    let socket = made.map_err(|e| Error::system("a TCP socket", e))?;
    wish.set(&socket, family)?;
    let connected = socket.connect_timeout(&to.into(), patience).and_then(|()| {
        let mut opening = [0; OPENING];
        opening[..DATA_MAGIC.len()].copy_from_slice(&DATA_MAGIC);
        opening[DATA_MAGIC.len()..].copy_from_slice(&token.0);
        // The token leaves at once, whatever small segments do later.
        (&socket).write_all(&opening)?;
        socket.set_nonblocking(true)
    });
    connected.map_err(|e| Error::session(to, format!("no data connection: {e}")))?;
    Ok(socket)
}

/// Takes over a data connection that a client has opened, with these settings.
pub(crate) fn accepted(stream: TcpStream, wish: &Wish) -> Result<Socket, Error> {
    stream.set_read_timeout(None).and_then(|()| stream.set_nonblocking(true)).map_err(|e| Error::system("a data connection", e))?;
    let family = SockRef::from(&stream).domain().unwrap_or(Domain::IPV4);
    let socket = Socket::from(stream);
    wish.set(&socket, family)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish() -> Wish {
        Wish {
            control: Some("reno".to_owned()),
            window: Some(1 << 20),
            maxseg: Some(1000),
            nagle: true,
            dscp: 46,
            rate: Some(8_000_000),
            send: SendBy::Zerocopy,
        }
    }

    #[test]
    fn a_socket_has_what_was_wished() {
        for family in [Domain::IPV4, Domain::IPV6] {
            let Ok(socket) = Socket::new(family, Type::STREAM, Some(Protocol::TCP)) else { continue };
            wish().set(&socket, family).unwrap();
            assert_eq!((control_of(&socket).as_str(), integer(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY)), ("reno", Some(0)));
            assert_eq!(integer(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), Some(1_000_000));
            assert_eq!(integer(&socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY), Some(1));
            let codepoint = if family == Domain::IPV4 { (libc::IPPROTO_IP, libc::IP_TOS) } else { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) };
            assert_eq!(integer(&socket, codepoint.0, codepoint.1), Some(184));
        }
    }

    #[test]
    fn what_the_kernel_changes_is_refused_with_the_line_that_helps() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        let said = Wish { window: Some(1), ..wish() }.set(&socket, Domain::IPV4).unwrap_err().to_string();
        assert!(said.starts_with("`flow.window`: a window of 1 bytes became"), "{said}");
        let said = Wish { control: Some("nosuch".to_owned()), ..wish() }.set(&socket, Domain::IPV4).unwrap_err().to_string();
        assert!(said.contains("modprobe tcp_nosuch") || said.contains("sysctl -w"), "{said}");
    }
}
