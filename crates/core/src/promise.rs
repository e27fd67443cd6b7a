//! Promises: what a registry entry claims to achieve, as data beside the entry. The conformance of the simulator runs every entry and checks each of its claims.

use crate::params::{ParamSpec, Value};
use std::fmt::Display;

/// Parameters by name.
pub type Given = &'static [(&'static str, Value)];

/// Claim of a registry entry, with its source.
#[derive(Clone, Copy, Debug)]
pub struct Promise<Claim: 'static> {
    /// Claim itself.
    pub claim: Claim,
    /// Parameters for which the entry claims it; the others have their defaults.
    pub given: Given,
    /// Source of the bounds: a paper, an RFC, or arithmetic on what they say.
    pub source: &'static str,
}

impl<Claim: Copy> Promise<Claim> {
    /// `claim`, for the default parameters.
    pub const fn new(claim: Claim, source: &'static str) -> Self {
        Promise { claim, given: &[], source }
    }

    /// `claim`, for the parameters in `given`.
    pub const fn with(given: Given, claim: Claim, source: &'static str) -> Self {
        Promise { claim, given, source }
    }
}

impl<Claim: Display> Promise<Claim> {
    /// Returns the claim in words, with what it is given: "uses at least 95 % of an empty path, with alpha = 20". `specs` are the parameters of its entry.
    ///
    /// # Panics
    /// Panics if it is given a parameter that the entry has not.
    pub fn said(&self, specs: &[ParamSpec]) -> String {
        format!("{}{}", self.claim, self.conditions(specs))
    }

    /// Returns what it is given, as an experiment file has it: ", with alpha = 20"; empty where it has the defaults.
    ///
    /// # Panics
    /// Panics if it is given a parameter that the entry has not.
    pub fn conditions(&self, specs: &[ParamSpec]) -> String {
        let one = |(name, value): &(&str, Value)| {
            let spec = specs
                .iter()
                .find(|spec| spec.name == *name)
                .unwrap_or_else(|| panic!("a promise is given `{name}`, which is no parameter"));
            format!("{name} = {}", spec.kind.write(*value).unwrap_or_default())
        };
        let all: Vec<String> = self.given.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!(", with {}", all.join(", ")) }
    }
}
