//! A segment as bytes: the IPv4 packet that carries it (RFC 791, RFC 9293 §3.1), for traces that other tools read and for tests
//! that damage real bits.
//!
//! Options are laid out as most stacks do it: each padded to four bytes by NOPs in front, so that a packet is
//! [`Segment::ip_len`] bytes long.

use std::fmt;

use longfat_core::packet::{AccEcnOption, CongestionHeader, Cookie, Ecn, Segment, flags};

/// Bytes of the IPv4 header, which has no options here.
const IP_HEADER: usize = 20;
/// Bytes of the TCP header without options.
const TCP_HEADER: usize = 20;
const PROTOCOL_TCP: u8 = 6;
/// RFC 3692 §2.1: for experiments. A congestion header comes before TCP's (draft-falk-xcp-spec-03 asks for a number of its own).
const PROTOCOL_XCP: u8 = 253;
/// Bytes of the congestion header.
const XCP_HEADER: usize = CongestionHeader::LEN as usize;
/// The flags of a TCP header: all but the data offset and the three bits still reserved (RFC 9768 §3.2.2, figure 3).
const FLAGS: u16 = 0x01ff;

/// Kinds of TCP options (RFC 9293 §3.2, RFC 2018 §2 and §3, RFC 7323 §2.2 and §3.2, RFC 7413 §4.1.1, RFC 9768 §3.2.3).
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const FAST_OPEN: u8 = 34;
    /// RFC 9768 §3.2.3: order 0 and order 1.
    pub(super) const ACCECN0: u8 = 172;
    pub(super) const ACCECN1: u8 = 174;
}

/// One end of a connection: an IPv4 address and a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Address {
    /// Octets in the order in which they are written: `[192, 0, 2, 1]`.
    pub ip: [u8; 4],
    /// TCP port.
    pub port: u16,
}

/// Contents of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed<'a> {
    /// Sender of the packet.
    pub source: Address,
    /// Receiver of the packet.
    pub destination: Address,
    /// The ECN field of the IPv4 header (RFC 3168 §5).
    pub ecn: Ecn,
    /// The TCP header with its options, and how much payload there is.
    pub segment: Segment,
    /// The bytes of that.
    pub payload: &'a [u8],
}

/// Reasons for which bytes are not a TCP segment in IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// Fewer bytes than the headers, or than they say there are.
    Truncated,
    /// Not IPv4 without options and unfragmented, or not TCP.
    NotTcp,
    /// The checksum of the IPv4 header does not hold.
    IpChecksum,
    /// The TCP checksum does not hold.
    TcpChecksum,
    /// The data offset points into the header or beyond the segment.
    DataOffset,
    /// An option is shorter than its kind allows, or longer than the header.
    OptionLength {
        /// The option's kind.
        kind: u8,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Truncated => write!(f, "the packet is shorter than its headers say"),
            WireError::NotTcp => write!(f, "not TCP in an IPv4 packet without IP options or fragments"),
            WireError::IpChecksum => write!(f, "the checksum of the IPv4 header is wrong"),
            WireError::TcpChecksum => write!(f, "the TCP checksum is wrong"),
            WireError::DataOffset => write!(f, "the data offset is not between 5 and the segment's length"),
            WireError::OptionLength { kind } => write!(f, "TCP option {kind} has an impossible length"),
        }
    }
}

impl std::error::Error for WireError {}

/// RFC 1071: the one's complement sum of 16-bit words, an odd last byte padded with zero.
fn sum(bytes: &[u8], start: u64) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |b| u64::from(*b) << 8);
    start + last + words.map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum::<u64>()
}

/// The sum folded to 16 bits.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// RFC 9293 §3.1: the TCP checksum also covers addresses, protocol and length. `packet` is the whole IPv4 packet, in which TCP begins at
/// `start`.
fn tcp_sum(packet: &[u8], start: usize) -> u16 {
    let length = packet.len() - start;
    fold(sum(&packet[start..], sum(&packet[12..IP_HEADER], u64::from(PROTOCOL_TCP) + length as u64)))
}

/// Appends the IPv4 packet that carries `segment` with `payload` to `out`.
///
/// # Panics
/// If `payload` is not `segment.len` bytes long, or the packet would be longer than 65,535 bytes.
pub fn emit(source: Address, destination: Address, ecn: Ecn, segment: &Segment, payload: &[u8], out: &mut Vec<u8>) {
    assert!(payload.len() == usize::from(segment.len), "the payload must be as long as the segment says");
    let total = u16::try_from(segment.ip_len()).expect("an IPv4 packet has at most 65,535 bytes");
    let start = out.len();
    // RFC 791 §3.1: version 4 and five words of header; identification 0, don't fragment; time to live 64.
    out.extend([0x45, ecn as u8]);
    out.extend(total.to_be_bytes());
    let protocol = if segment.has_congestion() { PROTOCOL_XCP } else { PROTOCOL_TCP };
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(source.ip);
    out.extend(destination.ip);
    let checksum = !fold(sum(&out[start..], 0));
    out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    if segment.has_congestion() {
        emit_congestion(segment, out);
    }
    let tcp = out.len();

    out.extend(source.port.to_be_bytes());
    out.extend(destination.port.to_be_bytes());
    out.extend(segment.seq.to_be_bytes());
    out.extend(segment.ack.to_be_bytes());
    let words = (TCP_HEADER as u32 + segment.options_len()) / 4;
    out.extend(((words as u16) << 12 | segment.flags & FLAGS).to_be_bytes());
    out.extend(segment.window.to_be_bytes());
    out.extend([0; 4]);
    emit_options(segment, out);
    out.extend(payload);
    debug_assert_eq!(out.len() - start, usize::from(total));
    let checksum = !tcp_sum(&out[start..], tcp - start);
    out[tcp + 16..tcp + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// The congestion header: a word for the protocol behind it and the length, then cwnd, round trip, feedback and the feedback returned, the
/// last three as IEEE 754 numbers. No number: there is none.
fn emit_congestion(segment: &Segment, out: &mut Vec<u8>) {
    out.extend([PROTOCOL_TCP, XCP_HEADER as u8, 0, 0]);
    let CongestionHeader { cwnd, rtt, feedback, answered } =
        segment.congestion().unwrap_or(CongestionHeader { cwnd: 0, rtt: f32::NAN, feedback: f32::NAN, answered: false });
    out.extend((cwnd | u32::from(answered) << 31).to_be_bytes());
    for number in [rtt, feedback, segment.returned_feedback().unwrap_or(f32::NAN)] {
        out.extend(number.to_bits().to_be_bytes());
    }
}

/// Reads the congestion header `bytes` into `segment`, which has its flags and length.
fn parse_congestion(bytes: &[u8], segment: &mut Segment) {
    let number = |at| f32::from_bits(be32(bytes, at));
    let (cwnd, rtt, feedback, returned) = (be32(bytes, 4), number(8), number(12), number(16));
    if segment.len > 0 && !rtt.is_nan() && !feedback.is_nan() {
        segment.set_congestion(CongestionHeader { cwnd: cwnd & !(1 << 31), rtt, feedback, answered: cwnd >> 31 != 0 });
    }
    if !returned.is_nan() {
        segment.set_returned_feedback(returned);
    }
}

fn emit_options(segment: &Segment, out: &mut Vec<u8>) {
    if let Some(mss) = segment.mss() {
        out.extend([kind::MSS, 4]);
        out.extend(mss.to_be_bytes());
    }
    let timestamps = segment.timestamps();
    match (segment.sack_permitted(), timestamps) {
        (true, None) => out.extend([kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]),
        (true, Some(_)) => out.extend([kind::SACK_PERMITTED, 2]),
        (false, Some(_)) => out.extend([kind::NOP, kind::NOP]),
        (false, None) => {}
    }
    if let Some((val, ecr)) = timestamps {
        out.extend([kind::TIMESTAMPS, 10]);
        out.extend(val.to_be_bytes());
        out.extend(ecr.to_be_bytes());
    }
    if let Some(shift) = segment.window_scale() {
        out.extend([kind::NOP, kind::WINDOW_SCALE, 3, shift]);
    }
    if let Some((bytes, len)) = segment.fast_open().map(|cookie| cookie.bytes()) {
        out.extend((2 + len..(2 + len).next_multiple_of(4)).map(|_| kind::NOP));
        out.extend([kind::FAST_OPEN, 2 + len as u8]);
        out.extend(&bytes[..len]);
    }
    let blocks = segment.sack_count();
    if blocks > 0 {
        out.extend([kind::NOP, kind::NOP, kind::SACK, 2 + 8 * blocks as u8]);
        for i in 0..blocks {
            let (left, right) = segment.sack(i);
            out.extend(left.to_be_bytes());
            out.extend(right.to_be_bytes());
        }
    }
    if let Some(AccEcnOption { order, fields, values }) = segment.accecn() {
        let length = 2 + 3 * fields;
        out.extend((u32::from(length)..AccEcnOption::padded_len(fields)).map(|_| kind::NOP));
        out.extend([if order == 0 { kind::ACCECN0 } else { kind::ACCECN1 }, length]);
        for value in &values[..fields.into()] {
            out.extend(&value.to_be_bytes()[1..]);
        }
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads an IPv4 packet that carries a TCP segment. Both checksums must hold; bytes after the packet are ignored.
///
/// A packet with IP options or in fragments is not read. Reserved bits and the urgent pointer are dropped.
pub fn parse(bytes: &[u8]) -> Result<Parsed<'_>, WireError> {
    if bytes.len() < IP_HEADER {
        return Err(WireError::Truncated);
    }
    if bytes[0] != 0x45 {
        return Err(WireError::NotTcp);
    }
    if fold(sum(&bytes[..IP_HEADER], 0)) != 0xffff {
        return Err(WireError::IpChecksum);
    }
    // More fragments, or an offset (RFC 791 §3.1).
    let has_congestion = bytes[9] == PROTOCOL_XCP;
    if !(has_congestion || bytes[9] == PROTOCOL_TCP) || be16(bytes, 6) & 0x3fff != 0 {
        return Err(WireError::NotTcp);
    }
    let total = usize::from(be16(bytes, 2));
    let start = IP_HEADER + if has_congestion { XCP_HEADER } else { 0 };
    if total < start + TCP_HEADER || bytes.len() < total {
        return Err(WireError::Truncated);
    }
    let packet = &bytes[..total];
    if has_congestion && packet[IP_HEADER..IP_HEADER + 2] != [PROTOCOL_TCP, XCP_HEADER as u8] {
        return Err(WireError::NotTcp);
    }
    if tcp_sum(packet, start) != 0xffff {
        return Err(WireError::TcpChecksum);
    }
    let tcp = &packet[start..];
    let header = usize::from(tcp[12] >> 4) * 4;
    if header < TCP_HEADER || header > tcp.len() {
        return Err(WireError::DataOffset);
    }
    let payload = &tcp[header..];
    let mut segment = Segment::new(be32(tcp, 4), be16(tcp, 12) & FLAGS, payload.len() as u16);
    segment.ack = be32(tcp, 8);
    segment.window = be16(tcp, 14);
    if has_congestion && !segment.has(flags::SYN) {
        parse_congestion(&packet[IP_HEADER..start], &mut segment);
    }
    parse_options(&tcp[TCP_HEADER..header], &mut segment)?;
    let address = |ip: usize, port: usize| Address { ip: packet[ip..ip + 4].try_into().expect("four bytes"), port: be16(tcp, port) };
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bytes[1] & 3)];
    Ok(Parsed { source: address(12, 0), destination: address(16, 2), ecn, segment, payload })
}

/// RFC 9293 §3.1 and §3.2: an unknown option is skipped by its length; what belongs on a SYN is ignored elsewhere, and the reverse.
fn parse_options(mut options: &[u8], segment: &mut Segment) -> Result<(), WireError> {
    let syn = segment.has(flags::SYN);
    while let Some(&kind) = options.first() {
        match kind {
            kind::END => break,
            kind::NOP => {
                options = &options[1..];
                continue;
            }
            _ => {}
        }
        // RFC 9293 §3.1 (MUST-7): a length that cannot be must do no harm.
        let length = usize::from(*options.get(1).ok_or(WireError::OptionLength { kind })?);
        let possible = match kind {
            kind::MSS => length == 4,
            kind::WINDOW_SCALE => length == 3,
            kind::SACK_PERMITTED => length == 2,
            kind::SACK => length >= 10 && length % 8 == 2,
            kind::TIMESTAMPS => length == 10,
            _ => length >= 2,
        };
        if !possible || length > options.len() {
            return Err(WireError::OptionLength { kind });
        }
        let (option, rest) = options.split_at(length);
        match kind {
            kind::MSS if syn => segment.set_mss(be16(option, 2)),
            kind::WINDOW_SCALE if syn => segment.set_window_scale(option[2]),
            kind::SACK_PERMITTED if syn => segment.set_sack_permitted(),
            kind::TIMESTAMPS if segment.sack_count() < 4 => segment.set_timestamps(be32(option, 2), be32(option, 6)),
            // RFC 7413 §4.1.1: one of an impossible length is ignored.
            kind::FAST_OPEN if syn => {
                if let Some(cookie) = Cookie::new(&option[2..]) {
                    segment.set_fast_open(cookie);
                }
            }
            // RFC 9768 §3.2.3: of any length, the whole fields count.
            kind::ACCECN0 | kind::ACCECN1 => {
                let mut values = [0; 3];
                let fields = option[2..].chunks_exact(3).zip(&mut values);
                let fields = fields.map(|(field, value)| *value = be32(&[0, field[0], field[1], field[2]], 0)).count() as u8;
                segment.set_accecn(AccEcnOption { order: u8::from(kind == kind::ACCECN1), fields, values });
            }
            kind::SACK if !syn => {
                for block in option[2..].chunks_exact(8) {
                    segment.push_sack(be32(block, 0), be32(block, 4));
                }
            }
            _ => {}
        }
        options = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
