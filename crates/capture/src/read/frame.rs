//! Frames, down to their TCP segment: link layers, tags and labels, IPv4 and IPv6, options.
//!
//! Everything may be cut short (snapped) and nothing is trusted: what cannot be read is a [`Skip`], never a panic.

use etherparse::{IpNumber, LaxIpSlice, SingleVlanSlice, TcpHeaderSlice, ether_type};
use pcap_parser::Linktype;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// An address and a port. (IPv4 as its mapped IPv6 address: one number is compared faster.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(u128, u16);

impl Address {
    pub(crate) fn new(ip: IpAddr, port: u16) -> Self {
        let ip = match ip {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        Address(ip.to_bits(), port)
    }
    /// Returns the address and the port as numbers.
    pub(crate) fn words(self) -> [u64; 3] {
        [(self.0 >> 64) as u64, self.0 as u64, self.1.into()]
    }
    /// The port.
    pub fn port(self) -> u16 {
        self.1
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from_bits(self.0).to_canonical() {
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.1),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.1),
        }
    }
}

/// The options of a segment that tell something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// See [`Options::sack`].
    pub(crate) blocks: [(u32, u32); 4],
    pub(crate) count: u8,
}

impl Options {
    /// SACK blocks.
    pub fn sack(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

#[cfg(test)]
impl Options {
    /// Adds these SACK blocks.
    pub fn with_sack(mut self, blocks: &[(u32, u32)]) -> Options {
        self.count = blocks.len() as u8;
        self.blocks[..blocks.len()].copy_from_slice(blocks);
        self
    }
}

/// A captured TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Nanoseconds, of whatever the capture counts from.
    pub time: i64,
    /// Address and port of the sender.
    pub from: Address,
    /// Address and port of the receiver.
    pub to: Address,
    /// The IP packet, in bytes, as long as it was.
    pub ip_len: u32,
    /// The ECN field of the IP header.
    pub ecn: u8,
    /// Identification of IPv4; 0 in IPv6.
    pub id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The checksum of TCP, right or wrong.
    pub checksum: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; meaningful with the ACK flag.
    pub ack: u32,
    /// Flags as in `longfat_core::packet::flags`.
    pub flags: u16,
    /// The window field, not scaled.
    pub window: u16,
    /// Payload, in bytes, as long as it was.
    pub len: u32,
    /// Options, as far as they were captured.
    pub options: Options,
}

/// Reason for no TCP segment in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// A link layer that this reader does not know: its number in the list of tcpdump.org.
    LinkType(i32),
    /// Protocol other than IP.
    NotIp,
    /// IP with a protocol other than TCP.
    NotTcp,
    /// A fragment: the header is in another one, or the rest of the payload is.
    Fragment,
    /// Cut before the end of the fixed TCP header.
    Cut,
    /// Its headers contradict each other.
    Malformed,
}

/// Link types beyond those that `pcap_parser` names (tcpdump.org/linktypes.html): BSD's and Linux's numbers of raw IP as files have them.
const RAW_OTHERS: [i32; 2] = [12, 14];
/// PPP alone or as in HDLC, in HDLC's framing, in PPPoE, and with a byte for the direction in the place of HDLC's address.
const PPP: i32 = 9;
const PPP_HDLC: i32 = 50;
const PPP_ETHER: i32 = 51;
const PPP_PPPD: i32 = 166;
const CISCO_HDLC: i32 = 104;
const FDDI: i32 = 10;
/// HDLC's all-stations address and its control field for unnumbered information (RFC 1662 section 3.1).
const HDLC: [u8; 2] = [0xff, 0x03];
/// Cisco's addresses, for one station and for all (RFC 1547 section 4.3.1).
const CISCO: [u8; 2] = [0x0f, 0x8f];
/// IP over FDDI goes in LLC with SNAP (RFC 1390): both service access points, unnumbered information, and the code of Ethernet types.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const PPPOE_SESSION: u16 = 0x8864;
const MPLS: [u16; 2] = [0x8847, 0x8848];
const OLD_QINQ: u16 = 0x9100;
/// Most tags and labels that are looked behind.
const DEPTH: usize = 16;
const TCP_FIXED: usize = 20;

/// Returns the segment in a frame of `wire_len` bytes, of which `data` was captured.
pub fn parse(link: Linktype, time: i64, data: &[u8], wire_len: u32) -> Result<Packet, Skip> {
    let be16 = |at: usize| data.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(Skip::Cut);
    match link {
        Linktype::ETHERNET => behind(be16(12)?, time, data, 14, wire_len),
        Linktype::LINUX_SLL => behind(be16(14)?, time, data, 16, wire_len),
        Linktype::LINUX_SLL2 => behind(be16(0)?, time, data, 20, wire_len),
        // The family is a number of four bytes, in an order of its own; the version of IP says the same.
        Linktype::NULL | Linktype::LOOP => internet(time, data, 4, wire_len),
        Linktype(PPP | PPP_HDLC | PPP_PPPD | CISCO_HDLC) => serial(link.0, time, data, wire_len),
        Linktype(PPP_ETHER) => point_to_point(time, data, 6, wire_len),
        Linktype(FDDI) => {
            // One byte of frame control, and two addresses.
            let llc = data.get(13..19).ok_or(Skip::Cut)?;
            if llc == SNAP { behind(be16(19)?, time, data, 21, wire_len) } else { Err(Skip::NotIp) }
        }
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => internet(time, data, 0, wire_len),
        Linktype(number) if RAW_OTHERS.contains(&number) => internet(time, data, 0, wire_len),
        Linktype(number) => Err(Skip::LinkType(number)),
    }
}

/// Parses a frame of a serial line: PPP, with or without HDLC's address and control field (RFC 1662), or Cisco's HDLC, which has an
/// Ethernet type.
fn serial(link: i32, time: i64, data: &[u8], wire_len: u32) -> Result<Packet, Skip> {
    let head = data.get(..4).ok_or(Skip::Cut)?;
    if link == CISCO_HDLC || (link == PPP_HDLC && CISCO.contains(&head[0])) {
        behind(u16::from_be_bytes([head[2], head[3]]), time, data, 4, wire_len)
    } else {
        let is_framed = link == PPP_PPPD || head[..2] == HDLC;
        point_to_point(time, data, if is_framed { 2 } else { 0 }, wire_len)
    }
}

/// Parses the data behind PPP's protocol field at `at`. The field is one byte instead of two if its first byte is odd (RFC 1661 section 2).
fn point_to_point(time: i64, data: &[u8], at: usize, wire_len: u32) -> Result<Packet, Skip> {
    let first = *data.get(at).ok_or(Skip::Cut)?;
    let (protocol, at) = if first & 1 == 1 {
        (u16::from(first), at + 1)
    } else {
        (u16::from_be_bytes([first, *data.get(at + 1).ok_or(Skip::Cut)?]), at + 2)
    };
    match protocol {
        // RFC 1332 section 3, RFC 5072 section 3.
        0x0021 | 0x0057 => internet(time, data, at, wire_len),
        // RFC 3032 section 4.3.
        0x0281 | 0x0283 => behind(MPLS[0], time, data, at, wire_len),
        _ => Err(Skip::NotIp),
    }
}

/// Parses the data behind `at`, of Ethernet type `kind`.
fn behind(mut kind: u16, time: i64, data: &[u8], mut at: usize, wire_len: u32) -> Result<Packet, Skip> {
    use ether_type::{IPV4, IPV6, PROVIDER_BRIDGING, VLAN_DOUBLE_TAGGED_FRAME, VLAN_TAGGED_FRAME};
    for _ in 0..DEPTH {
        let rest = data.get(at..).ok_or(Skip::Cut)?;
        if kind == IPV4.0 || kind == IPV6.0 {
            return internet(time, data, at, wire_len);
        } else if [VLAN_TAGGED_FRAME.0, PROVIDER_BRIDGING.0, VLAN_DOUBLE_TAGGED_FRAME.0, OLD_QINQ].contains(&kind) {
            kind = SingleVlanSlice::from_slice(rest).map_err(|_| Skip::Cut)?.ether_type().0;
            at += 4;
        } else if kind == PPPOE_SESSION {
            // Six bytes, then PPP without HDLC's fields (RFC 2516 section 4).
            return point_to_point(time, data, at + 6, wire_len);
        } else if MPLS.contains(&kind) {
            // A label is 4 bytes; the lowest bit of the third says that it is the last (RFC 3032 section 2.1).
            let label = rest.get(..4).ok_or(Skip::Cut)?;
            at += 4;
            if label[2] & 1 == 1 {
                return match data.get(at).map(|byte| byte >> 4) {
                    Some(4 | 6) => internet(time, data, at, wire_len),
                    // A control word and Ethernet: a pseudowire (RFC 4448 section 4.6).
                    Some(0) => {
                        let inner = data.get(at + 16..at + 18).ok_or(Skip::Cut)?;
                        behind_pseudowire(u16::from_be_bytes([inner[0], inner[1]]), time, data, at + 18, wire_len)
                    }
                    None => Err(Skip::Cut),
                    _ => Err(Skip::NotIp),
                };
            }
        } else {
            return Err(Skip::NotIp);
        }
    }
    Err(Skip::NotIp)
}

/// Ethernet within a pseudowire: with one tag at most.
fn behind_pseudowire(kind: u16, time: i64, data: &[u8], at: usize, wire_len: u32) -> Result<Packet, Skip> {
    use ether_type::{IPV4, IPV6, VLAN_TAGGED_FRAME};
    let (kind, at) = if kind == VLAN_TAGGED_FRAME.0 {
        let tag = SingleVlanSlice::from_slice(data.get(at..).ok_or(Skip::Cut)?).map_err(|_| Skip::Cut)?;
        (tag.ether_type().0, at + 4)
    } else {
        (kind, at)
    };
    if kind == IPV4.0 || kind == IPV6.0 { internet(time, data, at, wire_len) } else { Err(Skip::NotIp) }
}

/// The IP packet that begins at `at`.
fn internet(time: i64, data: &[u8], at: usize, wire_len: u32) -> Result<Packet, Skip> {
    let bytes = data.get(at..).filter(|rest| !rest.is_empty()).ok_or(Skip::Cut)?;
    let (ip, _) = LaxIpSlice::from_slice(bytes).map_err(|e| match e {
        etherparse::err::ip::LaxHeaderSliceError::Len(_) => Skip::Cut,
        etherparse::err::ip::LaxHeaderSliceError::Content(_) => Skip::Malformed,
    })?;
    let payload = ip.payload();
    if payload.fragmented {
        return Err(Skip::Fragment);
    }
    if payload.ip_number != IpNumber::TCP {
        return Err(Skip::NotTcp);
    }
    // Length of the packet, from its header. A packet that an interface is to cut into segments has 0 there, and the frame tells.
    let on_wire = (wire_len as usize).max(data.len()).saturating_sub(at) as u32;
    let (said, ecn, id, ttl) = match &ip {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            (u32::from(header.total_len()), header.ecn().value(), header.identification(), header.ttl())
        }
        LaxIpSlice::Ipv6(v6) => {
            let header = v6.header();
            let length = u32::from(header.payload_length());
            (if length == 0 { 0 } else { length + 40 }, header.traffic_class() & 3, 0, header.hop_limit())
        }
    };
    let ip_len = if said == 0 { on_wire } else { said };
    let headers = (payload.payload.as_ptr() as usize - bytes.as_ptr() as usize) as u32;
    let tcp_len = ip_len.checked_sub(headers).ok_or(Skip::Malformed)?;
    let packet = segment(time, (ip.source_addr(), ip.destination_addr()), payload.payload, tcp_len)?;
    Ok(Packet { ip_len, ecn, id, ttl, ..packet })
}

fn segment(time: i64, ips: (IpAddr, IpAddr), bytes: &[u8], tcp_len: u32) -> Result<Packet, Skip> {
    let offset = bytes.get(12).ok_or(Skip::Cut)? >> 4;
    let header_len = usize::from(offset) * 4;
    if header_len < TCP_FIXED || (header_len as u32) > tcp_len {
        return Err(Skip::Malformed);
    }
    // A header with cut options is read as one without options, since its fixed part says most of it.
    let mut fixed = [0; TCP_FIXED];
    let is_whole = bytes.len() >= header_len;
    let header = if is_whole {
        TcpHeaderSlice::from_slice(bytes)
    } else {
        fixed.copy_from_slice(bytes.get(..TCP_FIXED).ok_or(Skip::Cut)?);
        fixed[12] = (5 << 4) | (fixed[12] & 0x0f);
        TcpHeaderSlice::from_slice(&fixed)
    };
    let header = header.map_err(|_| Skip::Malformed)?;
    let flags = u16::from(bytes[13]) | u16::from(bytes[12] & 1) << 8;
    Ok(Packet {
        time,
        from: Address::new(ips.0, header.source_port()),
        to: Address::new(ips.1, header.destination_port()),
        ip_len: 0,
        ecn: 0,
        id: 0,
        ttl: 0,
        checksum: header.checksum(),
        seq: header.sequence_number(),
        ack: header.acknowledgment_number(),
        flags,
        window: header.window_size(),
        len: tcp_len - header_len as u32,
        options: options(bytes.get(TCP_FIXED..header_len.min(bytes.len())).unwrap_or_default()),
    })
}

/// Parses the options at the start of `bytes`, up to one that is cut or makes no sense. (The iterator of etherparse ends at the first kind
/// that it does not know, such as those of Multipath TCP and accurate ECN; here they are skipped.)
fn options(mut bytes: &[u8]) -> Options {
    let mut found = Options::default();
    // Timestamps alone, as Linux lays them out, are the options of nearly every segment (RFC 7323 appendix A).
    if let [1, 1, 8, 10, a, b, c, d, e, f, g, h] = *bytes {
        found.timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
        return found;
    }
    while let Some(&kind) = bytes.first() {
        match kind {
            0 => break,
            1 => bytes = &bytes[1..],
            _ => {
                let Some(value) = bytes.get(1).and_then(|len| bytes.get(2..usize::from(*len))) else { break };
                let be32 = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
                match (kind, value.len()) {
                    (2, 2) => found.mss = Some(u16::from_be_bytes([value[0], value[1]])),
                    // More than 14 is taken as 14 (RFC 7323 section 2.3).
                    (3, 1) => found.window_scale = Some(value[0].min(14)),
                    (4, 0) => found.sack_permitted = true,
                    (5, 8 | 16 | 24 | 32) => {
                        found.count = (value.len() / 8) as u8;
                        for i in 0..value.len() / 8 {
                            found.blocks[i] = (be32(8 * i), be32(8 * i + 4));
                        }
                    }
                    (8, 8) => found.timestamps = Some((be32(0), be32(4))),
                    _ => {}
                }
                bytes = &bytes[value.len() + 2..];
            }
        }
    }
    found
}
