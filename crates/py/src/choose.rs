//! A congestion control by its name, its parameters from Python.

use longfat_core::params::{Choice, Kind, Literal, ParamSpec, Params, Value};
use longfat_core::units::text::{RATE, SIZE, TIME};
use longfat_experiment::nearest;
use longfat_tcp::options::PARAMS;
use longfat_tcp::{TcpConfig, congestion, stack};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

pyo3::import_exception!(longfat.errors, LongfatError);

/// Parameters of TCP that controls read, beside their own.
const OF_TCP: &[&str] =
    &["initial_window", "initial_ssthresh", "slow_start", "max_ssthresh", "abc_limit", "count_segments", "extra_increment"];

/// The control, and all it is built from.
pub(crate) struct Chosen {
    pub name: &'static str,
    pub config: TcpConfig,
}

/// An error about a name that is none of `names`.
pub(crate) fn unknown(message: &str, wrong: &str, names: &[&str]) -> PyErr {
    let help = nearest(wrong, names.iter().copied()).map_or(String::new(), |name| format!("\n  = help: did you mean `{name}`?"));
    LongfatError::new_err(format!("{message}\n  = expected: one of {}{help}", names.join(", ")))
}

fn of_tcp(name: &str) -> Option<&'static ParamSpec> {
    PARAMS.iter().find(|spec| spec.name == name && OF_TCP.contains(&name))
}

impl Chosen {
    pub(crate) fn read(name: &str, mss: i64, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Some(kind) = congestion::find(name) else {
            return Err(unknown(&format!("no congestion control is called `{name}`"), name, congestion::NAMES));
        };
        let mut tcp = stack::named("rfc").params();
        let mut own = Params::defaults(kind.params);
        let mss_spec = PARAMS.iter().find(|spec| spec.name == "mss").expect("TCP has an mss");
        tcp.set("mss", number(mss_spec, Literal::Integer(mss))?);
        for (key, value) in given.into_iter().flatten() {
            let key: String = key.extract()?;
            if let Some(spec) = kind.params.iter().find(|spec| spec.name == key) {
                own.set(spec.name, read(spec, &value)?);
            } else if let Some(spec) = of_tcp(&key) {
                tcp.set(spec.name, read(spec, &value)?);
            } else {
                let names: Vec<&str> = kind.params.iter().map(|spec| spec.name).chain(OF_TCP.iter().copied()).collect();
                return Err(unknown(&format!("{name} has no parameter `{key}`"), &key, &names));
            }
        }
        if let Some(spec) = kind.params.iter().find(|spec| !own.0.iter().any(|(name, _)| *name == spec.name)) {
            return Err(LongfatError::new_err(format!("{name} needs `{}`\n  = expected: {}", spec.name, spec.kind.expectation())));
        }
        // The MTU only gives the mss that no key sets.
        let config = TcpConfig { congestion_control: Choice { kind: kind.name, params: own }, ..TcpConfig::new(&tcp, 1500) };
        Ok(Chosen { name: kind.name, config })
    }
}

/// The value of a parameter: as in an experiment file, or a plain number of bytes, segments, seconds or bits per second.
fn read(spec: &ParamSpec, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        return number(spec, Literal::Bool(value.extract()?));
    }
    if let Ok(n) = value.extract::<i64>() {
        return number(spec, Literal::Integer(n));
    }
    if let Ok(x) = value.extract::<f64>() {
        return number(spec, Literal::Float(x));
    }
    match value.extract::<String>() {
        Ok(text) => number(spec, Literal::Text(&text)),
        Err(_) => number(spec, Literal::Other("no number and no text")),
    }
}

/// Reads `literal`; where a file would want a unit, a number has the base unit.
fn number(spec: &ParamSpec, literal: Literal<'_>) -> PyResult<Value> {
    let with_unit = match (spec.kind, literal) {
        (Kind::Bytes { .. }, Literal::Integer(n @ 0..)) => Some(SIZE.format(n as u64)),
        (Kind::Count { unit, .. }, Literal::Integer(n @ 0..)) if !unit.is_empty() => Some(format!("{n} {unit}")),
        (Kind::Duration { .. }, Literal::Integer(n @ 0..=1_000_000)) => Some(format!("{n} s")),
        (Kind::Duration { .. }, Literal::Float(s)) if (0.0..=1e6).contains(&s) => Some(TIME.format((s * 1e12 + 0.5) as u64)),
        (Kind::Rate, Literal::Integer(n @ 0..)) => Some(RATE.format(n as u64)),
        (Kind::Rate, Literal::Float(bps)) if (0.0..=1e14).contains(&bps) => Some(RATE.format((bps + 0.5) as u64)),
        _ => None,
    };
    let shown = match literal {
        Literal::Text(text) => format!("\"{text}\""),
        Literal::Integer(n) => n.to_string(),
        Literal::Float(x) => x.to_string(),
        Literal::Bool(b) => if b { "True" } else { "False" }.to_owned(),
        Literal::Other(what) => what.to_owned(),
    };
    let read = match &with_unit {
        Some(text) => spec.read(Literal::Text(text)),
        None => spec.read(literal),
    };
    read.map_err(|e| match (spec.kind, literal) {
        (Kind::Choice(words), Literal::Text(text)) => unknown(&e.message(spec.name, &shown.to_string()), text, words),
        _ => {
            LongfatError::new_err(format!("{}\n  = found: {shown}\n  = expected: {}", e.message(spec.name, &shown.to_string()), e.expected))
        }
    })
}
