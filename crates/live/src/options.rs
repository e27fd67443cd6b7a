//! Words that callers and both sides share.

use std::net::IpAddr;
use std::path::PathBuf;

use longfat_core::time::Time;
use serde::Serialize;

use crate::protocol::stamp::Prefix;
use crate::protocol::{Key, Limits};

/// Port of a server, for control and data (docs/live.md).
pub const PORT: u16 = 5277;

/// Progress of a run.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// Time of the run.
    pub now: Time,
    /// Reads the ends of the TCP flows at this host; none before the flows have connections, and after their end.
    pub seen: &'a dyn Fn() -> Vec<Seen>,
}

/// End of a TCP flow at this host, at one moment of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of the flow.
    pub flow: u32,
    /// True: this host sends.
    pub sends: bool,
    /// Bytes of payload that the other end has acknowledged, or that the application here has read.
    pub bytes: u64,
    /// Fields of `TCP_INFO` that the kernel fills, by name, in its own units.
    pub info: Vec<(&'static str, u64)>,
}

/// Answer of a server to a measurement that is planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Greeting {
    /// Congestion controls in force at this host and at the server; `None` where a kernel does not say.
    pub controls: [Option<String>; 2],
    /// Least round trip of three TCP handshakes; `None`: none was answered in time.
    pub base_rtt_ns: Option<u64>,
    /// Whole seconds of a run that the server grants, of those asked for.
    pub seconds: u64,
    /// Bytes of payload that a run may send.
    pub bytes: u64,
    /// Bound of the rate of all flows together, in bit/s of payload; `None`: none.
    pub rate: Option<u64>,
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
