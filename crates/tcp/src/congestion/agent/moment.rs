//! Measures of one decision: what happened between it and the decision before it. Observations and rewards are made from them.

/// Where a measure comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// Hooks of a congestion control: a control by name knows it too.
    Hooks,
    /// The sender, as in `tcp_info`.
    Sender,
    /// The simulated network: no sender knows it. For rewards.
    Path,
}

impl From {
    /// Returns the name used in listings.
    pub fn name(self) -> &'static str {
        match self {
            From::Hooks => "hooks",
            From::Sender => "tcp_info",
            From::Path => "path",
        }
    }
}

/// Measure in the list of all.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name, as in [`Moment`].
    pub name: &'static str,
    /// Unit; "1" for numbers and shares.
    pub unit: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Origin.
    pub from: From,
    /// Returns its value.
    pub of: fn(&Moment) -> f64,
}

macro_rules! measures {
    ($($name:ident: $unit:literal, $from:ident, $summary:literal;)*) => {
        /// Measures of one flow at a decision; NaN is unknown.
        #[derive(Clone, Copy, Debug)]
        pub struct Moment {
            $(#[doc = $summary] pub $name: f64,)*
        }

        impl Default for Moment {
            /// Nothing is known.
            fn default() -> Self {
                Moment { $($name: f64::NAN,)* }
            }
        }

        /// Every measure, in the order of its columns.
        pub const MEASURES: &[Measure] = &[
            $(Measure { name: stringify!($name), unit: $unit, summary: $summary, from: From::$from, of: |moment| moment.$name },)*
        ];
    };
}

measures! {
    time: "s", Hooks, "virtual time of the decision";
    step: "s", Hooks, "time since the last decision";
    mss: "bytes", Hooks, "payload of a full segment";
    cwnd: "bytes", Hooks, "congestion window";
    pacing_rate: "bit/s", Hooks, "pacing rate; unknown without pacing";
    in_flight: "bytes", Hooks, "in flight before the last ACK";
    srtt: "s", Hooks, "smoothed round-trip time (RFC 6298)";
    rtt_min: "s", Hooks, "least round-trip time of the connection";
    rtt: "s", Hooks, "mean of the round-trip times measured in the step";
    rtt_gradient: "s/s", Hooks, "slope of these round-trip times over time, by least squares";
    delivered: "bytes", Hooks, "newly acknowledged in the step, cumulatively or by SACK";
    delivery_rate: "bit/s", Hooks, "delivered per time of the step";
    delivery_rate_max: "bit/s", Hooks, "greatest delivery rate of any step of the episode that lasted a round trip";
    reductions: "1", Hooks, "reductions for losses or marks asked of the control in the step";
    timeouts: "1", Hooks, "retransmission timeouts in the step";
    cwnd_limited: "1", Hooks, "share of the step's ACKs that found the window full";
    in_recovery: "1", Hooks, "share of the step's ACKs that came in fast recovery";
    marked: "1", Sender, "share of the delivered bytes that came back marked CE; unknown without accurate feedback";
    own_cwnd: "bytes", Sender, "window of the flow's own congestion control";
    ssthresh: "bytes", Sender, "slow start threshold of the flow's own control; unknown before its first reduction";
    rwnd: "bytes", Sender, "the peer's receive window";
    rttvar: "s", Sender, "mean deviation of the round-trip time (RFC 6298)";
    rto: "s", Sender, "retransmission timeout";
    lost: "segments", Sender, "outstanding segments marked lost";
    sent: "bytes", Sender, "payload sent in the step, retransmissions included";
    retransmitted: "bytes", Sender, "payload retransmitted in the step";
    loss: "1", Sender, "retransmitted bytes per byte sent in the step";
    capacity: "bit/s", Path, "rate of the slowest link from the sender to the receiver, the mean where it changes";
    fairness: "1", Path, "Jain's index of what the TCP flows delivered in the step";
    utilization: "1", Path, "delivered by all TCP flows in the step per capacity";
}

impl Moment {
    /// Segments in `bytes`.
    pub fn segments(&self, bytes: f64) -> f64 {
        bytes / self.mss
    }
    /// Delay added by queues in the step, in seconds.
    pub fn queueing(&self) -> f64 {
        (self.rtt - self.rtt_min).max(0.0)
    }
}
