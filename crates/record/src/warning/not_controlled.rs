//! Parts of a file that a run between real hosts does not control.

use super::{Asked, Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "not_controlled",
    summary: "the file describes what the run does not control",
    advice: "read the path of the file as what you believe, and the results as what is",
    source: "docs/live.md",
    about: &[],
    check: Check::Before(check),
};

fn check(asked: &Asked<'_>) -> Vec<String> {
    let Some(live) = &asked.experiment.live else { return Vec::new() };
    let keys: Vec<String> = live.uncontrolled.iter().map(|key| format!("`{key}`")).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    vec![format!("the run is between real hosts, and does not control {}", keys.join(", "))]
}
