//! Columns of what only real hosts have: the kernel's view of both ends, and probes.

use std::sync::LazyLock;

use super::{Column, Form, bits};
use crate::trace::host::{COUNTERS, Counter};
use crate::trace::tcp_info::{Field, InfoSample, field};
use crate::trace::{DatagramSample, HopSample, HostSample, ProbeSample};
use longfat_core::time::Time;

table! {
    /// One row an end of a flow and instant: every field of the kernel's `tcp_info`, under its name there.
    tcp_info: InfoSample = {
        let mut columns = vec![
            column!(time "time_s", "when, on the near host's clock", time),
            column!(index "flow", "which flow, from 0", flow),
            Column::new(Form::Word(|| &["sender", "receiver"]), "end", "1", "which end of it", |row: &InfoSample| u64::from(row.is_receiver))
                .put(|row, cell| row.is_receiver = cell == 1),
        ];
        columns.extend(field::ALL.iter().enumerate().map(|(place, field)| of_field(place, field)));
        columns
    }
}

fn of_field(place: usize, field: &'static Field) -> Column<InfoSample> {
    let unit = if field.unit.is_empty() { String::new() } else { format!(", {}", field.unit) };
    let doc = format!("{} (Linux {}{unit})", field.doc.trim_end_matches('.'), field.since);
    // A table is made once.
    Column::new(Form::CountOrNone, field.name, unit_of(field), doc.leak(), move |row: &InfoSample| row.values[place])
        .put(move |row, cell| row.values[place] = cell)
}

/// Unit of a field, as columns name it.
fn unit_of(field: &Field) -> &'static str {
    match field.unit {
        "" => "1",
        "bytes" => "byte",
        "packets" => "packet",
        "segments" => "segment",
        "bytes/s" => "byte/s",
        other => other,
    }
}

table! {
    /// One row a probe.
    probes: ProbeSample = vec![
        column!(number "time_s", "s", "when it was due, on the near host's clock; negative before the flows begin. When it arrived, if only the lost far host knows when it was due", time_s),
        Column::new(Form::Word(|| &["up", "down"]), "direction", "1", "to the far host, or from it", |row: &ProbeSample| u64::from(row.is_down))
            .put(|row, cell| row.is_down = cell == 1),
        column!(index "number", "which of its direction, from 0", number),
        column!(number "timer_error_s", "s", "from when it was due until it left its sender", timer_error_s),
        column!(number "queue_delay_s", "s", "its wait in queues; NaN: it did not arrive, or the clocks do not tell", queue_delay_s),
        Column::new(Form::CountOrNone, "arrived", "1", "1: it arrived; NaN: only the far host knows, which was lost", |row: &ProbeSample| row.arrived)
            .put(|row, cell| row.arrived = cell),
        column!(count "unstamped", "1", "1: the kernel of an end did not stamp it, and the time of a thread stands in", unstamped),
    ]
}

table! {
    /// One row a datagram of a flow over UDP, of the first ones.
    datagrams: DatagramSample = vec![
        column!(number "time_s", "s", "when it was due, on the near host's clock", time_s),
        column!(index "flow", "which flow, from 0", flow),
        column!(index "number", "which of its flow, from 0; a packet that the kernel refused has none", number),
        column!(number "timer_error_s", "s", "from when it was due until it left its sender", timer_error_s),
        column!(number "sent_s", "s", "when it left, on its sender's clock", sent_s),
        column!(number "arrived_s", "s", "when it arrived, on its receiver's clock; NaN: it did not", arrived_s),
        column!(count "unstamped", "1", "1: the kernel of an end did not stamp it, and the time of a thread stands in", unstamped),
    ]
}

table! {
    /// One row a router on the way to the far host, before the run and after it.
    hops: HopSample = vec![
        Column::new(Form::Word(|| &["before", "after"]), "when", "1", "before the run, or after it", |row: &HopSample| u64::from(row.is_after))
            .put(|row, cell| row.is_after = cell == 1),
        Column::new(Form::CountOrNone, "flow", "1", "TCP flow whose ports the UDP questions had; NaN: the ports of the survey", |row: &HopSample| row.flow)
            .put(|row, cell| row.flow = cell),
        column!(index "ttl", "TTL that ends there, from 1", ttl),
        Column::of_text("address", "its address; empty: it stayed silent", |row: &HopSample| row.named().unwrap_or_default()),
        address("address_high", 0),
        address("address_low", 1),
        column!(number "rtt_s", "s", "round trip to it; NaN of a silent one", rtt_s),
    ]
}

fn address(name: &'static str, place: usize) -> Column<HopSample> {
    let doc = "half of its address as IPv6; 0 of a silent one";
    Column::new(Form::Count, name, "1", doc, move |row: &HopSample| row.address[place])
        .put(move |row, cell| row.address[place] = cell)
        .hidden()
}

table! {
    /// One row a host and second: counters of the host.
    host_series: HostSample = {
        let mut columns = vec![
            column!(time "time_s", "when, on the near host's clock", time),
            Column::new(Form::Word(|| &["near", "far"]), "host", "1", "which host", |row: &HostSample| u64::from(row.is_far))
                .put(|row, cell| row.is_far = cell == 1),
        ];
        columns.extend(COUNTERS.iter().enumerate().map(|(place, counter)| of_counter(place, counter)));
        columns
    }
}

fn of_counter(place: usize, counter: &'static Counter) -> Column<HostSample> {
    let doc = match counter.unit {
        "1" => counter.doc.to_owned(),
        unit => format!("{} ({unit})", counter.doc),
    };
    // A table is made once.
    Column::new(Form::CountOrNone, counter.name, counter.unit, doc.leak(), move |row: &HostSample| row.values[place])
        .put(move |row, cell| row.values[place] = cell)
}
