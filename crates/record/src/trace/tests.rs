//! Tests that a trace survives storage completely.

use super::columns::{self, Column, Form};
use super::*;
use longfat_core::atm::port::Count;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// `rows`, stored and read back.
fn again<R: Clone + Default + 'static>(columns: &[Column<R>], rows: &[R], empty: impl Fn(usize) -> R) -> Vec<R> {
    let mut back: Vec<R> = (0..rows.len()).map(empty).collect();
    for column in columns.iter().filter(|column| column.is_stored()) {
        for (row, restored) in rows.iter().zip(&mut back) {
            column.set(restored, column.get(row));
        }
    }
    back
}

/// Two records are the same to the bit; `==` takes NaN for different.
fn same<R: std::fmt::Debug>(one: &[R], other: &[R]) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// A record whose cells are `cells`, one for each stored column.
fn filled<R: Default + 'static>(columns: &[Column<R>], cells: &mut impl Iterator<Item = u64>) -> R {
    let mut row = R::default();
    for column in columns.iter().filter(|column| column.is_stored()) {
        let cell = cells.next().unwrap();
        column.set(
            &mut row,
            match column.form {
                Form::Word(words) => cell % words().len() as u64,
                // Values stay below the mark for no value; numbers of flows and links have 32 bits.
                Form::Count | Form::Time if ["flow", "link", "number", "ttl"].contains(&column.name) => cell % 4_000_000_000,
                Form::CountOrNone if column.name == "link" => cell % 4_000_000_000,
                _ => cell,
            },
        );
    }
    row
}

fn check<R: Clone + Default + std::fmt::Debug + 'static>(columns: &[Column<R>], cells: &[u64]) {
    let mut endless = cells.iter().copied().cycle();
    let rows: Vec<R> = (0..5).map(|_| filled(columns, &mut endless)).collect();
    same(&again(columns, &rows, |_| R::default()), &rows);
}

proptest! {
    #[test]
    fn every_table_reads_back(cells in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), Just(f64::NAN.to_bits()), 0..1000_u64, any::<u64>()], 97)) {
        check(columns::flows(), &cells);
        check(columns::links(), &cells);
        check(columns::hosts(), &cells);
        check(columns::flow_series(), &cells);
        check(columns::link_series(), &cells);
        check(columns::packets(), &cells);
        check(columns::tcp_info(), &cells);
        check(columns::probes(), &cells);
        check(columns::hops(), &cells);
        check(columns::host_series(), &cells);
    }
}

#[test]
fn every_kind_of_event_reads_back() {
    let events: Vec<Event> = EventKind::all()
        .enumerate()
        .map(|(i, kind)| Event { time: Time::from_ps(i as u64), kind, flow: 7, link: (i % 2 == 0).then_some(i as u32), seq: 1 << i })
        .collect();
    same(&again(columns::events(), &events, |_| Event::default()), &events);
}

/// No field of a record is forgotten: with every field at a value of its own, each survives.
#[test]
fn every_field_of_a_record_is_stored() {
    let time = |n: u64| Some(Time::from_ps(n));
    let flow = FlowRecord {
        start: Time::from_ps(1),
        established: time(2),
        delivered_all: time(3),
        acked_all: time(4),
        gave_up: time(5),
        acks_sent: 12,
        acks_received: 13,
        fast_retransmits: 14,
        timeouts: 15,
        send_stalls: 16,
        duplicates_received: 17,
        at_warmup: FlowCounts {
            delivered: 41,
            arrived: 42,
            duplicate: 43,
            sent: 44,
            retransmitted: 45,
            segments_sent: 46,
            segments_retransmitted: 47,
            packets_dropped: 48,
            limited_s: [0.49, 0.5, 0.51, 0.52, 0.53],
        },
        bytes_arrived_in_span: 27,
        bytes_duplicate_in_span: 28,
        packets_delivered: 25,
        in_flight_max: 26,
        cwnd_end: Some(1),
        ssthresh_end: None,
        gave_up_ecn: Some(0),
        control_from: ControlFrom::Twin,
        sends_completed: 31,
        sends_copied: 32,
        limit: Some((Cause::Policer, 0.77)),
        captured: [Some((Cause::SmallBuffer, 0.0)), Some((Cause::Nagle, 0.4))],
        total: FlowCounts {
            delivered: 6,
            arrived: 7,
            sent: 8,
            retransmitted: 9,
            segments_sent: 10,
            segments_retransmitted: 11,
            duplicate: 18,
            packets_dropped: 20,
            limited_s: [0.31, 0.32, 0.33, 0.34, 0.35],
        },
        rtt: RttRecord { min_s: 0.21, mean_s: 0.22, max_s: 0.23, quantiles_s: [0.241, 0.242, 0.243], deviation_s: 0.24 },
    };
    assert_eq!(again(columns::flows(), std::slice::from_ref(&flow), |_| FlowRecord::default()), [flow]);

    let count = |n: u64| Count {
        passed: n,
        dropped: [n + 1, n + 2, n + 3],
        whole: n + 4,
        dead: n + 5,
        packets_whole: n + 6,
        packets_partial: n + 7,
        packets_dropped: n + 8,
        packets_merged: n + 9,
        packets_marked: n + 10,
        queue_max: n + 11,
        waits: (u128::from(n) << 70) + 12,
    };
    let link = LinkRecord {
        name: "a-b>".to_owned(),
        packets_in: 1,
        packets_transmitted: 2,
        packets_in_in_span: 31,
        packets_transmitted_in_span: 32,
        packets_dropped_in_span: 33,
        packets_filtered_in_span: 34,
        packets_delivered: 3,
        packets_lost: 4,
        packets_queued: 5,
        packets_in_flight: 6,
        ip_bytes: 7,
        wire_bytes: 8,
        busy_s: 0.9,
        drops: vec![(DropReason::Early, 10), (DropReason::NoMemory, 11)],
        marks: 12,
        pauses: 19,
        held_s: 0.7,
        queue_max_packets: 13,
        queue_max_bytes: 14,
        queue_mean_packets: 1.5,
        queue_mean_bytes: 1.6,
        wait_quantiles_s: [0.21, 0.22, 0.23],
        cells: Some(CellRecord { total: count(100), transmitted: 17, in_span: count(200), transmitted_in_span: 18 }),
    };
    // The name of a link is the experiment's.
    let named = |_| LinkRecord { name: "a-b>".to_owned(), ..LinkRecord::default() };
    assert_eq!(again(columns::links(), std::slice::from_ref(&link), named), [link]);

    let level = |mean, peak| Level { mean, peak };
    let memory = MemoryRecord { promised: level(0.1, 1), buffered: level(0.2, 2), wasted: level(0.3, 3), drops: 4 };
    let host = HostRecord { cpu_busy_s: 0.5, memory: Some(memory) };
    assert_eq!(again(columns::hosts(), std::slice::from_ref(&host), |_| HostRecord::default()), [host]);

    let trace = Trace {
        end: Time::from_ps(1),
        span: (Time::from_ps(2), Time::from_ps(3)),
        packets_in_network_max: 4,
        steps: 5,
        ..Trace::default()
    };
    assert_eq!(again(columns::run(), std::slice::from_ref(&trace), |_| Trace::default()), [trace]);
}

#[test]
fn names_are_distinct_and_say_what_they_are() {
    fn check<R: 'static>(columns: &[Column<R>]) {
        let names: BTreeSet<String> = columns.iter().map(|column| column.name.to_owned()).collect();
        let stored: BTreeSet<String> = columns.iter().map(Column::stored_name).collect();
        assert_eq!((names.len(), stored.len()), (columns.len(), columns.len()));
        for column in columns {
            assert!(!column.doc.is_empty() && !column.doc.ends_with('.') && !column.unit.is_empty(), "{}", column.name);
            assert!(!matches!(column.form, Form::Time) || column.name.ends_with("_s"), "{}", column.name);
        }
    }
    check(columns::run());
    check(columns::flows());
    check(columns::links());
    check(columns::hosts());
    check(columns::flow_series());
    check(columns::link_series());
    check(columns::events());
    check(columns::hops());
    let kinds: BTreeSet<&str> = EventKind::all().map(EventKind::word).collect();
    assert_eq!(kinds.len(), DropReason::ALL.len() + 6);
}
