//! Files that an experiment names, as its reader finds them.

use std::fmt::Debug;

/// Files that an experiment names: those it is based on, and traces of links.
pub trait Files: Debug + Send + Sync {
    /// Text of the file `name`, on which an experiment is based.
    ///
    /// # Errors
    /// Why it cannot be read, for the user.
    fn text(&self, name: &str) -> Result<String, String>;

    /// Content of the trace `name`.
    ///
    /// # Errors
    /// Why it cannot be read, for the user, with its name.
    fn trace(&self, name: &str) -> Result<Vec<u8>, String>;

    /// State of the trace `name`: while it stays, the content does. `None` where that is not known.
    fn state(&self, _name: &str) -> Option<u128> {
        None
    }

    /// Name by which the file `name` is found from every folder.
    fn lasting(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// Source without files.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn text(&self, _name: &str) -> Result<String, String> {
        Err("there is only this text".to_owned())
    }
    fn trace(&self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!("cannot read {name}: there is only this text"))
    }
}
