//! What has a name in an experiment file and stands in no registry: for listings.

use super::fields::{self, PATH, TRAFFIC};
use super::shape::{Field, Shape, Variants};
use crate::params::ParamSpec;

/// A name, one line about it, and its parameters.
pub struct Named {
    pub name: &'static str,
    pub summary: &'static str,
    pub params: Vec<ParamSpec>,
}

/// Presets of the path, each with those of its keys that are a single value.
pub fn paths() -> Vec<Named> {
    cases(&PATH)
}

/// Kinds of traffic.
pub fn traffic() -> Vec<Named> {
    cases(&TRAFFIC)
}

/// Keys of a host, each with itself as its parameter.
pub fn host_keys() -> Vec<Named> {
    fields::host().iter().map(|field| Named { name: field.name, summary: field.doc, params: single_values(&[*field]) }).collect()
}

fn cases(variants: &Variants) -> Vec<Named> {
    (variants.cases)().iter().map(|case| Named { name: case.name, summary: case.doc, params: single_values(&case.fields) }).collect()
}

fn single_values(fields: &[Field]) -> Vec<ParamSpec> {
    let single = |field: &Field| if let Shape::Scalar(spec) | Shape::OneOrMany(spec) = field.shape { Some(spec) } else { None };
    fields.iter().filter_map(single).collect()
}
