//! `cake`: a shaper, tins by codepoint, and a queue per flow with fairness between hosts, each under CoDel and BLUE.
//!
//! The sources are tc-cake(8), the wiki of bufferbloat.net, BLUE, and RFC 8289 and 8290. Where these are silent, docs/queues/cake.md lists
//! our choices.

mod ack_filter;
mod cobalt;
mod isolation;
mod lines;
mod schedule;
mod tins;

use super::codel::{CodelConfig, Waiting};
use super::fifo::{LIMIT, Limit, Measure, limit_of, roomy_limit};
use super::{Claim, DropReason, Party, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{Dscp, PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;
use isolation::Isolation;
use lines::Lines;
use schedule::{Framing, Schedule, Wire};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "cake",
    summary: "common applications kept enhanced: a shaper, tins by codepoint, a line for each flow with fairness between hosts, CoDel and BLUE",
    source: "tc-cake(8); Hoeiland-Joergensen, Taht and Morton, Piece of CAKE, LANMAN 2018; Cake Technical Information, bufferbloat.net, 2015; Feng, Shin, Kandlur and Saha, The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 10(4), 2002; RFC 8289, RFC 8290",
    params: &[
        ParamSpec {
            name: "rate",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "rate that it shapes to (IP packets with `overhead`, `mpu` and `framing`). When not given: it does not shape",
        },
        ParamSpec {
            name: "overhead",
            kind: Kind::Bytes { min: 0, max: 256 },
            default: Some(Value::Bytes(0)),
            doc: "bytes that each IP packet takes beside its own",
        },
        ParamSpec {
            name: "mpu",
            kind: Kind::Bytes { min: 0, max: 256 },
            default: Some(Value::Bytes(0)),
            doc: "the fewest bytes that a packet takes, overhead included",
        },
        ParamSpec {
            name: "framing",
            kind: Kind::Choice(&["noatm", "atm", "ptm"]),
            default: Some(Value::Choice("noatm")),
            doc: "framing of the link that is shaped for: nothing, cells of 53 bytes with 48 of payload, or 65 bytes for each 64",
        },
        ParamSpec {
            name: "rtt",
            kind: Kind::Duration { min: Duration::from_micros(10), max: Duration::from_secs(3600) },
            // tc-cake(8): `internet`.
            default: Some(Value::Duration(Duration::from_millis(100))),
            doc: "the round trip that it is tuned for: CoDel's interval, and twenty times its target",
        },
        ParamSpec {
            name: "diffserv",
            kind: Kind::Choice(tins::WORDS),
            default: Some(Value::Choice("diffserv3")),
            doc: "the tins: one; one for each IP precedence; bulk, best effort and voice; these and video; or eight by the classes of RFC 4594",
        },
        ParamSpec {
            name: "wash",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether packets leave without their codepoint, as CS0",
        },
        ParamSpec {
            name: "ack_filter",
            kind: Kind::Choice(ack_filter::WORDS),
            default: Some(Value::Choice("off")),
            doc: "fate of an ACK that a later one of its flow makes redundant: it is sent; it is dropped if two more such stay; it is dropped",
        },
        ParamSpec {
            name: "isolation",
            kind: Kind::Choice(isolation::WORDS),
            default: Some(Value::Choice("triple-isolate")),
            doc: "flows or hosts that have a queue of their own, and the ends at which hosts share equally",
        },
        roomy_limit("the most it holds, of all lines. When not given: what `rate` sends in four `rtt`, and 10 packets of the MTU at least"),
    ],
    promises: &[
        Promise::new(
            Claim::Waits { least: Duration::from_millis(1), most: Duration::from_millis(12) },
            "tc-cake(8): CoDel with a target of 5 ms for each line",
        ),
        Promise::new(Claim::Marks, "tc-cake(8): marks in place of drops"),
        Promise::new(Claim::Isolates, "tc-cake(8): lines in turn"),
    ],
    check: |params, context| {
        limit(params, context).check_holds_a_packet(LIMIT.name, context)?;
        let rate = shaped(params);
        match rate {
            Some(rate) if rate > context.rate => Err(format!(
                "rate ({} bit/s) is more than that of the link ({} bit/s), so that it shapes nothing",
                rate.as_bps(),
                context.rate.as_bps()
            )),
            _ => Ok(()),
        }
    },
    build: |params, context| Box::new(Cake::new(params, context)),
};

/// Returns the rate of the shaper, if it has one.
fn shaped(params: &Params) -> Option<Rate> {
    (!params.is_auto("rate")).then(|| params.rate("rate"))
}

fn limit(params: &Params, context: &QueueContext) -> Limit {
    if !params.is_auto(LIMIT.name) {
        return limit_of(params, context);
    }
    // tc-cake(8): "calculated based on the bandwidth and RTT settings"; its example has 5000000 bytes at 100 Mb/s and 100 ms.
    let bytes = shaped(params).unwrap_or(context.rate).bytes_in(params.duration("rtt").saturating_mul(4));
    Limit { measure: Measure::Bytes, max: bytes.max(10 * u64::from(context.mtu)) }
}

/// Returns CoDel's parameters for a tin with the threshold `rate`. bufferbloat.net: the target is at least the time of one and a half
/// packets, and the interval at least eight targets.
fn codel(rate: Rate, rtt: Duration, mtu: u32) -> CodelConfig {
    let target = Duration::from_ps(rtt.as_ps() / 20).max(rate.transmit_time(u64::from(mtu) * 3 / 2));
    CodelConfig { target, interval: rtt.max(target.saturating_mul(8)), ecn: true, ce_threshold: None, mtu }
}

/// Returns the bytes that a flow queue may send in its turn, where it has the tin for itself. The example of tc-cake(8) has 300 at 6.25
/// Mb/s, 762 at 25 and 1514 at 100: the bytes that the tin's rate sends in 1/4096 s, within bounds.
fn quantum(rate: Rate, mtu: u32) -> u32 {
    let bytes = rate.as_bps() / 8 / 4096;
    bytes.clamp(u64::from(mtu.min(300)), u64::from(mtu)) as u32
}

/// Traffic of one priority.
#[derive(Debug)]
struct Tin {
    lines: Lines,
    codel: CodelConfig,
    /// Schedule of the tin at its threshold rate.
    schedule: Schedule,
    /// Quantum in sixteenths of a byte: the first while the tin is not ahead of its schedule, the second otherwise.
    turns: [i64; 2],
    /// Credit left of its turn.
    credit: i64,
}

struct Cake {
    limit: Limit,
    wire: Wire,
    /// CoDel's interval for short packets, and the time that BLUE waits for the effect of a change.
    rtt: Duration,
    /// Schedule of the shaper, and true if a train of packets is under way.
    shaper: Option<(Schedule, bool)>,
    tin_of: [u8; Dscp::COUNT as usize],
    tins: Vec<Tin>,
    /// Tins that hold a packet: a bit for each.
    full: u32,
    /// Tins with flow queues that wait for a turn, empty ones included.
    awake: u32,
    wash: bool,
    /// Redundant ACKs per flow that stay; `None`: all.
    spare_acks: Option<usize>,
    isolation: Isolation,
    rng: Rng,
    packets: u64,
    bytes: u64,
}

impl Cake {
    fn new(params: &Params, mut context: QueueContext) -> Self {
        let rate = shaped(params).unwrap_or(context.rate);
        let rtt = params.duration("rtt");
        let isolation = Isolation::named(params.choice("isolation"));
        let (kinds, tin_of) = tins::named(params.choice("diffserv"));
        let key = context.rng.next_u64();
        let mtu = context.mtu;
        let tin = |kind: &tins::TinKind| {
            let turns = kind.weights.map(|weight| i64::from(weight) * i64::from(mtu));
            Tin {
                lines: Lines::new(key, quantum(kind.rate(rate), mtu), isolation.fair()),
                codel: codel(kind.rate(rate), rtt, mtu),
                schedule: kind.schedule(rate),
                turns,
                credit: turns[0],
            }
        };
        let framing = match params.choice("framing") {
            "atm" => Framing::Atm,
            "ptm" => Framing::Ptm,
            _ => Framing::None,
        };
        Cake {
            limit: limit(params, &context),
            wire: Wire { overhead: params.integer("overhead") as u32, mpu: params.integer("mpu") as u32, framing },
            rtt,
            shaper: shaped(params).map(|rate| (Schedule::new(rate), false)),
            tin_of,
            tins: kinds.iter().map(tin).collect(),
            full: 0,
            awake: 0,
            wash: params.boolean("wash"),
            spare_acks: ack_filter::spare(params.choice("ack_filter")),
            isolation,
            rng: context.rng,
            packets: 0,
            bytes: 0,
        }
    }

    /// Tells the flow queues that the link found them empty: when it asked for a packet, at `asked`, or later, when the shaper let go. Does
    /// nothing as long as the shaper has not.
    fn rest(&mut self, mut asked: Time, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        if let Some((schedule, train)) = &mut self.shaper
            && *train
        {
            if now < schedule.next() {
                return;
            }
            (asked, *train) = (schedule.next(), false);
        }
        while self.awake != 0 {
            let none = self.take(self.awake.trailing_zeros() as usize, asked, packets, log);
            debug_assert!(none.is_none(), "nothing is held");
        }
    }

    /// Returns the next packet of this tin; `None` if it holds nothing any more.
    #[inline]
    fn take(&mut self, tin: usize, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let Cake { tins, rng, wire, rtt, bytes, packets: count, .. } = self;
        let Tin { lines, codel, .. } = &mut tins[tin];
        let before = lines.packets();
        let taken = lines.next(
            packets,
            |cobalt, line, packets| {
                let mut waiting = Waiting { elsewhere: *bytes - line.bytes(), line };
                let taken = cobalt.dequeue((codel, *rtt), now, &mut waiting, packets, (log, rng));
                *bytes = waiting.bytes();
                taken
            },
            |len| wire.bytes(len),
            |cobalt| cobalt.rest(now, *rtt),
        );
        *count -= before - lines.packets();
        if lines.packets() == 0 {
            self.full &= !(1 << tin);
        }
        if taken.is_none() {
            self.awake &= !(1 << tin);
        }
        taken
    }

    /// Returns the tin that sends at `at`: the first of those with credit left of their turn.
    #[inline]
    fn choose(&mut self, at: Time) -> usize {
        if self.full.is_power_of_two() {
            return self.full.trailing_zeros() as usize;
        }
        let full = self.full;
        let holds = |number: &usize| full >> number & 1 != 0;
        loop {
            let tins = &mut self.tins;
            if let Some(number) = (0..tins.len()).rev().filter(holds).find(|&number| tins[number].credit > 0) {
                return number;
            }
            for number in (0..tins.len()).filter(holds) {
                let tin = &mut tins[number];
                tin.credit += tin.turns[usize::from(tin.schedule.next() > at)];
            }
        }
    }

    /// Accounts for a packet of `len` bytes of this tin that goes at `at`; `alone` if no other tin holds a packet.
    #[inline]
    fn charge(&mut self, tin: usize, alone: bool, len: u32, at: Time) {
        let bytes = self.wire.bytes(len);
        if let Some((schedule, train)) = &mut self.shaper {
            if !*train {
                schedule.start(at);
            }
            *train = true;
            schedule.advance(bytes);
        }
        if self.tins.len() > 1 {
            let tin = &mut self.tins[tin];
            tin.schedule.note(at, bytes);
            if !alone {
                tin.credit -= i64::from(bytes) * i64::from(tins::WHOLE);
            }
        }
    }

    /// Drops the first packet of the longest flow queue.
    #[cold]
    fn shorten(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        let fattest = self.tins.iter().enumerate().filter_map(|(tin, of)| of.lines.fattest().map(|(line, bytes)| (bytes, tin, line)));
        let Some((_, tin, line)) = fattest.max_by_key(|&(bytes, tin, _)| (bytes, usize::MAX - tin)) else { return };
        let lines = &mut self.tins[tin].lines;
        let (taken, cobalt) = lines.shorten(line, packets);
        cobalt.blue.full(now, self.rtt);
        if lines.packets() == 0 {
            self.full &= !(1 << tin);
        }
        if let Some(id) = taken {
            self.packets -= 1;
            self.bytes -= u64::from(packets[id].ip_len());
            discard(now, id, DropReason::Overflow, packets, log);
        }
    }
}

impl Queue for Cake {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        if self.packets == 0 && self.shaper.is_some() {
            self.rest(now, now, packets, log);
        }
        let packet = &mut packets[id];
        packet.stamp = now;
        let (flow, tin) = (self.isolation.flow(packet.route), self.tin_of[usize::from(packet.dscp.number())]);
        self.bytes += u64::from(packet.ip_len());
        self.packets += 1;
        self.full |= 1 << tin;
        self.awake |= 1 << tin;
        let lines = &mut self.tins[usize::from(tin)].lines;
        let line = lines.push(flow, id, packets);
        if let Some(redundant) = self.spare_acks.and_then(|spare| lines.thin(line, spare, id, packets)) {
            self.packets -= 1;
            self.bytes -= u64::from(packets[redundant].ip_len());
            discard(now, redundant, DropReason::AckFilter, packets, log);
        }
        while self.held(self.limit.measure) > self.limit.max {
            self.shorten(now, packets, log);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        if self.packets == 0 {
            self.rest(now, now, packets, log);
            return None;
        }
        let at = match &self.shaper {
            Some((schedule, true)) => schedule.next(),
            _ => now,
        };
        while self.full != 0 {
            let alone = self.full.is_power_of_two();
            let tin = self.choose(at);
            if let Some(id) = self.take(tin, now, packets, log) {
                self.charge(tin, alone, packets[id].ip_len(), at);
                if self.wash {
                    packets[id].dscp = Dscp::DEFAULT;
                }
                return Some(id);
            }
        }
        None
    }
    fn pass(&mut self, idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        self.rest(idle, now, packets, log);
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
    }
    fn shapes(&self) -> bool {
        self.shaper.is_some()
    }
    fn opens(&self, from: Time) -> Time {
        match &self.shaper {
            Some((schedule, true)) => from.max(schedule.next()),
            _ => from,
        }
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.isolation.tell(route, party);
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.packets, self.bytes)
    }
}

#[cfg(test)]
mod tests;
