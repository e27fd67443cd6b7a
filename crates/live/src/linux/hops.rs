//! Routers on the way of each TCP flow. Load sharing by ports may send flows over different ones (RFC 2992), so the questions have the ports of the
//! flow. They are UDP: no unprivileged socket sends a segment of a TCP connection with another TTL and hears of its end.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use longfat_host::path::{self, Complaint, Why};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};

use crate::linux::echo;

/// Flows that are asked about at most: a router answers few questions per second (RFC 1812, section 4.3.2.8).
const FLOWS: usize = 4;
/// Questions for each TTL.
const TRIES: usize = 2;
/// Time beside two round trips in which a router answers, and that for all of them.
const PATIENCE: Duration = Duration::from_millis(200);
const ALL: Duration = Duration::from_secs(2);
/// First bytes of a question; its TTL follows. Nobody answers it: it ends at a router, and a server leaves it alone.
const MAGIC: [u8; 4] = *b"lfh\n";

/// Router on the way of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowHop {
    /// Number of the flow.
    pub flow: u32,
    /// TTL that ends there, from 1.
    pub ttl: u8,
    /// Its address, and the round trip to it; `None`: it stayed silent.
    pub heard: Option<(IpAddr, Duration)>,
}

/// Socket that asks for one flow.
struct Asker {
    flow: u32,
    socket: Socket,
    is_v6: bool,
    heard: Option<(IpAddr, Duration)>,
}

impl Asker {
    /// Makes one with the addresses and ports of a connected TCP socket. `None`: another process has its UDP port.
    fn like(flow: u32, tcp: &Socket) -> Option<Self> {
        let (local, peer) = (tcp.local_addr().ok()?, tcp.peer_addr().ok()?);
        let is_v6 = tcp.domain().ok()? == Domain::IPV6;
        let socket = Socket::new(local.domain(), Type::DGRAM.nonblocking(), Some(Protocol::UDP)).ok()?;
        socket.bind(&local).and_then(|()| socket.connect(&peer)).and_then(|()| path::enable(&socket, is_v6)).ok()?;
        Some(Asker { flow, socket, is_v6, heard: None })
    }

    fn ask(&self, ttl: u8) {
        let mut question = [0; MAGIC.len() + 1];
        question[..MAGIC.len()].copy_from_slice(&MAGIC);
        question[MAGIC.len()] = ttl;
        // One that this host does not send has no answer.
        let _ = path::set_ttl(&self.socket, self.is_v6, ttl).and_then(|()| echo::send(&self.socket, &question).map(drop));
    }

    /// Takes the answers that have come to the question of this TTL, which was sent at `sent`.
    fn hear(&mut self, ttl: u8, sent: Instant) {
        while let Some(complaint) = path::complaint(&self.socket) {
            // A router that quotes 8 bytes of payload or fewer, as RFC 792 has it, does not say which question it means.
            if let Complaint { from: Some(from), why: Why::Expired, quoted } = complaint
                && quoted.get(MAGIC.len()).is_none_or(|quoted| *quoted == ttl)
            {
                self.heard.get_or_insert((from, sent.elapsed()));
            }
        }
    }
}

/// Asks for the routers on the way of the first flows of `sockets`, of which there are `routers` by the path's own TTL; a round trip takes `rtt`.
pub(crate) fn of_flows<'a>(sockets: impl Iterator<Item = (u32, &'a Socket)>, routers: u8, rtt: Duration) -> Vec<FlowHop> {
    let mut askers: Vec<Asker> = sockets.take(FLOWS).filter_map(|(flow, socket)| Asker::like(flow, socket)).collect();
    let end = Instant::now() + ALL + 4 * rtt;
    let mut found = Vec::new();
    for ttl in 1..=routers {
        for _ in 0..TRIES {
            let sent = Instant::now();
            askers.iter().filter(|asker| asker.heard.is_none()).for_each(|asker| asker.ask(ttl));
            let last = (sent + PATIENCE + 2 * rtt).min(end);
            while askers.iter().any(|asker| asker.heard.is_none()) && Instant::now() < last {
                let waiting = askers.iter().filter(|asker| asker.heard.is_none());
                let mut watched: Vec<PollFd<'_>> = waiting.map(|asker| PollFd::new(asker.socket.as_fd(), PollFlags::empty())).collect();
                // A message of ICMP is an error of its socket, which poll tells unasked.
                let _ = ppoll(&mut watched, Some(TimeSpec::from_duration(last.saturating_duration_since(Instant::now()))), None);
                askers.iter_mut().for_each(|asker| asker.hear(ttl, sent));
            }
        }
        if Instant::now() >= end {
            break;
        }
        found.extend(askers.iter_mut().map(|asker| FlowHop { flow: asker.flow, ttl, heard: asker.heard.take() }));
    }
    found.sort_by_key(|hop| (hop.flow, hop.ttl));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn questions_have_the_ports_of_their_flow_and_a_host_is_no_router() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let to = listener.local_addr().unwrap();
            let flows: Vec<Socket> = (0..6).map(|_| TcpStream::connect(to).unwrap().into()).collect();
            let asker = Asker::like(0, &flows[0]).unwrap();
            assert_eq!(asker.socket.local_addr().unwrap(), flows[0].local_addr().unwrap());
            assert_eq!(asker.socket.peer_addr().unwrap(), flows[0].peer_addr().unwrap());
            // Its port is taken: the flow is left out. Nobody listens at the UDP port, which is no expiry.
            let hops = of_flows((0..).zip(&flows), 1, Duration::ZERO);
            let silent = |flow| FlowHop { flow, ttl: 1, heard: None };
            assert_eq!(hops, [silent(1), silent(2), silent(3)], "{address}");
            assert_eq!(of_flows((0..).zip(&flows), 0, Duration::ZERO), [], "no router");
        }
    }
}
