//! A document: the text of an experiment, its changes, and the runs it stands for.

use super::adaptive::{Precision, Search};
use super::backend::{self, Backend};
use super::base;
use super::between;
use super::error::{Error, Fault, Span};
use super::files::{Files, NoFiles};
use super::print::print;
use super::resolve::resolve;
use super::sweep::{Axis, Sweep};
use super::tree::{Entry, Node, Step, Table, Tree, control_characters, path_text};
use super::{fields, identity, write};
use longfat_model::Experiment;
use longfat_record::warning::{self, Warning};
use longfat_tcp::congestion::extensions;
use serde_json::Value as Json;
use std::sync::Arc;

/// An experiment as written, valid in every value; single runs are resolved on demand.
#[derive(Clone, Debug)]
pub struct Document {
    /// Texts as (name, content): the bases of the file, the file, and each change since. Spans point into them.
    texts: Vec<(String, String)>,
    /// Files that it names.
    files: Arc<dyn Files>,
    root: Node,
    /// Root with the first value of each sweep in its place.
    without_sweeps: Node,
    sweep: Sweep,
    repeats: u64,
    precision: Option<Precision>,
    search: Option<Search>,
}

/// One run of a document.
#[derive(Clone, Debug)]
pub struct Run {
    /// Number in the document.
    pub index: u64,
    /// Name and value (as text) of each axis.
    pub labels: Vec<(String, String)>,
    /// Number of the repeat, from 0; it is already in the seed.
    pub repeat: u64,
    /// Runs of its combination.
    pub repeats: u64,
    /// Experiment that is run.
    pub experiment: Experiment,
    /// Backend that runs it.
    pub backend: &'static Backend,
    /// The experiment with nothing left open, in the shape of an experiment file; keys sorted.
    pub resolved: Json,
    /// Hash of everything that decides the result, in hexadecimal: equal hashes, equal results.
    pub hash: String,
}

impl Run {
    /// The resolved experiment as a file: reads back as this run.
    pub fn to_toml(&self) -> String {
        write::toml(&self.resolved)
    }
}

/// The run that a results folder holds in its resolved form; its traces are among `files`. Keys that came later are at their defaults.
///
/// # Errors
/// An error if this version of longfat does not know a key or value of it.
pub fn restore(resolved: &Json, files: Arc<dyn Files>) -> Result<Run, Error> {
    // A control that somebody registered, and that does not exist here now, is needed by its name alone.
    for flow in resolved["flow"].as_array().into_iter().flatten() {
        for end in [flow, &flow["receiver"]] {
            if let (Some(name), Some(source)) = (end["congestion_control"]["kind"].as_str(), end["congestion_control"]["source"].as_str()) {
                extensions::add_absent(name, source);
            }
        }
    }
    Document::parse_with(&write::toml(resolved), "experiment.json", files).and_then(|document| document.run(0))
}

impl Document {
    /// Reads an experiment that names no files. `file_name` is for messages only. Every value is checked, and the first run resolved.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Error> {
        Self::parse_with(text, file_name, Arc::new(NoFiles))
    }

    /// Reads an experiment as [`Document::parse`] does, and the files that it names from `files`, by their paths from the folder of
    /// `file_name`.
    pub fn parse_with(text: &str, file_name: &str, files: Arc<dyn Files>) -> Result<Self, Error> {
        let texts = base::texts(text, file_name, &*files)?;
        let mut root: Option<Node> = None;
        for (number, (_, text)) in texts.iter().enumerate() {
            let node = Node::parse_document(text, number).map_err(|fault| fault.locate(&texts))?;
            root = Some(root.map_or(node.clone(), |below| base::merge(below, node)));
        }
        let mut root = root.expect("there is a file");
        base::locate_traces(&mut root, &texts);
        let document = Self::build(texts, files, root)?;
        document.quick()?;
        Ok(document)
    }

    /// Returns the experiment with the changes under its key `quick`; `None` if it has none.
    pub fn quick(&self) -> Result<Option<Self>, Error> {
        let mut root = self.root.clone();
        let Tree::Table(table) = &mut root.value else { return Ok(None) };
        let Some(at) = table.0.iter().position(|entry| entry.key == "quick") else { return Ok(None) };
        let entry = table.0.remove(at);
        for change in entry.node.as_table().map_or(&[][..], |table| &table.0) {
            place(&mut root, &change.key, change.node.clone(), change.key_span).map_err(|fault| fault.locate(&self.texts))?;
        }
        // The changed root is no longer that of the file.
        let mut texts = self.texts.clone();
        texts.push(("quick".to_owned(), String::new()));
        Self::build(texts, self.files.clone(), root).map(Some)
    }

    fn build(texts: Vec<(String, String)>, files: Arc<dyn Files>, root: Node) -> Result<Self, Error> {
        let mut spread = root.clone();
        if let Err(fault) = between::expand(&mut spread) {
            return Err(fault.locate(&texts));
        }
        let mut faults = fields::check(&spread);
        faults.extend(control_characters(&root));
        match Sweep::find(&spread, texts.len() - 1).and_then(|sweep| Self::count(&spread, sweep)) {
            Ok((sweep, repeats)) if faults.is_empty() => {
                let adaptive = Precision::read(&root, repeats).and_then(|precision| Ok((precision, Search::read(&root, &sweep)?)));
                let (precision, search) = adaptive.map_err(|fault| fault.locate(&texts))?;
                // A long list of values would otherwise be copied for each run.
                let without_sweeps = sweep.apply(&spread, &vec![0; sweep.axes.len()]);
                let document = Document { texts, files, root, without_sweeps, sweep, repeats, precision, search };
                document.run(0)?;
                Ok(document)
            }
            outcome => {
                // The sweep's own message about a malformed sweep is the better one.
                if let Err(sweep) = outcome {
                    faults.retain(|fault| !fault.same_place(&sweep));
                    faults.push(sweep);
                }
                Err(Fault::locate_all(faults, &texts).expect("something is wrong"))
            }
        }
    }

    fn count(root: &Node, sweep: Sweep) -> Result<(Sweep, u64), Fault> {
        let whole = Span { end: 0, ..root.span };
        let repeats = match root.as_table().and_then(|t| t.get("repeats")).map(|n| &n.value) {
            Some(Tree::Integer(n)) => u64::try_from(*n).unwrap_or(1).max(1),
            _ => 1,
        };
        match sweep.combinations().checked_mul(repeats) {
            None => Err(Fault::new(whole, "", "the sweep has more than 2^64 runs").help("fewer repeats, or fewer values")),
            Some(0) => Err(Fault::new(whole, "skip", "every run is skipped")),
            Some(_) => Ok((sweep, repeats)),
        }
    }

    /// The axes of the sweep, in the order of the file. Later axes change faster from run to run.
    pub fn axes(&self) -> impl Iterator<Item = &Axis> {
        self.sweep.axes.iter().filter(|axis| !axis.follows)
    }

    /// Runs of each combination.
    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Returns the precision at which a combination needs no more repeats, if the file sets one. There are at most [`Self::repeats`] of
    /// each.
    pub fn precision(&self) -> Option<&Precision> {
        self.precision.as_ref()
    }

    /// Returns the search along an axis, if not all of its values are run.
    pub fn search(&self) -> Option<&Search> {
        self.search.as_ref()
    }

    /// Returns which value of each of [`Self::axes`] the runs `combination * repeats ..` have, of `run_count / repeats` combinations.
    pub fn choice(&self, combination: u64) -> Vec<usize> {
        let choice = self.sweep.choice(combination);
        self.sweep.axes.iter().zip(choice).filter(|(axis, _)| !axis.follows).map(|(_, value)| value).collect()
    }

    /// Returns the number of runs; for an adaptive sweep ([`Self::precision`], [`Self::search`]), the upper bound.
    pub fn run_count(&self) -> u64 {
        self.sweep.combinations() * self.repeats
    }

    /// Run `index` (under [`Self::run_count`]), resolved.
    pub fn run(&self, index: u64) -> Result<Run, Error> {
        self.run_by(index, None)
    }

    /// Resolves run `index` for `backend`, whatever the file says.
    pub(super) fn run_by(&self, index: u64, backend: Option<&'static Backend>) -> Result<Run, Error> {
        let (combination, repeat) = self.place(index);
        let resolved = self.chosen(combination).and_then(|root| {
            let experiment = resolve(&root, repeat, self.files())?;
            let backend = backend.unwrap_or_else(|| backend::of(&root));
            let resolved = write::experiment(&experiment, backend.name);
            let essence = identity::essence(&resolved);
            backend::check(backend, &essence, &root)?;
            Ok((experiment, backend, resolved, identity::hash(backend.name, &essence)))
        });
        let (experiment, backend, resolved, hash) = resolved.map_err(|fault| self.located(fault, combination))?;
        let (labels, hash) = (self.labels(combination), identity::hexadecimal(&hash));
        Ok(Run { index, labels, repeat, repeats: self.repeats, experiment, backend, resolved, hash })
    }

    /// Returns the combination of axis values of run `index`, and the repeat of that combination.
    pub(super) fn place(&self, index: u64) -> (u64, u64) {
        assert!(index < self.run_count(), "run {index} of {}", self.run_count());
        (index / self.repeats, index % self.repeats)
    }

    /// Files that it names.
    pub(super) fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// The file without sweeps that a combination stands for, checked.
    pub(super) fn chosen(&self, combination: u64) -> Result<Node, Fault> {
        let root = self.sweep.apply(&self.without_sweeps, &self.sweep.choice(combination));
        fields::check(&root).into_iter().next().map_or(Ok(root), Err)
    }

    /// Name and value of each axis in the runs of a combination, as [`Self::choice`].
    pub fn labels(&self, combination: u64) -> Vec<(String, String)> {
        let choice = self.sweep.choice(combination);
        let chosen = self.sweep.axes.iter().zip(choice).filter(|(axis, _)| !axis.follows);
        chosen.map(|(axis, value)| (axis.name.clone(), axis.labels[value].clone())).collect()
    }

    /// Turns a fault in a run of this combination into an error for the user.
    pub(super) fn located(&self, fault: Fault, combination: u64) -> Error {
        let values: Vec<String> = self.labels(combination).into_iter().map(|(name, label)| format!("{name} = {label}")).collect();
        let fault = if values.is_empty() { fault } else { fault.in_run(values.join(", ")) };
        fault.locate(&self.texts)
    }

    /// Sets the value at `path` (`flow[0].window`) to `value`: TOML, or a bare word or quantity taken as a string
    /// (`64 KiB`). Tables on the way are made where they are missing. On an error nothing has changed.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let mut texts = self.texts.clone();
        texts.push((format!("set {path}"), value.to_owned()));
        let text = texts.len() - 1;
        let mut root = self.root.clone();
        match change(&mut root, path, value, text) {
            Ok(()) => {
                *self = Self::build(texts, self.files.clone(), root)?;
                Ok(())
            }
            Err(fault) => Err(fault.locate(&texts)),
        }
    }

    /// Returns the experiment as one file: the given text, or the resulting text if it has a `base` or was changed.
    pub fn text(&self) -> String {
        if let [(_, text)] = &self.texts[..] {
            return text.clone();
        }
        let mut file = self.root.clone();
        if let Tree::Table(table) = &mut file.value {
            for entry in &mut table.0 {
                if let ("skip", Tree::Array(rules)) = (entry.key.as_str(), &mut entry.node.value) {
                    *rules = rules.iter().filter_map(|rule| self.sweep.current_rule(rule)).collect();
                }
            }
            table.0.retain(|entry| entry.key != "base" && !matches!(&entry.node.value, Tree::Array(rules) if rules.is_empty()));
        }
        print(&file)
    }

    /// The title, or an empty text.
    pub fn title(&self) -> &str {
        self.text_of("title")
    }

    /// The description, or an empty text.
    pub fn description(&self) -> &str {
        self.text_of("description")
    }

    /// Returns the names under `expect`: warnings that some run is known to give.
    pub fn expected(&self) -> Vec<&str> {
        let names = self.root.as_table().and_then(|table| table.get("expect"));
        match names.map(|node| &node.value) {
            Some(Tree::Array(items)) => items.iter().filter_map(Node::as_text).collect(),
            Some(Tree::Text(name)) => vec![name],
            _ => Vec::new(),
        }
    }

    /// Returns the names of warnings about what the axes vary, which is what the experiment asks.
    pub fn asked(&self) -> Vec<&'static str> {
        let is_asked = |warning: &&Warning| warning.about.iter().any(|key| self.sweep.axes.iter().any(|axis| axis.decides(key)));
        warning::REGISTRY.iter().filter(is_asked).map(|warning| warning.name).collect()
    }

    fn text_of(&self, key: &str) -> &str {
        self.root.as_table().and_then(|t| t.get(key)).and_then(Node::as_text).unwrap_or("")
    }
}

fn change(root: &mut Node, path: &str, value: &str, text: usize) -> Result<(), Fault> {
    let span = Span { text, start: 0, end: value.len() };
    let structured = value.trim_start().starts_with(['[', '{', '"', '\'']);
    let value = match Node::parse_value(value, text) {
        Ok(node) => node,
        Err(fault) if structured => return Err(fault),
        Err(_) => Node { span, value: Tree::Text(value.to_owned()) },
    };
    place(root, path, value, span)
}

/// Puts `value` at `path`; `span` is where that is written.
fn place(root: &mut Node, path: &str, value: Node, span: Span) -> Result<(), Fault> {
    let steps = parse_path(path).ok_or_else(|| {
        Fault::new(span, path, "this is not a path into an experiment").expected("keys joined by dots, such as flow[0].window")
    })?;
    let mut node = root;
    for (i, step) in steps.iter().enumerate() {
        let here = path_text(&steps[..i]);
        // A list of one leaves no doubt: `flow.window` is `flow[0].window`.
        if matches!(step, Step::Key(_)) {
            node = node.only_mut();
        }
        let found = node.found();
        node = match (step, &mut node.value) {
            (Step::Key(key), Tree::Table(table)) => {
                let at = table.0.iter().position(|e| e.key == *key).unwrap_or_else(|| {
                    table.0.push(Entry { key: key.clone(), key_span: span, node: Node { span, value: Tree::Table(Table::default()) } });
                    table.0.len() - 1
                });
                &mut table.0[at].node
            }
            (Step::Index(i), Tree::Array(items)) => {
                let n = items.len();
                items.get_mut(*i).ok_or_else(|| {
                    Fault::new(span, &here, format!("`{here}` has no element {i}")).expected(format!("0 to {}", n.max(1) - 1))
                })?
            }
            (Step::Key(key), Tree::Array(items)) if !items.is_empty() => {
                let message = format!("there are {} of `{here}`, and this does not say which", items.len());
                return Err(Fault::new(span, &here, message).expected(format!("{here}[0].{key} to {here}[{}].{key}", items.len() - 1)));
            }
            (Step::Key(_), _) => return Err(Fault::new(span, &here, format!("`{here}` is not a table")).found(found)),
            (Step::Index(_), _) => return Err(Fault::new(span, &here, format!("`{here}` is not an array")).found(found)),
        };
    }
    *node = value;
    Ok(())
}

/// `flow[0].window` as steps.
fn parse_path(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.is_empty() {
            return None;
        }
        steps.push(Step::Key(key.to_owned()));
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}
