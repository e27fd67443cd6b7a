//! Runs in real time that something has spoilt, or may have.

use super::verdict::{Verdict, reasons};
use super::{Asked, Check, Warning};
use crate::trace::Trace;

pub(super) const SUSPECT: Warning = Warning {
    name: "suspect",
    summary: "a run in real time may have been spoilt by the machine it ran on",
    advice: "run it again while nothing else runs, or let it be slower",
    source: "docs/testbed.md",
    about: &[],
    check: Check::After(|asked, trace| of(Verdict::Suspect, asked, trace)),
};

pub(super) const INVALID: Warning = Warning {
    name: "invalid",
    summary: "a run in real time was spoilt by the machine it ran on: its numbers are not those of the experiment",
    advice: "let it be slower, or run it on a faster machine: `longfat testbed check` says what this one can carry",
    source: "docs/testbed.md",
    about: &[],
    check: Check::After(|asked, trace| of(Verdict::Invalid, asked, trace)),
};

fn of(verdict: Verdict, asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    reasons(asked.experiment, trace).into_iter().filter(|reason| reason.0 == verdict).map(|reason| reason.1).collect()
}
