//! Routes that move: from some time on what would take a link takes another between the same two routers. A packet keeps its place in the
//! route table, so that the queues behind know it as of the same flow.

use std::collections::BTreeMap;

use longfat_core::time::Time;
use longfat_experiment::Experiment;

use crate::route::END;

/// What moves when.
#[derive(Debug, Default)]
pub struct Detours {
    /// For each link that moves, from when on what is taken in its place.
    steps: BTreeMap<u32, Vec<(Time, u32)>>,
    /// By the link from which a packet comes and the one that it takes: its input.
    inputs: BTreeMap<(u32, u32), u32>,
}

impl Detours {
    /// Those of `experiment`; their inputs are still to come.
    pub fn new(experiment: &Experiment) -> Self {
        let mut steps: BTreeMap<u32, Vec<(Time, u32)>> = BTreeMap::new();
        for step in &experiment.network.moves {
            steps.entry(step.link as u32).or_default().push((Time::ZERO + step.at, step.by as u32));
        }
        Detours { steps, inputs: BTreeMap::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// What a packet that comes at `time` takes in place of `link`.
    pub fn at(&self, link: u32, time: Time) -> u32 {
        let steps = self.steps.get(&link).map_or(&[][..], Vec::as_slice);
        steps.iter().rev().find(|(from, _)| *from <= time).map_or(link, |step| step.1)
    }

    /// All that is ever taken in place of `link`: itself first.
    pub fn all(&self, link: u32) -> Vec<u32> {
        let mut all = vec![link];
        for &(_, by) in self.steps.get(&link).into_iter().flatten() {
            if !all.contains(&by) {
                all.push(by);
            }
        }
        all
    }

    /// Each pair of links that can follow each other on this route where either moves.
    pub fn pairs(&self, route: &[u32]) -> Vec<(u32, u32)> {
        let moves = |link: u32| self.steps.contains_key(&link);
        let windows = route.windows(2).filter(|pair| moves(pair[0]) || moves(pair[1]));
        windows
            .flat_map(|pair| self.all(pair[0]).into_iter().flat_map(|from| self.all(pair[1]).into_iter().map(move |to| (from, to))))
            .collect()
    }

    /// What comes from the link `from` for `to` comes by this input.
    pub fn lead(&mut self, from: u32, to: u32, input: u32) {
        self.inputs.insert((from, to), input);
    }

    /// The input of a packet that comes from the link `from` at `time`, if that is not the one of its route: `next` is the link that is next there.
    pub fn input(&self, from: u32, next: u32, time: Time) -> Option<u32> {
        if next == END { None } else { self.inputs.get(&(from, self.at(next, time))).copied() }
    }
}
