//! Temporary file for the cells of series.

use std::env;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use longfat_record::trace::Spill;

/// Level of zstd. A higher one takes longer, and saves little.
const LEVEL: i32 = 1;

/// Temporary file, compressed: samples that hardly change take a few per cent of their size. It is made when the first cells come, and has no
/// name, so that nothing is left of it, however the process ends.
#[derive(Debug, Default)]
pub struct TemporaryFile(Mutex<Option<Written>>);

#[derive(Debug)]
struct Written {
    file: File,
    end: u64,
}

impl Spill for TemporaryFile {
    fn put(&self, cells: &[u64]) -> io::Result<Range<u64>> {
        let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let packed = zstd::bulk::compress(&bytes, LEVEL)?;
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match &mut *place {
            Some(written) => written,
            None => place.insert(Written { file: tempfile::tempfile().map_err(no_room)?, end: 0 }),
        };
        let start = written.end;
        written.file.write_all_at(&packed, start).map_err(no_room)?;
        written.end += packed.len() as u64;
        Ok(start..written.end)
    }

    fn get(&self, place: &Range<u64>, count: usize) -> io::Result<Vec<u64>> {
        let mut packed = vec![0; (place.end - place.start) as usize];
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = &written.as_ref().expect("something was put").file;
        file.read_exact_at(&mut packed, place.start)?;
        let bytes = zstd::bulk::decompress(&packed, 8 * count)?;
        Ok(bytes.as_chunks().0.iter().map(|cell| u64::from_le_bytes(*cell)).collect())
    }
}

fn no_room(why: io::Error) -> io::Error {
    let folder = env::temp_dir();
    io::Error::new(why.kind(), format!("the temporary file in {}: {why}; TMPDIR names another folder", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::time::Time;
    use longfat_record::trace::{FlowSample, Series};
    use std::sync::Arc;

    #[test]
    fn samples_that_hardly_change_take_little() {
        let file = Arc::new(TemporaryFile::default());
        let row = |i| FlowSample { time: Time::from_ps(i), cwnd: i / 100, ..FlowSample::default() };
        let mut one = Series::with_spill(Some(file.clone()));
        (0..200_000).for_each(|i| one.extend([row(i)]).unwrap());
        let mut other = one.clone();
        (200_000..300_000).for_each(|i| one.extend([row(i)]).unwrap());
        (200_000..300_000).for_each(|i| other.extend([row(2 * i)]).unwrap());
        let taken = file.0.lock().unwrap().as_ref().unwrap().end;
        assert!((1..400_000 * 8).contains(&taken), "{taken}");
        assert!(one.iter().eq((0..300_000).map(row)));
        assert!(other.iter().eq((0..300_000).map(|i| row(if i < 200_000 { i } else { 2 * i }))));
    }
}
