//! The control protocol, without any I/O: bytes, times and random bytes come from the caller.
//!
//! A client connects and says [`Hello`] in the clear: magic, version, and the hash of a key. A Noise handshake follows ([`noise`]); nothing else
//! is parsed before it has succeeded. Then both sides exchange [`Message`]s, each in one encrypted frame, as the state machines of [`state`]
//! let them. Any other message ends the session.
//!
//! Probes are datagrams: a server sends any only to an address that has shown that it wants them ([`reach`]).
//!
//! A session is told when others of the server ran beside it ([`beside`]).
//!
//! A survey of the path is datagrams alone, too: questions and bursts ([`survey`]).
//! STAMP ([`stamp`]) is the protocol of others: a server that is told to answers it at a port of its own.
//!
//! Data connections are told apart by their own magic ([`DATA_MAGIC`]) and carry a [`Token`] that the control channel has given out.

pub mod application;
pub mod attack;
pub mod beside;
pub mod frame;
pub mod iperf;
pub mod limits;
pub mod message;
pub mod noise;
pub mod reach;
pub mod stamp;
pub mod state;
pub mod survey;
pub mod token;

#[cfg(test)]
mod tests;

pub use beside::Beside;
pub use frame::{DATA_MAGIC, Frames, Hello};
pub use limits::{Ledger, Limits, Who};
pub use message::{Message, VERSION};
pub use noise::{Channel, Handshake, Key, KeyId};
pub use reach::Reach;
pub use state::{Client, Server};
pub use token::{Token, Tokens};

use std::fmt;

/// Nanoseconds of a monotonic clock, from any zero.
pub type Nanos = u64;

/// One second.
pub const SECOND: Nanos = 1_000_000_000;

/// Breach of the protocol by the other side. It ends the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// Returns the fault `text`.
fn fault<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault(text.into()))
}
