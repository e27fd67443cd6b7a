//! Ends that no longer trust the marks they are told of.

use super::{Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "ecn_given_up",
    summary: "a flow found that its path corrupts ECN marks, and stopped using them",
    advice: "find the device that changes ECN fields on the path; see docs/ecn.md",
    source: "RFC 9768 section 3.2.2",
    about: &[],
    check: Check::After(|asked, trace| {
        let gave_up = trace.flows.iter().enumerate().filter(|(_, flow)| flow.gave_up_ecn == Some(1));
        let told = |i| format!("{} has given up ECN: something on its path changes the marks", asked.flow(i));
        gave_up.map(|(i, _)| told(i)).collect()
    }),
};
