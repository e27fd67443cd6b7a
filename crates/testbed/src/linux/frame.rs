//! IP packets as a TUN device hands them over: what queues and links want to know of one, and the mark that goes back into it.

use longfat_core::packet::{Dscp, Ecn};

/// IP protocol numbers.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;

/// Between whom a packet goes: addresses, protocol and ports; no ports of what is not TCP or UDP, and of later fragments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Tuple {
    /// Addresses.
    pub from: u32,
    /// Where it goes.
    pub to: u32,
    /// Protocol.
    pub protocol: u8,
    /// Port of the sender.
    pub from_port: u16,
    /// Port it goes to.
    pub to_port: u16,
}

impl Tuple {
    /// The same the other way.
    pub fn back(self) -> Self {
        Tuple { from: self.to, to: self.from, from_port: self.to_port, to_port: self.from_port, ..self }
    }
}

/// What is known of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Between whom.
    pub tuple: Tuple,
    /// Bytes of headers, IP and transport.
    pub header_len: u8,
    /// Bytes of payload.
    pub len: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// The codepoint.
    pub dscp: Dscp,
    /// The first sequence number of a TCP segment, and whether it is a SYN.
    pub seq: u32,
    /// Whether it is a SYN.
    pub syn: bool,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Header {
    /// Of an IPv4 packet that is all there; `None` of anything else.
    pub fn of(frame: &[u8]) -> Option<Header> {
        // RFC 791 section 3.1: version and length of the header, total length, flags and offset, protocol, addresses.
        if frame.len() < 20 || frame[0] >> 4 != 4 {
            return None;
        }
        let (ip, total) = (4 * usize::from(frame[0] & 0x0f), usize::from(word(frame, 2)));
        if ip < 20 || total < ip || total != frame.len() {
            return None;
        }
        let (protocol, is_first) = (frame[9], word(frame, 6) & 0x1fff == 0);
        let (mut transport, mut ports, mut seq, mut syn) = (0, (0, 0), 0, false);
        let rest = &frame[ip..];
        if is_first && protocol == TCP && rest.len() >= 20 {
            // RFC 9293 section 3.1.
            transport = 4 * usize::from(rest[12] >> 4);
            (ports, seq, syn) = ((word(rest, 0), word(rest, 2)), long(rest, 4), rest[13] & 0x02 != 0);
            if transport < 20 || transport > rest.len() {
                return None;
            }
        } else if is_first && protocol == UDP && rest.len() >= 8 {
            (transport, ports) = (8, (word(rest, 0), word(rest, 2)));
        }
        let tuple = Tuple { from: long(frame, 12), to: long(frame, 16), protocol, from_port: ports.0, to_port: ports.1 };
        let header_len = ip + transport;
        Some(Header {
            tuple,
            header_len: header_len as u8,
            len: (total - header_len) as u16,
            ecn: ecn(frame[1]),
            dscp: dscp(frame[1]),
            seq,
            syn,
        })
    }
}

/// RFC 2474 section 3: the first six bits of what was the type of service.
fn dscp(tos: u8) -> Dscp {
    Dscp::new(tos >> 2).expect("six bits are under 64")
}

/// RFC 3168 section 5: the last two bits of what was the type of service.
fn ecn(tos: u8) -> Ecn {
    match tos & 3 {
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

/// Sets CE in an IPv4 packet, and mends the checksum of its header (RFC 1624 equation 3: HC' = ~(~HC + ~m + m')).
pub fn mark_ce(frame: &mut [u8]) {
    let before = word(frame, 0);
    frame[1] |= 3;
    let mut sum = u32::from(!word(frame, 10)) + u32::from(!before) + u32::from(word(frame, 0));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpNumber, Ipv4Header, Ipv4HeaderSlice, PacketBuilder};
    use proptest::prelude::*;

    fn tcp(payload: usize, tos: u8) -> Vec<u8> {
        let header = Ipv4Header::new(0, 64, IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()));
        let mut frame = Vec::new();
        let options = [etherparse::TcpOptionElement::Timestamp(1, 2)];
        builder.tcp(1024, 5001, 77, 1000).syn().options(&options).unwrap().write(&mut frame, &vec![7; payload]).unwrap();
        frame[1] = tos;
        let sum = Ipv4HeaderSlice::from_slice(&frame).unwrap().to_header().calc_header_checksum();
        frame[10..12].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn a_segment_is_what_was_built() {
        let frame = tcp(100, 2);
        let header = Header::of(&frame).unwrap();
        let tuple = Tuple { from: 0x0a00_0001, to: 0x0a00_0002, protocol: TCP, from_port: 1024, to_port: 5001 };
        assert_eq!(header, Header { tuple, header_len: 52, len: 100, ecn: Ecn::Ect0, dscp: Dscp::DEFAULT, seq: 77, syn: true });
        assert_eq!(Header::of(&tcp(100, 46 << 2 | 1)).map(|header| (header.dscp.name(), header.ecn)), Some(("EF".to_owned(), Ecn::Ect1)));
        assert_eq!(tuple.back().back(), tuple);
    }

    #[test]
    fn a_mark_leaves_the_checksum_right() {
        for tos in 0..=255 {
            let mut frame = tcp(1, tos);
            mark_ce(&mut frame);
            let slice = Ipv4HeaderSlice::from_slice(&frame).unwrap();
            assert_eq!((slice.header_checksum(), frame[1]), (slice.to_header().calc_header_checksum(), tos | 3));
        }
    }

    proptest! {
        /// Whatever a program in a namespace sends, nothing breaks, and all bytes are counted.
        #[test]
        fn any_bytes_are_read(mut bytes in prop::collection::vec(any::<u8>(), 0..100), whole in any::<bool>()) {
            if whole && bytes.len() >= 20 {
                bytes[0] = 0x45 | bytes[0] & 0x03;
                let len = (bytes.len() as u16).to_be_bytes();
                bytes[2..4].copy_from_slice(&len);
            }
            if let Some(header) = Header::of(&bytes) {
                prop_assert_eq!(usize::from(header.header_len) + usize::from(header.len), bytes.len());
            }
        }
    }
}
