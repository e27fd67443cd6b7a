//! State that nearly every control has: a window in bytes with its threshold, slow start, growth by fractions of a byte, and the
//! reactions that are the same for all. A control is a `Window`, its own congestion avoidance and its own decrease.

use super::Unused;
use super::slow_start::Step;
use super::state::Unit;
use super::{AckSample, Congestion, CongestionEvent, SlowStart, Variable};
use crate::TcpConfig;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::units::Rate;

/// Largest window: the largest window scale lets a peer offer no more (RFC 7323 §2.3).
const MAX: u64 = 1 << 30;

/// `cwnd` and `ssthresh`, and how they move.
#[derive(Clone, Debug)]
pub struct Window {
    /// Bytes, at least one segment.
    pub cwnd: u64,
    /// Bytes; `u64::MAX` before the first reduction, unless a parameter says otherwise.
    pub ssthresh: u64,
    /// Payload bytes of a full segment, as the SYNs agreed.
    pub mss: u64,
    initial: u64,
    initial_ssthresh: u64,
    counts_acks: bool,
    whole_segments: bool,
    slow_start: SlowStart,
    /// Growth left over beyond whole bytes.
    fraction: f64,
    /// cwnd and ssthresh before the last reduction, while it can be taken back.
    before: Option<(u64, u64)>,
}

/// Growth by ACKs, as papers have it that know no delayed ACKs.
pub(super) const COUNT_ACKS: ParamSpec = ParamSpec {
    name: "count_acks",
    kind: Kind::Bool,
    default: Some(Value::Bool(false)),
    doc: "whether it grows by each ACK and not by each segment acknowledged, so that delayed ACKs slow it (Linux: true)",
};

/// Converts bytes to a float. No count here reaches 2^63, and a signed integer converts in one instruction.
#[inline]
pub(super) const fn float(bytes: u64) -> f64 {
    bytes as i64 as f64
}

impl Window {
    /// The initial window and the `initial_ssthresh` of `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        let initial = config.first_window();
        Window {
            cwnd: initial,
            ssthresh: config.initial_ssthresh,
            mss,
            initial,
            initial_ssthresh: config.initial_ssthresh,
            counts_acks: config.sending.abc_limit == 0,
            whole_segments: config.growth.whole_segments,
            slow_start: SlowStart::new(config),
            fraction: 0.0,
            before: None,
        }
    }

    /// `cwnd` and `ssthresh`, by name.
    pub fn state(&mut self) -> Vec<Variable<'_>> {
        let (mss, cwnd, fraction) = (self.mss, &mut self.cwnd, &mut self.fraction);
        let bytes = float(*cwnd);
        let set = move |bytes| (*cwnd, *fraction) = (bytes as u64, 0.0);
        vec![
            Variable::new("cwnd", Unit::Bytes, Some(bytes), float(mss)..=float(MAX), set),
            Variable::bytes("ssthresh", &mut self.ssthresh, 2 * mss),
        ]
    }

    /// `cwnd` in segments of one mss.
    #[inline]
    pub fn segments(&self) -> f64 {
        float(self.cwnd) / float(self.mss)
    }

    /// Returns `bytes` as a reduction counts them: Linux, whose cwnd is a number of segments, cuts off a partial one.
    #[inline]
    fn counted(&self, bytes: u64) -> u64 {
        if self.whole_segments { bytes / self.mss * self.mss } else { bytes }
    }

    /// `cwnd` in segments, as a reduction counts them.
    pub fn counted_segments(&self) -> f64 {
        float(self.counted(self.cwnd)) / float(self.mss)
    }

    /// Returns true if cwnd is below ssthresh (RFC 5681 §3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Below ssthresh, slow start takes this ACK, and grows if cwnd was the limit. Whether it did; if not, congestion avoidance is the
    /// control's own.
    #[inline]
    pub fn slow_start(&mut self, ack: &AckSample) -> bool {
        self.slow_start_by(ack, 1.0)
    }

    /// Works as [`Self::slow_start`] with `factor` times the growth. Above one it adds none beyond ssthresh: one ACK might go far beyond.
    #[inline]
    pub fn slow_start_by(&mut self, ack: &AckSample, factor: f64) -> bool {
        let below = self.in_slow_start();
        if !below && !self.slow_start.is_resuming() {
            return false;
        }
        let step = self.slow_start.step(ack, self.cwnd, self.ssthresh == self.initial_ssthresh);
        if !below {
            // Careful Resume beyond ssthresh: congestion avoidance takes this ACK, unless the window must not grow.
            self.resume(&step);
            return step.growth == 0;
        }
        if ack.cwnd_limited && factor == 1.0 {
            self.cwnd = self.bounded(self.cwnd.saturating_add(step.growth));
        } else if ack.cwnd_limited {
            let (plain, room) = (step.growth as f64, (self.ssthresh - self.cwnd) as f64);
            self.grow((plain * factor).min(room.max(plain)));
        }
        if ack.cwnd_limited && step.paced > 0 {
            self.cwnd = self.bounded(self.cwnd.saturating_add(step.paced).min(self.ssthresh.max(self.cwnd)));
        }
        if self.slow_start.is_resuming() || step.set.is_some() {
            self.resume(&step);
        }
        if step.leave {
            self.ssthresh = self.ssthresh.min(self.cwnd);
        }
        // A variant that leaves before it grows leaves this ACK to congestion avoidance.
        !step.leave || step.growth > 0
    }

    /// Careful Resume: takes the window that it sets, and ends a safe retreat whose jump is acknowledged.
    fn resume(&mut self, step: &Step) {
        if let Some(cwnd) = step.set {
            (self.cwnd, self.fraction) = (self.bounded(cwnd).max(2 * self.mss), 0.0);
        }
        self.end_retreat(false);
    }

    /// Ends a safe retreat if the jump is acknowledged, as it is when fast recovery is over: ssthresh is no more than what it validated.
    fn end_retreat(&mut self, recovered: bool) {
        if let Some(most) = self.slow_start.careful_resume().and_then(|resume| resume.end_of_retreat(recovered)) {
            self.ssthresh = self.ssthresh.min(most).max(2 * self.mss);
        }
    }

    /// Ends Careful Resume: segments in flight stand for themselves.
    fn forget_resume(&mut self) {
        if let Some(resume) = self.slow_start.careful_resume() {
            resume.reset();
        }
    }

    /// Fast recovery is over.
    pub fn recovered(&mut self) {
        self.end_retreat(true);
    }

    /// An ACK in fast recovery.
    pub fn in_recovery(&mut self, ack: &AckSample) {
        if let Some(resume) = self.slow_start.careful_resume() {
            resume.in_recovery(ack);
        }
    }

    /// `cwnd` grown to `wanted`: to no more than can be used, unless it is there already.
    #[inline]
    fn bounded(&self, wanted: u64) -> u64 {
        wanted.min(MAX.max(self.cwnd))
    }

    /// Segments that this ACK stands for: the bytes acknowledged (RFC 3465 §2.1), or one where the stack counts ACKs.
    #[inline]
    pub fn acked_segments(&self, ack: &AckSample) -> f64 {
        if self.counts_acks { 1.0 } else { float(ack.acked) / float(self.mss) }
    }

    /// Grows by `bytes`, or shrinks where they are negative, to no less than two segments; fractions of a byte add up.
    #[inline]
    pub fn grow(&mut self, bytes: f64) {
        let exact = float(self.cwnd) + self.fraction + bytes;
        let floor = float(2 * self.mss);
        if exact < floor && bytes < 0.0 {
            (self.cwnd, self.fraction) = (self.cwnd.min(2 * self.mss), 0.0);
            return;
        }
        let whole = exact as u64;
        self.fraction = exact - float(whole);
        self.cwnd = self.bounded(whole);
    }

    /// Changes cwnd by `bytes`, to no less than one segment, as routers say; fractions of a byte add up. Ends slow start.
    pub fn steer(&mut self, bytes: f64) {
        let exact = (float(self.cwnd) + self.fraction + bytes).max(float(self.mss));
        let whole = exact as u64;
        (self.cwnd, self.fraction) = (self.bounded(whole), exact - float(whole));
        self.ssthresh = self.cwnd.max(2 * self.mss);
        self.forget_resume();
    }

    /// Moves cwnd to `bytes`, but never under one segment, by the control's own choice and not for a loss. Ends slow start.
    pub fn move_to(&mut self, bytes: u64) {
        (self.cwnd, self.fraction) = (bytes.max(self.mss), 0.0);
        self.ssthresh = self.ssthresh.min(self.cwnd).max(2 * self.mss);
        self.forget_resume();
    }

    /// Moves cwnd and ssthresh to `bytes`, at least two segments: where a control sets both when a loss is repaired.
    pub fn set_both(&mut self, bytes: u64) {
        self.ssthresh = self.counted(bytes.min(MAX)).max(2 * self.mss);
        (self.cwnd, self.fraction) = (self.ssthresh, 0.0);
    }

    /// Returns `ack` as a control sees it that counts ACKs: for one segment at most.
    pub fn as_one(&self, ack: &AckSample) -> AckSample {
        AckSample { acked: ack.acked.min(self.mss), ..*ack }
    }

    /// Additive increase: `segments` for each window acknowledged.
    #[inline]
    pub fn increase(&mut self, ack: &AckSample, segments: f64) {
        let acked = if self.counts_acks { self.mss } else { ack.acked };
        self.grow(segments * float(self.mss) * float(acked) / float(self.cwnd));
    }

    /// Multiplicative decrease: what was in flight, times `factor`, is the new ssthresh, and cwnd goes there; after a timeout it
    /// goes to one segment, and a timeout repeated without progress leaves ssthresh (RFC 5681 §3.1).
    pub fn reduce(&mut self, event: &CongestionEvent, factor: f64) {
        self.reduce_to(event, (self.counted(event.flight_size) as f64 * factor + 0.5) as u64);
    }

    /// Reduces to a window of the control's own choice; never under two segments (RFC 5681 Eq. 4).
    pub fn reduce_to(&mut self, event: &CongestionEvent, ssthresh: u64) {
        if event.kind != Congestion::TimeoutAgain {
            self.before = Some((self.cwnd, self.ssthresh));
            self.ssthresh = self.counted(ssthresh).max(2 * self.mss);
        }
        if self.retreat(event) {
            return;
        }
        self.cwnd = match event.kind {
            Congestion::Loss | Congestion::Ecn | Congestion::Local => self.ssthresh,
            Congestion::Timeout | Congestion::TimeoutAgain => self.mss,
        };
        self.fraction = 0.0;
        self.slow_start.reset();
    }

    /// draft-ietf-tsvwg-careful-resume-24, Safe Retreat Phase: a loss or a mark of what Careful Resume has not validated leaves half of what
    /// has arrived. Whether it was such.
    fn retreat(&mut self, event: &CongestionEvent) -> bool {
        let Some(resume) = self.slow_start.careful_resume() else { return false };
        let pipe = match event.kind {
            Congestion::Loss | Congestion::Ecn => resume.retreat(event.flight_size),
            Congestion::Timeout | Congestion::TimeoutAgain | Congestion::Local => None,
        };
        if let Some(pipe) = pipe {
            (self.cwnd, self.fraction) = ((pipe / 2).min(self.ssthresh).max(self.mss), 0.0);
        }
        pipe.is_some()
    }

    /// Returns the pacing rate that slow start wants, if any.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.slow_start.pacing_rate()
    }

    /// Returns true if proportional rate reduction must not steer the window.
    #[inline]
    pub fn is_retreating(&self) -> bool {
        self.slow_start.is_retreating()
    }

    /// The last reduction was for nothing: as before it (RFC 4015 §3.2 has the same aim). Whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.before.take() else { return false };
        self.forget_resume();
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        true
    }

    /// Handles a window that was not in use.
    pub fn unused(&mut self, unused: Unused) {
        match unused {
            Unused::Idle(_) => self.restart(),
            Unused::Limited { cwnd, ssthresh } => self.validate(cwnd, ssthresh),
        }
    }

    /// Returns to the initial window after an idle rto (RFC 5681 §4.1).
    pub fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
        self.slow_start.reset();
    }

    /// Takes over what the sender made of a window that was not in use (RFC 7661 §4.4).
    pub fn validate(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = cwnd.max(self.mss);
        self.ssthresh = ssthresh.max(2 * self.mss);
        self.fraction = 0.0;
    }

    /// ssthresh starts at half of the window advertised, in whole segments and no less than two (Romanow and Floyd 1995 §2).
    pub fn start_at_half(&mut self, rwnd: u64) {
        self.ssthresh = (rwnd / 2 / self.mss).max(2) * self.mss;
        self.initial_ssthresh = self.ssthresh;
    }

    /// The SYN was lost: one segment (RFC 5681 §3.1).
    pub fn syn_loss(&mut self) {
        self.cwnd = self.mss;
    }
}
