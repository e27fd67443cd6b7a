//! A tree as TOML, in its own order.

use super::tree::{Node, Table, Tree};

/// The document `root` as TOML: reads back as the same tree.
pub(crate) fn print(root: &Node) -> String {
    let mut out = String::new();
    if let Some(file) = root.as_table() {
        table(file, "", &mut out);
    }
    out
}

/// Values first, then tables under their headings; short tables stay inline.
fn table(entries: &Table, heading: &str, out: &mut String) {
    let nested = |node: &Node| match &node.value {
        Tree::Array(items) => items.first().is_some_and(|item| item.as_table().is_some()),
        Tree::Table(_) => heading.is_empty(),
        _ => false,
    };
    for entry in entries.0.iter().filter(|entry| !nested(&entry.node)) {
        key(&entry.key, out);
        out.push_str(" = ");
        inline(&entry.node, out);
        out.push('\n');
    }
    for entry in entries.0.iter().filter(|entry| nested(&entry.node)) {
        let mut path = if heading.is_empty() { String::new() } else { format!("{heading}.") };
        key(&entry.key, &mut path);
        let (open, rows, close) = match &entry.node.value {
            Tree::Array(rows) => ("\n[[", &rows[..], "]]\n"),
            _ => ("\n[", std::slice::from_ref(&entry.node), "]\n"),
        };
        for row in rows.iter().filter_map(Node::as_table) {
            out.extend([open, &path, close]);
            table(row, &path, out);
        }
    }
}

fn inline(node: &Node, out: &mut String) {
    match &node.value {
        Tree::Table(table) => {
            out.push_str("{ ");
            for (i, entry) in table.0.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                key(&entry.key, out);
                out.push_str(" = ");
                inline(&entry.node, out);
            }
            out.push_str(" }");
        }
        Tree::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                inline(item, out);
            }
            out.push(']');
        }
        Tree::Text(text) => quote(text, out),
        Tree::Integer(n) => out.push_str(&n.to_string()),
        Tree::Float(x) => float(*x, out),
        Tree::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Tree::Datetime => unreachable!("nothing here takes a date"),
    }
}

fn key(name: &str, out: &mut String) {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { out.push_str(name) } else { quote(name, out) }
}

/// Rust prints the shortest decimal that reads back as the same f64, on every platform.
pub(crate) fn float(x: f64, out: &mut String) {
    out.push_str(&format!("{x:?}"));
}

/// A string of JSON, which is also one of TOML.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
