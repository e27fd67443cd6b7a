//! Words that callers and both sides share.

use std::net::IpAddr;
use std::path::PathBuf;

use longfat_core::time::Time;

use crate::protocol::stamp::Prefix;
use crate::protocol::{Key, Limits};

/// Port of a server, for control and data (docs/live.md).
pub const PORT: u16 = 5277;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time of the run.
    pub now: Time,
}

/// Options of a server.
#[derive(Debug)]
pub struct ServeOptions {
    /// Address to listen at; `None`: every address, of IPv4 and IPv6.
    pub bind: Option<IpAddr>,
    /// Port; 0: any that is free.
    pub port: u16,
    /// Keys that are let in, each with its name.
    pub keys: Vec<(String, Key)>,
    /// True if clients without a key are let in, within [`Limits::open`].
    pub open: bool,
    /// Limits of sessions with a key.
    pub limits: Limits,
    /// Limits of sessions without one.
    pub open_limits: Limits,
    /// Sessions that run at the same time.
    pub concurrent: u32,
    /// Files and folders that this process must still be able to read.
    pub readable: Vec<PathBuf>,
    /// True if sessions with a key may ask for verdicts by the packets of their own flows.
    pub capture: bool,
    /// Reflector of STAMP; `None`: there is none.
    pub stamp: Option<StampOptions>,
}

/// Options of a reflector of STAMP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampOptions {
    /// UDP port.
    pub port: u16,
    /// Addresses that get answers.
    pub from: Vec<Prefix>,
    /// Packets per second that are answered at most, of all senders together.
    pub rate: u32,
}

/// Direction and length of a flow to or from a server of iperf3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IperfOptions {
    /// True: this host sends.
    pub is_up: bool,
    /// Seconds.
    pub seconds: u32,
    /// Congestion control of the sender; `None`: its own.
    pub control: Option<String>,
}

/// News of a server for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It listens at this port; a sentence where the kernel does not confine it fully.
    Listening(u16, Option<String>),
    /// A session is over: one line about it.
    Session(String),
    /// Some time has passed.
    Nothing,
}
