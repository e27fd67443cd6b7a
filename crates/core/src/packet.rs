//! Segments and packets: a TCP [`Segment`] and the [`Packet`] that carries it. Both are small and `Copy`, 48 and 24 bytes, so that a window
//! of a million packets costs 72 MB and no allocation. [`Packets`] keeps them, and a [`Line`] is some of them in order.
//!
//! Payload bytes are not carried: byte `n` of a stream is known by its sequence number alone.

mod dscp;
mod pool;

pub use dscp::{Dscp, Dscps};
pub use pool::{Direction, Front, Line, PacketId, Packets};

use crate::time::Time;

/// TCP flags, as on the wire (RFC 9293 §3.1); the ninth is the last of the bits that were reserved (RFC 9768 §2).
pub mod flags {
    /// FIN: the sender has no more data (RFC 9293 section 3.1).
    pub const FIN: u16 = 0x01;
    /// SYN: sequence numbers are synchronized (RFC 9293 section 3.1).
    pub const SYN: u16 = 0x02;
    /// RST: the connection is reset (RFC 9293 section 3.1).
    pub const RST: u16 = 0x04;
    /// Push (RFC 9293 section 3.1).
    pub const PSH: u16 = 0x08;
    /// ACK: the acknowledgment field counts (RFC 9293 section 3.1).
    pub const ACK: u16 = 0x10;
    /// ECN echo (RFC 3168 section 6.1).
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced (RFC 3168 section 6.1).
    pub const CWR: u16 = 0x80;
    /// Accurate ECN (RFC 9768 section 3.1).
    pub const AE: u16 = 0x100;
}

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// Options that a segment carries: bits of [`Segment::options`].
const TIMESTAMPS: u8 = 0x01;
const SACK_PERMITTED: u8 = 0x02;
const MSS: u8 = 0x04;
const WINDOW_SCALE: u8 = 0x08;
const SACK_SHIFT: u32 = 4;
const SACK_MASK: u8 = 0x70;
const CONGESTION: u8 = 0x80;

/// Bit of the first word of a congestion header: a router has answered. No window is that large (RFC 7323 §2.3).
const ANSWERED: u32 = 1 << 31;
/// Returned feedback that is not there: no number.
const NO_FEEDBACK: u32 = f32::NAN.to_bits();

/// Bits of the word that has the window scale of a SYN, above it: a Fast Open option is there, and the bytes of its cookie.
const FAST_OPEN: u32 = 0x100;
const COOKIE_LEN_SHIFT: u32 = 16;

/// Bits of [`Segment::accecn`]: present, in order 1, and the number of fields.
const ACCECN: u8 = 0x80;
const ACCECN_ORDER: u8 = 0x04;
const ACCECN_FIELDS: u8 = 0x03;
/// Bits of [`Segment::accecn`] between: the length of all options in words of 4 bytes, at most ten (RFC 9293 §3.1), and five words of a
/// congestion header. They are kept up to date, since every queue and link on the way asks for the length.
const WORDS: u8 = 0x78;
const WORDS_SHIFT: u32 = 3;

/// The AccECN option (RFC 9768 §3.2.3): byte counters of 24 bits that the receiver keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccEcnOption {
    /// Order of the fields: 0 is EE0B, ECEB, EE1B; 1 is EE1B, ECEB, EE0B.
    pub order: u8,
    /// Number of the fields that are there, from the front.
    pub fields: u8,
    /// The fields; those that are not there are zero.
    pub values: [u32; 3],
}

/// Cookie of TCP Fast Open (RFC 7413 §4.1.1): 4 to 16 bytes, an even number. None at all asks for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cookie {
    words: [u32; 4],
    len: u8,
}

impl Cookie {
    /// The empty cookie of a request (RFC 7413 §4.2.1).
    pub const REQUEST: Self = Cookie { words: [0; 4], len: 0 };

    /// Returns the cookie of these bytes; `None` if a cookie cannot have so many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let fits = bytes.is_empty() || ((4..=16).contains(&bytes.len()) && bytes.len().is_multiple_of(2));
        let mut words = [0; 4];
        for (i, byte) in bytes.iter().enumerate().take(16) {
            words[i / 4] |= u32::from(*byte) << (24 - 8 * (i % 4));
        }
        fits.then_some(Cookie { words, len: bytes.len() as u8 })
    }

    /// Returns its bytes, the first `len` of 16.
    pub fn bytes(&self) -> ([u8; 16], usize) {
        let mut bytes = [0; 16];
        for (four, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            four.copy_from_slice(&word.to_be_bytes());
        }
        (bytes, self.len.into())
    }

    /// Returns true if it asks for a cookie.
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of its option, padded to four.
    const fn padded_len(self) -> u32 {
        (2 + self.len as u32).next_multiple_of(4)
    }
}

/// Congestion header of XCP, between the IP header and TCP's (Katabi, Handley and Rohrs, SIGCOMM 2002, section 3.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionHeader {
    /// H_cwnd: the sender's congestion window in bytes, at most 2^31 - 1.
    pub cwnd: u32,
    /// H_rtt: the sender's round trip in seconds; zero if it knows none.
    pub rtt: f32,
    /// H_feedback: change of the window in bytes that the sender asks for, or that the routers on the way grant.
    pub feedback: f32,
    /// True if a router on the way has answered.
    pub answered: bool,
}

impl CongestionHeader {
    /// Bytes of the header: cwnd, round trip, feedback, and the feedback returned, after a word for protocol and version (as in
    /// draft-falk-xcp-spec-03, from memory).
    pub const LEN: u32 = 20;
}

impl AccEcnOption {
    /// Returns its length, padded to 4 bytes: 2 bytes and 3 for each field.
    #[inline]
    pub const fn padded_len(fields: u8) -> u32 {
        (2 + 3 * fields as u32).next_multiple_of(4)
    }
}

/// A TCP segment without its payload bytes: sequence numbers as on the wire (32 bits, they wrap).
///
/// SYN options and SACK blocks never share a segment, so they share their space; a fourth SACK block
/// takes the place of the timestamps (RFC 2018 §3: four blocks fit only without them). The fields of an AccECN option take
/// the space of the last SACK blocks, from the back: at most two blocks fit beside one, and one beside all three fields. So does a
/// congestion header, which leaves room for two blocks without data, and for one with data. The cookie of a SYN has the last 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first payload byte (or of the SYN).
    pub seq: u32,
    /// Next byte expected from the other side; meaningful with the ACK flag.
    pub ack: u32,
    /// Payload bytes.
    pub len: u16,
    /// Window field as on the wire, not yet scaled.
    pub window: u16,
    /// Flags: see [`flags`].
    pub flags: u16,
    options: u8,
    /// The AccECN option, and the length of all options. (And no hole anywhere: a copy is then whole words, which the next copy
    /// can read at full speed.)
    accecn: u8,
    space: [u32; 8],
}

impl Segment {
    /// Returns a segment with these flags and `len` payload bytes, without options; ack and window are zero.
    #[inline]
    pub const fn new(seq: u32, flags: u16, len: u16) -> Self {
        Segment { seq, ack: 0, space: [0; 8], len, window: 0, flags, options: 0, accecn: 0 }
    }
    /// Returns true if all of `bits` are set.
    #[inline]
    pub const fn has(&self, bits: u16) -> bool {
        self.flags & bits == bits
    }
    /// Returns the sequence space that this segment takes: payload, SYN and FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.len as u32 + (self.flags & flags::SYN != 0) as u32 + (self.flags & flags::FIN != 0) as u32
    }
    /// Returns the timestamps option (RFC 7323 §3): TSval and TSecr.
    #[inline]
    pub const fn timestamps(&self) -> Option<(u32, u32)> {
        if self.options & TIMESTAMPS != 0 { Some((self.space[0], self.space[1])) } else { None }
    }
    /// Adds the timestamps option.
    #[inline]
    pub fn set_timestamps(&mut self, val: u32, ecr: u32) {
        debug_assert!(self.sack_count() < 4);
        // SACK-permitted fills the two bytes of padding before timestamps; alone it takes four.
        self.add(TIMESTAMPS, if self.sack_permitted() { 2 } else { 3 });
        self.space[0] = val;
        self.space[1] = ecr;
    }
    /// Returns true if it carries timestamps at most.
    #[inline]
    pub const fn has_no_option_but_timestamps(&self) -> bool {
        (self.options & !TIMESTAMPS) | (self.accecn & ACCECN) == 0
    }
    /// Returns the number of SACK blocks (0 to 4).
    #[inline]
    pub const fn sack_count(&self) -> usize {
        ((self.options & SACK_MASK) >> SACK_SHIFT) as usize
    }
    /// Returns SACK block `i` as (left edge, right edge) (RFC 2018 §3).
    #[inline]
    pub const fn sack(&self, i: usize) -> (u32, u32) {
        let at = (2 + 2 * i) & 7;
        (self.space[at], self.space[at + 1])
    }
    /// Appends a SACK block; false when there is no room (three with timestamps, four without; fewer beside an AccECN option or a congestion
    /// header).
    #[inline]
    pub fn push_sack(&mut self, left: u32, right: u32) -> bool {
        let n = self.sack_count();
        let most = match (self.accecn & ACCECN, self.options & (TIMESTAMPS | CONGESTION)) {
            (0, 0) => 4,
            (0, TIMESTAMPS) => 3,
            (0, _) => {
                if self.len > 0 {
                    1
                } else {
                    2
                }
            }
            _ => blocks_beside(self.accecn & ACCECN_FIELDS),
        };
        if n >= most {
            return false;
        }
        debug_assert!(!self.has(flags::SYN));
        let at = (2 + 2 * n) & 7;
        self.space[at] = left;
        self.space[at + 1] = right;
        self.options = (self.options & !SACK_MASK) | (((n + 1) as u8) << SACK_SHIFT);
        self.lengthen(if n == 0 { 3 } else { 2 });
        true
    }
    /// Returns the AccECN option (RFC 9768 §3.2.3).
    #[inline]
    pub fn accecn(&self) -> Option<AccEcnOption> {
        if self.accecn & ACCECN == 0 {
            return None;
        }
        let fields = self.accecn & ACCECN_FIELDS;
        let field = |i: u8| if i < fields { self.space[7 - usize::from(i)] } else { 0 };
        Some(AccEcnOption { order: u8::from(self.accecn & ACCECN_ORDER != 0), fields, values: [field(0), field(1), field(2)] })
    }
    /// Returns the ECEB field of the AccECN option, which is the second in both orders (RFC 9768 §3.2.3).
    #[inline]
    pub const fn accecn_ceb(&self) -> Option<u32> {
        if self.accecn & ACCECN != 0 && self.accecn & ACCECN_FIELDS >= 2 { Some(self.space[6]) } else { None }
    }
    /// Returns true if there is an AccECN option.
    #[inline]
    pub const fn has_accecn(&self) -> bool {
        self.accecn & ACCECN != 0
    }
    /// Adds the AccECN option, the fields taken to 24 bits; false when the SACK blocks or a Fast Open option leave no room for it, or it is
    /// there already.
    #[inline]
    pub fn set_accecn(&mut self, option: AccEcnOption) -> bool {
        debug_assert!(option.fields <= 3 && option.order <= 1);
        if self.accecn & ACCECN != 0 || self.has_congestion() || self.has_fast_open() || self.sack_count() > blocks_beside(option.fields) {
            return false;
        }
        self.accecn |= ACCECN | (option.order * ACCECN_ORDER) | option.fields;
        self.lengthen(AccEcnOption::padded_len(option.fields) / 4);
        // The fields are written one by one: a loop of unknown length would have the option go through memory.
        let mut field = |i: u8| {
            if i < option.fields {
                self.space[7 - usize::from(i)] = option.values[usize::from(i)] & 0x00ff_ffff;
            }
        };
        field(0);
        field(1);
        field(2);
        true
    }
    /// Returns true if there is a congestion header.
    #[inline]
    pub const fn has_congestion(&self) -> bool {
        self.options & CONGESTION != 0
    }
    /// Returns the congestion header that goes forward with data.
    #[inline]
    pub fn congestion(&self) -> Option<CongestionHeader> {
        let [.., cwnd, rtt, feedback, _] = self.space;
        let header = CongestionHeader {
            cwnd: cwnd & !ANSWERED,
            rtt: f32::from_bits(rtt),
            feedback: f32::from_bits(feedback),
            answered: cwnd & ANSWERED != 0,
        };
        (self.has_congestion() && self.len > 0).then_some(header)
    }
    /// Sets the congestion header of a data segment.
    ///
    /// # Panics
    /// In debug builds, if this is a SYN, has no data, or has options whose space it needs.
    pub fn set_congestion(&mut self, header: CongestionHeader) {
        debug_assert!(self.len > 0 && header.cwnd & ANSWERED == 0 && self.sack_count() <= 1);
        self.add_congestion();
        self.space[4] = header.cwnd | if header.answered { ANSWERED } else { 0 };
        (self.space[5], self.space[6]) = (header.rtt.to_bits(), header.feedback.to_bits());
    }
    /// Returns the feedback that goes back to the sender of data, in bytes of its window.
    #[inline]
    pub fn returned_feedback(&self) -> Option<f32> {
        (self.has_congestion() && self.space[7] != NO_FEEDBACK).then(|| f32::from_bits(self.space[7]))
    }
    /// Sets the feedback that goes back.
    ///
    /// # Panics
    /// In debug builds, if this is a SYN or has options whose space it needs.
    pub fn set_returned_feedback(&mut self, feedback: f32) {
        debug_assert!(self.sack_count() <= 2 && !feedback.is_nan());
        self.add_congestion();
        self.space[7] = feedback.to_bits();
    }
    fn add_congestion(&mut self) {
        debug_assert!(!self.has(flags::SYN) && !self.has_accecn());
        if !self.has_congestion() {
            self.space[7] = NO_FEEDBACK;
        }
        self.add(CONGESTION, CongestionHeader::LEN / 4);
    }
    /// Returns the maximum segment size option of a SYN (RFC 9293 §3.7.1).
    pub const fn mss(&self) -> Option<u16> {
        if self.options & MSS != 0 { Some(self.space[2] as u16) } else { None }
    }
    /// Adds the MSS option; only on a SYN.
    pub fn set_mss(&mut self, mss: u16) {
        debug_assert!(self.has(flags::SYN));
        self.add(MSS, 1);
        self.space[2] = u32::from(mss);
    }
    /// Returns the window scale option of a SYN (RFC 7323 §2).
    pub const fn window_scale(&self) -> Option<u8> {
        if self.options & WINDOW_SCALE != 0 { Some(self.space[3] as u8) } else { None }
    }
    /// Adds the window scale option; only on a SYN.
    pub fn set_window_scale(&mut self, shift: u8) {
        debug_assert!(self.has(flags::SYN));
        self.add(WINDOW_SCALE, 1);
        self.space[3] = (self.space[3] & !0xff) | u32::from(shift);
    }
    /// Returns true if a SYN has the Fast Open option.
    #[inline]
    const fn has_fast_open(&self) -> bool {
        self.has(flags::SYN) && self.space[3] & FAST_OPEN != 0
    }
    /// Returns the cookie of the Fast Open option of a SYN (RFC 7413 §4.1.1).
    pub const fn fast_open(&self) -> Option<Cookie> {
        let [.., a, b, c, d] = self.space;
        if self.has_fast_open() { Some(Cookie { words: [a, b, c, d], len: (self.space[3] >> COOKIE_LEN_SHIFT) as u8 }) } else { None }
    }
    /// Adds the Fast Open option; only on a SYN. False when an AccECN option leaves no room for it, or it is there already.
    pub fn set_fast_open(&mut self, cookie: Cookie) -> bool {
        debug_assert!(self.has(flags::SYN));
        if self.has_fast_open() || self.has_accecn() {
            return false;
        }
        self.space[3] |= FAST_OPEN | u32::from(cookie.len) << COOKIE_LEN_SHIFT;
        self.space[4..].copy_from_slice(&cookie.words);
        self.lengthen(cookie.padded_len() / 4);
        true
    }
    /// Returns true if a SYN has the SACK-permitted option (RFC 2018 §2).
    pub const fn sack_permitted(&self) -> bool {
        self.options & SACK_PERMITTED != 0
    }
    /// Adds the SACK-permitted option; only on a SYN.
    pub fn set_sack_permitted(&mut self) {
        debug_assert!(self.has(flags::SYN));
        self.add(SACK_PERMITTED, if self.options & TIMESTAMPS != 0 { 0 } else { 1 });
    }
    /// Adds the option `bit`, of `words` words, unless it is there.
    #[inline]
    fn add(&mut self, bit: u8, words: u32) {
        if self.options & bit == 0 {
            self.options |= bit;
            self.lengthen(words);
        }
    }
    #[inline]
    fn lengthen(&mut self, words: u32) {
        self.accecn += (words << WORDS_SHIFT) as u8;
    }
    /// Returns the bytes of TCP options as usually laid out: each option padded to 4 bytes (RFC 7323 appendix A).
    #[inline]
    pub const fn options_len(&self) -> u32 {
        self.words_len() - if self.has_congestion() { CongestionHeader::LEN } else { 0 }
    }
    /// Returns the bytes of options and of a congestion header.
    #[inline]
    const fn words_len(&self) -> u32 {
        4 * ((self.accecn & WORDS) >> WORDS_SHIFT) as u32
    }
    /// Returns the bytes of headers, of IPv4 and of TCP: 20 + 20 + options, and those of a congestion header.
    #[inline]
    pub const fn header_len(&self) -> u32 {
        40 + self.words_len()
    }
    /// Returns the length of the IPv4 packet that carries this segment.
    #[inline]
    pub const fn ip_len(&self) -> u32 {
        self.header_len() + self.len as u32
    }
}

/// Returns how many SACK blocks fit beside an AccECN option of so many fields, with timestamps or not (RFC 9293 §3.1: 40 bytes of options).
#[inline]
const fn blocks_beside(fields: u8) -> usize {
    if fields == 3 { 1 } else { 2 }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [
            (flags::SYN, 'S'),
            (flags::FIN, 'F'),
            (flags::RST, 'R'),
            (flags::PSH, 'P'),
            (flags::ACK, '.'),
            (flags::ECE, 'E'),
            (flags::CWR, 'W'),
            (flags::AE, 'A'),
        ];
        let flags: String = names.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, c)| *c).collect();
        write!(f, "{flags} {}:{}({}) ack {} win {}", self.seq, self.seq.wrapping_add(self.seq_len()), self.len, self.ack, self.window)?;
        if let Some(mss) = self.mss() {
            write!(f, " mss {mss}")?;
        }
        if let Some(shift) = self.window_scale() {
            write!(f, " wscale {shift}")?;
        }
        if let Some(cookie) = self.fast_open() {
            let (bytes, len) = cookie.bytes();
            write!(f, " FO ")?;
            bytes[..len].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        if self.sack_permitted() {
            write!(f, " sackOK")?;
        }
        if let Some((val, ecr)) = self.timestamps() {
            write!(f, " TS val {val} ecr {ecr}")?;
        }
        for i in 0..self.sack_count() {
            let (left, right) = self.sack(i);
            write!(f, " sack {left}:{right}")?;
        }
        if let Some(AccEcnOption { order, fields, values }) = self.accecn() {
            write!(f, " ECN{order} {:?}", &values[..fields.into()])?;
        }
        if let Some(CongestionHeader { cwnd, rtt, feedback, answered }) = self.congestion() {
            write!(f, " XCP cwnd {cwnd} rtt {rtt} feedback {feedback}{}", if answered { "" } else { " asked" })?;
        }
        if let Some(feedback) = self.returned_feedback() {
            write!(f, " XCP returned {feedback}")?;
        }
        Ok(())
    }
}

/// A packet on its way, with the fields that queues and links look at. The [`Segment`] it carries lies apart ([`Packets::segment`]). Only
/// its ends look at it, so that a network of many packets is a small one to all between.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Time stamp. In a queue: when it entered. On a wire: when it arrives at the far end.
    pub stamp: Time,
    /// Routing cursor of the driver. Queues do not interpret it, but at any one queue it differs from flow to flow, so a queue may tell
    /// flows apart by it. Cursors are numbered from 0, so a queue may have a table by them.
    pub route: u32,
    /// Packet behind it, while it is in a [`Line`].
    behind: PacketId,
    /// Port by which the packet came into this router: the "peer card" of a buffer pool.
    pub ingress: u16,
    /// Payload bytes.
    pub len: u16,
    /// Bytes of headers, options included.
    pub header_len: u8,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// True if it was damaged on the way: the receiver's checksum fails and it is discarded there.
    pub corrupted: bool,
    /// Differentiated services codepoint of the IP header.
    pub dscp: Dscp,
}

impl Packet {
    /// Returns the packet that carries `segment`, sent at `now`; its codepoint is the default.
    #[inline]
    pub const fn new(now: Time, route: u32, ecn: Ecn, segment: &Segment) -> Self {
        let header_len = segment.header_len() as u8;
        let dscp = Dscp::DEFAULT;
        Packet { stamp: now, route, behind: PacketId::NONE, ingress: 0, len: segment.len, header_len, ecn, corrupted: false, dscp }
    }

    /// Sends it on to the next hop of its route, where it arrives at `arrival` by `port`.
    #[inline]
    pub const fn goes_on(&mut self, arrival: Time, port: u16) {
        self.stamp = arrival;
        self.route += 1;
        self.ingress = port;
    }

    /// Returns the length of the IP packet in bytes (no link framing).
    #[inline]
    pub const fn ip_len(&self) -> u32 {
        self.header_len as u32 + self.len as u32
    }
}

const _: () = assert!(size_of::<Packet>() == 24 && size_of::<Segment>() == 48);
