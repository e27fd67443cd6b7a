//! Headers of the packets of some TCP connections, captured at this host (packet(7)). A filter in the kernel lets nothing else through, and it is in
//! force before the first packet could come.
//!
//! The process needs `CAP_NET_RAW` for it (capabilities(7)). Packets of IPv6 with extension headers are not captured.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::counters::device_of;
use crate::sys::{self, Frame, Ring};

/// Bytes of a packet that are kept at most: the headers of IPv6 and TCP with all options (RFC 8200, section 3; RFC 9293, section 3.1).
const SNAP: u32 = 40 + 60;
/// Bytes of a frame: the kernel's own header takes 80.
const FRAME: usize = 256;
/// Frames of a ring, in blocks: 32,768 packets in 8 MiB.
const BLOCKS: usize = 128;

/// Captures packets of some connections.
pub struct Capture {
    socket: Socket,
    ring: Ring,
    lost: u64,
}

impl Capture {
    /// Begins to capture the packets of the connections from these local to these remote addresses. It sees the network namespace of this thread.
    ///
    /// # Errors
    /// `PermissionDenied` without `CAP_NET_RAW`; `NotFound` where no device has the local address.
    pub fn begin(connections: &[[SocketAddr; 2]]) -> io::Result<Self> {
        let Some([local, remote]) = connections.first() else { return Err(io::ErrorKind::NotFound.into()) };
        // Packets to an address of this host itself take the loopback device.
        let device = if device_of(remote.ip()).is_some() { Some("lo".to_owned()) } else { device_of(local.ip()) };
        let device = device.ok_or(io::ErrorKind::NotFound)?;
        let index = nix::net::if_::if_nametoindex(device.as_str()).map_err(io::Error::from)?;
        // A socket without a protocol gets no packet until it is bound.
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(0)))?;
        let program = filter(connections);
        let program: Vec<SockFilter> = program.iter().map(|op| SockFilter::new(op.code as u16, op.skips[0], op.skips[1], op.k)).collect();
        socket.attach_filter(&program)?;
        let ring = Ring::of(&socket, FRAME, BLOCKS)?;
        sys::bind_to_device(&socket, index as libc::c_int)?;
        Ok(Capture { socket, ring, lost: 0 })
    }

    /// Calls `with` on each packet that has passed since the last call.
    pub fn take(&mut self, mut with: impl FnMut(Frame<'_>)) {
        // A flood does not hold the caller.
        for _ in 0..BLOCKS * Ring::BLOCK / FRAME {
            if !self.ring.take(&mut with) {
                return;
            }
        }
    }

    /// Returns how many packets found the ring full so far.
    pub fn lost(&mut self) -> u64 {
        let mut bytes = [0; size_of::<libc::tpacket_stats>()];
        // Reading sets both counts back: packets first, then those that were lost.
        let got = sys::option(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut bytes).unwrap_or(0);
        let lost = bytes.get(4..8).filter(|_| got >= 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes);
        self.lost += u64::from(lost);
        self.lost
    }
}

/// Operations of the classic BPF machine (Linux, Documentation/networking/filter.rst).
mod op {
    use libc::{
        BPF_ABS, BPF_ALU, BPF_B, BPF_H, BPF_IND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX, BPF_MSH, BPF_RET, BPF_RSH,
        BPF_W,
    };

    pub(super) const BYTE: u32 = BPF_LD | BPF_B | BPF_ABS;
    pub(super) const HALF: u32 = BPF_LD | BPF_H | BPF_ABS;
    pub(super) const WORD: u32 = BPF_LD | BPF_W | BPF_ABS;
    pub(super) const WORD_BEHIND: u32 = BPF_LD | BPF_W | BPF_IND;
    pub(super) const HEADER_LEN: u32 = BPF_LDX | BPF_B | BPF_MSH;
    pub(super) const SHIFT: u32 = BPF_ALU | BPF_RSH | BPF_K;
    pub(super) const IS: u32 = BPF_JMP | BPF_JEQ | BPF_K;
    pub(super) const HAS: u32 = BPF_JMP | BPF_JSET | BPF_K;
    pub(super) const GO: u32 = BPF_JMP | BPF_JA;
    pub(super) const RETURN: u32 = BPF_RET | BPF_K;
}

/// Operation of that machine.
#[derive(Clone, Copy)]
struct Op {
    code: u32,
    /// Operations to skip if it holds, and if it does not.
    skips: [u8; 2],
    k: u32,
}

fn run(code: u32, k: u32) -> Op {
    Op { code, skips: [0; 2], k }
}

/// Goes on to the next operation if the value is `k`, and else skips `skips`.
fn unless(code: u32, k: u32, skips: u8) -> Op {
    Op { code, skips: [0, skips], k }
}

/// Returns the filter for these connections.
fn filter(connections: &[[SocketAddr; 2]]) -> Vec<Op> {
    let nothing = run(op::RETURN, 0);
    let of_packet = |field: libc::c_int| run(op::WORD, (libc::SKF_AD_OFF + field) as u32);
    // Loopback shows each packet twice: as it leaves, and as it arrives.
    let mut program = vec![
        of_packet(libc::SKF_AD_HATYPE),
        unless(op::IS, libc::ARPHRD_LOOPBACK.into(), 3),
        of_packet(libc::SKF_AD_PKTTYPE),
        unless(op::IS, libc::PACKET_OUTGOING.into(), 1),
        nothing,
        run(op::BYTE, 0),
        run(op::SHIFT, 4),
    ];
    // Connections between the same two addresses, which are all of a session's, are told apart by their ports alone.
    let mut hosts: BTreeMap<[IpAddr; 2], Vec<u32>> = BTreeMap::new();
    for ends in connections {
        for [from, to] in [[ends[0], ends[1]], [ends[1], ends[0]]] {
            let ports = u32::from(from.port()) << 16 | u32::from(to.port());
            hosts.entry([from, to].map(|end| end.ip().to_canonical())).or_default().push(ports);
        }
    }
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for (ends, ports) in &hosts {
        match ends {
            [IpAddr::V4(from), IpAddr::V4(to)] => {
                let words = [(12, from.to_bits()), (16, to.to_bits())];
                v4.extend(packets(&words, run(op::WORD_BEHIND, 0), ports));
            }
            [IpAddr::V6(from), IpAddr::V6(to)] => {
                let words_of = |address: u128, at: u32| (0..4).map(move |i| (at + 4 * i, (address >> (96 - 32 * i)) as u32));
                let words: Vec<(u32, u32)> = words_of(from.to_bits(), 8).chain(words_of(to.to_bits(), 24)).collect();
                v6.extend(packets(&words, run(op::WORD, 40), ports));
            }
            _ => {}
        }
    }
    let tcp = |at: u32| [run(op::BYTE, at), Op { skips: [1, 0], ..run(op::IS, libc::IPPROTO_TCP as u32) }, nothing];
    // The fields of IPv4 are in RFC 791, section 3.1: a fragment that is not the first has no ports.
    let not_first = [run(op::HALF, 6), unless(op::HAS, 0x1fff, 1), nothing, run(op::HEADER_LEN, 0)];
    let v4 = [&tcp(9)[..], &not_first, &v4, &[nothing]].concat();
    let v6 = [&tcp(6)[..], &v6, &[nothing]].concat();
    program.extend([unless(op::IS, 4, 1), run(op::GO, 3), unless(op::IS, 6, 1), run(op::GO, v4.len() as u32 + 1), nothing]);
    program.extend(v4);
    program.extend(v6);
    program
}

/// Lets packets through with these words at these places, and one of these pairs of ports, which `load` loads.
fn packets(words: &[(u32, u32)], load: Op, ports: &[u32]) -> Vec<Op> {
    let mut block = Vec::new();
    let len = (3 * words.len() + 1 + 2 * ports.len()) as u32;
    for (at, word) in words {
        // Only `GO` reaches far.
        block.extend([run(op::WORD, *at), Op { skips: [1, 0], ..run(op::IS, *word) }]);
        block.push(run(op::GO, len - block.len() as u32 - 1));
    }
    block.push(load);
    block.extend(ports.iter().flat_map(|ports| [unless(op::IS, *ports, 1), run(op::RETURN, SNAP)]));
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// Connection to this host itself, if it has the family: both ends.
    fn connection(address: IpAddr) -> Option<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind((address, 0)).ok()?;
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Some((one, listener.accept().unwrap().0))
    }

    fn ends(stream: &TcpStream) -> [SocketAddr; 2] {
        [stream.local_addr().unwrap(), stream.peer_addr().unwrap()]
    }

    #[test]
    fn packets_of_these_connections_come_once_and_no_others() {
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let Some((mut one, mut far)) = connection(address) else { continue };
            let (mut other, mut its_far) = connection(address).unwrap();
            // A filter with both families and several connections jumps over the ones before.
            let v4: [SocketAddr; 2] = ["192.0.2.1:5".parse().unwrap(), "192.0.2.2:6".parse().unwrap()];
            let v6: [SocketAddr; 2] = ["[2001:db8::1]:5".parse().unwrap(), "[2001:db8::2]:6".parse().unwrap()];
            let mut all = vec![ends(&one); 64];
            all[1..].fill(v4);
            all[2..].fill(v6);
            all.swap(0, 40);
            all.swap(0, 63);
            all[0] = ends(&one);
            let mut capture = match Capture::begin(&all) {
                Ok(capture) => capture,
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return eprintln!("skipped: this test needs CAP_NET_RAW"),
                Err(e) => panic!("{e}"),
            };
            let mut seen: Vec<(Vec<u8>, u32)> = Vec::new();
            for _ in 0..5 {
                for (stream, far) in [(&mut other, &mut its_far), (&mut one, &mut far)] {
                    stream.write_all(&[7; 1000]).unwrap();
                    far.read_exact(&mut [0; 1000]).unwrap();
                }
            }
            let end = Instant::now() + Duration::from_secs(5);
            let headers = if address.is_ipv4() { 20 } else { 40 };
            let with_data = |seen: &[(Vec<u8>, u32)]| seen.iter().filter(|(_, len)| *len >= headers + 20 + 1000).count();
            while with_data(&seen) < 5 && Instant::now() < end {
                capture.take(|frame| seen.push((frame.bytes.to_vec(), frame.len)));
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!((with_data(&seen), capture.lost()), (5, 0), "v6: {}", address.is_ipv6());
            let ports = ends(&one).map(|end| end.port());
            for (bytes, len) in &seen {
                let at = headers as usize;
                let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
                assert!(ports.contains(&port(at)) && ports.contains(&port(at + 2)), "{bytes:?}");
                assert!(bytes.len() <= SNAP as usize && bytes.len() <= *len as usize);
            }
        }
    }

    /// The kernel drops what a full ring has no room for, and counts it.
    #[test]
    fn a_full_ring_loses_packets_and_says_how_many() {
        let (mut one, mut far) = connection(Ipv4Addr::LOCALHOST.into()).unwrap();
        let Ok(mut capture) = Capture::begin(&[ends(&one)]) else { return eprintln!("skipped: this test needs CAP_NET_RAW") };
        let room = BLOCKS * Ring::BLOCK / FRAME;
        one.set_nodelay(true).unwrap();
        for _ in 0..room + 1000 {
            one.write_all(&[7]).unwrap();
            far.read_exact(&mut [0]).unwrap();
        }
        let lost = capture.lost();
        assert!(lost >= 1000, "{lost}");
        let mut count = 0;
        capture.take(|_| count += 1);
        assert_eq!((count, capture.lost()), (room, lost));
    }

    #[test]
    fn an_address_of_no_device_is_not_found() {
        let strangers = ["203.0.113.9:5".parse().unwrap(), "203.0.113.10:6".parse().unwrap()];
        assert_eq!(Capture::begin(&[strangers]).err().map(|e| e.kind()), Some(io::ErrorKind::NotFound));
    }
}
