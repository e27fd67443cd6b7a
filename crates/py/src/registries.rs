//! Everything that has a name: for `longfat list`, the documentation and completion.

use longfat_core::atm::discard;
use longfat_core::link::{course, framing, loss, service};
use longfat_core::params::{ParamSpec, Value};
use longfat_core::promise::Promise;
use longfat_core::{queue, traffic};
use longfat_experiment::{backend, listing};
use longfat_record::{metric, warning};
use longfat_tcp::congestion::slow_start;
use longfat_tcp::{congestion, options, stack, window_sizing};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns every registry by kind: a list of {name, summary, source, params: [{name, kind, default, doc}]}; controls and queues also have promises, and controls the queue that they need at bottlenecks.
#[pyfunction]
pub(crate) fn registries(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    let add = |name: &str, entries: Vec<PyResult<Bound<'_, PyDict>>>| {
        kinds.set_item(name, PyList::new(py, entries.into_iter().collect::<PyResult<Vec<_>>>()?)?)
    };
    add("stacks", stack::REGISTRY.iter().map(|e| stack_entry(py, e)).collect())?;
    add(
        "congestion_controls",
        congestion::REGISTRY
            .iter()
            .map(|e| {
                with_router(
                    with_promises(entry(py, e.name, e.summary, e.source, e.params)?, e.params, e.promises)?,
                    longfat_tcp::stack::router(e),
                )
            })
            .collect(),
    )?;
    add("slow_starts", slow_start::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, &[])).collect())?;
    add("window_sizings", window_sizing::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, e.params)).collect())?;
    add(
        "queues",
        queue::REGISTRY.iter().map(|e| with_promises(entry(py, e.name, e.summary, e.source, e.params)?, e.params, e.promises)).collect(),
    )?;
    add("links", framing::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, &[])).collect())?;
    add("paths", listing::paths().iter().map(|e| entry(py, e.name, e.summary, e.source, &e.params)).collect())?;
    add("discards", discard::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, e.params)).collect())?;
    add("losses", loss::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, e.params)).collect())?;
    let drawn = course::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, e.params));
    let granted = service::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, e.params));
    add("traces", drawn.chain(granted).collect())?;
    add("traffic", traffic::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, e.params)).collect())?;
    add("hosts", listing::host_keys().iter().map(|spec| parameter(py, spec)).collect())?;
    add("tcp", options::PARAMS.iter().map(|spec| parameter(py, spec)).collect())?;
    add("backends", backend::REGISTRY.iter().map(|e| entry(py, e.name, e.summary, e.source, &[])).collect())?;
    add("warnings", warning::REGISTRY.iter().map(|e| with_advice(entry(py, e.name, e.summary, e.source, &[])?, e)).collect())?;
    add("metrics", metric::REGISTRY.iter().map(|e| with_bound(entry(py, e.name, &with_unit(e), e.source, &[])?, e)).collect())?;
    Ok(kinds)
}

fn entry<'py>(py: Python<'py>, name: &str, summary: &str, source: &str, params: &[ParamSpec]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    dict.set_item("summary", summary)?;
    dict.set_item("source", source)?;
    let params = params.iter().map(|spec| described(py, spec, spec.doc)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("params", params)?;
    Ok(dict)
}

/// A parameter of an entry.
fn described<'py>(py: Python<'py>, spec: &ParamSpec, doc: &str) -> PyResult<Bound<'py, PyDict>> {
    let param = PyDict::new(py);
    param.set_item("name", spec.name)?;
    param.set_item("kind", spec.kind.expectation())?;
    param.set_item("default", default(spec))?;
    param.set_item("doc", doc)?;
    Ok(param)
}

/// Makes an entry of a parameter. Its allowed values and its default are in the place of a source.
fn parameter<'py>(py: Python<'py>, spec: &ParamSpec) -> PyResult<Bound<'py, PyDict>> {
    entry(py, spec.name, spec.doc, &format!("{}; default {}", spec.kind.expectation(), default(spec)), &[])
}

/// Adds what an entry promises: each claim in words, and its source.
fn with_promises<'py, Claim: std::fmt::Display + Copy>(
    entry: Bound<'py, PyDict>,
    params: &[ParamSpec],
    promises: &[Promise<Claim>],
) -> PyResult<Bound<'py, PyDict>> {
    let said: Vec<(String, &str)> = promises.iter().map(|promise| (promise.said(params), promise.source)).collect();
    entry.set_item("promises", said)?;
    Ok(entry)
}

/// Adds the queue that a control needs at its bottlenecks; empty where any queue does.
fn with_router<'py>(entry: Bound<'py, PyDict>, router: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
    entry.set_item("router", router.unwrap_or(""))?;
    Ok(entry)
}

/// Adds the advice of a warning.
fn with_advice<'py>(entry: Bound<'py, PyDict>, warning: &warning::Warning) -> PyResult<Bound<'py, PyDict>> {
    entry.set_item("advice", warning.advice)?;
    Ok(entry)
}

/// Adds the bounds of a metric's values, whatever the network.
fn with_bound<'py>(entry: Bound<'py, PyDict>, metric: &metric::Metric) -> PyResult<Bound<'py, PyDict>> {
    entry.set_item("bound", metric.bound.ends())?;
    Ok(entry)
}

fn with_unit(metric: &metric::Metric) -> String {
    if metric.unit == "1" { metric.summary.to_owned() } else { format!("{} ({})", metric.summary, metric.unit) }
}

/// A stack: its parameters are those that it sets, with its values as their defaults.
fn stack_entry<'py>(py: Python<'py>, stack: &stack::Stack) -> PyResult<Bound<'py, PyDict>> {
    let spec = |(name, value): &(&str, Value)| {
        let spec = options::PARAMS.iter().find(|spec| spec.name == *name).expect("a stack overrides parameters of TCP");
        ParamSpec { default: Some(*value), ..*spec }
    };
    let dict = entry(py, stack.name, stack.summary, stack.source, &[])?;
    let params = PyList::empty(py);
    for spec in stack.overrides.iter().map(spec) {
        params.append(described(py, &spec, spec.doc)?)?;
    }
    for (control, overrides) in stack.with_control {
        for spec in overrides.iter().map(spec) {
            params.append(described(py, &spec, &format!("with the congestion control {control} alone: {}", spec.doc))?)?;
        }
    }
    dict.set_item("params", params)?;
    Ok(dict)
}

fn default(spec: &ParamSpec) -> String {
    match spec.default {
        None => "none: it must be given".to_owned(),
        Some(value) => match spec.kind.write(value) {
            None => "auto".to_owned(),
            Some(json) => json.as_str().map_or_else(|| json.to_string(), str::to_owned),
        },
    }
}
