//! The JSON Schema of experiment files, and their reference in Markdown: both from the tables in [`super::fields`].

use super::fields::{self, CONTROL, DELAY_TRACE, DISCARD, LOSS, PATH, RATE_TRACE, SHARING, SIZING, TRAFFIC};
use super::shape::{Field, QUEUE, Shape, Variants, fields_of};
use super::sweep::FIXED;
use longfat_core::link::framing;
use longfat_core::params::{Keys, Kind, ParamSpec, Value};
use longfat_core::{queue, traffic};
use longfat_tcp::congestion::slow_start;
use longfat_tcp::stack;
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (2020-12) of experiment files, for editors.
pub fn schema() -> Json {
    let mut schema = table(fields::root());
    let extra = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "longfat experiment",
        "$defs": {
            "sweep": sweep(),
            "queue": variants(&QUEUE),
            "discard_policy": variants(&DISCARD),
            "loss": variants(&LOSS),
            "sharing_of_a_memory": variants(&SHARING),
            "rate_trace": variants(&RATE_TRACE),
            "delay_trace": variants(&DELAY_TRACE),
            "traffic": variants(&TRAFFIC),
            "congestion_control": variants(&CONTROL),
            "window_sizing": variants(&SIZING),
            "path": variants(&PATH),
            "endpoint": table(fields::endpoint()),
            "link": table(fields::link()),
        },
    });
    merge(&mut schema, extra);
    for (name, keys) in tables() {
        schema["$defs"][name] = table(&fields_of(keys.0));
    }
    schema
}

fn merge(into: &mut Json, from: Json) {
    if let (Json::Object(into), Json::Object(from)) = (into, from) {
        into.extend(from);
    }
}

/// Anything may be a sweep of such values.
fn or_sweep(plain: Json) -> Json {
    json!({ "anyOf": [plain, { "$ref": "#/$defs/sweep" }] })
}

/// A sweep. Its values are not described a second time here: a table among them may have a label besides.
fn sweep() -> Json {
    json!({
        "type": "object",
        "required": ["sweep"],
        "properties": {
            "sweep": { "type": "array", "minItems": 1 },
            "name": { "type": "string", "description": "name of the axis; by default the key" },
            "zip": { "type": "string", "description": "axes of one zip advance together" },
        },
        "additionalProperties": false,
    })
}

fn shape(shape: &Shape) -> Json {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Names => json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] }),
        Shape::Scalar(spec) => scalar(spec),
        Shape::Drawn(spec) => {
            let random = json!({ "type": "object", "properties": { "random": { "type": "string" } }, "required": ["random"], "additionalProperties": false });
            json!({ "anyOf": [scalar(spec), random] })
        }
        Shape::OneOrMany(spec) => json!({ "anyOf": [scalar(spec), { "type": "array", "items": or_sweep(scalar(spec)), "minItems": 1 }] }),
        Shape::Table(make) => match definition(make()) {
            Some(name) => json!({ "$ref": format!("#/$defs/{name}") }),
            None => table(make()),
        },
        Shape::List(item) => json!({ "type": "array", "items": self::shape(item), "minItems": 1 }),
        Shape::Variants(variants) => json!({ "$ref": format!("#/$defs/{}", variants.what.replace(' ', "_")) }),
        Shape::Labels | Shape::Changes => json!({ "type": "object", "minProperties": 1 }),
    }
}

/// The definition that has exactly these fields, for the tables that occur in several places.
fn definition(fields: &[Field]) -> Option<&'static str> {
    let same = |others: &[Field]| others.iter().map(|f| f.name).eq(fields.iter().map(|f| f.name));
    if same(fields::endpoint()) {
        Some("endpoint")
    } else if same(fields::link()) {
        Some("link")
    } else {
        None
    }
}

fn scalar(spec: &ParamSpec) -> Json {
    let plain = match spec.kind {
        Kind::Tables(keys) => {
            let (name, _) = tables().find(|(_, known)| *known == keys).expect("a registry has it");
            json!({ "type": "array", "items": { "$ref": format!("#/$defs/{name}") }, "minItems": 1 })
        }
        kind => kind.schema(),
    };
    match spec.default {
        Some(Value::Auto) => json!({ "anyOf": [plain, { "const": "auto" }] }),
        _ => plain,
    }
}

/// The keys of the tables that parameters of queues and traffic may be, and what each is called. They may hold themselves.
fn tables() -> impl Iterator<Item = (String, Keys)> {
    let queues = queue::REGISTRY.iter().map(|entry| (entry.name, entry.params));
    let all = queues.chain(traffic::REGISTRY.iter().map(|entry| (entry.name, entry.params)));
    all.flat_map(|(name, params)| {
        params
            .iter()
            .filter_map(move |spec| if let Kind::Tables(keys) = spec.kind { Some((format!("{name}_{}", spec.name), keys)) } else { None })
    })
}

fn default(field: &Field) -> Option<Json> {
    let (Shape::Scalar(spec) | Shape::Drawn(spec)) = field.shape else { return None };
    spec.default.and_then(|value| spec.kind.write(value))
}

fn properties(fields: &[Field]) -> Map<String, Json> {
    let property = |field: &Field| {
        let fixed = FIXED.contains(&field.name);
        let mut json = if fixed { shape(&field.shape) } else { or_sweep(shape(&field.shape)) };
        let mut extra = json!({ "description": field.doc });
        if let Some(default) = default(field) {
            merge(&mut extra, json!({ "default": default }));
        }
        merge(&mut json, extra);
        (field.name.to_owned(), json)
    };
    fields.iter().map(property).collect()
}

fn table(fields: &[Field]) -> Json {
    let required: Vec<&str> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    json!({ "type": "object", "properties": properties(fields), "required": required, "additionalProperties": false })
}

fn variants(variants: &Variants) -> Json {
    let cases = (variants.cases)();
    let tables = cases.iter().map(|case| {
        let mut json = table(&case.fields);
        json["properties"][variants.tag] = or_sweep(json!({ "const": case.name }));
        if variants.default != Some(case.name) {
            json["required"].as_array_mut().expect("a table has the list").push(variants.tag.into());
        }
        merge(&mut json, json!({ "title": case.name, "description": case.doc }));
        json
    });
    let words: Vec<&str> = cases.iter().filter(|c| c.fields.iter().all(|f| !f.required)).map(|c| c.name).collect();
    let mut any: Vec<Json> = tables.collect();
    if !words.is_empty() {
        any.push(json!({ "enum": words }));
    }
    json!({ "anyOf": any })
}

/// Writes every key of an experiment file: the pages of the reference, with their names, as Markdown tables.
pub fn reference() -> Vec<(&'static str, String)> {
    let mut pages = vec![tables_of("file", "At the top of the file.", &[("Top level", "", fields::root())])];
    for (name, doc, variants) in [
        ("path", "The network: one of the presets, or hosts, routers and links of your own.", &PATH),
        ("queue", "Queue of a link or a router.", &QUEUE),
        ("discard", "Discard policy of an ATM switch's output port.", &DISCARD),
        ("loss", "Random loss on a link.", &LOSS),
        ("sharing", "Rule by which the links of a router share one memory.", &SHARING),
        ("rate_trace", "Rate of a link over time.", &RATE_TRACE),
        ("delay_trace", "Delay of a link over time.", &DELAY_TRACE),
        ("traffic", "Behaviour of the sending application.", &TRAFFIC),
        ("congestion_control", "Congestion control of the sender.", &CONTROL),
        ("window_sizing", "Rule by which the receiver sizes its window.", &SIZING),
    ] {
        let mut text = begun(name, doc);
        for case in (variants.cases)() {
            let doc = format!("{}.\n\n{}", case.doc, sources(case.source));
            section(&mut text, &format!("{name}: {} = \"{}\"", variants.tag, case.name), &doc, &case.fields);
            for field in &case.fields {
                if let Shape::Scalar(ParamSpec { name, kind: Kind::Tables(keys), .. }) = field.shape {
                    section(&mut text, &format!("{name} of {}", case.name), "", &fields_of(keys.0));
                }
            }
        }
        pages.push((name, text));
    }
    pages.push(words("stack", "TCP implementation of a connection's end.", stack::REGISTRY.iter().map(|e| [e.name, e.summary, e.source])));
    pages.push(words("slow_start", "Slow start of the sender.", slow_start::REGISTRY.iter().map(|e| [e.name, e.summary, e.source])));
    pages.push(words("type", "Type of a link.", framing::REGISTRY.iter().map(|e| [e.name, e.summary, e.source])));
    let link = ("A link", "In `bottleneck`, `edge`, `hops` and `path.link`; `reverse` takes the same keys.", fields::link());
    pages.push(tables_of(
        "link",
        "A link, and a route that moves.",
        &[link, ("path.move", "For an explicit path.", fields::path_change())],
    ));
    pages.push(tables_of("host", "A host that is not ideal.", &[("[[host]]", "", fields::host())]));
    pages.push(tables_of("router", "A router that is not ideal.", &[("[[router]]", "", fields::router())]));
    let endpoint = fields::endpoint();
    let own: Vec<Field> = fields::flow().iter().copied().filter(|f| endpoint.iter().all(|e| e.name != f.name)).collect();
    pages.push(tables_of(
        "flow",
        "A group of connections. TCP parameters are on a [page of their own](endpoint.md).",
        &[("[[flow]]", "", &own)],
    ));
    let either = "The default is the stack's; the table shows that of `rfc`.";
    let ends = ("flow and receiver", either, &with_defaults(endpoint)[..]);
    pages.push(tables_of("endpoint", "TCP parameters, in `[[flow]]` and for the listening end in its `receiver`.", &[ends]));
    pages.push(tables_of("measure", "Length of a run, and what it records.", &[("[measure]", "", fields::measure())]));
    pages
}

/// Begins a page.
fn begun(name: &str, doc: &str) -> String {
    let doc = wrapped(&format!("{doc} For anyone who writes an [experiment file](../experiment-file.md)."), "");
    format!("# Keys: {name}\n\n<!-- Generated: see crates/experiment/src/tests/reference.rs -->\n\n{doc}")
}

/// Columns of a page's prose.
const COLUMNS: usize = 120;

/// Breaks prose into lines, the second and later ones indented by `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > COLUMNS {
            lines.push('\n');
            lines.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += width;
    }
    lines.push('\n');
    lines
}

/// Writes the sources of an entry, as a list where there are several.
fn sources(source: &str) -> String {
    if !source.contains("; ") {
        return wrapped(&format!("Source: {source}."), "");
    }
    let items: String = source.split("; ").map(|one| wrapped(&format!("- {one}"), "  ")).collect();
    format!("Sources:\n\n{items}")
}

/// Makes a page of tables, each with its title and sentence.
fn tables_of(name: &'static str, doc: &str, sections: &[(&str, &str, &[Field])]) -> (&'static str, String) {
    let mut text = begun(name, doc);
    for (title, doc, fields) in sections {
        section(&mut text, title, doc, fields);
    }
    (name, text)
}

/// Fields of an endpoint with the defaults of the plain stack.
fn with_defaults(fields: &[Field]) -> Vec<Field> {
    let param = |name: &str| longfat_tcp::options::PARAMS.iter().find(|p| p.name == name);
    fields.iter().map(|f| param(f.name).map_or(*f, |p| Field::param(*p))).collect()
}

/// Makes a page with the words of a registry: their meanings and sources.
fn words(name: &'static str, doc: &str, entries: impl Iterator<Item = [&'static str; 3]>) -> (&'static str, String) {
    let mut text = begun(name, doc) + "\n| word | meaning | source |\n|---|---|---|\n";
    for [name, summary, source] in entries {
        text.push_str(&format!("| `{name}` | {summary} | {source} |\n"));
    }
    (name, text)
}

fn section(out: &mut String, title: &str, doc: &str, fields: &[Field]) {
    out.push_str(&format!("\n## {title}\n\n"));
    if !doc.is_empty() {
        let (first, rest) = doc.split_once("\n\n").unwrap_or((doc, ""));
        out.push_str(&wrapped(&format!("{}{}", first[..1].to_uppercase(), &first[1..]), ""));
        out.push_str(&format!("\n{rest}{}", if rest.is_empty() { "" } else { "\n" }));
    }
    if fields.is_empty() {
        out.push_str("No keys.\n");
        return;
    }
    out.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let value = match field.shape {
            Shape::Scalar(spec) => spec.kind.expectation(),
            Shape::OneOrMany(spec) => format!("{}, or a list", spec.kind.expectation()),
            Shape::Drawn(spec) => format!("{}, or `{{ random = \"uniform 0 s..1 s\" }}` or `\"exponential 1 s\"`", spec.kind.expectation()),
            Shape::Text => "a text".to_owned(),
            Shape::Names => "a name, or a list of names".to_owned(),
            Shape::Table(_) | Shape::Labels | Shape::Changes => "a table".to_owned(),
            Shape::List(_) => "an array of tables".to_owned(),
            Shape::Variants(v) => format!("a table with `{}`, or its word", v.tag),
        };
        let default = match default(field) {
            Some(json) => format!("`{json}`"),
            None if field.required => "required".to_owned(),
            None => String::new(),
        };
        out.push_str(&format!("| `{}` | {value} | {default} | {} |\n", field.name, field.doc));
    }
}
