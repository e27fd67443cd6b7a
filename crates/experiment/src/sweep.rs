//! Sweeps: which values of a file are axes, how many runs they make, and which values a run has.
//! Runs are numbered, never listed: a sweep of 10^18 runs costs no more than one of ten.

use super::backend;
use super::error::{Fault, Span, nearest};
use super::names;
use super::tree::{Node, Step, Table, Tree, path_text};
use std::collections::BTreeMap;

/// Keys that hold what all runs share.
pub(crate) const FIXED: [&str; 7] = ["title", "description", "expect", "repeats", "skip", "precision", "search"];
/// Skip rules are a bit each of a set, and the counting tables grow with the sets that occur.
const MAX_RULES: usize = 16;

/// One axis of a sweep: a value of the file that is several.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Key in the file, or the name it was given.
    pub name: String,
    /// One for each value, as text.
    pub labels: Vec<String>,
    pub(super) path: Vec<Step>,
    span: Span,
    values: Vec<Node>,
    zip: Option<String>,
    /// True if another axis of its zip before it has the same name. For readers of the runs, both are one axis.
    pub(super) follows: bool,
}

/// All axes of a document, and the order of its runs: later axes change faster, repeats fastest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    pub axes: Vec<Axis>,
    /// Axes that advance together, as indices into `axes`; most stand alone.
    groups: Vec<Vec<usize>>,
    /// Rules that each value of each group satisfies (a bit each).
    rules: Vec<Vec<u32>>,
    all_rules: u32,
    /// For each group, by the rules still satisfied: how many combinations of it and later groups remain with one of its first n values, for
    /// each n from 0.
    counts: Vec<BTreeMap<u32, Vec<u64>>>,
}

/// The values of `node`, if it is a sweep.
pub(crate) fn values(node: &Node) -> Option<&[Node]> {
    match &node.as_table()?.get("sweep")?.value {
        Tree::Array(values) => Some(values),
        _ => None,
    }
}

/// A value of a sweep without its label: a table less its `label`, or the `value` of a table of just those two.
pub(crate) fn unlabelled(node: &Node) -> Node {
    let Some(table) = node.as_table().filter(|t| t.get("label").is_some()) else { return node.clone() };
    if let (2, Some(value)) = (table.0.len(), table.get("value")) {
        return value.clone();
    }
    let rest = table.0.iter().filter(|e| e.key != "label").cloned().collect();
    Node { span: node.span, value: Tree::Table(Table(rest)) }
}

/// True if the backend of `root`, which all its runs have, is `node` or one of it.
fn names_backend(node: &Node, root: &Node, key: &str) -> Result<bool, Fault> {
    let mut is_named = false;
    for item in array(node) {
        let name = plain(item);
        if !backend::NAMES.contains(&&*name) {
            let fault = Fault::new(item.span, key, format!("there is no backend \"{name}\"")).expected(backend::NAMES.join(", "));
            return Err(fault.nearest(&name, backend::NAMES.iter().copied()));
        }
        is_named |= name == backend::of(root).name;
    }
    Ok(is_named)
}

/// The values of an array, or the one value.
fn array(node: &Node) -> &[Node] {
    match &node.value {
        Tree::Array(items) => items,
        _ => std::slice::from_ref(node),
    }
}

fn label(value: &Node, position: usize) -> String {
    let Some(table) = value.as_table() else {
        return if matches!(value.value, Tree::Array(_)) { format!("#{}", position + 1) } else { plain(value) };
    };
    match table.get("label").or_else(|| ["kind", "preset", "type", "random"].iter().find_map(|k| table.get(k))) {
        Some(node) => plain(node),
        None => format!("#{}", position + 1),
    }
}

/// A scalar as text, without quotes.
fn plain(node: &Node) -> String {
    node.as_text().map_or_else(|| node.found(), str::to_owned)
}

impl Axis {
    /// Returns true if its values decide `key`: `edge.rate`, or a longer path that ends so.
    pub(crate) fn decides(&self, key: &str) -> bool {
        let keys = self.path.iter().filter_map(|step| if let Step::Key(key) = step { Some(key.as_str()) } else { None });
        let path: Vec<&str> = keys.collect();
        ends_with(&path, key) || self.values.iter().any(|value| holds(value, &mut path.clone(), key))
    }
}

/// Returns true if a key below `node`, which is at `path`, is `key`.
fn holds<'a>(node: &'a Node, path: &mut Vec<&'a str>, key: &str) -> bool {
    match &node.value {
        Tree::Table(table) => table.0.iter().any(|entry| {
            path.push(&entry.key);
            let is_here = ends_with(path, key) || holds(&entry.node, path, key);
            path.pop();
            is_here
        }),
        Tree::Array(items) => items.iter().any(|item| holds(item, path, key)),
        _ => false,
    }
}

fn ends_with(path: &[&str], key: &str) -> bool {
    path.ends_with(&key.split('.').collect::<Vec<_>>())
}

impl Sweep {
    /// Finds the axes of `root`, and counts. `last_text` is the number of the newest text of the document.
    pub(crate) fn find(root: &Node, last_text: usize) -> Result<Self, Fault> {
        let mut sweep = Sweep::default();
        sweep.collect(root, &mut Vec::new())?;
        sweep.name_axes()?;
        sweep.group()?;
        sweep.read_rules(root, last_text)?;
        sweep.count(root)?;
        Ok(sweep)
    }

    fn collect(&mut self, node: &Node, path: &mut Vec<Step>) -> Result<(), Fault> {
        match &node.value {
            Tree::Table(table) if table.get("sweep").is_some() => self.axis(node, table, path)?,
            Tree::Table(table) => {
                for entry in &table.0 {
                    if path.is_empty() && entry.key == "quick" {
                        // The sweeps of `quick` are those of the quick form.
                        continue;
                    }
                    if path.is_empty() && FIXED.contains(&entry.key.as_str()) {
                        no_sweep_in(&entry.node, &format!("`{}` is the same in all runs", entry.key))?;
                        continue;
                    }
                    path.push(Step::Key(entry.key.clone()));
                    self.collect(&entry.node, path)?;
                    path.pop();
                }
            }
            Tree::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.push(Step::Index(i));
                    self.collect(item, path)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn axis(&mut self, node: &Node, table: &Table, path: &[Step]) -> Result<(), Fault> {
        let key = path_text(path);
        for entry in &table.0 {
            if !["sweep", "name", "zip"].contains(&entry.key.as_str()) {
                let fault =
                    Fault::new(entry.key_span, &key, format!("there is no key `{}` in a sweep", entry.key)).expected("sweep, name, zip");
                return Err(fault.nearest(&entry.key, ["sweep", "name", "zip"]));
            }
        }
        let word = |name: &str| match table.get(name) {
            None => Ok(None),
            Some(node) => match node.as_text() {
                Some(text) if !text.is_empty() => Ok(Some(text.to_owned())),
                _ => Err(Fault::new(node.span, &key, format!("the `{name}` of a sweep is a name")).found(node.found())),
            },
        };
        let values = match values(node) {
            Some(values) if !values.is_empty() => values,
            _ => return Err(Fault::new(node.span, &key, "a sweep has no values").expected("sweep = [ one or more values ]")),
        };
        let mut labels: Vec<String> = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            no_sweep_in(value, "a value of a sweep cannot hold another sweep")?;
            let given = value.as_table().and_then(|t| t.get("label"));
            if let Some(label) = given.filter(|l| matches!(l.value, Tree::Table(_) | Tree::Array(_) | Tree::Datetime)) {
                return Err(Fault::new(label.span, &key, "a label is a word or a number").found(label.found()));
            }
            labels.push(label(value, i));
        }
        let values = values.iter().map(unlabelled).collect();
        self.axes.push(Axis {
            name: word("name")?.unwrap_or_default(),
            labels,
            path: path.to_vec(),
            span: node.span,
            values,
            zip: word("zip")?,
            follows: false,
        });
        Ok(())
    }

    /// Names each axis without a name after its key, or after its whole path where two keys are the same.
    fn name_axes(&mut self) -> Result<(), Fault> {
        let last_key = |path: &[Step]| {
            let start = path.iter().rposition(|s| matches!(s, Step::Key(_))).unwrap_or(0);
            path_text(&path[start..])
        };
        let short: Vec<String> = self.axes.iter().map(|a| if a.name.is_empty() { last_key(&a.path) } else { a.name.clone() }).collect();
        for (i, axis) in self.axes.iter_mut().enumerate() {
            if axis.name.is_empty() {
                let unique = short.iter().filter(|s| **s == short[i]).count() == 1;
                axis.name = if unique { short[i].clone() } else { path_text(&axis.path) };
            }
            if names::is_taken(&axis.name) {
                let fault = Fault::new(axis.span, path_text(&axis.path), format!("an axis cannot be called \"{}\"", axis.name));
                return Err(fault.help("the tables of results have a column of that name: give the sweep another `name`"));
            }
        }
        for i in 0..self.axes.len() {
            let (before, axis) = self.axes.split_at_mut(i);
            let axis = &mut axis[0];
            match before.iter().find(|a| a.name == axis.name) {
                Some(first) if first.zip == axis.zip && axis.zip.is_some() => axis.follows = true,
                Some(_) => {
                    return Err(Fault::new(axis.span, path_text(&axis.path), format!("two axes are called \"{}\"", axis.name))
                        .help("give one of them another `name`; axes of one `zip` may share a name, and then are one"));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), Fault> {
        for (i, axis) in self.axes.iter().enumerate() {
            let partner = axis.zip.as_ref().and_then(|zip| self.groups.iter().position(|g| self.axes[g[0]].zip.as_ref() == Some(zip)));
            let Some(group) = partner else {
                self.groups.push(vec![i]);
                continue;
            };
            let first = &self.axes[self.groups[group][0]];
            if first.values.len() != axis.values.len() {
                let message = format!("axes zipped as \"{}\" differ in length", axis.zip.as_deref().unwrap_or_default());
                return Err(Fault::new(axis.span, path_text(&axis.path), message)
                    .found(format!("{} values", axis.values.len()))
                    .expected(format!("{} values, as `{}` has", first.values.len(), path_text(&first.path))));
            }
            self.groups[group].push(i);
        }
        self.groups.iter().try_for_each(|group| self.distinct(group))
    }

    /// Checks that no two values of a group have the same labels on all of its axes. Their runs could not be told apart.
    fn distinct(&self, group: &[usize]) -> Result<(), Fault> {
        let named: Vec<&Axis> = group.iter().map(|&i| &self.axes[i]).filter(|axis| !axis.follows).collect();
        let mut seen = BTreeMap::new();
        for (i, value) in named[0].values.iter().enumerate() {
            let labels: Vec<&String> = named.iter().map(|axis| &axis.labels[i]).collect();
            if seen.insert(labels, i).is_some() {
                let message = format!("two values of this sweep are called \"{}\"", named[0].labels[i]);
                return Err(Fault::new(value.span, path_text(&named[0].path), message).help("values that are tables can be told apart by a `label`; beside an axis of its `zip`, one with the same `name` needs no labels"));
            }
        }
        Ok(())
    }

    /// A rule of `[[skip]]` is met where each axis it names has one of the labels it gives. It may name `backend`, axis or not: what runs
    /// an experiment is often said from outside. A rule older than the last change of the document may name axes and labels that are gone:
    /// there, it is not met.
    fn read_rules(&mut self, root: &Node, last_text: usize) -> Result<(), Fault> {
        self.rules = self.groups.iter().map(|g| vec![0; self.axes[g[0]].values.len()]).collect();
        let Some(skip) = root.as_table().and_then(|t| t.get("skip")) else { return Ok(()) };
        let Tree::Array(rules) = &skip.value else { return Ok(()) };
        if rules.len() > MAX_RULES {
            return Err(Fault::new(skip.span, "skip", format!("there are more than {MAX_RULES} rules to skip runs"))
                .help("one rule can list several labels of an axis"));
        }
        for (bit, rule) in rules.iter().enumerate() {
            let key = format!("skip[{bit}]");
            let entries = rule.as_table().map_or(&[][..], |t| &t.0);
            if entries.is_empty() {
                return Err(Fault::new(rule.span, key, "a rule to skip runs names no axis"));
            }
            let mut met: Vec<Vec<bool>> = self.rules.iter().map(|values| vec![true; values.len()]).collect();
            let outdated = rule.span.text < last_text;
            let mut can_be_met = true;
            for entry in entries {
                let Some(axis) = self.axes.iter().position(|a| a.name == entry.key) else {
                    if entry.key == "backend" && !self.axes.iter().any(|a| path_text(&a.path) == "backend") {
                        can_be_met &= names_backend(&entry.node, root, &key)?;
                        continue;
                    }
                    if outdated {
                        can_be_met = false;
                        continue;
                    }
                    let fault = Fault::new(entry.key_span, &key, format!("there is no axis `{}`", entry.key));
                    let names: Vec<&str> = self.axes.iter().map(|a| a.name.as_str()).collect();
                    let expected = if names.is_empty() { "the experiment sweeps nothing".to_owned() } else { names.join(", ") };
                    return Err(fault.expected(expected).nearest(&entry.key, names));
                };
                let mut named = vec![false; self.axes[axis].labels.len()];
                for item in array(&entry.node) {
                    match self.label_positions(axis, item, &key) {
                        Ok(positions) => positions.for_each(|position| named[position] = true),
                        Err(_) if outdated => {}
                        Err(fault) => return Err(fault),
                    }
                }
                let group = self.groups.iter().position(|g| g.contains(&axis)).expect("every axis is in a group");
                met[group].iter_mut().zip(named).for_each(|(met, named)| *met &= named);
            }
            if !can_be_met {
                continue;
            }
            for (group, met) in met.iter().enumerate() {
                for (value, met) in met.iter().enumerate() {
                    self.rules[group][value] |= u32::from(*met) << bit;
                }
            }
            self.all_rules |= 1 << bit;
        }
        Ok(())
    }

    /// Returns the part of a rule whose axes and values still exist; `None` if it can no longer be met.
    pub(crate) fn current_rule(&self, rule: &Node) -> Option<Node> {
        let mut rule = rule.clone();
        let Tree::Table(table) = &mut rule.value else { return None };
        for entry in &mut table.0 {
            let axis = self.axes.iter().position(|a| a.name == entry.key);
            if axis.is_none() && entry.key == "backend" {
                continue;
            }
            let axis = axis?;
            match &mut entry.node.value {
                Tree::Array(items) => {
                    items.retain(|item| self.label_positions(axis, item, "").is_ok());
                    items.first()?;
                }
                _ => drop(self.label_positions(axis, &entry.node, "").ok()?),
            }
        }
        Some(rule)
    }

    fn label_positions(&self, axis: usize, item: &Node, key: &str) -> Result<impl Iterator<Item = usize>, Fault> {
        let labels = &self.axes[axis].labels;
        let text = plain(item);
        if labels.contains(&text) {
            return Ok(labels.iter().enumerate().filter(move |(_, label)| **label == text).map(|(position, _)| position));
        }
        let fault = Fault::new(item.span, key, format!("the axis `{}` has no value called \"{text}\"", self.axes[axis].name));
        Err(match nearest(&text, labels.iter().map(String::as_str)) {
            Some(label) => fault.help(format!("did you mean \"{label}\"?")),
            None => fault,
        })
    }

    /// Fills `counts` from the last group to the first, for every set of rules that can still be met there.
    fn count(&mut self, root: &Node) -> Result<(), Fault> {
        let mut sets = vec![std::collections::BTreeSet::from([self.all_rules])];
        for rules in &self.rules {
            let last = sets.last().expect("never empty");
            let next = last.iter().flat_map(|set| rules.iter().map(move |met| set & met)).collect();
            sets.push(next);
        }
        let too_many =
            || Fault::new(Span { end: 0, ..root.span }, "", "the sweep has more than 2^64 runs").help("fewer axes, or fewer values");
        let mut counts: Vec<BTreeMap<u32, Vec<u64>>> = vec![BTreeMap::new(); sets.len()];
        for (depth, sets) in sets.iter().enumerate().rev() {
            for &set in sets {
                let below = if depth == self.rules.len() {
                    vec![0, u64::from(set == 0)]
                } else {
                    let mut below = Vec::with_capacity(self.rules[depth].len() + 1);
                    below.push(0_u64);
                    for met in &self.rules[depth] {
                        let after = total(&counts[depth + 1][&(set & met)]);
                        below.push(total(&below).checked_add(after).ok_or_else(too_many)?);
                    }
                    below
                };
                counts[depth].insert(set, below);
            }
        }
        self.counts = counts;
        Ok(())
    }

    /// True if the axis `name` advances without others.
    pub(crate) fn stands_alone(&self, name: &str) -> bool {
        self.groups.iter().any(|group| group.len() == 1 && self.axes[group[0]].name == name)
    }

    /// Returns the number of combinations.
    pub(crate) fn combinations(&self) -> u64 {
        // A sweep without axes has one combination; an empty rule set never excludes it.
        total(&self.counts[0][&self.all_rules])
    }

    /// Returns, for each axis, which of its values combination `index` has.
    pub(crate) fn choice(&self, mut index: u64) -> Vec<usize> {
        assert!(index < self.combinations(), "no such combination");
        let mut choice = vec![0; self.axes.len()];
        let mut set = self.all_rules;
        for (depth, group) in self.groups.iter().enumerate() {
            let below = &self.counts[depth][&set];
            let value = below.partition_point(|&n| n <= index) - 1;
            group.iter().for_each(|&axis| choice[axis] = value);
            index -= below[value];
            set &= self.rules[depth][value];
        }
        choice
    }

    /// `root` with every sweep replaced by the value that `choice` says.
    pub(crate) fn apply(&self, root: &Node, choice: &[usize]) -> Node {
        let mut root = root.clone();
        for (axis, &value) in self.axes.iter().zip(choice) {
            *root.at_mut(&axis.path).expect("the axis was found there") = axis.values[value].clone();
        }
        root
    }
}

/// Returns the count with all values of a group.
fn total(below: &[u64]) -> u64 {
    below[below.len() - 1]
}

fn no_sweep_in(node: &Node, why: &str) -> Result<(), Fault> {
    match &node.value {
        Tree::Table(table) => {
            if let Some(entry) = table.entry("sweep") {
                return Err(Fault::new(entry.key_span, "", why));
            }
            table.0.iter().try_for_each(|e| no_sweep_in(&e.node, why))
        }
        Tree::Array(items) => items.iter().try_for_each(|item| no_sweep_in(item, why)),
        _ => Ok(()),
    }
}
