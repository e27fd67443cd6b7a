//! `xcp`: the router of XCP. It writes into the congestion header of each packet by how much the window of its flow changes (Katabi, Handley
//! and Rohrs 2002, KHR02 below).

use super::fifo::{Fifo, LIMIT, Measure, limit_of};
use super::{Claim, Queue, QueueContext, QueueKind, QueueLog};
use crate::packet::{CongestionHeader, PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::{Duration, Time};
use crate::units::Capacity;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "xcp",
    summary: "drop-tail whose router tells flows of the control xcp how to change their windows",
    source: "Katabi, Handley and Rohrs, Congestion Control for High Bandwidth-Delay Product Networks, SIGCOMM 2002",
    params: &[
        LIMIT,
        ParamSpec {
            name: "alpha",
            // KHR02 theorem 1: under pi / (4 sqrt 2).
            kind: Kind::Number { min: 0.0, max: 0.5553 },
            default: Some(Value::Number(0.4)),
            doc: "share of the spare bandwidth that is given away in each control interval",
        },
        ParamSpec {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            // KHR02 §3.5.1; theorem 1: alpha^2 sqrt 2.
            default: Some(Value::Number(0.226)),
            doc: "share of the persistent queue that is taken back in each; stable where it is alpha squared times the root of 2",
        },
        ParamSpec {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.1)),
            doc: "share of the traffic that is moved between flows in each, so that they become equal",
        },
        ParamSpec {
            name: "capacity",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "the rate that it shares out, of IP packets. When not given: the rate of the link, which is too much where the link adds bytes to packets",
        },
    ],
    promises: &[Promise::with(
        &[("limit", Value::Capacity(Capacity::Packets(40)))],
        Claim::Fills(40),
        "Katabi and others 2002, section 3.5: it drops nothing itself; flows without the header find the drop-tail queue beneath it",
    )],
    check: |params, context| limit_of(params, context).check_holds_a_packet(LIMIT.name, context),
    build: |params, context| Box::new(Xcp::new(params, &context)),
};

/// Least control interval: the time of no path is shorter, and the timer must move on.
const INTERVAL_LEAST: Duration = Duration::from_micros(1);

/// Estimates of a control interval.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Bytes that arrived, with a congestion header or without.
    input: f64,
    /// Those with a header: of flows that can be told to change.
    steered: f64,
    /// Sum of H_rtt s / H_cwnd, and that of H_rtt squared s / H_cwnd.
    rtt_by_cwnd: f64,
    rtt_square_by_cwnd: f64,
}

/// Feedback to share out, and how.
#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    /// xi of KHR02 equations 6 and 9.
    scale: f64,
    /// Change of the rate that is left, in bytes per second.
    left: f64,
}

impl Pool {
    /// Takes `change` of the rate. KHR02 appendix A: nothing more is given when nothing is left.
    fn take(&mut self, change: f64) {
        self.left -= change;
        if self.left <= 0.0 {
            self.scale = 0.0;
        }
    }
}

struct Xcp {
    fifo: Fifo,
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// Bytes per second.
    capacity: f64,
    /// Time that the largest packet takes.
    packet_time: Duration,
    seen: Seen,
    /// The average round trip, d, which is the control interval.
    interval: Duration,
    decides_at: Time,
    positive: Pool,
    negative: Pool,
    /// The persistent queue in bytes: the least that an arrival found in the last propagation delay.
    queue: u64,
    /// The least so far in this one.
    least: Option<u64>,
    measures_at: Time,
}

impl Xcp {
    fn new(params: &Params, context: &QueueContext) -> Self {
        let rate = if params.is_auto("capacity") { context.rate } else { params.rate("capacity") };
        // Before the first packet says how long it takes.
        let interval = context.rtt.max(INTERVAL_LEAST);
        Xcp {
            fifo: Fifo::new(limit_of(params, context)),
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            gamma: params.number("gamma"),
            capacity: rate.as_bps() as f64 / 8.0,
            packet_time: context.rate.transmit_time(context.mtu.into()),
            seen: Seen::default(),
            interval,
            decides_at: Time::ZERO + interval,
            positive: Pool::default(),
            negative: Pool::default(),
            queue: 0,
            least: None,
            measures_at: Time::ZERO + interval,
        }
    }

    /// Does what the timers up to `now` would have done. Only arrivals and departures ask for the result.
    fn catch_up(&mut self, now: Time) {
        while self.decides_at.min(self.measures_at) <= now {
            if self.measures_at <= self.decides_at {
                self.measure(now);
            } else {
                self.decide(now);
            }
        }
    }

    /// KHR02 §3.5.1: the queue that does not drain within a propagation delay, which is the average round trip without the local wait.
    fn measure(&mut self, now: Time) {
        let held = self.fifo.held(Measure::Bytes);
        // An interval without an arrival has seen the queue that is there, and those behind it see the same.
        let found = self.least.take();
        self.queue = found.unwrap_or(held);
        let wait = Duration::from_secs_f64(held as f64 / self.capacity);
        let interval = self.interval.saturating_sub(wait).max(self.packet_time).max(INTERVAL_LEAST);
        self.measures_at = if found.is_some() { self.measures_at + interval } else { next(self.measures_at, interval, now) };
    }

    /// KHR02 appendix A, the estimation-control timer.
    fn decide(&mut self, now: Time) {
        let seen = std::mem::take(&mut self.seen);
        let over = self.interval.as_secs_f64();
        if seen.rtt_by_cwnd > 0.0 {
            // The average over flows, not packets.
            self.interval = Duration::from_secs_f64(seen.rtt_square_by_cwnd / seen.rtt_by_cwnd).max(INTERVAL_LEAST);
        }
        let d = self.interval.as_secs_f64();
        // Equation 1: the spare bandwidth is of the interval that has passed.
        let change = self.alpha * d * (self.capacity - seen.input / over) - self.beta * self.queue as f64;
        // Equation 2, where all traffic is XCP's. What has no header hears nothing, and moves nothing.
        let shuffled = (self.gamma * seen.steered - change.abs()).max(0.0);
        let pool = |change: f64, sum: f64| {
            let left = (shuffled + change.max(0.0)) / d;
            // Equations 6 and 9; without a packet to go by, nothing is given.
            Pool { scale: if sum > 0.0 { left / sum } else { 0.0 }, left }
        };
        (self.positive, self.negative) = (pool(change, seen.rtt_by_cwnd), pool(-change, seen.steered));
        self.decides_at = if seen.input > 0.0 { self.decides_at + self.interval } else { next(self.decides_at, self.interval, now) };
    }

    /// KHR02 appendix A, arrival: `bytes` come with a `header`, or without.
    fn note(&mut self, bytes: u32, header: Option<CongestionHeader>) {
        self.seen.input += f64::from(bytes);
        if let Some(CongestionHeader { cwnd, rtt, .. }) = header {
            self.seen.steered += f64::from(bytes);
            let by_cwnd = f64::from(rtt) * f64::from(bytes) / f64::from(cwnd.max(1));
            self.seen.rtt_by_cwnd += by_cwnd;
            self.seen.rtt_square_by_cwnd += f64::from(rtt) * by_cwnd;
        }
        let held = self.fifo.held(Measure::Bytes);
        self.least = Some(self.least.map_or(held, |least| least.min(held)));
    }

    /// KHR02 appendix A, departure: returns the header as it goes on.
    fn answer(&mut self, bytes: u32, header: CongestionHeader) -> CongestionHeader {
        let (rtt, size, asked) = (f64::from(header.rtt), f64::from(bytes), f64::from(header.feedback));
        if rtt <= 0.0 {
            // A source without a round trip yet (§3.3) is given nothing, since its share of the change of rate is not known.
            return CongestionHeader { feedback: header.feedback.min(0.0), answered: true, ..header };
        }
        // Equations 4 and 7.
        let more = self.positive.scale * rtt * rtt * size / f64::from(header.cwnd.max(1));
        let less = self.negative.scale * rtt * size;
        let feedback = more - less;
        if asked >= feedback {
            self.positive.take(more / rtt);
            self.negative.take(less / rtt);
            return CongestionHeader { feedback: feedback as f32, answered: true, ..header };
        }
        // It wants less, or a router before this one grants less.
        if asked > 0.0 {
            self.positive.take(asked / rtt);
            self.negative.take((feedback - asked) / rtt);
        } else {
            self.negative.take(-asked / rtt);
            if feedback > 0.0 {
                self.negative.take(feedback / rtt);
            }
        }
        CongestionHeader { answered: true, ..header }
    }
}

/// Returns the first time after `now` that is a multiple of `interval` after `at`.
fn next(at: Time, interval: Duration, now: Time) -> Time {
    let at = at + interval;
    if at > now { at } else { at + interval * (now.since(at).as_ps() / interval.as_ps() + 1) }
}

impl Queue for Xcp {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.catch_up(now);
        self.note(packets[id].ip_len(), packets.segment(id).congestion());
        self.fifo.enqueue(now, id, packets, log);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.catch_up(now);
        let id = self.fifo.pop(packets)?;
        let bytes = packets[id].ip_len();
        let segment = packets.segment_mut(id);
        if let Some(header) = segment.congestion() {
            segment.set_congestion(self.answer(bytes, header));
        }
        Some(id)
    }
    fn first(&self) -> Option<PacketId> {
        self.fifo.first()
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

#[cfg(test)]
mod tests;
