//! Identity of a run: a hash of everything that decides its result.
//!
//! The hash covers the backend, the run as resolved, and [`RESULTS_VERSION`]. Keys at their defaults are left out, so that a key added
//! later does not change the identity of runs that leave it at its default.

use super::print::{float, quote};
use super::shape::{Case, Field, Shape, Variants};
use super::{fields, write};
use longfat_core::params::{ParamSpec, Value};
use longfat_model::{Experiment, Flow, Link};
use longfat_tcp::options::PARAMS;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Raise it by one when the same experiment gives other numbers than before, and add a line to the CHANGELOG. The golden test of the
/// simulator says when.
pub const RESULTS_VERSION: u32 = 1;

/// The hash of a run, as bytes.
pub(crate) type Hash = [u8; 32];

/// SHA-256 of the [`essence`] of a resolved experiment, run by `backend`.
pub(crate) fn hash(backend: &str, essence: &Json) -> Hash {
    digest(backend, essence, &[])
}

/// Returns the hash in hexadecimal, as people see it.
pub(crate) fn hexadecimal(hash: &Hash) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn digest(backend: &str, essence: &Json, parts: &[&str]) -> Hash {
    let mut text = format!("longfat results {RESULTS_VERSION}\nbackend {backend}\n");
    canonical(essence, &mut parts.iter(), &mut text);
    Sha256::digest(text.as_bytes()).into()
}

/// Hashes runs one after the other, as [`hash`] does. Links and flows that are the same as in the run before are not written again: in a sweep
/// that is most of them, and most of the work.
#[derive(Default)]
pub(crate) struct Hasher {
    last: Option<Arc<Experiment>>,
    /// Texts of each link, and of each group of flows.
    texts: (Vec<String>, Vec<String>),
    /// [`essence`] of the last run with null in the place of its flows and links, their texts, and its backend.
    frame: Json,
    parts: [String; 2],
    backend: String,
}

impl Hasher {
    /// The hash of `experiment`, run by `backend`.
    pub(crate) fn hash(&mut self, experiment: &Arc<Experiment>, backend: &str) -> Hash {
        let network = &experiment.network;
        // Links and flows name nodes.
        let last = self.last.replace(experiment.clone()).filter(|last| last.network.nodes == network.nodes && self.backend == backend);
        let (links, groups) = last.as_ref().map_or((&[][..], &[][..]), |last| (&last.network.links[..], &last.flows[..]));
        let link = |ways: &[Link]| text(fields::explicit_link, &write::link(ways, network));
        let group = |flows: &[Flow]| text(fields::flow, &write::group(flows, network, false));
        renew(&mut self.texts.0, write::links(links), write::links(&network.links), link);
        renew(&mut self.texts.1, write::groups(groups), write::groups(&experiment.flows), group);
        self.parts = [list(&self.texts.1), list(&self.texts.0)];
        self.frame = essence(&write::frame(experiment, backend));
        backend.clone_into(&mut self.backend);
        self.digest()
    }

    /// The hash of the last run with another seed.
    pub(crate) fn repeat(&mut self, seed: u64) -> Hash {
        if let Json::Object(frame) = &mut self.frame {
            frame.remove("seed");
            frame.extend(table(fields::root(), &Map::from_iter([("seed".to_owned(), Json::from(seed))])));
        }
        self.digest()
    }

    fn digest(&self) -> Hash {
        digest(&self.backend, &self.frame, &self.parts.each_ref().map(String::as_str))
    }
}

/// Makes `texts`, which stand for the parts that were `before`, those of the parts there are `now`.
fn renew<'a, T: PartialEq + ?Sized + 'a>(
    texts: &mut Vec<String>,
    mut before: impl Iterator<Item = &'a T>,
    now: impl Iterator<Item = &'a T>,
    text: impl Fn(&T) -> String,
) {
    let mut known = std::mem::take(texts).into_iter();
    let renewed = now.map(|part| match (before.next(), known.next()) {
        (Some(same), Some(known)) if same == part => known,
        _ => text(part),
    });
    *texts = renewed.collect();
}

/// The essence of a table of a resolved experiment, as [`canonical`] has it.
fn text(fields: fn() -> &'static [Field], json: &Json) -> String {
    let mut text = String::new();
    canonical(&without_defaults(&Shape::Table(fields), json), &mut [].iter(), &mut text);
    text
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.join(","))
}

/// A resolved experiment without what changes nothing (its title), what stands beside it (the backend), and every key at its default.
pub(crate) fn essence(resolved: &Json) -> Json {
    let mut file = without_defaults(&Shape::Table(fields::root), resolved);
    if let Json::Object(entries) = &mut file {
        entries.retain(|key, _| !["title", "backend"].contains(&key.as_str()));
        // A key opens a server, and decides nothing; nor does what is not controlled.
        if let Some(Json::Object(live)) = entries.get_mut("live") {
            live.remove("uncontrolled");
            let hosts = live.get_mut("host").and_then(Json::as_array_mut).into_iter().flatten();
            hosts.filter_map(Json::as_object_mut).for_each(|host| drop(host.remove("key")));
        }
    }
    file
}

fn without_defaults(shape: &Shape, json: &Json) -> Json {
    match (shape, json) {
        (Shape::Table(fields), Json::Object(entries)) => table(fields(), entries).into(),
        (Shape::List(item), Json::Array(items)) => items.iter().map(|json| without_defaults(item, json)).collect(),
        (Shape::Variants(variants), _) => variant(variants, json),
        _ => json.clone(),
    }
}

fn table(fields: &[Field], entries: &Map<String, Json>) -> Map<String, Json> {
    let mut kept = Map::new();
    for (key, json) in entries {
        let Some(field) = fields.iter().find(|field| field.name == key) else {
            kept.insert(key.clone(), json.clone());
            continue;
        };
        let json = match (field.shape, key.as_str(), json) {
            // Values that differ from the other end or the other direction are always written: the other one is the default here.
            (Shape::Table(fields), "receiver" | "reverse", Json::Object(entries)) => {
                let differing = entries.iter().map(|(key, json)| {
                    let field = fields().iter().find(|field| field.name == key);
                    (key.clone(), field.map_or_else(|| json.clone(), |field| without_defaults(&field.shape, json)))
                });
                differing.collect::<Map<_, _>>().into()
            }
            _ => without_defaults(&field.shape, json),
        };
        if default(field, is_endpoint(fields)).as_ref() != Some(&json) {
            kept.insert(key.clone(), json);
        }
    }
    kept
}

/// A kind whose parameters are all at their defaults is its word alone.
fn variant(variants: &Variants, json: &Json) -> Json {
    let Json::Object(entries) = json else { return json.clone() };
    let tag = entries.get(variants.tag).and_then(Json::as_str).or(variants.default);
    let Some(case) = tag.and_then(|tag| (variants.cases)().iter().find(|case| case.name == tag)) else { return json.clone() };
    let mut kept = entries.clone();
    kept.remove(variants.tag);
    let mut kept = table(&case.fields, &kept);
    // The content identifies a file, not its path.
    if kept.contains_key("sha256") {
        kept.remove("file");
    }
    if kept.is_empty() {
        return case.name.into();
    }
    kept.insert(variants.tag.to_owned(), case.name.into());
    kept.into()
}

/// True if these are the fields of an end of a connection. There the stack has the defaults, for a plain one those of [`PARAMS`].
fn is_endpoint(fields: &[Field]) -> bool {
    fields.iter().any(|field| field.name == "stack")
}

/// Returns the value of `field` in a resolved experiment that does not set it.
fn default(field: &Field, is_endpoint: bool) -> Option<Json> {
    let written = |spec: &ParamSpec| spec.default.map(|value| spec.kind.write(value).unwrap_or_else(|| "auto".into()));
    match field.shape {
        Shape::Scalar(spec) | Shape::Drawn(spec) if spec.default != Some(Value::Auto) => written(&spec),
        Shape::Scalar(_) | Shape::Variants(_) if is_endpoint => PARAMS.iter().find(|spec| spec.name == field.name).and_then(written),
        _ => None,
    }
}

/// The default of every key of an experiment file that has one, by its path. They decide what a run is that says nothing.
pub fn defaults() -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect("", fields::root(), &mut found);
    found
}

fn collect(path: &str, fields: &[Field], found: &mut Vec<(String, String)>) {
    for field in fields {
        let here = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        if let Some(value) = default(field, is_endpoint(fields)) {
            found.push((here.clone(), value.to_string()));
        }
        let mut shape = field.shape;
        while let Shape::List(item) = shape {
            shape = *item;
        }
        match shape {
            // Both ends, and both directions, have the same defaults.
            Shape::Table(fields) if !["receiver", "reverse"].contains(&field.name) => collect(&here, fields(), found),
            Shape::Variants(variants) => {
                for Case { name, fields, .. } in (variants.cases)() {
                    collect(&format!("{here}({name})"), fields, found);
                }
            }
            _ => {}
        }
    }
}

/// JSON with sorted keys and no spaces. Our own, so that a run's identity outlives any change in a library's printing. Nothing in a run is
/// null: where it stands, the next of `parts` goes, which has been written before.
fn canonical(json: &Json, parts: &mut std::slice::Iter<'_, &str>, out: &mut String) {
    match json {
        Json::Null => out.push_str(parts.next().expect("nothing resolved is null")),
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                quote(key, out);
                out.push(':');
                canonical(value, parts, out);
            }
            out.push('}');
        }
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                canonical(item, parts, out);
            }
            out.push(']');
        }
        Json::String(text) => quote(text, out),
        Json::Number(n) if n.is_f64() => float(n.as_f64().unwrap_or(0.0), out),
        other => out.push_str(&other.to_string()),
    }
}
