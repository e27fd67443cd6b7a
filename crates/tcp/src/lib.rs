//! TCP, sans-io: a [`Connection`] is told of segments and of time, and asked what to send and when to wake it.
//!
//! It knows nothing of queues, links or clocks: the same code runs in virtual and in real time. What may be varied are registries:
//! [`congestion`] controls, [`window_sizing`], whole [`stack`]s; [`options::PARAMS`] has the rest.

mod blocks;
mod clock;
mod config;
pub mod conformance;
pub mod congestion;
mod connection;
mod decay;
pub mod ecn;
mod misbehaving;
mod offload;
pub mod options;
mod pacing;
mod peer_window;
mod prr;
mod rack;
mod range_set;
pub mod rate;
mod receiver;
mod repair;
mod retransmissions;
mod round_trips;
mod rtt;
mod scoreboard;
mod sender;
mod sent_log;
mod seq;
pub mod stack;
#[cfg(test)]
mod tests;
mod validation;
pub mod window_sizing;
pub mod wire;

pub use config::{CwndValidation, DelayedAck, FastOpen, Pacing, ReceiveBy, RecoveryKind, RtoMinOf, SendBy, WindowProbe};
pub use connection::{Abort, CaState, Connection, FastOpened, LimitedBy, Plain, State, Stats, TcpInfo};
pub use offload::Offload;
pub use options::{Growth, Misbehaviour, RepairRules, SendRules, TcpConfig, TimerRules};
