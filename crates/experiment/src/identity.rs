//! The identity of a run: a hash of the experiment that it resolved to, and of what has changed since in what comes of it.

use super::print::{float, quote};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// Part of a run's identity: raised whenever the same experiment gives other numbers than before.
pub const RESULTS_VERSION: u32 = 2;

/// Congestion controls, values of TCP parameters and kinds of traffic whose own numbers have moved since, with how often: part of the identity only of
/// runs that use them.
const MOVED: &[(&str, u32)] = &[("tcp_lp", 1), ("hstcp_lp", 1), ("accecn", 2), ("rfc7661", 1), ("drs", 1), ("sinusoid", 1)];

/// SHA-256, in hexadecimal, of a resolved experiment without its title, of [`RESULTS_VERSION`] and of what has [`MOVED`].
pub fn hash(resolved: &Json) -> String {
    let mut text = format!("longfat results {RESULTS_VERSION}\n");
    let mut file = resolved.as_object().cloned().unwrap_or_default();
    file.retain(|key, _| key != "title");
    canonical(&file.into(), &mut text);
    for (word, times) in MOVED {
        if text.contains(&format!("\"{word}\"")) {
            text += &format!("\n{word} {times}");
        }
    }
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON with sorted keys and no spaces. Our own, so that a run's identity outlives any change in a library's printing.
fn canonical(json: &Json, out: &mut String) {
    match json {
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                quote(key, out);
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                canonical(item, out);
            }
            out.push(']');
        }
        Json::String(text) => quote(text, out),
        Json::Number(n) if n.is_f64() => float(n.as_f64().unwrap_or(0.0), out),
        other => out.push_str(&other.to_string()),
    }
}
