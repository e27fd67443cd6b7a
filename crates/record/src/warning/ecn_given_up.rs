//! Ends that no longer trust the marks they are told of.

use super::{Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "ecn_given_up",
    summary: "a flow has found that its path spoils marks, and does without them",
    advice: "look for what changes ECN fields on the path; see docs/ecn.md",
    source: "RFC 9768 section 3.2.2",
    about: &[],
    check: Check::After(|asked, trace| {
        let gave_up = trace.flows.iter().enumerate().filter(|(_, flow)| flow.gave_up_ecn == Some(1));
        let told = |i| format!("{} has given up ECN: its marks came back as only a path that changes them makes them", asked.flow(i));
        gave_up.map(|(i, _)| told(i)).collect()
    }),
};
