//! An expectation of the file that does not come true.

use super::{Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "not_as_expected",
    summary: "`expect` names a warning that no run has given",
    advice: "take the name out of `expect`, or find out what has changed",
    source: "none: longfat's own",
    about: &[],
    // One run cannot tell: results of all runs say it.
    check: Check::Before(|_| Vec::new()),
};
