//! Everything that has a name: for `longfat list`, the documentation and completion.

use longfat_core::atm::discard;
use longfat_core::experiment::listing;
use longfat_core::link::{framing, loss};
use longfat_core::params::{ParamSpec, Value};
use longfat_core::tcp::congestion::slow_start;
use longfat_core::tcp::{congestion, options, right_sizing, stack};
use longfat_core::{metric, queue};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every registry by kind: a list of {name, summary, source, params: [{name, kind, default, doc}]}.
#[pyfunction]
pub fn registries(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    let list = |name: &str| -> PyResult<Bound<'_, PyList>> {
        let list = PyList::empty(py);
        kinds.set_item(name, &list)?;
        Ok(list)
    };
    let stacks = list("stacks")?;
    for stack in stack::REGISTRY {
        stacks.append(entry(py, stack.name, stack.summary, "", &overridden(stack))?)?;
    }
    let controls = list("congestion_controls")?;
    for control in congestion::REGISTRY {
        controls.append(entry(py, control.name, control.summary, control.source, control.params)?)?;
    }
    let slow_starts = list("slow_starts")?;
    for kind in slow_start::REGISTRY {
        slow_starts.append(entry(py, kind.name, kind.summary, kind.source, &[])?)?;
    }
    let sizings = list("window_sizings")?;
    for sizing in right_sizing::REGISTRY {
        sizings.append(entry(py, sizing.name, sizing.summary, sizing.source, sizing.params)?)?;
    }
    let queues = list("queues")?;
    for queue in queue::REGISTRY {
        queues.append(entry(py, queue.name, queue.summary, "", queue.params)?)?;
    }
    let links = list("links")?;
    for link in framing::REGISTRY {
        links.append(entry(py, link.name, link.summary, "", &[])?)?;
    }
    let paths = list("paths")?;
    for preset in listing::paths() {
        paths.append(entry(py, preset.name, preset.summary, "", &preset.params)?)?;
    }
    let discards = list("discards")?;
    for policy in discard::REGISTRY {
        discards.append(entry(py, policy.name, policy.summary, policy.source, policy.params)?)?;
    }
    let losses = list("losses")?;
    for loss in loss::REGISTRY {
        losses.append(entry(py, loss.name, loss.summary, "", loss.params)?)?;
    }
    let traffic = list("traffic")?;
    for kind in listing::traffic() {
        traffic.append(entry(py, kind.name, kind.summary, "", &kind.params)?)?;
    }
    let hosts = list("hosts")?;
    for key in listing::host_keys() {
        hosts.append(entry(py, key.name, key.summary, &key.params.iter().map(described).collect::<String>(), &[])?)?;
    }
    let tcp = list("tcp")?;
    for spec in options::PARAMS {
        tcp.append(entry(py, spec.name, spec.doc, &described(spec), &[])?)?;
    }
    let metrics = list("metrics")?;
    for metric in metric::REGISTRY {
        let summary = if metric.unit == "1" { metric.summary.to_owned() } else { format!("{} ({})", metric.summary, metric.unit) };
        metrics.append(entry(py, metric.name, &summary, metric.source, &[])?)?;
    }
    Ok(kinds)
}

fn entry<'py>(py: Python<'py>, name: &str, summary: &str, source: &str, params: &[ParamSpec]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    dict.set_item("summary", summary)?;
    dict.set_item("source", source)?;
    let list = PyList::empty(py);
    for spec in params {
        let param = PyDict::new(py);
        param.set_item("name", spec.name)?;
        param.set_item("kind", spec.kind.expectation())?;
        param.set_item("default", default(spec))?;
        param.set_item("doc", spec.doc)?;
        list.append(param)?;
    }
    dict.set_item("params", list)?;
    Ok(dict)
}

/// The parameters a stack sets, with its values as their defaults.
fn overridden(stack: &stack::Stack) -> Vec<ParamSpec> {
    let set = |(name, value): &(&str, Value)| {
        let spec = options::PARAMS.iter().find(|spec| spec.name == *name).expect("a stack overrides parameters of TCP");
        ParamSpec { default: Some(*value), ..*spec }
    };
    stack.overrides.iter().map(set).collect()
}

fn described(spec: &ParamSpec) -> String {
    format!("{}; default {}", spec.kind.expectation(), default(spec))
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
