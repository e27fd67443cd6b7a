//! Rows that are recorded as time goes by, which may be more than memory holds.
//!
//! The last ones are in memory. The others are in a temporary file, column by column and compressed: samples that hardly change take a
//! few per cent of their size. The file has no name, so that nothing is left of it, however the process ends.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::columns::{self, Column};
use super::{FlowSample, LinkSample};

/// Cells, of 8 bytes each, that are kept in memory, about: 8 MB.
const CELLS: usize = 1 << 20;
/// Of zstd. A higher one takes longer, and saves little.
const LEVEL: i32 = 1;

/// A row of a series.
pub trait Sample: Clone + Default + 'static {
    /// Its columns. Those that are stored say all that is in it.
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

/// A table of what was recorded, some rows at a time.
pub trait Recorded<R: Clone + 'static> {
    /// How many rows there are.
    fn rows(&self) -> usize;
    /// How many pieces.
    fn pieces(&self) -> usize;
    /// The rows of piece `i`.
    fn piece(&self, i: usize) -> Cow<'_, [R]>;
    /// All cells of a column, a piece at a time.
    fn each_cell(&self, column: &Column<R>, each: &mut dyn FnMut(&[u64])) {
        for i in 0..self.pieces() {
            each(&self.piece(i).iter().map(|row| column.get(row)).collect::<Vec<u64>>());
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
    /// So many rows in memory make room for the next.
    at_once: usize,
    /// In memory: the last rows; some, where there are any.
    last: Vec<R>,
    /// In the file: those before them.
    stretches: Vec<Stretch>,
    file: Option<Arc<Spill>>,
}

/// Rows in the file.
#[derive(Clone, Debug)]
struct Stretch {
    rows: usize,
    /// Where in the file each stored column begins, and where the last ends.
    places: Vec<u64>,
}

/// A temporary file. Copies of a series append to the same one, each at places of its own.
struct Spill {
    file: File,
    end: AtomicU64,
}

impl<R: Sample> Series<R> {
    /// Without rows. Once there are `at_once` in memory, they make room for the next.
    ///
    /// # Panics
    /// If that is none.
    pub fn with_rows_in_memory(at_once: usize) -> Self {
        assert!(at_once > 0, "some rows are in memory");
        Series { at_once, last: Vec::new(), stretches: Vec::new(), file: None }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Where the temporary file cannot be made, or has no room left: then the series has the rows that it had.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = R>) -> io::Result<()> {
        let mut rows = rows.into_iter().peekable();
        if self.last.len() >= self.at_once && rows.peek().is_some() {
            self.put_away()?;
        }
        self.last.extend(rows);
        Ok(())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.rows).sum::<usize>() + self.last.len()
    }
    /// Whether there are none.
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
    /// Where the temporary file can no longer be read; so do all that read rows.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = Cow<'_, [R]>> {
        (0..self.pieces()).map(|i| self.piece(i))
    }

    /// Each row.
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
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::new(Spill { file: tempfile::tempfile()?, end: AtomicU64::new(0) }),
        };
        let (mut packed, mut sizes) = (Vec::new(), Vec::new());
        for column in stored::<R>() {
            let cells: Vec<u8> = self.last.iter().flat_map(|row| column.get(row).to_le_bytes()).collect();
            packed.append(&mut zstd::bulk::compress(&cells, LEVEL)?);
            sizes.push(packed.len() as u64);
        }
        let start = file.end.fetch_add(packed.len() as u64, Ordering::Relaxed);
        file.file.write_all_at(&packed, start)?;
        let places = std::iter::once(start).chain(sizes.into_iter().map(|size| start + size)).collect();
        self.stretches.push(Stretch { rows: self.last.len(), places });
        self.last.clear();
        self.file = Some(file);
        Ok(())
    }

    /// The cells of the stored column `number` of a stretch.
    fn cells(&self, stretch: &Stretch, number: usize) -> Vec<u64> {
        let (start, end) = (stretch.places[number], stretch.places[number + 1]);
        let mut packed = vec![0; (end - start) as usize];
        let spill = self.file.as_ref().expect("there is a file where there are stretches");
        let read = spill.file.read_exact_at(&mut packed, start).and_then(|()| zstd::bulk::decompress(&packed, 8 * stretch.rows));
        let bytes = read.unwrap_or_else(|e| panic!("what a run recorded cannot be read back from its temporary file: {e}"));
        bytes.chunks_exact(8).map(|cell| u64::from_le_bytes(cell.try_into().expect("8 bytes"))).collect()
    }
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
            rows.iter_mut().zip(self.cells(stretch, number)).for_each(|(row, cell)| column.set(row, cell));
        }
        Cow::Owned(rows)
    }
    fn each_cell(&self, column: &Column<R>, each: &mut dyn FnMut(&[u64])) {
        let number = stored::<R>().position(|one| one.name == column.name).expect("it is a stored column of these rows");
        self.stretches.iter().for_each(|stretch| each(&self.cells(stretch, number)));
        each(&self.last.iter().map(|row| column.get(row)).collect::<Vec<u64>>());
    }
}

impl<R: Sample> Default for Series<R> {
    fn default() -> Self {
        Self::with_rows_in_memory((CELLS / R::columns().len()).max(1))
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
mod tests {
    use super::*;
    use longfat_core::time::Time;
    use proptest::prelude::*;

    fn row(i: u64) -> FlowSample {
        let time = Time::from_ps(i / 3);
        FlowSample { time, flow: (i % 3) as u32, cwnd: i * 1448, ssthresh: u64::MAX - i, srtt_s: 0.1 + i as f64, ..FlowSample::default() }
    }

    proptest! {
        /// However few rows are in memory, a series has the rows that were added, whichever way they are read.
        #[test]
        fn rows_read_back(added in prop::collection::vec(0..40_usize, 0..20), at_once in 1..50_usize, group in 1..60_usize) {
            let mut series = Series::with_rows_in_memory(at_once);
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
        let mut one = Series::with_rows_in_memory(10);
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

    #[test]
    fn samples_that_hardly_change_take_little() {
        let mut series = Series::default();
        for i in 0..200_000 {
            series.extend([FlowSample { time: Time::from_ps(i), cwnd: i / 100, ..FlowSample::default() }]).unwrap();
        }
        let taken = series.file.as_ref().unwrap().end.load(Ordering::Relaxed);
        assert!(series.stretches.len() == 2 && taken < 200_000 * 8, "{taken}");
    }
}
