//! What became of a script, for people and for programs.

use crate::place::Place;
use crate::settings::IpVersion;
use std::fmt;

/// What a script comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// All it expects is met.
    Pass,
    /// Something it expects is not met.
    Fail(Finding),
    /// The script needs something that longfat does not have.
    NotSupported(Finding),
    /// It is no script.
    Error(Finding),
}

/// What was found, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Where.
    pub place: Place,
    /// What is wrong, in one sentence.
    pub message: String,
    /// More lines: expected and got, the packets before.
    pub details: Vec<String>,
}

/// One thing that a script expects, and what came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Expectation {
    /// Where.
    pub place: Place,
    /// As the script says it: a packet, a call with its result, an assertion.
    pub what: String,
    /// Pass: it is met. Else what was sent, or what the state was, instead.
    pub verdict: Verdict,
}

/// A script's verdict with all that was said on the way.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The script.
    pub file: String,
    /// Under which it ran.
    pub ip_version: IpVersion,
    /// What it comes to.
    pub verdict: Verdict,
    /// What the script expects, in its order, up to where it ended.
    pub expectations: Vec<Expectation>,
    /// What was asked for twice, and which holds.
    pub warnings: Vec<(Place, String)>,
    /// Things read and passed over, each with its place.
    pub notes: Vec<(Place, String)>,
    /// What `print` printed.
    pub printed: Vec<String>,
}

impl Verdict {
    /// One word for counting.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail(_) => "fail",
            Verdict::NotSupported(_) => "not supported",
            Verdict::Error(_) => "error",
        }
    }

    /// What was found, unless it passed.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Verdict::Pass => None,
            Verdict::Fail(finding) | Verdict::NotSupported(finding) | Verdict::Error(finding) => Some(finding),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict.finding() {
            None => write!(f, "{}: pass", self.file)?,
            Some(Finding { place, message, details }) => {
                write!(f, "{}:{}:{}: {}: {message}", self.file, place.line, place.column, self.verdict.word())?;
                for line in details {
                    write!(f, "\n  {line}")?;
                }
            }
        }
        Ok(())
    }
}
