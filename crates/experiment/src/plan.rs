//! Planning: everything that must be known about each run of a sweep before any is run. For a sweep of a million runs it must cost little.

use super::backend::Backend;
use super::document::Document;
use super::error::Error;
use super::identity::{Hash, Hasher};
use super::resolve::{repeats_are_drawn, resolve};
use super::tree::Node;
use super::{backend, identity, write};
use longfat_model::Experiment;
use longfat_model::cost;
use longfat_record::warning::{self, Given, form};
use std::sync::Arc;

/// Runs that are planned, in the order in which they were asked for.
#[derive(Default)]
pub struct Plan {
    /// Hash of each: [`super::Run::hash`] as bytes.
    pub hashes: Vec<Hash>,
    /// Estimated cost of each: [`cost::estimate`].
    pub costs: Vec<f64>,
    /// Seed of each.
    pub seeds: Vec<u64>,
    /// Backend that runs each.
    pub backends: Vec<&'static Backend>,
    /// Warnings before any run: one for all that differ in numbers alone, with the places of the runs that have it.
    pub warnings: Vec<(Given<String>, Vec<usize>)>,
}

impl Plan {
    /// Adds a warning about the next run; returns its place among the warnings.
    fn warn(&mut self, given: Given<String>) -> usize {
        let alike = |known: &Given<String>| known.warning.name == given.warning.name && form(&known.text).eq(form(&given.text));
        let known = self.warnings.iter().position(|(known, _)| alike(known)).unwrap_or(self.warnings.len());
        match self.warnings.get_mut(known) {
            Some((known, _)) => known.count = known.count.max(given.count),
            None => self.warnings.push((given, Vec::new())),
        }
        known
    }
}

/// A run that is resolved. Repeats have their experiment in common, but for the seed.
#[derive(Clone)]
pub struct Resolved {
    /// The experiment, with the seed of the run or of another repeat.
    like: Arc<Experiment>,
    /// Seed of the run.
    pub seed: u64,
    /// Backend that runs it.
    pub backend: &'static Backend,
}

impl Resolved {
    /// Returns the experiment of the run.
    pub fn experiment(self) -> Experiment {
        Experiment { seed: self.seed, ..Arc::unwrap_or_clone(self.like) }
    }
}

/// Resolves runs one after the other. It knows the last one.
pub struct Resolver<'a> {
    document: &'a Document,
    /// Number of the last run's combination, and the file that the combination stands for.
    last: Option<(u64, Node, Resolved)>,
}

impl<'a> Resolver<'a> {
    /// Returns a resolver of the runs of `document`.
    pub fn new(document: &'a Document) -> Self {
        Resolver { document, last: None }
    }

    /// Run `number` (under [`Document::run_count`]): as [`Document::run`], at a third of the cost, and next to none for a repeat of the last.
    ///
    /// # Errors
    /// An error as from [`Document::run`].
    pub fn resolve(&mut self, number: u64) -> Result<Resolved, Error> {
        let (combination, repeat) = self.document.place(number);
        let root = match self.last.take() {
            Some((last, root, resolved)) if self.document.place(last).0 == combination => {
                if !repeats_are_drawn(&resolved.like) {
                    let again = Resolved { seed: resolved.seed + repeat - self.document.place(last).1, ..resolved };
                    self.last = Some((number, root, again.clone()));
                    return Ok(again);
                }
                Ok(root)
            }
            _ => self.document.chosen(combination),
        };
        let resolved = root.and_then(|root| {
            let experiment = resolve(&root, repeat, self.document.files())?;
            let backend = backend::of(&root);
            if !backend.cannot.is_empty() {
                backend::check(backend, &identity::essence(&write::experiment(&experiment, backend.name)), &root)?;
            }
            let resolved = Resolved { seed: experiment.seed, like: Arc::new(experiment), backend };
            self.last = Some((number, root, resolved.clone()));
            Ok(resolved)
        });
        resolved.map_err(|fault| self.document.located(fault, combination))
    }
}

impl Document {
    /// Plans the runs of these numbers, each under [`Document::run_count`].
    ///
    /// # Errors
    /// An error as from [`Document::run`], for the first run that has one.
    pub fn plan(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Plan, Error> {
        let (mut resolver, mut hasher, mut plan) = (Resolver::new(self), Hasher::default(), Plan::default());
        // The last run, and which warnings it has.
        let mut last: Option<(Resolved, Vec<usize>)> = None;
        for number in numbers {
            let run = resolver.resolve(number)?;
            let place = plan.hashes.len();
            let (cost, hash, warnings) = match last {
                Some((last, warnings)) if Arc::ptr_eq(&last.like, &run.like) => (plan.costs[place - 1], hasher.repeat(run.seed), warnings),
                _ => {
                    // Two runs in real time are never the same.
                    let alike = if run.backend.is_real_time { 1 } else { self.repeats() };
                    let given = warning::before(&run.like, alike);
                    let warnings = given.into_iter().map(|given| plan.warn(given)).collect();
                    (cost::estimate(&run.like), hasher.hash(&run.like, run.backend.name), warnings)
                }
            };
            warnings.iter().for_each(|&warning| plan.warnings[warning].1.push(place));
            plan.costs.push(cost);
            plan.seeds.push(run.seed);
            plan.backends.push(run.backend);
            plan.hashes.push(hash);
            last = Some((run, warnings));
        }
        Ok(plan)
    }
}
