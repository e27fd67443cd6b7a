//! Every registry entry keeps what it promises, and controls that are useless are seen.

use longfat_core::queue;
use longfat_tcp::congestion::{self, Claim};

use crate::conformance::{self, Finding};

/// Sentences on claims that do not hold.
fn faults(findings: Vec<Finding>) -> Vec<String> {
    findings.into_iter().filter_map(|finding| finding.fault).collect()
}

#[test]
fn every_control_keeps_its_promises() {
    let run = |kind| faults(conformance::control(kind, &mut || true).unwrap());
    let faults: Vec<String> = congestion::REGISTRY.iter().flat_map(run).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_queue_keeps_its_promises() {
    let run = |kind| faults(conformance::queue(kind, &mut || true).unwrap());
    let faults: Vec<String> = queue::REGISTRY.iter().flat_map(run).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Some controls keep the shares that they find, so that they promise nothing of how they share with themselves: their entries say why.
#[test]
fn every_entry_promises_something_with_a_source() {
    let wanted = [
        ("how much of an empty path it uses", Claim::Uses(0.5)),
        ("the queue that it keeps alone", Claim::QueuesBdp { least: 0.0, most: 1.0 }),
        ("its share beside CUBIC", Claim::BesideCubic { least: 0.0, most: 1.0 }),
    ];
    let mut missing = Vec::new();
    for kind in congestion::REGISTRY {
        let name = kind.name;
        let is_said = |claim: &Claim| kind.promises.iter().any(|promise| promise.claim.is_like(claim));
        missing.extend(
            wanted
                .iter()
                .filter(|(_, claim)| !is_said(claim))
                .map(|(what, _)| format!("`promises` of the congestion control {name} says nothing of {what}")),
        );
        missing.extend(
            kind.promises.iter().filter(|p| p.source.is_empty()).map(|p| format!("{name}: no source says that it {}", p.said(kind.params))),
        );
    }
    for kind in queue::REGISTRY {
        let name = kind.name;
        if kind.promises.is_empty() {
            missing.push(format!("`promises` of the queue {name} is empty: say what it does under overload"));
        }
        missing.extend(
            kind.promises.iter().filter(|p| p.source.is_empty()).map(|p| format!("{name}: no source says this: {}", p.said(kind.params))),
        );
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// A run that the caller stops is an error, and no promise that does not hold.
#[test]
fn a_run_that_is_stopped_shows_nothing() {
    let reno = congestion::find("reno").unwrap();
    assert!(matches!(conformance::control(reno, &mut || false), Err(crate::Error::Cancelled { .. })));
}
