//! Routes that move: from some time on what would take a link takes another between the same two routers. A packet keeps its place in the
//! route table, so that the queues behind know it as of the same flow.

use std::collections::BTreeMap;

use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_model::made::Moves;

use super::inputs::InputId;

/// What moves when, and by which inputs it then comes.
#[derive(Debug, Default)]
pub struct Detours {
    /// What is taken in place of what.
    pub moves: Moves,
    /// By the link from which a packet comes and the one that it takes: its input.
    inputs: BTreeMap<(u32, u32), InputId>,
}

impl Detours {
    /// Those of `experiment`; their inputs are still to come.
    pub fn new(experiment: &Experiment) -> Self {
        Detours { moves: Moves::new(experiment), inputs: BTreeMap::new() }
    }

    /// Each pair of links that can follow each other on this route where either moves.
    pub fn pairs(&self, route: &[u32]) -> Vec<(u32, u32)> {
        let moves = |link: u32| self.moves.all(link).len() > 1;
        let windows = route.windows(2).filter(|pair| moves(pair[0]) || moves(pair[1]));
        windows
            .flat_map(|pair| {
                self.moves.all(pair[0]).into_iter().flat_map(|from| self.moves.all(pair[1]).into_iter().map(move |to| (from, to)))
            })
            .collect()
    }

    /// What comes from the link `from` for `to` comes by this input.
    pub fn lead(&mut self, from: u32, to: u32, input: InputId) {
        self.inputs.insert((from, to), input);
    }

    /// The input of a packet that comes from the link `from` at `time`, if that is not the one of its route: `next` is the link that is next there.
    pub fn input(&self, from: u32, next: u32, time: Time) -> Option<InputId> {
        self.inputs.get(&(from, self.moves.at(next, time))).copied()
    }
}
