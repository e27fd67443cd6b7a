//! Whole runs: of each part against timelines worked out by hand, and of networks at random.

mod bounds;
mod cells;
mod delay_based;
mod ecn;
mod endings;
mod flow_control;
mod golden;
mod hosts;
mod memory;
mod packets;
mod probes;
mod random;
mod rates;
mod runs;
mod slow_start;
mod stages;
mod stepping;
mod ties;
mod traffic;
mod window_sizing;
