//! `dualpi2`: two coupled queues, a short one for L4S and one for all other packets (RFC 9332, appendix A).

mod control;

use super::classes::Ecns;
use super::fifo::{Backlog, Limit, Measure, roomy_limit, roomy_limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::{Duration, Time};
use control::{Coupled, CoupledConfig, Recur};

/// Least default limit in packets: the default of tc-dualpi2(8).
const LIMIT_PACKETS: u64 = 10_000;
const LONG: Duration = Duration::from_secs(10);
const SOME_TIME: Kind = Kind::Duration { min: Duration::from_micros(10), max: LONG };
const GAIN: Kind = Kind::Number { min: 0.0, max: 1000.0 };

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "dualpi2",
    summary: "dual-queue coupled AQM (RFC 9332): a short line for L4S (ECT(1)) beside one for all others, and marks that make both share alike",
    source: "RFC 9332 appendix A",
    params: &[
        roomy_limit(
            "the most it holds, both lines together. When not given: 10000 packets, or what the link sends in 250 ms if that is more",
        ),
        // RFC 9332 appendix A.1, figure 2.
        ParamSpec {
            name: "target",
            kind: SOME_TIME,
            default: Some(Value::Duration(Duration::from_millis(15))),
            doc: "the time that classic packets wait",
        },
        ParamSpec {
            name: "max_rtt",
            kind: SOME_TIME,
            default: Some(Value::Duration(Duration::from_millis(100))),
            doc: "the longest round trip for which it is stable: sets what of tupdate, alpha and beta is not given",
        },
        ParamSpec {
            name: "tupdate",
            kind: SOME_TIME,
            default: Some(Value::Auto),
            doc: "from one change of the probability to the next. When not given: target, or max_rtt / 3 if that is less",
        },
        ParamSpec {
            name: "alpha",
            kind: GAIN,
            default: Some(Value::Auto),
            doc: "integral gain in Hz. When not given: 0.1 tupdate / max_rtt^2",
        },
        ParamSpec { name: "beta", kind: GAIN, default: Some(Value::Auto), doc: "proportional gain in Hz. When not given: 0.3 / max_rtt" },
        ParamSpec {
            name: "coupling_factor",
            kind: Kind::Number { min: 1.0, max: 16.0 },
            default: Some(Value::Number(2.0)),
            doc: "k: L4S packets are marked with k p, classic ones marked or dropped with p^2",
        },
        ParamSpec {
            name: "min_th",
            kind: Kind::Duration { min: Duration::ZERO, max: LONG },
            default: Some(Value::Duration(Duration::from_micros(800))),
            doc: "L4S packets that waited longer are marked, the more often the longer",
        },
        ParamSpec {
            name: "range",
            kind: Kind::Duration { min: Duration::ZERO, max: LONG },
            default: Some(Value::Duration(Duration::from_micros(400))),
            doc: "all are marked from so much over min_th on; 0 s makes the ramp a step",
        },
        ParamSpec {
            name: "th_len",
            kind: Kind::Count { unit: "packets", min: 0, max: 1 << 20 },
            default: Some(Value::Count(1)),
            doc: "an L4S packet with fewer than so many behind it is not marked for its own wait",
        },
        ParamSpec {
            name: "classic_protection",
            kind: Kind::Number { min: 0.0, max: 0.9 },
            // tc-dualpi2(8): 10 %.
            default: Some(Value::Number(0.1)),
            doc: "the share of the link that the classic line gets however much L4S there is",
        },
        ParamSpec {
            name: "drop_on_overload",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "whether packets of both lines are dropped with p^2, ECN-capable or not, once all of L4S is marked; if not, p rises no further",
        },
    ],
    promises: &[
        Promise::new(
            Claim::Waits { least: Duration::from_millis(10), most: Duration::from_millis(20) },
            "RFC 9332 appendix A.1: a target of 15 ms for classic packets",
        ),
        Promise::new(Claim::Marks, "RFC 9332 section 2.4: classic ECN-capable packets are marked in place of drops"),
    ],
    check,
    build: |params, context| {
        let config = config_of(params);
        // Shares are in thousandths: exact, and fine enough for any user.
        let classic = (params.number("classic_protection") * 1000.0 + 0.5) as u64;
        Box::new(DualPi2 {
            limit: limit(params, &context),
            mtu: context.mtu,
            l4s: Backlog::default(),
            classic: Backlog::default(),
            scheduler: Scheduler { classic, l4s: 1000 - classic, owed: 0 },
            control: Coupled::new(&config),
            config,
            recur_l4s: Recur::default(),
            recur_classic: Recur::default(),
        })
    },
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    roomy_limit_of(params, context, LIMIT_PACKETS)
}

fn config_of(params: &Params) -> CoupledConfig {
    let given = |name| (!params.is_auto(name)).then(|| params.number(name));
    let (target, max_rtt) = (params.duration("target"), params.duration("max_rtt"));
    let tupdate = if params.is_auto("tupdate") { target.min(max_rtt / 3) } else { params.duration("tupdate") };
    let rtt = max_rtt.as_secs_f64();
    CoupledConfig {
        target,
        tupdate,
        // RFC 9332 appendix A.1, figure 2.
        alpha: given("alpha").unwrap_or(0.1 * tupdate.as_secs_f64() / (rtt * rtt)),
        beta: given("beta").unwrap_or(0.3 / rtt),
        k: params.number("coupling_factor"),
        min_th: params.duration("min_th"),
        range: params.duration("range"),
        th_len: params.integer("th_len"),
        drop_on_overload: params.boolean("drop_on_overload"),
    }
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    limit(params, context).check_holds_a_packet("limit", context)?;
    let CoupledConfig { target, min_th, range, .. } = config_of(params);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    if min_th + range < target {
        return Ok(());
    }
    Err(format!("min_th + range ({} ms) must be under target ({} ms): the L4S line is the short one", ms(min_th + range), ms(target)))
}

struct DualPi2 {
    limit: Limit,
    /// The largest IP packet, in bytes.
    mtu: u32,
    l4s: Backlog,
    classic: Backlog,
    scheduler: Scheduler,
    config: CoupledConfig,
    control: Coupled,
    recur_l4s: Recur,
    recur_classic: Recur,
}

/// Scheduler: the L4S queue comes first, but while both have packets the classic queue gets its share of the bytes.
#[derive(Debug)]
struct Scheduler {
    /// Shares, in thousandths.
    classic: u64,
    l4s: u64,
    /// Service owed to the classic queue, in thousandths of a byte.
    owed: u64,
}

impl Scheduler {
    /// Returns true if the first packet of the classic queue is next, of `len` bytes; `l4s` if the L4S queue has one.
    #[inline]
    fn classic_is_next(&mut self, len: Option<u32>, l4s: bool) -> bool {
        let Some(len) = len.filter(|_| l4s) else {
            // Neither queue waits for the other.
            self.owed = 0;
            return !l4s;
        };
        self.owed >= u64::from(len) * self.l4s
    }
    /// Accounts for a packet of `len` bytes that is sent while both queues had one.
    #[inline]
    fn sent(&mut self, is_classic: bool, len: u32) {
        if is_classic {
            self.owed = self.owed.saturating_sub(u64::from(len) * self.l4s);
        } else {
            self.owed += u64::from(len) * self.classic;
        }
    }
}

impl DualPi2 {
    /// Returns how long the first packet of `line` has waited.
    fn wait(line: &Backlog, now: Time, packets: &Packets) -> Duration {
        line.first().map_or(Duration::ZERO, |id| now.since(packets[id].stamp))
    }

    /// Does the updates due up to `now`: their inputs change only when a packet comes or goes.
    #[inline]
    fn catch_up(&mut self, now: Time, packets: &Packets) {
        if self.control.next_update <= now {
            let (l4s, classic) = (&self.l4s, &self.classic);
            // RFC 9332 appendix A.2, figure 8: the longer wait of the two queues.
            let qdelay = |at| DualPi2::wait(l4s, at, packets).max(DualPi2::wait(classic, at, packets));
            self.control.update_until(&self.config, now, l4s.is_empty() && classic.is_empty(), qdelay);
        }
    }

    /// Marks or drops the L4S packet `id` if its chance says so (RFC 9332 appendix A.2, figure 7). Returns true if it goes out.
    #[inline]
    fn send_l4s(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        if self.control.is_overloaded(&self.config) && self.recur_l4s.hits(self.control.p_classic()) {
            discard(now, id, DropReason::Early, packets, log);
            return false;
        }
        // The packet counts itself, as in the RFC's text: with a threshold of 1, the last packet of a queue is alone.
        let alone = self.l4s.packets() < self.config.th_len;
        let native = if alone { 0.0 } else { self.config.ramp(now.since(packets[id].stamp)) };
        if self.recur_l4s.hits(native.max(self.control.p_coupled(&self.config))) {
            mark(now, id, packets, log);
        }
        true
    }

    /// Marks or drops the classic packet `id` if its chance says so. Returns true if it goes out.
    #[inline]
    fn send_classic(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        if self.recur_classic.hits(self.control.p_classic()) && (self.control.is_overloaded(&self.config) || !mark(now, id, packets, log)) {
            discard(now, id, DropReason::Early, packets, log);
            return false;
        }
        true
    }
}

impl Queue for DualPi2 {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.catch_up(now, packets);
        let held = self.held(self.limit.measure);
        // RFC 9332 appendix A.1, figure 3: room for the largest packet, whatever the size of this one, so that small ones are not better off.
        if !self.limit.has_room(held, self.mtu) {
            discard(now, id, DropReason::Overflow, packets, log);
            return;
        }
        let packet = &mut packets[id];
        packet.stamp = now;
        // RFC 9332 section 2.3.
        let line = if Ecns::L4S.has(packet.ecn) { &mut self.l4s } else { &mut self.classic };
        line.push(id, packets);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        self.catch_up(now, packets);
        loop {
            let classic_len = self.classic.first().map(|id| packets[id].ip_len());
            let is_classic = self.scheduler.classic_is_next(classic_len, !self.l4s.is_empty());
            let both = classic_len.is_some() && !self.l4s.is_empty();
            let id = if is_classic { self.classic.pop(packets)? } else { self.l4s.pop(packets)? };
            let goes = if is_classic { self.send_classic(now, id, packets, log) } else { self.send_l4s(now, id, packets, log) };
            if goes {
                if both {
                    self.scheduler.sent(is_classic, packets[id].ip_len());
                }
                return Some(id);
            }
        }
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.l4s.packets() + self.classic.packets(), self.l4s.bytes() + self.classic.bytes())
    }
}

#[cfg(test)]
mod tests;
