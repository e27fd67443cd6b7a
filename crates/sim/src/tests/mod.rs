//! Links alone against hand-computed timelines and a plain reference; then whole dumbbells.

mod links;
mod runs;
mod traffic;
