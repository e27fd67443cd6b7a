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

use super::{Error, Files, NoFiles, Run};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The run of a resolved experiment that names no files.
fn restore(resolved: &Json) -> Result<Run, Error> {
    super::restore(resolved, Arc::new(NoFiles))
}

/// Files in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<BTreeMap<String, String>>);

impl Memory {
    fn of(files: &[(&str, &str)]) -> Self {
        let memory = Memory::default();
        files.iter().for_each(|(name, text)| memory.write(name, text));
        memory
    }
    fn write(&self, name: &str, text: &str) {
        self.0.lock().unwrap().insert(name.to_owned(), text.to_owned());
    }
}

impl Files for Memory {
    fn text(&self, name: &str) -> Result<String, String> {
        self.0.lock().unwrap().get(name).cloned().ok_or_else(|| "no such file".to_owned())
    }
    fn trace(&self, name: &str) -> Result<Vec<u8>, String> {
        self.text(name).map(String::into_bytes).map_err(|why| format!("{name}: {why}"))
    }
}
