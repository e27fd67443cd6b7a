//! Checks that every congestion control must pass, whoever wrote it. The tests run them on all of the registry; users run them on a
//! control of their own.

use crate::congestion::slow_start;
use crate::congestion::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, PrrUse, Unused, choice_of};
use crate::rate::{LostPacket, RateSample};
use crate::{TcpConfig, stack};
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

/// Promise that a control must keep, by name.
pub struct Check {
    /// Short description of the check.
    pub name: &'static str,
    /// `Err` says what is not so.
    pub run: fn(&ControlKind) -> Result<(), String>,
}

/// Every check.
pub const CHECKS: &[Check] = &[
    Check { name: "keeps at least one segment, and a threshold of two", run: keeps_its_floors },
    Check { name: "starts with the initial window, and grows", run: starts_and_grows },
    Check { name: "shrinks on loss, and falls to one segment on timeout", run: shrinks },
    Check { name: "yields when half of what it sends is lost, where it steers itself", run: yields },
    Check { name: "does not grow while something else is the limit", run: rests },
    Check { name: "takes back what was for nothing, and only once", run: takes_back },
    Check { name: "takes another window, where it keeps one", run: takes_another_window },
    Check { name: "lives with every slow start, and grows no faster than what is acknowledged", run: lives_with_every_slow_start },
    Check { name: "does the same again", run: is_deterministic },
];

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

/// Returns the configuration with which controls of `kind` are built here: the plain stack, 1448 bytes per segment.
pub fn config(kind: &ControlKind) -> TcpConfig {
    TcpConfig { congestion_control: choice_of(kind), ..TcpConfig::new(&stack::named("rfc").params(), 1500) }
}

const MSS: u64 = 1448;

fn build(kind: &ControlKind) -> Box<dyn CongestionControl + Send> {
    (kind.build)(&config(kind))
}

/// A path of two segments each ms and 70 ms. The `n`th ACK, 1 ms after the one before.
pub fn ack(n: u64, cwnd: u64) -> AckSample {
    let (delivered, a_round) = ((n + 1) * 2 * MSS, 70 * 2 * MSS);
    let rate = RateSample {
        delivered: delivered.min(a_round),
        interval: Duration::from_millis(70),
        prior_delivered: delivered.saturating_sub(a_round),
        total_delivered: delivered,
        sent_at: Time::ZERO + Duration::from_millis(n.saturating_sub(70)),
        in_flight_then: cwnd,
        in_flight: cwnd,
        rtt: Some(Duration::from_millis(70)),
        ..RateSample::default()
    };
    AckSample {
        now: Time::ZERO + Duration::from_millis(n),
        acked: 2 * MSS,
        delivered: 2 * MSS,
        in_flight: cwnd,
        rtt: Some(Duration::from_millis(70)),
        srtt: Duration::from_millis(70),
        rtt_min: Duration::from_millis(70),
        round: n / 10,
        cwnd_limited: true,
        rate: Some(rate),
        ..AckSample::default()
    }
}

/// Congestion `n` ms after the start.
pub fn event(kind: Congestion, n: u64, flight_size: u64) -> CongestionEvent {
    CongestionEvent { now: Time::ZERO + Duration::from_millis(n), kind, flight_size }
}

/// Hands an ACK to the control as the sender does outside recovery.
pub fn give(control: &mut dyn CongestionControl, ack: &AckSample) {
    control.on_sample(ack);
    control.on_ack(ack);
}

/// Gives the control `acks` ACKs of a window in use.
fn grow(control: &mut dyn CongestionControl, acks: u64) {
    for n in 0..acks {
        let sample = ack(n, control.cwnd());
        give(control, &sample);
    }
}

/// A long life: growth, losses, timeouts, idleness. Calls `check` after every step.
fn live(kind: &ControlKind, mut check: impl FnMut(&dyn CongestionControl) -> Result<(), String>) -> Result<(), String> {
    let mut control = build(kind);
    for n in 0..3_000 {
        match n % 997 {
            500 => control.on_congestion(&event(Congestion::Loss, n, control.cwnd())),
            700 => control.on_congestion(&event(Congestion::Timeout, n, control.cwnd())),
            701 => control.on_congestion(&event(Congestion::TimeoutAgain, n, control.cwnd())),
            900 => control.on_congestion(&event(Congestion::Ecn, n, control.cwnd())),
            950 => control.on_unused(Unused::Idle(Duration::from_secs(5))),
            _ => {
                let sample = ack(n, control.cwnd());
                give(control.as_mut(), &sample);
            }
        }
        check(control.as_ref())?;
    }
    Ok(())
}

fn keeps_its_floors(kind: &ControlKind) -> Result<(), String> {
    live(kind, |control| {
        ensure!(control.cwnd() >= MSS, "cwnd is {} bytes, less than a segment of {MSS}", control.cwnd());
        ensure!(control.ssthresh() >= 2 * MSS, "ssthresh is {} bytes, less than two segments of {MSS}", control.ssthresh());
        Ok(())
    })
}

fn starts_and_grows(kind: &ControlKind) -> Result<(), String> {
    let mut control = build(kind);
    ensure!(control.cwnd() == 10 * MSS, "cwnd starts at {} bytes, not at the initial window of {}", control.cwnd(), 10 * MSS);
    grow(control.as_mut(), 100);
    ensure!(control.cwnd() > 10 * MSS, "after 100 ACKs cwnd is {} bytes", control.cwnd());
    Ok(())
}

/// A control that lets PRR steer it through recovery answers each loss; one that steers itself may know better, but does not take
/// a loss for a reason to send more ([`yields`] has what it owes).
fn shrinks(kind: &ControlKind) -> Result<(), String> {
    let mut control = build(kind);
    grow(control.as_mut(), 100);
    let before = control.cwnd();
    control.on_congestion(&event(Congestion::Loss, 100, before));
    let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
    if control.traits().prr != PrrUse::Never {
        ensure!(cwnd < before && ssthresh < before, "a loss at a cwnd of {before} made cwnd {cwnd} and ssthresh {ssthresh}");
    } else {
        ensure!(cwnd <= before + 2 * MSS, "a loss at a cwnd of {before} made it {cwnd}");
    }
    control.on_congestion(&event(Congestion::Timeout, 200, control.cwnd()));
    ensure!(control.cwnd() == MSS, "after a timeout cwnd is {} bytes, not one segment of {MSS}", control.cwnd());
    let threshold = control.ssthresh();
    control.on_congestion(&event(Congestion::TimeoutAgain, 300, MSS));
    ensure!(control.ssthresh() == threshold, "a timeout without progress made ssthresh {} of {threshold}", control.ssthresh());
    Ok(())
}

/// Checks a control that does not answer every loss: it must yield where losses are many and lasting.
fn yields(kind: &ControlKind) -> Result<(), String> {
    let mut control = build(kind);
    if control.traits().prr != PrrUse::Never {
        return Ok(());
    }
    for n in 0..3_000 {
        give(control.as_mut(), &ack(n, 140 * MSS));
    }
    let (cwnd, rate) = (control.cwnd(), control.pacing_rate());
    // For 21 rounds one of two segments is lost.
    let mut lost = 0;
    for n in 0..1_500 {
        let mut ack = ack(3_000 + n, 140 * MSS);
        lost += MSS;
        (ack.acked, ack.delivered, ack.in_recovery) = (MSS, MSS, true);
        let rate = ack.rate.as_mut().expect("every sample here has one");
        (rate.total_delivered, rate.delivered) = (3_000 * 2 * MSS + n * MSS, 70 * MSS);
        rate.prior_delivered = rate.total_delivered - 70 * MSS;
        (rate.total_lost, rate.lost) = (lost, lost.min(70 * MSS));
        let start = rate.total_delivered + lost;
        if let Some(model) = control.path_model() {
            model.on_lost(&LostPacket {
                start,
                end: start + MSS,
                sent_at: rate.sent_at,
                in_flight_then: 140 * MSS,
                lost: rate.lost,
                app_limited: false,
            });
        }
        control.on_sample(&ack);
    }
    ensure!(control.cwnd() < cwnd * 3 / 4, "cwnd is {} bytes, and was {cwnd}", control.cwnd());
    let bound = rate.map(|r| Rate::from_bps(r.as_bps() * 3 / 4));
    ensure!(control.pacing_rate() < bound, "the pacing rate is {:?}, and was {rate:?}", control.pacing_rate());
    Ok(())
}

/// A window that nobody uses does not grow. Where the window follows the rate of delivery, it is bounded by that rate.
fn rests(kind: &ControlKind) -> Result<(), String> {
    let mut control = build(kind);
    for n in 0..100 {
        let mut ack = AckSample { cwnd_limited: false, ..ack(n, MSS) };
        ack.rate.as_mut().expect("every sample here has one").app_limited = true;
        give(control.as_mut(), &ack);
        ensure!(
            control.traits().prr == PrrUse::Never || control.cwnd() == 10 * MSS,
            "cwnd became {} bytes though it was not used",
            control.cwnd()
        );
    }
    // The BDP is 140 segments, the greatest gain 2.9; three quanta of 64 KiB, and one ACK.
    ensure!(control.cwnd() <= 29 * 14 * MSS + 3 * 65_536 + 2 * MSS, "cwnd became {} bytes though it was not used", control.cwnd());
    Ok(())
}

fn takes_back(kind: &ControlKind) -> Result<(), String> {
    for why in [Congestion::Loss, Congestion::Timeout, Congestion::Ecn] {
        let mut control = build(kind);
        grow(control.as_mut(), 100);
        // A first reduction that was right, so that there is a threshold to give back.
        control.on_congestion(&event(Congestion::Loss, 100, control.cwnd()));
        control.on_recovered(Time::ZERO + Duration::from_millis(100));
        let before = (control.cwnd(), control.ssthresh());
        control.on_congestion(&event(why, 101, before.0));
        control.on_spurious();
        let after = (control.cwnd(), control.ssthresh());
        ensure!(
            after.0 >= before.0 && after.1 >= before.1,
            "cwnd and ssthresh were {before:?}; after {why:?} for nothing they are {after:?}"
        );
        control.on_spurious();
        let again = (control.cwnd(), control.ssthresh());
        ensure!(again == after, "undone twice, cwnd and ssthresh go from {after:?} to {again:?}");
    }
    Ok(())
}

/// A control that keeps a window must take one that was found not validated; one that models the path need not.
fn takes_another_window(kind: &ControlKind) -> Result<(), String> {
    let mut control = build(kind);
    for n in 0..100 {
        control.on_ack(&ack(n, control.cwnd()));
    }
    control.on_unused(Unused::Limited { cwnd: 40 * MSS, ssthresh: 60 * MSS });
    let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
    let taken = (cwnd, ssthresh) == (40 * MSS, 60 * MSS);
    ensure!(
        taken || control.traits().prr == PrrUse::Never,
        "on_unused was given {} and {}, and left {cwnd} and {ssthresh}",
        40 * MSS,
        60 * MSS
    );
    Ok(())
}

/// Round trips that come and go with the flow's own queue, in trains of ACKs: whatever the slow start makes of it, the control keeps
/// its bounds, grows no faster than the bytes acknowledged, and does the same again.
fn lives_with_every_slow_start(kind: &ControlKind) -> Result<(), String> {
    for slow_start in slow_start::NAMES {
        let config = config(kind).with(|tcp| tcp.growth.slow_start = slow_start);
        let life = || -> Result<Vec<(u64, u64)>, String> {
            let mut control = (kind.build)(&config);
            let mut windows = Vec::new();
            for n in 0..3_000 {
                let (before, below) = (control.cwnd(), control.cwnd() < control.ssthresh());
                let queue = Duration::from_micros((n % 300) * 100);
                let rtt = Duration::from_millis(70) + queue;
                match n % 997 {
                    500 => control.on_congestion(&event(Congestion::Loss, n, before)),
                    700 => control.on_congestion(&event(Congestion::Timeout, n, before)),
                    701 => control.on_spurious(),
                    950 => control.on_unused(Unused::Idle(Duration::from_secs(5))),
                    _ => {
                        let sample = AckSample { rtt: Some(rtt), round: n / 50, ..ack(n, before) };
                        give(control.as_mut(), &sample);
                        // Growth is the bytes acknowledged; for Hybla 2^rho - 1 times that, with rho = 100 ms / 25 ms at most.
                        let fold = if kind.name == "hybla" { 15 } else { 1 };
                        // SUSS grows fourfold in a round: the ACK that ends a train adds twice the window of the round before.
                        let leap = if slow_start == &"suss" { 2 * before } else { 0 };
                        // An ACK that ends slow start may be congestion avoidance's.
                        let in_slow_start = below && control.ssthresh() > before;
                        let most = before + if in_slow_start { fold * sample.acked + leap } else { before };
                        ensure!(control.cwnd() <= most, "with {slow_start} an ACK made a cwnd of {before} {}", control.cwnd());
                    }
                }
                let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
                ensure!(cwnd >= MSS && ssthresh >= 2 * MSS, "with {slow_start} cwnd is {cwnd} and ssthresh {ssthresh}");
                windows.push((cwnd, ssthresh));
            }
            Ok(windows)
        };
        ensure!(life()? == life()?, "with {slow_start} the same life gave other windows");
    }
    Ok(())
}

fn is_deterministic(kind: &ControlKind) -> Result<(), String> {
    let life = || {
        let mut windows = Vec::new();
        live(kind, |control| {
            windows.push((control.cwnd(), control.ssthresh()));
            Ok(())
        })?;
        Ok::<_, String>(windows)
    };
    ensure!(life()? == life()?, "the same life gave other windows");
    Ok(())
}
