//! The tables that users see: the columns of [`columns`], what the experiment says of each row, and the metrics.

use crate::table::Table;
use crate::visit::Visit;
use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_record::metric::{REGISTRY, Scope};
use longfat_record::trace::columns::{self, Column, Form};
use longfat_record::trace::{ControlFrom, FlowRecord, LinkRecord, Recorded, Trace};
use longfat_record::warning::verdict::{Verdict, verdict};
use longfat_record::warning::{self, Given};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::borrow::Cow;
use std::ops::Range;

/// The tables of a run, with every metric in its rows.
pub(crate) struct Made<'a> {
    /// Metrics of the whole run.
    pub metrics: Vec<(&'static str, f64)>,
    pub flows: Table<'a>,
    pub links: Table<'a>,
    pub hosts: Table<'a>,
}

impl<'a> Made<'a> {
    pub(crate) fn of(experiment: &'a Experiment, trace: &'a Trace) -> Self {
        let metrics: Vec<(&str, Vec<(Scope, f64)>)> = REGISTRY.iter().map(|m| (m.name, (m.compute)(experiment, trace))).collect();
        let mut flows = flows(experiment, &trace.flows);
        let mut links = links(experiment, &trace.links);
        let mut hosts = hosts(experiment);
        // The streams of a sender follow each other.
        let first_of = |sender: usize| experiment.flows.partition_point(|flow| flow.stream_of < sender);
        let mut of_run = Vec::new();
        for (name, values) in &metrics {
            let of_all = values.iter().rev().find(|(scope, _)| *scope == Scope::Run);
            of_run.extend(of_all.map(|(_, value)| (*name, *value)));
            add_metric(&mut flows, name, trace.flows.len(), values, |scope| match scope {
                Scope::Flow(i) => i..i + 1,
                Scope::Sender(sender) => first_of(sender)..first_of(sender + 1),
                _ => 0..0,
            });
            add_metric(&mut links, name, trace.links.len(), values, |scope| if let Scope::Link(i) = scope { i..i + 1 } else { 0..0 });
            add_metric(&mut hosts, name, trace.hosts.len(), values, |scope| if let Scope::Host(i) = scope { i..i + 1 } else { 0..0 });
        }
        Made { metrics: of_run, flows, links, hosts }
    }
}

/// The tables that users see: those that have metrics.
pub(crate) fn trace<'py>(py: Python<'py>, experiment: &Experiment, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let made = Made::of(experiment, trace);
    let of_run = PyDict::new(py);
    for (name, value) in made.metrics {
        of_run.set_item(name, value)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("metrics", of_run)?;
    dict.set_item("flows", made.flows.to_python(py)?)?;
    dict.set_item("links", made.links.to_python(py)?)?;
    dict.set_item("hosts", made.hosts.to_python(py)?)?;
    dict.set_item("end_s", trace.end.as_secs_f64())?;
    dict.set_item("steps", trace.steps)?;
    let real_time = PyDict::new(py);
    for column in columns::known_in_real_time(experiment.live.is_some()).filter(|_| trace.real_time.is_some()) {
        let cell = column.get(trace);
        let is_time = matches!(column.form, Form::Time);
        real_time.set_item(column.name, if is_time { Time::from_ps(cell).as_secs_f64() } else { cell as f64 })?;
    }
    dict.set_item("real_time", real_time)?;
    dict.set_item("verdict", verdict(experiment, trace).map(Verdict::word))?;
    dict.set_item("control_from", control_from(trace))?;
    dict.set_item("warnings", warnings(py, warning::of(experiment, trace))?)?;
    Ok(dict)
}

/// Returns the implementations of the congestion controls of a run in a kernel.
pub(crate) fn control_from(trace: &Trace) -> Option<&'static str> {
    let has = |from| trace.flows.iter().any(|flow| flow.control_from == from);
    match (has(ControlFrom::Kernel), has(ControlFrom::Twin), has(ControlFrom::Policy)) {
        (true, true, true) => Some("kernel, twin, policy"),
        (true, true, false) => Some("kernel, twin"),
        (true, false, true) => Some("kernel, policy"),
        (true, false, false) => Some("kernel"),
        (false, true, true) => Some("twin, policy"),
        (false, true, false) => Some("twin"),
        (false, false, true) => Some("policy"),
        (false, false, false) => None,
    }
}

/// Warnings: a list of {name, text, count}.
pub(crate) fn warnings(py: Python<'_>, given: Vec<Given<String>>) -> PyResult<Bound<'_, PyList>> {
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

/// Adds a column for a metric that has values in a scope that stands for `rows`; NaN in the rows without one.
fn add_metric(table: &mut Table<'_>, name: &'static str, n: usize, values: &[(Scope, f64)], rows: impl Fn(Scope) -> Range<usize>) {
    let mut column = Vec::new();
    for (scope, value) in values {
        let rows = rows(*scope);
        if !rows.is_empty() {
            column.resize(n, f64::NAN);
            column[rows].fill(*value);
        }
    }
    if !column.is_empty() {
        table.numbers(name, column.into_iter());
    }
}

fn flows<'a>(experiment: &'a Experiment, records: &[FlowRecord]) -> Table<'a> {
    let mut table = Table::default();
    let (given, nodes) = (&experiment.flows, &experiment.network.nodes);
    table.integers("flow", 0..records.len() as u64);
    table.integers("sender", given.iter().map(|f| f.stream_of as u64));
    table.words("group", given.iter().map(|f| &*f.group));
    table.words("from", given.iter().map(|f| nodes[f.from].name.as_str()));
    table.words("to", given.iter().map(|f| nodes[f.to].name.as_str()));
    table.words("congestion_control", given.iter().map(|f| f.sender.congestion_control.kind));
    table.words("traffic", given.iter().map(|f| f.traffic.kind().name));
    table.records(columns::flows(), records);
    table
}

fn links<'a>(experiment: &'a Experiment, records: &[LinkRecord]) -> Table<'a> {
    let mut table = Table::default();
    let (given, nodes) = (&experiment.network.links, &experiment.network.nodes);
    table.integers("link", 0..records.len() as u64);
    table.words("name", given.iter().map(|l| l.name.as_str()));
    table.words("from", given.iter().map(|l| nodes[l.from].name.as_str()));
    table.words("to", given.iter().map(|l| nodes[l.to].name.as_str()));
    table.words("queue", given.iter().map(|l| l.queue.kind));
    table.integers("bottleneck", given.iter().map(|l| u64::from(l.bottleneck)));
    table.integers("rate_bps", given.iter().map(|l| l.rate.as_bps()));
    if records.iter().any(|r| r.cells.is_some()) {
        table.words("discard", given.iter().map(|l| l.discard.as_ref().map_or("", |policy| policy.kind)));
    }
    table.records(columns::links(), records);
    table
}

/// The hosts of which something is said. What they did is in their metrics.
fn hosts(experiment: &Experiment) -> Table<'_> {
    let mut table = Table::default();
    let (given, nodes) = (&experiment.hosts, &experiment.network.nodes);
    table.integers("host", 0..given.len() as u64);
    table.words("name", given.iter().map(|h| nodes[h.node].name.as_str()));
    table.numbers("memory_bytes", given.iter().map(|h| h.memory.map_or(f64::NAN, |memory| memory.bytes as f64)));
    table
}

/// Table of recorded columns alone, without metrics.
pub(crate) struct Shown<'py> {
    pub py: Python<'py>,
    /// Rows of a series that has more, about: whole samples, evenly spread, and the last.
    pub most: Option<usize>,
}

impl<'py> Visit for Shown<'py> {
    type Out = PyResult<Bound<'py, PyDict>>;
    fn table<R: Clone + 'static>(self, columns: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> Self::Out {
        let mut table = Table::default();
        match self.most.filter(|most| rows.rows() > *most) {
            None => table.records(columns, rows),
            Some(most) => table.records(columns, &Spread::of(columns, rows, most)),
        }
        table.to_python(self.py)
    }
}

/// Some of the rows of a table.
struct Spread<'a, T: ?Sized> {
    of: &'a T,
    /// True for each row of it that is one of these.
    chosen: Vec<bool>,
}

impl<'a, T: ?Sized> Spread<'a, T> {
    /// Picks about `most` rows: those of evenly spread samples, and of the last. The first column is the time, and rows of one time are of
    /// one sample.
    fn of<R: Clone + 'static>(columns: &[Column<R>], rows: &'a T, most: usize) -> Self
    where
        T: Recorded<R>,
    {
        let mut samples: Vec<usize> = Vec::with_capacity(rows.rows());
        let mut before = None;
        rows.each_cell(&columns[0], &mut |times| {
            for time in times {
                let is_new = before.replace(*time) != Some(*time);
                samples.push(samples.last().map_or(0, |sample| sample + usize::from(is_new)));
            }
        });
        let every = rows.rows().div_ceil(most.max(1));
        let last = samples.last().copied().unwrap_or(0);
        Spread { of: rows, chosen: samples.into_iter().map(|sample| sample % every == 0 || sample == last).collect() }
    }
}

impl<R: Clone + 'static, T: Recorded<R> + ?Sized> Recorded<R> for Spread<'_, T> {
    fn rows(&self) -> usize {
        self.chosen.iter().filter(|is_chosen| **is_chosen).count()
    }
    fn pieces(&self) -> usize {
        self.of.pieces()
    }
    fn piece(&self, i: usize) -> Cow<'_, [R]> {
        let start: usize = (0..i).map(|before| self.of.piece(before).len()).sum();
        let rows = self.of.piece(i);
        Cow::Owned(rows.iter().zip(&self.chosen[start..]).filter(|(_, is_chosen)| **is_chosen).map(|(row, _)| row.clone()).collect())
    }
    fn each_cell(&self, column: &Column<R>, each: &mut dyn FnMut(&[u64])) {
        let mut start = 0;
        self.of.each_cell(column, &mut |cells| {
            let chosen = cells.iter().zip(&self.chosen[start..]).filter(|(_, is_chosen)| **is_chosen);
            each(&chosen.map(|(cell, _)| *cell).collect::<Vec<u64>>());
            start += cells.len();
        });
    }
}
