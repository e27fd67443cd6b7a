//! The parameters of anything in a registry: declared once as a table, from which validation, the JSON Schema,
//! defaults, the documentation and sweeps all come.

mod nested;
mod registry;
mod schema;
#[cfg(test)]
pub mod testing;
mod text;

pub use nested::{Kept, Keys};
pub use registry::check_entry;
pub use text::{Literal, Mismatch, Why};

use crate::packet::{Dscp, Dscps};
use crate::time::Duration;
use crate::units::{Capacity, Rate};

/// Type of a parameter, with its bounds (inclusive).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A size in bytes: `"2 KiB"`.
    Bytes {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A count with its unit word: `"60 packets"`, `"224 buffers"`, or a bare integer where `unit` is empty.
    Count {
        /// Unit word, in the plural; empty if it has none.
        unit: &'static str,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A queue capacity: `"60 packets"`, `"384 KiB"`, `"1 bdp"`.
    Capacity,
    /// A TCP window, in full segments or bytes: `"700 segments"`, `"1 MiB"`. Its value is a [`Capacity`] whose packets are segments.
    Window,
    /// A span: `"68 ms"`.
    Duration {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// A rate: `"44.21 Mbit/s"`.
    Rate,
    /// A plain number.
    Number {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// A count with its unit word, or a fraction of what it is a part of: `"500 cells"`, `0.5`. A [`Value::Count`] or [`Value::Number`].
    Portion {
        /// The word of the count, in the plural.
        unit: &'static str,
    },
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, or the name of a CSV file. A [`Value::Choice`], or [`Value::Names`] with the file's name.
    ChoiceOrCsv(&'static [&'static str]),
    /// A differentiated services codepoint: `"EF"`, `"AF41"`, `46`.
    Dscp,
    /// One or more codepoints: `"AF41 AF42"`.
    Dscps,
    /// One or more names of groups of flows, or of hosts: a text, or an array of them.
    Names(Named),
    /// A queue, with its parameters or as its word alone.
    Queue,
    /// An array of one or more tables of these.
    Tables(Keys),
}

/// Things that a list of names refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Groups of flows.
    Groups,
    /// Hosts.
    Hosts,
}

/// The value of a parameter; the variant follows its [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Value of [`Kind::Bytes`].
    Bytes(u64),
    /// Value of [`Kind::Count`] or [`Kind::Portion`].
    Count(u64),
    /// Value of [`Kind::Capacity`] or [`Kind::Window`].
    Capacity(Capacity),
    /// Value of [`Kind::Duration`].
    Duration(Duration),
    /// Value of [`Kind::Rate`].
    Rate(Rate),
    /// Value of [`Kind::Number`] or [`Kind::Portion`].
    Number(f64),
    /// Value of [`Kind::Bool`].
    Bool(bool),
    /// Value of [`Kind::Choice`].
    Choice(&'static str),
    /// Value of [`Kind::Dscp`].
    Dscp(Dscp),
    /// Value of [`Kind::Dscps`].
    Dscps(Dscps),
    /// Value of [`Kind::Names`], or of [`Kind::ChoiceOrCsv`].
    Names(Kept<Vec<String>>),
    /// Value of [`Kind::Queue`].
    Queue(Kept<Choice>),
    /// Value of [`Kind::Tables`].
    Tables(Kept<Vec<Params>>),
    /// No value given, and no default: the owner of the parameter decides (its doc says how).
    Auto,
}

/// One parameter of a registry entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Name as users write it.
    pub name: &'static str,
    /// Type and bounds of its value.
    pub kind: Kind,
    /// Default. `None`: the user must give it. `Some(Value::Auto)`: optional, decided by its owner.
    pub default: Option<Value>,
    /// Meaning, in one line.
    pub doc: &'static str,
}

/// Refusal of parameters: which of them, one sentence for the user, and a description of a valid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the parameter.
    pub param: &'static str,
    /// Error for the user.
    pub sentence: String,
    /// Description of a valid value.
    pub expected: String,
}

/// An entry of a registry, by name, with its parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Choice {
    /// The name of the entry.
    pub kind: &'static str,
    /// Parameters of the entry.
    pub params: Params,
}

impl Choice {
    /// Returns the choice with other values of these parameters.
    pub fn with(mut self, changes: &[(&'static str, Value)]) -> Self {
        for (name, value) in changes {
            self.params.set(name, *value);
        }
        self
    }
}

/// Resolved parameters: one value for each spec, in the order of the specs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params(pub Vec<(&'static str, Value)>);

impl Params {
    /// Returns the defaults of `specs`; a parameter with no default is left out.
    pub fn defaults(specs: &[ParamSpec]) -> Self {
        Params(specs.iter().filter_map(|s| s.default.map(|v| (s.name, v))).collect())
    }
    /// Returns the value of `name`. Panics when the registry entry has no such parameter: a defect of the program.
    pub fn get(&self, name: &str) -> Value {
        match self.0.iter().find(|(n, _)| *n == name) {
            Some((_, v)) => *v,
            None => panic!("no parameter {name}"),
        }
    }
    /// Sets `name`, replacing a value already there.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, v)) => *v = value,
            None => self.0.push((name, value)),
        }
    }
    /// Returns a byte size or a count, as an integer.
    pub fn integer(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Bytes(n) | Value::Count(n) => n,
            other => panic!("{name} is {other:?}, not an integer"),
        }
    }
    /// Returns a plain number.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(x) => x,
            other => panic!("{name} is {other:?}, not a number"),
        }
    }
    /// Returns a span of time.
    pub fn duration(&self, name: &str) -> Duration {
        match self.get(name) {
            Value::Duration(d) => d,
            other => panic!("{name} is {other:?}, not a duration"),
        }
    }
    /// Returns a rate.
    pub fn rate(&self, name: &str) -> Rate {
        match self.get(name) {
            Value::Rate(rate) => rate,
            other => panic!("{name} is {other:?}, not a rate"),
        }
    }
    /// Returns a flag.
    pub fn boolean(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Bool(b) => b,
            other => panic!("{name} is {other:?}, not a boolean"),
        }
    }
    /// Returns a word.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Value::Choice(c) => c,
            other => panic!("{name} is {other:?}, not a choice"),
        }
    }
    /// Returns a TCP window, for segments of `mss` payload bytes; `None` if it was left to its owner.
    pub fn window(&self, name: &str, mss: u64) -> Option<u64> {
        match self.get(name) {
            Value::Auto => None,
            Value::Capacity(Capacity::Packets(n)) => Some(n.saturating_mul(mss)),
            Value::Capacity(Capacity::Bytes(n)) => Some(n),
            other => panic!("{name} is {other:?}, not a window"),
        }
    }
    /// Returns a queue capacity.
    pub fn capacity(&self, name: &str) -> Capacity {
        match self.get(name) {
            Value::Capacity(c) => c,
            other => panic!("{name} is {other:?}, not a capacity"),
        }
    }
    /// Returns a set of codepoints; `None` if it was left to its owner.
    pub fn dscps(&self, name: &str) -> Option<Dscps> {
        match self.get(name) {
            Value::Auto => None,
            Value::Dscps(set) => Some(set),
            other => panic!("{name} is {other:?}, not codepoints"),
        }
    }
    /// Returns names; `None` if they were left to their owner.
    pub fn names(&self, name: &str) -> Option<&'static [String]> {
        match self.get(name) {
            Value::Auto => None,
            Value::Names(names) => Some(names.all()),
            other => panic!("{name} is {other:?}, not names"),
        }
    }
    /// Returns a queue; `None` if it was left to its owner.
    pub fn queue(&self, name: &str) -> Option<Kept<Choice>> {
        match self.get(name) {
            Value::Auto => None,
            Value::Queue(choice) => Some(choice),
            other => panic!("{name} is {other:?}, not a queue"),
        }
    }
    /// Returns the tables of an array; none if they were left to their owner.
    pub fn tables(&self, name: &str) -> &'static [Params] {
        match self.get(name) {
            Value::Auto => &[],
            Value::Tables(tables) => tables.all(),
            other => panic!("{name} is {other:?}, not tables"),
        }
    }
    /// Returns true if `name` was left to its owner.
    pub fn is_auto(&self, name: &str) -> bool {
        self.get(name) == Value::Auto
    }
}
