//! The file: checked, read for the page's sliders, and edited in place so that comments and layout survive.

use longfat_core::units::text::{RATE, SIZE, TIME, split};
use longfat_experiment::Document;
use longfat_model::cost;
use longfat_record::warning::{self, Given};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value as Toml};

use crate::{Fault, text};

/// Most bytes of a file.
const MOST: usize = 1 << 20;
/// Runs of a sweep that are listed.
const LISTED: u64 = 200;

/// The file of a request, checked.
pub(crate) fn document(request: &Value) -> Result<Document, Fault> {
    let text = text(request, "text")?;
    if text.len() > MOST {
        return Err(format!("the file has {} bytes, and the page takes {MOST}", text.len()).into());
    }
    Ok(Document::parse(text, "experiment.toml")?)
}

/// `{text, reads: [path], run}`: checks, and says what the file holds at each path; where it holds nothing, what run number `run` has there.
pub(crate) fn check(request: &Value) -> Result<Value, Fault> {
    let document = document(request)?;
    let run = document.run(request["run"].as_u64().filter(|run| *run < document.run_count()).unwrap_or(0))?;
    let labels = |index: u64| {
        let labels = document.labels(index / document.repeats()).into_iter().map(|(name, label)| format!("{name} = {label}"));
        labels.collect::<Vec<_>>().join(", ")
    };
    let tree: DocumentMut = text(request, "text")?.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
    let reads = request["reads"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
    let value = |path: &str| match steps(path).map_or(Value::Null, |steps| read(tree.as_item(), &steps)) {
        Value::Null => meant(&run.resolved, path),
        given => given,
    };
    let values = reads.map(|path| (path.to_owned(), value(path)));
    Ok(json!({
        "title": document.title(),
        "description": document.description(),
        "runs": document.run_count(),
        "labels": (0..document.run_count().min(LISTED)).map(labels).collect::<Vec<_>>(),
        "backend": run.backend.name,
        "values": values.collect::<serde_json::Map<_, _>>(),
    }))
}

/// Warnings with their advice.
pub(crate) fn warnings(given: &[Given<String>]) -> Value {
    let one = |given: &Given<String>| json!({ "name": given.warning.name, "text": given.text, "count": given.count, "advice": given.warning.advice });
    given.iter().map(one).collect()
}

/// Facts known of a run before it: its cost in packets times links, and its warnings.
pub(crate) fn forecast(experiment: &longfat_model::Experiment, repeats: u64) -> Value {
    json!({
        "cost": cost::estimate(experiment),
        "expected_end_s": cost::expected_end(experiment).as_secs_f64(),
        "duration_s": experiment.measure.duration.as_secs_f64(),
        "warnings": warnings(&warning::before(experiment, repeats)),
    })
}

/// `{text, sets: [[path, value]]}`: the text with each value (TOML) at its path; the value null removes the key. The result is not checked.
pub(crate) fn edit(request: &Value) -> Result<Value, Fault> {
    let text = text(request, "text")?;
    let mut tree: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
    for set in request["sets"].as_array().map_or(&[][..], Vec::as_slice) {
        let path = set[0].as_str().ok_or("a path is a text")?;
        let steps = steps(path).ok_or_else(|| format!("`{path}` is no path"))?;
        let value = match &set[1] {
            Value::Null => None,
            Value::String(value) => Some(value.parse::<Toml>().map_err(|e| e.to_string())?),
            other => return Err(format!("{other} is no value in TOML").into()),
        };
        put(tree.as_item_mut(), &steps, value, path)?;
    }
    Ok(json!({ "text": tree.to_string() }))
}

enum Step {
    Key(String),
    Index(usize),
}

/// `flow[0].window` as steps.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, rest) = part.split_once('[').map_or((part, None), |(key, rest)| (key, Some(rest)));
        steps.push(Step::Key(key.to_owned()));
        if let Some(index) = rest {
            steps.push(Step::Index(index.strip_suffix(']')?.parse().ok()?));
        }
    }
    Some(steps)
}

/// Value at a path: `{text, number, unit}` with the number in bytes, s or bit/s; `{other}` where it is a table or a list; null where there is none.
fn read(item: &Item, steps: &[Step]) -> Value {
    let found = match steps {
        [] => return value_of(item),
        [Step::Key(key), ..] => item.as_table_like().and_then(|table| table.get(key)).map(|item| read(item, &steps[1..])),
        [Step::Index(index), ..] => match item {
            Item::ArrayOfTables(tables) => tables.get(*index).map(|table| read(&Item::Table(table.clone()), &steps[1..])),
            Item::Value(Toml::Array(list)) => list.get(*index).map(|value| read(&Item::Value(value.clone()), &steps[1..])),
            _ => None,
        },
    };
    match (found, steps) {
        // A queue or a control may be its word alone.
        (None, [Step::Key(key)]) if key == "kind" && item.as_str().is_some() => value_of(item),
        (found, _) => found.unwrap_or(Value::Null),
    }
}

fn value_of(item: &Item) -> Value {
    match item {
        Item::Value(Toml::String(said)) => {
            let said = said.value();
            let (number, unit) = quantity(said);
            json!({ "text": said, "number": number, "unit": unit })
        }
        Item::Value(Toml::Integer(number)) => json!({ "text": number.value().to_string(), "number": number.value(), "unit": "" }),
        Item::Value(Toml::Float(number)) => json!({ "text": number.value().to_string(), "number": number.value(), "unit": "" }),
        Item::Value(Toml::Boolean(said)) => json!({ "text": said.value().to_string() }),
        other => json!({ "other": other.to_string().trim() }),
    }
}

/// Value that a run has at a path of which the file says nothing, with `implied` true; null where it has none.
fn meant(resolved: &Value, path: &str) -> Value {
    // A run has its links in a list, whatever preset they are from.
    let found = match path.strip_prefix("path.bottleneck.") {
        Some(rest) => resolved["path"]["link"]
            .as_array()
            .and_then(|links| links.iter().find(|link| link["bottleneck"] == true))
            .and_then(|link| link.pointer(&pointer(rest))),
        None => resolved.pointer(&pointer(path)),
    };
    match found {
        Some(Value::String(said)) => {
            let (number, unit) = quantity(said);
            json!({ "text": said, "number": number, "unit": unit, "implied": true })
        }
        Some(Value::Number(number)) => json!({ "text": number.to_string(), "number": number, "unit": "", "implied": true }),
        _ => Value::Null,
    }
}

/// A path as a JSON pointer.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}

/// A quantity in its base unit, and that unit.
fn quantity(said: &str) -> (Option<f64>, &str) {
    if let Ok(bytes) = SIZE.parse(said) {
        return (Some(bytes as f64), "bytes");
    }
    if let Ok(ps) = TIME.parse(said) {
        return (Some(ps as f64 / 1e12), "s");
    }
    if let Ok(bps) = RATE.parse(said) {
        return (Some(bps as f64), "bit/s");
    }
    match split(said) {
        Ok((number, word)) if !word.is_empty() => (number.parse().ok(), word),
        _ => (None, ""),
    }
}

/// Puts `value` at a path below `item`, with the layout that is there; tables on the way are made.
fn put(item: &mut Item, steps: &[Step], value: Option<Toml>, path: &str) -> Result<(), Fault> {
    match steps {
        [] => Ok(()),
        [Step::Index(index), rest @ ..] => match item {
            Item::ArrayOfTables(tables) => {
                let table = tables.get_mut(*index).ok_or_else(|| format!("the file has no `{path}`"))?;
                put_in(table, rest, value, path)
            }
            Item::Value(Toml::Array(list)) => {
                let one = list.get_mut(*index).ok_or_else(|| format!("the file has no `{path}`"))?;
                let table = one.as_inline_table_mut().ok_or_else(|| format!("`{path}` is in no table"))?;
                put_in(table, rest, value, path)
            }
            _ => Err(format!("the file has no `{path}`").into()),
        },
        [Step::Key(_), ..] => {
            if let Some(word) = item.as_str().map(str::to_owned) {
                let mut table = InlineTable::new();
                table.insert("kind", word.into());
                *item = Item::Value(Toml::InlineTable(table));
            }
            let table = item.as_table_like_mut().ok_or_else(|| format!("`{path}` is in no table"))?;
            if table.contains_key("sweep") {
                return Err(format!("`{path}` is in a sweep: change it in the file").into());
            }
            put_in(table, steps, value, path)
        }
    }
}

fn put_in(table: &mut dyn TableLike, steps: &[Step], value: Option<Toml>, path: &str) -> Result<(), Fault> {
    let [Step::Key(key), rest @ ..] = steps else { return Err(format!("`{path}` is no path").into()) };
    if rest.is_empty() {
        let Some(mut value) = value else {
            table.remove(key);
            return Ok(());
        };
        match table.get_mut(key) {
            // Spaces and comments around the value stay.
            Some(Item::Value(old)) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            Some(other) => *other = Item::Value(value),
            None => {
                table.insert(key, Item::Value(value));
            }
        }
        return Ok(());
    }
    if !table.contains_key(key) {
        let is_list = matches!(rest, [Step::Index(_), ..]);
        if value.is_none() || is_list {
            return if is_list { Err(format!("the file has no `{path}`").into()) } else { Ok(()) };
        }
        // At the root a table has a heading of its own.
        let made = if matches!(key.as_str(), "path" | "measure") {
            Item::Table(Table::new())
        } else {
            Item::Value(Toml::InlineTable(InlineTable::new()))
        };
        table.insert(key, made);
    }
    put(table.get_mut(key).expect("it is there now"), rest, value, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, path: &str, value: Option<&str>) -> Result<String, Value> {
        match edit(&json!({ "text": text, "sets": [[path, value]] })) {
            Ok(answer) => Ok(answer["text"].as_str().unwrap().to_owned()),
            Err(fault) => Err(fault.to_json()["message"].clone()),
        }
    }

    #[test]
    fn an_edit_changes_the_value_alone() {
        let text =
            "# mine\n[path]\nrtt = \"80 ms\"  # far\nbottleneck = { rate = \"1 Gbit/s\" , queue = \"droptail\" }\n\n[[flow]] # one\n";
        assert_eq!(edited(text, "path.rtt", Some("\"10 ms\"")).unwrap(), text.replace("80 ms", "10 ms"));
        assert_eq!(edited(text, "path.bottleneck.rate", Some("\"5 Mbit/s\"")).unwrap(), text.replace("1 Gbit/s", "5 Mbit/s"));
        assert_eq!(edited(text, "path.bottleneck.loss", None).unwrap(), text);
        let limited = edited(text, "path.bottleneck.queue.limit", Some("\"9 packets\"")).unwrap();
        assert!(limited.contains("queue = { kind = \"droptail\", limit = \"9 packets\" }"), "{limited}");
        assert!(edited(text, "flow[0].count", Some("4")).unwrap().ends_with("[[flow]] # one\ncount = 4\n"));
        assert_eq!(edited(text, "flow[1].count", Some("4")).unwrap_err(), "the file has no `flow[1].count`");
        assert!(edited(text, "measure.duration", Some("\"4 s\"")).unwrap().ends_with("[measure]\nduration = \"4 s\"\n"));
    }

    #[test]
    fn a_sweep_is_left_alone() {
        let text = "[path]\nrtt = { sweep = [\"1 ms\"] }\nbottleneck = { queue = { sweep = [\"droptail\"] } }\n";
        assert_eq!(
            edited(text, "path.bottleneck.queue.limit", Some("1")).unwrap_err(),
            "`path.bottleneck.queue.limit` is in a sweep: change it in the file"
        );
    }

    #[test]
    fn a_path_without_a_value_has_what_the_run_has() {
        let text = "[path]\npreset = \"dumbbell\"\nrtt = \"80 ms\"\nbottleneck = { rate = \"100 Mbit/s\" }\n[[flow]]\n[measure]\nduration = \"9 s\"\n";
        let reads = ["path.rtt", "flow[0].count", "path.bottleneck.queue.limit", "flow[0].congestion_control.kind", "flow[0].window"];
        let Ok(checked) = check(&json!({ "text": text, "reads": reads })) else { panic!("the file is right") };
        let values = &checked["values"];
        assert_eq!(values["path.rtt"], json!({ "text": "80 ms", "number": 0.08, "unit": "s" }));
        assert_eq!(values["flow[0].count"], json!({ "text": "1", "number": 1, "unit": "", "implied": true }));
        assert_eq!(values["path.bottleneck.queue.limit"]["number"], 1e6);
        assert_eq!(values["flow[0].congestion_control.kind"]["text"], "reno");
        assert_eq!(values["flow[0].window"], Value::Null);
    }

    #[test]
    fn values_are_read_in_base_units() {
        let tree: DocumentMut =
            "a = \"80 ms\"\nb = { kind = \"red\" }\nc = \"reno\"\nd = \"2 bdp\"\n[[flow]]\nwindow = \"64 KiB\"\n".parse().unwrap();
        let read = |path: &str| read(tree.as_item(), &steps(path).unwrap());
        assert_eq!(read("a"), json!({ "text": "80 ms", "number": 0.08, "unit": "s" }));
        assert_eq!(read("b.kind")["text"], "red");
        assert_eq!(read("c.kind")["text"], "reno");
        assert_eq!(read("d"), json!({ "text": "2 bdp", "number": 2.0, "unit": "bdp" }));
        assert_eq!(read("flow[0].window")["number"], 65536.0);
        assert_eq!(read("flow[1].window"), Value::Null);
        assert!(read("b")["other"].is_string());
    }
}
