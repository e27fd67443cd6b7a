//! Receivers that deceive the sender's congestion control: Savage, Cardwell, Wetherall and Anderson, TCP Congestion Control with a Misbehaving
//! Receiver, ACM CCR 29(5), 1999, sections 3.1 to 3.3. The rules are from memory; the text was not at hand. Ours alone, and marked so: the
//! growth of the lead, and its retreat.

use crate::TcpConfig;

/// A receiver that misbehaves: what it acknowledges, and how often. Offsets are those of the stream that it receives.
#[derive(Debug)]
pub(crate) struct Misbehaving {
    division: u32,
    spoofed: u32,
    /// Segments acknowledged before they came, at most.
    lead: u32,
    /// The last acknowledgment sent.
    told: u64,
    /// Acknowledgment that is under way, in parts.
    goal: u64,
    /// ACKs still to go: parts up to `goal`, then duplicates of it.
    parts: u32,
    duplicates: u32,
    /// End of what optimistic ACKs acknowledge.
    claim: u64,
    /// Bytes that were missing when data after them came, and were acknowledged all the same.
    pub left_out: u64,
}

impl Misbehaving {
    /// A receiver by `config`, if that asks for one that misbehaves.
    pub(crate) fn new(config: &TcpConfig) -> Option<Self> {
        let rules = &config.misbehaviour;
        (rules.ack_division > 1 || rules.dupack_spoofing > 0 || rules.optimistic_acks > 0).then_some(Misbehaving {
            division: rules.ack_division,
            spoofed: rules.dupack_spoofing,
            lead: rules.optimistic_acks,
            // The SYN.
            told: 1,
            goal: 1,
            parts: 0,
            duplicates: 0,
            claim: 0,
            left_out: 0,
        })
    }

    /// Returns true if it acknowledges what has not come, lost segments among it.
    pub(crate) fn is_optimistic(&self) -> bool {
        self.lead > 0
    }

    /// New data of `len` octets has come, all of it below `next`; a full segment has `segment` bytes.
    ///
    /// The lead grows by a segment for each that comes, up to its bound. A sender that has a window of two segments or more then has sent what
    /// is acknowledged, for the ACK before has let that go. (Ours: the paper's receiver races ahead on a timer.)
    pub(crate) fn arrived(&mut self, next: u64, len: u64, segment: u32) {
        if self.is_optimistic() {
            let wanted = self.claim.max(next - len) + 2 * len;
            self.claim = wanted.min(next + u64::from(self.lead) * u64::from(segment)).max(next);
        }
    }

    /// The stream has ended at `next`, or the sender has shown that it has sent no more than up to there. Returns true if more was
    /// acknowledged. The sender ignores such ACKs (RFC 9293 §3.10.7.4), and so would wait for ever: another must go.
    pub(crate) fn retreat(&mut self, next: u64) -> bool {
        self.claim = self.claim.min(next);
        self.told > next
    }

    /// Returns what the next ACK acknowledges, where all up to `next` has come or been left out.
    pub(crate) fn acknowledge(&mut self, next: u64) -> u64 {
        let goal = next.max(self.claim);
        if goal != self.goal {
            self.goal = goal;
            (self.parts, self.duplicates) = if goal > self.told { (self.division, self.spoofed) } else { (1, 0) };
        }
        if self.parts > 0 {
            self.told = if goal > self.told { self.told + (goal - self.told).div_ceil(self.parts.into()) } else { goal };
            // No part is empty: a segment of few octets has few.
            self.parts = if self.told == goal { 0 } else { self.parts - 1 };
        } else {
            self.duplicates = self.duplicates.saturating_sub(1);
        }
        self.told
    }

    /// Returns true if more ACKs are to follow at once.
    pub(crate) fn has_more(&self) -> bool {
        self.parts > 0 || self.duplicates > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Misbehaviour;
    use crate::tests::config;

    fn receiver(ack_division: u32, dupack_spoofing: u32, optimistic_acks: u32) -> Misbehaving {
        let misbehaviour = Misbehaviour { ack_division, dupack_spoofing, optimistic_acks };
        Misbehaving::new(&TcpConfig { misbehaviour, ..config("rfc") }).unwrap()
    }

    /// All ACKs that go once all up to `next` is there.
    fn acks(receiver: &mut Misbehaving, next: u64) -> Vec<u64> {
        let mut all = vec![receiver.acknowledge(next)];
        while receiver.has_more() {
            all.push(receiver.acknowledge(next));
        }
        all
    }

    #[test]
    fn a_receiver_is_honest_by_default() {
        assert!(Misbehaving::new(&config("rfc")).is_none());
        assert!(Misbehaving::new(&config("linux")).is_none());
    }

    /// Section 3.1: M parts of a segment of N octets, M at most N.
    #[test]
    fn an_ack_is_divided_into_parts_none_of_which_is_empty() {
        let mut receiver = receiver(4, 0, 0);
        assert_eq!(acks(&mut receiver, 1461), [366, 731, 1096, 1461]);
        // The same again is a plain duplicate.
        assert_eq!(acks(&mut receiver, 1461), [1461]);
        assert_eq!(acks(&mut receiver, 1464), [1462, 1463, 1464]);
    }

    /// Data that comes between the parts becomes part of them.
    #[test]
    fn parts_go_on_from_the_last_one() {
        let mut receiver = receiver(2, 0, 0);
        assert_eq!(receiver.acknowledge(1001), 501);
        assert_eq!(acks(&mut receiver, 2001), [1251, 2001]);
    }

    /// Section 3.2.
    #[test]
    fn duplicates_follow_an_ack_of_new_data_alone() {
        let mut receiver = receiver(1, 3, 0);
        assert_eq!(acks(&mut receiver, 1461), [1461; 4]);
        assert_eq!(acks(&mut receiver, 1461), [1461]);
        assert_eq!(acks(&mut receiver, 2921), [2921; 4]);
    }

    /// Section 3.3.
    #[test]
    fn the_lead_grows_by_a_segment_for_each_up_to_its_bound() {
        let mut receiver = receiver(1, 0, 3);
        let claims = (1..=6).map(|n| {
            receiver.arrived(1 + 1000 * n, 1000, 1000);
            receiver.acknowledge(1 + 1000 * n)
        });
        assert_eq!(claims.collect::<Vec<_>>(), [2001, 4001, 6001, 7001, 8001, 9001]);
    }

    #[test]
    fn an_ack_of_what_was_not_sent_is_taken_back() {
        let mut receiver = receiver(1, 2, 9);
        receiver.arrived(1001, 1000, 1000);
        assert_eq!(acks(&mut receiver, 1001), [2001; 3]);
        assert!(receiver.retreat(1001));
        assert_eq!(acks(&mut receiver, 1001), [1001]);
        assert!(!receiver.retreat(1001));
    }
}
