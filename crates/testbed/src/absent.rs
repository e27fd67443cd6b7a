//! The testbed where there is no Linux: it says so.

use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_record::trace::Trace;

use crate::Error;

/// Progress of a run. There is none.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Virtual time.
    pub now: Time,
    /// Links crossed by packets so far.
    pub crossings: u64,
}

fn absent() -> Error {
    Error::System { what: "the testbed needs Linux".to_owned(), why: format!("this is {}", std::env::consts::OS) }
}

/// # Errors
/// Always.
pub fn ready(_experiment: &Experiment) -> Result<(), Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn run_with(_experiment: &Experiment, _go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<Trace, Error> {
    Err(absent())
}

/// Requirements of the testbed on the machine.
pub mod check {
    use crate::Error;

    /// One thing that was looked at.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Finding {
        /// Requirement that was looked at.
        pub what: String,
        /// State that was found.
        pub found: String,
        /// True if the testbed can run with it.
        pub is_good: bool,
    }

    /// The one thing that is missing.
    pub fn findings() -> Vec<Finding> {
        vec![Finding { what: "Linux".to_owned(), found: std::env::consts::OS.to_owned(), is_good: false }]
    }

    /// Returns no facts: nothing of this machine matters.
    pub fn facts() -> Vec<(String, String)> {
        Vec::new()
    }

    /// # Errors
    /// Always.
    pub fn permitted() -> Result<(), Error> {
        Err(super::absent())
    }
}

/// Any program as the endpoint.
pub mod shell {
    use longfat_model::Experiment;
    use longfat_record::trace::Trace;

    use crate::Error;

    /// # Errors
    /// Always.
    pub fn run(_experiment: &Experiment, _host: Option<&str>, _command: &[String]) -> Result<(i32, Trace), Error> {
        Err(super::absent())
    }
}
