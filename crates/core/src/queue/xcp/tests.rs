use super::super::tests::context;
use super::super::tests::rig::{Rig, at};
use super::*;
use crate::packet::{Direction, Ecn, Packet, Segment, flags};

const MORE: f32 = 1e9;

/// A router of 1.5 MB/s with flows of 100 ms.
fn router() -> Rig<Xcp> {
    let (context, params) = (context(12_000_000, 100, 1500), Params::defaults(KIND.params));
    assert_eq!((KIND.check)(&params, &context), Ok(()));
    Rig::new(Xcp::new(&params, &context))
}

fn arrive(router: &mut Rig<Xcp>, ms: u64, header: CongestionHeader) {
    let mut segment = Segment::new(0, flags::ACK, 1440);
    segment.set_congestion(header);
    let id = router.packets.insert(Direction::There, Packet::new(at(1000 * ms), 0, Ecn::NotEct, &segment), segment);
    router.queue.enqueue(at(1000 * ms), id, &mut router.packets, &mut router.log);
}

fn leave(router: &mut Rig<Xcp>, ms: u64) -> Option<CongestionHeader> {
    let id = router.queue.dequeue(at(1000 * ms), &mut router.packets, &mut router.log).unwrap();
    let header = router.packets.segment(id).congestion();
    router.packets.remove(id);
    header
}

/// A packet that finds the queue empty. Returns its header as it goes on.
fn pass(router: &mut Rig<Xcp>, ms: u64, header: CongestionHeader) -> CongestionHeader {
    arrive(router, ms, header);
    leave(router, ms).unwrap()
}

fn asks(cwnd: u32, rtt: f32, feedback: f32) -> CongestionHeader {
    CongestionHeader { cwnd, rtt, feedback, answered: false }
}

fn near(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() < 1e-3 * b.abs().max(1.0)
}

/// Half of the capacity is spare: phi = 0.4 0.1 750,000 = 30,000 bytes, shared by the 50 packets of the next 100 ms.
#[test]
fn spare_bandwidth_is_given_away() {
    let mut router = router();
    let before: Vec<f32> = (0..50).map(|n| pass(&mut router, 2 * n, asks(75_000, 0.1, MORE)).feedback).collect();
    assert_eq!(before, [0.0; 50], "nothing is known yet");
    let headers: Vec<CongestionHeader> = (50..100).map(|n| pass(&mut router, 2 * n, asks(75_000, 0.1, MORE))).collect();
    assert!(headers.iter().all(|header| near(header.feedback, 600.0) && header.answered && header.cwnd == 75_000), "{headers:?}");
}

/// Nothing is spare: a tenth of 150,000 bytes is shuffled. Flows at their share get as much as they give; one with a third of the window of
/// the other gives and gets so that both come closer.
#[test]
fn a_tenth_of_the_traffic_is_shuffled() {
    let mut router = router();
    let flows = [asks(225_000, 0.1, MORE), asks(225_000, 0.1, MORE), asks(225_000, 0.1, MORE), asks(75_000, 0.1, MORE)];
    for n in 0..100 {
        pass(&mut router, n, flows[n as usize % 4]);
    }
    let mut sum = [0.0; 2];
    for n in 100..200 {
        let header = pass(&mut router, n, flows[n as usize % 4]);
        sum[usize::from(header.cwnd == 75_000)] += f64::from(header.feedback);
    }
    // Each flow gets 7500 bytes; they give 11,250 and 3750.
    assert!((sum[0] + 3750.0).abs() < 10.0 && (sum[1] - 3750.0).abs() < 10.0, "{sum:?}");
}

/// A queue that stays is taken back: phi = -0.226 15,000 where the input is what the link carries.
#[test]
fn a_persistent_queue_is_drained() {
    let mut router = router();
    (0..10).for_each(|_| arrive(&mut router, 0, asks(187_500, 0.125, MORE)));
    let mut sum = 0.0;
    // The first control interval takes 100 ms, the others one round trip each: from 100, from 225, from 350.
    for n in 0..350 {
        arrive(&mut router, n, asks(187_500, 0.125, MORE));
        let feedback = leave(&mut router, n).unwrap().feedback;
        sum += if n < 225 { 0.0 } else { f64::from(feedback) };
    }
    assert!((sum + 3390.0).abs() < 5.0, "{sum}");
}

/// Another router grants less, or the source asks for less: it stays so, and what is not given is left for others.
#[test]
fn the_least_feedback_of_the_path_stays() {
    let mut router = router();
    (0..50).for_each(|n| _ = pass(&mut router, 2 * n, asks(75_000, 0.1, MORE)));
    let left = router.queue.positive.left;
    for feedback in [100.0, 0.0, -50.0] {
        let header = pass(&mut router, 100, asks(75_000, 0.1, feedback));
        assert_eq!((header.feedback, header.answered), (feedback, true));
    }
    // The timer came with the first of them: 300,000 bytes per second of change, of which one took 100 / 0.1.
    assert!(left == 0.0 && (router.queue.positive.left - 299_000.0).abs() < 1.0, "{}", router.queue.positive.left);
}

#[test]
fn what_has_no_header_is_only_counted() {
    let mut router = router();
    (0..100).for_each(|n| {
        router.arrive(at(1000 * n), 0, 1500, |_| {});
        assert_eq!(leave(&mut router, n), None);
    });
    // A source without a round trip gets nothing, nor does the first that comes where none was before.
    assert_eq!(pass(&mut router, 100, asks(15_000, 0.0, MORE)).feedback, 0.0);
    assert_eq!(pass(&mut router, 101, asks(15_000, 0.1, MORE)).feedback, 0.0);
}

/// Timers that nobody looked at have gone off all the same.
#[test]
fn an_idle_router_has_nothing_to_give() {
    let mut router = router();
    (0..50).for_each(|n| _ = pass(&mut router, 2 * n, asks(75_000, 0.1, MORE)));
    assert_eq!(pass(&mut router, 100_050, asks(75_000, 0.1, MORE)).feedback, 0.0);
    let wait = (router.queue.decides_at.since(Time::ZERO) + Duration::from_millis(2)).saturating_sub(Duration::from_millis(100_100));
    assert!(wait < Duration::from_millis(4), "the phase of the timer stays: {wait:?}");
}
