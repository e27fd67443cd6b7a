//! The verdicts of a repair, by hand.

use super::*;
use crate::stack;

const MSS: u64 = 1000;
/// Outstanding: twenty segments, from the first byte of the stream on.
const UNA: u64 = 1;
const MAX: u64 = UNA + 20 * MSS;

fn repair(kind: RecoveryKind) -> Repair {
    let rfc = TcpConfig::new(&stack::named("rfc").params(), 1500);
    Repair::new(
        &rfc.with(|tcp| {
            tcp.repair.prr = true;
            tcp.repair.limited_transmit = true;
            tcp.repair.frto = true;
            tcp.repair.undo = true;
            tcp.repair.dupack_threshold = 3;
        }),
        kind,
    )
}

fn outside() -> (RoundTrips, Measured) {
    let rfc = TcpConfig::new(&stack::named("rfc").params(), 1500);
    (RoundTrips::new(&rfc, longfat_core::time::Duration::ZERO), Measured::new(crate::congestion::build(&rfc)))
}

/// Everything outstanding is retransmitted.
fn start_over(repair: &mut Repair, board: &mut Scoreboard) {
    let (trips, mut control) = outside();
    repair.start_over(Time::ZERO, board, MSS, &trips, &mut control);
}

fn board() -> Scoreboard {
    let mut board = Scoreboard::default();
    board.sent_new(MAX);
    board.acknowledge(UNA);
    board
}

/// Three duplicate ACKs, and the fast recovery that they begin.
fn in_recovery(kind: RecoveryKind, board: &mut Scoreboard) -> Repair {
    let mut repair = repair(kind);
    for n in 1..=3 {
        board.sack(UNA + n * MSS, UNA + (n + 1) * MSS, |_, _| {});
        repair.duplicate_ack(UNA, MSS);
    }
    repair.begin(board);
    repair.enter(board, MSS, UNA + 2 * MSS, Some(10 * MSS));
    repair
}

/// RFC 5681 §3.2, RFC 6582 §3.2.
#[test]
fn without_sack_the_third_duplicate_begins_a_recovery_and_each_more_inflates_the_window() {
    let mut repair = repair(RecoveryKind::NewReno);
    let verdicts: Vec<_> = (0..4).map(|_| repair.duplicate_ack(UNA, MSS)).collect();
    assert_eq!(verdicts, [OnDuplicate::Nothing, OnDuplicate::Nothing, OnDuplicate::Enter, OnDuplicate::Nothing]);
    let (mut repair, mut board) = (self::repair(RecoveryKind::NewReno), board());
    repair.begin(&board);
    repair.enter(&mut board, MSS, UNA, None);
    assert_eq!(repair.window(MSS, || 10 * MSS), 13 * MSS);
    assert_eq!(repair.duplicate_ack(UNA, MSS), OnDuplicate::Nothing);
    assert_eq!(repair.window(MSS, || 10 * MSS), 14 * MSS);
    // Segment at the left edge goes again, whatever the window says; then nothing.
    assert_eq!(repair.next_lost(&board, MSS, 20 * MSS, 0), Lost::Goes { start: UNA, end: UNA + MSS });
    repair.lost_goes(&mut board, MSS, UNA, UNA + MSS);
    assert_eq!(repair.next_lost(&board, MSS, 20 * MSS, 0), Lost::Nothing);
    // A partial ACK of two segments: the next hole; the window less two, more one; the timer restarts, once.
    assert_eq!(repair.progress_in_recovery(UNA + 2 * MSS, 2 * MSS, MSS), OnProgress::Hole { restart_timer: true });
    assert_eq!(repair.window(MSS, || 10 * MSS), 13 * MSS);
    assert_eq!(repair.progress_in_recovery(UNA + 3 * MSS, MSS, MSS), OnProgress::Hole { restart_timer: false });
    assert_eq!(repair.progress_in_recovery(MAX, 17 * MSS, MSS), OnProgress::Ends);
    repair.end(&board);
    assert_eq!((repair.phase(), repair.window(MSS, || 10 * MSS)), (Phase::Open, 10 * MSS));
}

/// RFC 6582 §3.2 step 2, and RFC 2581, which had no such step.
#[test]
fn no_second_fast_retransmit_for_the_window_already_repaired_but_under_reno() {
    for (kind, expected) in [(RecoveryKind::NewReno, OnDuplicate::Nothing), (RecoveryKind::Reno, OnDuplicate::Enter)] {
        let (mut repair, mut board) = (repair(kind), board());
        repair.begin(&board);
        repair.enter(&mut board, MSS, UNA, None);
        assert_eq!(repair.progress_in_recovery(UNA + MSS, MSS, MSS) == OnProgress::Ends, kind == RecoveryKind::Reno);
        repair.progress();
        repair.end(&board);
        let third = (0..3).map(|_| repair.duplicate_ack(MAX - MSS, MSS)).last();
        assert_eq!(third, Some(expected), "{kind:?}");
    }
}

/// RFC 6675 §5 and RFC 9937: RecoverFS is 18 segments (twenty, two of them SACKed before), and the first retransmission goes at once.
#[test]
fn with_sack_prr_is_the_window_of_a_recovery() {
    let mut board = board();
    let mut repair = in_recovery(RecoveryKind::Sack, &mut board);
    assert_eq!((repair.phase(), repair.point()), (Phase::Recovery, MAX));
    assert_eq!(repair.duplicate_ack(UNA, MSS), OnDuplicate::Steer);
    assert_eq!(repair.next_lost(&board, MSS, 16 * MSS, 0), Lost::Goes { start: UNA, end: UNA + MSS });
    repair.lost_goes(&mut board, MSS, UNA, UNA + MSS);
    repair.sent(MSS);
    // Two segments delivered, 17 in flight: ceil(2 * 10 / 18) of them go, less the one that has gone.
    repair.steer(2 * MSS, 17 * MSS, false, || unreachable!("PRR says it"));
    assert_eq!(repair.window(MSS, || 10 * MSS), 17 * MSS + (20 * MSS).div_ceil(18) - MSS);
    assert_eq!(repair.progress_in_recovery(MAX - 1, MSS, MSS), OnProgress::Steer);
    // A control that has its own idea of a recovery: its window.
    let mut own = self::repair(RecoveryKind::Sack);
    own.begin(&board);
    own.enter(&mut board, MSS, UNA, None);
    own.steer(MSS, 17 * MSS, false, || 5 * MSS);
    assert_eq!(own.window(MSS, || 10 * MSS), 5 * MSS);
}

/// RFC 6675 §4: a hole below the highest SACK that is not lost yet, then the last segment, once.
#[test]
fn a_sack_recovery_with_nothing_else_to_send_speculates() {
    let mut board = board();
    board.sack(UNA + 5 * MSS, UNA + 6 * MSS, |_, _| {});
    let mut repair = in_recovery(RecoveryKind::Sack, &mut board);
    repair.lost_goes(&mut board, MSS, UNA, UNA + MSS);
    assert!(repair.speculates());
    let hole = repair.next_speculative(&board, MSS).unwrap();
    assert_eq!((hole.start, hole.end), (UNA + 4 * MSS, UNA + 5 * MSS));
    repair.speculation_goes(&mut board, hole);
    let rescue = repair.next_speculative(&board, MSS).unwrap();
    assert_eq!((rescue.start, rescue.end), (MAX - MSS, MAX));
    repair.speculation_goes(&mut board, rescue);
    assert_eq!(repair.next_speculative(&board, MSS), None);
}

/// RFC 3042, and without it: what SACKs say has left makes no room.
#[test]
fn limited_transmit_lets_two_segments_go() {
    let mut board = board();
    let mut repair = repair(RecoveryKind::NewReno);
    let mut windows = vec![repair.window_for_new(&board, MSS, 20 * MSS)];
    for _ in 0..3 {
        repair.duplicate_ack(UNA, MSS);
        windows.push(repair.window_for_new(&board, MSS, 20 * MSS));
    }
    assert_eq!(windows, [20, 21, 22, 22].map(|segments| segments * MSS));
    board.sack(UNA + MSS, UNA + 3 * MSS, |_, _| {});
    repair.limited_transmit = false;
    assert_eq!(repair.window_for_new(&board, MSS, 20 * MSS), 18 * MSS);
}

/// RFC 5681 §3.1.
#[test]
fn a_second_timeout_of_the_same_segment_is_told_apart_unless_there_was_progress() {
    let mut repair = repair(RecoveryKind::Sack);
    assert_eq!([repair.times_out_again(UNA), repair.times_out_again(UNA)], [false, true]);
    repair.progress();
    assert!(!repair.times_out_again(UNA));
    repair.stands_for_timeout(UNA);
    assert!(repair.times_out_again(UNA));
    repair.halve_each_timeout = true;
    assert!(!repair.times_out_again(UNA));
}

#[test]
fn after_a_timeout_all_goes_again_until_what_was_sent_is_acknowledged() {
    let mut board = board();
    let mut repair = in_recovery(RecoveryKind::Sack, &mut board);
    start_over(&mut repair, &mut board);
    assert_eq!((repair.phase(), repair.has_duplicates()), (Phase::Loss, false));
    assert_eq!(repair.next_lost(&board, MSS, 0, 0), Lost::Waits);
    assert_eq!(repair.next_lost(&board, MSS, 0, MSS), Lost::Goes { start: UNA, end: UNA + MSS });
    repair.progress_in_loss(MAX - 1);
    assert_eq!(repair.phase(), Phase::Loss);
    repair.progress_in_loss(MAX);
    assert_eq!(repair.phase(), Phase::Open);
}

#[test]
fn what_is_taken_back_leaves_no_trace_but_what_was_sent() {
    let mut board = board();
    let mut repair = in_recovery(RecoveryKind::Sack, &mut board);
    assert!(board.has_lost() && !repair.take_back(&mut board));
    assert!(repair.is_open() && !board.has_lost() && !repair.has_duplicates() && !repair.heeds_no_window());
    start_over(&mut repair, &mut board);
    repair.frto.begin(true);
    assert!(repair.frto.is_running() && repair.take_back(&mut board), "F-RTO runs after a timeout only");
    assert!(!repair.frto.is_running());
}

/// RFC 5682 §2.1 step 3b: three duplicates after a timeout for nothing begin a fast retransmit. After one that stands they do not (RFC 6582 §3.2 step 4).
#[test]
fn after_a_timeout_for_nothing_duplicates_tell_of_a_loss() {
    for (spurious, verdict) in [(true, OnDuplicate::Enter), (false, OnDuplicate::Nothing)] {
        let (mut repair, mut board) = (repair(RecoveryKind::NewReno), board());
        start_over(&mut repair, &mut board);
        repair.frto.begin(true);
        if spurious {
            assert!(repair.take_back(&mut board));
        }
        let verdicts: Vec<_> = (0..3).map(|_| repair.duplicate_ack(UNA + 2 * MSS, MSS)).collect();
        assert_eq!(verdicts, [OnDuplicate::Nothing, OnDuplicate::Nothing, verdict]);
    }
}

/// RFC 8985 §6.2 finds losses by time; the others by what is SACKed above.
#[test]
fn three_segments_above_or_time_tell_of_a_loss() {
    let (mut repair, mut board) = (repair(RecoveryKind::Sack), board());
    let (trips, mut control) = outside();
    let mut detect = |board: &mut Scoreboard| repair.detect(Time::ZERO, board, MSS, &trips, &mut control);
    board.sack(UNA + MSS, UNA + 3 * MSS, |_, _| {});
    assert!(!detect(&mut board));
    board.sack(UNA + 3 * MSS, UNA + 4 * MSS, |_, _| {});
    assert!(detect(&mut board) && board.has_lost());
    assert!(!detect(&mut board), "only what is new");
}
