//! Columns of results: the name of each value of a [`Trace`], its unit, its meaning, and how it is stored.
//!
//! This is the only list of them. Results folders are written from it and read back by it, and the documentation is made
//! from it. A cell is 64 bits, whatever it holds; its [`Form`] says what they mean. So a trace that was stored and read back is
//! the same trace to the last bit, and metrics can be computed from it at any later time.

use std::sync::LazyLock;

use super::{Cause, CellRecord, ControlFrom, FlowRecord, HostRecord, Level, LinkRecord, MemoryRecord, RealTime, Trace};
use longfat_core::atm::discard::CellDrop;
use longfat_core::atm::port::Count;
use longfat_core::queue::DropReason;
use longfat_core::time::Time;
use longfat_tcp::LimitedBy;

/// Cell without a value, in columns that may have none.
pub const NONE: u64 = u64::MAX;

/// Meaning of the 64 bits of a cell.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A whole number.
    Count,
    /// A whole number, or [`NONE`].
    CountOrNone,
    /// An instant or a span in picoseconds, or [`NONE`]. Shown in seconds.
    Time,
    /// The bits of a floating-point number.
    Number,
    /// A place in a list of words.
    Word(fn() -> &'static [&'static str]),
    /// Text that is made of other columns, and is in no cell.
    Text,
}

/// One column of a table whose rows are of type `R`.
pub struct Column<R> {
    /// Name as shown, which ends with the unit where there is one.
    pub name: &'static str,
    /// Unit: `s`, `byte`, `packet`, `cell`; `1` for a share or a plain count.
    pub unit: &'static str,
    /// Description in one line.
    pub doc: &'static str,
    /// Form of its values: how to read one.
    pub form: Form,
    /// True if it is a column of the tables that users see. The others only serve to rebuild the trace.
    pub is_shown: bool,
    /// True if it is shown only where some row has a value.
    pub is_rare: bool,
    /// True if it is zero in every run stored before this column existed, because the event that it counts could not happen then.
    pub was_zero: bool,
    get: Box<dyn Fn(&R) -> u64 + Send + Sync>,
    /// Text of a row, of the form [`Form::Text`].
    text: Option<Text<R>>,
    /// Setter of the value in a row; `None` if the column is made from other columns, and not stored.
    put: Option<Put<R>>,
}

type Text<R> = Box<dyn Fn(&R) -> String + Send + Sync>;
type Put<R> = Box<dyn Fn(&mut R, u64) + Send + Sync>;

impl<R: 'static> Column<R> {
    fn new(form: Form, name: &'static str, unit: &'static str, doc: &'static str, get: impl Fn(&R) -> u64 + Send + Sync + 'static) -> Self {
        Column { name, unit, doc, form, is_shown: true, is_rare: false, was_zero: false, get: Box::new(get), text: None, put: None }
    }
    fn of_text(name: &'static str, doc: &'static str, text: impl Fn(&R) -> String + Send + Sync + 'static) -> Self {
        Column { text: Some(Box::new(text)), ..Column::new(Form::Text, name, "1", doc, |_| 0) }
    }
    fn put(mut self, put: impl Fn(&mut R, u64) + Send + Sync + 'static) -> Self {
        self.put = Some(Box::new(put));
        self
    }
    /// True if `cell` is no value: [`NONE`], the first of several words, or zero of a number that stored runs may lack.
    pub fn is_nothing(&self, cell: u64) -> bool {
        cell == if matches!(self.form, Form::Word(_)) || (matches!(self.form, Form::Number) && self.was_zero) { 0 } else { NONE }
    }
    /// Shown only where some row has a value.
    fn rare(mut self) -> Self {
        self.is_rare = true;
        self
    }
    /// Zero in runs that were stored before there was this column.
    fn new_thing(mut self) -> Self {
        self.was_zero = true;
        self
    }
    /// Marks the column as only stored.
    fn hidden(mut self) -> Self {
        self.is_shown = false;
        self
    }

    /// The cell of `row`.
    pub fn get(&self, row: &R) -> u64 {
        (self.get)(row)
    }
    /// The text of `row`, of the form [`Form::Text`]; else empty.
    pub fn text(&self, row: &R) -> String {
        self.text.as_ref().map(|text| text(row)).unwrap_or_default()
    }
    /// Puts a stored cell into `row`.
    pub fn set(&self, row: &mut R, cell: u64) {
        let put = self.put.as_ref().unwrap_or_else(|| panic!("{} is not stored", self.name));
        put(row, cell);
    }
    /// True if it is a column of the run's folder.
    pub fn is_stored(&self) -> bool {
        self.put.is_some()
    }
    /// Name in the run's folder, where a time is kept in whole picoseconds.
    pub fn stored_name(&self) -> String {
        match (self.form, self.name.strip_suffix("_s")) {
            (Form::Time, Some(stem)) => format!("{stem}_ps"),
            _ => self.name.to_owned(),
        }
    }
}

/// The bits of a number. A NaN says that there is none, whatever its sign: that differs from one way of computing it to another.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// A column of a field of `Row`: its form, name, unit, meaning and field.
macro_rules! column {
    (count $name:literal, $unit:literal, $doc:literal, $field:ident$(.$more:ident)*) => {
        Column::new(Form::Count, $name, $unit, $doc, |row: &Row| row.$field$(.$more)*)
            .put(|row: &mut Row, cell| row.$field$(.$more)* = cell)
    };
    (count or none $name:literal, $unit:literal, $doc:literal, $field:ident$(.$more:ident)*) => {
        Column::new(Form::CountOrNone, $name, $unit, $doc, |row: &Row| row.$field$(.$more)*.unwrap_or(NONE))
            .put(|row: &mut Row, cell| row.$field$(.$more)* = (cell != NONE).then_some(cell))
    };
    (index $name:literal, $doc:literal, $field:ident) => {
        Column::new(Form::Count, $name, "1", $doc, |row: &Row| u64::from(row.$field)).put(|row: &mut Row, cell| row.$field = cell as u32)
    };
    (time $name:literal, $doc:literal, $field:ident) => {
        Column::new(Form::Time, $name, "s", $doc, |row: &Row| row.$field.as_ps())
            .put(|row: &mut Row, cell| row.$field = Time::from_ps(cell))
    };
    (time or none $name:literal, $doc:literal, $field:ident) => {
        Column::new(Form::Time, $name, "s", $doc, |row: &Row| row.$field.map_or(NONE, Time::as_ps))
            .put(|row: &mut Row, cell| row.$field = (cell != NONE).then(|| Time::from_ps(cell)))
    };
    (number $name:literal, $unit:literal, $doc:literal, $field:ident$(.$more:ident)*) => {
        Column::new(Form::Number, $name, $unit, $doc, |row: &Row| bits(row.$field$(.$more)*))
            .put(|row: &mut Row, cell| row.$field$(.$more)* = f64::from_bits(cell))
    };
}

/// A column of a place in a list of numbers.
macro_rules! number_at {
    ($name:literal, $unit:literal, $doc:literal, $field:ident$(.$more:ident)*[$place:expr]) => {
        Column::new(Form::Number, $name, $unit, $doc, |row: &Row| bits(row.$field$(.$more)*[$place]))
            .put(|row: &mut Row, cell| row.$field$(.$more)*[$place] = f64::from_bits(cell))
    };
}

/// A column of the cause that limited a flow; of the confidence in it, which stands behind it.
macro_rules! limit {
    ($name:literal, $doc:literal, $($at:tt)+) => {
        Column::new(Form::Word(|| Cause::WORDS), $name, "1", $doc, |row: &FlowRecord| row.$($at)+.map_or(0, |(cause, _)| cause as u64 + 1))
            .put(|row, cell| row.$($at)+ = cell.checked_sub(1).map(|place| (Cause::ALL[place as usize], 0.0)))
            .rare()
            .new_thing()
    };
}
macro_rules! confidence {
    ($name:literal, $doc:literal, $($at:tt)+) => {
        Column::new(Form::Number, $name, "1", $doc, |row: &FlowRecord| {
            // A confidence of 0 is one: its sign tells it from none.
            row.$($at)+.map_or(0, |(_, confidence)| bits(if confidence == 0.0 { -0.0 } else { confidence }))
        })
        .put(|row, cell| row.$($at)+ = row.$($at)+.map(|(cause, _)| (cause, f64::from_bits(cell) + 0.0)))
        .rare()
        .new_thing()
    };
}

/// Columns of the probes of one direction, from which metrics are made.
macro_rules! probe_columns {
    ($way:literal, $of:literal, $place:literal) => {{
        use in_real_time::{count, time};
        [
            count(concat!("probes_", $way, "_sent"), concat!("probes ", $of, " that were sent, up to the last that arrived"), |real| {
                &mut real.probes[$place].sent
            }),
            count(concat!("probes_", $way, "_arrived"), "those that arrived", |real| &mut real.probes[$place].arrived),
            count(concat!("probes_", $way, "_idle"), "those of before the flows, whose wait is known", |real| {
                &mut real.probes[$place].idle_count
            }),
            time(concat!("probes_", $way, "_idle_p50_s"), "median of these waits", |real| &mut real.probes[$place].idle[0]),
            time(concat!("probes_", $way, "_idle_p95_s"), "95 of 100 do not exceed it", |real| &mut real.probes[$place].idle[1]),
            count(concat!("probes_", $way, "_loaded"), "probes of the measured span, whose wait is known", |real| {
                &mut real.probes[$place].loaded_count
            }),
            time(concat!("probes_", $way, "_p50_s"), "median of these waits", |real| &mut real.probes[$place].loaded[0]),
            time(concat!("probes_", $way, "_p95_s"), "95 of 100 do not exceed it", |real| &mut real.probes[$place].loaded[1]),
            time(concat!("probes_", $way, "_p99_s"), "99 of 100 do not exceed it", |real| &mut real.probes[$place].loaded[2]),
            time(concat!("probes_", $way, "_late_p50_s"), "half of them left no later than so long after they were due", |real| {
                &mut real.probes[$place].timer_error[0]
            }),
            time(concat!("probes_", $way, "_late_p99_s"), "99 of 100 left no later", |real| &mut real.probes[$place].timer_error[1]),
        ]
    }};
}

/// A column of a look at the path before the run (0) or after it (1).
macro_rules! survey_time {
    ($name:literal, $doc:literal, $when:literal, $field:ident[$place:literal]) => {
        time($name, concat!("between real hosts: ", $doc), |real| &mut real.surveys[$when].$field[$place])
    };
}
macro_rules! survey_count {
    ($name:literal, $unit:literal, $doc:literal, $when:literal, $field:ident[$place:literal]) => {
        counted($name, $unit, concat!("between real hosts: ", $doc), |real| &mut real.surveys[$when].$field[$place])
    };
}

/// A table: its columns, made once.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident: $row:ty = $columns:expr) => {
        $(#[$doc])*
        pub fn $name() -> &'static [Column<$row>] {
            static TABLE: LazyLock<Vec<Column<$row>>> = LazyLock::new(|| {
                #[allow(dead_code)] // `column!` is told the type by it
                type Row = $row;
                $columns
            });
            &TABLE
        }
    };
}

mod live;
mod packets;
mod series;

pub use live::{datagrams, hops, host_series, probes, tcp_info};
pub use packets::{acks, packets};
pub use series::{events, flow_series, link_series};

table! {
    /// Columns with one value per run.
    run: Trace = run_columns()
}

table! {
    /// Columns with one value per run in real time.
    real_time: Trace = real_time_columns()
}

fn run_columns() -> Vec<Column<Trace>> {
    type Row = Trace;
    let mut columns = vec![
        column!(time "end_s", "when the run ended, in virtual time", end),
        Column::new(Form::Time, "span_start_s", "s", "start of the measured span", |row: &Trace| row.span.0.as_ps())
            .put(|row, cell| row.span.0 = Time::from_ps(cell))
            .hidden(),
        Column::new(Form::Time, "span_end_s", "s", "end of the measured span", |row: &Trace| row.span.1.as_ps())
            .put(|row, cell| row.span.1 = Time::from_ps(cell))
            .hidden(),
        column!(count "packets_in_network_max", "packet", "most packets at once in queues and on wires", packets_in_network_max).hidden(),
        column!(count "steps", "1", "events handled", steps),
    ];
    columns.extend(real_time_columns());
    columns.extend(probe_columns!("up", "to the far host", 0));
    columns.extend(probe_columns!("down", "from the far host", 1));
    columns
}

/// Columns of values that only a run in real time has: they are zero for all other runs.
mod in_real_time {
    use super::{Column, Form, RealTime, Time, Trace};

    pub(super) fn time(name: &'static str, doc: &'static str, at: fn(&mut RealTime) -> &mut Time) -> Column<Trace> {
        let get = move |row: &Trace| row.real_time.map_or(0, |mut real| at(&mut real).as_ps());
        of_real_time(Column::new(Form::Time, name, "s", doc, get), move |real, cell| *at(real) = Time::from_ps(cell))
    }
    pub(super) fn counted(name: &'static str, unit: &'static str, doc: &'static str, at: fn(&mut RealTime) -> &mut u64) -> Column<Trace> {
        let get = move |row: &Trace| row.real_time.map_or(0, |mut real| *at(&mut real));
        of_real_time(Column::new(Form::Count, name, unit, doc, get), move |real, cell| *at(real) = cell)
    }
    pub(super) fn count(name: &'static str, doc: &'static str, at: fn(&mut RealTime) -> &mut u64) -> Column<Trace> {
        counted(name, "packet", doc, at)
    }
    fn of_real_time(column: Column<Trace>, put: impl Fn(&mut RealTime, u64) + Send + Sync + 'static) -> Column<Trace> {
        let put = move |row: &mut Trace, cell| {
            if cell > 0 {
                put(row.real_time.get_or_insert_default(), cell);
            }
        };
        column.put(put).hidden().new_thing()
    }
}

fn real_time_columns() -> Vec<Column<Trace>> {
    use in_real_time::{count, counted, time};
    vec![
        time("late_p50_s", "in real time: half of all packets were handed over no later than so long after their time", |real| {
            &mut real.late[0]
        }),
        time("late_p99_s", "99 of 100 packets no later", |real| &mut real.late[1]),
        time("late_p999_s", "999 of 1000 packets no later", |real| &mut real.late[2]),
        time("late_max_s", "the latest of them", |real| &mut real.late_max),
        time("unseen_p50_s", "half of all packets came to their first link no later than so long after they were sent", |real| {
            &mut real.unseen[0]
        }),
        time("unseen_p99_s", "99 of 100 packets no later", |real| &mut real.unseen[1]),
        time("unseen_p999_s", "999 of 1000 packets no later", |real| &mut real.unseen[2]),
        count("handed_over", "packets handed over to hosts", |real| &mut real.handed_over),
        count("lost_at_device", "packets lost between a host and the emulated network", |real| &mut real.lost_at_device),
        count("lost_at_input", "packets lost in the input queues of cores", |real| &mut real.lost_at_input),
        count("lost_at_socket", "packets that a socket had no room for", |real| &mut real.lost_at_socket),
        time("emulator_waited_s", "how long the emulator waited for a core", |real| &mut real.emulator_waited),
        time("endpoints_waited_s", "how long the endpoints waited for a core", |real| &mut real.endpoints_waited),
        time("stolen_s", "time that a virtual machine's cores did not get", |real| &mut real.stolen),
        time("clock_corrected_s", "by how much the clock was corrected meanwhile", |real| &mut real.clock_corrected),
        counted("tcp_memory_max_bytes", "byte", "the most memory that TCP had on the whole machine meanwhile", |real| {
            &mut real.tcp_memory_max
        }),
        counted("tcp_memory_pressure_bytes", "byte", "from how much on the kernel keeps windows small", |real| {
            &mut real.tcp_memory_pressure
        }),
        time("base_rtt_before_s", "between real hosts: round trip of a connection's handshake before the run, the least of some", |real| {
            &mut real.base_rtt[0]
        }),
        time("base_rtt_after_s", "the same after the run", |real| &mut real.base_rtt[1]),
        counted("rate_limit_bps", "bit/s", "bound that the server sets to the rate of all flows together (payload)", |real| {
            &mut real.rate_limit
        }),
        time("beside_s", "between real hosts: time of the run in which another session ran at the far host", |real| &mut real.beside),
        counted("cut_by", "1", "who ended the run before its end: 1 the user, 2 a lost host or path, 3 the server", |real| {
            &mut real.cut_by
        }),
        counted(
            "clock_fast_ppb",
            "1",
            "between real hosts: what the far host's clock gains on the near one's, in parts per billion",
            |real| &mut real.clock_skew[0],
        ),
        counted("clock_slow_ppb", "1", "what it loses", |real| &mut real.clock_skew[1]),
        counted("clock_steps", "1", "between real hosts: steps of the difference of the clocks, as the probes show them", |real| {
            &mut real.clock_steps
        }),
        count("probes_unstamped", "between real hosts: probes that arrived, and that the kernel of an end did not stamp", |real| {
            &mut real.probes_unstamped
        }),
        time("one_way_delay_up_s", "between real hosts whose clocks are synchronised: least delay to the far host", |real| {
            &mut real.one_way[0]
        }),
        time("one_way_delay_down_s", "least delay from it", |real| &mut real.one_way[1]),
        time("one_way_delay_error_s", "error of both delays, as the hosts estimate it", |real| &mut real.one_way_error[0]),
        time("one_way_delay_error_max_s", "bound of that error; 0: the clocks are not synchronised", |real| &mut real.one_way_error[1]),
        counted(
            "nat_port",
            "1",
            "between real hosts: port of the control connection as the far host sees it behind NAT; 0: no NAT",
            |real| &mut real.nat[0],
        ),
        counted("nat_udp_port", "1", "that of the probes", |real| &mut real.nat[1]),
        counted("begun_unix_s", "s", "between real hosts: seconds from the begin of 1970 (UTC) to that of the run", |real| {
            &mut real.begun_unix_s
        }),
        counted(
            "capture_near",
            "1",
            "between real hosts: the capture at the near host: 1 made, 2 no right, 3 not allowed, 4 failed",
            |real| &mut real.captures[0].outcome,
        ),
        counted("capture_far", "1", "the same of the far host", |real| &mut real.captures[1].outcome),
        count("captured_near", "packets captured at the near host", |real| &mut real.captures[0].packets),
        count("captured_far", "packets captured at the far host", |real| &mut real.captures[1].packets),
        count("capture_lost_near", "packets that the capture at the near host had no room for", |real| &mut real.captures[0].lost),
        count("capture_lost_far", "the same of the far host", |real| &mut real.captures[1].lost),
        count("captured_left_out", "captured packets that the table `packets` had no room for", |real| &mut real.captures[0].left_out),
        survey_time!("idle_rtt_min_before_s", "least of ten idle round trips by UDP before the run", 0, rtt[0]),
        survey_time!("idle_rtt_max_before_s", "greatest of them", 0, rtt[1]),
        survey_time!("idle_rtt_min_after_s", "least of ten idle round trips by UDP after the run", 1, rtt[0]),
        survey_time!("idle_rtt_max_after_s", "greatest of them", 1, rtt[1]),
        survey_count!("mtu_up_before_bytes", "byte", "largest packet that came to the far host, before the run", 0, mtu[0]),
        survey_count!("mtu_down_before_bytes", "byte", "largest packet that came from it, before the run", 0, mtu[1]),
        survey_count!("mtu_up_after_bytes", "byte", "largest packet that came to the far host, after the run", 1, mtu[0]),
        survey_count!("mtu_down_after_bytes", "byte", "largest packet that came from it, after the run", 1, mtu[1]),
        survey_count!("links_up_before", "1", "links to the far host before the run: one more than routers", 0, links[0]),
        survey_count!("links_down_before", "1", "links from it before the run", 0, links[1]),
        survey_count!("links_up_after", "1", "links to the far host after the run", 1, links[0]),
        survey_count!("links_down_after", "1", "links from it after the run", 1, links[1]),
    ]
}

/// Values that a run between real hosts has.
const OF_LIVE: [&str; 41] = [
    "lost_at_socket",
    "endpoints_waited_s",
    "stolen_s",
    "clock_corrected_s",
    "tcp_memory_max_bytes",
    "tcp_memory_pressure_bytes",
    "base_rtt_before_s",
    "base_rtt_after_s",
    "rate_limit_bps",
    "beside_s",
    "cut_by",
    "clock_fast_ppb",
    "clock_slow_ppb",
    "clock_steps",
    "probes_unstamped",
    "one_way_delay_up_s",
    "one_way_delay_down_s",
    "one_way_delay_error_s",
    "one_way_delay_error_max_s",
    "nat_port",
    "nat_udp_port",
    "begun_unix_s",
    "capture_near",
    "capture_far",
    "captured_near",
    "captured_far",
    "capture_lost_near",
    "capture_lost_far",
    "captured_left_out",
    "idle_rtt_min_before_s",
    "idle_rtt_max_before_s",
    "idle_rtt_min_after_s",
    "idle_rtt_max_after_s",
    "mtu_up_before_bytes",
    "mtu_down_before_bytes",
    "mtu_up_after_bytes",
    "mtu_down_after_bytes",
    "links_up_before",
    "links_down_before",
    "links_up_after",
    "links_down_after",
];

/// Returns the values of a run in real time that is `live`, between real hosts, or on the testbed: nothing that cannot be known there.
pub fn known_in_real_time(live: bool) -> impl Iterator<Item = &'static Column<Trace>> {
    let has = move |column: &&Column<Trace>| match OF_LIVE.iter().position(|name| *name == column.name) {
        Some(place) => live || place < 6,
        None => !live,
    };
    real_time().iter().filter(has)
}

table! {
    /// One row a flow.
    flows: FlowRecord = vec![
        column!(time "start_s", "the SYN", start),
        column!(time or none "established_s", "the end of the handshake at the sender", established),
        column!(time or none "delivered_all_s", "the receiver had every byte and the end of the stream; NaN for a flow that does not end", delivered_all),
        column!(time or none "acked_all_s", "the sender knew that; NaN for a flow that does not end", acked_all),
        column!(time or none "gave_up_s", "an end gave the connection up, since nothing answered (`user_timeout`, `syn_retries`); there where any did. The run goes on without it, and a warning says so", gave_up).rare(),
        column!(count "bytes_delivered", "byte", "payload in order, to the application", total.delivered),
        column!(count "bytes_delivered_at_warmup", "byte", "the same by the end of the warmup; 0 of a flow with a volume, which is measured whole", at_warmup.delivered),
        column!(count "bytes_arrived", "byte", "payload that arrived for the first time, in order or not, read or not", total.arrived),
        column!(count "bytes_arrived_at_warmup", "byte", "the same by the end of the warmup", at_warmup.arrived),
        column!(count "bytes_sent", "byte", "payload sent, retransmissions included", total.sent),
        column!(count "bytes_retransmitted", "byte", "payload retransmitted", total.retransmitted),
        column!(count "segments_sent", "packet", "data segments, retransmissions included", total.segments_sent),
        column!(count "segments_retransmitted", "packet", "data segments retransmitted", total.segments_retransmitted),
        column!(count "acks_sent", "packet", "ACKs that the receiver sent", acks_sent),
        column!(count "acks_received", "packet", "packets that came back to the sender, all but the answer to its SYN", acks_received),
        column!(count "fast_retransmits", "1", "entries into fast recovery", fast_retransmits),
        column!(count "timeouts", "1", "expiries of the retransmission timer", timeouts),
        column!(count "send_stalls", "1", "segments that found the [transmit queue](hosts.md) of their host full, taken as congestion", send_stalls),
        column!(count "duplicates_received", "packet", "data segments that held nothing new", duplicates_received),
        column!(count "bytes_duplicate", "byte", "payload that arrived and was there already, whatever else its segment held", total.duplicate),
        column!(count "bytes_duplicate_at_warmup", "byte", "the same by the end of the warmup", at_warmup.duplicate),
        column!(count "bytes_arrived_in_span", "byte", "payload that arrived within the measured span for the first time, in order or not", bytes_arrived_in_span).hidden(),
        column!(count "bytes_duplicate_in_span", "byte", "payload that arrived within the measured span and was there already", bytes_duplicate_in_span).hidden(),
        column!(count "bytes_sent_at_warmup", "byte", "payload sent by the end of the warmup", at_warmup.sent).hidden(),
        column!(count "bytes_retransmitted_at_warmup", "byte", "payload retransmitted by the end of the warmup", at_warmup.retransmitted).hidden(),
        column!(count "segments_sent_at_warmup", "packet", "data segments sent by the end of the warmup", at_warmup.segments_sent).hidden(),
        column!(count "segments_retransmitted_at_warmup", "packet", "data segments retransmitted by the end of the warmup", at_warmup.segments_retransmitted).hidden(),
        column!(count "packets_dropped_at_warmup", "packet", "packets dropped by the end of the warmup", at_warmup.packets_dropped).hidden(),
        column!(count "packets_delivered", "packet", "arrived at the receiving end, data or not", packets_delivered),
        column!(count "packets_dropped", "packet", "of this flow, both ways, by queues and links", total.packets_dropped),
        column!(count "in_flight_max_bytes", "byte", "most payload in flight", in_flight_max),
        column!(count or none "cwnd_end_bytes", "byte", "congestion window when the run ended; of TCP", cwnd_end).rare(),
        column!(count or none "ssthresh_end_bytes", "byte", "slow start threshold then; NaN: no bound", ssthresh_end).rare(),
        column!(count or none "gave_up_ecn", "1", "whether the sender found that the path spoils marks, and did without", gave_up_ecn).hidden(),
        Column::new(Form::Word(|| &ControlFrom::WORDS), "control_from", "1", "on the testbed: whether the congestion control was the kernel's own (`kernel`), [longfat's in BPF](kernel-controls.md) (`twin`) or [a policy](learning.md#on-the-testbed) (`policy`)", |row: &FlowRecord| row.control_from as u64)
            .put(|row, cell| row.control_from = ControlFrom::ALL[cell as usize])
            .rare()
            .new_thing(),
        limit!("limited_by", "between two hosts: [the cause that limited it](results-live.md#the-limit-of-a-flow)", limit),
        confidence!("limited_by_confidence", "between two hosts: the confidence in that cause, 0 to 1", limit),
        limit!("limited_by_at_sender", "the cause by the packets captured at its sender", captured[0]),
        confidence!("limited_by_at_sender_confidence", "the confidence in that cause, 0 to 1", captured[0]),
        limit!("limited_by_at_receiver", "the cause by the packets captured at its receiver", captured[1]),
        confidence!("limited_by_at_receiver_confidence", "the confidence in that cause, 0 to 1", captured[1]),
        column!(count "sends_completed", "1", "between two hosts, of a flow with `send = \"zerocopy\"`: sends of which the kernel said how it took them", sends_completed).hidden().new_thing(),
        column!(count "sends_copied", "1", "those that it copied all the same", sends_copied).hidden().new_thing(),
        column!(number "rtt_min_s", "s", "least of all round-trip samples of the whole run, exact, whatever clock the stack has", rtt.min_s),
        column!(number "rtt_mean_s", "s", "mean of the round-trip samples since the warmup; of the whole run for a flow with a volume", rtt.mean_s),
        column!(number "rtt_max_s", "s", "the greatest of them", rtt.max_s),
        number_at!("rtt_p50_s", "s", "median of the same samples, within 0.8 %", rtt.quantiles_s[0]),
        number_at!("rtt_p95_s", "s", "95 of 100 do not exceed it, within 0.8 %", rtt.quantiles_s[1]),
        number_at!("rtt_p99_s", "s", "99 of 100 do not exceed it, within 0.8 %", rtt.quantiles_s[2]),
        column!(number "rtt_deviation_s", "s", "standard deviation, of a probe (ping's `mdev`: root of the mean square less the square of the mean); NaN for TCP", rtt.deviation_s),
        number_at!("cwnd_limited_s", "s", "how long the congestion window kept it from sending what was written; NaN for UDP and ping", total.limited_s[LimitedBy::Cwnd as usize]),
        number_at!("rwnd_limited_s", "s", "how long the window that its receiver advertised did (`rwnd_limited` of `ss -i`)", total.limited_s[LimitedBy::Rwnd as usize]),
        number_at!("sndbuf_limited_s", "s", "how long the send buffer did: more was to be written (`sndbuf_limited` of `ss -i`)", total.limited_s[LimitedBy::SendBuffer as usize]),
        number_at!("pacing_limited_s", "s", "how long pacing did, while the windows allowed more", total.limited_s[LimitedBy::Pacing as usize]),
        number_at!("host_limited_s", "s", "how long the interface of its [host](hosts.md) did", total.limited_s[LimitedBy::Host as usize]),
        number_at!("cwnd_limited_at_warmup_s", "s", "the same by the end of the warmup", at_warmup.limited_s[LimitedBy::Cwnd as usize]).hidden(),
        number_at!("rwnd_limited_at_warmup_s", "s", "the same by the end of the warmup", at_warmup.limited_s[LimitedBy::Rwnd as usize]).hidden(),
        number_at!("sndbuf_limited_at_warmup_s", "s", "the same by the end of the warmup", at_warmup.limited_s[LimitedBy::SendBuffer as usize]).hidden(),
        number_at!("pacing_limited_at_warmup_s", "s", "the same by the end of the warmup", at_warmup.limited_s[LimitedBy::Pacing as usize]).hidden(),
        number_at!("host_limited_at_warmup_s", "s", "the same by the end of the warmup", at_warmup.limited_s[LimitedBy::Host as usize]).hidden(),
    ]
}

table! {
    /// One row a one-way link.
    links: LinkRecord = link_columns()
}

fn link_columns() -> Vec<Column<LinkRecord>> {
    type Row = LinkRecord;
    let mut columns = vec![
        column!(count "packets_in", "packet", "offered to the queue", packets_in),
        column!(count "packets_transmitted", "packet", "sent", packets_transmitted),
        column!(count "packets_in_in_span", "packet", "offered to the queue in the measured span", packets_in_in_span).hidden(),
        column!(count "packets_transmitted_in_span", "packet", "sent in the measured span", packets_transmitted_in_span).hidden(),
        column!(count "packets_dropped_in_span", "packet", "dropped by the queue or the link in the measured span", packets_dropped_in_span).hidden(),
        column!(count "packets_filtered_in_span", "packet", "removed by an ACK filter in the measured span", packets_filtered_in_span).hidden(),
        column!(count "packets_delivered", "packet", "arrived at the other end", packets_delivered),
        column!(count "packets_lost", "packet", "lost on the line", packets_lost),
        Column::new(Form::Count, "packets_duplicated", "packet", "that the line carried twice", LinkRecord::packets_duplicated),
        column!(count "packets_queued", "packet", "in the queue at the end of the run", packets_queued),
        column!(count "packets_in_flight", "packet", "on the wire at the end of the run", packets_in_flight),
        column!(count "ip_bytes", "byte", "IP packets transmitted", ip_bytes),
        column!(count "wire_bytes", "byte", "frames transmitted", wire_bytes),
        column!(count "marks", "packet", "set to CE instead of dropped", marks),
        column!(count "pauses", "1", "PAUSE frames that came to its transmitter (IEEE 802.3x)", pauses).new_thing(),
        column!(count "queue_max_packets", "packet", "most in the queue, the packet in transmission not counted", queue_max_packets),
        column!(count "queue_max_bytes", "byte", "the same in bytes", queue_max_bytes),
    ];
    columns.extend(DropReason::ALL.iter().map(|&reason| {
        let count = move |row: &LinkRecord| row.drops.iter().filter(|(which, _)| *which == reason).map(|(_, n)| n).sum();
        // Reasons that never occurred are left out of the record.
        let put = move |row: &mut LinkRecord, n| {
            if n > 0 {
                row.drops.push((reason, n));
            }
        };
        Column::new(Form::Count, reason.column(), "packet", reason.summary(), count).put(put).new_thing()
    }));
    columns.extend([
        column!(number "busy_s", "s", "how long the link was transmitting within the measured span", busy_s),
        column!(number "held_s", "s", "how long packets waited though the line was free, in the whole run: stopped by a PAUSE, or for their host's leaky bucket", held_s).new_thing(),
        column!(number "queue_mean_packets", "packet", "mean over the measured span", queue_mean_packets),
        column!(number "queue_mean_bytes", "byte", "mean over the measured span", queue_mean_bytes),
        number_at!("queue_delay_p50_s", "s", "median wait of the packets that left the queue in the measured span, within 0.8 %; NaN but at a bottleneck, and behind a switch", wait_quantiles_s[0]),
        number_at!("queue_delay_p95_s", "s", "95 of 100 of them waited no longer", wait_quantiles_s[1]),
        number_at!("queue_delay_p99_s", "s", "99 of 100 of them waited no longer", wait_quantiles_s[2]),
    ]);
    columns.extend(cell_columns());
    columns
}

/// Returns the counts of a switch's output port: each over the whole run, and with `_in_span` over the measured span.
fn cell_columns() -> Vec<Column<LinkRecord>> {
    /// Makes both columns of a count, from an expression of a [`Count`]; with a place to put it, the count is stored.
    macro_rules! both {
        ($name:literal, $unit:literal, $doc:literal, $get:expr) => {{
            let get: fn(&Count) -> u64 = $get;
            [
                of_cells($name, $unit, $doc, move |cells| get(&cells.total)),
                of_cells(concat!($name, "_in_span"), $unit, concat!($doc, ", in the measured span"), move |cells| get(&cells.in_span)),
            ]
        }};
        ($name:literal, $unit:literal, $doc:literal, $get:expr, $put:expr) => {{
            let put: fn(&mut Count, u64) = $put;
            let [all, in_span] = both!($name, $unit, $doc, $get);
            [
                all.put(into_cells(move |cells, n| put(&mut cells.total, n))),
                in_span.put(into_cells(move |cells, n| put(&mut cells.in_span, n))),
            ]
        }};
        ($name:literal, $unit:literal, $doc:literal, field $($field:tt)+) => {
            both!($name, $unit, $doc, |count| count.$($field)+, |count, n| count.$($field)+ = n)
        };
    }
    const OVERFLOW: usize = CellDrop::Overflow as usize;
    const REST: usize = CellDrop::Rest as usize;
    const EARLY: usize = CellDrop::Early as usize;
    let transmitted = [
        of_cells("cells_transmitted", "cell", "that have left", |cells| cells.transmitted)
            .put(into_cells(|cells, n| cells.transmitted = n)),
        of_cells("cells_transmitted_in_span", "cell", "that have left, in the measured span", |cells| cells.transmitted_in_span)
            .put(into_cells(|cells, n| cells.transmitted_in_span = n)),
    ];
    let shown = [
        both!("cells_in", "cell", "that came to the output port", Count::cells_in),
        both!("cells_dropped_overflow", "cell", "the buffer was full", field dropped[OVERFLOW]),
        both!("cells_dropped_rest", "cell", "their frame had lost a cell", field dropped[REST]),
        both!("cells_dropped_early", "cell", "their frame was dropped whole", field dropped[EARLY]),
        transmitted,
        both!("cells_whole", "cell", "of those that passed: of packets that passed whole", field whole),
        both!("cells_dead", "cell", "of those that passed: of packets that did not", field dead),
        both!("packets_whole", "packet", "all of their cells passed", field packets_whole),
        both!("packets_partial", "packet", "some of their cells passed", field packets_partial),
        both!("packets_dropped_whole", "packet", "none of their cells passed", field packets_dropped),
        both!("packets_merged", "packet", "all of their cells passed, but taken for one with the rest of another packet whose end was lost", field packets_merged),
        both!("packets_marked", "packet", "passed with a mark", field packets_marked),
    ];
    let hidden = [
        both!("cells_passed", "cell", "let into the buffer", field passed),
        both!("cells_queued_max", "cell", "most in the buffer", field queue_max),
        // A sum of waits may need more than 64 bits.
        both!(
            "cells_waits_low_ps",
            "ps",
            "what the cells that passed have to wait, modulo 2^64",
            |count| count.waits as u64,
            |count, n| {
                count.waits = count.waits >> 64 << 64 | u128::from(n);
            }
        ),
        both!("cells_waits_high", "1", "the same over 2^64", |count| (count.waits >> 64) as u64, |count, n| {
            count.waits = u128::from(n) << 64 | count.waits & u128::from(u64::MAX);
        }),
    ];
    shown.into_iter().flatten().chain(hidden.into_iter().flatten().map(Column::hidden)).collect()
}

/// A column that has values only behind switches.
fn of_cells(
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    get: impl Fn(&CellRecord) -> u64 + Send + Sync + 'static,
) -> Column<LinkRecord> {
    Column::new(Form::CountOrNone, name, unit, doc, move |row: &LinkRecord| row.cells.as_ref().map_or(NONE, &get)).rare()
}

fn into_cells(put: impl Fn(&mut CellRecord, u64) + Send + Sync + 'static) -> impl Fn(&mut LinkRecord, u64) + Send + Sync + 'static {
    move |row, cell| {
        if cell != NONE {
            put(row.cells.get_or_insert_default(), cell);
        }
    }
}

table! {
    /// One row a host of which the experiment says something. What users see of them are their metrics.
    hosts: HostRecord = {
        // The drops come first: they say whether there is a bound at all.
        let drops = Column::new(Form::CountOrNone, "memory_drops", "packet", "packets that came and found no memory left", |row: &HostRecord| {
            row.memory.as_ref().map_or(NONE, |memory| memory.drops)
        });
        let drops = drops.put(|row, cell| row.memory = (cell != NONE).then(|| MemoryRecord { drops: cell, ..MemoryRecord::default() }));
        let mut columns = vec![
            column!(number "cpu_busy_s", "s", "how long its processor was at work within the measured span; NaN where it has none", cpu_busy_s),
            drops,
        ];
        columns.extend(level("memory_promised_mean_bytes", "memory_promised_peak_bytes", "windows advertised and not filled by data in order", |memory| {
            &mut memory.promised
        }));
        columns.extend(level("memory_buffered_mean_bytes", "memory_buffered_peak_bytes", "payload written and not acknowledged, and received and not read", |memory| {
            &mut memory.buffered
        }));
        columns.extend(level("memory_wasted_mean_bytes", "memory_wasted_peak_bytes", "of the buffered what is not sent, and of the promised that for which nothing is on its way", |memory| {
            &mut memory.wasted
        }));
        columns.into_iter().map(Column::hidden).collect()
    }
}

/// Mean and peak of a quantity of a host's memory; without a value where that is not bounded.
fn level(mean: &'static str, peak: &'static str, doc: &'static str, of: fn(&mut MemoryRecord) -> &mut Level) -> [Column<HostRecord>; 2] {
    let get = move |row: &HostRecord| row.memory.map(|mut memory| *of(&mut memory));
    let put = move |row: &mut HostRecord, put: &dyn Fn(&mut Level)| {
        if let Some(memory) = &mut row.memory {
            put(of(memory));
        }
    };
    [
        Column::new(Form::Number, mean, "byte", doc, move |row| bits(get(row).map_or(f64::NAN, |level| level.mean)))
            .put(move |row, cell| put(row, &|level| level.mean = f64::from_bits(cell))),
        Column::new(Form::CountOrNone, peak, "byte", doc, move |row| get(row).map_or(NONE, |level| level.peak))
            .put(move |row, cell| put(row, &|level| level.peak = cell)),
    ]
}
