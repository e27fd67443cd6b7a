//! Transmission times of a transmitter whose rate changes.

use std::sync::Arc;

use super::course::{Course, Current, Interrupted, Outages, Steps};
use super::grants::{self, Grants, RequestGrant};
use crate::by_name;
use crate::params::{Choice, ParamSpec, Params};
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Capacity of a line over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Bits per second.
    Rate(Course),
    /// Opportunities: certain times at which the line carries a number of bytes at once.
    Opportunities(Opportunities),
    /// Granted time: the sender must ask for time on the line. An entry of [`REGISTRY`].
    Granted(Choice),
}

/// One way to be granted time on a line.
pub struct GrantedKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: &'static [ParamSpec],
    /// Checks what bounds on single parameters cannot say. `Err` is one sentence for the user.
    pub check: fn(&Params) -> Result<(), String>,
    /// Returns the configuration of requests and grants.
    pub build: fn(&Params) -> RequestGrant,
}

/// Every kind, in the order of listings.
pub const REGISTRY: &[GrantedKind] = &[grants::KIND];
by_name!(GrantedKind, "granted service", with params);

fn granted(by: &Choice) -> RequestGrant {
    (named(by.kind).build)(&by.params)
}

/// Instants at which 1500 bytes can leave, in the form of mahimahi's traces (mm-link(1)): milliseconds in order of time, one for each
/// opportunity. After the last one they begin anew.
///
/// Bytes are counted: several packets may share an opportunity, and a packet may take several. Bytes that no waiting packet takes at that
/// instant are wasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities(pub Arc<[u32]>);

/// Bytes of an opportunity.
pub const OPPORTUNITY: u32 = 1500;

impl Opportunities {
    /// Returns the period after which they begin anew: the last one.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.0.last().copied().unwrap_or(0).into())
    }

    /// Checks that they are in order of time, and that the period is not zero. The error is one sentence for the user.
    pub fn check(&self) -> Result<(), String> {
        if let Some(pair) = self.0.windows(2).find(|pair| pair[1] < pair[0]) {
            return Err(format!("time runs backwards: {} ms comes after {} ms", pair[1], pair[0]));
        }
        if self.period().is_zero() { Err("there is no opportunity after 0 ms".to_owned()) } else { Ok(()) }
    }

    /// Returns the bits per second over one period.
    pub fn mean(&self) -> u64 {
        let bits = self.0.len() as u64 * u64::from(OPPORTUNITY) * 8;
        bits * 1000 / u64::from(self.0.last().copied().unwrap_or(1).max(1))
    }

    /// Returns the bits per second in the millisecond that has the most of them.
    pub fn greatest(&self) -> u64 {
        let most = self.0.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(0);
        most as u64 * u64::from(OPPORTUNITY) * 8 * 1000
    }
}

impl Service {
    /// Returns the mean rate over a long time, in bits per second.
    pub fn mean(&self) -> u64 {
        match self {
            Service::Rate(course) => course.mean(),
            Service::Opportunities(opportunities) => opportunities.mean(),
            // A sender that always has packets to send is granted all of it.
            Service::Granted(by) => granted(by).sustained.as_bps(),
        }
    }

    /// Returns the highest rate that it ever has, in bits per second.
    pub fn greatest(&self) -> u64 {
        match self {
            Service::Rate(course) => course.greatest(),
            Service::Opportunities(opportunities) => opportunities.greatest(),
            Service::Granted(by) => granted(by).rate.as_bps(),
        }
    }

    /// Checks that it makes sense. The error is one sentence for the user.
    pub fn check(&self) -> Result<(), String> {
        let course = match self {
            Service::Opportunities(opportunities) => return opportunities.check(),
            Service::Granted(by) => return (named(by.kind).check)(&by.params),
            Service::Rate(course) => course,
        };
        course.check()?;
        if course.mean() == 0 { Err("in the end the rate is 0 for ever".to_owned()) } else { Ok(()) }
    }

    /// Returns the transmitter that has it, interrupted by `outages`.
    pub(super) fn transmitter(&self, outages: Outages, rng: Rng) -> Transmitter {
        match self {
            Service::Rate(course) => {
                let rate = Current::new(course.pieces(rng));
                Transmitter::Rate {
                    least: bits_time(8, course.greatest()),
                    rate: Current::new(Box::new(Interrupted { rate, outages, at: Time::ZERO })),
                }
            }
            Service::Opportunities(Opportunities(times)) => {
                Transmitter::Opportunities(Turns { times: times.clone(), next: 0, start: Time::ZERO, left: 0, end: Time::MAX, outages })
            }
            Service::Granted(by) => Transmitter::Granted(Grants::new(granted(by), outages, rng)),
        }
    }

    /// Returns a constant rate, to be interrupted.
    pub(super) fn constant(bps: u64) -> Self {
        Service::Rate(Course::Steps(Steps::constant(bps)))
    }
}

/// A transmitter at work.
pub(super) enum Transmitter {
    Rate { rate: Current, least: Duration },
    Opportunities(Turns),
    Granted(Grants),
}

/// Opportunities one after the other.
pub(super) struct Turns {
    times: Arc<[u32]>,
    /// Next opportunity, and the time at which its period began.
    next: usize,
    start: Time,
    /// Bytes left of the last opportunity, and the time at which the packet ended that took the others.
    left: u32,
    end: Time,
    outages: Outages,
}

impl Transmitter {
    /// Returns when a packet of `bytes` framed bytes has left that begins at `start`; `in_queue` bytes stay in the queue. Starts never run
    /// backwards.
    pub(super) fn sends(&mut self, start: Time, bytes: u32, in_queue: u64) -> Time {
        match self {
            Transmitter::Rate { rate, .. } => sent_at(rate, start, u64::from(bytes) * 8),
            Transmitter::Opportunities(turns) => turns.sends(start, bytes),
            Transmitter::Granted(grants) => grants.sends(start, bytes, in_queue),
        }
    }

    /// Takes note that the queue holds `bytes` framed bytes since `now`.
    pub(super) fn note(&mut self, now: Time, in_queue: u64) {
        if let Transmitter::Granted(grants) = self {
            grants.note(now, in_queue);
        }
    }

    /// Returns the least time for a byte.
    pub(super) fn least(&self) -> Duration {
        match self {
            Transmitter::Rate { least, .. } => *least,
            Transmitter::Opportunities(_) => Duration::from_ps(1),
            Transmitter::Granted(grants) => grants.least(),
        }
    }
}

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

/// Rounds to the nearest picosecond.
pub(super) fn bits_time(bits: u64, bps: u64) -> Duration {
    let (need, bps) = (u128::from(bits) * SECOND, u128::from(bps.max(1)));
    Duration::from_ps(((need + bps / 2) / bps) as u64)
}

/// Returns when `bits` bits have left: the rate, summed over time from `start` on, is then as many.
fn sent_at(rate: &mut Current, start: Time, bits: u64) -> Time {
    let (mut at, mut need) = (start, u128::from(bits) * SECOND);
    loop {
        let piece = rate.at(at);
        let bps = u128::from(piece.value);
        let can = bps * u128::from(piece.until.as_ps() - at.as_ps());
        if need <= can {
            return at + Duration::from_ps(((need + bps / 2) / bps.max(1)) as u64);
        }
        if piece.until == Time::MAX {
            // The packet cannot be sent within 213 days.
            return Time::MAX;
        }
        need -= can;
        at = piece.until;
    }
}

impl Turns {
    fn sends(&mut self, start: Time, bytes: u32) -> Time {
        // A packet that waits for the end of another gets the rest of that opportunity, and the other opportunities of that instant.
        let goes_on = start == self.end;
        let (mut at, mut need) = (start, bytes);
        if !goes_on {
            self.left = 0;
        }
        loop {
            let taken = self.left.min(need);
            (self.left, need) = (self.left - taken, need - taken);
            if need == 0 {
                // Packets that share an opportunity leave one after the other: no packet takes zero time.
                self.end = at.max(start + Duration::from_ps(1));
                return self.end;
            }
            at = self.take();
            let is_missed = !goes_on && at <= start;
            if !is_missed && self.outages.next(at).is_none_or(|(from, _)| from > at) {
                self.left = OPPORTUNITY;
            }
        }
    }

    /// Returns the instant of the next opportunity.
    fn take(&mut self) -> Time {
        let at = self.start + Duration::from_millis(self.times[self.next].into());
        self.next += 1;
        if self.next == self.times.len() {
            (self.next, self.start) = (0, at);
        }
        at
    }
}
