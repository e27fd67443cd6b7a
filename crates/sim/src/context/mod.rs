//! The context: everything outside a stage that it may touch in its turn. What it does to other stages waits in the context until the turn
//! is over.

pub(crate) mod ending;
pub(crate) mod inputs;
pub(crate) mod route;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longfat_core::atm::port::Run;
use longfat_core::packet::{PacketId, Packets};
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};

use crate::ledger::Ledger;
use ending::Ending;
use inputs::Inputs;
use route::RouteTable;

/// Milestones of a flow: when it reached each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Milestones {
    pub established: Option<Time>,
    pub delivered_all: Option<Time>,
    pub acked_all: Option<Time>,
    pub gave_up: Option<Time>,
}

/// Bounds on the events done before the caller can ask to stop. The numbers of a run do not depend on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Events of one sweep, after which no stage begins anything that it need not.
    pub sweep: u64,
    /// Events that a stage may take in its turn all the same.
    pub stage: u64,
    /// Event count at which this sweep has had its share.
    pub enough: u64,
}

impl Turns {
    /// A fraction of a second. Only flows far above the rate of what they cross come to that: so many packets on one path.
    pub(crate) const USUAL: Turns = Turns { sweep: 1_000_000, stage: 1000, enough: 0 };
}

/// Place of a link or an endpoint: the stage that owns it, by its place in the order of a sweep, and the number among those of that stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub stage: usize,
    pub index: usize,
}

/// Effect of a turn on another stage, other than a packet, which the [`Inputs`] hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// Cells that go on to the port `to` of another switch, which they enter by the port `ingress`.
    Cells { to: usize, ingress: usize, run: Run },
    /// A PAUSE frame that comes to the transmitter of `link` at `at` and stops it for `time`. `sender` is the number of the queue among those
    /// that may stop that link.
    Pause { link: u32, sender: usize, at: Time, time: Duration },
    /// A packet was lost at a host, which is put down to the link by which it came.
    Lost { link: u32, reason: DropReason },
}

/// Everything that stages share.
pub(crate) struct Context {
    pub now: Time,
    pub steps: u64,
    pub turns: Turns,
    /// Every packet in a queue or on a wire.
    pub packets: Packets,
    pub inputs: Inputs,
    pub routes: RouteTable,
    pub ledger: Ledger,
    /// Milestones of each flow.
    pub flows: Vec<Milestones>,
    pub ending: Ending,
    /// The spot of each endpoint.
    pub endpoints: Vec<Spot>,
    /// Messages to other stages.
    pub out: Vec<Message>,
    /// Set by a control that wants the run to come back once the instant is over.
    pub asked: Arc<AtomicBool>,
}

impl Context {
    /// Returns the event count at which the stage that has its turn leaves events at a later instant for its next turn.
    pub(crate) fn turn_ends(&self) -> u64 {
        self.turns.enough.max(self.steps.saturating_add(self.turns.stage))
    }

    /// True if a control has asked the run to come back.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The packet `id`, which has come to its host, is lost there.
    #[cold]
    pub(crate) fn lose(&mut self, id: PacketId, reason: DropReason) {
        let link = self.inputs[self.routes.hop(self.packets[id].route)].from.expect("a link brings what comes to a host");
        self.out.push(Message::Lost { link, reason });
        self.ledger.dropped(self.now, id, &self.packets, reason, link);
        self.packets.remove(id);
    }
}
