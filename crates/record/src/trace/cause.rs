//! Causes that limit a flow, as verdicts on captures and on flows between real hosts name them.

macro_rules! causes {
    ($($name:ident = $word:literal,)*) => {
        /// Cause that limits a flow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each has its word")]
        pub enum Cause { $($name),* }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Cause] = &[$(Cause::$name),*];
            /// Words of results: none, then one for each cause.
            pub const WORDS: &'static [&'static str] = &["", $($word),*];

            /// Returns its word in reports.
            pub fn word(self) -> &'static str {
                Cause::WORDS[self as usize + 1]
            }
        }
    };
}

causes! {
    ReceiveWindow = "receive window",
    ClosingWindow = "closing window",
    ReceiverRing = "receiver's ring",
    SendBuffer = "send buffer",
    Application = "application",
    Nagle = "Nagle and delayed ACKs",
    CongestionLoss = "congestion, by loss",
    CongestionEcn = "congestion, by ECN",
    ActiveQueue = "active queue management",
    SmallBuffer = "bursts over a small buffer",
    RandomLoss = "random loss",
    Policer = "policer",
    Reordering = "reordering",
    PathChange = "path change",
    FullPath = "a full path",
    Growing = "a window that still grows",
    TooShort = "too short to tell",
    Unknown = "cannot tell",
}

impl Cause {
    /// A cause that is told by what losses have in common.
    pub fn is_of_losses(self) -> bool {
        use Cause::{ActiveQueue, CongestionLoss, Policer, RandomLoss, ReceiverRing, SmallBuffer};
        matches!(self, ActiveQueue | CongestionLoss | Policer | RandomLoss | ReceiverRing | SmallBuffer)
    }
}
