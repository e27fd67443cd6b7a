//! `TCP_INFO` of kernels old and new, as one table of fields.
//!
//! Places and names are those of `struct tcp_info` in the libc crate; fields keep their places while new ones are added at the end. Which
//! kernel brought a field: the commits named in `pkg/tcpinfo/tcpinfo_linux.go` of runZeroInc/sockstats, up to 6.7; the counters of AccECN are
//! what 6.18 fills. The modes of AccECN that follow them are not in the table.

use longfat_core::time::{Duration, Time};

use super::columns::NONE;

/// Bytes that a kernel may fill: more than the 280 of Linux 6.18.
pub const ROOM: usize = 512;

/// Kernel's view of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    bytes: [u8; ROOM],
    /// Bytes that the kernel filled.
    len: usize,
}

/// Field of [`Info`].
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, without `tcpi_`.
    pub name: &'static str,
    /// Place of its first byte.
    pub at: usize,
    /// Bytes that it takes.
    pub len: usize,
    /// Unit; empty: a count or a code.
    pub unit: &'static str,
    /// First Linux that fills the field; the first in git where it is older.
    pub since: &'static str,
    /// Content of the field.
    pub doc: &'static str,
}

/// States of a connection (`tcpi_state`), those that matter here.
pub mod state {
    /// The end of our stream is acknowledged.
    pub const FIN_WAIT2: u8 = 5;
    /// TIME-WAIT: both ends are done.
    pub const TIME_WAIT: u8 = 6;
    /// CLOSED.
    pub const CLOSE: u8 = 7;
}

/// States of congestion control (`tcpi_ca_state`).
pub mod ca_state {
    /// Fast recovery.
    pub const RECOVERY: u8 = 3;
    /// Loss, after a timeout.
    pub const LOSS: u8 = 4;
}

/// The rows: name, type and place, unit, first Linux that has the field, content.
macro_rules! fields {
    ($($name:ident: $type:ty = $at:literal, $unit:literal, $since:literal, $doc:literal;)*) => {
        /// The fields, each under its name.
        #[expect(non_upper_case_globals, reason = "they are named as the kernel names them")]
        pub mod field {
            use super::Field;
            $(#[doc = $doc] pub const $name: Field =
                Field { name: stringify!($name), at: $at, len: size_of::<$type>(), unit: $unit, since: $since, doc: $doc };)*
            /// All fields, by place.
            pub const ALL: &[Field] = &[$($name),*];
        }

        impl Default for Info {
    /// A kernel that has filled nothing.
    fn default() -> Self {
        Info::of_filled(&[])
    }
}

impl Info {
            $(#[doc = $doc] #[doc = "Zero from a kernel without the field."] pub fn $name(&self) -> $type {
                const LEN: usize = size_of::<$type>();
                let mut bytes = [0; LEN];
                bytes.copy_from_slice(&self.bytes[$at..$at + LEN]);
                <$type>::from_ne_bytes(bytes)
            })*

            /// Returns the value of `field`; `None` from a kernel without it.
            pub fn get(&self, field: &Field) -> Option<u64> {
                if !self.has(field) {
                    return None;
                }
                match field.at {
                    $($at => Some(self.$name().into()),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    state: u8 = 0, "", "2.6.12", "State of the connection: see [`state`].";
    ca_state: u8 = 1, "", "2.6.12", "State of congestion control: see [`ca_state`].";
    retransmits: u8 = 2, "", "2.6.12", "Retransmissions of the first unacknowledged segment by timeouts in a row.";
    probes: u8 = 3, "", "2.6.12", "Window probes in a row without an answer.";
    backoff: u8 = 4, "", "2.6.12", "Doublings of the retransmission timeout.";
    options: u8 = 5, "", "2.6.12", "Options in force, one bit each: timestamps 1, SACK 2, window scale 4, ECN 8.";
    wscales: u8 = 6, "", "2.6.12", "Window scales: of the other end in the lower four bits (on a little-endian machine), of this end in the upper four.";
    flags: u8 = 7, "", "4.9", "Bit 0 (on a little-endian machine): the application limits the delivery rate. Bits 1 and 2 (Linux 5.5): why Fast Open failed.";
    rto: u32 = 8, "us", "2.6.12", "Retransmission timeout.";
    ato: u32 = 12, "us", "2.6.12", "Timeout of delayed ACKs.";
    snd_mss: u32 = 16, "bytes", "2.6.12", "Payload of a full segment.";
    rcv_mss: u32 = 20, "bytes", "2.6.12", "Payload of the other end's segments, as seen.";
    unacked: u32 = 24, "segments", "2.6.12", "Segments sent and not acknowledged.";
    sacked: u32 = 28, "segments", "2.6.12", "Segments of those that SACK reports as received.";
    lost: u32 = 32, "segments", "2.6.12", "Segments of those that are taken for lost.";
    retrans: u32 = 36, "segments", "2.6.12", "Segments of those that are in flight as retransmissions.";
    fackets: u32 = 40, "segments", "2.6.12", "Segments up to the most forward SACK, in kernels with FACK.";
    last_data_sent: u32 = 44, "ms", "2.6.12", "Time since data was sent last.";
    last_ack_sent: u32 = 48, "ms", "2.6.12", "Zero: the kernel does not remember it.";
    last_data_recv: u32 = 52, "ms", "2.6.12", "Time since data arrived last.";
    last_ack_recv: u32 = 56, "ms", "2.6.12", "Time since an ACK arrived last.";
    pmtu: u32 = 60, "bytes", "2.6.12", "MTU of the path.";
    rcv_ssthresh: u32 = 64, "bytes", "2.6.12", "Bound of the window that is advertised now.";
    rtt: u32 = 68, "us", "2.6.12", "Smoothed round-trip time.";
    rttvar: u32 = 72, "us", "2.6.12", "Mean deviation of the round-trip time.";
    snd_ssthresh: u32 = 76, "segments", "2.6.12", "Slow-start threshold; `0x7fffffff`: no bound.";
    snd_cwnd: u32 = 80, "segments", "2.6.12", "Congestion window.";
    advmss: u32 = 84, "bytes", "2.6.12", "MSS that this end has advertised.";
    reordering: u32 = 88, "segments", "2.6.12", "Reordering that loss detection tolerates.";
    rcv_rtt: u32 = 92, "us", "2.6.12", "Round-trip time as the receiver estimates it.";
    rcv_space: u32 = 96, "bytes", "2.6.12", "Bytes that the application reads per round trip, as the receiver estimates it.";
    total_retrans: u32 = 100, "segments", "2.6.12", "Retransmissions so far.";
    pacing_rate: u64 = 104, "bytes/s", "3.15", "Rate of pacing.";
    max_pacing_rate: u64 = 112, "bytes/s", "3.15", "Bound of that rate; NaN in results: none.";
    bytes_acked: u64 = 120, "bytes", "4.1", "Bytes acknowledged by the other end.";
    bytes_received: u64 = 128, "bytes", "4.1", "Bytes received and acknowledged.";
    segs_out: u32 = 136, "packets", "4.2", "Packets sent, with retransmissions and ACKs.";
    segs_in: u32 = 140, "packets", "4.2", "Packets received.";
    notsent_bytes: u32 = 144, "bytes", "4.6", "Bytes written and never sent.";
    min_rtt: u32 = 148, "us", "4.6", "Least round-trip time.";
    data_segs_in: u32 = 152, "packets", "4.6", "Packets with data received.";
    data_segs_out: u32 = 156, "packets", "4.6", "Packets with data sent.";
    delivery_rate: u64 = 160, "bytes/s", "4.9", "Rate at which the network delivered, as last sampled.";
    busy_time: u64 = 168, "us", "4.10", "Time with data in flight or waiting.";
    rwnd_limited: u64 = 176, "us", "4.10", "Part of the busy time in which the other end's window was the limit.";
    sndbuf_limited: u64 = 184, "us", "4.10", "Part of the busy time in which the send buffer was the limit.";
    delivered: u32 = 192, "packets", "4.18", "Packets with data delivered.";
    delivered_ce: u32 = 196, "packets", "4.18", "Packets of those that were marked CE.";
    bytes_sent: u64 = 200, "bytes", "4.19", "Payload sent, with retransmissions.";
    bytes_retrans: u64 = 208, "bytes", "4.19", "Payload retransmitted.";
    dsack_dups: u32 = 216, "segments", "4.19", "Duplicates that the other end has reported.";
    reord_seen: u32 = 220, "", "4.19", "Reordering events seen.";
    rcv_ooopack: u32 = 224, "packets", "5.4", "Packets received out of order.";
    snd_wnd: u32 = 228, "bytes", "5.4", "Window of the other end.";
    rcv_wnd: u32 = 232, "bytes", "6.2", "Window advertised to the other end.";
    rehash: u32 = 236, "", "6.2", "Changes of the flow's hash, by which it looks for another path.";
    total_rto: u16 = 240, "", "6.7", "Timeouts so far.";
    total_rto_recoveries: u16 = 242, "", "6.7", "Recoveries after timeouts so far.";
    total_rto_time: u32 = 244, "ms", "6.7", "Time in those recoveries.";
    received_ce: u32 = 248, "packets", "6.18", "Packets received that were marked CE.";
    delivered_e1_bytes: u32 = 252, "bytes", "6.18", "Bytes that the other end received as ECT(1).";
    delivered_e0_bytes: u32 = 256, "bytes", "6.18", "Bytes that the other end received as ECT(0).";
    delivered_ce_bytes: u32 = 260, "bytes", "6.18", "Bytes that the other end received as CE.";
    received_e1_bytes: u32 = 264, "bytes", "6.18", "Bytes received as ECT(1).";
    received_e0_bytes: u32 = 268, "bytes", "6.18", "Bytes received as ECT(0).";
    received_ce_bytes: u32 = 272, "bytes", "6.18", "Bytes received as CE.";
}

impl Info {
    /// Takes over what a kernel filled; bytes beyond the room are of fields that this table does not have.
    pub fn of_filled(filled: &[u8]) -> Info {
        let len = filled.len().min(ROOM);
        let mut bytes = [0; ROOM];
        bytes[..len].copy_from_slice(&filled[..len]);
        Info { bytes, len }
    }

    /// Makes the view of a kernel that fills `len` bytes, with these values of fields, cut to the size of their field; the others are zero.
    ///
    /// # Panics
    /// If `len` is more than the 512 bytes that there is room for.
    pub fn with<'a>(len: usize, values: impl Iterator<Item = (&'a Field, u64)>) -> Info {
        assert!(len <= ROOM, "there is room for {ROOM} bytes");
        let mut info = Info { bytes: [0; ROOM], len };
        for (field, value) in values {
            let bytes =
                if cfg!(target_endian = "little") { value.to_le_bytes() } else { value.rotate_right(8 * field.len as u32).to_be_bytes() };
            info.bytes[field.at..field.at + field.len].copy_from_slice(&bytes[..field.len]);
        }
        info
    }

    /// Returns true if the kernel filled `field`.
    pub fn has(&self, field: &Field) -> bool {
        field.at + field.len <= self.len
    }

    /// Returns the bytes that the kernel filled.
    pub fn filled(&self) -> usize {
        self.len
    }

    /// Payload bytes of this many full segments.
    pub fn of_segments(&self, segments: u32) -> u64 {
        u64::from(segments) * u64::from(self.snd_mss())
    }

    /// Bytes.
    pub fn cwnd(&self) -> u64 {
        self.of_segments(self.snd_cwnd())
    }

    /// Bytes; `u64::MAX`: no bound.
    pub fn ssthresh(&self) -> u64 {
        if self.snd_ssthresh() >= 0x7fff_ffff { u64::MAX } else { self.of_segments(self.snd_ssthresh()) }
    }

    /// Bytes sent and not known to have left the network: what Linux counts as `packets_in_flight`.
    pub fn in_flight(&self) -> u64 {
        self.of_segments((self.unacked() + self.retrans()).saturating_sub(self.sacked() + self.lost()))
    }

    /// The smoothed RTT.
    pub fn srtt(&self) -> Duration {
        Duration::from_micros(self.rtt().into())
    }
}

/// Number of the fields.
pub const FIELDS: usize = field::ALL.len();

/// One end of a flow, as its kernel sees it at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfoSample {
    /// Time of the sample.
    pub time: Time,
    /// Flow, by its number.
    pub flow: u32,
    /// True of the end that receives.
    pub is_receiver: bool,
    /// Values of [`field::ALL`]; [`NONE`] of a field that the kernel lacks.
    pub values: [u64; FIELDS],
}

impl InfoSample {
    /// Makes the sample of an end.
    pub fn of(time: Time, flow: u32, is_receiver: bool, info: &Info) -> Self {
        let mut values = [NONE; FIELDS];
        for (value, field) in values.iter_mut().zip(field::ALL) {
            *value = info.get(field).unwrap_or(NONE);
        }
        InfoSample { time, flow, is_receiver, values }
    }
}

impl Default for InfoSample {
    fn default() -> Self {
        InfoSample { time: Time::ZERO, flow: 0, is_receiver: false, values: [NONE; FIELDS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_later_kernel_are_absent_and_read_as_zero() {
        // Linux 2.6.12 filled 104 bytes.
        let old = Info::with(104, [(&field::total_retrans, 7)].into_iter());
        assert_eq!((old.get(&field::total_retrans), old.get(&field::pacing_rate)), (Some(7), None));
        assert_eq!((old.total_rto(), old.bytes_sent()), (0, 0));
        let lacking: Vec<&str> = field::ALL.iter().filter(|field| !old.has(field)).map(|field| field.name).collect();
        assert_eq!((lacking[0], lacking.len()), ("pacing_rate", 34));
        // Half a field is none.
        let counted = |len| Info::with(len, [(&field::total_rto, 3)].into_iter()).get(&field::total_rto);
        assert_eq!((counted(241), counted(242)), (None, Some(3)));
    }

    #[test]
    fn fields_follow_each_other_at_multiples_of_their_size() {
        for pair in field::ALL.windows(2) {
            let end = pair[0].at + pair[0].len;
            assert_eq!(pair[1].at, end.next_multiple_of(pair[1].len), "{pair:?}");
        }
    }

    #[test]
    fn counts_of_segments_are_bytes() {
        let values = [
            (&field::snd_mss, 1448),
            (&field::unacked, 10),
            (&field::sacked, 3),
            (&field::lost, 2),
            (&field::retrans, 1),
            (&field::snd_ssthresh, 0x7fff_ffff),
            (&field::snd_cwnd, 20),
            (&field::rtt, 70_000),
        ];
        let info = Info::with(ROOM, values.into_iter());
        assert_eq!((info.cwnd(), info.ssthresh(), info.in_flight()), (20 * 1448, u64::MAX, 6 * 1448));
        assert_eq!(info.srtt(), Duration::from_millis(70));
    }
}
