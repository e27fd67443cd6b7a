//! Sessions of a server that run at the same time: each one is told when others ran beside it.

use std::collections::BTreeMap;

use super::Nanos;

/// Spells that are kept of a session. More than so many become one with the time between them.
const SPELLS: usize = 1000;

/// Begin and end of a time, since the session began.
pub type Spell = [Nanos; 2];

/// A session that runs.
#[derive(Debug)]
struct Run {
    begun: Nanos,
    /// Begin of the time in which another has run beside it, if one does now.
    since: Option<Nanos>,
    spells: Vec<Spell>,
}

impl Run {
    /// Nobody else runs from `now` on.
    fn is_alone(&mut self, now: Nanos) {
        let Some(since) = self.since.take() else { return };
        let spell = [since, now].map(|at| at.saturating_sub(self.begun));
        let is_full = self.spells.len() == SPELLS;
        match self.spells.last_mut() {
            Some(last) if is_full => last[1] = spell[1],
            _ => self.spells.push(spell),
        }
    }
}

/// Sessions that run now.
#[derive(Debug, Default)]
pub struct Beside(BTreeMap<u64, Run>);

impl Beside {
    /// `session` begins to run.
    pub fn begin(&mut self, now: Nanos, session: u64) {
        for other in self.0.values_mut() {
            other.since.get_or_insert(now);
        }
        let since = (!self.0.is_empty()).then_some(now);
        self.0.insert(session, Run { begun: now, since, spells: Vec::new() });
    }

    /// `session` runs no more: the times in which others ran beside it, in order. None of one that did not run.
    pub fn end(&mut self, now: Nanos, session: u64) -> Vec<Spell> {
        let Some(mut run) = self.0.remove(&session) else { return Vec::new() };
        run.is_alone(now);
        if self.0.len() == 1 {
            self.0.values_mut().for_each(|last| last.is_alone(now));
        }
        run.spells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_session_is_told_when_others_ran() {
        let mut beside = Beside::default();
        beside.begin(100, 1);
        beside.begin(110, 2);
        beside.begin(115, 3);
        assert_eq!(beside.end(120, 3), [[0, 5]]);
        assert_eq!(beside.end(130, 2), [[0, 20]], "one other or two");
        beside.begin(150, 4);
        assert_eq!(beside.end(160, 1), [[10, 30], [50, 60]]);
        assert_eq!(beside.end(170, 4), [[0, 10]]);
        assert_eq!((beside.end(180, 4), beside.end(180, 5)), (vec![], vec![]), "over, or never begun");
        beside.begin(190, 6);
        assert_eq!(beside.end(200, 6), [] as [Spell; 0], "alone");
    }

    #[test]
    fn a_crowd_of_short_sessions_takes_bounded_memory() {
        let mut beside = Beside::default();
        beside.begin(0, 1);
        for other in 0..2 * SPELLS as u64 {
            beside.begin(10 * other, 2);
            beside.end(10 * other + 5, 2);
        }
        let spells = beside.end(30_000, 1);
        assert_eq!((spells.len(), spells[0], spells.last()), (SPELLS, [0, 5], Some(&[9_990, 19_995])));
    }

    proptest! {
        /// Against the definition: at each instant, whether another session runs.
        #[test]
        fn spells_are_the_instants_at_which_another_ran(times in prop::collection::vec((0..50_u64, 1..50_u64), 1..8)) {
            let mut beside = Beside::default();
            let mut all: Vec<(u64, bool, u64)> = Vec::new();
            for (number, (begin, lasts)) in (0..).zip(&times) {
                all.extend([(*begin, true, number), (begin + lasts, false, number)]);
            }
            // Sessions that end at an instant do so before others begin.
            all.sort_unstable();
            for (now, begins, number) in all {
                if begins {
                    beside.begin(now, number);
                    continue;
                }
                let (begun, lasts) = times[number as usize];
                let spells = beside.end(now, number);
                for at in begun..begun + lasts {
                    let others = times.iter().zip(0..).filter(|((begin, lasts), other)| *other != number && (*begin..begin + lasts).contains(&at));
                    let is_told = spells.iter().any(|[from, to]| (begun + from..begun + to).contains(&at));
                    prop_assert_eq!(is_told, others.count() > 0, "{} of {:?}", at, times);
                }
            }
        }
    }
}
