//! Connections of a capture, in bounded memory: the connection idle for longest is closed, and the largest closed ones are kept.

use super::connection::Connection;
use super::copies::Copies;
use super::records::{self, Capture};
use super::report;
use crate::error::Error;
use crate::read::{Address, Joined, Packet};
use std::collections::HashMap;
use std::path::Path;

/// Connections that are open at once.
const OPEN: usize = 4096;
/// Longest distance from the first packet, in ns: 104 days. Times beyond are set to it, so that sums of times fit, in picoseconds as well.
const SPAN: i64 = 1 << 53;
/// Packets between two looks at whether to go on.
const LOOK: u64 = 1 << 16;

/// Connections by their ends.
#[derive(Default)]
pub(crate) struct Table {
    /// Closed connections whose report is kept: those with the most data.
    keep: usize,
    places: HashMap<(Address, Address), usize>,
    open: Vec<Connection>,
    /// Ends of the packet before, and its place, which is nearly always the next one's too.
    last: Option<(Address, Address, usize)>,
    closed: Vec<(u64, records::Connection)>,
    copies: Copies,
    count: u64,
    left_out: u64,
    left_out_bytes: u64,
    /// Time of the first packet. All other times count from it.
    start: Option<i64>,
    end: i64,
}

impl Table {
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Connections so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Puts the packet to its connection, which it gives back; none for a copy of a packet that was there before.
    pub(crate) fn add(&mut self, mut packet: Packet) -> Option<&mut Connection> {
        let start = *self.start.get_or_insert(packet.time);
        packet.time = since(start, packet.time);
        let packet = &packet;
        self.end = self.end.max(packet.time);
        let (from, to) = (packet.from, packet.to);
        let mut place = match self.last {
            Some((a, b, place)) if (a, b) == (from, to) || (b, a) == (from, to) => Some(place),
            _ => self.places.get(&key(from, to)).copied(),
        };
        if let Some(at) = place.filter(|at| self.open[*at].is_over(packet)) {
            self.close(at);
            place = None;
        }
        let place = place.unwrap_or_else(|| self.open(packet));
        self.last = Some((from, to, place));
        let connection = &mut self.open[place];
        let direction = &mut connection.directions[usize::from(packet.from != connection.ends[0])];
        if let Some(delay) = self.copies.delay(packet, direction.ids).or_else(|| direction.copied(packet)) {
            direction.copies.add(delay);
            return None;
        }
        direction.ids.note(packet.id);
        connection.add(packet);
        Some(connection)
    }

    fn open(&mut self, packet: &Packet) -> usize {
        if self.open.len() == OPEN {
            // A quarter of the connections is closed at a time: those idle for longest.
            let mut times: Vec<i64> = self.open.iter().map(|connection| connection.last).collect();
            let (_, limit, _) = times.select_nth_unstable(OPEN / 4);
            let limit = *limit;
            for place in (0..self.open.len()).rev() {
                if self.open[place].last <= limit && self.open.len() > OPEN / 2 {
                    self.close(place);
                }
            }
        }
        let number = self.count;
        self.count += 1;
        self.open.push(Connection::new(number, packet));
        self.places.insert(key(packet.from, packet.to), self.open.len() - 1);
        self.open.len() - 1
    }

    fn close(&mut self, place: usize) {
        self.last = None;
        let mut connection = self.open.swap_remove(place);
        self.places.remove(&key(connection.ends[0], connection.ends[1]));
        if let Some(moved) = self.open.get(place) {
            self.places.insert(key(moved.ends[0], moved.ends[1]), place);
        }
        connection.finish();
        let bytes = connection.directions.iter().map(|direction| direction.counts.bytes).sum();
        self.closed.push((bytes, report::connection(&connection)));
        if self.closed.len() > self.keep.saturating_mul(2) {
            self.drop_small();
        }
    }

    fn drop_small(&mut self) {
        self.closed.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (bytes, _) in self.closed.drain(self.keep.min(self.closed.len())..) {
            self.left_out += 1;
            self.left_out_bytes += bytes;
        }
    }

    /// The record of all connections, without files.
    pub(crate) fn finish(mut self) -> Capture {
        while !self.open.is_empty() {
            self.close(self.open.len() - 1);
        }
        self.drop_small();
        let mut connections: Vec<_> = self.closed.into_iter().map(|(_, connection)| connection).collect();
        connections.sort_by_key(|connection| connection.number);
        Capture {
            connections,
            left_out: self.left_out,
            left_out_bytes: self.left_out_bytes,
            start_s: self.start.map(|start| start as f64 / 1e9),
            duration_s: self.end as f64 / 1e9,
            files: Vec::new(),
        }
    }
}

/// Returns the time from `start` to `time`, both by a clock that may be arbitrarily wrong.
pub(crate) fn since(start: i64, time: i64) -> i64 {
    time.saturating_sub(start).clamp(-SPAN, SPAN)
}

fn key(one: Address, other: Address) -> (Address, Address) {
    (one.min(other), one.max(other))
}

/// Reads the captures at `paths` as one, and reports on the `keep` connections in it that have the most data. `progress` hears the share
/// that is read, and says whether to go on.
pub fn trace(paths: &[impl AsRef<Path>], keep: usize, progress: &mut dyn FnMut(f64) -> bool) -> Result<Capture, Error> {
    let mut joined = Joined::open(paths)?;
    let mut table = Table::new(keep);
    each(&mut joined, progress, |packet| {
        table.add(packet);
    })?;
    Ok(Capture { files: joined.inputs.iter().map(report::file).collect(), ..table.finish() })
}

/// Calls `with` on each packet.
pub(crate) fn each(joined: &mut Joined, progress: &mut dyn FnMut(f64) -> bool, mut with: impl FnMut(Packet)) -> Result<(), Error> {
    let mut count = 0_u64;
    while let Some(packet) = joined.next_packet() {
        with(packet);
        count += 1;
        if count.is_multiple_of(LOOK) && !progress(joined.progress()) {
            return Err(Error::Stopped);
        }
    }
    Ok(())
}
