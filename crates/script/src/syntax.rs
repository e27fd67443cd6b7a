//! The tree of a script, and where in the file each part is.

use crate::code::Statement;
use crate::place::Place;
use longfat_core::packet::{Ecn, Segment};
use longfat_core::time::Duration;

/// A whole script.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Script {
    pub settings: Vec<Setting>,
    pub events: Vec<Event>,
}

/// `--name=value` at the head.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Setting {
    pub place: Place,
    pub name: String,
    pub value: String,
}

/// Event that happens, or is expected to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Event {
    pub place: Place,
    pub when: When,
    pub action: Action,
}

/// Spans are from the start of the script or, relative, from the event before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum When {
    At { time: Duration, relative: bool },
    Between { from: Duration, to: Duration, relative: bool },
    Any,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Action {
    /// `<`: a segment arrives.
    Inject(Packet),
    /// `>`: a segment is sent.
    Expect(Packet),
    Call(Call),
    /// Shell command.
    Command(String),
    /// Statements between `%{` and `}%`.
    Code(Vec<Statement>),
    /// Part of the language that a TCP endpoint alone cannot do: its name.
    Unsupported(String),
}

/// A segment as the script writes it: sequence and acknowledgment numbers count from what the script gave the SYNs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Packet {
    /// Flags, numbers, length and, if they are listed, options.
    pub segment: Segment,
    /// Bytes of payload: an expected packet may be longer than any segment.
    pub len: u64,
    pub ecn: EcnField,
    /// The differentiated services field, if the packet says its TOS byte.
    pub dscp: Option<u8>,
    /// The acknowledgment number, if one is written.
    pub ack: Option<u32>,
    pub window: Option<u16>,
    pub options: Options,
}

/// ECN field as the script writes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum EcnField {
    /// Nothing: not ECN-capable where injected, anything where expected.
    Unsaid,
    Is(Ecn),
    /// ECT(0) or ECT(1).
    EitherEct,
}

/// Options as the script writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Options {
    /// `<...>`.
    Any,
    /// Options in the packet's segment; the numbers of its timestamps may be left open.
    Listed { any_ts_val: bool, any_ts_ecr: bool },
}

/// A system call: `[...end] name(arguments) = result [errno]`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    /// Time at which it returns, if it blocks; counted as the event's own time.
    pub end: Option<Duration>,
    pub name: String,
    pub arguments: Vec<Expression>,
    pub result: Expression,
    pub errno: Option<String>,
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expression {
    /// `...`.
    Anything,
    Integer(i64),
    Word(String),
    Text(String),
    /// Bits or-ed together.
    Or(Vec<Expression>),
    List(Vec<Expression>),
    /// `{name=value, ...}`.
    Record(Vec<(String, Expression)>),
    /// `htons(8080)` and the like.
    Applied(String, Vec<Expression>),
}
