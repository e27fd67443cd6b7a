//! Datagrams that ask the path itself: each packet's TTL, codepoint and size, and the ICMP messages about it. None of it needs root (ip(7) and ipv6(7):
//! `IP_RECVERR`, `IP_RECVTTL`, `IP_RECVTOS`, `IP_MTU_DISCOVER`).

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrLike, SockaddrStorage, Timestamps, recvmsg};

use crate::sys;

/// Room for the control messages of a datagram.
const ROOM: usize = 512;
/// Bytes of a packet that an ICMP message quotes, as far as they are kept.
const QUOTED: usize = 64;
/// ICMP "time exceeded" (RFC 792), and that of IPv6 (RFC 4443).
const EXPIRED: [u8; 2] = [11, 3];

/// A datagram that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes of its payload.
    pub len: usize,
    /// Wall time at which it came, if the kernel says: nanoseconds.
    pub wall: Option<u64>,
    /// Octet of codepoint and ECN of its packet (RFC 2474, RFC 3168).
    pub tos: Option<u8>,
    /// TTL or hop limit of its packet.
    pub ttl: Option<u8>,
}

/// An ICMP message about a datagram that was sent, or the kernel's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Sender of the message; `None`: this host.
    pub from: Option<IpAddr>,
    /// Its reason.
    pub why: Why,
    /// First bytes of the payload that it is about, as far as it quotes them.
    pub quoted: Vec<u8>,
}

/// Reason of a [`Complaint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The TTL was used up.
    Expired,
    /// The packet was larger than this MTU.
    TooBig(u32),
    /// Anything else, such as a port that nobody listens at.
    Other,
}

/// Lets `socket`, of IPv6 or of IPv4, tell all of it; its packets are never fragmented, whatever the kernel knows of the path (RFC 8899, section 4.5).
///
/// # Errors
/// A kernel without these options.
pub fn enable(socket: &impl AsRawFd, is_v6: bool) -> io::Result<()> {
    let stamps = libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
    sys::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps as libc::c_int)?;
    let (level, options) = if is_v6 {
        let probes = (libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE);
        (libc::IPPROTO_IPV6, [(libc::IPV6_RECVERR, 1), (libc::IPV6_RECVTCLASS, 1), (libc::IPV6_RECVHOPLIMIT, 1), probes])
    } else {
        let probes = (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE);
        (libc::IPPROTO_IP, [(libc::IP_RECVERR, 1), (libc::IP_RECVTOS, 1), (libc::IP_RECVTTL, 1), probes])
    };
    options.into_iter().try_for_each(|(name, value)| sys::set_option(socket, level, name, value))
}

/// Sets the octet of codepoint and ECN of packets that follow.
///
/// # Errors
/// A kernel that refuses it.
pub fn set_codepoint(socket: &impl AsRawFd, is_v6: bool, tos: u8) -> io::Result<()> {
    let (level, name) = if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
    sys::set_option(socket, level, name, tos.into())
}

/// Sets the TTL or hop limit of packets that follow.
///
/// # Errors
/// A kernel that refuses it.
pub fn set_ttl(socket: &impl AsRawFd, is_v6: bool, ttl: u8) -> io::Result<()> {
    let (level, name) = if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) } else { (libc::IPPROTO_IP, libc::IP_TTL) };
    sys::set_option(socket, level, name, ttl.into())
}

/// Receives a datagram that is there.
///
/// # Errors
/// `WouldBlock` where there is none; errors of earlier packets, of which [`complaint`] tells.
pub fn receive(socket: &impl AsRawFd, into: &mut [u8]) -> io::Result<Arrival> {
    message::<()>(socket, into).map(|(arrival, _)| arrival)
}

/// Receives a datagram that is there, and its sender.
///
/// # Errors
/// As [`receive`], and `InvalidData` where the sender has no address of IP.
pub fn receive_from(socket: &impl AsRawFd, into: &mut [u8]) -> io::Result<(Arrival, SocketAddr)> {
    let (arrival, from) = message::<SockaddrStorage>(socket, into)?;
    let v4 = |from: &SockaddrStorage| from.as_sockaddr_in().map(|from| SocketAddr::new(from.ip().into(), from.port()));
    let v6 = |from: &SockaddrStorage| from.as_sockaddr_in6().map(|from| SocketAddr::V6((*from).into()));
    let from = from.and_then(|from| v4(&from).or_else(|| v6(&from)));
    from.map(|from| (arrival, from)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn message<From: SockaddrLike>(socket: &impl AsRawFd, into: &mut [u8]) -> io::Result<(Arrival, Option<From>)> {
    let mut control = [0; ROOM];
    let mut buffers = [IoSliceMut::new(into)];
    let got = recvmsg::<From>(socket.as_raw_fd(), &mut buffers, Some(&mut control), MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC)
        .map_err(io::Error::from)?;
    let mut arrival = Arrival { len: got.bytes, wall: None, tos: None, ttl: None };
    for message in got.cmsgs().ok().into_iter().flatten() {
        match message {
            ControlMessageOwned::ScmTimestampsns(Timestamps { system, .. }) => {
                arrival.wall = Some(system.tv_sec() as u64 * 1_000_000_000 + system.tv_nsec() as u64).filter(|stamp| *stamp > 0);
            }
            ControlMessageOwned::Ipv4Tos(tos) => arrival.tos = Some(tos),
            ControlMessageOwned::Ipv6TClass(tos) => arrival.tos = u8::try_from(tos).ok(),
            ControlMessageOwned::Ipv4Ttl(ttl) | ControlMessageOwned::Ipv6HopLimit(ttl) => arrival.ttl = u8::try_from(ttl).ok(),
            _ => {}
        }
    }
    Ok((arrival, got.address))
}

/// Returns the next ICMP message about a datagram that was sent, if there is one.
pub fn complaint(socket: &impl AsRawFd) -> Option<Complaint> {
    loop {
        let (mut control, mut quoted) = ([0; ROOM], [0; QUOTED]);
        let mut buffers = [IoSliceMut::new(&mut quoted)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let got = match recvmsg::<()>(socket.as_raw_fd(), &mut buffers, Some(&mut control), flags) {
            Ok(got) => got,
            Err(Errno::EINTR) => continue,
            Err(_) => return None,
        };
        let len = got.bytes.min(QUOTED);
        let found = got.cmsgs().ok().into_iter().flatten().find_map(|message| match message {
            ControlMessageOwned::Ipv4RecvErr(error, from) => {
                Some((error, from.map(|from| IpAddr::from(Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr))))))
            }
            ControlMessageOwned::Ipv6RecvErr(error, from) => {
                Some((error, from.map(|from| IpAddr::from(Ipv6Addr::from(from.sin6_addr.s6_addr)))))
            }
            _ => None,
        });
        // Time stamps of packets that were sent come this way, too.
        let Some((error, from)) = found.filter(|(error, _)| error.ee_origin != libc::SO_EE_ORIGIN_TIMESTAMPING) else { continue };
        let is_expired = match error.ee_origin {
            libc::SO_EE_ORIGIN_ICMP => error.ee_type == EXPIRED[0],
            libc::SO_EE_ORIGIN_ICMP6 => error.ee_type == EXPIRED[1],
            _ => false,
        };
        let why = if is_expired {
            Why::Expired
        } else if error.ee_errno == libc::EMSGSIZE as u32 {
            Why::TooBig(error.ee_info)
        } else {
            Why::Other
        };
        let is_own = error.ee_origin == libc::SO_EE_ORIGIN_LOCAL;
        return Some(Complaint { from: from.filter(|_| !is_own), why, quoted: quoted[..len].to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Both families, where the machine has them.
    fn pairs() -> Vec<(UdpSocket, UdpSocket, bool)> {
        let addresses: [(IpAddr, bool); 2] = [(Ipv4Addr::LOCALHOST.into(), false), (Ipv6Addr::LOCALHOST.into(), true)];
        let make = |(address, is_v6): (IpAddr, bool)| {
            let (from, to) = (UdpSocket::bind((address, 0)).ok()?, UdpSocket::bind((address, 0)).ok()?);
            from.connect(to.local_addr().ok()?).ok()?;
            for socket in [&from, &to] {
                enable(socket, is_v6).unwrap();
            }
            Some((from, to, is_v6))
        };
        addresses.into_iter().filter_map(make).collect()
    }

    #[test]
    fn a_packet_tells_its_codepoint_and_its_ttl() {
        for (from, to, is_v6) in pairs() {
            for (tos, ttl) in [(184 | 2, 64), (3, 7)] {
                set_codepoint(&from, is_v6, tos).unwrap();
                set_ttl(&from, is_v6, ttl).unwrap();
                from.send(b"question").unwrap();
                // Loopback delivers before the call returns; a busy machine may not.
                let mut bytes = [0; 4];
                let arrival = (0..200).find_map(|_| {
                    let found = receive(&to, &mut bytes).ok();
                    if found.is_none() {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    found
                });
                let arrival = arrival.unwrap();
                assert_eq!((arrival.len, arrival.tos, arrival.ttl), (8, Some(tos), Some(ttl)), "v6: {is_v6}");
            }
        }
    }

    #[test]
    fn the_kernels_complaints_have_their_reason() {
        for (from, to, is_v6) in pairs() {
            assert_eq!(complaint(&from), None);
            drop(to);
            let _ = from.send(b"nobody is there");
            let found = (0..200).find_map(|_| {
                let found = complaint(&from).filter(|complaint| complaint.why == Why::Other);
                if found.is_none() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                found
            });
            let found = found.unwrap();
            assert_eq!((found.why, found.quoted.as_slice()), (Why::Other, &b"nobody is there"[..]), "v6: {is_v6}");
            assert!(found.from.is_some_and(|from| from.is_loopback()));
        }
    }
}
