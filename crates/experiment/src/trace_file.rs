//! Traces of links in files: read once for all runs of a process, and known by what they hold.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use longfat_core::link::course::Step;
use longfat_core::time::Duration;
use longfat_core::units::text::SIZE;
use sha2::{Digest, Sha256};

/// A longer file is refused: a trace stays in memory. 10^7 lines take a tenth of this.
const LONGEST: u64 = 1 << 30;

/// A file that a trace comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// Where it was.
    pub path: String,
    /// Of what it holds, in hexadecimal.
    pub sha256: String,
    /// Whether it was there to be read. If not, the trace that a link has is empty, and stands for it where nothing is run.
    pub is_there: bool,
}

/// What a trace holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Milliseconds, one in a line: opportunities.
    Opportunities(Arc<[u32]>),
    /// Times, each with a value that is in the unit its column says: bits a second, or picoseconds.
    Steps(Arc<[Step]>),
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Of mm-link(1).
    Mahimahi,
    /// Two columns: a time, and a rate.
    RateCsv,
    /// Two columns: a time, and a delay.
    DelayCsv,
}

/// Columns of a CSV file, with how many ps, or bits a second, one is.
const TIMES: &[(&str, f64)] = &[("time_s", 1e12), ("time_ms", 1e9)];
const RATES: &[(&str, f64)] = &[("rate_bps", 1.0), ("rate_mbps", 1e6)];
const DELAYS: &[(&str, f64)] = &[("delay_s", 1e12), ("delay_ms", 1e9)];

/// A file as it was when it was read.
struct Known {
    len: u64,
    /// When it was written last, in ns.
    modified: Option<u128>,
    sha256: String,
    content: Content,
}

static KNOWN: Mutex<BTreeMap<(String, Format), Known>> = Mutex::new(BTreeMap::new());

/// What the file at `path` holds, and the SHA-256 of it; or one sentence for the user. It is read anew only where it has changed.
pub fn read(path: &str, format: Format) -> Result<(Content, String), String> {
    let cannot = |why: std::io::Error| format!("cannot read {path}: {why}");
    let meta = fs::metadata(path).map_err(cannot)?;
    if meta.len() > LONGEST {
        return Err(format!("{path} has {}, and at most {} are read", SIZE.format(meta.len()), SIZE.format(LONGEST)));
    }
    let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|age| age.as_nanos());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (path.to_owned(), format);
    if let Some(same) = known.get(&key).filter(|known| known.len == meta.len() && known.modified == modified && modified.is_some()) {
        return Ok((same.content.clone(), same.sha256.clone()));
    }
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let content = parse(&bytes, format).map_err(|why| format!("{path}: {why}"))?;
    known.insert(key, Known { len: meta.len(), modified, sha256: sha256.clone(), content: content.clone() });
    Ok((content, sha256))
}

/// Lines that say something, by their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Result<String, String>)> {
    let numbered = BufReader::new(bytes).lines().enumerate();
    let text = |(i, line): (usize, Result<String, std::io::Error>)| (i + 1, line.map_err(|_| format!("line {} is no text", i + 1)));
    numbered.map(text).filter(|(_, line)| !line.as_ref().is_ok_and(|line| line.trim().is_empty()))
}

fn parse(bytes: &[u8], format: Format) -> Result<Content, String> {
    let content = match format {
        Format::Mahimahi => {
            Content::Opportunities(lines(bytes).map(|(number, line)| millisecond(number, &line?)).collect::<Result<_, _>>()?)
        }
        Format::RateCsv => Content::Steps(csv(bytes, RATES)?),
        Format::DelayCsv => Content::Steps(csv(bytes, DELAYS)?),
    };
    match &content {
        Content::Opportunities(of) if of.is_empty() => Err("it is empty".to_owned()),
        Content::Steps(of) if of.is_empty() => Err("it has a header and no line".to_owned()),
        _ => Ok(content),
    }
}

fn millisecond(number: usize, line: &str) -> Result<u32, String> {
    line.trim().parse().map_err(|_| format!("line {number} is `{}`, and not a whole number of milliseconds", super::short(line)))
}

fn csv(bytes: &[u8], values: &[(&str, f64)]) -> Result<Arc<[Step]>, String> {
    let mut lines = lines(bytes);
    let names = |of: &[(&str, f64)]| of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
    let expected = || format!("two columns, {} and {}", names(TIMES), names(values));
    let (_, header) = lines.next().ok_or("it is empty")?;
    let header = header?;
    let mut columns = header.split(',').map(str::trim);
    let mut unit = |of: &[(&str, f64)]| {
        let name = columns.next().unwrap_or("");
        of.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    };
    let (Some(time), Some(value), None) = (unit(TIMES), unit(values), columns.next()) else {
        return Err(format!("its header is `{}`, and must name {}", super::short(&header), expected()));
    };
    let step = |(number, line): (usize, Result<String, String>)| {
        let line = line?;
        let wrong = || format!("line {number} is `{}`, and not two numbers, neither of them negative", super::short(&line));
        let (at, is) = line.split_once(',').ok_or_else(wrong)?;
        let read = |text: &str, unit: f64| {
            let number: f64 = text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0)?;
            Some((number * unit + 0.5) as u64)
        };
        match (read(at, time), read(is, value)) {
            (Some(at), Some(value)) => Ok(Step { at: Duration::from_ps(at), value }),
            _ => Err(wrong()),
        }
    };
    lines.map(step).collect()
}
