//! Warnings about a run or a file: one file each, one line in [`REGISTRY`].
//!
//! Warnings are computed like metrics: from the experiment, or from the experiment and the recorded trace. So runs stored before a warning
//! existed have it, too. `docs/warnings.md` explains each: what it means and what to do.

mod asked;
mod below_a_segment;
mod blind_recovery;
mod ecn_given_up;
mod edge_not_faster;
mod ended_early;
mod given_up;
mod in_real_time;
mod many_rows;
mod marked_by_one_packet;
mod mixed_mtu;
mod netem_limit;
mod not_as_expected;
mod not_captured;
mod not_controlled;
mod not_scaled;
mod one_instant;
mod over_a_gibibyte;
mod path_changed;
mod phase_locked;
mod queue_elsewhere;
mod repeats_alike;
mod sent_nothing;
mod short_run;
mod unequal_streams;
mod unfinished;
pub mod verdict;
mod window_below_path;

pub use asked::Asked;

use crate::trace::Trace;
use longfat_core::by_name;
use longfat_model::Experiment;

/// One warning.
pub struct Warning {
    /// Name in results, and its heading in `docs/warnings.md`.
    pub name: &'static str,
    /// Condition under which it is given, in one line.
    pub summary: &'static str,
    /// Advice in one line.
    pub advice: &'static str,
    /// Source that says why it matters.
    pub source: &'static str,
    /// Keys of an experiment file that it judges, each by its last words: where one is swept, the warning is what the experiment asks.
    pub about: &'static [&'static str],
    /// Function that looks for it.
    pub check: Check,
}

/// Time at which a warning can be known. Each check gives a sentence for each thing it found, such as a flow.
pub enum Check {
    /// Before the run, from the experiment.
    Before(fn(&Asked<'_>) -> Vec<String>),
    /// After the run.
    After(fn(&Asked<'_>, &Trace) -> Vec<String>),
}

/// Every warning, in the order in which they are given.
pub const REGISTRY: &[Warning] = &[
    edge_not_faster::WARNING,
    mixed_mtu::WARNING,
    window_below_path::WARNING,
    over_a_gibibyte::WARNING,
    below_a_segment::WARNING,
    not_scaled::WARNING,
    netem_limit::WARNING,
    one_instant::WARNING,
    marked_by_one_packet::WARNING,
    repeats_alike::WARNING,
    blind_recovery::WARNING,
    many_rows::WARNING,
    ended_early::WARNING,
    ecn_given_up::WARNING,
    given_up::WARNING,
    unfinished::WARNING,
    sent_nothing::WARNING,
    queue_elsewhere::WARNING,
    short_run::WARNING,
    unequal_streams::WARNING,
    phase_locked::WARNING,
    not_captured::WARNING,
    not_controlled::WARNING,
    in_real_time::SUSPECT,
    in_real_time::INVALID,
    not_as_expected::WARNING,
];
by_name!(Warning, "warning");

/// Warning that is given.
#[derive(Clone, Copy)]
pub struct Given<T> {
    /// Entry of [`REGISTRY`].
    pub warning: &'static Warning,
    /// Message: the first of those that differ in numbers alone.
    pub text: T,
    /// Messages like it, itself included.
    pub count: usize,
}

/// Returns the warnings that can be given before any of `repeats` runs of `experiment`.
pub fn before(experiment: &Experiment, repeats: u64) -> Vec<Given<String>> {
    let asked = Asked::new(experiment, repeats);
    let found = |warning: &Warning| match warning.check {
        Check::Before(check) => check(&asked),
        Check::After(_) => Vec::new(),
    };
    REGISTRY.iter().flat_map(|warning| alike(warning, found(warning))).collect()
}

/// Returns all warnings about a run that left `trace`.
pub fn of(experiment: &Experiment, trace: &Trace) -> Vec<Given<String>> {
    let asked = Asked::new(experiment, 1);
    let found = |warning: &Warning| match warning.check {
        Check::Before(check) => check(&asked),
        Check::After(check) => check(&asked, trace),
    };
    REGISTRY.iter().flat_map(|warning| alike(warning, found(warning))).collect()
}

/// One for all of `texts` that differ in numbers alone, such as one of each flow.
fn alike(warning: &'static Warning, texts: Vec<String>) -> Vec<Given<String>> {
    let mut given: Vec<Given<String>> = Vec::new();
    for text in texts {
        match given.iter_mut().find(|known| form(&known.text).eq(form(&text))) {
            Some(first) => first.count += 1,
            None => given.push(Given { warning, text, count: 1 }),
        }
    }
    given
}

/// A text without its numbers.
pub fn form(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_ascii_digit() && *c != '.')
}
