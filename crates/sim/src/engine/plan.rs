//! Plan of a run: in which order stages advance, how far each may be ahead of the others, and how far all advance per sweep.
//!
//! An event at a stage reaches the next stage no earlier than a known *lag* later: a link's delay and the transmission of a least packet.
//! So a stage may advance, by itself, as far as the stages that feed it have advanced plus their lag: its *lookahead*. (Conservative
//! parallel discrete-event simulation: Chandy and Misra 1979, Bryant 1977.) The lookahead need not be computed again and again. It is fixed
//! once: each stage has a *lead*, and in each sweep all stages, in order, advance up to the front of the sweep plus their lead. The front
//! moves by one *period* per sweep. An edge from a stage to one that comes later in the order is satisfied when
//!
//! ```text
//! lead[to] <= lead[from] + lag
//! ```
//!
//! and an edge to one that comes earlier (a *back edge*), which has last seen `from` a sweep ago, when
//!
//! ```text
//! lead[to] <= lead[from] + lag - period
//! ```
//!
//! An edge without a lag never leads back. Sweeps would allow it, but where all live together, one instant at a time, what comes at this
//! An edge without a lag never leads back. Sweeps would allow it. But where all stages go together, one instant at a time, an event of this
//! instant would come to a stage that has had its turn.
//!
//! These are difference constraints (Bellman 1958, Ford 1956). They have a solution unless the lags around some cycle are less than its
//! back edges times the period. The plan takes the greatest period that has one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use longfat_core::time::Duration;

/// Edges between stages: from, to, and the least lag in ps.
#[derive(Debug, Default)]
pub(super) struct Graph {
    stages: usize,
    edges: BTreeMap<(usize, usize), u64>,
    /// Stages that no other stage may be ahead of by more than this, in ps.
    horizons: BTreeMap<usize, u64>,
}

/// Order in which stages advance, and how far.
#[derive(Debug)]
pub(super) struct Plan {
    /// Every stage, in the order of a sweep.
    pub order: Vec<usize>,
    /// Distance of each stage behind the front, by its number: its negative lead.
    pub behind: Vec<Duration>,
    /// Time from one sweep to the next.
    pub period: Duration,
}

impl Graph {
    /// Returns a graph of `stages` stages without edges.
    pub(super) fn new(stages: usize) -> Self {
        Graph { stages, ..Graph::default() }
    }

    /// Adds an edge: an event at `from` reaches `to` no earlier than `lag` later.
    pub(super) fn join(&mut self, from: usize, to: usize, lag: Duration) {
        let least = self.edges.entry((from, to)).or_insert(u64::MAX);
        *least = (*least).min(lag.as_ps());
    }

    /// Bounds all stages: none may be ahead of `stage` by more than `lag`.
    pub(super) fn bound(&mut self, stage: usize, lag: Duration) {
        let least = self.horizons.entry(stage).or_insert(u64::MAX);
        *least = (*least).min(lag.as_ps());
    }

    /// Returns the plan, with a period of at most `longest`.
    ///
    /// The first order has back edges of long lags. It is as good as any if the cycle that sets its period has one back edge, since every cycle has
    /// one. If not, another is tried, in which what goes around that cycle is done as it goes.
    pub(super) fn plan(&self, longest: Duration) -> Plan {
        let longest = longest.as_ps() as i64;
        let mut best = self.with(self.order(|edge| edge.1), longest);
        while let Some(tightest) = best.tightest.filter(|cycle| cycle.backs > 1) {
            let distances = self.distances(tightest.stage);
            // Slack of an edge: its lag minus the difference between its stages' least distances from the first one.
            let slack = |((from, to), lag): Lag| distances[from].saturating_add(lag).saturating_sub(distances[to]);
            let other = self.with(self.order(slack), longest);
            let gain = other.period - best.period;
            let is_worth_another = gain > best.period / 8;
            if gain > 0 {
                best = other;
            }
            if !is_worth_another {
                break;
            }
        }
        let leads = &best.leads[..self.stages];
        let first = leads.iter().copied().max().unwrap_or(0);
        let behind = leads.iter().map(|lead| Duration::from_ps((first - lead) as u64)).collect();
        Plan { order: best.order, behind, period: Duration::from_ps(best.period as u64) }
    }

    /// Solves for the greatest period with this order.
    fn with(&self, order: Vec<usize>, longest: i64) -> Solution {
        let mut place = vec![0; self.stages];
        order.iter().enumerate().for_each(|(i, stage)| place[*stage] = i);
        let edge = |((from, to), lag): Lag| Edge { from, to, lag: lag as i64, is_back: place[from] > place[to] };
        let mut edges: Vec<Edge> = self.lags().map(edge).collect();
        // A bound of all stages is a stage of its own, the last in the order.
        let horizon = self.stages;
        edges.extend(self.horizons.iter().map(|(&from, &lag)| Edge { from, to: horizon, lag: lag as i64, is_back: false }));
        if !self.horizons.is_empty() {
            edges.extend((0..self.stages).map(|to| Edge { from: horizon, to, lag: 0, is_back: true }));
        }
        // In the order of a sweep most leads are right after one pass.
        edges.sort_by_key(|edge| place.get(edge.from).copied().unwrap_or(horizon));
        let (mut period, mut tightest) = (longest, None);
        loop {
            match leads(self.stages + 1, &edges, period) {
                Ok(leads) => return Solution { order, leads, period, tightest },
                Err(cycle) => {
                    assert!(cycle.lag > 0 && cycle.lag / cycle.backs < period, "what happens in a cycle of stages takes time");
                    (period, tightest) = (cycle.lag / cycle.backs, Some(cycle));
                }
            }
        }
    }

    fn lags(&self) -> impl Iterator<Item = Lag> {
        self.edges.iter().map(|(ends, lag)| (*ends, *lag))
    }

    /// The least lag from `first` to each stage (Dijkstra 1959); to one that nothing reaches from there, from the first such stage that reaches it.
    fn distances(&self, first: usize) -> Vec<u64> {
        let mut all = vec![u64::MAX; self.stages];
        let mut ready = BinaryHeap::new();
        for start in std::iter::once(first).chain(0..self.stages) {
            ready.push(Reverse((0, start)));
            while let Some(Reverse((distance, stage))) = ready.pop() {
                if all[stage] == u64::MAX {
                    all[stage] = distance;
                    let ahead = self.edges.range((stage, 0)..=(stage, usize::MAX));
                    ready.extend(ahead.map(|((_, to), lag)| Reverse((distance + lag, *to))));
                }
            }
        }
        all
    }

    /// An order in which the edges that lead back have weights as great as can be, and none of them is without a lag.
    fn order(&self, weight: impl Fn(Lag) -> u64) -> Vec<usize> {
        let weight = |edge: Lag| if edge.1 == 0 { 0 } else { weight(edge).saturating_add(1) };
        let edges: Vec<Lag> = self.lags().map(|edge| (edge.0, weight(edge))).collect();
        let mut weights: Vec<u64> = edges.iter().map(|(_, weight)| *weight).filter(|weight| *weight > 0).collect();
        weights.sort_unstable();
        weights.dedup();
        weights.push(u64::MAX);
        // Below the least weight are only the edges without a lag.
        let (mut good, mut bad) = (0, weights.len());
        let mut order = topological(self.stages, &edges, weights[0]).expect("what happens in a cycle of stages takes time");
        while bad - good > 1 {
            let middle = usize::midpoint(good, bad);
            match topological(self.stages, &edges, weights[middle]) {
                Some(better) => (good, order) = (middle, better),
                None => bad = middle,
            }
        }
        order
    }
}

/// An edge: from where to where, and its lag in ps, or its weight.
type Lag = ((usize, usize), u64);

/// Solution of the constraints for one order.
struct Solution {
    order: Vec<usize>,
    leads: Vec<i64>,
    period: i64,
    /// Cycle that keeps the period from being longer, if any.
    tightest: Option<Cycle>,
}

/// A cycle of stages.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    /// One of them.
    stage: usize,
    lag: i64,
    /// Number of its edges that lead back.
    backs: i64,
}

/// Returns an order of `stages` stages in which no edge of a weight below `limit` leads back. Of the possible next stages, the one with the
/// lowest number is next.
fn topological(stages: usize, edges: &[Lag], limit: u64) -> Option<Vec<usize>> {
    let mut before = vec![0; stages];
    let mut behind = vec![Vec::new(); stages];
    for ((from, to), _) in edges.iter().filter(|(_, weight)| *weight < limit) {
        before[*to] += 1;
        behind[*from].push(*to);
    }
    let mut ready: BinaryHeap<_> = (0..stages).filter(|stage| before[*stage] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(stages);
    while let Some(Reverse(stage)) = ready.pop() {
        order.push(stage);
        for &to in &behind[stage] {
            before[to] -= 1;
            if before[to] == 0 {
                ready.push(Reverse(to));
            }
        }
    }
    (order.len() == stages).then_some(order)
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    lag: i64,
    is_back: bool,
}

/// The greatest leads that satisfy every edge, none above zero; or a cycle that has no solution.
fn leads(stages: usize, edges: &[Edge], period: i64) -> Result<Vec<i64>, Cycle> {
    let mut leads = vec![0_i64; stages];
    let mut by = vec![usize::MAX; stages];
    loop {
        let mut changed = false;
        for (i, edge) in edges.iter().enumerate() {
            let most = leads[edge.from] + edge.lag - if edge.is_back { period } else { 0 };
            if most < leads[edge.to] {
                (leads[edge.to], by[edge.to]) = (most, i);
                changed = true;
            }
        }
        if !changed {
            return Ok(leads);
        }
        if let Some(cycle) = cycle(edges, &by) {
            return Err(cycle);
        }
    }
}

/// A cycle among the edges `by` which stages have last been held back, if there is one.
fn cycle(edges: &[Edge], by: &[usize]) -> Option<Cycle> {
    let mut seen = vec![usize::MAX; by.len()];
    for start in 0..by.len() {
        let mut stage = start;
        while seen[stage] == usize::MAX {
            seen[stage] = start;
            match edges.get(by[stage]) {
                Some(edge) => stage = edge.from,
                None => break,
            }
        }
        if seen[stage] != start || by[stage] == usize::MAX {
            continue;
        }
        let (mut at, mut cycle) = (stage, Cycle { stage: usize::MAX, lag: 0, backs: 0 });
        loop {
            let edge = edges[by[at]];
            cycle = Cycle { stage: cycle.stage.min(edge.from), lag: cycle.lag + edge.lag, backs: cycle.backs + i64::from(edge.is_back) };
            at = edge.from;
            if at == stage {
                return Some(cycle);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(stages: usize, edges: &[(usize, usize, u64)]) -> Graph {
        let mut graph = Graph::new(stages);
        edges.iter().for_each(|&(from, to, lag)| graph.join(from, to, Duration::from_ps(lag)));
        graph
    }

    const LONGEST: Duration = Duration::from_ps(1_000_000);

    /// A sender, its link, the receiver, and the link back.
    #[test]
    fn the_period_of_a_loop_is_its_round_trip() {
        let plan = graph(4, &[(0, 1, 0), (1, 2, 300), (2, 3, 0), (3, 0, 500)]).plan(LONGEST);
        assert_eq!(plan.order, [0, 1, 2, 3]);
        assert_eq!(plan.period.as_ps(), 800);
        // The last link knows of packets to the sender 500 after they have come to the link itself.
        assert_eq!(plan.behind.iter().map(|d| d.as_ps()).collect::<Vec<_>>(), [300, 300, 0, 0]);
    }

    #[test]
    fn without_a_loop_the_period_is_the_longest() {
        assert_eq!(graph(3, &[(0, 1, 0), (1, 2, 300)]).plan(LONGEST).period, LONGEST);
    }

    #[test]
    fn nobody_is_beyond_a_horizon() {
        let mut graph = graph(4, &[(0, 1, 0), (1, 2, 300), (2, 3, 0), (3, 0, 500)]);
        graph.bound(0, Duration::from_ps(100));
        let plan = graph.plan(LONGEST);
        assert_eq!(plan.period.as_ps(), 100);
        assert!(plan.behind[0].as_ps() == 0);
    }

    proptest! {
        #[test]
        fn a_plan_keeps_every_edge_and_no_longer_period_does(
            stages in 2_usize..9,
            edges in prop::collection::vec((0_usize..9, 0_usize..9, 1_u64..500), 1..20),
            at_once in prop::collection::vec((0_usize..9, 0_usize..9), 0..6),
            bounds in prop::collection::vec((0_usize..9, 1_u64..500), 0..3),
        ) {
            // Around a cycle there is some lag.
            let at_once = at_once.into_iter().map(|(a, b)| ((a % stages).min(b % stages), (a % stages).max(b % stages), 0));
            let edges = edges.into_iter().map(|(a, b, lag)| (a % stages, b % stages, lag)).chain(at_once);
            let edges: Vec<_> = edges.filter(|(a, b, _)| a != b).collect();
            let mut graph = graph(stages, &edges);
            bounds.iter().for_each(|(stage, lag)| graph.bound(stage % stages, Duration::from_ps(*lag)));
            let plan = graph.plan(LONGEST);
            let mut place = vec![0; stages];
            plan.order.iter().enumerate().for_each(|(i, stage)| place[*stage] = i);
            let (period, lead) = (plan.period.as_ps() as i64, |stage: usize| -(plan.behind[stage].as_ps() as i64));
            for (&(from, to), &lag) in &graph.edges {
                let back = if place[from] > place[to] { period } else { 0 };
                prop_assert!(lead(to) <= lead(from) + lag as i64 - back);
                prop_assert!(lag > 0 || back == 0, "what takes no time from {} to {} leads back", from, to);
            }
            for (&stage, &lag) in &graph.horizons {
                prop_assert!((0..stages).all(|other| lead(other) <= lead(stage) + lag as i64 - period));
            }
            prop_assert!((0..stages).any(|stage| lead(stage) == 0));
            // With this order, every longer period meets a cycle, so a period of one more has no solution.
            if plan.period < LONGEST {
                prop_assert_eq!(graph.with(plan.order, period + 1).period, period);
            }
        }

        /// However stages are numbered, of loops through one stage (a bottleneck, with the pairs at its sides) the shortest sets the period: each has
        /// one edge that leads back.
        #[test]
        fn the_period_of_loops_through_one_stage_is_the_shortest(
            loops in prop::collection::vec(prop::collection::vec(1_u64..500, 2..6), 1..6),
            numbers in Just((0..40_usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut graph = Graph::new(40);
            let mut next = numbers.iter().copied();
            let hub = next.next().unwrap();
            for lags in &loops {
                let mut at = hub;
                for (i, lag) in lags.iter().enumerate() {
                    let to = if i + 1 == lags.len() { hub } else { next.next().unwrap() };
                    graph.join(at, to, Duration::from_ps(*lag));
                    at = to;
                }
            }
            let shortest = loops.iter().map(|lags| lags.iter().sum::<u64>()).min().unwrap();
            let period = graph.plan(LONGEST).period.as_ps();
            prop_assert!(period <= shortest && 9 * period >= 8 * shortest, "{} of {}", period, shortest);
        }
    }
}
