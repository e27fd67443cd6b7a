//! FACK (Mathis and Mahdavi, SIGCOMM 1996): the highest SACK tells what has left the network.

use super::overtaken::{take, tell, ten_out};
use super::*;

/// "if ((snd.fack - snd.una) > (3 * MSS) || (dupacks == 3))": two SACKs are enough where they are far above the left edge, for which RFC 6675
/// waits for a third.
#[test]
fn a_recovery_begins_by_how_far_the_highest_sack_is() {
    for (recovery, begins) in [(RecoveryKind::Fack, 1), (RecoveryKind::Sack, 0)] {
        let mut pair = ten_out(|c| c.recovery = recovery);
        tell(&mut pair, 2, &[(4, 5)]);
        assert_eq!(pair.client.stats().fast_retransmits, 0, "three segments are not more than three");
        tell(&mut pair, 2, &[(4, 6)]);
        assert_eq!(pair.client.stats().fast_retransmits, begins, "{recovery:?}");
        assert_eq!(pair.client.info().lost, 2 * u32::from(begins == 1), "{recovery:?}");
    }
}

/// "awnd = snd.nxt - snd.fack + retran_data": in a recovery all that is below the highest SACK has left, however few are SACKed above it.
#[test]
fn in_a_recovery_nothing_below_the_highest_sack_is_in_flight() {
    for (recovery, lost) in [(RecoveryKind::Fack, 4), (RecoveryKind::Sack, 2)] {
        let mut pair = ten_out(|c| c.recovery = recovery);
        tell(&mut pair, 2, &[(4, 5)]);
        tell(&mut pair, 2, &[(4, 6)]);
        // 2 and 3 are lost by either rule; 6 and 7 have one segment SACKed above them.
        tell(&mut pair, 2, &[(8, 9), (4, 6)]);
        let info = pair.client.info();
        assert_eq!((info.sacked, info.lost), (3, lost), "{recovery:?}");
    }
}

/// Three duplicate ACKs are enough as well, with next to nothing SACKed.
#[test]
fn three_duplicates_begin_a_recovery() {
    let mut pair = ten_out(|c| c.recovery = RecoveryKind::Fack);
    let part = |pair: &mut Pair, n: u32| {
        let mut segment = Segment::new(1, flags::ACK, 0);
        segment.push_sack(3_001, 3_001 + 100 * n);
        take(pair, segment, 2, &[]);
    };
    (1..3).for_each(|n| part(&mut pair, n));
    assert_eq!(pair.client.stats().fast_retransmits, 0);
    part(&mut pair, 3);
    assert_eq!(pair.client.stats().fast_retransmits, 1);
}
