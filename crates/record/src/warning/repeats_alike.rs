//! Repeats of a run without randomness.

use super::{Check, Warning};
use longfat_model::chance;

pub(super) const WARNING: Warning = Warning {
    name: "repeats_alike",
    summary: "`repeats` of a run in which nothing is random: all give the same numbers",
    advice: "make starts random, `start = { random = \"uniform 0 s..1 s\" }`, or give hosts an `overhead`; or leave `repeats` out",
    source: "none: longfat's own",
    about: &[],
    check: Check::Before(|asked| {
        let told = || format!("{} repeats, and nothing in the experiment is random: they will be the same, or next to it", asked.repeats);
        if asked.repeats > 1 && !chance::has_any(asked.experiment) { vec![told()] } else { Vec::new() }
    }),
};
