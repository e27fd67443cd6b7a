//! Report of a script, for people and for programs.

use crate::place::Place;
use crate::settings::IpVersion;
use std::fmt;

/// Verdict of a script.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Everything that the script expects is met.
    Pass,
    /// An expectation is not met.
    Fail(Finding),
    /// The script needs something that longfat does not have.
    NotSupported(Finding),
    /// The text is no script.
    Error(Finding),
}

/// Finding about a script, and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Place in the script.
    pub place: Place,
    /// Message in one sentence.
    pub message: String,
    /// Details in more lines: expected and got, the packets before.
    pub details: Vec<String>,
}

/// Expectation of a script, and its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Expectation {
    /// Place in the script.
    pub place: Place,
    /// Text in the script: a packet, a call with its result, an assertion.
    pub what: String,
    /// Pass, if it is met. Otherwise the packet or the state that there was instead.
    pub verdict: Verdict,
}

/// Verdict of a script, with everything reported on the way.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// File of the script.
    pub file: String,
    /// IP version under which it ran.
    pub ip_version: IpVersion,
    /// Verdict of the script.
    pub verdict: Verdict,
    /// Expectations of the script, in its order, up to its end.
    pub expectations: Vec<Expectation>,
    /// Settings that were made twice, and which of them holds.
    pub warnings: Vec<(Place, String)>,
    /// Notes on things that were read and ignored, each with its place.
    pub notes: Vec<(Place, String)>,
    /// Lines that `print` printed.
    pub printed: Vec<String>,
}

impl Verdict {
    /// Returns one word for counting.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail(_) => "fail",
            Verdict::NotSupported(_) => "not supported",
            Verdict::Error(_) => "error",
        }
    }

    /// Returns the finding, unless the script passed.
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
