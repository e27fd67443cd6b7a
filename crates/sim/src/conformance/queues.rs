//! Promises of a queue under overload.

use std::sync::Arc;

use longfat_core::packet::Dscp;
use longfat_core::promise::Promise;
use longfat_core::queue::{self, Claim, QueueKind};
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use longfat_model::Experiment;
use longfat_model::dumbbell::{Dumbbell, tcp};
use longfat_record::trace::Trace;
use longfat_tcp::ecn::EcnKind;
use longfat_tcp::{TcpConfig, congestion};

use super::{Finding, share, span, trace};
use crate::Error;

/// Rate of the link, in bit/s.
const BPS: u64 = 20_000_000;
/// Least time that the link is busy of all time, where packets wait: what Reno leaves of it is what it falls short after a halving.
const BUSY: f64 = 0.85;

/// Runs an overload for each promise of `kind`. `go_on` is called every few milliseconds.
///
/// # Errors
/// [`Error::Cancelled`] when `go_on` says so.
pub fn queue(kind: &QueueKind, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<Finding>, Error> {
    kind.promises.iter().map(|promise| Ok(judged(kind, promise, &trace(&overload(kind, promise), go_on)?))).collect()
}

/// The queue in front of a path of 40 ms, with the flows that its claim is about: 40 s, of which the last 30 count.
fn overload(kind: &QueueKind, promise: &Promise<Claim>) -> Experiment {
    let controls: &[&str] = match promise.claim {
        Claim::Isolates | Claim::Protects => &["cubic", "cubic"],
        Claim::Prefers => &["reno", "cubic", "reno", "cubic", "reno"],
        _ => &["reno", "cubic", "reno", "cubic"],
    };
    let mut experiment = Dumbbell {
        pairs: controls.len(),
        rate: Rate::from_bps(BPS),
        rtt: Duration::from_millis(40),
        queue: queue::choice(kind.name).with(promise.given),
        duration: Duration::from_secs(40),
        stagger: Duration::from_millis(137),
        ..Dumbbell::default()
    }
    .experiment();
    let ecn = if promise.claim == Claim::Marks { EcnKind::Classic } else { EcnKind::Off };
    for (flow, control) in experiment.flows.iter_mut().zip(controls) {
        flow.sender = Arc::new(TcpConfig { congestion_control: congestion::choice(control), ecn, ..tcp("rfc") });
        flow.receiver = flow.sender.clone();
    }
    let class = |name| Dscp::parse(name).expect("it is of RFC 2597 or RFC 3246");
    let [first, .., last] = &mut experiment.flows[..] else { unreachable!("every claim is about two flows or more") };
    match promise.claim {
        Claim::Isolates => last.traffic = Traffic::udp(Rate::from_bps(BPS), 1500),
        Claim::Prefers => {
            last.traffic = Traffic::udp(Rate::from_bps(BPS / 2), 1500);
            last.dscp = class("EF");
        }
        Claim::Protects => (first.dscp, last.dscp) = (class("AF11"), class("AF13")),
        _ => {}
    }
    experiment.measure.warmup = Duration::from_secs(10);
    experiment
}

fn judged(kind: &QueueKind, promise: &Promise<Claim>, trace: &Trace) -> Finding {
    let (name, link, seconds) = (kind.name, &trace.links[0], span(trace));
    let (busy, mean) = (link.busy_s / seconds, link.queue_mean_packets);
    let of_link = |flow: usize| share(trace, flow, BPS, tcp("rfc").mss);
    let is_busy = format!("the link was busy {:.0} % of the time", busy * 100.0);
    let (holds, measured, expected) = match promise.claim {
        Claim::Waits { least, most } => {
            // Little's law: mean queue over packets per second.
            let wait = mean / (link.packets_transmitted_in_span as f64 / seconds);
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let holds = busy >= BUSY && (ms(least)..=ms(most)).contains(&(wait * 1e3));
            (holds, format!("{:.1} ms of wait, {is_busy}", wait * 1e3), format!("{} to {} ms", ms(least), ms(most)))
        }
        Claim::Holds { least, most } => {
            let holds = busy >= BUSY && (least as f64..=most as f64).contains(&mean);
            (holds, format!("{mean:.1} packets held, {is_busy}"), format!("{least} to {most} packets"))
        }
        Claim::Fills(packets) => {
            let most = link.queue_max_packets;
            (most == packets && busy >= BUSY, format!("{most} packets at most, {is_busy}"), format!("{packets} packets"))
        }
        Claim::Marks => {
            // The burst with which flows begin may overflow any limit.
            let drops = link.packets_dropped_in_span;
            (
                drops == 0 && link.marks > 0 && busy >= BUSY,
                format!("{} marks and {drops} drops, {is_busy}", link.marks),
                "marks alone".into(),
            )
        }
        Claim::Isolates => {
            let (all, other) = (of_link(0), trace.flows[1].bytes_arrived_in_span as f64 * 8.0 / seconds / BPS as f64);
            (
                all >= 0.4,
                format!("{:.0} % for the flow that slows down, {:.0} % for the other", all * 100.0, other * 100.0),
                "40 % or more".into(),
            )
        }
        Claim::Protects => {
            let (low, high) = (of_link(0) * 100.0, of_link(1) * 100.0);
            (low >= 1.2 * high, format!("{low:.0} % for AF11 and {high:.0} % for AF13"), "a fifth more for AF11".into())
        }
        Claim::Prefers => {
            let flow = trace.flows.last().expect("there are flows");
            (flow.total.packets_dropped == 0, format!("{} packets of EF lost", flow.total.packets_dropped), "none".into())
        }
        Claim::Shapes => {
            let all: f64 = (0..trace.flows.len()).map(of_link).sum();
            ((0.45..=0.505).contains(&all), format!("{:.1} % of the link", all * 100.0), "45 to 50 %".into())
        }
    };
    let with = promise.conditions(kind.params);
    let fault = (!holds).then(|| format!("{name}: {measured}, {expected} expected{with}"));
    Finding { claim: promise.said(kind.params), measured, fault }
}
