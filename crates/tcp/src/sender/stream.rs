//! The stream: what the application has written, where its writes end, and whether it has closed.

use std::collections::VecDeque;

/// Offsets count from the SYN, so that the first byte has offset 1.
#[derive(Debug)]
pub(crate) struct Stream {
    /// One past the last byte written.
    end: u64,
    /// Ends of the writes that are not wholly acknowledged. Equal writes that follow each other are one run: an application that writes
    /// faster than TCP sends has any number of them.
    writes: VecDeque<Writes>,
    closed: bool,
    nagle: bool,
    /// Partial segments wait, whatever Nagle says (tcp(7), TCP_CORK; without its ceiling of 200 ms).
    cork: bool,
}

/// Writes of one size, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Writes {
    /// Ends of the first and of the last write.
    first: u64,
    last: u64,
    size: u64,
}

/// Piece that could be sent next, as far as stream, buffer and the peer's window go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub payload: u64,
    pub fin: bool,
    /// True if it is all that the send buffer holds.
    pub is_all: bool,
    /// True if it ends what has been written.
    pub is_last: bool,
}

impl Piece {
    /// Octets of the sequence space.
    pub(crate) fn len(self) -> u64 {
        self.payload + u64::from(self.fin)
    }
}

impl Stream {
    pub(crate) fn new(nagle: bool) -> Self {
        Stream { end: 1, writes: VecDeque::new(), closed: false, nagle, cork: false }
    }

    /// The application writes; everything below `una` is acknowledged. Saturates.
    pub(crate) fn write(&mut self, bytes: u64, una: u64) {
        let (before, end) = (self.end, self.end.saturating_add(bytes).min(u64::MAX / 2));
        self.end = end;
        while self.writes.front().is_some_and(|run| run.last <= una) {
            self.writes.pop_front();
        }
        match self.writes.back_mut() {
            _ if end == before => {}
            Some(run) if run.last == before && run.size == end - before => run.last = end,
            _ => self.writes.push_back(Writes { first: end, last: end, size: end - before }),
        }
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Forgets what was written and not yet sent (from `max` on). The FIN follows what was sent.
    pub(crate) fn stop(&mut self, max: u64) {
        if !self.closed {
            self.end = self.end.min(max.max(1));
            self.closed = true;
        }
    }

    pub(crate) fn set_nagle(&mut self, on: bool) {
        self.nagle = on;
    }

    pub(crate) fn set_cork(&mut self, on: bool) {
        self.cork = on;
    }

    /// Returns one past the last octet of the sequence space: data, and the FIN once closed.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.end + u64::from(self.closed)
    }

    /// Bytes written from `offset` on.
    #[inline]
    pub(crate) fn beyond(&self, offset: u64) -> u64 {
        self.end.saturating_sub(offset.max(1))
    }

    /// Returns true if the FIN lies below `offset`.
    #[inline]
    pub(crate) fn fin_is_below(&self, offset: u64) -> bool {
        self.closed && offset > self.end
    }

    /// Returns true if `offset` is beyond the last byte written.
    #[inline]
    pub(crate) fn is_past(&self, offset: u64) -> bool {
        offset > self.end
    }

    /// Returns how many of the octets `start..end` are data.
    #[inline]
    pub(crate) fn payload(&self, start: u64, end: u64) -> u64 {
        end.min(self.end.max(start)) - start
    }

    /// Returns true if a write ends at `offset`: RFC 9293 §3.9.1.2 has an interface without a PUSH of its own set the flag there.
    #[inline]
    pub(crate) fn write_ends_at(&self, offset: u64) -> bool {
        let run = self.writes.partition_point(|run| run.last < offset);
        self.writes.get(run).is_some_and(|run| run.first <= offset && (offset - run.first).is_multiple_of(run.size))
    }

    /// Returns an offset before which no write ends that ends at `offset` or after it.
    #[inline]
    pub(crate) fn no_write_ends_before(&self, offset: u64) -> u64 {
        self.writes.front().map_or(u64::MAX, |run| if run.last < offset { offset } else { run.first })
    }

    /// Returns the piece that could go from `start` on: at most `most` bytes, of what the buffer holds up to `buffered`, below the right
    /// `edge` of the peer's window. The FIN takes a place in the window like any octet.
    #[inline]
    pub(crate) fn next(&self, start: u64, most: u64, buffered: u64, edge: u64) -> Piece {
        let left = self.end.saturating_sub(start);
        let held = left.min(buffered.saturating_sub(start));
        let payload = held.min(most).min(edge.saturating_sub(start));
        let fin = self.closed && start + payload == self.end && start + payload < edge;
        Piece { payload, fin, is_all: payload == held, is_last: payload == left }
    }

    /// Returns the offset up to which segments end before what was written does.
    #[inline]
    pub(crate) fn plain_until(&self) -> u64 {
        self.end - u64::from(self.closed)
    }

    /// Returns true if a segment shorter than it could be may go: Nagle (RFC 9293 §3.7.4) and the cork allow it. `idle`: nothing is
    /// outstanding.
    #[inline]
    pub(crate) fn permits_partial(&self, piece: Piece, idle: bool) -> bool {
        piece.is_all && ((!self.nagle || idle) && !self.cork || (self.closed && piece.is_last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_with_segment_buffer_window_or_stream() {
        let mut stream = Stream::new(true);
        stream.write(1000, 1);
        let payload = |piece: Piece| (piece.payload, piece.fin, piece.is_all);
        assert_eq!(payload(stream.next(1, 400, u64::MAX, u64::MAX)), (400, false, false));
        assert_eq!(payload(stream.next(1, 400, 301, u64::MAX)), (300, false, true));
        assert_eq!(payload(stream.next(1, 400, u64::MAX, 101)), (100, false, false));
        assert_eq!(payload(stream.next(801, 400, u64::MAX, u64::MAX)), (200, false, true));
        stream.close();
        assert_eq!(payload(stream.next(801, 400, u64::MAX, u64::MAX)), (200, true, true));
        // No room for the FIN.
        assert_eq!(payload(stream.next(801, 400, u64::MAX, 1001)), (200, false, true));
        assert_eq!((stream.end(), stream.payload(801, 1002), stream.payload(1001, 1002)), (1002, 200, 0));
        assert!(stream.fin_is_below(1002) && !stream.fin_is_below(1001));
    }

    #[test]
    fn partial_segments_wait_for_nagle_and_cork_but_not_at_the_end() {
        let mut stream = Stream::new(true);
        stream.write(100, 1);
        let piece = stream.next(1, 400, u64::MAX, u64::MAX);
        assert!(stream.permits_partial(piece, true) && !stream.permits_partial(piece, false));
        stream.set_nagle(false);
        assert!(stream.permits_partial(piece, false));
        stream.set_cork(true);
        assert!(!stream.permits_partial(piece, true));
        stream.close();
        let last = stream.next(1, 400, u64::MAX, u64::MAX);
        assert!(stream.permits_partial(last, false));
    }

    #[test]
    fn stopping_forgets_what_was_not_sent() {
        let mut stream = Stream::new(true);
        stream.write(u64::MAX, 1);
        stream.write(1, 1);
        stream.stop(501);
        assert_eq!((stream.end(), stream.beyond(1)), (502, 500));
        // Closed once is closed.
        stream.stop(301);
        assert_eq!(stream.end(), 502);
    }

    #[test]
    fn a_push_goes_where_a_write_ends() {
        let mut stream = Stream::new(true);
        stream.write(100, 1);
        stream.write(0, 1);
        stream.write(50, 1);
        assert!(stream.write_ends_at(101) && stream.write_ends_at(151) && !stream.write_ends_at(120));
        // Forgotten once acknowledged.
        stream.write(10, 101);
        assert!(stream.write_ends_at(151) && stream.write_ends_at(161) && stream.writes.len() == 2);
    }

    #[test]
    fn any_number_of_equal_writes_take_no_more_room_than_one() {
        let mut stream = Stream::new(true);
        (0..100_000).for_each(|_| stream.write(100, 1));
        assert_eq!(stream.writes.len(), 1);
        assert!(stream.write_ends_at(101) && stream.write_ends_at(10_000_001));
        assert!(!stream.write_ends_at(150) && !stream.write_ends_at(1) && !stream.write_ends_at(10_000_101));
        // Writes of another size are a run of their own.
        stream.write(50, 5_000_001);
        stream.write(50, 5_000_001);
        assert_eq!(stream.writes.len(), 2);
        assert!(stream.write_ends_at(10_000_051) && stream.write_ends_at(10_000_101) && !stream.write_ends_at(10_000_076));
    }
}
