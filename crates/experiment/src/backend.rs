//! Backends: what runs an experiment. Each says what it cannot do, and an experiment that asks for it is refused with the line that does.

use super::error::Fault;
use super::error::Span;
use super::tree::{Entry, Node, Step, Table, Tree, path_text};
use longfat_core::by_name;
use longfat_tcp::congestion::extensions;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;

mod linux;
mod live;
mod sim;
mod testbed;

/// One backend.
#[derive(Debug)]
pub struct Backend {
    /// Name in `backend` and `--backend`.
    pub name: &'static str,
    /// Summary for listings, in one line.
    pub summary: &'static str,
    /// Page that describes it.
    pub source: &'static str,
    /// True if a run takes as much time as it simulates. It then has the machine to itself.
    pub is_real_time: bool,
    /// Everything that an experiment may ask for and the backend cannot do.
    pub cannot: &'static [&'static [Limit]],
    /// True if it runs policies of `longfat.gym`, beside the controls that its limits leave.
    pub runs_policies: bool,
    /// Tables and keys of a file that the backend neither does nor refuses: they describe what it does not control. A warning names them.
    pub uncontrolled: &'static [&'static str],
}

/// Feature that a backend cannot run.
#[derive(Debug)]
pub struct Limit {
    /// Feature in words, as in "cannot do cell switches".
    pub what: &'static str,
    /// The key of a resolved experiment that shows it, such as `path.link.queue`; arrays are passed through. A key at its default
    /// asks for nothing: what is so by default, every backend can do.
    pub key: &'static str,
    /// Words that the key may have all the same, as an experiment file has them; for a table, the words of its kind. If none, the key must
    /// be at its default.
    pub only: &'static [&'static str],
    /// Key beside it and a word: `only` applies where that key has that word. Elsewhere `key` must be at its default.
    pub with: Option<(&'static str, &'static str)>,
    /// The keys of an experiment file that may ask for it, the most telling first: `path.preset=atm` is that key with that word.
    /// Where none of them is written, the error points at `key` or the nearest table around it.
    pub written: &'static [&'static str],
}

/// Every backend, in the order of listings.
pub const REGISTRY: &[Backend] = &[
    Backend {
        name: "sim",
        summary: "longfat's own TCP, queues and links in virtual time",
        source: "docs/simulator.md",
        is_real_time: false,
        cannot: &[sim::CANNOT],
        runs_policies: true,
        uncontrolled: &[],
    },
    Backend {
        name: "testbed",
        summary: "the Linux kernel's TCP across longfat's own queues and links in real time, on this machine",
        source: "docs/testbed.md",
        is_real_time: true,
        cannot: &[testbed::CANNOT, linux::CANNOT],
        runs_policies: true,
        uncontrolled: &[],
    },
    Backend {
        name: "live",
        summary: "the Linux kernels' TCP between this host and another, over the real path",
        source: "docs/live.md",
        is_real_time: true,
        cannot: &[live::CANNOT, linux::CANNOT],
        runs_policies: false,
        uncontrolled: live::UNCONTROLLED,
    },
];
by_name!(Backend, "backend");

impl Backend {
    /// Returns everything that it cannot do.
    pub fn limits(&self) -> impl Iterator<Item = &'static Limit> {
        self.cannot.iter().copied().flatten()
    }

    /// True if `json` is a policy that it runs, though its `limit` does not name it.
    fn runs(&self, limit: &Limit, json: &Json) -> bool {
        self.runs_policies && limit.key == "flow.congestion_control" && word(json).is_some_and(|name| extensions::policy(name).is_some())
    }

    /// True if it runs between real hosts, over a path that nobody controls.
    pub fn is_live(&self) -> bool {
        !self.uncontrolled.is_empty()
    }
}

/// Backend of a file that names none.
pub const DEFAULT: &str = REGISTRY[0].name;

/// The backend that a file without sweeps asks for.
pub(super) fn of(root: &Node) -> &'static Backend {
    named(root.as_table().and_then(|file| file.get("backend")).and_then(Node::as_text).unwrap_or(DEFAULT))
}

/// Refuses the run with the essence (`identity.rs`) `run`, made from the file `root`, where it asks for what `backend` cannot do.
pub(super) fn check(backend: &Backend, run: &Json, root: &Node) -> Result<(), Fault> {
    for limit in backend.limits() {
        let keys: Vec<&str> = limit.key.split('.').collect();
        let Some(asked) = first(run, &keys, &|table, json| !limit.allows(table, json) && !backend.runs(limit, json)) else { continue };
        let (span, path) = written(limit, word(asked), root);
        let fault = Fault::new(span, path, format!("the backend `{}` cannot do {}", backend.name, limit.what));
        let fault = if let Some(word) = word(asked) { fault.found(format!("\"{word}\"")) } else { fault };
        let with = limit.with.map_or_else(String::new, |(key, word)| format!(" with {key} = \"{word}\""));
        let only: Vec<String> = limit.only.iter().map(|word| format!("\"{word}\"{with}")).collect();
        let skip = format!("to leave such runs out of a sweep, name them in a `[[skip]]` with `backend = \"{}\"`", backend.name);
        return Err(if only.is_empty() {
            fault.help(format!("leave it out, or choose another backend: {}; {skip}", NAMES.join(", ")))
        } else {
            fault.expected(only.join(" or ")).help(skip)
        });
    }
    Ok(())
}

impl Limit {
    /// True if `json`, an entry of `table`, is one of the words that the key may have.
    fn allows(&self, table: &Map<String, Json>, json: &Json) -> bool {
        let is = |json: &Json, words: &[&str]| said(json).is_some_and(|said| words.contains(&&*said));
        let holds = |(key, word)| table.get(key).is_some_and(|beside| is(beside, &[word]));
        is(json, self.only) && self.with.is_none_or(holds)
    }
}

/// The word that a value is, or that says which kind of table it is.
fn word(json: &Json) -> Option<&str> {
    json.as_str().or_else(|| ["kind", "preset"].into_iter().find_map(|tag| json.get(tag)?.as_str()))
}

/// The word, or what stands for it: `true`, `10`.
fn said(json: &Json) -> Option<Cow<'_, str>> {
    match json {
        Json::Bool(_) | Json::Number(_) => Some(json.to_string().into()),
        _ => word(json).map(Cow::from),
    }
}

/// The first value at `keys` that is as asked, by the table it is in and itself.
fn first<'a>(json: &'a Json, keys: &[&str], is_asked: &dyn Fn(&Map<String, Json>, &Json) -> bool) -> Option<&'a Json> {
    match (json, keys) {
        (Json::Array(items), [_, ..]) => items.iter().find_map(|item| first(item, keys, is_asked)),
        (Json::Object(entries), [key]) => entries.get(*key).filter(|json| is_asked(entries, json)),
        (Json::Object(entries), [key, rest @ ..]) => first(entries.get(*key)?, rest, is_asked),
        _ => None,
    }
}

/// Returns the place where the file asks for what `limit` forbids, and its path.
fn written(limit: &Limit, asked: Option<&str>, root: &Node) -> (Span, String) {
    let mut keys: Vec<&str> = limit.key.split('.').collect();
    for pattern in limit.written {
        let (path, word) = pattern.split_once('=').map_or((*pattern, None), |(path, word)| (path, Some(word)));
        let steps: Vec<&str> = path.split('.').collect();
        if let Some(found) = look(root, &steps, word, &mut Vec::new()) {
            return found;
        }
    }
    // A preset has its keys elsewhere than the explicit path that it becomes: the queue of its bottleneck, say.
    if let Some(found) = below(root, keys[0], keys[keys.len() - 1], asked) {
        return found;
    }
    while !keys.is_empty() {
        if let Some(found) = look(root, &keys, None, &mut Vec::new()) {
            return found;
        }
        keys.pop();
    }
    (root.span, String::new())
}

/// The first place at `keys`; with `word`, that has it.
fn look(node: &Node, keys: &[&str], word: Option<&str>, path: &mut Vec<Step>) -> Option<(Span, String)> {
    match (&node.value, keys) {
        (Tree::Array(items), [_, ..]) => items.iter().enumerate().find_map(|(i, item)| {
            path.push(Step::Index(i));
            let found = look(item, keys, word, path);
            path.pop();
            found
        }),
        (Tree::Table(Table(entries)), [key, rest @ ..]) => entries.iter().filter(|entry| entry.key == *key).find_map(|entry| {
            path.push(Step::Key(entry.key.clone()));
            let found = if rest.is_empty() { at(entry, word, path) } else { look(&entry.node, rest, word, path) };
            path.pop();
            found
        }),
        _ => None,
    }
}

/// The first entry called `key`, at any depth in the table `top` of the file; with `word`, that has it.
fn below(root: &Node, top: &str, key: &str, word: Option<&str>) -> Option<(Span, String)> {
    fn walk(node: &Node, key: &str, word: Option<&str>, path: &mut Vec<Step>) -> Option<(Span, String)> {
        let (steps, nodes): (Vec<Step>, Vec<&Node>) = match &node.value {
            Tree::Array(items) => (0..items.len()).map(Step::Index).zip(items).unzip(),
            Tree::Table(Table(entries)) => {
                for entry in entries.iter().filter(|entry| entry.key == key) {
                    path.push(Step::Key(entry.key.clone()));
                    let found = at(entry, word, path);
                    path.pop();
                    if found.is_some() {
                        return found;
                    }
                }
                entries.iter().map(|entry| (Step::Key(entry.key.clone()), &entry.node)).unzip()
            }
            _ => return None,
        };
        steps.into_iter().zip(nodes).find_map(|(step, node)| {
            path.push(step);
            let found = walk(node, key, word, path);
            path.pop();
            found
        })
    }
    let table = root.as_table()?;
    let entry = table.entry(top)?;
    let mut path = vec![Step::Key(top.to_owned())];
    if top == key { at(entry, word, &path) } else { walk(&entry.node, key, word, &mut path) }
}

fn at(entry: &Entry, word: Option<&str>, path: &[Step]) -> Option<(Span, String)> {
    let own = |node: &Node| {
        let table = node.as_table()?;
        let tag = ["kind", "preset"].into_iter().find_map(|tag| table.get(tag))?;
        tag.as_text().map(|text| (text.to_owned(), tag.span))
    };
    let said = entry.node.as_text().map(|text| (text.to_owned(), entry.node.span)).or_else(|| own(&entry.node));
    match (word, said) {
        (None, _) => Some((entry.key_span, path_text(path))),
        (Some(word), Some((said, span))) if said == word => Some((span, path_text(path))),
        _ => None,
    }
}
