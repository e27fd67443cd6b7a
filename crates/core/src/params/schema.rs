//! The JSON Schema of a [`Kind`].

use super::Kind;
use crate::units::text::{RATE, SIZE, TIME};
use serde_json::{Value as Json, json};

impl Kind {
    /// Returns the schema (2020-12) of values of this kind, as a file holds them.
    pub fn schema(&self) -> Json {
        match self {
            Kind::Bytes { .. } => json!({ "type": "string", "pattern": SIZE.pattern(), "examples": [SIZE.example] }),
            Kind::Count { unit: "", min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Kind::Count { unit, min, .. } => {
                let one = unit.strip_suffix('s').unwrap_or(unit);
                let plural = &unit[one.len()..];
                let words = if plural.is_empty() { one.to_owned() } else { format!("{one}{plural}?") };
                json!({ "type": "string", "pattern": format!("^[0-9]+ ?{words}$"), "examples": [format!("{} {unit}", 10.max(*min))] })
            }
            Kind::Capacity => json!({
                "type": "string",
                "pattern": format!("^[0-9]+(\\.[0-9]+)? ?(packets?|bdp)$|{}", SIZE.pattern()),
                "examples": ["60 packets", "384 KiB", "1 bdp"],
            }),
            Kind::Window => json!({
                "type": "string",
                "pattern": format!("^[0-9]+ ?segments?$|{}", SIZE.pattern()),
                "examples": ["700 segments", "1 MiB"],
            }),
            Kind::Duration { .. } => json!({ "type": "string", "pattern": TIME.pattern(), "examples": [TIME.example] }),
            Kind::Rate => json!({ "type": "string", "pattern": RATE.pattern(), "examples": [RATE.example] }),
            Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
            Kind::Portion { unit } => {
                let count = Kind::Count { unit, min: 0, max: u64::MAX }.schema();
                json!({ "anyOf": [count, Kind::Number { min: 0.0, max: 1.0 }.schema()] })
            }
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::Choice(words) => json!({ "enum": words }),
            Kind::ChoiceOrCsv(words) => json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\.csv$" }] }),
            Kind::Dscp => {
                json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "type": "string", "examples": ["EF", "AF41"] }] })
            }
            Kind::Dscps => {
                json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "type": "string", "examples": ["EF", "AF41 AF42"] }] })
            }
            Kind::Names(_) => json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] }),
            Kind::Queue => json!({ "$ref": "#/$defs/queue" }),
            // The owner of the tables describes their content.
            Kind::Tables(_) => json!({ "type": "array", "items": { "type": "object" }, "minItems": 1 }),
        }
    }
}
