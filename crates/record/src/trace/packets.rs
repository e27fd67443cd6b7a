//! Packet events: one row per event at a link or at an end.

use longfat_core::packet::{AccEcnOption, Ecn, flags};
use longfat_core::queue::DropReason;
use longfat_core::time::Time;
use std::sync::LazyLock;

/// Event of a packet. Sequence numbers are offsets of the stream: the SYN and the first byte are both at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketEvent {
    /// Time of the event.
    pub time: Time,
    /// Kind of event.
    pub kind: PacketKind,
    /// Flow of the packet, by its number.
    pub flow: u32,
    /// True if the packet goes from the receiver of the flow to its sender.
    pub is_back: bool,
    /// Link of the event; none at the ends.
    pub link: Option<u32>,
    /// Offset of its first byte; for UDP and ping, its number.
    pub seq: u64,
    /// Next offset expected of the other side's stream.
    pub ack: Option<u64>,
    /// Payload length, in bytes.
    pub len: u32,
    /// Size of the IP packet, in bytes.
    pub ip_len: u32,
    /// TCP flags, as on the wire.
    pub flags: u16,
    /// The window field, not yet scaled.
    pub window: u16,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// SACK blocks: offsets of the other side's stream, from and until.
    pub sack: [[Option<u64>; 2]; 4],
    /// The timestamps option: TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// The maximum segment size option of a SYN.
    pub mss: Option<u16>,
    /// The window scale option of a SYN.
    pub window_scale: Option<u8>,
    /// The SACK-permitted option of a SYN.
    pub sack_permitted: bool,
    /// The AccECN option.
    pub accecn: Option<AccEcnOption>,
}

/// Kind of packet event. Kinds are in the order in which they happen to packets of one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketKind {
    /// The packet arrived at its end.
    Delivered,
    /// An end put the packet into the network.
    #[default]
    Sent,
    /// The packet came to the queue of a link.
    Queued,
    /// A queue marked the packet CE.
    Marked,
    /// The packet is lost.
    Dropped(DropReason),
}

impl PacketKind {
    /// Every kind but the drops, with its word in results and what it means.
    const OTHERS: [(PacketKind, &'static str, &'static str); 4] = [
        (PacketKind::Sent, "sent", "an end put it into the network"),
        (
            PacketKind::Queued,
            "queued",
            "it came to the queue of a link (its first cell to a switch, its last to a switch after a switch); what is dropped there at once has a row for both",
        ),
        (PacketKind::Marked, "marked", "a queue set CE instead of dropping it"),
        (PacketKind::Delivered, "delivered", "it reached the protocol at its other end"),
    ];

    /// Returns every kind: the others, then a drop for each reason.
    pub fn all() -> impl Iterator<Item = PacketKind> {
        let drops = DropReason::ALL.iter().map(|reason| PacketKind::Dropped(*reason));
        Self::OTHERS.iter().map(|(kind, ..)| *kind).chain(drops)
    }
    /// Returns its word in results.
    pub fn word(self) -> &'static str {
        if let PacketKind::Dropped(reason) = self { reason.event() } else { self.other().1 }
    }
    /// Describes the event in one line.
    pub fn summary(self) -> &'static str {
        if let PacketKind::Dropped(reason) = self { reason.summary() } else { self.other().2 }
    }
    fn other(self) -> &'static (PacketKind, &'static str, &'static str) {
        Self::OTHERS.iter().find(|(kind, ..)| *kind == self).expect("every kind is listed")
    }
}

/// The words of [`PacketKind::all`], in their order.
pub(super) fn kinds() -> &'static [&'static str] {
    static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| PacketKind::all().map(PacketKind::word).collect());
    &WORDS
}

/// Flags as tcpdump writes them, one word for each set of the nine bits: `S.` is SYN and ACK, `.` an ACK alone, `P.` with PSH.
pub(super) fn flag_words() -> &'static [&'static str] {
    const LETTERS: [(u16, char); 9] = [
        (flags::FIN, 'F'),
        (flags::SYN, 'S'),
        (flags::RST, 'R'),
        (flags::PSH, 'P'),
        (flags::ACK, '.'),
        (0x20, 'U'),
        (flags::ECE, 'E'),
        (flags::CWR, 'W'),
        (flags::AE, 'e'),
    ];
    static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let word = |bits: u16| LETTERS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, letter)| *letter).collect::<String>();
        (0..512).map(|bits| &*word(bits).leak()).collect()
    });
    &WORDS
}

/// The ECN field of the IP header, by its value (RFC 3168, section 5).
pub(super) fn ecn_words() -> &'static [&'static str] {
    &["not_ect", "ect1", "ect0", "ce"]
}

/// The places of the AccECN option's counters of ECT(0), CE and ECT(1) among its fields, by its order (RFC 9768 §3.2.3).
pub(super) const ACCECN_FIELDS: [[usize; 3]; 2] = [[0, 1, 2], [2, 1, 0]];

pub(super) const ECNS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
