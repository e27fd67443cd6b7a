//! Fingerprint of a trace: a hash of what a run recorded. Equal fingerprints mean equal results, bit for bit.

use crate::identity;
use longfat_record::trace::Trace;
use longfat_record::trace::columns::{self, Column};
use sha2::{Digest, Sha256};

/// Hashes the columns of `trace` that are named in `hashed` (`flows.bytes_sent`), and those not named that count something new, so that a
/// new column leaves other runs as they are. 16 hexadecimal digits.
///
/// # Errors
/// The first name in `hashed` that is no column.
pub fn fingerprint(trace: &Trace, hashed: &[String]) -> Result<String, String> {
    let mut hasher = Sha256::new();
    let mut seen = Vec::new();
    let mut add = |name: String, was_zero: bool, cells: &[u64]| {
        let is_always = hashed.contains(&name);
        if is_always || was_zero && cells.iter().any(|&cell| cell != 0) {
            hasher.update(name.as_bytes());
            cells.iter().for_each(|cell| hasher.update(cell.to_le_bytes()));
        }
        seen.push(name);
    };
    table("run", columns::run(), std::slice::from_ref(trace), &mut add);
    table("flows", columns::flows(), &trace.flows, &mut add);
    table("links", columns::links(), &trace.links, &mut add);
    table("hosts", columns::hosts(), &trace.hosts, &mut add);
    table("flow_series", columns::flow_series(), &trace.flow_series.iter().collect::<Vec<_>>(), &mut add);
    table("link_series", columns::link_series(), &trace.link_series.iter().collect::<Vec<_>>(), &mut add);
    table("events", columns::events(), &trace.events, &mut add);
    match hashed.iter().find(|name| !seen.contains(*name)) {
        Some(unknown) => Err(unknown.clone()),
        None => Ok(identity::hexadecimal(&hasher.finalize().into())[..16].to_owned()),
    }
}

fn table<R: Clone + 'static>(name: &str, columns: &[Column<R>], rows: &[R], add: &mut dyn FnMut(String, bool, &[u64])) {
    for column in columns {
        let cells: Vec<u64> = rows.iter().map(|row| column.get(row)).collect();
        add(format!("{name}.{}", column.name), column.was_zero && column.is_stored(), &cells);
    }
}
