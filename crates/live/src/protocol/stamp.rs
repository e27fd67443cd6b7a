//! STAMP, the Simple Two-way Active Measurement Protocol (RFC 8762, RFC 8972), in its unauthenticated mode: packets, the books of a reflector, and
//! the direction of losses.
//!
//! The sender's packet has 44 bytes: number, time, error estimate, session identifier, zeros. The answer has as many: the reflector's own number and
//! time of sending, and the time at which it received, before a copy of the sender's (RFC 8762 §4.2.1 and §4.3.1, RFC 8972 §3).

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::str::FromStr;

use serde::Serialize;

use super::{Nanos, SECOND};

/// Bytes of a packet without extensions.
pub const PACKET: usize = 44;
/// UDP port of a reflector, unless it has another (RFC 8762 §4.1).
pub const PORT: u16 = 862;
/// Bytes of an answer that are read. TWAMP Light has no more (RFC 5357 §4.2.1).
const ANSWER: usize = 41;

const NUMBER: Range<usize> = 0..4;
const TIME: Range<usize> = 4..12;
const ERROR: Range<usize> = 12..14;
const SSID: Range<usize> = 14..16;
const CAME: Range<usize> = 16..24;
const COPY: Range<usize> = 24..38;
const COPIED_TIME: Range<usize> = 28..36;
const TTL: usize = 40;

/// Error estimate of a clock that nobody says to be synchronised: 2^32 * 2^-32 s, an NTP time stamp (RFC 4656 §4.1.2).
const UNSYNCHRONISED: [u8; 2] = [32, 1];
/// Bits of an error estimate: a synchronised clock (RFC 4656 §4.1.2), and time stamps of PTP (RFC 8186 §2.1).
const IS_SYNCHRONISED: u8 = 0x80;
const IS_PTP: u8 = 0x40;
/// Seconds from 1900 to 1970 (RFC 5905 §6).
const FROM_1900: u64 = 2_208_988_800;

/// Bytes before the value of an extension: flags, type, length (RFC 8972 §4).
const HEAD: usize = 4;
/// Flags of an extension: not understood, malformed.
const UNRECOGNISED: u8 = 0x80;
const MALFORMED: u8 = 0x40;
/// Type of the extension that only fills a packet (RFC 8972 §4.1).
const PADDING: u8 = 1;

/// Sessions that a reflector counts at once, and time without a packet after which it forgets one.
const SESSIONS: usize = 256;
const FORGOTTEN: Nanos = 60 * SECOND;
/// Packets that a reflector takes at once are those of so long.
const AT_ONCE: Nanos = SECOND / 10;

fn four(bytes: &[u8], at: Range<usize>) -> u32 {
    u32::from_be_bytes(bytes[at].try_into().expect("four bytes"))
}

/// Writes a time since 1970 in the format of NTP (RFC 5905 §6).
fn ntp(wall: Nanos) -> [u8; 8] {
    let seconds = (wall / SECOND + FROM_1900) as u32;
    let fraction = ((wall % SECOND) << 32).div_ceil(SECOND) as u32;
    ((u64::from(seconds) << 32) | u64::from(fraction)).to_be_bytes()
}

/// Reads a time of NTP, or of PTP: nanoseconds since 1970. `None`: it is none.
fn time(bytes: &[u8], at: Range<usize>, is_ptp: bool) -> Option<Nanos> {
    let (seconds, rest) = (u64::from(four(bytes, at.start..at.start + 4)), u64::from(four(bytes, at.start + 4..at.end)));
    if is_ptp {
        return (rest < SECOND).then(|| seconds * SECOND + rest);
    }
    // The first bit tells the era, which changes in 2036 (RFC 4330 §3).
    let seconds = if seconds >> 31 == 1 { seconds } else { seconds + (1 << 32) };
    seconds.checked_sub(FROM_1900).map(|seconds| seconds * SECOND + ((rest * SECOND) >> 32))
}

/// Writes the packet `number` of the session `ssid`, sent at `wall`, into `bytes`.
///
/// # Panics
/// If there is no room for [`PACKET`] bytes.
pub fn write(number: u32, wall: Nanos, ssid: u16, bytes: &mut [u8]) {
    bytes[..PACKET].fill(0);
    bytes[NUMBER].copy_from_slice(&number.to_be_bytes());
    bytes[TIME].copy_from_slice(&ntp(wall));
    bytes[ERROR].copy_from_slice(&UNSYNCHRONISED);
    bytes[SSID].copy_from_slice(&ssid.to_be_bytes());
}

/// Makes a sender's packet, extensions and all, its answer of the same length: `number` is the reflector's own, `came` and `left` are times since
/// 1970. False: it is no packet.
pub fn reflect(bytes: &mut [u8], number: u32, came: Nanos, left: Nanos, ttl: u8) -> bool {
    if bytes.len() < PACKET {
        return false;
    }
    bytes.copy_within(NUMBER.start..ERROR.end, COPY.start);
    bytes[COPY.end..PACKET].fill(0);
    bytes[TTL] = ttl;
    bytes[NUMBER].copy_from_slice(&number.to_be_bytes());
    bytes[TIME].copy_from_slice(&ntp(left));
    bytes[ERROR].copy_from_slice(&UNSYNCHRONISED);
    bytes[CAME].copy_from_slice(&ntp(came));
    let mut rest = &mut bytes[PACKET..];
    while let Some((head, value)) = rest.split_at_mut_checked(HEAD) {
        let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
        head[0] &= !(UNRECOGNISED | MALFORMED);
        if head[1] != PADDING {
            head[0] |= UNRECOGNISED;
        }
        let Some((_, next)) = value.split_at_mut_checked(len) else {
            head[0] |= MALFORMED;
            break;
        };
        rest = next;
    }
    true
}

/// Answer of a reflector. Times are its own clock's, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Number of the packet that it answers.
    pub asked: u32,
    /// The time in that packet, as it was written.
    pub stamp: [u8; 8],
    /// Session.
    pub ssid: u16,
    /// Number of the answer: its own count, or `asked` again (RFC 8762 §4.3).
    pub number: u32,
    /// Time at which the packet came.
    pub came: Nanos,
    /// Time at which the answer left.
    pub left: Nanos,
    /// TTL with which the packet came.
    pub ttl: u8,
    /// True if the reflector says that its clock is synchronised.
    pub is_synchronised: bool,
}

impl Answer {
    /// Reads an answer; `None`: it is none.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < ANSWER {
            return None;
        }
        let is_ptp = bytes[ERROR.start] & IS_PTP != 0;
        Some(Answer {
            asked: four(bytes, COPY.start..COPIED_TIME.start),
            stamp: bytes[COPIED_TIME].try_into().expect("eight bytes"),
            ssid: u16::from_be_bytes([bytes[SSID.start], bytes[SSID.start + 1]]),
            number: four(bytes, NUMBER),
            came: time(bytes, CAME, is_ptp)?,
            left: time(bytes, TIME, is_ptp)?,
            ttl: bytes[TTL],
            is_synchronised: bytes[ERROR.start] & IS_SYNCHRONISED != 0,
        })
    }

    /// True if it answers the packet of this time and session. TWAMP Light, which has no sessions, leaves zero there.
    pub fn is_to(&self, wall: Nanos, ssid: u16) -> bool {
        self.stamp == ntp(wall) && (self.ssid == ssid || self.ssid == 0)
    }
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    first: u128,
    bits: u8,
    is_v6: bool,
}

fn number_of(address: IpAddr) -> (u128, bool) {
    match address.to_canonical() {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, false),
        IpAddr::V6(v6) => (v6.to_bits(), true),
    }
}

impl Prefix {
    /// True if `address` begins so; one of IPv4 may be written as IPv6.
    pub fn has(&self, address: IpAddr) -> bool {
        let (number, is_v6) = number_of(address);
        let differ = (number ^ self.first).checked_shr(128 - u32::from(self.bits)).unwrap_or(0);
        is_v6 == self.is_v6 && differ == 0
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is no prefix, such as 192.0.2.0/24, 2001:db8::/32, or an address");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (first, is_v6) = number_of(address);
        let most = if is_v6 { 128 } else { 32 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if bits > most {
            return Err(wrong());
        }
        if first.checked_shl(bits.into()).is_some_and(|rest| rest != 0) {
            return Err(format!("{text} has bits set after the first {bits}: is it {address}?"));
        }
        Ok(Prefix { first, bits, is_v6 })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address: IpAddr = if self.is_v6 { IpAddr::V6(self.first.into()) } else { IpAddr::V4(((self.first >> 96) as u32).into()) };
        write!(f, "{address}/{}", self.bits)
    }
}

/// Books of a reflector: who gets answers, how many, and the count of each session (RFC 8762 §4.3, stateful mode).
#[derive(Debug)]
pub struct Reflector {
    from: Vec<Prefix>,
    port: u16,
    gap: Nanos,
    /// Time at which the packets so far would have come at the highest rate.
    due: Nanos,
    sessions: HashMap<(SocketAddr, u16), (u32, Nanos)>,
}

impl Reflector {
    /// Answers at `port` whoever is in `from`, and at most `rate` packets per second.
    pub fn new(from: Vec<Prefix>, port: u16, rate: u32) -> Self {
        Reflector { from, port, gap: SECOND / Nanos::from(rate.max(1)), due: 0, sessions: HashMap::new() }
    }

    /// Returns the number of the answer to a packet that comes at `now`; `None`: it gets none.
    pub fn admit(&mut self, now: Nanos, from: SocketAddr, bytes: &[u8]) -> Option<u32> {
        // A departure from RFC 8762: two reflectors would answer each other for ever if somebody forged the first packet.
        let is_reflector = from.port() == self.port || from.port() == PORT;
        if bytes.len() < PACKET || is_reflector || !self.from.iter().any(|prefix| prefix.has(from.ip())) {
            return None;
        }
        let due = self.due.max(now);
        if due - now > AT_ONCE {
            return None;
        }
        let session = (from, u16::from_be_bytes([bytes[SSID.start], bytes[SSID.start + 1]]));
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&session) {
            self.sessions.retain(|_, (_, last)| now.saturating_sub(*last) < FORGOTTEN);
            if self.sessions.len() >= SESSIONS {
                return None;
            }
        }
        self.due = due + self.gap;
        let (next, last) = self.sessions.entry(session).or_insert((0, now));
        if now.saturating_sub(*last) >= FORGOTTEN {
            *next = 0;
        }
        let number = *next;
        (*next, *last) = (number.wrapping_add(1), now);
        Some(number)
    }
}

/// Losses by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Packets that did not come to the reflector; `None`: it does not tell.
    #[serde(rename = "lost_up")]
    pub up: Option<u32>,
    /// Answers that did not come back.
    #[serde(rename = "lost_down")]
    pub down: Option<u32>,
    /// Packets without an answer, of which nobody knows the direction.
    #[serde(rename = "lost_unknown")]
    pub unknown: u32,
}

/// Returns the losses of `sent` packets, by (number of the packet, number of the answer) of each answer that came, once each.
///
/// A reflector that counts its answers gives the packet after a lost one a lower number than the sender did. One that copies the sender's numbers
/// tells nothing; nor does one that counts, while only answers are lost.
pub fn losses(sent: u32, answers: &[(u32, u32)]) -> Losses {
    let came = answers.len() as u32;
    let (Some(first), Some(last)) = (answers.iter().min(), answers.iter().max()) else {
        return Losses { unknown: sent, ..Losses::default() };
    };
    // Whoever has counted before does not begin with zero.
    let begins = if answers.iter().all(|(asked, number)| number <= asked) { (0, 0) } else { *first };
    let most = answers.iter().map(|(_, number)| *number).max().unwrap_or(0);
    let (asked, counted) = (last.0 - begins.0 + 1, most.saturating_sub(begins.1).saturating_add(1));
    let lost = asked.saturating_sub(came);
    let unknown = sent.saturating_sub(asked);
    let counts = answers.iter().any(|(asked, number)| asked != number);
    if lost == 0 {
        return Losses { up: Some(0), down: Some(0), unknown };
    }
    if !counts {
        return Losses { up: None, down: None, unknown: unknown + lost };
    }
    let up = asked.saturating_sub(counted).min(lost);
    Losses { up: Some(up), down: Some(lost - up), unknown }
}

#[cfg(test)]
mod tests;
