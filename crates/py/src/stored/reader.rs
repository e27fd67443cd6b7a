//! A trace from tables that were stored, whichever version of longfat stored them.

use super::PyTrace;
use longfat_disk::TemporaryFile;
use longfat_model::Experiment;
use longfat_record::trace::columns::{self, Column, Form, NONE};
use longfat_record::trace::{
    AckSample, DatagramSample, Event, FlowRecord, FlowSample, HopSample, HostRecord, HostSample, InfoSample, LinkRecord, LinkSample,
    PacketEvent, ProbeSample, Sample, Series, Trace,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

/// Function that calls its argument with the rows of a table, once per piece.
pub(super) type Tables<'a> = dyn FnMut(&str, &mut Rows<'_>) -> PyResult<()> + 'a;
/// Function that is given a table, and which of its rows.
pub(super) type Rows<'a> = dyn FnMut(&Columns, Range<usize>) -> PyResult<()> + 'a;

/// The trace in tables.
pub(crate) fn restored(experiment: Experiment, tables: &mut Tables<'_>) -> PyResult<PyTrace> {
    let mut reader = Reader { tables, missing: Vec::new() };
    let run = reader.rows("run", columns::run(), 1)?;
    let [trace] = <[Trace; 1]>::try_from(run).expect("there is one row");
    let trace = Trace {
        flows: reader.rows("flows", columns::flows(), experiment.flows.len())?,
        links: reader.rows("links", columns::links(), experiment.network.links.len())?,
        hosts: reader.rows("hosts", columns::hosts(), experiment.hosts.len())?,
        flow_series: reader.series("flow_series")?,
        link_series: reader.series("link_series")?,
        events: reader.all("events", columns::events())?,
        packets: reader.all("packets", columns::packets())?,
        acks: reader.all("acks", columns::acks())?,
        tcp_info: reader.all("tcp_info", columns::tcp_info())?,
        probes: reader.all("probes", columns::probes())?,
        datagrams: reader.all("datagrams", columns::datagrams())?,
        hops: reader.all("hops", columns::hops())?,
        host_series: reader.all("host_series", columns::host_series())?,
        ..trace
    };
    let missing = reader.missing;
    Ok(whole(experiment, trace, missing))
}

/// The rows of many runs, one behind the other, of which each run is given its own.
pub(crate) struct Together {
    run: IntoIter<Trace>,
    flows: IntoIter<FlowRecord>,
    links: IntoIter<LinkRecord>,
    hosts: IntoIter<HostRecord>,
    flow_series: IntoIter<FlowSample>,
    link_series: IntoIter<LinkSample>,
    events: IntoIter<Event>,
    packets: IntoIter<PacketEvent>,
    acks: IntoIter<AckSample>,
    tcp_info: IntoIter<InfoSample>,
    probes: IntoIter<ProbeSample>,
    datagrams: IntoIter<DatagramSample>,
    hops: IntoIter<HopSample>,
    host_series: IntoIter<HostSample>,
    missing: Vec<String>,
}

impl Together {
    /// Reads the tables, by name.
    pub(crate) fn new(tables: &HashMap<String, Columns>) -> PyResult<Self> {
        let mut each = |name: &str, with: &mut Rows<'_>| {
            let columns = tables.get(name).ok_or_else(|| PyValueError::new_err(format!("there is no table {name}")))?;
            with(columns, 0..columns.values().map(Kept::len).max().unwrap_or(0))
        };
        let mut reader = Reader { tables: &mut each, missing: Vec::new() };
        Ok(Together {
            run: reader.all("run", columns::run())?.into_iter(),
            flows: reader.all("flows", columns::flows())?.into_iter(),
            links: reader.all("links", columns::links())?.into_iter(),
            hosts: reader.all("hosts", columns::hosts())?.into_iter(),
            flow_series: reader.all("flow_series", columns::flow_series())?.into_iter(),
            link_series: reader.all("link_series", columns::link_series())?.into_iter(),
            events: reader.all("events", columns::events())?.into_iter(),
            packets: reader.all("packets", columns::packets())?.into_iter(),
            acks: reader.all("acks", columns::acks())?.into_iter(),
            tcp_info: reader.all("tcp_info", columns::tcp_info())?.into_iter(),
            probes: reader.all("probes", columns::probes())?.into_iter(),
            datagrams: reader.all("datagrams", columns::datagrams())?.into_iter(),
            hops: reader.all("hops", columns::hops())?.into_iter(),
            host_series: reader.all("host_series", columns::host_series())?.into_iter(),
            missing: reader.missing,
        })
    }

    /// Returns the next run, which has `rows` rows of each table. `None` where these are not those of the experiment, or there is none.
    pub(crate) fn next(&mut self, experiment: Option<Experiment>, rows: impl Fn(&str) -> usize) -> Option<PyTrace> {
        fn some<R>(all: &mut IntoIter<R>, count: usize) -> Vec<R> {
            all.take(count).collect()
        }
        let trace = self.run.next()?;
        let trace = Trace {
            flows: some(&mut self.flows, rows("flows")),
            links: some(&mut self.links, rows("links")),
            hosts: some(&mut self.hosts, rows("hosts")),
            flow_series: some(&mut self.flow_series, rows("flow_series")).into(),
            link_series: some(&mut self.link_series, rows("link_series")).into(),
            events: some(&mut self.events, rows("events")),
            packets: some(&mut self.packets, rows("packets")),
            acks: some(&mut self.acks, rows("acks")),
            tcp_info: some(&mut self.tcp_info, rows("tcp_info")),
            probes: some(&mut self.probes, rows("probes")),
            datagrams: some(&mut self.datagrams, rows("datagrams")),
            hops: some(&mut self.hops, rows("hops")),
            host_series: some(&mut self.host_series, rows("host_series")),
            ..trace
        };
        let experiment = experiment?;
        let fits = [
            (trace.flows.len(), experiment.flows.len()),
            (trace.links.len(), experiment.network.links.len()),
            (trace.hosts.len(), experiment.hosts.len()),
        ];
        fits.iter().all(|(there, expected)| there == expected).then(|| whole(experiment, trace, self.missing.clone()))
    }
}

fn whole(experiment: Experiment, mut trace: Trace, missing: Vec<String>) -> PyTrace {
    for (record, link) in trace.links.iter_mut().zip(&experiment.network.links) {
        record.name.clone_from(&link.name);
    }
    PyTrace { experiment, trace, missing }
}

/// A column as it comes from Python.
pub(crate) enum Kept {
    Cells(Vec<u64>),
    Floats(Vec<f64>),
    Words(Vec<String>),
}

/// The columns of a table, by name.
pub(crate) type Columns = HashMap<String, Kept>;

impl Kept {
    /// Returns the number of its rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Kept::Cells(cells) => cells.len(),
            Kept::Floats(values) => values.len(),
            Kept::Words(words) => words.len(),
        }
    }

    /// Adds these rows to a digest.
    pub(crate) fn digest(&self, rows: Range<usize>, digest: &mut Sha256) {
        let mut bytes = Vec::with_capacity(8 * rows.len());
        match self {
            Kept::Cells(cells) => cells[rows].iter().for_each(|cell| bytes.extend_from_slice(&cell.to_le_bytes())),
            Kept::Floats(values) => values[rows].iter().for_each(|value| bytes.extend_from_slice(&value.to_bits().to_le_bytes())),
            Kept::Words(words) => bytes.extend_from_slice(words[rows].join("\0").as_bytes()),
        }
        digest.update(&bytes);
    }
}

pub(crate) fn kept_columns(table: &Bound<'_, PyDict>) -> PyResult<Columns> {
    let mut columns = Columns::new();
    for (name, values) in table {
        let name: String = name.extract()?;
        let kept = if let Ok(cells) = values.extract::<PyReadonlyArray1<'_, u64>>() {
            Kept::Cells(cells.as_array().to_vec())
        } else if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
            Kept::Floats(values.as_array().to_vec())
        } else {
            let words = values.extract();
            Kept::Words(words.map_err(|_| PyValueError::new_err(format!("column {name}: expected whole numbers, floats or words")))?)
        };
        columns.insert(name, kept);
    }
    Ok(columns)
}

struct Reader<'a, 'b> {
    tables: &'a mut Tables<'b>,
    missing: Vec<String>,
}

impl Reader<'_, '_> {
    /// The rows of a table that must have `n`.
    fn rows<R: Default + 'static>(&mut self, name: &str, columns: &[Column<R>], n: usize) -> PyResult<Vec<R>> {
        let rows = self.all(name, columns)?;
        if rows.len() != n {
            return Err(PyValueError::new_err(format!("table {name}: {} rows, where the experiment has {n}", rows.len())));
        }
        Ok(rows)
    }

    fn all<R: Default + 'static>(&mut self, name: &str, columns: &[Column<R>]) -> PyResult<Vec<R>> {
        let mut all = Vec::new();
        self.table(name, columns, &mut |mut rows| {
            all.append(&mut rows);
            Ok(())
        })?;
        Ok(all)
    }

    fn series<R: Sample>(&mut self, name: &str) -> PyResult<Series<R>> {
        let mut series = Series::with_spill(Some(Arc::new(TemporaryFile::default())));
        self.table(name, R::columns(), &mut |rows| Ok(series.extend(rows)?))?;
        Ok(series)
    }

    /// `with` is given the rows of a table, a piece at a time.
    fn table<R: Default + 'static>(
        &mut self,
        name: &str,
        columns: &[Column<R>],
        with: &mut dyn FnMut(Vec<R>) -> PyResult<()>,
    ) -> PyResult<()> {
        let mut absent: Vec<&Column<R>> = Vec::new();
        (self.tables)(name, &mut |found, here| {
            if found.is_empty() {
                return Err(PyValueError::new_err(format!("table {name} has no columns")));
            }
            let (rows, lacks) = piece(columns, found, here).map_err(|e| PyValueError::new_err(format!("table {name}, {e}")))?;
            if !rows.is_empty() {
                absent = lacks;
            }
            with(rows)
        })?;
        self.missing.extend(absent.iter().filter(|column| !column.was_zero).map(|column| format!("{name}.{}", column.name)));
        Ok(())
    }
}

/// The rows `here` of a table, and the columns that it lacks.
fn piece<'a, R: Default + 'static>(
    columns: &'a [Column<R>],
    found: &Columns,
    here: Range<usize>,
) -> Result<(Vec<R>, Vec<&'a Column<R>>), String> {
    let wrong = |column: &str, what: &str| format!("column {column}: {what}");
    let mut rows: Vec<R> = here.clone().map(|_| R::default()).collect();
    let mut absent = Vec::new();
    for column in columns.iter().filter(|column| column.is_stored() && !here.is_empty()) {
        let stored_name = column.stored_name();
        let Some(values) = found.get(&stored_name) else {
            let nothing = match column.form {
                _ if column.was_zero => 0,
                Form::Number => f64::NAN.to_bits(),
                Form::CountOrNone => NONE,
                Form::Count | Form::Time | Form::Word(_) | Form::Text => 0,
            };
            rows.iter_mut().for_each(|row| column.set(row, nothing));
            absent.push(column);
            continue;
        };
        if values.len() < here.end {
            return Err(wrong(&stored_name, "it has another number of rows than the first"));
        }
        let rows = rows.iter_mut();
        match (column.form, values) {
            (Form::Number, Kept::Floats(values)) => {
                rows.zip(&values[here.clone()]).for_each(|(row, value)| column.set(row, value.to_bits()));
            }
            (Form::Number, _) => return Err(wrong(&stored_name, "expected floats")),
            (Form::Word(words), Kept::Words(said)) => {
                for (row, word) in rows.zip(&said[here.clone()]) {
                    let place = words().iter().position(|known| known == word);
                    let place = place.ok_or_else(|| wrong(&stored_name, "there is a word that this longfat does not know"))?;
                    column.set(row, place as u64);
                }
            }
            (Form::Word(_), _) => return Err(wrong(&stored_name, "expected words")),
            (Form::Count | Form::CountOrNone | Form::Time, Kept::Cells(cells)) => {
                rows.zip(&cells[here.clone()]).for_each(|(row, &cell)| column.set(row, cell));
            }
            (Form::Count | Form::CountOrNone | Form::Time | Form::Text, _) => return Err(wrong(&stored_name, "expected whole numbers")),
        }
    }
    Ok((rows, absent))
}
