//! Bases of experiment files: a file is merged with the one it is based on.

use super::between;
use super::error::{Error, Fault, Span};
use super::files::Files;
use super::trace_file;
use super::tree::{Entry, Node, Table, Tree};

/// Files that may be based on each other in a row.
const MAX_DEPTH: usize = 8;

/// The texts of a document as (name, content), the deepest base first, the file itself last.
///
/// Names are relative to the file that has them.
pub(crate) fn texts(text: &str, name: &str, files: &dyn Files) -> Result<Vec<(String, String)>, Error> {
    let mut chain = vec![(name.to_owned(), text.to_owned())];
    loop {
        let (file, text) = &chain[chain.len() - 1];
        let fail = |fault: Fault| fault.locate(std::slice::from_ref(&chain[chain.len() - 1]));
        let root = Node::parse_document(text, 0).map_err(fail)?;
        let Some(base) = root.as_table().and_then(|table| table.get("base")) else { break };
        let wrong = |message: String| fail(Fault::new(base.span, "base", message).found(base.found()));
        let Some(path) = base.as_text() else { return Err(wrong("this must be the path of a file".to_owned())) };
        let next = relative_to(file, path);
        if chain.iter().any(|(name, _)| *name == next) {
            return Err(wrong(format!("{next} is based on itself")));
        }
        if chain.len() == MAX_DEPTH {
            return Err(wrong(format!("more than {MAX_DEPTH} files are based on each other")));
        }
        let content = files.text(&next).map_err(|why| wrong(format!("cannot read {next}: {why}")))?;
        chain.push((next, content));
    }
    chain.reverse();
    Ok(chain)
}

/// The traces that `node` names, each as seen from the folder of the text that says so; of texts, (name, content).
pub(crate) fn locate_traces(node: &mut Node, texts: &[(String, String)]) {
    match &mut node.value {
        Tree::Array(items) => items.iter_mut().for_each(|item| locate_traces(item, texts)),
        Tree::Table(table) => {
            let is_trace = table.get("kind").and_then(Node::as_text).is_some_and(|kind| trace_file::format(kind).is_some());
            for Entry { key, node, .. } in &mut table.0 {
                match &mut node.value {
                    Tree::Text(path) if is_trace && key == "file" => *path = relative_to(&texts[node.span.text].0, path),
                    _ => locate_traces(node, texts),
                }
            }
        }
        _ => {}
    }
}

/// `path` as seen from the folder of `file`.
fn relative_to(file: &str, path: &str) -> String {
    let mut folder: Vec<&str> = match file.rsplit_once('/') {
        Some((folder, _)) if !path.starts_with('/') => folder.split('/').collect(),
        _ => Vec::new(),
    };
    for step in path.split('/') {
        match (step, folder.last()) {
            (".", _) => {}
            ("..", Some(&last)) if last != ".." && !last.is_empty() => {
                folder.pop();
            }
            _ => folder.push(step),
        }
    }
    folder.join("/")
}

/// `base` with what `file` says put in: tables key by key, rows of the same `name` likewise, and the one flow of each unless both have
/// names; all else is as the file says.
pub(crate) fn merge(base: Node, file: Node) -> Node {
    let span = file.span;
    let value = match (base.value, file.value) {
        (Tree::Table(base), Tree::Table(file)) if !is_whole(&base) && !says_kind(&file) => Tree::Table(merge_tables(base, file)),
        (Tree::Array(base), Tree::Array(file)) if base.iter().chain(&file).all(|row| row_name(row).is_some()) => {
            Tree::Array(merge_rows(base, file))
        }
        (_, file) => file,
    };
    Node { span, value }
}

/// A sweep: its values stand for themselves.
fn is_whole(table: &Table) -> bool {
    table.get("sweep").is_some() || between::is_range(table)
}

/// True if the table names its kind: it is then a table of its own, not a change of another.
fn says_kind(table: &Table) -> bool {
    is_whole(table) || ["preset", "kind"].iter().any(|key| table.get(key).is_some())
}

fn merge_tables(mut base: Table, file: Table) -> Table {
    for entry in file.0 {
        match base.0.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => {
                let before = std::mem::replace(&mut old.node, Node { span: Span::default(), value: Tree::Bool(false) });
                let node = if entry.key == "flow" { merge_flows(before, entry.node) } else { merge(before, entry.node) };
                *old = Entry { node, ..entry };
            }
            None => base.0.push(entry),
        }
    }
    base
}

/// Flows need no name. Where there is one in the base and one in the file, they are the same one, unless two names tell them apart.
fn merge_flows(mut base: Node, mut file: Node) -> Node {
    if let (Tree::Array(before), Tree::Array(rows)) = (&mut base.value, &mut file.value)
        && let ([old], [new]) = (&before[..], &mut rows[..])
        && (row_name(old).is_none() || row_name(new).is_none())
    {
        *new = merge(before.remove(0), std::mem::replace(new, Node { span: file.span, value: Tree::Bool(false) }));
        return file;
    }
    merge(base, file)
}

fn row_name(row: &Node) -> Option<&str> {
    row.as_table()?.get("name")?.as_text()
}

/// A new row stands after the one before it in the file, or first.
fn merge_rows(mut base: Vec<Node>, file: Vec<Node>) -> Vec<Node> {
    let mut next = 0;
    for row in file {
        match base.iter().position(|old| row_name(old) == row_name(&row)) {
            Some(at) => {
                let old = base.remove(at);
                base.insert(at, merge(old, row));
                next = at + 1;
            }
            None => {
                base.insert(next, row);
                next += 1;
            }
        }
    }
    base
}
