//! Fields of an observation: measures, scaled to about 1, one row each.

use super::moment::{From, Moment};

/// Field in the registry.
#[derive(Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Scaling, in one line.
    pub summary: &'static str,
    /// Least and greatest value; what is beyond is cut off.
    pub bounds: (f64, f64),
    /// True if it can be unknown: then a mask says so.
    pub has_mask: bool,
    /// Origin of the measures that it is made of.
    pub from: From,
    /// Returns its value; NaN is unknown.
    pub of: fn(&Moment) -> f64,
}

/// Binary logarithm of a number of segments, as a share of 2^16: 1 is 65,536 segments.
fn window(moment: &Moment, bytes: f64) -> f64 {
    libm::log2(moment.segments(bytes).max(1.0 / 16.0)) / 16.0
}

/// Decades above 1 Mbit/s, as a share of five.
fn rate(bps: f64) -> f64 {
    libm::log10(bps.max(1.0) / 1e6) / 5.0
}

/// Decades above 1 ms, as a share of three.
fn time(seconds: f64) -> f64 {
    libm::log10(seconds.max(1e-9) / 1e-3) / 3.0
}

/// `log(1 + x)`, for counts.
fn count(n: f64) -> f64 {
    libm::log1p(n)
}

macro_rules! field {
    ($name:literal, $low:literal..$high:literal, $mask:ident, $from:ident, $of:expr, $summary:literal) => {
        Field { name: $name, summary: $summary, bounds: ($low, $high), has_mask: $mask, from: From::$from, of: $of }
    };
}

/// Every field, in the order of listings.
pub const REGISTRY: &[Field] = &[
    field!("cwnd", -1.0..2.0, false, Hooks, |m| window(m, m.cwnd), "log2 of the congestion window in segments, per 16"),
    field!("in_flight", -1.0..2.0, false, Hooks, |m| window(m, m.in_flight), "log2 of the segments in flight, per 16"),
    field!("pacing_rate", -2.0..2.0, true, Hooks, |m| rate(m.pacing_rate), "log10 of the pacing rate in Mbit/s, per 5"),
    field!("delivery_rate", -2.0..2.0, false, Hooks, |m| rate(m.delivery_rate), "log10 of the delivery rate of the step in Mbit/s, per 5"),
    field!(
        "delivery_ratio",
        0.0..2.0,
        true,
        Hooks,
        |m| m.delivery_rate / m.delivery_rate_max,
        "delivery rate per greatest delivery rate of the episode (Orca: Abbasloo et al., SIGCOMM 2020)"
    ),
    field!("rtt", -2.0..2.0, true, Hooks, |m| time(m.rtt), "log10 of the mean round trip of the step in ms, per 3"),
    field!("srtt", -2.0..2.0, true, Hooks, |m| time(m.srtt), "log10 of the smoothed round trip in ms, per 3"),
    field!("rtt_min", -2.0..2.0, true, Hooks, |m| time(m.rtt_min), "log10 of the least round trip in ms, per 3"),
    field!(
        "rtt_ratio",
        0.0..10.0,
        true,
        Hooks,
        |m| m.rtt / m.rtt_min - 1.0,
        "mean round trip of the step per least round trip, less 1 (Aurora: Jay et al., ICML 2019, latency ratio)"
    ),
    field!("rtt_gradient", -1.0..1.0, true, Hooks, |m| m.rtt_gradient, "slope of the round trip in s/s (Aurora: latency gradient)"),
    field!("queue", -1.0..2.0, true, Hooks, |m| window(m, m.queueing() * m.delivery_rate / 8.0), "log2 of the segments queued, per 16"),
    field!("reductions", 0.0..8.0, false, Hooks, |m| count(m.reductions), "log(1 + reductions asked of the control in the step)"),
    field!("timeouts", 0.0..8.0, false, Hooks, |m| count(m.timeouts), "log(1 + timeouts in the step)"),
    field!("cwnd_limited", 0.0..1.0, true, Hooks, |m| m.cwnd_limited, "share of ACKs that found the window full"),
    field!("in_recovery", 0.0..1.0, true, Hooks, |m| m.in_recovery, "share of ACKs that came in fast recovery"),
    field!("step", 0.0..10.0, true, Hooks, |m| m.step / m.srtt, "time of the step per smoothed round trip"),
    field!("marked", 0.0..1.0, true, Sender, |m| m.marked, "share of bytes marked CE"),
    field!("own_cwnd", -1.0..2.0, false, Sender, |m| window(m, m.own_cwnd), "log2 of the own control's window in segments, per 16"),
    field!("ssthresh", -1.0..2.0, true, Sender, |m| window(m, m.ssthresh), "log2 of ssthresh in segments, per 16"),
    field!("rwnd", -1.0..2.0, false, Sender, |m| window(m, m.rwnd), "log2 of the receive window in segments, per 16"),
    field!("rttvar", 0.0..10.0, true, Sender, |m| m.rttvar / m.srtt, "deviation of the round trip per smoothed round trip"),
    field!("rto", 0.0..100.0, true, Sender, |m| m.rto / m.srtt, "retransmission timeout per smoothed round trip"),
    field!("lost", 0.0..12.0, false, Sender, |m| count(m.lost), "log(1 + outstanding segments marked lost)"),
    field!("loss", 0.0..1.0, true, Sender, |m| m.loss, "retransmitted bytes per byte sent in the step"),
    field!(
        "send_ratio",
        0.0..10.0,
        true,
        Sender,
        |m| m.sent / m.delivered,
        "bytes sent per byte delivered in the step (Aurora: sending ratio)"
    ),
];

/// Fields of an agent that is told no others. A control by name knows all of them.
pub const USUAL: &[&str] =
    &["cwnd", "in_flight", "delivery_ratio", "rtt_min", "rtt_ratio", "rtt_gradient", "queue", "reductions", "timeouts", "cwnd_limited"];

/// Returns the field of this name.
pub fn find(name: &str) -> Option<&'static Field> {
    REGISTRY.iter().find(|field| field.name == name)
}

/// Returns how many numbers an observation of `fields` has: their values, then the masks of those that have one.
pub fn width(fields: &[&'static Field]) -> usize {
    fields.len() + fields.iter().filter(|field| field.has_mask).count()
}

/// Writes the values of `fields`, then their masks: 1 is known, 0 is not, and then the value is 0.
pub fn write(fields: &[&'static Field], moment: &Moment, into: &mut [f32]) {
    let (values, masks) = into.split_at_mut(fields.len());
    let mut masks = masks.iter_mut();
    for (field, value) in fields.iter().zip(values) {
        let (known, (low, high)) = ((field.of)(moment), field.bounds);
        *value = if known.is_nan() { 0.0_f64.clamp(low, high) } else { known.clamp(low, high) } as f32;
        if field.has_mask {
            *masks.next().expect("each mask has its place") = f32::from(u8::from(!known.is_nan()));
        }
    }
}
