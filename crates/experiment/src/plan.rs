//! Planning: what has to be known of each run of a sweep before any is run, which for a sweep of a million must cost little.

use super::backend::Backend;
use super::document::{Document, said};
use super::error::Error;
use super::identity::{Hash, Hasher};
use super::model::Experiment;
use super::resolve::resolve;
use super::tree::Node;
use super::warning::{self, Given, form};
use super::{backend, cost, identity, write};

/// Runs that are planned, in the order in which they were asked for.
#[derive(Default)]
pub struct Plan {
    /// Their identities: as [`super::Run::hash`], but bytes.
    pub hashes: Vec<Hash>,
    /// About how long each takes: [`cost::estimate`].
    pub costs: Vec<f64>,
    /// The start of each one's randomness.
    pub seeds: Vec<u64>,
    /// What is to run each.
    pub backends: Vec<&'static Backend>,
    /// What can be told before any is run: one for all that differ in numbers alone, with the places of the runs that have it.
    pub warnings: Vec<(Given<String>, Vec<usize>)>,
}

impl Plan {
    fn warn(&mut self, given: Given<String>) {
        let place = self.hashes.len();
        let alike = |known: &Given<String>| known.warning.name == given.warning.name && form(&known.text).eq(form(&given.text));
        match self.warnings.iter_mut().find(|(known, _)| alike(known)) {
            Some((known, places)) => {
                known.count = known.count.max(given.count);
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
            None => self.warnings.push((given, vec![place])),
        }
    }
}

/// Resolves runs one after the other. It knows the last combination.
pub struct Resolver<'a> {
    document: &'a Document,
    chosen: Option<(u64, Node)>,
}

impl<'a> Resolver<'a> {
    /// For runs of `document`.
    pub fn new(document: &'a Document) -> Self {
        Resolver { document, chosen: None }
    }

    /// The experiment that run `number` (under [`Document::run_count`]) is, and what is to run it: as of [`Document::run`], at a third of the cost.
    ///
    /// # Errors
    /// As [`Document::run`].
    pub fn experiment(&mut self, number: u64) -> Result<(Experiment, &'static Backend), Error> {
        let (combination, repeat) = self.document.place(number);
        let root = match self.chosen.take() {
            Some((last, root)) if last == combination => Ok(root),
            _ => self.document.chosen(combination),
        };
        let resolved = root.and_then(|root| {
            let experiment = resolve(&root, repeat)?;
            let backend = said(&root);
            if !backend.cannot.is_empty() {
                backend::check(backend, &identity::essence(&write::experiment(&experiment, backend.name)), &root)?;
            }
            self.chosen = Some((combination, root));
            Ok((experiment, backend))
        });
        resolved.map_err(|fault| self.document.located(fault, combination))
    }
}

impl Document {
    /// Plans the runs of these numbers, each under [`Document::run_count`].
    ///
    /// # Errors
    /// As [`Document::run`], of the first that has one.
    pub fn plan(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Plan, Error> {
        let (mut resolver, mut hasher, mut plan) = (Resolver::new(self), Hasher::default(), Plan::default());
        for number in numbers {
            let (experiment, backend) = resolver.experiment(number)?;
            warning::before(&experiment, self.repeats()).into_iter().for_each(|given| plan.warn(given));
            plan.costs.push(cost::estimate(&experiment));
            plan.seeds.push(experiment.seed);
            plan.backends.push(backend);
            plan.hashes.push(hasher.hash(experiment, backend.name));
        }
        Ok(plan)
    }
}
