//! The model as a whole: ready experiments, what they resolve to, bad files, random files, and the reference.

mod backends;
mod bad_files;
mod bases;
mod changes;
mod classes;
mod cost;
mod flows;
mod fuzz;
mod identity;
mod networks;
mod packet_log;
mod ranges;
mod ready;
mod reference;
mod sizing;
mod stacks;
mod starts;
mod sweeps;
mod unsteady;
mod warnings;
