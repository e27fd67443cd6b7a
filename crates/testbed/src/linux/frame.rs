//! IP packets as a TUN device hands them over: the fields that queues and links read, and those that they write back.

use longfat_core::packet::{Dscp, Ecn, Segment, flags};

/// IP protocol numbers.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;

/// Ends of a packet: addresses, protocol and ports; no ports for packets that are neither TCP nor UDP, and for later fragments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Tuple {
    /// Address from which it comes.
    pub from: u32,
    /// Address to which it goes.
    pub to: u32,
    /// Protocol.
    pub protocol: u8,
    /// Port of the sender.
    pub from_port: u16,
    /// Port it goes to.
    pub to_port: u16,
}

impl Tuple {
    /// Returns the tuple of the reverse direction.
    pub fn back(self) -> Self {
        Tuple { from: self.to, to: self.from, from_port: self.to_port, to_port: self.from_port, ..self }
    }
}

/// Header fields of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Addresses, protocol and ports.
    pub tuple: Tuple,
    /// Bytes of headers, IP and transport.
    pub header_len: u8,
    /// Bytes of payload.
    pub len: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP.
    pub dscp: Dscp,
    /// First sequence number of a TCP segment.
    pub seq: u32,
    /// True if it is a SYN.
    pub syn: bool,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Header {
    /// Returns the header of a complete IPv4 packet; `None` for anything else.
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

/// Returns the fields of the packet in `place` that a queue may look at: flags, acknowledgment, timestamps and SACK blocks. A packet that
/// is not TCP has no flags. A segment with other options has none either, since their meaning is not known here.
pub fn segment(frame: &[u8], header: &Header, place: u32) -> Segment {
    let known = tcp_segment(frame, header).filter(|(_, is_all)| *is_all && !header.syn);
    let mut segment = known.map_or_else(|| Segment::new(0, 0, header.len), |(segment, _)| segment);
    (segment.seq, segment.window) = (place, 0);
    segment
}

/// Returns the TCP segment in `frame`, and true if it has no unknown options, which are left out. `None`: it is not TCP.
pub fn tcp_segment(frame: &[u8], header: &Header) -> Option<(Segment, bool)> {
    let tcp = &frame[4 * usize::from(frame[0] & 0x0f)..usize::from(header.header_len)];
    if header.tuple.protocol != TCP || tcp.len() < 20 {
        return None;
    }
    // RFC 9293 section 3.1, RFC 9768 section 2.
    let mut segment = Segment::new(header.seq, word(tcp, 12) & (flags::AE | 0xff), header.len);
    (segment.ack, segment.window) = (long(tcp, 8), word(tcp, 14));
    let is_all = options(&tcp[20..], &mut segment).is_some();
    Some((segment, is_all))
}

/// The number that a datagram of an experiment begins with. `None`: it has none.
pub fn number(frame: &[u8], header: &Header) -> Option<u32> {
    frame.get(usize::from(header.header_len)..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Reads options (RFC 9293 section 3.2) into `segment`. `None` where there are some that it cannot have; those before them are read.
fn options(mut left: &[u8], segment: &mut Segment) -> Option<()> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const MSS: u8 = 2;
    const WINDOW_SCALE: u8 = 3;
    const SACK_PERMITTED: u8 = 4;
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    let is_syn = segment.has(flags::SYN);
    while let Some(&kind) = left.first() {
        let len = match kind {
            END => break,
            NOTHING => 1,
            _ => usize::from(*left.get(1)?),
        };
        let option = left.get(..len)?;
        match (kind, len) {
            (NOTHING, _) => {}
            (MSS, 4) if is_syn => segment.set_mss(word(option, 2)),
            (WINDOW_SCALE, 3) if is_syn => segment.set_window_scale(option[2]),
            (SACK_PERMITTED, 2) if is_syn => segment.set_sack_permitted(),
            (TIMESTAMPS, 10) if segment.sack_count() < 4 => segment.set_timestamps(long(option, 2), long(option, 6)),
            (SACK, 10 | 18 | 26 | 34) if !is_syn => {
                let mut blocks = option[2..].chunks(8).map(|block| segment.push_sack(long(block, 0), long(block, 4)));
                blocks.all(|fits| fits).then_some(())?;
            }
            _ => return None,
        }
        left = &left[len..];
    }
    Some(())
}

/// RFC 2474 section 3: the first six bits of the former type of service octet.
fn dscp(tos: u8) -> Dscp {
    Dscp::new(tos >> 2).expect("six bits are under 64")
}

/// RFC 3168 section 5: the last two bits of the former type of service octet.
fn ecn(tos: u8) -> Ecn {
    match tos & 3 {
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

/// Returns the former type of service octet, of both.
pub fn tos(dscp: Dscp, ecn: Ecn) -> u8 {
    dscp.number() << 2 | ecn as u8
}

/// Sets the former type of service octet of an IPv4 packet, and corrects the checksum of its header.
///
/// RFC 1624 equation 3: HC' = ~(~HC + ~m + m').
pub fn set_tos(frame: &mut [u8], tos: u8) {
    let before = word(frame, 0);
    frame[1] = tos;
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
    fn what_is_set_leaves_the_checksum_right() {
        for (before, after) in (0..=255).flat_map(|before| [(before, before | 3), (before, before & 3), (before, 255 - before)]) {
            let mut frame = tcp(1, before);
            set_tos(&mut frame, after);
            let slice = Ipv4HeaderSlice::from_slice(&frame).unwrap();
            assert_eq!((slice.header_checksum(), frame[1]), (slice.to_header().calc_header_checksum(), after));
            assert_eq!(tos(dscp(after), ecn(after)), after);
        }
    }

    /// A segment as a queue sees it, from one with these options and nothing else but an ACK of 900.
    fn ack(options: &[etherparse::TcpOptionElement]) -> Segment {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1024, 5001, 77, 1000);
        builder.ack(900).options(options).unwrap().write(&mut frame, &[]).unwrap();
        segment(&frame, &Header::of(&frame).unwrap(), 5)
    }

    #[test]
    fn a_queue_sees_what_an_ack_says() {
        use etherparse::TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgement, Timestamp};
        let mut expected = Segment::new(5, flags::ACK, 0);
        expected.ack = 900;
        assert_eq!(ack(&[]), expected);
        expected.set_timestamps(7, 6);
        assert_eq!(ack(&[Noop, Noop, Timestamp(7, 6)]), expected);
        assert!(expected.push_sack(1000, 2000) && expected.push_sack(3000, 4000));
        let blocks = SelectiveAcknowledgement((1000, 2000), [Some((3000, 4000)), None, None]);
        assert_eq!(ack(&[Noop, Noop, Timestamp(7, 6), Noop, Noop, blocks]), expected);
        assert_eq!(ack(&[MaximumSegmentSize(1460)]), Segment::new(5, 0, 0), "not what an ACK can have");
        let frame = tcp(100, 0);
        assert_eq!(segment(&frame, &Header::of(&frame).unwrap(), 5), Segment::new(5, 0, 100), "a SYN");
    }

    /// Records of a SYN and of an ACK equal the packets that were built, to the last option.
    #[test]
    fn a_recorded_segment_is_what_was_built() {
        use etherparse::TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale};
        let read = |frame: &[u8]| tcp_segment(frame, &Header::of(frame).unwrap()).unwrap();
        let mut frame = Vec::new();
        let options = [MaximumSegmentSize(1460), SelectiveAcknowledgementPermitted, Timestamp(8, 9), Noop, WindowScale(7)];
        let builder = || PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        builder().tcp(1024, 5001, 77, 1000).syn().options(&options).unwrap().write(&mut frame, &[]).unwrap();
        let mut expected = Segment::new(77, flags::SYN, 0);
        expected.window = 1000;
        expected.set_mss(1460);
        expected.set_sack_permitted();
        expected.set_timestamps(8, 9);
        expected.set_window_scale(7);
        assert_eq!(read(&frame), (expected, true));
        let mut frame = Vec::new();
        let odd = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 253, 4, 0, 0, 1, 1];
        builder().tcp(1024, 5001, 78, 500).ack(900).psh().ece().options_raw(&odd).unwrap().write(&mut frame, &[0; 9]).unwrap();
        let mut expected = Segment::new(78, flags::ACK | flags::PSH | flags::ECE, 9);
        (expected.ack, expected.window) = (900, 500);
        expected.set_timestamps(1, 2);
        assert_eq!(read(&frame), (expected, false), "of an option that it does not know it says so");
        let mut frame = Vec::new();
        builder().udp(1, 2).write(&mut frame, &[0, 0, 1, 2, 0]).unwrap();
        let header = Header::of(&frame).unwrap();
        assert_eq!((tcp_segment(&frame, &header), number(&frame, &header)), (None, Some(258)));
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
                prop_assert_eq!(segment(&bytes, &header, 3).seq, 3);
                let _ = (tcp_segment(&bytes, &header), number(&bytes, &header));
            }
        }
    }
}
