//! Data in files: traces of links and sizes of connections. A file is read once for all runs of a process, and known by its content. A format
//! of traces is a file here and a line in [`FORMATS`]; its keys are in `fields/unsteady.rs`.

mod csv;
mod lines;
mod mahimahi;
mod sizes;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::Files;
use longfat_core::link::course::Step;
use longfat_core::params::{Kept, Params};
pub(crate) use longfat_model::{How, Quantity, TraceFile};
use sha2::{Digest, Sha256};
pub(crate) use sizes::FORMAT as OF_SIZES;

/// Content of a trace.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Opportunities in milliseconds, one per line.
    Opportunities(Arc<[u32]>),
    /// Times, each with a value in the unit of its column: bit/s, or picoseconds.
    Steps(Arc<[Step]>),
    /// Sizes, each with the share of connections that have no more.
    Sizes(Kept<Vec<Params>>),
}

/// Format of a trace.
pub(crate) struct Format {
    /// The `kind` of a trace.
    pub name: &'static str,
    /// Makes a trace of the lines of a file.
    parse: fn(&[u8], How) -> Result<Content, String>,
}

/// Every format.
pub(crate) const FORMATS: &[Format] = &[mahimahi::FORMAT, csv::FORMAT, lines::FORMAT];

/// The format called `name`, if there is one.
pub(crate) fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Columns, each with the picoseconds, bit/s or bytes per unit.
const TIMES: Columns = &[("time_s", 1e12), ("time_ms", 1e9)];
const RATES: Columns = &[("rate_bps", 1.0), ("rate_mbps", 1e6)];
const DELAYS: Columns = &[("delay_s", 1e12), ("delay_ms", 1e9)];
const SIZES: Columns = &[("size_bytes", 1.0)];

type Columns = &'static [(&'static str, f64)];

fn columns(of: Quantity) -> Columns {
    match of {
        Quantity::Rate => RATES,
        Quantity::Delay => DELAYS,
        Quantity::Size => SIZES,
    }
}

/// A file as it was when it was read.
struct Known {
    state: u128,
    sha256: String,
    content: Content,
}

static KNOWN: Mutex<BTreeMap<(String, &'static str, How), Known>> = Mutex::new(BTreeMap::new());

/// Returns the content of the trace `path` of `files`, and its SHA-256; or one sentence for the user. It is read anew only if it has
/// changed.
pub(crate) fn read(path: &str, files: &dyn Files, format: &Format, how: How) -> Result<(Content, String), String> {
    let state = files.state(path);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (path.to_owned(), format.name, how);
    if let Some(known) = known.get(&key).filter(|known| Some(known.state) == state) {
        return Ok((known.content.clone(), known.sha256.clone()));
    }
    let bytes = files.trace(path)?;
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let content = parse(&bytes, format, how).map_err(|why| format!("{path}: {why}"))?;
    if let Some(state) = state {
        known.insert(key, Known { state, sha256: sha256.clone(), content: content.clone() });
    }
    Ok((content, sha256))
}

/// Lines that say something, by their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Result<String, String>)> {
    let numbered = bytes.lines().enumerate();
    let text = |(i, line): (usize, Result<String, std::io::Error>)| (i + 1, line.map_err(|_| format!("line {} is no text", i + 1)));
    numbered.map(text).filter(|(_, line)| !line.as_ref().is_ok_and(|line| line.trim().is_empty()))
}

fn parse(bytes: &[u8], format: &Format, how: How) -> Result<Content, String> {
    elsewhere(bytes)?;
    let content = (format.parse)(bytes, how)?;
    match &content {
        Content::Opportunities(of) if of.is_empty() => Err("it is empty".to_owned()),
        Content::Steps(of) if of.is_empty() => Err("it has no value".to_owned()),
        Content::Sizes(of) if of.is_empty() => Err("it has no size".to_owned()),
        _ => Ok(content),
    }
}

/// Refuses a file of another tool that no format here reads as it is.
fn elsewhere(bytes: &[u8]) -> Result<(), String> {
    const COMMANDS: &str = "docs/from-other-tools.md has the command that makes a trace of it";
    match bytes.trim_ascii_start() {
        [b'{', ..] => Err(format!("it is JSON, as iperf3 and flent write it: {COMMANDS}")),
        [0x1f, 0x8b, ..] => Err(format!("it is compressed (gzip), as flent writes it: {COMMANDS}")),
        _ => Ok(()),
    }
}

/// Parses a value that is not negative, and multiplies it by `unit`.
fn value(text: &str, unit: f64) -> Option<u64> {
    let number: f64 = text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0)?;
    Some((number * unit + 0.5) as u64)
}
