//! Columns of records over time: flows and links at instants, and events.

use std::sync::LazyLock;

use super::{Column, Form, NONE, bits};
use crate::trace::{Event, EventKind, FlowSample, LinkSample};
use longfat_core::time::Time;

table! {
    /// One row a flow and instant.
    flow_series: FlowSample = vec![
        column!(time "time_s", "when", time),
        column!(index "flow", "which flow, from 0", flow),
        column!(count "cwnd_bytes", "byte", "congestion window", cwnd),
        Column::new(Form::CountOrNone, "ssthresh_bytes", "byte", "slow start threshold; NaN: no bound yet", |row: &FlowSample| row.ssthresh)
            .put(|row, cell| row.ssthresh = cell),
        column!(count "in_flight_bytes", "byte", "payload in flight", in_flight),
        column!(count "rwnd_bytes", "byte", "the window the peer advertised", rwnd),
        column!(count "send_buffered_bytes", "byte", "in the sender's buffer", send_buffered),
        column!(count "send_buffer_bytes", "byte", "how large that is", send_buffer),
        column!(count "receive_buffered_bytes", "byte", "waiting at the receiver, for the application or behind a gap", receive_buffered),
        column!(count "promised_bytes", "byte", "advertised by the receiver beyond what is in order", promised),
        column!(number "srtt_s", "s", "smoothed round trip", srtt_s),
        column!(number "rto_s", "s", "retransmission timeout", rto_s),
        column!(count "bytes_delivered", "byte", "given to the application so far", bytes_delivered),
        column!(count "bytes_arrived", "byte", "arrived for the first time so far, in order or not", bytes_arrived),
        column!(count "bytes_retransmitted", "byte", "retransmitted so far", bytes_retransmitted),
    ]
}

table! {
    /// One row a link and instant.
    link_series: LinkSample = vec![
        column!(time "time_s", "when", time),
        column!(index "link", "which link, from 0", link),
        column!(count "backlog_packets", "packet", "in the queue", backlog_packets),
        column!(count "backlog_bytes", "byte", "the same in bytes", backlog_bytes),
        column!(count "wire_bytes", "byte", "transmitted so far", wire_bytes),
        column!(count "drops", "packet", "dropped so far", drops),
        column!(count "marks", "packet", "marked so far", marks),
    ]
}

table! {
    /// One row an event.
    events: Event = vec![
        column!(time "time_s", "when", time),
        Column::new(Form::Word(kinds), "kind", "1", "what happened", |row: &Event| place(row.kind)).put(|row, cell| {
            row.kind = EventKind::all().nth(cell as usize).expect("a word of the list");
        }),
        column!(index "flow", "of which flow, from 0", flow),
        Column::new(Form::CountOrNone, "link", "1", "at which link, from 0; NaN where there is none", |row: &Event| row.link.map_or(NONE, u64::from))
            .put(|row, cell| row.link = (cell != NONE).then_some(cell as u32)),
        column!(count "seq_bytes", "byte", "offset in the stream", seq),
    ]
}

/// The words of [`EventKind::all`], in their order.
fn kinds() -> &'static [&'static str] {
    static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| EventKind::all().map(EventKind::word).collect());
    &WORDS
}

fn place(kind: EventKind) -> u64 {
    EventKind::all().position(|one| one == kind).expect("every kind is listed") as u64
}
