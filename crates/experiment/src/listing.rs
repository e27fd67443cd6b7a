//! Names in an experiment file that are in no registry, for listings.

use super::fields::{self, PATH};
use super::shape::{Case, Field, Shape, Variants};
use longfat_core::params::ParamSpec;

/// A name, one line about it, where it is from, and its parameters.
pub struct Named {
    /// Name as users write it.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Source that defines it.
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: Vec<ParamSpec>,
}

/// Returns the presets of the path, each with its keys that are a single value.
pub fn paths() -> Vec<Named> {
    cases(&PATH)
}

/// Returns the keys of a host.
pub fn host_keys() -> Vec<ParamSpec> {
    single_values(fields::host())
}

fn cases(variants: &Variants) -> Vec<Named> {
    let named = |case: &Case| Named { name: case.name, summary: case.doc, source: case.source, params: single_values(&case.fields) };
    (variants.cases)().iter().map(named).collect()
}

fn single_values(fields: &[Field]) -> Vec<ParamSpec> {
    let single = |field: &Field| if let Shape::Scalar(spec) | Shape::OneOrMany(spec) = field.shape { Some(spec) } else { None };
    fields.iter().filter_map(single).collect()
}
