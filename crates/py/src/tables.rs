//! A trace as columns: numpy arrays, and lists of words. Every column's name ends with its unit.

use longfat_core::atm::discard::CellDrop;
use longfat_core::atm::port;
use longfat_core::queue::DropReason;
use longfat_core::time::Time;
use longfat_experiment::metric::{REGISTRY, Scope};
use longfat_experiment::trace::{CellRecord, Event, EventKind, FlowRecord, FlowSample, LinkRecord, LinkSample, Trace};
use longfat_experiment::{Experiment, Link};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;

/// A column: its name, and how a record gives its value.
type Column<R, T> = (&'static str, fn(&R) -> T);

const REASONS: [(DropReason, &str); 6] = [
    (DropReason::Overflow, "overflow"),
    (DropReason::Early, "early"),
    (DropReason::Loss, "loss"),
    (DropReason::Corrupted, "corrupted"),
    (DropReason::TooBig, "too_big"),
    (DropReason::NoMemory, "no_memory"),
];

/// What `Run.execute` returns.
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
    dict.set_item("flow_series", flow_series(py, &trace.flow_series)?)?;
    dict.set_item("link_series", link_series(py, &trace.link_series)?)?;
    dict.set_item("events", events(py, &trace.events)?)?;
    dict.set_item("end_s", trace.end.as_secs_f64())?;
    dict.set_item("steps", trace.steps)?;
    dict.set_item("warnings", &trace.warnings)?;
    Ok(dict)
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
    fn times(&self, name: &str, values: impl Iterator<Item = Option<Time>>) -> PyResult<()> {
        self.numbers(name, values.map(|t| t.map_or(f64::NAN, Time::as_secs_f64)))
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
    let times: [Column<FlowRecord, Option<Time>>; 4] = [
        ("start_s", |r| Some(r.start)),
        ("established_s", |r| r.established),
        ("delivered_all_s", |r| r.delivered_all),
        ("acked_all_s", |r| r.acked_all),
    ];
    for (name, get) in times {
        table.times(name, records.iter().map(get))?;
    }
    if records.iter().any(|r| r.gave_up.is_some()) {
        table.times("gave_up_s", records.iter().map(|r| r.gave_up))?;
    }
    let integers: [Column<FlowRecord, u64>; 17] = [
        ("bytes_delivered", |r| r.bytes_delivered),
        ("bytes_delivered_at_warmup", |r| r.bytes_delivered_at_warmup),
        ("bytes_sent", |r| r.bytes_sent),
        ("bytes_retransmitted", |r| r.bytes_retransmitted),
        ("segments_sent", |r| r.segments_sent),
        ("segments_retransmitted", |r| r.segments_retransmitted),
        ("acks_sent", |r| r.acks_sent),
        ("acks_received", |r| r.acks_received),
        ("fast_retransmits", |r| r.fast_retransmits),
        ("timeouts", |r| r.timeouts),
        ("send_stalls", |r| r.send_stalls),
        ("duplicates_received", |r| r.duplicates_received),
        ("bytes_duplicate", |r| r.bytes_duplicate),
        ("bytes_duplicate_at_warmup", |r| r.bytes_duplicate_at_warmup),
        ("packets_delivered", |r| r.packets_delivered),
        ("packets_dropped", |r| r.packets_dropped),
        ("in_flight_max_bytes", |r| r.in_flight_max),
    ];
    for (name, get) in integers {
        table.integers(name, records.iter().map(get))?;
    }
    table.numbers("rtt_min_s", records.iter().map(|r| r.rtt_min_s))?;
    table.numbers("rtt_mean_s", records.iter().map(|r| r.rtt_mean_s))?;
    table.numbers("rtt_max_s", records.iter().map(|r| r.rtt_max_s))?;
    table.numbers("rtt_deviation_s", records.iter().map(|r| r.rtt_deviation_s))?;
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
    let integers: [Column<LinkRecord, u64>; 11] = [
        ("packets_in", |r| r.packets_in),
        ("packets_transmitted", |r| r.packets_transmitted),
        ("packets_delivered", |r| r.packets_delivered),
        ("packets_lost", |r| r.packets_lost),
        ("packets_queued", |r| r.packets_queued),
        ("packets_in_flight", |r| r.packets_in_flight),
        ("ip_bytes", |r| r.ip_bytes),
        ("wire_bytes", |r| r.wire_bytes),
        ("marks", |r| r.marks),
        ("queue_max_packets", |r| r.queue_max_packets),
        ("queue_max_bytes", |r| r.queue_max_bytes),
    ];
    for (name, get) in integers {
        table.integers(name, records.iter().map(get))?;
    }
    for (reason, word) in REASONS {
        let count = |r: &LinkRecord| r.drops.iter().filter(|(which, _)| *which == reason).map(|(_, n)| n).sum();
        table.integers(&format!("drops_{word}"), records.iter().map(count))?;
    }
    table.numbers("busy_s", records.iter().map(|r| r.busy_s))?;
    table.numbers("queue_mean_packets", records.iter().map(|r| r.queue_mean_packets))?;
    table.numbers("queue_mean_bytes", records.iter().map(|r| r.queue_mean_bytes))?;
    if records.iter().any(|r| r.cells.is_some()) {
        cells(&table, given, records)?;
    }
    Ok(table)
}

/// The hosts of which something is said.
fn hosts<'py>(py: Python<'py>, experiment: &Experiment) -> PyResult<Table<'py>> {
    let table = Table::new(py);
    let (given, nodes) = (&experiment.hosts, &experiment.network.nodes);
    table.integers("host", 0..given.len() as u64)?;
    table.words("name", given.iter().map(|h| nodes[h.node].name.as_str()))?;
    table.numbers("memory_bytes", given.iter().map(|h| h.memory.map_or(f64::NAN, |memory| memory.bytes as f64)))?;
    Ok(table)
}

/// What the output ports of switches counted: over the whole run, and over the measured span. NaN where there is none.
fn cells(table: &Table<'_>, given: &[Link], records: &[LinkRecord]) -> PyResult<()> {
    let none = "";
    table.words("discard", given.iter().map(|l| l.discard.as_ref().map_or(none, |policy| policy.kind)))?;
    let columns: [Column<CellRecord, (u64, u64)>; 12] = [
        ("cells_in", |c| (c.total.cells_in(), c.in_span.cells_in())),
        ("cells_dropped_overflow", |c| both(c, |n| n.dropped[CellDrop::Overflow as usize])),
        ("cells_dropped_rest", |c| both(c, |n| n.dropped[CellDrop::Rest as usize])),
        ("cells_dropped_early", |c| both(c, |n| n.dropped[CellDrop::Early as usize])),
        ("cells_transmitted", |c| (c.transmitted, c.transmitted_in_span)),
        ("cells_whole", |c| both(c, |n| n.whole)),
        ("cells_dead", |c| both(c, |n| n.dead)),
        ("packets_whole", |c| both(c, |n| n.packets_whole)),
        ("packets_partial", |c| both(c, |n| n.packets_partial)),
        ("packets_dropped_whole", |c| both(c, |n| n.packets_dropped)),
        ("packets_merged", |c| both(c, |n| n.packets_merged)),
        ("packets_marked", |c| both(c, |n| n.packets_marked)),
    ];
    for (name, get) in columns {
        let values =
            |which: fn((u64, u64)) -> u64| records.iter().map(move |r| r.cells.as_ref().map_or(f64::NAN, |cells| which(get(cells)) as f64));
        table.numbers(name, values(|(total, _)| total))?;
        table.numbers(&format!("{name}_in_span"), values(|(_, in_span)| in_span))?;
    }
    Ok(())
}

fn both(cells: &CellRecord, get: fn(&port::Count) -> u64) -> (u64, u64) {
    (get(&cells.total), get(&cells.in_span))
}

fn flow_series<'py>(py: Python<'py>, samples: &[FlowSample]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py);
    table.times("time_s", samples.iter().map(|s| Some(s.time)))?;
    table.integers("flow", samples.iter().map(|s| u64::from(s.flow)))?;
    table.integers("cwnd_bytes", samples.iter().map(|s| s.cwnd))?;
    // No bound yet is no number: NaN.
    table.numbers("ssthresh_bytes", samples.iter().map(|s| if s.ssthresh == u64::MAX { f64::NAN } else { s.ssthresh as f64 }))?;
    table.integers("in_flight_bytes", samples.iter().map(|s| s.in_flight))?;
    table.integers("rwnd_bytes", samples.iter().map(|s| s.rwnd))?;
    table.integers("send_buffered_bytes", samples.iter().map(|s| s.send_buffered))?;
    table.integers("send_buffer_bytes", samples.iter().map(|s| s.send_buffer))?;
    table.integers("receive_buffered_bytes", samples.iter().map(|s| s.receive_buffered))?;
    table.integers("promised_bytes", samples.iter().map(|s| s.promised))?;
    table.numbers("srtt_s", samples.iter().map(|s| s.srtt_s))?;
    table.numbers("rto_s", samples.iter().map(|s| s.rto_s))?;
    table.integers("bytes_delivered", samples.iter().map(|s| s.bytes_delivered))?;
    table.integers("bytes_retransmitted", samples.iter().map(|s| s.bytes_retransmitted))?;
    Ok(table.0)
}

fn link_series<'py>(py: Python<'py>, samples: &[LinkSample]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py);
    table.times("time_s", samples.iter().map(|s| Some(s.time)))?;
    table.integers("link", samples.iter().map(|s| u64::from(s.link)))?;
    table.integers("backlog_packets", samples.iter().map(|s| s.backlog_packets))?;
    table.integers("backlog_bytes", samples.iter().map(|s| s.backlog_bytes))?;
    table.integers("wire_bytes", samples.iter().map(|s| s.wire_bytes))?;
    table.integers("drops", samples.iter().map(|s| s.drops))?;
    table.integers("marks", samples.iter().map(|s| s.marks))?;
    Ok(table.0)
}

fn events<'py>(py: Python<'py>, events: &[Event]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py);
    table.times("time_s", events.iter().map(|e| Some(e.time)))?;
    table.words("kind", events.iter().map(|e| word(e.kind)))?;
    table.integers("flow", events.iter().map(|e| u64::from(e.flow)))?;
    // Not every event has a link: NaN then.
    table.numbers("link", events.iter().map(|e| e.link.map_or(f64::NAN, f64::from)))?;
    table.integers("seq_bytes", events.iter().map(|e| e.seq))?;
    Ok(table.0)
}

fn word(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Dropped(DropReason::Overflow) => "dropped_overflow",
        EventKind::Dropped(DropReason::Early) => "dropped_early",
        EventKind::Dropped(DropReason::Loss) => "dropped_loss",
        EventKind::Dropped(DropReason::Corrupted) => "dropped_corrupted",
        EventKind::Dropped(DropReason::TooBig) => "dropped_too_big",
        EventKind::Dropped(DropReason::NoMemory) => "dropped_no_memory",
        EventKind::Marked => "marked",
        EventKind::FastRetransmit => "fast_retransmit",
        EventKind::Timeout => "timeout",
        EventKind::RecoveryEnd => "recovery_end",
        EventKind::RecoveryUndone => "recovery_undone",
        EventKind::GaveUp => "gave_up",
    }
}
