//! Measurements between real hosts beside their runs: keys, and the server.

use std::net::IpAddr;

use crate::error::ExperimentError;
use longfat_live::protocol::Limits;
use longfat_live::protocol::attack::{ATTACKS, attack};
use longfat_live::{Error, IperfOptions, PORT, Said, ServeOptions, StampOptions, greet, iperf, keys, serve, stamp, survey};
use pyo3::exceptions::PyAssertionError;
use pyo3::prelude::*;

fn failed(error: Error) -> PyErr {
    ExperimentError::new_err(error.to_string())
}

/// Returns the port of a server, unless it has another.
#[pyfunction]
pub(crate) fn live_port() -> u16 {
    PORT
}

/// Makes a key of this user; its file, and the text for the other host.
#[pyfunction]
pub(crate) fn live_key_new(name: &str) -> PyResult<(String, String)> {
    let (path, text) = keys::make(name).map_err(failed)?;
    Ok((path.display().to_string(), text))
}

/// Keeps the key of another host; its file.
#[pyfunction]
pub(crate) fn live_key_add(name: &str, text: &str) -> PyResult<String> {
    keys::keep(name, text).map(|path| path.display().to_string()).map_err(failed)
}

fn limits(json: &str, default: Limits) -> PyResult<Limits> {
    if json.is_empty() {
        return Ok(default);
    }
    // Names of limits, and what is left out.
    let mut all = serde_json::to_value(default).expect("limits are numbers");
    let said: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(json).map_err(|e| ExperimentError::new_err(format!("the limits are no table: {e}")))?;
    for (name, value) in said {
        let names: Vec<String> = all.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect();
        match all.get_mut(&name) {
            Some(limit) if value.is_u64() => *limit = value,
            Some(_) => return Err(ExperimentError::new_err(format!("the limit `{name}` must be a whole number, and is {value}"))),
            None => return Err(ExperimentError::new_err(format!("there is no limit `{name}`: there are {}", names.join(", ")))),
        }
    }
    serde_json::from_value(all).map_err(|e| ExperimentError::new_err(format!("the limits cannot be read: {e}")))
}

/// Serves until Ctrl-C; calls `say` with the port when it listens and a sentence where the kernel does not confine the process fully, and with 0
/// and a line for each session. From then on, this thread reads `readable` and little else, for good.
#[pyfunction]
#[pyo3(signature = (keys, open, limits_json, open_limits_json, bind, port, concurrent, capture, readable, stamp, say))]
#[expect(clippy::too_many_arguments, reason = "they are the options of one command")]
pub(crate) fn live_serve(
    py: Python<'_>,
    keys: Vec<String>,
    open: bool,
    limits_json: &str,
    open_limits_json: &str,
    bind: Option<&str>,
    port: u16,
    concurrent: u32,
    capture: bool,
    readable: Vec<std::path::PathBuf>,
    stamp: Option<(u16, Vec<String>, u32)>,
    say: Py<PyAny>,
) -> PyResult<()> {
    let stamp = stamp.map(|(port, from, rate)| {
        let from = from.iter().map(|prefix| prefix.parse().map_err(|e| ExperimentError::new_err(format!("--from {e}"))));
        Ok::<_, PyErr>(StampOptions { port, from: from.collect::<PyResult<_>>()?, rate })
    });
    let stamp = stamp.transpose()?;
    let bind: Option<IpAddr> = match bind {
        Some(text) => {
            Some(text.parse().map_err(|_| ExperimentError::new_err(format!("{text} is no IP address, such as 192.0.2.1 or ::1")))?)
        }
        None => None,
    };
    let keys =
        keys.into_iter().map(|name| longfat_live::keys::load(&name).map(|key| (name, key))).collect::<Result<_, _>>().map_err(failed)?;
    let (limits, open_limits) = (limits(limits_json, Limits::default())?, limits(open_limits_json, Limits::open())?);
    let options = ServeOptions { bind, port, keys, open, limits, open_limits, concurrent, capture, readable, stamp };
    let mut failure = None;
    let served = py.detach(|| {
        serve(options, &mut |said| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                match said {
                    Said::Listening(port, unconfined) => say.call1(py, (port, unconfined.unwrap_or_default())).map(drop),
                    Said::Session(line) => say.call1(py, (0, line)).map(drop),
                    Said::Nothing => Ok(()),
                }
            });
            failure = failure.take().or(told.err());
            failure.is_none()
        })
    });
    match failure {
        Some(error) => Err(error),
        None => served.map_err(failed),
    }
}

/// Calls `work` without the interpreter, with a function that is `false` after Ctrl-C.
fn until_ctrl_c<T: Send>(py: Python<'_>, work: impl Send + FnOnce(&mut dyn FnMut() -> bool) -> Result<T, Error>) -> PyResult<T> {
    let mut failure = None;
    let found = py.detach(|| {
        work(&mut || {
            if failure.is_none() {
                failure = Python::attach(|py| {
                    py.check_signals()?;
                    Ok::<(), PyErr>(())
                })
                .err();
            }
            failure.is_none()
        })
    });
    match failure {
        Some(error) => Err(error),
        None => found.map_err(failed),
    }
}

/// Surveys the path to the server at `at`, with the key of this name; the results as JSON. Ctrl-C ends it.
#[pyfunction]
#[pyo3(signature = (at, key))]
pub(crate) fn live_survey(py: Python<'_>, at: &str, key: Option<&str>) -> PyResult<String> {
    until_ctrl_c(py, |go_on| survey(at, key, go_on)).map(|found| serde_json::to_string(&found).expect("it is numbers and names"))
}

/// Asks the server at `at`, with the key of this name, for a run of so many seconds, and lets it be; its answer as JSON. Ctrl-C ends it.
#[pyfunction]
#[pyo3(signature = (at, key, seconds))]
pub(crate) fn live_greet(py: Python<'_>, at: &str, key: Option<&str>, seconds: u64) -> PyResult<String> {
    until_ctrl_c(py, |go_on| greet(at, key, seconds, go_on)).map(|found| serde_json::to_string(&found).expect("it is numbers and names"))
}

/// Attacks what reads bytes of others with `inputs` inputs of this seed, by the attack of this name; an error is a promise that was broken. All names
/// where there is none.
#[pyfunction]
#[pyo3(signature = (name=None, seed=0, inputs=0))]
pub(crate) fn live_attack(py: Python<'_>, name: Option<&str>, seed: u64, inputs: u64) -> PyResult<Vec<&'static str>> {
    let broken = |why| PyAssertionError::new_err(format!("{}: {why}", name.unwrap_or_default()));
    name.map_or(Ok(()), |name| py.detach(|| attack(name, seed, inputs))).map_err(broken)?;
    Ok(ATTACKS.to_vec())
}

/// Measures the path to the reflector of STAMP at `at`; the results as JSON. Ctrl-C ends it.
#[pyfunction]
pub(crate) fn live_stamp(py: Python<'_>, at: &str) -> PyResult<String> {
    until_ctrl_c(py, |go_on| stamp(at, go_on)).map(|found| serde_json::to_string(&found).expect("it is numbers and names"))
}

/// Runs one flow to or from the server of iperf3 at `at`; the results as JSON. Ctrl-C ends it.
#[pyfunction]
#[pyo3(signature = (at, is_up, seconds, control))]
pub(crate) fn live_iperf(py: Python<'_>, at: &str, is_up: bool, seconds: u32, control: Option<String>) -> PyResult<String> {
    let options = IperfOptions { is_up, seconds, control };
    until_ctrl_c(py, |go_on| iperf(at, &options, go_on)).map(|found| serde_json::to_string(&found).expect("it is numbers and names"))
}
