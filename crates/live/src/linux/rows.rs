//! Samples of both ends, and their form on the control channel: one column for each field of `TCP_INFO` that the kernel fills, and ours.

use longfat_capture::Judged;
use longfat_host::info::{Field, Info, field};
use longfat_record::trace::columns::NONE;
use longfat_record::trace::host::COUNTERS;
use longfat_record::trace::{Cause, Seen};

use crate::linux::captured;
use crate::linux::datagrams::Counted;
use crate::linux::plane::Look;
use crate::linux::probe::{Got, Sent, Stamps};
use crate::linux::wall::WallClock;
use crate::protocol::beside::Spell;
use crate::protocol::message::{Rows, SAMPLES};
use crate::protocol::{Fault, Nanos};

/// One end of a flow at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of the flow.
    pub flow: u32,
    /// Time since the beginning of the run, on this host's clock.
    pub at: Nanos,
    /// Bytes of payload that the application has read.
    pub read: u64,
    /// Bytes that have arrived, and wait for it.
    pub unread: u64,
    /// Bytes that the application has written, and that are not acknowledged.
    pub unacknowledged: u64,
    /// Size of the send buffer: bytes of memory.
    pub send_buffer: u64,
    /// True if the application has more to write than the socket takes.
    pub wants: bool,
    /// Packets that this host has dropped so far on their arrival, of whatever flow.
    pub dropped: u64,
    /// True if the application has closed its stream.
    pub is_closed: bool,
    /// Sends without a copy of which the kernel has said how it took them.
    pub completed: u64,
    /// Sends that it copied all the same.
    pub copied: u64,
    /// Time at which the application had read the end of the stream.
    pub delivered_all: Option<Nanos>,
    /// View of the kernel.
    pub info: Info,
}

/// Columns beside those of the kernel.
const OURS: [&str; 12] = [
    "flow",
    "at_ns",
    "read",
    "unread",
    "unacknowledged",
    "send_buffer",
    "is_closed",
    "wants",
    "dropped",
    "completed",
    "copied",
    "delivered_all_ns",
];

/// Returns `rows` in pieces of which each fits into a message.
pub(crate) fn to_pieces(rows: &[Row]) -> Vec<Rows> {
    let fields = field::ALL.iter().map(|field| field.name);
    let columns: Vec<String> = OURS.into_iter().chain(fields).map(str::to_owned).collect();
    let values = |row: &Row| {
        let counts = [u64::from(row.flow), row.at, row.read, row.unread, row.unacknowledged, row.send_buffer];
        let ours = counts.into_iter().chain([row.is_closed.into(), row.wants.into(), row.dropped, row.completed, row.copied]);
        ours.map(Some).chain([row.delivered_all]).chain(field::ALL.iter().map(|field| row.info.get(field))).collect()
    };
    Rows::pieces(&columns, rows.iter().map(values).collect())
}

/// Reads the rows of a piece, of which there are `flows` flows.
///
/// # Errors
/// A column of ours that is missing, and values that cannot be.
pub(crate) fn of_piece(piece: &Rows, flows: u32) -> Result<Vec<Row>, Fault> {
    let place = |name: &str| piece.columns.iter().position(|column| column == name);
    let lacking = || Fault("the results of the other side lack a column".to_owned());
    let ours = OURS.iter().map(|name| place(name).ok_or_else(lacking)).collect::<Result<Vec<usize>, Fault>>()?;
    // A field that only the other side knows is left out.
    let fields: Vec<(&Field, usize)> = field::ALL.iter().filter_map(|field| Some((field, place(field.name)?))).collect();
    let row = |values: &Vec<Option<u64>>| {
        let value = |i: usize| values[ours[i]].ok_or_else(lacking);
        let known = || fields.iter().filter_map(|(field, at)| Some((*field, values[*at]?)));
        let len = known().map(|(field, _)| field.at + field.len).max().unwrap_or(0);
        let flow = u32::try_from(value(0)?).ok().filter(|flow| *flow < flows);
        Ok(Row {
            flow: flow.ok_or_else(not_asked_for)?,
            at: value(1)?,
            read: value(2)?,
            unread: value(3)?,
            unacknowledged: value(4)?,
            send_buffer: value(5)?,
            is_closed: value(6)? > 0,
            wants: value(7)? > 0,
            dropped: value(8)?,
            completed: value(9)?,
            copied: value(10)?,
            delivered_all: values[ours[11]],
            info: Info::with(len, known()),
        })
    };
    piece.rows.iter().map(row).collect()
}

/// Columns of probes: those that the host sent have a time due and a time sent, those that it got have a time got.
const OF_PROBES: [&str; 5] = ["probe", "due_ns", "sent_ns", "got_ns", "is_stamped"];

/// Returns `stamps` in pieces of which each fits into a message.
pub(crate) fn probes_to_pieces(stamps: &Stamps) -> Vec<Rows> {
    let sent =
        stamps.sent.iter().map(|sent| vec![Some(sent.number.into()), Some(sent.due), Some(sent.at), None, Some(sent.is_stamped.into())]);
    let got = stamps.got.iter().map(|got| vec![Some(got.number.into()), None, None, Some(got.at), Some(got.is_stamped.into())]);
    Rows::pieces(&OF_PROBES.map(str::to_owned), sent.chain(got).collect())
}

/// True if a piece is of probes, and not of flows.
pub(crate) fn is_of_probes(piece: &Rows) -> bool {
    piece.columns == OF_PROBES
}

/// Adds the probes of a piece to `stamps`.
///
/// # Errors
/// Values that cannot be, and more probes than a session may have.
pub(crate) fn add_probes(piece: &Rows, stamps: &mut Stamps) -> Result<(), Fault> {
    let strange = || Fault("the results of the other side have a probe that cannot be".to_owned());
    for row in &piece.rows {
        let number = row.first().copied().flatten().and_then(|number| u32::try_from(number).ok()).ok_or_else(strange)?;
        match row[1..] {
            [Some(due), Some(at), None, Some(stamped)] => stamps.sent.push(Sent { number, due, at, is_stamped: stamped > 0 }),
            [None, None, Some(at), Some(stamped)] => stamps.got.push(Got { number, at, is_stamped: stamped > 0 }),
            _ => return Err(strange()),
        }
    }
    // The server samples for a moment longer than it was asked to.
    if stamps.sent.len().max(stamps.got.len()) as u64 > 2 * SAMPLES { Err(strange()) } else { Ok(()) }
}

/// Columns of the times of a flow over UDP: those of [`OF_PROBES`], under the number of the flow.
const OF_TIMES: [&str; 6] = ["datagrams_of", "number", "due_ns", "sent_ns", "got_ns", "is_stamped"];
/// Columns of the counts of flows over UDP.
const OF_COUNTS: [&str; 8] = ["counts_of", "at_ns", "packets", "bytes", "duplicates", "duplicate_bytes", "reached", "dropped"];

/// Returns the times of datagrams, by flow, in pieces of which each fits into a message.
pub(crate) fn times_to_pieces(stamps: &[(u32, Stamps)]) -> Vec<Rows> {
    let rows = stamps.iter().flat_map(|(flow, stamps)| {
        let of = |piece: Rows| piece.rows.into_iter().map(|row| [vec![Some(u64::from(*flow))], row].concat());
        probes_to_pieces(stamps).into_iter().flat_map(of)
    });
    Rows::pieces(&OF_TIMES.map(str::to_owned), rows.collect())
}

/// True if a piece is of the times of datagrams.
pub(crate) fn is_of_times(piece: &Rows) -> bool {
    piece.columns == OF_TIMES
}

/// Adds the times of a piece to `stamps`, which has an entry for each flow over UDP.
///
/// # Errors
/// Values that cannot be, and more times than a session may have.
pub(crate) fn add_times(piece: Rows, stamps: &mut [(u32, Stamps)]) -> Result<(), Fault> {
    for mut row in piece.rows {
        let flow = row.remove(0);
        let (_, stamps) = stamps.iter_mut().find(|(of, _)| Some(u64::from(*of)) == flow).ok_or_else(not_asked_for)?;
        add_probes(&Rows { columns: Vec::new(), rows: vec![row] }, stamps)?;
    }
    let all: usize = stamps.iter().map(|(_, stamps)| stamps.sent.len() + stamps.got.len()).sum();
    if all as u64 > 2 * SAMPLES { Err(Fault("the results of the other side have too many datagrams".to_owned())) } else { Ok(()) }
}

fn not_asked_for() -> Fault {
    Fault("the results of the other side are of a flow that was not asked for".to_owned())
}

/// Returns counts in pieces of which each fits into a message.
pub(crate) fn counts_to_pieces(counted: &[Counted]) -> Vec<Rows> {
    let row = |count: &Counted| {
        let Counted { flow, at, packets, bytes, duplicates, duplicate_bytes, reached, dropped } = *count;
        [flow.into(), at, packets, bytes, duplicates, duplicate_bytes, reached, dropped].map(Some).to_vec()
    };
    Rows::pieces(&OF_COUNTS.map(str::to_owned), counted.iter().map(row).collect())
}

/// True if a piece is of counts of flows over UDP.
pub(crate) fn is_of_counts(piece: &Rows) -> bool {
    piece.columns == OF_COUNTS
}

/// Adds the counts of a piece to `counted`; `flows` are those over UDP.
///
/// # Errors
/// Values that cannot be, and more counts than a session may have.
pub(crate) fn add_counts(piece: &Rows, counted: &mut Vec<Counted>, flows: &[u32]) -> Result<(), Fault> {
    let strange = || Fault("the results of the other side have a count that cannot be".to_owned());
    for row in &piece.rows {
        let row = row.iter().copied().collect::<Option<Vec<u64>>>().ok_or_else(strange)?;
        let [flow, at, packets, bytes, duplicates, duplicate_bytes, reached, dropped] = row[..] else { return Err(strange()) };
        let flow = flows.iter().copied().find(|of| u64::from(*of) == flow).ok_or_else(not_asked_for)?;
        counted.push(Counted { flow, at, packets, bytes, duplicates, duplicate_bytes, reached, dropped });
    }
    // The server samples for a moment longer than it was asked to.
    if counted.len() as u64 > 2 * SAMPLES { Err(strange()) } else { Ok(()) }
}

/// Columns of the wall clock of a host, where something synchronises it: one row.
const OF_WALL: [&str; 3] = ["wall_zero_ns", "wall_estimated_ns", "wall_most_ns"];

/// Returns the wall clock of this host in a piece; none where it is not known.
pub(crate) fn wall_to_pieces(wall: Option<WallClock>) -> Vec<Rows> {
    let row = |WallClock { zero, estimated, most }| [zero, estimated, most].map(Some).to_vec();
    Rows::pieces(&OF_WALL.map(str::to_owned), wall.into_iter().map(row).collect())
}

/// True if a piece is of a wall clock.
pub(crate) fn is_of_wall(piece: &Rows) -> bool {
    piece.columns == OF_WALL
}

/// Reads the wall clock of a piece.
///
/// # Errors
/// Values that are missing, and more than one row.
pub(crate) fn wall_of(piece: &Rows) -> Result<WallClock, Fault> {
    let row = if let [row] = &piece.rows[..] { &row[..] } else { &[] };
    let [Some(zero), Some(estimated), Some(most)] = *row else {
        return Err(Fault("the results of the other side have a wall clock that cannot be".to_owned()));
    };
    Ok(WallClock { zero, estimated, most })
}

/// Columns of the times in which other sessions of the server ran.
const OF_BESIDE: [&str; 2] = ["beside_from_ns", "beside_to_ns"];

/// Returns the times in which other sessions ran, in pieces of which each fits into a message.
pub(crate) fn beside_to_pieces(spells: &[Spell]) -> Vec<Rows> {
    Rows::pieces(&OF_BESIDE.map(str::to_owned), spells.iter().map(|spell| spell.map(Some).to_vec()).collect())
}

/// True if a piece is of times in which other sessions ran.
pub(crate) fn is_of_beside(piece: &Rows) -> bool {
    piece.columns == OF_BESIDE
}

/// Adds the times of a piece to `spells`.
///
/// # Errors
/// Times that are not in order, and more than a session may have.
pub(crate) fn add_beside(piece: &Rows, spells: &mut Vec<Spell>) -> Result<(), Fault> {
    let strange = || Fault("the results of the other side have a session beside this one that cannot be".to_owned());
    for row in &piece.rows {
        let [Some(from), Some(to)] = row[..] else { return Err(strange()) };
        if from > to || spells.last().is_some_and(|last| last[1] > from) {
            return Err(strange());
        }
        spells.push([from, to]);
    }
    if spells.len() as u64 > SAMPLES { Err(strange()) } else { Ok(()) }
}

/// First column of counters of the host; the others are [`COUNTERS`].
const OF_HOST: &str = "host_at_ns";

/// Returns `looks` in pieces of which each fits into a message.
pub(crate) fn looks_to_pieces(looks: &[Look]) -> Vec<Rows> {
    let columns: Vec<String> = [OF_HOST].into_iter().chain(COUNTERS.iter().map(|counter| counter.name)).map(str::to_owned).collect();
    let row = |(at, values): &Look| {
        [Some(*at)].into_iter().chain(values.iter().map(|value| Some(*value).filter(|value| *value != NONE))).collect()
    };
    Rows::pieces(&columns, looks.iter().map(row).collect())
}

/// True if a piece is of counters of the host.
pub(crate) fn is_of_host(piece: &Rows) -> bool {
    piece.columns.first().is_some_and(|column| column == OF_HOST)
}

/// Adds the looks of a piece to `looks`. A counter that only the other side knows is left out.
///
/// # Errors
/// A look without a time, and more looks than a session may have.
pub(crate) fn add_looks(piece: &Rows, looks: &mut Vec<Look>) -> Result<(), Fault> {
    let strange = || Fault("the results of the other side have counters that cannot be".to_owned());
    let places: Vec<Option<usize>> =
        piece.columns.iter().map(|column| COUNTERS.iter().position(|counter| counter.name == column)).collect();
    for row in &piece.rows {
        let at = row.first().copied().flatten().ok_or_else(strange)?;
        let mut values = [NONE; COUNTERS.len()];
        for (place, value) in places.iter().zip(row) {
            if let (Some(place), Some(value)) = (place, value) {
                values[*place] = *value;
            }
        }
        looks.push((at, values));
    }
    if looks.len() as u64 > SAMPLES { Err(strange()) } else { Ok(()) }
}

/// Columns of a capture: a row of the host's, without a flow, and one for each flow that it judged.
const OF_CAPTURED: [&str; 7] = ["captured_flow", "cause", "alike", "confidence_ppm", "outcome", "packets", "lost"];

/// Returns the verdicts of `left` in pieces of which each fits into a message. Its packets stay here.
pub(crate) fn captured_to_pieces(left: &captured::Left) -> Vec<Rows> {
    let Seen { outcome, packets, lost, .. } = left.seen;
    let of_host = vec![None, None, None, None, Some(outcome), Some(packets), Some(lost)];
    let of_flow = |judged: &Judged| {
        let alike = judged.alike.iter().fold(0, |mask, cause| mask | 1 << (*cause as u64));
        let confidence = (1e6 * judged.confidence).round() as u64;
        vec![Some(judged.flow.into()), Some(judged.cause as u64), Some(alike), Some(confidence), None, None, None]
    };
    let all = [of_host].into_iter().chain(left.judged.iter().map(of_flow)).collect();
    Rows::pieces(&OF_CAPTURED.map(str::to_owned), all)
}

/// True if a piece is of a capture.
pub(crate) fn is_of_captured(piece: &Rows) -> bool {
    piece.columns == OF_CAPTURED
}

/// Adds the verdicts of a piece to `left`, of which there are `flows` flows.
///
/// # Errors
/// Values that cannot be, and a flow that is judged twice.
pub(crate) fn add_captured(piece: &Rows, left: &mut captured::Left, flows: u32) -> Result<(), Fault> {
    let strange = || Fault("the results of the other side have a capture that cannot be".to_owned());
    for row in &piece.rows {
        match row[..] {
            [None, None, None, None, Some(outcome), Some(packets), Some(lost)] if outcome <= Seen::FAILED => {
                left.seen = Seen { outcome, packets, lost, left_out: 0 };
            }
            [Some(flow), Some(cause), Some(alike), Some(confidence), None, None, None] if confidence <= 1_000_000 => {
                let flow = u32::try_from(flow).ok().filter(|flow| *flow < flows).ok_or_else(not_asked_for)?;
                if left.judged.iter().any(|other| other.flow == flow) {
                    return Err(strange());
                }
                let cause = usize::try_from(cause).ok().and_then(|place| Cause::ALL.get(place)).copied().ok_or_else(strange)?;
                let alike = Cause::ALL.iter().copied().filter(|cause| alike >> (*cause as u64) & 1 == 1).collect();
                left.judged.push(Judged { flow, cause, alike, confidence: confidence as f64 / 1e6 });
            }
            _ => return Err(strange()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_come_as_they_were_stamped() {
        let sent = vec![Sent { number: 0, due: 1, at: 2, is_stamped: true }, Sent { number: 1, due: 3, at: 3, is_stamped: false }];
        let stamps = Stamps { sent, got: vec![Got { number: 7, at: 0, is_stamped: true }] };
        let mut back = Stamps::default();
        for piece in probes_to_pieces(&stamps) {
            assert!(is_of_probes(&piece));
            add_probes(&piece, &mut back).unwrap();
        }
        assert_eq!(back, stamps);
        for wrong in [
            [Some(1), None, None, None, Some(1)],
            [None, None, None, Some(1), Some(1)],
            [Some(1), None, None, Some(1), None],
            [Some(1 << 32), None, None, Some(1), Some(1)],
            [Some(1); 5],
        ] {
            let piece = Rows { columns: OF_PROBES.map(str::to_owned).to_vec(), rows: vec![wrong.to_vec()] };
            assert!(add_probes(&piece, &mut Stamps::default()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn counts_and_times_of_datagrams_come_as_they_were_taken() {
        let counted = vec![Counted { flow: 3, at: 1, packets: 2, bytes: 3, duplicates: 4, duplicate_bytes: 5, reached: 6, dropped: 7 }];
        let mut back = Vec::new();
        for piece in counts_to_pieces(&counted) {
            assert!(is_of_counts(&piece) && !is_of_times(&piece) && !is_of_probes(&piece));
            assert!(add_counts(&piece, &mut Vec::new(), &[2]).is_err(), "of another flow");
            add_counts(&piece, &mut back, &[2, 3]).unwrap();
        }
        assert_eq!(back, counted);
        let sent = vec![Sent { number: 0, due: 1, at: 2, is_stamped: true }];
        let stamps = vec![
            (2, Stamps { sent, got: Vec::new() }),
            (3, Stamps { sent: Vec::new(), got: vec![Got { number: 7, at: 0, is_stamped: true }] }),
        ];
        let mut back = vec![(2, Stamps::default()), (3, Stamps::default())];
        for piece in times_to_pieces(&stamps) {
            assert!(is_of_times(&piece));
            assert!(add_times(piece.clone(), &mut [(1, Stamps::default())]).is_err(), "of another flow");
            add_times(piece, &mut back).unwrap();
        }
        assert_eq!(back, stamps);
        let null = Rows { columns: OF_COUNTS.map(str::to_owned).to_vec(), rows: vec![vec![None; 8]] };
        assert!(add_counts(&null, &mut Vec::new(), &[0]).is_err());
        let short = Rows { columns: OF_COUNTS.map(str::to_owned).to_vec(), rows: vec![vec![Some(0); 7]] };
        assert!(add_counts(&short, &mut Vec::new(), &[0]).is_err());
    }

    #[test]
    fn a_wall_clock_comes_whole_or_not_at_all() {
        let wall = WallClock { zero: 1, estimated: 2, most: 3 };
        let [piece] = &wall_to_pieces(Some(wall))[..] else { panic!("one piece") };
        assert!(is_of_wall(piece) && !is_of_beside(piece) && wall_to_pieces(None).is_empty());
        assert_eq!(wall_of(piece), Ok(wall));
        for rows in [vec![], vec![piece.rows[0].clone(); 2], vec![vec![Some(1), None, Some(3)]]] {
            assert!(wall_of(&Rows { rows, ..piece.clone() }).is_err());
        }
    }

    #[test]
    fn times_of_other_sessions_come_in_order() {
        let spells = vec![[1, 5], [5, 5], [7, 9]];
        let mut back = Vec::new();
        for piece in beside_to_pieces(&spells) {
            assert!(is_of_beside(&piece) && !is_of_host(&piece));
            add_beside(&piece, &mut back).unwrap();
        }
        assert_eq!(back, spells);
        for wrong in [[Some(10), Some(9)], [Some(8), Some(9)], [None, Some(12)]] {
            let piece = Rows { columns: OF_BESIDE.map(str::to_owned).to_vec(), rows: vec![wrong.to_vec()] };
            assert!(add_beside(&piece, &mut spells.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn counters_of_a_host_come_as_they_were_read() {
        let mut values = [NONE; COUNTERS.len()];
        (values[0], values[5]) = (7, 0);
        let looks = vec![(1, values), (2, [3; COUNTERS.len()])];
        let mut back = Vec::new();
        for piece in looks_to_pieces(&looks) {
            assert!(is_of_host(&piece) && !is_of_probes(&piece));
            add_looks(&piece, &mut back).unwrap();
        }
        assert_eq!(back, looks);
        // Another version has other counters, in another order.
        let columns = [OF_HOST, "of a later version", "cpu_clock"].map(str::to_owned).to_vec();
        let mut back = Vec::new();
        add_looks(&Rows { columns: columns.clone(), rows: vec![vec![Some(5), Some(6), Some(8)]] }, &mut back).unwrap();
        assert_eq!((back[0].0, back[0].1[1], back[0].1[0]), (5, 8, NONE));
        assert!(add_looks(&Rows { columns, rows: vec![vec![None, Some(6), Some(8)]] }, &mut back).is_err(), "without a time");
    }

    #[test]
    fn verdicts_come_as_they_were_sent_and_packets_do_not() {
        let one = Judged { flow: 1, cause: Cause::Policer, alike: vec![Cause::SmallBuffer, Cause::RandomLoss], confidence: 0.25 };
        let other = Judged { flow: 0, cause: Cause::ALL[Cause::ALL.len() - 1], alike: Vec::new(), confidence: 1.0 };
        let seen = Seen { outcome: Seen::CAPTURED, packets: 9, lost: 2, left_out: 0 };
        let left = captured::Left { seen, judged: vec![one.clone(), other], rows: vec![Default::default(); 9] };
        let pieces = captured_to_pieces(&left);
        let mut back = captured::Left::default();
        for piece in &pieces {
            assert!(is_of_captured(piece) && !is_of_host(piece) && !is_of_probes(piece));
            add_captured(piece, &mut back, 2).unwrap();
        }
        assert!(back.rows.is_empty());
        assert_eq!((back.seen, &back.judged), (seen, &left.judged));
        let rows = |row: Vec<Option<u64>>| Rows { columns: pieces[0].columns.clone(), rows: vec![row] };
        let flow = |flow, cause, confidence| rows(vec![Some(flow), Some(cause), Some(0), Some(confidence), None, None, None]);
        let lies = [flow(1, 0, 0), flow(2, 0, 0), flow(3, 99, 0), flow(3, 0, 1_000_001), rows(vec![None; 7])];
        for lie in lies {
            assert!(add_captured(&lie, &mut back, 4 - u32::from(lie.rows[0][0] == Some(2)) * 2).is_err(), "{lie:?}");
        }
    }

    fn row(flow: u32, len: usize) -> Row {
        // A value within each field, however narrow, and another in each.
        let info = Info::with(len, field::ALL.iter().zip(1..).filter(|(field, _)| field.at + field.len <= len));
        let counts = Row { flow, at: 5, read: 6, unread: 7, unacknowledged: 8, send_buffer: 9, wants: true, dropped: 11, ..Row::default() };
        Row { is_closed: true, completed: 12, copied: 13, delivered_all: Some(10), info, ..counts }
    }

    #[test]
    fn rows_come_as_they_were_sent_from_old_kernels_too() {
        let rows = vec![row(0, 276), Row { is_closed: false, delivered_all: None, ..row(1, 192) }];
        let back: Vec<Row> = to_pieces(&rows).iter().flat_map(|piece| of_piece(piece, 2).unwrap()).collect();
        assert_eq!(back, rows);
        assert_eq!((back[1].info.get(&field::bytes_sent), back[1].info.get(&field::sndbuf_limited).is_some()), (None, true));
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        let [piece] = &to_pieces(&[row(1, 276)])[..] else { panic!("one piece") };
        assert!(of_piece(piece, 1).unwrap_err().0.contains("not asked for"));
        let cut = Rows { columns: piece.columns[1..].to_vec(), rows: vec![piece.rows[0][1..].to_vec()] };
        assert!(of_piece(&cut, 2).unwrap_err().0.contains("lack"));
        let mut null = piece.clone();
        null.rows[0][2] = None;
        assert!(of_piece(&null, 2).is_err());
    }
}
