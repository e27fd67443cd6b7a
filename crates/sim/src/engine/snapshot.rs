//! Totals of a world at some instant. A measurement over a span is the difference of two of these.

use longfat_core::time::{Duration, Time};
use longfat_record::trace::{self, FlowCounts};

use crate::stage::port::CellTotals;

/// Totals of links and flows at some instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub time: Time,
    /// One for each flow.
    pub flows: Vec<FlowCounts>,
    pub links: Vec<LinkTotals>,
    /// How long each processor has been at work.
    pub processors: Vec<Duration>,
    /// For each memory, the integrals over time of what is promised, buffered and wasted, in byte ps.
    pub memory: Vec<[u128; 3]>,
}

/// Totals of a link at some instant.
#[derive(Clone, Debug)]
pub struct LinkTotals {
    /// Its line, and its queue: from a switch, in cells.
    pub line: trace::LinkTotals,
    /// From a switch.
    pub cells: CellTotals,
}
