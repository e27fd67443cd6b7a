//! The context: everything outside a stage that it may touch in its turn. What it does to other stages waits in the context until the turn
//! is over.

use longfat_core::atm::port::Run;
use longfat_core::packet::{PacketId, Packets};
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};

use super::ending::Ending;
use super::inputs::Inputs;
use super::route::RouteTable;
use crate::ledger::Ledger;

/// Milestones of a flow: when it reached each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Milestones {
    pub established: Option<Time>,
    pub delivered_all: Option<Time>,
    pub acked_all: Option<Time>,
    pub gave_up: Option<Time>,
}

/// Bounds on the events done before somebody can ask to stop. The numbers of a run do not depend on them.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Events of one sweep, after which no stage begins anything that it need not.
    pub sweep: u64,
    /// Events that a stage may take in its turn all the same.
    pub stage: u64,
    /// Event count at which this sweep has had its share.
    pub enough: u64,
}

impl Turns {
    /// A fraction of a second. Only flows far above the rate of what they cross come to that: so many packets on one path.
    pub const USUAL: Turns = Turns { sweep: 1_000_000, stage: 1000, enough: 0 };
}

/// Place of a link or an endpoint: the stage that owns it, by its place in the order of a sweep, and the number among those of that stage.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub stage: usize,
    pub index: usize,
}

/// A PAUSE frame to a link that fills a queue.
#[derive(Clone, Copy, Debug)]
pub struct PauseFrame {
    pub link: u32,
    /// The number of the queue among those that may stop that link.
    pub sender: usize,
    /// When the frame comes, and for how long it stops the link.
    pub at: Time,
    pub time: Duration,
}

/// Cells that go on to another switch.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// The stage of the port there.
    pub to: usize,
    /// The port by which they enter the switch.
    pub ingress: usize,
    pub run: Run,
}

/// Effects of a turn on other stages, beside packets, which the [`Inputs`] hold.
#[derive(Debug, Default)]
pub struct Out {
    pub cells: Vec<Cells>,
    pub pauses: Vec<PauseFrame>,
    /// Packets lost at a host, each put down to the link by which it came.
    pub lost: Vec<(u32, DropReason)>,
}

impl Out {
    /// True if there is nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.pauses.is_empty() && self.lost.is_empty()
    }
}

/// Everything that stages share.
pub struct Context {
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
    pub out: Out,
}

impl Context {
    /// Event count at which the stage that has its turn leaves what is at a later instant for its next.
    pub fn turn_ends(&self) -> u64 {
        self.turns.enough.max(self.steps.saturating_add(self.turns.stage))
    }

    /// The packet `id`, which has come to its host, is lost there.
    #[cold]
    pub fn lose(&mut self, id: PacketId, reason: DropReason) {
        let came_by = self.inputs[self.routes.hop(self.packets[id].route)].from.expect("a link brings what comes to a host");
        self.out.lost.push((came_by, reason));
        self.ledger.dropped(self.now, id, &self.packets, reason, came_by);
        self.packets.remove(id);
    }
}
