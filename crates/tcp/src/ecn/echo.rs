//! The receiving half: what to tell the other side of the marks that arrive.

use super::{EcnKind, handshake_code, to_flags};
use longfat_core::packet::{AccEcnOption, Ecn, Segment, flags};

/// The byte counters, in order 0 of the option.
const E0B: usize = 0;
const CEB: usize = 1;
const E1B: usize = 2;

/// Receiver's knowledge of the ECN fields of the packets that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    kind: EcnKind,
    /// Classic: CE has come and no CWR yet. DCTCP: DCTCP.CE. AccECN: whether the last packet was marked.
    ce: bool,
    /// r.cep: packets marked CE.
    packets: u32,
    /// r.e0b, r.ceb and r.e1b: payload bytes by their marking.
    bytes: [u32; 3],
    /// Which of them have ever changed, the order and the fields of the option that tells of all these, and whether one has since the last.
    changed: [bool; 3],
    layout: (u8, u8),
    option_due: bool,
    /// The first data segment has yet to carry a whole option; and the segment that goes now carries none.
    test_due: bool,
    forgoes: bool,
    /// A SYN-ACK came marked.
    syn_ack_marked: bool,
    /// Packets marked since the last ACK.
    unacked_marks: u32,
}

impl Echo {
    /// RFC 9768 §3.2.1: the counters do not start at zero, so that zeroed fields are seen to be wrong.
    pub(crate) fn new() -> Self {
        Echo {
            kind: EcnKind::Off,
            ce: false,
            packets: 5,
            bytes: [1, 0, 1],
            changed: [false; 3],
            layout: (0, 1),
            option_due: false,
            test_due: false,
            forgoes: false,
            syn_ack_marked: false,
            unacked_marks: 0,
        }
    }

    /// The SYNs have agreed, the other side's being a SYN-ACK or not.
    pub(crate) fn agree(&mut self, kind: EcnKind, answers: bool) {
        self.kind = kind;
        // RFC 9768 §3.2.3.2.1: the client's first data segment, since its ACK of the SYN-ACK is not delivered reliably.
        self.test_due = answers && kind == EcnKind::AccEcn;
    }

    pub(crate) fn kind(&self) -> EcnKind {
        self.kind
    }

    /// Returns true if data with this ECN field must be told apart from the data that waits for a delayed ACK: under DCTCP an ACK speaks
    /// of all that it covers.
    #[inline]
    pub(crate) fn splits_ack(&self, ecn: Ecn) -> bool {
        self.kind == EcnKind::Dctcp && (ecn == Ecn::Ce) != self.ce
    }

    /// An acceptable segment of `payload` bytes arrived; `owing` is whether data waits to be acknowledged, this included. Whether an
    /// ACK must go at once.
    #[inline]
    pub(crate) fn arrived(&mut self, flags: u16, payload: u32, ecn: Ecn, owing: bool) -> bool {
        match self.kind {
            EcnKind::Off => false,
            EcnKind::Classic => {
                // RFC 3168 §6.1.3: CWR ends the echo; a CE on the same packet begins the next.
                self.ce = ecn == Ecn::Ce || (self.ce && flags & flags::CWR == 0);
                false
            }
            EcnKind::Dctcp => {
                // RFC 8257 §3.2, rules 1 to 3. Control packets are never ECN-capable (§3.6): they say nothing of the path's queues.
                let changes = payload > 0 && self.splits_ack(ecn);
                self.ce ^= changes;
                changes
            }
            EcnKind::AccEcn => self.count(payload, ecn, owing),
        }
    }

    #[inline]
    fn count(&mut self, payload: u32, ecn: Ecn, owing: bool) -> bool {
        let marked = ecn == Ecn::Ce;
        // RFC 9768 §3.2: every packet for r.cep, payload for the byte counters.
        if payload > 0 && ecn != Ecn::NotEct {
            let i = [E0B, E1B, E0B, CEB][ecn as usize];
            self.bytes[i] = self.bytes[i].wrapping_add(payload);
            if !self.changed[i] {
                self.changed[i] = true;
                self.lay_out();
            }
            self.option_due = true;
        }
        let begins = marked && !self.ce && payload > 0;
        self.ce = marked;
        if !marked {
            return false;
        }
        self.packets = self.packets.wrapping_add(1);
        self.unacked_marks += 1;
        // RFC 9768 §3.2.2.5.1: at the first mark after a packet without, and every n marks.
        begins || self.unacked_marks >= if owing { 2 } else { 3 }
    }

    /// The flags of an ACK, and its option if it has something new to say and `room` for it. Counts as said.
    #[inline]
    pub(crate) fn stamp(&mut self, segment: &mut Segment, room: u64) {
        match self.kind {
            EcnKind::Off => {}
            EcnKind::Classic | EcnKind::Dctcp => {
                if self.ce {
                    segment.flags |= flags::ECE;
                }
            }
            EcnKind::AccEcn => {
                // RFC 9768 §3.2.2: the flags of a SYN are not a counter.
                if !segment.has(flags::SYN) {
                    segment.flags |= to_flags(self.packets as u8);
                }
                self.unacked_marks = 0;
                let carries_data = segment.len > 0;
                let len = u64::from(self.option_len(carries_data));
                if len > 0 && len <= room && segment.set_accecn(self.option(carries_data)) {
                    self.option_due = false;
                    self.test_due &= !carries_data;
                }
                self.forgoes = false;
            }
        }
    }

    /// The segment that is stamped next carries no option. RFC 9768 §3.2.3.2.2: the first data segment was lost, perhaps for its option.
    pub(crate) fn forgo_option(&mut self) {
        self.forgoes = true;
        self.test_due = false;
    }

    /// Stamps the ACK of a SYN-ACK (RFC 9768 §3.2.2.1): it carries not the counter, but the ECN field of the SYN-ACK.
    pub(crate) fn stamp_handshake(&mut self, segment: &mut Segment, syn_ack: Ecn) {
        // §3.2.2.2: marks on SYN-ACKs count once, however many there are; one on a SYN does not count.
        if syn_ack == Ecn::Ce && !self.syn_ack_marked {
            self.syn_ack_marked = true;
            self.packets += 1;
        }
        segment.flags |= to_flags(handshake_code(syn_ack));
        self.stamp_first_option(segment);
    }

    /// RFC 9768 §3.2.3.2.1: the SYN-ACK and the ACK of it carry a whole option, to see whether the path lets it through.
    pub(crate) fn stamp_first_option(&mut self, segment: &mut Segment) {
        segment.set_accecn(AccEcnOption { order: 0, fields: 3, values: self.bytes });
    }

    /// Bytes of the option that the next ACK is to carry, with data or without; padding included.
    #[inline]
    pub(crate) fn option_len(&self, data: bool) -> u32 {
        if (self.option_due || (self.test_due && data)) && !self.forgoes { AccEcnOption::padded_len(self.layout(data).1) } else { 0 }
    }

    #[inline]
    fn layout(&self, data: bool) -> (u8, u8) {
        if self.test_due && data { (0, 3) } else { self.layout }
    }

    /// The order and the fields needed to have every counter that ever changed (RFC 9768 §3.2.3.3, the simple scheme).
    #[cold]
    fn lay_out(&mut self) {
        let order = u8::from(self.changed[E1B] && !self.changed[E0B]);
        let last = if order == 0 { E1B } else { E0B };
        self.layout = (order, if self.changed[last] { 3 } else { 1 + u8::from(self.changed[CEB]) });
    }

    #[inline]
    fn option(&self, data: bool) -> AccEcnOption {
        let (order, fields) = self.layout(data);
        let [e0b, ceb, e1b] = self.bytes;
        let (first, last) = if order == 0 { (e0b, e1b) } else { (e1b, e0b) };
        AccEcnOption { order, fields, values: [first, if fields > 1 { ceb } else { 0 }, if fields > 2 { last } else { 0 }] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(kind: EcnKind) -> Echo {
        let mut echo = Echo::new();
        echo.agree(kind, false);
        echo
    }

    /// The flags and the option of an ACK sent now.
    fn ack(echo: &mut Echo) -> (u16, Option<AccEcnOption>) {
        let mut segment = Segment::new(0, flags::ACK, 0);
        echo.stamp(&mut segment, 40);
        (segment.flags & !flags::ACK, segment.accecn())
    }

    /// RFC 3168 §6.1.3.
    #[test]
    fn classic_echoes_until_cwr() {
        let mut echo = echo(EcnKind::Classic);
        let mut step = |flags, ecn| {
            assert!(!echo.arrived(flags, 100, ecn, true), "a mark does not hurry the ACK");
            ack(&mut echo).0 == flags::ECE
        };
        let steps = [(0, Ecn::Ect0), (0, Ecn::Ce), (0, Ecn::Ect0), (flags::CWR, Ecn::Ect0), (0, Ecn::Ce), (flags::CWR, Ecn::Ce)];
        assert_eq!(steps.map(|(flags, ecn)| step(flags, ecn)), [false, true, true, false, true, true]);
    }

    /// RFC 8257 §3.2: an ACK at once whenever DCTCP.CE changes, and ECE if and only if it is set.
    #[test]
    fn dctcp_acknowledges_each_change() {
        let mut echo = echo(EcnKind::Dctcp);
        let mut step = |ecn, payload| {
            let splits = echo.splits_ack(ecn);
            let now = echo.arrived(0, payload, ecn, true);
            assert!(!now || splits);
            (now, ack(&mut echo).0 == flags::ECE)
        };
        assert_eq!(step(Ecn::Ect0, 100), (false, false));
        assert_eq!(step(Ecn::Ce, 100), (true, true));
        assert_eq!(step(Ecn::Ce, 100), (false, true));
        assert_eq!(step(Ecn::NotEct, 0), (false, true), "a pure ACK says nothing");
        assert_eq!(step(Ecn::NotEct, 100), (true, false), "a retransmission");
        assert_eq!(step(Ecn::Ect0, 100), (false, false));
    }

    /// RFC 9768 §3.2.2.5.1.
    #[test]
    fn accecn_acknowledges_the_first_mark_and_every_second() {
        let mut echo = echo(EcnKind::AccEcn);
        let now: Vec<bool> = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ce].map(|ecn| echo.arrived(0, 100, ecn, true)).to_vec();
        assert_eq!(now, [false, true, true, false, true]);
        ack(&mut echo);
        // Marked packets without data: every third.
        let now: Vec<bool> = (0..4).map(|_| echo.arrived(0, 0, Ecn::Ce, false)).collect();
        assert_eq!(now, [false, false, true, true]);
    }

    /// RFC 9768 §3.2.3.2.1: a whole option on the first data segment; §3.2.3.2.2: none when it goes again.
    #[test]
    fn the_first_data_segment_tests_the_path() {
        let mut echo = Echo::new();
        echo.agree(EcnKind::AccEcn, true);
        let data = |echo: &mut Echo| {
            let mut segment = Segment::new(0, flags::ACK, 100);
            echo.stamp(&mut segment, 12);
            segment.accecn()
        };
        assert_eq!((echo.option_len(false), echo.option_len(true), ack(&mut echo).1), (0, 12, None));
        assert_eq!(data(&mut echo), Some(AccEcnOption { order: 0, fields: 3, values: [1, 0, 1] }));
        assert_eq!(data(&mut echo), None);
        echo.arrived(0, 10, Ecn::Ect1, true);
        echo.forgo_option();
        assert_eq!(data(&mut echo), None);
        // News that had no room stays due.
        assert_eq!(data(&mut echo), Some(AccEcnOption { order: 1, fields: 1, values: [11, 0, 0] }));
        // The server has tested with its SYN-ACK.
        echo.agree(EcnKind::AccEcn, false);
        assert_eq!(data(&mut echo), None);
    }

    /// RFC 9768 §3.2.2.2: 5, and 6 after a marked SYN-ACK, however many come.
    #[test]
    fn marks_on_syn_acks_count_once() {
        let mut echo = Echo::new();
        echo.agree(EcnKind::AccEcn, true);
        for (ecn, code, count) in [(Ecn::NotEct, 0b010, 5), (Ecn::Ce, 0b110, 6), (Ecn::Ce, 0b110, 6)] {
            let mut answer = Segment::new(0, flags::ACK, 0);
            echo.stamp_handshake(&mut answer, ecn);
            assert_eq!((answer.flags & !flags::ACK, ack(&mut echo).0), (to_flags(code), to_flags(count)));
        }
    }

    /// RFC 9768 §3.2.1, §3.2.2.2, §3.2.3: counters start at 5, 1, 0 and 1; the option has every counter that ever changed.
    #[test]
    fn accecn_counts_packets_and_bytes() {
        let mut echo = echo(EcnKind::AccEcn);
        assert_eq!(ack(&mut echo), (to_flags(5), None), "nothing to tell");
        echo.arrived(0, 1000, Ecn::Ect1, true);
        assert_eq!(ack(&mut echo), (to_flags(5), Some(AccEcnOption { order: 1, fields: 1, values: [1001, 0, 0] })));
        echo.arrived(0, 300, Ecn::Ce, true);
        assert_eq!(ack(&mut echo), (to_flags(6), Some(AccEcnOption { order: 1, fields: 2, values: [1001, 300, 0] })));
        assert_eq!(ack(&mut echo), (to_flags(6), None));
        echo.arrived(0, 20, Ecn::Ect0, true);
        assert_eq!(ack(&mut echo), (to_flags(6), Some(AccEcnOption { order: 0, fields: 3, values: [21, 300, 1001] })));
        echo.arrived(0, 0, Ecn::Ce, true);
        echo.arrived(0, 500, Ecn::NotEct, true);
        assert_eq!(ack(&mut echo), (to_flags(7), None), "only payload that was ECN-capable counts");
        // No room: it stays due.
        echo.arrived(0, 1, Ecn::Ce, true);
        let mut crowded = Segment::new(0, flags::ACK, 0);
        assert!(crowded.push_sack(1, 2) && crowded.push_sack(3, 4));
        echo.stamp(&mut crowded, 20);
        assert_eq!((crowded.flags & !flags::ACK, crowded.accecn()), (to_flags(8), None));
        assert_eq!(ack(&mut echo), (to_flags(0), Some(AccEcnOption { order: 0, fields: 3, values: [21, 301, 1001] })));
    }
}
