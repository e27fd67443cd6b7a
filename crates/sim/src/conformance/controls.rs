//! Promises of a congestion control: alone, beside itself, beside CUBIC.

use std::sync::Arc;

use longfat_core::params::{Choice, Params, Value};
use longfat_core::promise::{Given, Promise};
use longfat_core::queue;
use longfat_core::time::Duration;
use longfat_core::units::{Capacity, Rate};
use longfat_model::dumbbell::{Dumbbell, droptail, tcp};
use longfat_tcp::TcpConfig;
use longfat_tcp::congestion::{self, Claim, ControlKind, promises};

use super::{Finding, share, span, trace};
use crate::Error;

/// Rate of the path, in bit/s. With the round trip it makes a bandwidth-delay product of 67 packets, small enough to be quick.
const BPS: u64 = 20_000_000;
/// Round trip of the path while it is empty.
const RTT: Duration = Duration::from_millis(40);
/// Bandwidth-delay product in packets of 1500 bytes.
const BDP: f64 = BPS as f64 * 0.040 / 12_000.0;
/// Time from the start of the first flow to that of the second, which finds the path in use.
const LATER: Duration = Duration::from_secs(1);

/// A network with flows in it.
#[derive(Clone, Copy, PartialEq)]
enum Scene {
    Alone,
    Pair,
    BesideCubic,
}

impl Scene {
    fn of(claim: &Claim) -> Self {
        match claim {
            Claim::Uses(_) | Claim::QueuesBdp { .. } | Claim::QueuesSegments { .. } => Scene::Alone,
            Claim::Shares(_) => Scene::Pair,
            Claim::BesideCubic { .. } => Scene::BesideCubic,
        }
    }
}

/// Results of a scene.
#[derive(Clone)]
struct Outcome {
    /// Share of the path that each flow used, the control's first.
    shares: Vec<f64>,
    /// Mean queue in packets.
    queue: f64,
}

/// Runs `kind` through every scene that its promises name, and those of [`promises::EVERY`]. Scenes without a promise are shown. `go_on` is called every few
/// milliseconds.
///
/// # Errors
/// [`Error::Cancelled`] when `go_on` says so.
pub fn control(kind: &ControlKind, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<Finding>, Error> {
    let mut done: Vec<(Scene, Given, Outcome)> = Vec::new();
    let mut outcome = |scene: Scene, given: Given| -> Result<Outcome, Error> {
        if let Some(found) = done.iter().find(|run| run.0 == scene && run.1 == given) {
            return Ok(found.2.clone());
        }
        let result = run(kind, scene, given, go_on)?;
        done.push((scene, given, result.clone()));
        Ok(result)
    };
    let mut findings = Vec::new();
    let is_said = |claim: &Claim| kind.promises.iter().any(|promise| promise.claim.is_like(claim));
    let of_every = [Promise::new(promises::EVERY, "")];
    for promise in of_every.iter().filter(|promise| !is_said(&promise.claim)).chain(kind.promises) {
        let result = outcome(Scene::of(&promise.claim), promise.given)?;
        findings.push(judged(kind, promise, &result));
    }
    let shown = [
        ("the queue that it keeps alone", Claim::QueuesBdp { least: 0.0, most: f64::MAX }),
        ("how it shares with itself", Claim::Shares(0.0)),
        ("its share beside CUBIC", Claim::BesideCubic { least: 0.0, most: 1.0 }),
    ];
    for (what, claim) in shown.iter().filter(|(_, claim)| !is_said(claim)) {
        let measured = measured(claim, &outcome(Scene::of(claim), &[])?);
        findings.push(Finding { claim: format!("promises nothing of {what}"), measured, fault: None });
    }
    Ok(findings)
}

/// Runs a scene of 40 s, of which the last 30 count. Beside CUBIC it is the mean of two runs: each flow comes first in one.
fn run(kind: &ControlKind, scene: Scene, given: &[(&'static str, Value)], go_on: &mut dyn FnMut() -> bool) -> Result<Outcome, Error> {
    let choice = Choice { kind: kind.name, params: Params::defaults(kind.params) }.with(given);
    let ours = Arc::new(TcpConfig { congestion_control: choice, ecn: kind.ecn.default, ..tcp("rfc") });
    let cubic = Arc::new(TcpConfig { congestion_control: congestion::choice("cubic"), ..tcp("rfc") });
    let mut scene_of = |flows: &[&Arc<TcpConfig>]| -> Result<Outcome, Error> {
        let mut experiment = Dumbbell {
            pairs: flows.len(),
            rate: Rate::from_bps(BPS),
            rtt: RTT,
            queue: bottleneck(kind, scene),
            duration: Duration::from_secs(40),
            stagger: LATER,
            ..Dumbbell::default()
        }
        .experiment();
        for (flow, tcp) in experiment.flows.iter_mut().zip(flows) {
            (flow.sender, flow.receiver) = ((*tcp).clone(), (*tcp).clone());
        }
        experiment.measure.warmup = Duration::from_secs(10);
        let trace = trace(&experiment, go_on)?;
        debug_assert!(span(&trace) > 29.0, "no flow ends before the run does");
        let shares = (0..flows.len()).map(|flow| share(&trace, flow, BPS, ours.mss)).collect();
        Ok(Outcome { shares, queue: trace.links[0].queue_mean_packets })
    };
    match scene {
        Scene::Alone => scene_of(&[&ours]),
        Scene::Pair => scene_of(&[&ours, &ours]),
        Scene::BesideCubic => {
            let (first, second) = (scene_of(&[&ours, &cubic])?, scene_of(&[&cubic, &ours])?);
            let mean = |a: f64, b: f64| (a + b) / 2.0;
            let shares = vec![mean(first.shares[0], second.shares[1]), mean(first.shares[1], second.shares[0])];
            Ok(Outcome { shares, queue: mean(first.queue, second.queue) })
        }
    }
}

/// The queue in front of the path: a drop-tail buffer of one product. A control that needs exact feedback is promised marks: those of `dualpi2` if it is for L4S
/// (RFC 9331 §4.1), else those of a step at a quarter of a product (RFC 8257 §3.1 and §4.1: over 0.17 products). A control that routers
/// steer is promised such a router.
fn bottleneck(kind: &ControlKind, scene: Scene) -> Choice {
    if kind.ecn.accecn {
        queue::choice("dualpi2")
    } else if kind.ecn.exact && scene != Scene::BesideCubic {
        queue::choice("step").with(&[("threshold", Value::Capacity(Capacity::Bdp(0.25)))])
    } else if is_steered(kind) && scene != Scene::BesideCubic {
        queue::choice("xcp")
    } else {
        droptail(Capacity::Bdp(1.0))
    }
}

/// Returns true if routers tell the control how to change its window.
fn is_steered(kind: &ControlKind) -> bool {
    let config = TcpConfig { congestion_control: Choice { kind: kind.name, params: Params::defaults(kind.params) }, ..tcp("rfc") };
    (kind.build)(&config).traits().explicit > 0.0
}

/// Jain's fairness index of two shares.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (shares.iter().sum(), shares.iter().map(|share| share * share).sum());
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 0.0 }
}

/// Returns the first flow's share of what both got.
fn part(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 { shares[0] / sum } else { 0.0 }
}

fn measured(claim: &Claim, outcome: &Outcome) -> String {
    let shares = &outcome.shares;
    match claim {
        Claim::Uses(_) => format!("{:.1} %", shares[0] * 100.0),
        Claim::QueuesBdp { .. } | Claim::QueuesSegments { .. } => {
            format!("{:.1} segments ({:.2} BDP)", outcome.queue, outcome.queue / BDP)
        }
        Claim::Shares(_) => format!("{:.2}, of {:.0} and {:.0} %", jain(shares), shares[0] * 100.0, shares[1] * 100.0),
        Claim::BesideCubic { .. } => format!("{:.0} %", part(shares) * 100.0),
    }
}

fn judged(kind: &ControlKind, promise: &Promise<Claim>, outcome: &Outcome) -> Finding {
    let (name, claim) = (kind.name, &promise.claim);
    let (measured, with) = (measured(claim, outcome), promise.conditions(kind.params));
    let (holds, fault) = match *claim {
        Claim::Uses(least) => {
            (outcome.shares[0] >= least, format!("{name} used {measured} of an empty path, at least {:.0} % expected", least * 100.0))
        }
        Claim::QueuesBdp { least, most } => (
            (least..=most).contains(&(outcome.queue / BDP)),
            format!("{name} alone kept a mean queue of {measured}, {least:.2} to {most:.2} BDP expected"),
        ),
        Claim::QueuesSegments { least, most } => (
            (least..=most).contains(&outcome.queue),
            format!("{name} alone kept a mean queue of {measured}, {least} to {most} segments expected"),
        ),
        Claim::Shares(least) => (
            jain(&outcome.shares) >= least,
            format!("{name} shared with itself at a Jain index of {measured} of the path; at least {least:.2} expected"),
        ),
        Claim::BesideCubic { least, most } => (
            (least..=most).contains(&part(&outcome.shares)),
            format!("{name} got {measured} beside CUBIC, {:.0} to {:.0} % expected", least * 100.0, most * 100.0),
        ),
    };
    Finding { claim: promise.said(kind.params), measured, fault: (!holds).then(|| format!("{fault}{with}")) }
}
