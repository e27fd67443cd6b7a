//! An experiment file as a tree of values, each of which knows where in the text it stands.

use super::error::{Fault, Span};
use longfat_core::params::Literal;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub span: Span,
    pub value: Tree,
}

/// Value of a TOML document.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A date or time: nothing here takes one.
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// A table, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub Vec<Entry>);

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

/// One step of a path into a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|e| e.key == key)
    }
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.node)
    }
}

impl Node {
    /// Parses a document; `text` is the number its spans carry.
    pub(crate) fn parse_document(source: &str, text: usize) -> Result<Node, Fault> {
        let table = DeTable::parse(source).map_err(|e| not_toml(&e, text))?;
        convert_table(table.get_ref(), span(table.span(), text), text)
    }

    /// Parses one value.
    pub(crate) fn parse_value(source: &str, text: usize) -> Result<Node, Fault> {
        let value = DeValue::parse(source).map_err(|e| not_toml(&e, text))?;
        convert(&value, text)
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        if let Tree::Table(table) = &self.value { Some(table) } else { None }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Tree::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Returns the literal from which parameters are read.
    pub(crate) fn literal(&self) -> Literal<'_> {
        match &self.value {
            Tree::Text(s) => Literal::Text(s),
            Tree::Integer(n) => Literal::Integer(*n),
            Tree::Float(x) => Literal::Float(*x),
            Tree::Bool(b) => Literal::Bool(*b),
            Tree::Datetime => Literal::Other("a date or time"),
            Tree::Array(_) => Literal::Other("an array"),
            Tree::Table(_) => Literal::Other("a table"),
        }
    }

    /// The only item of an array of one; anything else is itself.
    pub(crate) fn only_mut(&mut self) -> &mut Node {
        if !matches!(&self.value, Tree::Array(items) if items.len() == 1) {
            return self;
        }
        let Tree::Array(items) = &mut self.value else { unreachable!("it is an array") };
        &mut items[0]
    }

    /// Describes the value in words for a message.
    pub(crate) fn found(&self) -> String {
        match self.literal() {
            Literal::Text(s) => format!("\"{s}\""),
            Literal::Integer(n) => n.to_string(),
            Literal::Float(x) => x.to_string(),
            Literal::Bool(b) => b.to_string(),
            Literal::Other(what) => what.to_owned(),
        }
    }

    /// The node at `path`, if it is there.
    pub(crate) fn at_mut(&mut self, path: &[Step]) -> Option<&mut Node> {
        let Some((step, rest)) = path.split_first() else { return Some(self) };
        match (step, &mut self.value) {
            (Step::Key(key), Tree::Table(table)) => table.0.iter_mut().find(|e| e.key == *key)?.node.at_mut(rest),
            (Step::Index(i), Tree::Array(items)) => items.get_mut(*i)?.at_mut(rest),
            _ => None,
        }
    }
}

/// Keys whose values are prose, of as many lines as it takes.
const PROSE: [&str; 2] = ["title", "description"];

/// A fault for each key and value with a control character, but for prose.
pub(crate) fn control_characters(node: &Node) -> Vec<Fault> {
    let fault = |text: &str, span: Span| {
        let has_any = text.chars().any(char::is_control);
        has_any.then(|| Fault::new(span, "", "names and values have no control characters").found(format!("{text:?}")))
    };
    match &node.value {
        Tree::Text(text) => fault(text, node.span).into_iter().collect(),
        Tree::Array(items) => items.iter().flat_map(control_characters).collect(),
        Tree::Table(Table(entries)) => {
            let named = entries.iter().filter(|entry| !PROSE.contains(&entry.key.as_str()));
            named.flat_map(|entry| fault(&entry.key, entry.key_span).into_iter().chain(control_characters(&entry.node))).collect()
        }
        _ => Vec::new(),
    }
}

/// A path as people write it: `flow[0].window`.
pub(crate) fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text = format!("{text}.{key}"),
            Step::Index(i) => text = format!("{text}[{i}]"),
        }
    }
    text
}

fn span(range: Range<usize>, text: usize) -> Span {
    Span { text, start: range.start, end: range.end }
}

fn not_toml(error: &toml::de::Error, text: usize) -> Fault {
    let at = span(error.span().unwrap_or(0..0), text);
    Fault::new(at, "", format!("this is not TOML: {}", error.message().replace('\n', ", ")))
}

fn convert_table(table: &DeTable<'_>, at: Span, text: usize) -> Result<Node, Fault> {
    let mut entries = table
        .iter()
        .map(|(key, value)| Ok(Entry { key: key.get_ref().to_string(), key_span: span(key.span(), text), node: convert(value, text)? }))
        .collect::<Result<Vec<_>, Fault>>()?;
    entries.sort_by_key(|e| e.key_span.start);
    Ok(Node { span: at, value: Tree::Table(Table(entries)) })
}

fn convert(value: &Spanned<DeValue<'_>>, text: usize) -> Result<Node, Fault> {
    let at = span(value.span(), text);
    let bad_number = || Fault::new(at, "", "this number does not fit in 64 bits");
    let tree = match value.get_ref() {
        DeValue::String(s) => Tree::Text(s.to_string()),
        DeValue::Integer(n) => Tree::Integer(i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| bad_number())?),
        DeValue::Float(x) => Tree::Float(x.as_str().parse().map_err(|_| bad_number())?),
        DeValue::Boolean(b) => Tree::Bool(*b),
        DeValue::Datetime(_) => Tree::Datetime,
        DeValue::Array(items) => Tree::Array(items.iter().map(|item| convert(item, text)).collect::<Result<_, _>>()?),
        DeValue::Table(table) => return convert_table(table, at, text),
    };
    Ok(Node { span: at, value: tree })
}
