//! Measurements where there is no Linux: they say so.

use longfat_model::Experiment;
use longfat_record::trace::Trace;

use crate::iperf::Flowed;
use crate::stamp::Stamped;
use crate::survey::Survey;
use crate::{Error, Greeting, IperfOptions, Progress, Said, ServeOptions};

fn absent() -> Error {
    Error::system("measurements between real hosts need Linux", format!("this is {}", std::env::consts::OS))
}

/// # Errors
/// Always.
pub fn ready(_experiment: &Experiment) -> Result<(), Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn run_with(_experiment: &Experiment, _go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<(Trace, Option<Error>), Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn serve(_options: ServeOptions, _go_on: &mut dyn FnMut(Said) -> bool) -> Result<(), Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn survey(_at: &str, _key: Option<&str>, _go_on: &mut dyn FnMut() -> bool) -> Result<Survey, Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn greet(_at: &str, _key: Option<&str>, _seconds: u64, _go_on: &mut dyn FnMut() -> bool) -> Result<Greeting, Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn stamp(_at: &str, _go_on: &mut dyn FnMut() -> bool) -> Result<Stamped, Error> {
    Err(absent())
}

/// # Errors
/// Always.
pub fn iperf(_at: &str, _options: &IperfOptions, _go_on: &mut dyn FnMut() -> bool) -> Result<Flowed, Error> {
    Err(absent())
}

/// Keys of this user.
pub mod keys {
    use std::path::PathBuf;

    use crate::Error;
    use crate::protocol::Key;

    /// # Errors
    /// Always.
    pub fn folder() -> Result<PathBuf, Error> {
        Err(super::absent())
    }

    /// # Errors
    /// Always.
    pub fn make(_name: &str) -> Result<(PathBuf, String), Error> {
        Err(super::absent())
    }

    /// # Errors
    /// Always.
    pub fn keep(_name: &str, _text: &str) -> Result<PathBuf, Error> {
        Err(super::absent())
    }

    /// # Errors
    /// Always.
    pub fn load(_name: &str) -> Result<Key, Error> {
        Err(super::absent())
    }
}
