//! Links alone against hand-computed timelines and a plain reference; then whole dumbbells.

mod batches;
mod cells;
mod delay_based;
mod ecn;
mod endings;
mod golden;
mod hosts;
mod links;
mod memory;
mod probes;
mod rates;
mod runs;
mod slow_start;
mod stepping;
mod ties;
mod traffic;
mod window_sizing;
