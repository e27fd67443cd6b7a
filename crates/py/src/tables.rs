//! The tables that users see: the columns of [`columns`], what the experiment says of each row, and the metrics.

use longfat_core::time::Time;
use longfat_experiment::Experiment;
use longfat_experiment::metric::{REGISTRY, Scope};
use longfat_experiment::trace::columns::{self, Column, Form, NONE};
use longfat_experiment::trace::{FlowRecord, LinkRecord, Trace};
use longfat_experiment::warning::verdict::{Verdict, verdict};
use longfat_experiment::warning::{self, Given};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::Range;

/// The tables that users see, with every metric in its rows.
pub fn trace<'py>(py: Python<'py>, experiment: &Experiment, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let metrics: Vec<(&str, Vec<(Scope, f64)>)> = REGISTRY.iter().map(|m| (m.name, (m.compute)(experiment, trace))).collect();
    let of_run = PyDict::new(py);
    for (name, values) in &metrics {
        for (_, value) in values.iter().filter(|(scope, _)| *scope == Scope::Run) {
            of_run.set_item(name, value)?;
        }
    }
    let flows = flows(py, experiment, &trace.flows)?;
    let links = links(py, experiment, &trace.links)?;
    let hosts = hosts(py, experiment)?;
    // The streams of a sender follow each other.
    let first_of = |sender: usize| experiment.flows.partition_point(|flow| flow.stream_of < sender);
    for (name, values) in &metrics {
        add_metric(&flows, name, trace.flows.len(), values, |scope| match scope {
            Scope::Flow(i) => i..i + 1,
            Scope::Sender(sender) => first_of(sender)..first_of(sender + 1),
            _ => 0..0,
        })?;
        add_metric(&links, name, trace.links.len(), values, |scope| if let Scope::Link(i) = scope { i..i + 1 } else { 0..0 })?;
        add_metric(&hosts, name, trace.hosts.len(), values, |scope| if let Scope::Host(i) = scope { i..i + 1 } else { 0..0 })?;
    }
    let dict = PyDict::new(py);
    dict.set_item("metrics", of_run)?;
    dict.set_item("flows", flows.0)?;
    dict.set_item("links", links.0)?;
    dict.set_item("hosts", hosts.0)?;
    dict.set_item("flow_series", recorded(py, columns::flow_series(), &trace.flow_series)?)?;
    dict.set_item("link_series", recorded(py, columns::link_series(), &trace.link_series)?)?;
    dict.set_item("events", recorded(py, columns::events(), &trace.events)?)?;
    dict.set_item("packets", recorded(py, columns::packets(), &trace.packets)?)?;
    dict.set_item("acks", recorded(py, columns::acks(), &trace.acks)?)?;
    dict.set_item("end_s", trace.end.as_secs_f64())?;
    dict.set_item("steps", trace.steps)?;
    let real_time = PyDict::new(py);
    for column in columns::real_time().iter().filter(|_| trace.real_time.is_some()) {
        let cell = column.get(trace);
        let is_time = matches!(column.form, Form::Time);
        real_time.set_item(column.name, if is_time { Time::from_ps(cell).as_secs_f64() } else { cell as f64 })?;
    }
    dict.set_item("real_time", real_time)?;
    dict.set_item("verdict", verdict(experiment, trace).map(Verdict::word))?;
    dict.set_item("warnings", warnings(py, warning::of(experiment, trace))?)?;
    Ok(dict)
}

/// Warnings: a list of {name, text, count}.
pub fn warnings(py: Python<'_>, given: Vec<Given<String>>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for Given { warning, text, count } in given {
        let dict = PyDict::new(py);
        dict.set_item("name", warning.name)?;
        dict.set_item("text", text)?;
        dict.set_item("count", count)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// A table under construction.
struct Table<'py>(Bound<'py, PyDict>);

impl<'py> Table<'py> {
    fn new(py: Python<'py>) -> Self {
        Table(PyDict::new(py))
    }
    fn integers(&self, name: &str, values: impl Iterator<Item = u64>) -> PyResult<()> {
        let column: Vec<i64> = values.map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        self.0.set_item(name, PyArray1::from_vec(self.0.py(), column))
    }
    fn numbers(&self, name: &str, values: impl Iterator<Item = f64>) -> PyResult<()> {
        self.0.set_item(name, PyArray1::from_vec(self.0.py(), values.collect()))
    }
    fn words<'a>(&self, name: &str, values: impl Iterator<Item = &'a str>) -> PyResult<()> {
        self.0.set_item(name, values.collect::<Vec<_>>())
    }
    /// What is shown of `columns`.
    fn records<R: 'static>(&self, columns: &[Column<R>], rows: &[R]) -> PyResult<()> {
        for column in columns.iter().filter(|column| column.is_shown) {
            let mut cells = rows.iter().map(|row| column.get(row));
            if column.is_rare && cells.clone().all(|cell| cell == NONE) {
                continue;
            }
            let or_nan = |cell: u64, value: fn(u64) -> f64| if cell == NONE { f64::NAN } else { value(cell) };
            match column.form {
                Form::Count => self.integers(column.name, &mut cells)?,
                Form::CountOrNone => self.numbers(column.name, cells.map(|cell| or_nan(cell, |n| n as f64)))?,
                Form::Time => self.numbers(column.name, cells.map(|cell| or_nan(cell, |ps| Time::from_ps(ps).as_secs_f64())))?,
                Form::Number => self.numbers(column.name, cells.map(f64::from_bits))?,
                Form::Word(words) => self.words(column.name, cells.map(|cell| words()[cell as usize]))?,
            }
        }
        Ok(())
    }
}

/// Adds a column for a metric that has values in a scope that stands for `rows`; NaN in the rows without one.
fn add_metric(table: &Table<'_>, name: &str, n: usize, values: &[(Scope, f64)], rows: impl Fn(Scope) -> Range<usize>) -> PyResult<()> {
    let mut column = vec![f64::NAN; n];
    let mut any = false;
    for (scope, value) in values {
        let rows = rows(*scope);
        any |= !rows.is_empty();
        column[rows].fill(*value);
    }
    if any { table.numbers(name, column.into_iter()) } else { Ok(()) }
}

fn flows<'py>(py: Python<'py>, experiment: &Experiment, records: &[FlowRecord]) -> PyResult<Table<'py>> {
    let table = Table::new(py);
    let (given, nodes) = (&experiment.flows, &experiment.network.nodes);
    table.integers("flow", 0..records.len() as u64)?;
    table.integers("sender", given.iter().map(|f| f.stream_of as u64))?;
    table.words("group", given.iter().map(|f| &*f.group))?;
    table.words("from", given.iter().map(|f| nodes[f.from].name.as_str()))?;
    table.words("to", given.iter().map(|f| nodes[f.to].name.as_str()))?;
    table.words("congestion_control", given.iter().map(|f| f.sender.congestion_control.kind))?;
    table.words("traffic", given.iter().map(|f| f.traffic.kind().name))?;
    table.records(columns::flows(), records)?;
    Ok(table)
}

fn links<'py>(py: Python<'py>, experiment: &Experiment, records: &[LinkRecord]) -> PyResult<Table<'py>> {
    let table = Table::new(py);
    let (given, nodes) = (&experiment.network.links, &experiment.network.nodes);
    table.integers("link", 0..records.len() as u64)?;
    table.words("name", given.iter().map(|l| l.name.as_str()))?;
    table.words("from", given.iter().map(|l| nodes[l.from].name.as_str()))?;
    table.words("to", given.iter().map(|l| nodes[l.to].name.as_str()))?;
    table.words("queue", given.iter().map(|l| l.queue.kind))?;
    table.integers("bottleneck", given.iter().map(|l| u64::from(l.bottleneck)))?;
    table.integers("rate_bps", given.iter().map(|l| l.rate.as_bps()))?;
    if records.iter().any(|r| r.cells.is_some()) {
        table.words("discard", given.iter().map(|l| l.discard.as_ref().map_or("", |policy| policy.kind)))?;
    }
    table.records(columns::links(), records)?;
    Ok(table)
}

/// The hosts of which something is said. What they did is in their metrics.
fn hosts<'py>(py: Python<'py>, experiment: &Experiment) -> PyResult<Table<'py>> {
    let table = Table::new(py);
    let (given, nodes) = (&experiment.hosts, &experiment.network.nodes);
    table.integers("host", 0..given.len() as u64)?;
    table.words("name", given.iter().map(|h| nodes[h.node].name.as_str()))?;
    table.numbers("memory_bytes", given.iter().map(|h| h.memory.map_or(f64::NAN, |memory| memory.bytes as f64)))?;
    Ok(table)
}

/// A table of what was recorded alone.
pub fn recorded<'py, R: 'static>(py: Python<'py>, columns: &[Column<R>], rows: &[R]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py);
    table.records(columns, rows)?;
    Ok(table.0)
}
