//! Shapes: the values allowed at each place of an experiment file. One description of it ([`Shape`], with the tables in [`super::fields`])
//! drives validation, the JSON Schema and the reference; nothing else knows the names of keys.

use super::elsewhere;
use super::error::Fault;
use super::sweep;
use super::tree::{Entry, Node, Step, Table, Tree, path_text};
use longfat_core::params::{Kind, ParamSpec, Value, Why};
use longfat_core::queue;
use longfat_model::random::{self, Distribution};
use std::sync::LazyLock;

/// Kind of value that is allowed.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Any text: titles and names.
    Text,
    /// One name, or a list of them.
    Names,
    /// A parameter.
    Scalar(ParamSpec),
    /// A time, or how it is drawn: `{ random = "uniform 0 s..1 s" }`.
    Drawn(ParamSpec),
    /// A parameter, or a list of them.
    OneOrMany(ParamSpec),
    /// A table of these fields.
    Table(fn() -> &'static [Field]),
    /// An array of one or more such values.
    List(&'static Shape),
    /// A table whose fields depend on one of them, the tag; the tag's word alone stands for a table with only it.
    Variants(&'static Variants),
    /// A table from names of axes to labels of their values (`[[skip]]`).
    Labels,
    /// A table from paths into the experiment to other values (`[quick]`).
    Changes,
}

/// One key of a table.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
    pub doc: &'static str,
}

/// A table in several variants.
pub(crate) struct Variants {
    /// Word for messages and the schema: "queue".
    pub what: &'static str,
    /// Key that names the variant.
    pub tag: &'static str,
    /// The variant without the tag.
    pub default: Option<&'static str>,
    pub cases: fn() -> &'static [Case],
}

/// One entry of a registry, with its parameters.
macro_rules! one_of {
    ($registry:expr, $what:literal) => {
        Variants {
            what: $what,
            tag: "kind",
            default: None,
            cases: || {
                static TABLE: LazyLock<Vec<Case>> =
                    LazyLock::new(|| $registry.iter().map(|e| Case::of_params(e.name, e.summary, e.source, e.params)).collect());
                &TABLE
            },
        }
    };
}
pub(crate) use one_of;

/// Variants of a queue. A queue may contain a queue, so shapes know them.
pub(crate) static QUEUE: Variants = one_of!(queue::REGISTRY, "queue");

/// One variant.
pub(crate) struct Case {
    pub name: &'static str,
    pub doc: &'static str,
    /// Source that defines it, as in the registries.
    pub source: &'static str,
    pub fields: Vec<Field>,
}

impl Case {
    /// Returns a case whose fields are parameters.
    pub(crate) fn of_params(name: &'static str, doc: &'static str, source: &'static str, params: &[ParamSpec]) -> Self {
        Case { name, doc, source, fields: params.iter().copied().map(Field::param).collect() }
    }
}

impl Field {
    pub(crate) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Field { name, shape, required: false, doc }
    }
    pub(crate) const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Field { name, shape, required: true, doc }
    }
    /// An optional value; without it, its owner decides.
    pub(crate) const fn auto(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Field::param(ParamSpec { name, kind, default: Some(Value::Auto), doc })
    }
    /// A value with a default.
    pub(crate) const fn or(name: &'static str, kind: Kind, default: Value, doc: &'static str) -> Self {
        Field::param(ParamSpec { name, kind, default: Some(default), doc })
    }
    pub(crate) const fn param(spec: ParamSpec) -> Self {
        Field { name: spec.name, shape: Shape::Scalar(spec), required: spec.default.is_none(), doc: spec.doc }
    }
}

impl Variants {
    /// The case that `node` is of.
    pub(crate) fn case(&self, node: &Node, path: &[Step]) -> Result<&'static Case, Fault> {
        let (tag, at) = match (&node.value, self.default) {
            (Tree::Text(word), _) => (word.as_str(), node),
            (Tree::Table(table), default) => match (table.get(self.tag), default) {
                (Some(tag), _) => (tag.as_text().ok_or_else(|| self.wrong_tag(tag, path))?, tag),
                (None, Some(default)) => (default, node),
                (None, None) => {
                    let message = format!("the {} does not say its `{}`", self.what, self.tag);
                    return Err(Fault::new(node.span, path_text(path), message).expected(self.expectation()));
                }
            },
            _ => {
                let fault = Fault::new(node.span, path_text(path), format!("a {} is a table or a word", self.what));
                let fault = fault.found(node.found()).expected(self.expectation());
                let meant = self.meant_by_number(node, path);
                return Err(if let Some(meant) = meant { fault.help(format!("write `{meant}`")) } else { fault });
            }
        };
        (self.cases)().iter().find(|c| c.name == tag).ok_or_else(|| self.wrong_tag(at, path))
    }

    /// The table that a number or a percentage alone may stand for: of the first case that needs one number and nothing else.
    fn meant_by_number(&self, node: &Node, path: &[Step]) -> Option<String> {
        let number = match &node.value {
            Tree::Float(value) => value.to_string(),
            Tree::Integer(value) => value.to_string(),
            Tree::Text(text) => percent(text)?.to_string(),
            _ => return None,
        };
        let needs = |case: &'static Case| {
            let mut required = case.fields.as_slice().iter().filter(|field| field.required);
            let only = required.next().filter(|_| required.next().is_none())?;
            matches!(only.shape, Shape::Scalar(ParamSpec { kind: Kind::Number { .. }, .. })).then_some((case.name, only.name))
        };
        let (word, key) = (self.cases)().iter().find_map(needs)?;
        let Some(Step::Key(name)) = path.last() else { return None };
        Some(format!("{name} = {{ {} = \"{word}\", {key} = {number} }}", self.tag))
    }

    fn wrong_tag(&self, at: &Node, path: &[Step]) -> Fault {
        let names: Vec<&str> = (self.cases)().iter().map(|c| c.name).collect();
        let fault =
            Fault::new(at.span, path_text(path), format!("there is no such {}", self.what)).found(at.found()).expected(self.expectation());
        match self.meant_by_number(at, path) {
            Some(meant) => fault.help(format!("write `{meant}`")),
            None => called_elsewhere(fault, at.as_text().unwrap_or(""), names),
        }
    }

    fn expectation(&self) -> String {
        let names: Vec<String> = (self.cases)().iter().map(|c| format!("\"{}\"", c.name)).collect();
        format!("{} = {}", self.tag, names.join(" or "))
    }
}

impl Shape {
    /// Checks that `node` has this shape, or all values of it if it is a sweep. Adds faults to `faults`.
    pub(crate) fn check(&self, node: &Node, path: &mut Vec<Step>, faults: &mut Vec<Fault>) {
        if let Some(values) = sweep::values(node) {
            return values.iter().for_each(|value| self.check(&sweep::unlabelled(value), path, faults));
        }
        let must_be = |what: &str| Fault::new(node.span, path_text(path), format!("this must be {what}")).found(node.found());
        match (self, &node.value) {
            (Shape::Names, Tree::Array(items)) if !items.is_empty() => check_items(&Shape::Text, items, path, faults),
            (Shape::OneOrMany(spec), Tree::Array(items)) if !items.is_empty() => check_items(&Shape::Scalar(*spec), items, path, faults),
            (Shape::List(shape), Tree::Array(items)) if !items.is_empty() => check_items(shape, items, path, faults),
            (Shape::Scalar(ParamSpec { kind: Kind::Queue, .. }), _) if node.as_text() != Some("auto") => {
                check_variants(&QUEUE, node, path, faults);
            }
            (Shape::Scalar(ParamSpec { kind: Kind::Tables(keys), .. }), Tree::Array(items)) if !items.is_empty() => {
                check_tables(keys.0, items, path, faults);
            }
            (Shape::Scalar(ParamSpec { kind: Kind::Names(_), .. }), Tree::Array(items)) if !items.is_empty() => {
                check_items(&Shape::Text, items, path, faults);
            }
            (Shape::Drawn(_), Tree::Table(_)) => faults.extend(distribution(node, path).err()),
            (Shape::Scalar(spec) | Shape::OneOrMany(spec) | Shape::Drawn(spec), _) => faults.extend(read(spec, node, path).err()),
            (Shape::Table(fields), Tree::Table(table)) => check_fields(fields(), None, table, node, path, faults),
            (Shape::Variants(variants), _) => check_variants(variants, node, path, faults),
            (Shape::Text | Shape::Names, Tree::Text(_)) | (Shape::Labels | Shape::Changes, Tree::Table(_)) => {}
            (Shape::Text, _) => faults.push(must_be("a text")),
            (Shape::Names, _) => faults.push(must_be("a name, or a list of names")),
            (Shape::Table(fields), _) => {
                let fault = must_be("a table");
                faults.push(match meant_by_value(fields(), node, path) {
                    Some(meant) => fault.help(format!("write `{meant}`")),
                    None => fault,
                });
            }
            (Shape::List(_), Tree::Table(_)) => {
                let name = path_text(path);
                faults.push(must_be("a list of tables").help(format!("write `[[{name}]]`")));
            }
            (Shape::List(_), _) => faults.push(must_be("a list of one or more tables")),
            (Shape::Changes, _) => faults.push(must_be("a table of values by their paths")),
            (Shape::Labels, _) => faults.push(must_be("a table of axes and the values to skip")),
        }
    }
}

/// Returns the number that a percentage such as `1%`, or a number in quotes, says.
fn percent(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.trim().parse().ok(),
    }
    .filter(|number: &f64| number.is_finite())
}

/// Returns the table that a value alone may stand for: of the first key that takes it.
fn meant_by_value(fields: &[Field], node: &Node, path: &[Step]) -> Option<String> {
    let Some(Step::Key(name)) = path.last() else { return None };
    let takes = |field: &&Field| matches!(field.shape, Shape::Scalar(spec) if read(&spec, node, path).is_ok());
    fields.iter().find(takes).map(|field| format!("{name} = {{ {} = {} }}", field.name, node.found()))
}

fn check_variants(variants: &Variants, node: &Node, path: &mut Vec<Step>, faults: &mut Vec<Fault>) {
    let tag = node.as_table().and_then(|t| t.get(variants.tag));
    if let Some(words) = tag.and_then(sweep::values) {
        // The value of the axis decides which other keys are right: they are checked run by run.
        return faults.extend(words.iter().filter_map(|word| variants.case(&sweep::unlabelled(word), path).err()));
    }
    match variants.case(node, path) {
        Ok(case) => {
            let empty = Table::default();
            check_fields(case.fields.as_slice(), Some(variants.tag), node.as_table().unwrap_or(&empty), node, path, faults);
        }
        Err(fault) => faults.push(fault),
    }
}

fn check_items(shape: &Shape, items: &[Node], path: &mut Vec<Step>, faults: &mut Vec<Fault>) {
    for (i, item) in items.iter().enumerate() {
        path.push(Step::Index(i));
        shape.check(item, path, faults);
        path.pop();
    }
}

fn check_tables(specs: &[ParamSpec], items: &[Node], path: &mut Vec<Step>, faults: &mut Vec<Fault>) {
    let fields = fields_of(specs);
    for (i, item) in items.iter().enumerate() {
        path.push(Step::Index(i));
        match item.as_table() {
            Some(table) => check_fields(&fields, None, table, item, path, faults),
            None => faults.push(Fault::new(item.span, path_text(path), "this must be a table").found(item.found())),
        }
        path.pop();
    }
}

/// Returns the fields of tables that are values of [`Kind::Tables`].
pub(crate) fn fields_of(specs: &[ParamSpec]) -> Vec<Field> {
    specs.iter().copied().map(Field::param).collect()
}

/// Checks `table`, which `node` holds, but for its `tag`.
fn check_fields(fields: &[Field], tag: Option<&str>, table: &Table, node: &Node, path: &mut Vec<Step>, faults: &mut Vec<Fault>) {
    for entry in table.0.iter().filter(|e| tag != Some(&e.key)) {
        path.push(Step::Key(entry.key.clone()));
        match fields.iter().find(|f| f.name == entry.key) {
            Some(field) => {
                let before = faults.len();
                field.shape.check(&entry.node, path, faults);
                // Words of the user's own have no list of right ones: their place decides.
                if matches!(field.shape, Shape::Text | Shape::Names) {
                    faults[before..].iter_mut().for_each(|fault| fault.help_if_none(|| format!("`{}`: {}", field.name, field.doc)));
                }
            }
            None => faults.push(unknown(entry, tag, fields, path)),
        }
        path.pop();
    }
    for missing in fields.iter().filter(|f| f.required && table.get(f.name).is_none()) {
        let here = if path.is_empty() { "the experiment".to_owned() } else { format!("`{}`", path_text(path)) };
        faults.push(Fault::new(node.span, path_text(path), format!("{here} has no `{}`", missing.name)).expected(expectation(missing)));
    }
}

fn unknown(entry: &Entry, tag: Option<&str>, fields: &[Field], path: &[Step]) -> Fault {
    let names: Vec<&str> = tag.into_iter().chain(fields.iter().map(|f| f.name)).collect();
    let fault = Fault::new(entry.key_span, path_text(path), format!("there is no key `{}` here", entry.key));
    // A long list helps nobody.
    let fault =
        if names.len() <= 12 { fault.expected(if names.is_empty() { "no keys".to_owned() } else { names.join(", ") }) } else { fault };
    if let Some(hint) = elsewhere::hint(&entry.key) {
        return fault.help(hint);
    }
    let table = path[..path.len() - 1].iter().filter_map(|step| if let Step::Key(key) = step { Some(key.clone()) } else { None });
    let mut fault = fault.nearest(&entry.key, names);
    fault.unknown = Some(Box::new((entry.key.clone(), table.collect())));
    fault
}

fn expectation(field: &Field) -> String {
    match field.shape {
        Shape::Scalar(spec) | Shape::OneOrMany(spec) | Shape::Drawn(spec) => {
            format!("{} = {} ({})", field.name, spec.kind.expectation(), field.doc)
        }
        _ => format!("{}: {}", field.name, field.doc),
    }
}

/// Adds to `fault` the hint for a name that other tools have, or the nearest name here.
fn called_elsewhere<'a>(fault: Fault, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Fault {
    match elsewhere::hint(wrong) {
        Some(hint) => fault.help(hint),
        None => fault.nearest(wrong, names),
    }
}

/// Returns the distribution of a time, from the table that describes it.
pub(crate) fn distribution(node: &Node, path: &[Step]) -> Result<Distribution, Fault> {
    let wrong = |at: &Node, message: String| {
        Err(Fault::new(at.span, path_text(path), message).expected(format!("a time, or {{ random = {} }}", random::EXPECTED)))
    };
    let table = node.as_table().expect("a time that is drawn is a table");
    match (table.get("random"), table.0.len()) {
        (Some(said), 1) => match said.as_text() {
            Some(text) => Distribution::parse(text).or_else(|why| wrong(said, format!("this is no random time: {why}"))),
            None => wrong(said, "this is no random time".to_owned()),
        },
        _ => wrong(node, "a time that is drawn says how, and nothing else".to_owned()),
    }
}

/// The value of a parameter.
pub(crate) fn read(spec: &ParamSpec, node: &Node, path: &[Step]) -> Result<Value, Fault> {
    spec.read(node.literal()).map_err(|mismatch| {
        let fault = Fault::new(node.span, path_text(path), mismatch.message(spec.name, &node.found())).found(node.found());
        // The message itself names the expected type if the type is all that is wrong.
        let fault = if mismatch.why == Why::OtherType { fault } else { fault.expected(mismatch.expected) };
        match (spec.kind, &node.value) {
            (Kind::Choice(words) | Kind::ChoiceOrCsv(words), Tree::Text(word)) => called_elsewhere(fault, word, words.iter().copied()),
            (kind, Tree::Array(_)) if spec.name != "repeats" && !matches!(kind, Kind::Tables(_) | Kind::Names(_)) => {
                fault.help(format!("a run with each of several values is a sweep: {} = {{ sweep = [...] }}", spec.name))
            }
            _ => fault,
        }
    })
}
