//! Runs in real time that something has spoilt, or may have.

use super::verdict::{Verdict, reasons};
use super::{Asked, Check, Warning};
use crate::trace::Trace;

pub(super) const SUSPECT: Warning = Warning {
    name: "suspect",
    summary: "the machine may have distorted a run in real time",
    advice: "run it again on an idle machine, or at a lower rate",
    source: "docs/testbed.md",
    about: &[],
    check: Check::After(|asked, trace| of(Verdict::Suspect, asked, trace)),
};

pub(super) const INVALID: Warning = Warning {
    name: "invalid",
    summary: "the machine distorted a run in real time: its numbers are not those of the experiment",
    advice: "lower its rate, or use a faster machine: `longfat testbed check` says what this one can carry",
    source: "docs/testbed.md",
    about: &[],
    check: Check::After(|asked, trace| of(Verdict::Invalid, asked, trace)),
};

fn of(verdict: Verdict, asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    reasons(asked.experiment, trace).into_iter().filter(|reason| reason.0 == verdict).map(|reason| reason.1).collect()
}
