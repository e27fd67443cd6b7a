//! Causes that limit a flow.

/// Cause that limits a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    ReceiveWindow,
    ClosingWindow,
    ReceiverRing,
    SendBuffer,
    Application,
    Nagle,
    CongestionLoss,
    CongestionEcn,
    ActiveQueue,
    SmallBuffer,
    RandomLoss,
    Policer,
    Reordering,
    PathChange,
    FullPath,
    Growing,
    TooShort,
    Unknown,
}

impl Cause {
    /// Returns its word in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Cause::ReceiveWindow => "receive window",
            Cause::ClosingWindow => "closing window",
            Cause::ReceiverRing => "receiver's ring",
            Cause::SendBuffer => "send buffer",
            Cause::Application => "application",
            Cause::Nagle => "Nagle and delayed ACKs",
            Cause::CongestionLoss => "congestion, by loss",
            Cause::CongestionEcn => "congestion, by ECN",
            Cause::ActiveQueue => "active queue management",
            Cause::SmallBuffer => "bursts over a small buffer",
            Cause::RandomLoss => "random loss",
            Cause::Policer => "policer",
            Cause::Reordering => "reordering",
            Cause::PathChange => "path change",
            Cause::FullPath => "a full path",
            Cause::Growing => "a window that still grows",
            Cause::TooShort => "too short to tell",
            Cause::Unknown => "cannot tell",
        }
    }
}

impl Cause {
    /// A cause that is told by what losses have in common.
    pub(crate) fn is_of_losses(self) -> bool {
        use Cause::{ActiveQueue, CongestionLoss, Policer, RandomLoss, ReceiverRing, SmallBuffer};
        matches!(self, ActiveQueue | CongestionLoss | Policer | RandomLoss | ReceiverRing | SmallBuffer)
    }
}
