//! Rows that are recorded as time goes by, which may be more than memory holds.
//!
//! The last rows are in memory. The caller's [`Spill`], where there is one, has the others, column by column.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::columns::{self, Column};
use super::{FlowSample, LinkSample};

/// Cells, of 8 bytes each, that are kept in memory, about: 8 MB.
const CELLS: usize = 1 << 20;

/// A store outside memory for cells of series. Several series, and their copies, may have one in common.
pub trait Spill: Send + Sync {
    /// Keeps `cells`; the place from which [`Spill::get`] gives them back.
    ///
    /// # Errors
    /// An error if there is no room.
    fn put(&self, cells: &[u64]) -> io::Result<Range<u64>>;

    /// The cells at `place`, of which there are `count`.
    ///
    /// # Errors
    /// An error if the store cannot be read.
    fn get(&self, place: &Range<u64>, count: usize) -> io::Result<Vec<u64>>;
}

/// A row of a series.
pub trait Sample: Clone + Default + 'static {
    /// Returns its columns. Those that are stored hold everything in it.
    fn columns() -> &'static [Column<Self>];
}

impl Sample for FlowSample {
    fn columns() -> &'static [Column<Self>] {
        columns::flow_series()
    }
}

impl Sample for LinkSample {
    fn columns() -> &'static [Column<Self>] {
        columns::link_series()
    }
}

/// Table of records, some rows at a time.
pub trait Recorded<R: Clone + 'static> {
    /// Returns the number of rows.
    fn rows(&self) -> usize;
    /// Returns the number of pieces.
    fn pieces(&self) -> usize;
    /// The rows of piece `i`.
    fn piece(&self, i: usize) -> Cow<'_, [R]>;
    /// Passes all cells of a column, one piece at a time.
    fn each_cell(&self, column: &Column<R>, each: &mut dyn FnMut(&[u64])) {
        for i in 0..self.pieces() {
            each(&cells(&self.piece(i), column));
        }
    }
}

/// Rows of a slice in a piece.
const SLICE: usize = 1 << 16;

impl<R: Clone + 'static> Recorded<R> for [R] {
    fn rows(&self) -> usize {
        self.len()
    }
    fn pieces(&self) -> usize {
        self.len().div_ceil(SLICE)
    }
    fn piece(&self, i: usize) -> Cow<'_, [R]> {
        Cow::Borrowed(&self[i * SLICE..self.len().min((i + 1) * SLICE)])
    }
}

/// Rows in the order in which they were recorded.
#[derive(Clone)]
pub struct Series<R> {
    /// Rows in memory: the last ones. There are some, where the series has any.
    last: Vec<R>,
    /// Rows before them.
    stretches: Vec<Stretch>,
    /// Rows in memory at which the oldest make room for the next.
    at_once: usize,
    spill: Option<Arc<dyn Spill>>,
}

/// Rows in the spill.
#[derive(Clone, Debug)]
struct Stretch {
    rows: usize,
    /// Place of each stored column.
    columns: Vec<Range<u64>>,
}

impl<R: Sample> Series<R> {
    /// Returns a series without rows. About 8 MB of rows stay in memory, the others go to `spill`; without a `spill`, all stay in memory.
    pub fn with_spill(spill: Option<Arc<dyn Spill>>) -> Self {
        Series { last: Vec::new(), stretches: Vec::new(), at_once: (CELLS / R::columns().len()).max(1), spill }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// An error if the spill has no room left. The series then has the rows that it had.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = R>) -> io::Result<()> {
        let mut rows = rows.into_iter().peekable();
        if self.last.len() >= self.at_once && rows.peek().is_some() {
            self.put_away()?;
        }
        self.last.extend(rows);
        Ok(())
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.rows).sum::<usize>() + self.last.len()
    }
    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }
    /// The last row.
    pub fn last(&self) -> Option<&R> {
        self.last.last()
    }

    /// The rows, some at a time.
    ///
    /// # Panics
    /// The spill can no longer be read. All functions that read rows then panic.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = Cow<'_, [R]>> {
        (0..self.pieces()).map(|i| self.piece(i))
    }

    /// Returns each row.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = R> {
        self.chunks().flat_map(Cow::into_owned)
    }

    /// `each` hears the rows, `n` at a time; at the end those that are left, where they are fewer.
    pub fn each_group(&self, n: usize, each: &mut dyn FnMut(&[R])) {
        let mut begun: Vec<R> = Vec::new();
        for chunk in self.chunks() {
            let (rest, chunk) = chunk.split_at(if begun.is_empty() { 0 } else { chunk.len().min(n - begun.len()) });
            begun.extend_from_slice(rest);
            if begun.len() == n {
                each(&begun);
                begun.clear();
            }
            let groups = chunk.chunks_exact(n);
            begun.extend_from_slice(groups.remainder());
            groups.for_each(&mut *each);
        }
        if !begun.is_empty() {
            each(&begun);
        }
    }

    fn put_away(&mut self) -> io::Result<()> {
        let Some(spill) = &self.spill else { return Ok(()) };
        let put = |column: &Column<R>| spill.put(&cells(&self.last, column));
        let columns = stored::<R>().map(put).collect::<io::Result<_>>()?;
        self.stretches.push(Stretch { rows: self.last.len(), columns });
        self.last.clear();
        Ok(())
    }

    /// The cells of the stored column `number` of a stretch.
    fn spilled(&self, stretch: &Stretch, number: usize) -> Vec<u64> {
        let spill = self.spill.as_ref().expect("there is a spill where there are stretches");
        let cells = spill.get(&stretch.columns[number], stretch.rows);
        cells.unwrap_or_else(|e| panic!("rows of a series cannot be read back: {e}"))
    }
}

fn cells<R: Clone + 'static>(rows: &[R], column: &Column<R>) -> Vec<u64> {
    rows.iter().map(|row| column.get(row)).collect()
}

fn stored<R: Sample>() -> impl Iterator<Item = &'static Column<R>> {
    R::columns().iter().filter(|column| column.is_stored())
}

impl<R: Sample> Recorded<R> for Series<R> {
    fn rows(&self) -> usize {
        self.len()
    }
    fn pieces(&self) -> usize {
        self.stretches.len() + usize::from(!self.last.is_empty())
    }
    fn piece(&self, i: usize) -> Cow<'_, [R]> {
        let Some(stretch) = self.stretches.get(i) else { return Cow::Borrowed(&self.last) };
        let mut rows = vec![R::default(); stretch.rows];
        for (number, column) in stored::<R>().enumerate() {
            rows.iter_mut().zip(self.spilled(stretch, number)).for_each(|(row, cell)| column.set(row, cell));
        }
        Cow::Owned(rows)
    }
    fn each_cell(&self, column: &Column<R>, each: &mut dyn FnMut(&[u64])) {
        let number = stored::<R>().position(|one| one.name == column.name).expect("it is a stored column of these rows");
        self.stretches.iter().for_each(|stretch| each(&self.spilled(stretch, number)));
        each(&cells(&self.last, column));
    }
}

impl<R: Sample> Default for Series<R> {
    fn default() -> Self {
        Self::with_spill(None)
    }
}

impl<R: Sample> From<Vec<R>> for Series<R> {
    fn from(last: Vec<R>) -> Self {
        Series { last, ..Series::default() }
    }
}

impl<R: Sample + PartialEq> PartialEq for Series<R> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<R: Sample + fmt::Debug> fmt::Debug for Series<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use longfat_core::time::Time;
    use proptest::prelude::*;
    use std::sync::Mutex;

    /// A spill in memory.
    #[derive(Default)]
    struct Heap(Mutex<Vec<u64>>);

    impl Spill for Heap {
        fn put(&self, cells: &[u64]) -> io::Result<Range<u64>> {
            let mut all = self.0.lock().unwrap();
            let start = all.len() as u64;
            all.extend_from_slice(cells);
            Ok(start..all.len() as u64)
        }
        fn get(&self, place: &Range<u64>, count: usize) -> io::Result<Vec<u64>> {
            let cells = self.0.lock().unwrap()[place.start as usize..place.end as usize].to_vec();
            assert_eq!(cells.len(), count);
            Ok(cells)
        }
    }

    /// A series of which few rows are in memory.
    pub(crate) fn with_rows_in_memory<R: Sample>(at_once: usize) -> Series<R> {
        Series { at_once, ..Series::with_spill(Some(Arc::new(Heap::default()))) }
    }

    fn row(i: u64) -> FlowSample {
        let time = Time::from_ps(i / 3);
        FlowSample { time, flow: (i % 3) as u32, cwnd: i * 1448, ssthresh: u64::MAX - i, srtt_s: 0.1 + i as f64, ..FlowSample::default() }
    }

    proptest! {
        /// However few rows are in memory, a series has the rows that were added, whichever way they are read.
        #[test]
        fn rows_read_back(added in prop::collection::vec(0..40_usize, 0..20), at_once in 1..50_usize, group in 1..60_usize) {
            let mut series = with_rows_in_memory(at_once);
            let mut rows: Vec<FlowSample> = Vec::new();
            for n in added {
                let more: Vec<FlowSample> = (rows.len()..rows.len() + n).map(|i| row(i as u64)).collect();
                series.extend(more.clone()).unwrap();
                rows.extend(more);
                prop_assert_eq!(series.last(), rows.last());
                prop_assert_eq!((series.len(), series.is_empty()), (rows.len(), rows.is_empty()));
            }
            prop_assert_eq!(series.iter().collect::<Vec<_>>(), rows.clone());
            prop_assert_eq!(series.iter().rev().collect::<Vec<_>>(), rows.iter().rev().copied().collect::<Vec<_>>());
            let mut groups: Vec<Vec<FlowSample>> = Vec::new();
            series.each_group(group, &mut |some| groups.push(some.to_vec()));
            prop_assert_eq!(groups, rows.chunks(group).map(<[FlowSample]>::to_vec).collect::<Vec<_>>());
            for column in columns::flow_series() {
                let (mut of_series, mut of_rows) = (Vec::new(), Vec::new());
                series.each_cell(column, &mut |cells| of_series.extend_from_slice(cells));
                rows[..].each_cell(column, &mut |cells| of_rows.extend_from_slice(cells));
                prop_assert_eq!(of_series, of_rows);
            }
            prop_assert!(series == Series::from(rows));
        }
    }

    #[test]
    fn copies_go_their_own_ways() {
        let mut one = with_rows_in_memory(10);
        for i in 0..50 {
            one.extend([row(i)]).unwrap();
        }
        let mut other = one.clone();
        for i in 50..100 {
            one.extend([row(i)]).unwrap();
            other.extend([row(i + 1000)]).unwrap();
        }
        assert!(one.iter().eq((0..100).map(row)) && other.iter().eq((0..50).chain(1050..1100).map(row)));
    }

    struct Full;

    impl Spill for Full {
        fn put(&self, _: &[u64]) -> io::Result<Range<u64>> {
            Err(io::Error::other("no room"))
        }
        fn get(&self, _: &Range<u64>, _: usize) -> io::Result<Vec<u64>> {
            unreachable!("nothing is kept")
        }
    }

    #[test]
    fn without_room_a_series_keeps_the_rows_that_it_has() {
        let mut series = Series { at_once: 10, ..Series::with_spill(Some(Arc::new(Full))) };
        series.extend((0..10).map(row)).unwrap();
        assert_eq!(series.extend([row(10)]).unwrap_err().to_string(), "no room");
        assert!(series.iter().eq((0..10).map(row)));
        let mut series = Series { at_once: 10, ..Series::default() };
        for i in 0..30 {
            series.extend([row(i)]).unwrap();
        }
        assert!(series.iter().eq((0..30).map(row)) && series.stretches.is_empty(), "without a spill all are in memory");
    }
}
