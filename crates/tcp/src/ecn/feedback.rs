//! The sending half: how much of what was delivered the other side says was marked.

use super::{EcnKind, EcnUse, of_flags};
use longfat_core::packet::{AccEcnOption, Ecn, Segment, flags};

/// RFC 9768 appendix A: the moduli of the ACE field and of the fields of the option, and when a packet count is safe enough.
const DIVACE: u64 = 8;
const DIVOPT: u64 = 1 << 24;
const SAFETY_FACTOR: u64 = 2;
/// RFC 9768 §A.2.1: the ACE field is suspected of having wrapped only while ACKs cover well under eight packets on average.
const THINNED: f64 = 4.0;
/// Marks that take the ACE field from its first value to zero.
const MARKS_TO_ZERO: u64 = 3;

/// Marks that an ACK told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Marks {
    /// True if there is congestion to react to.
    pub any: bool,
    /// Marked bytes among those that this ACK delivered; not known under classic ECN.
    pub bytes: u64,
}

impl Marks {
    pub(crate) const NONE: Self = Marks { any: false, bytes: 0 };
}

/// Sender's knowledge of the marks on its packets.
#[derive(Clone, Debug)]
pub(crate) struct Feedback {
    kind: EcnKind,
    uses: EcnUse,
    /// The other side's fields, or the SYNs, show that something on the path changes the ECN field: send nothing ECN-capable.
    mangled: bool,
    /// The feedback itself makes no sense: do not react to it.
    ignored: bool,
    /// None has come since the handshake.
    untested: bool,
    /// s.cep and s.ceb as far as they are told apart: modulo 8 and modulo 2^24.
    packets: u64,
    bytes: u64,
    /// TSval of the newest ACK taken, to know one that was overtaken.
    newest: Option<u32>,
    /// True if options come, and true if the last ACK had one.
    options: bool,
    in_step: bool,
    /// Packets that an ACK delivers, a moving average.
    ack_covers: f64,
    /// Bytes told as marked that no sample has counted yet: an ACK can tell of data that another one delivers.
    uncounted: u64,
}

impl Feedback {
    /// Returns a state without feedback, for a control that makes `uses` of ECN.
    pub(crate) fn new(uses: EcnUse) -> Self {
        Feedback {
            kind: EcnKind::Off,
            uses,
            mangled: false,
            ignored: false,
            untested: true,
            packets: 5,
            bytes: 0,
            newest: None,
            options: false,
            in_step: true,
            ack_covers: 1.0,
            uncounted: 0,
        }
    }

    /// The SYNs have agreed.
    pub(crate) fn agree(&mut self, kind: EcnKind) {
        self.kind = kind;
    }

    /// Sets the use of ECN by another control.
    pub(crate) fn set_uses(&mut self, uses: EcnUse) {
        self.uses = uses;
    }

    /// s.cep, from its start at 5 (RFC 9768 §3.2.1), where there is one.
    pub(crate) fn marked_packets(&self) -> Option<u64> {
        (self.kind == EcnKind::AccEcn).then_some(self.packets - 5)
    }

    /// Sends nothing ECN-capable from now on; feedback is still heeded.
    pub(crate) fn withhold(&mut self) {
        self.mangled = true;
    }

    /// RFC 9768 §3.2.2.4: nor does it heed what it is told.
    fn distrust(&mut self) {
        (self.mangled, self.ignored) = (true, true);
    }

    /// Returns true if AccECN was agreed on, and something then spoke against it.
    pub(crate) fn was_given_up(&self) -> bool {
        self.kind == EcnKind::AccEcn && self.mangled
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.kind != EcnKind::Off
    }

    /// Returns true if reductions are answered by CWR (RFC 3168 §6.1.2, RFC 8257 §3.3; RFC 9768 §3.1.5 has none).
    pub(crate) fn answers_by_cwr(&self) -> bool {
        matches!(self.kind, EcnKind::Classic | EcnKind::Dctcp)
    }

    /// Returns true if an echo stands for a whole window (RFC 3168).
    pub(crate) fn is_classic(&self) -> bool {
        self.kind == EcnKind::Classic
    }

    /// Returns the ECN field of new data. RFC 9331 §4.3: ECT(1) only where the feedback is what the control needs.
    #[inline]
    pub(crate) fn codepoint(&self) -> Ecn {
        match self.kind {
            EcnKind::Off => Ecn::NotEct,
            _ if self.mangled => Ecn::NotEct,
            kind if self.uses.accepts(kind) => self.uses.ect,
            _ => Ecn::Ect0,
        }
    }

    /// Returns true if a mark means a mark to the control. A control that must know how many there are, and is not told, takes a mark for
    /// a loss (RFC 3168 §5).
    pub(crate) fn is_enough(&self) -> bool {
        self.uses.accepts(self.kind)
    }

    /// The client: the SYN-ACK says what was in the ECN field of our SYN, which was nothing (RFC 9768 §3.2.2.3).
    pub(crate) fn take_syn_ack(&mut self, syn_ack: &Segment) {
        if self.kind == EcnKind::AccEcn {
            // 0b101 is reserved and counts as unchanged (§3.1.3).
            self.mangled |= !matches!(of_flags(syn_ack.flags), 0b010 | 0b101);
            self.start(syn_ack);
        }
    }

    /// The server: the pure ACK of our SYN-ACK says what was in its ECN field, which was nothing (RFC 9768 §3.2.2.1, Table 4).
    pub(crate) fn take_handshake_ack(&mut self, ack: &Segment) {
        if self.kind != EcnKind::AccEcn || ack.seq_len() > 0 || ack.sack_count() > 0 {
            return;
        }
        let code = of_flags(ack.flags);
        // Note 1 of Table 4.
        self.ignored = code == 0b000;
        self.mangled |= matches!(code, 0b000 | 0b011 | 0b100 | 0b110);
        self.packets += u64::from(code == 0b110);
        self.start(ack);
    }

    /// The first of the other side's segments: later ones are compared with it. RFC 9768 §3.2.3.2.3: no option on it means none will
    /// come; §3.2.3.2.4: one with its counters at zero is not to be believed.
    fn start(&mut self, segment: &Segment) {
        self.newest = segment.timestamps().map(|(val, _)| val);
        self.options = segment.accecn().is_some_and(|o| o.fields == 3 && o.values[0] != 0 && o.values[2] != 0);
    }

    /// An ACK that delivered `delivered` bytes, in segments of at most `mss`.
    #[inline]
    pub(crate) fn take(&mut self, segment: &Segment, delivered: u64, mss: u64) -> Marks {
        let echo = segment.has(flags::ECE);
        match self.kind {
            EcnKind::Off => Marks::default(),
            EcnKind::Classic => Marks { any: echo, bytes: 0 },
            // RFC 8257 §3.3 steps 1 to 3, but for SACK, which it ignores: here a byte counts when it is first known to have arrived, by
            // the ECE of the ACK that says so.
            EcnKind::Dctcp => Marks { any: echo, bytes: if echo { delivered } else { 0 } },
            EcnKind::AccEcn => self.decode(segment, delivered, mss),
        }
    }

    #[inline]
    fn decode(&mut self, segment: &Segment, delivered: u64, mss: u64) -> Marks {
        // RFC 9768 §3.2.2: no counter on a SYN. §A.1: only an ACK that is news, by its data or by its time, is not superseded.
        if segment.has(flags::SYN) {
            return Marks::default();
        }
        let newer = match (segment.timestamps(), &mut self.newest) {
            (Some((val, _)), Some(newest)) => {
                let newer = (val.wrapping_sub(*newest) as i32) > 0;
                *newest = if newer { val } else { *newest };
                newer
            }
            _ => false,
        };
        if delivered == 0 && !newer {
            return Marks::default();
        }
        let ace = of_flags(segment.flags);
        let same_packets = u64::from(ace) == self.packets % DIVACE;
        let same_bytes = segment.accecn_ceb().is_none_or(|ceb| u64::from(ceb) == self.bytes % DIVOPT);
        if same_packets & same_bytes & self.options & !self.untested & (delivered <= (DIVACE - 1) * mss) {
            // The common case: nothing was marked.
            self.in_step |= segment.has_accecn();
            return self.counted(0, false, delivered);
        }
        self.decode_news(segment.accecn(), ace, delivered, mss)
    }

    /// Decodes an ACK that may tell of marks.
    #[inline(never)]
    fn decode_news(&mut self, option: Option<AccEcnOption>, ace: u8, delivered: u64, mss: u64) -> Marks {
        // Marked packets, if the ACE field has not wrapped.
        let least = (u64::from(ace) + DIVACE - self.packets % DIVACE) % DIVACE;
        let acked = delivered.div_ceil(mss);
        if self.untested {
            self.test_ace(ace, acked);
        }
        // §3.2.2.5.2 asks for the conditions that prevail: as they were before this ACK, which may cover so much for the ones lost before it.
        let few = self.ack_covers < THINNED;
        if !self.options {
            self.ack_covers += (acked as f64 - self.ack_covers) / 8.0;
        }
        if least == 0 && option.is_none() && acked < DIVACE {
            // No mark, and no option to take in.
            return self.counted(0, false, delivered);
        }
        // §A.2.1.
        let safer = if acked > least { acked - (acked - least) % DIVACE } else { least };
        let (packets, bytes) = match option {
            Some(option) => {
                let bytes = self.news_of(Some(&option));
                self.bytes += bytes;
                if bytes > 0 && least == 0 && self.in_step && acked < DIVACE {
                    // §3.2.3.2.5: marked bytes without a marked packet.
                    self.mangled = true;
                }
                self.options = true;
                // §A.2.2: the bytes tell whether the packets can have been so few.
                let enough = bytes <= mss * least && SAFETY_FACTOR * bytes < mss * safer;
                (if enough { least } else { safer }, bytes)
            }
            // Options come, and this ACK had no news for one.
            None if self.options && least == 0 => (0, 0),
            None if self.options => (least, 0),
            None => {
                let packets = if few { safer } else { least };
                // §A.3, the average segment taken to be a full one.
                (packets, packets * mss)
            }
        };
        self.in_step = option.is_some();
        self.packets += packets;
        self.counted(bytes, packets > 0 || bytes > 0, delivered)
    }

    /// RFC 9768 §3.2.2.4: the first feedback after the handshake. The counter starts at 5, so zero means that something zeroes it.
    /// Departs from there in that it is no longer possible where so many packets have arrived that it may have come round.
    fn test_ace(&mut self, ace: u8, acked: u64) {
        self.untested = false;
        if ace == 0 && acked < MARKS_TO_ZERO {
            self.distrust();
        }
    }

    /// Returns how far the option moves s.ceb (RFC 9768 §A.1).
    #[inline]
    fn news_of(&self, option: Option<&AccEcnOption>) -> u64 {
        // ECEB is the second field in both orders; where it is left out, it has never changed.
        match option {
            Some(option) if option.fields >= 2 => (u64::from(option.values[1]) + DIVOPT - self.bytes % DIVOPT) % DIVOPT,
            _ => 0,
        }
    }

    #[inline]
    fn counted(&mut self, bytes: u64, any: bool, delivered: u64) -> Marks {
        if self.ignored {
            return Marks::default();
        }
        if self.uncounted + bytes == 0 {
            return Marks { any, bytes };
        }
        self.uncounted += bytes;
        let bytes = self.uncounted.min(delivered);
        self.uncounted -= bytes;
        Marks { any, bytes }
    }
}

#[cfg(test)]
mod tests;
