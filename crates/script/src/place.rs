//! Places in a script, and syntax errors there.

use std::fmt;

/// A place in the file, both counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// Reason that a text is no script.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SyntaxError {
    pub place: Place,
    pub message: String,
    pub expected: String,
}

impl SyntaxError {
    pub(crate) fn new(place: Place, message: String, expected: String) -> Self {
        SyntaxError { place, message, expected }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.message, self.expected)
    }
}
