//! Counters and flags as the RFCs' examples have them.

use super::super::to_flags;
use super::*;
use proptest::prelude::*;

const MSS: u64 = 1460;

fn feedback(uses: EcnUse, kind: EcnKind) -> Feedback {
    let mut feedback = Feedback::new(uses);
    feedback.agree(kind);
    feedback
}

fn ack(ace: u64, ceb: Option<u64>) -> Segment {
    let mut ack = Segment::new(0, flags::ACK | to_flags((ace % 8) as u8), 0);
    if let Some(ceb) = ceb {
        ack.set_accecn(AccEcnOption { order: 0, fields: 2, values: [1, (ceb % DIVOPT) as u32, 0] });
    }
    ack
}

/// The numbers of RFC 9768 §A.1.
#[test]
fn the_byte_counter_wraps() {
    let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
    (f.bytes, f.options) = (33_554_433, true);
    assert_eq!(f.take(&ack(6, Some(1461)), MSS, MSS), Marks { any: true, bytes: 1460 });
    assert_eq!((f.bytes, f.packets), (33_555_893, 6));
}

/// The two examples of RFC 9768 §A.2.1, without options: the ACE field moves by 2.
#[test]
fn the_packet_counter_may_have_wrapped() {
    for (acked, marked) in [(9, 2), (10, 10), (1, 2)] {
        let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
        assert_eq!(f.take(&ack(7, None), acked * MSS, MSS), Marks { any: true, bytes: marked.min(acked) * MSS });
        assert_eq!(f.packets, 5 + marked, "{acked}");
    }
    // Many ACKs lost before one that covers them all: of its 40 packets 34 may be marked.
    let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
    (0..30).for_each(|_| _ = f.take(&ack(5, None), 2 * MSS, MSS));
    f.take(&ack(7, None), 40 * MSS, MSS);
    assert_eq!(f.packets, 5 + 34);
    // Every ACK covers that many packets here: nothing says that ACKs were lost.
    let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
    (0..30).for_each(|_| _ = f.take(&ack(5, None), 7 * MSS, MSS));
    f.take(&ack(7, None), 10 * MSS, MSS);
    assert_eq!(f.packets, 7);
}

/// The three examples of RFC 9768 §A.2.2: (d.cep, newly acknowledged, d.ceb, what is taken for d.cep).
#[test]
fn the_bytes_tell_whether_the_packets_wrapped() {
    for (least, acked, bytes, packets) in [(0, 8, 1460, 8), (2, 10, 1460, 2), (7, 15, 10_200, 7)] {
        let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
        f.take(&ack(5 + least, Some(bytes)), acked * MSS, MSS);
        assert_eq!(f.packets, 5 + packets, "{least} {acked} {bytes}");
    }
}

proptest! {
    /// RFC 9768 §3.2.2.5.2: whichever ACKs are lost, each of some full segments, some of them marked, the sender counts as many marked
    /// packets as the receiver up to a multiple of eight, and with full segments never fewer; with the option, to the byte as many.
    #[test]
    fn no_loss_of_acks_hides_a_mark(acks in prop::collection::vec((1_u64..4, 0_u64..4, 0_u8..10), 1..200), options in any::<bool>()) {
        let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
        let (mut marked, mut unacked) = (0, 0);
        for (covers, marks, luck) in acks {
            marked += marks.min(covers);
            unacked += covers;
            // One in ten gets through, and what it covers is much for ACKs that as a rule cover two.
            if luck > 0 && unacked < 40 {
                continue;
            }
            f.ack_covers = 2.0;
            f.take(&ack(5 + marked, options.then_some(marked * MSS)), unacked * MSS, MSS);
            unacked = 0;
            prop_assert_eq!((f.packets - 5) % 8, marked % 8);
            prop_assert!(f.packets - 5 >= marked);
            prop_assert!(!options || f.bytes == marked * MSS);
            // The other side's count, for what comes after: that of the sender may now be ahead by rounds.
            f.packets = 5 + marked;
        }
    }
}

#[test]
fn an_ack_that_was_overtaken_says_nothing() {
    let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
    let at = |mut ack: Segment, val| {
        ack.set_timestamps(val, 0);
        ack
    };
    assert!(f.take(&at(ack(6, Some(MSS)), 10), MSS, MSS).any);
    // Older by its acknowledgment and no newer by its time.
    assert_eq!(f.take(&at(ack(5, Some(0)), 9), 0, MSS), Marks::default());
    assert_eq!(f.take(&at(ack(5, Some(0)), 10), 0, MSS), Marks::default());
    assert_eq!((f.packets, f.bytes), (6, MSS));
}

#[test]
fn no_sample_has_more_marked_than_delivered() {
    let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
    assert_eq!(f.take(&ack(7, Some(2 * MSS)), MSS, MSS).bytes, MSS);
    assert_eq!(f.take(&ack(7, None), 3 * MSS, MSS), Marks { any: false, bytes: MSS });
    assert_eq!(f.take(&ack(7, None), 3 * MSS, MSS), Marks::default());
}

/// RFC 9768 §3.2.3.2.5.
#[test]
fn marked_bytes_without_a_marked_packet_end_ecn() {
    let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
    assert_eq!(f.codepoint(), Ecn::Ect1);
    f.take(&ack(5, Some(MSS)), MSS, MSS);
    assert_eq!(f.codepoint(), Ecn::NotEct);
}

/// RFC 9768 Tables 2 and 4: what our SYN, which was not ECN-capable, became.
#[test]
fn a_path_that_changes_the_field_is_sent_nothing_ecn_capable() {
    for code in 1..8 {
        let mut client = feedback(EcnUse::L4S, EcnKind::AccEcn);
        client.take_syn_ack(&Segment::new(0, flags::SYN | flags::ACK | to_flags(code), 0));
        assert_eq!(client.codepoint() == Ecn::Ect1, matches!(code, 0b010 | 0b101), "{code:03b}");
    }
    for code in 0..8 {
        let mut server = feedback(EcnUse::L4S, EcnKind::AccEcn);
        server.take_handshake_ack(&ack(code, None));
        assert_eq!(server.codepoint() == Ecn::Ect1, matches!(code, 0b001 | 0b010 | 0b101 | 0b111), "{code:03b}");
        assert_eq!(server.packets, if code == 0b110 { 6 } else { 5 });
        assert_eq!(server.take(&ack(server.packets + 1, None), MSS, MSS).any, code != 0);
    }
}

/// RFC 9768 §3.2.2.4.
#[test]
fn a_counter_that_starts_at_zero_is_zeroed_on_its_way() {
    // (ACE, packets that had arrived, whether it is believed.)
    for (ace, arrived, believed) in [(0, 1, false), (0, 2, false), (0, 3, true), (6, 1, true), (7, 2, true)] {
        let mut f = feedback(EcnUse::L4S, EcnKind::AccEcn);
        assert_eq!(f.take(&ack(ace, None), arrived * MSS, MSS).any, believed, "{ace} {arrived}");
        assert_eq!(f.codepoint() == Ecn::Ect1, believed);
        // Only the first is tested.
        f.take(&ack(0, None), MSS, MSS);
        assert_eq!((f.codepoint() == Ecn::Ect1, f.was_given_up()), (believed, !believed));
    }
}

/// RFC 9331 §4.3: ECT(1) only with the feedback for it; without, a mark is a loss.
#[test]
fn a_control_that_is_not_told_enough_falls_back() {
    let prague = |kind| {
        let f = feedback(EcnUse::L4S, kind);
        (f.codepoint(), f.is_enough())
    };
    assert_eq!(prague(EcnKind::AccEcn), (Ecn::Ect1, true));
    assert_eq!(prague(EcnKind::Classic), (Ecn::Ect0, false));
    assert_eq!(prague(EcnKind::Off).0, Ecn::NotEct);
    let f = feedback(EcnUse::CLASSIC, EcnKind::AccEcn);
    assert_eq!((f.codepoint(), f.is_enough()), (Ecn::Ect0, true));
    assert!(!feedback(EcnUse::DCTCP, EcnKind::Classic).is_enough());
}
