//! A congestion control, stepped by hand. What the sender would know of a bulk transfer is kept here, unless it is told.

use crate::choose::{Chosen, LongfatError};
use crate::hooks;
use longfat_core::time::{Duration, Time};
use longfat_tcp::congestion::state::{self, Refusal, Unit};
use longfat_tcp::congestion::{self, AckSample, Congestion, CongestionControl, CongestionEvent, Unused};
use longfat_tcp::rate::RateSample;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The latest time that may be given: some 115 days, well within what `Time` holds.
const MOST_SECONDS: f64 = 1e7;
/// The most bytes that may be given: 1 PiB.
const MOST_BYTES: i64 = 1 << 50;

/// A congestion control by itself: no sender, no network, only its hooks.
#[pyclass(module = "longfat._longfat", name = "CongestionControl")]
pub struct PyCongestionControl {
    /// Python objects may be looked at from any thread.
    control: Mutex<Box<dyn CongestionControl + Send>>,
    name: &'static str,
    mss: u64,
    now: Time,
    srtt: Duration,
    rtt_min: Duration,
    round: u64,
    /// Bytes to be acknowledged until the round, and the slow start after a timeout, are over.
    round_left: u64,
    loss_left: u64,
    delivered: u64,
}

fn span(name: &str, seconds: f64) -> PyResult<Duration> {
    if (0.0..=MOST_SECONDS).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(LongfatError::new_err(format!("{name} = {seconds}: expected seconds, from 0 to {MOST_SECONDS:e}")))
}

fn bytes(name: &str, n: i64) -> PyResult<u64> {
    match u64::try_from(n) {
        Ok(bytes) if n <= MOST_BYTES => Ok(bytes),
        _ => Err(LongfatError::new_err(format!("{name} = {n}: expected bytes, from 0 to {MOST_BYTES}"))),
    }
}

impl PyCongestionControl {
    fn control(&self) -> MutexGuard<'_, Box<dyn CongestionControl + Send>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time only goes on.
    fn advance(&mut self, now: Option<f64>, otherwise: Duration) -> PyResult<()> {
        let Some(seconds) = now else {
            self.now += otherwise;
            return Ok(());
        };
        let now = Time::ZERO + span("now", seconds)?;
        if now < self.now {
            return Err(LongfatError::new_err(format!(
                "now = {seconds}: expected at least {}, the time of the last call",
                self.now.as_secs_f64()
            )));
        }
        self.now = now;
        Ok(())
    }

    /// Takes in a round trip as the sender does: srtt by a sample a round (RFC 6298 §2, §3), the least of all.
    fn measure(&mut self, rtt: Duration, new_round: bool) {
        if self.srtt.is_zero() {
            (self.srtt, self.rtt_min) = (rtt, rtt);
        } else if new_round {
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        self.rtt_min = self.rtt_min.min(rtt);
    }
}

#[pymethods]
impl PyCongestionControl {
    #[new]
    #[pyo3(signature = (name, mss=1448, **params))]
    fn new(name: &str, mss: i64, params: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Chosen { name, config } = Chosen::read(name, mss, params)?;
        hooks::take_failure();
        let control = congestion::build(&config);
        hooks::raised()?;
        Ok(PyCongestionControl {
            control: Mutex::new(control),
            name,
            mss: u64::from(config.mss),
            now: Time::ZERO,
            srtt: Duration::ZERO,
            rtt_min: Duration::ZERO,
            round: 0,
            round_left: 0,
            loss_left: 0,
            delivered: 0,
        })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }
    #[getter]
    fn mss(&self) -> u64 {
        self.mss
    }
    #[getter]
    fn cwnd(&self) -> u64 {
        self.control().cwnd()
    }
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        Some(self.control().ssthresh()).filter(|&bytes| bytes < u64::MAX)
    }
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.control().pacing_rate().map(|rate| rate.as_bps() as f64)
    }
    #[getter]
    fn now(&self) -> f64 {
        self.now.as_secs_f64()
    }
    #[getter]
    fn round(&self) -> u64 {
        self.round
    }
    #[getter]
    fn srtt(&self) -> f64 {
        self.srtt.as_secs_f64()
    }
    #[getter]
    fn rtt_min(&self) -> f64 {
        self.rtt_min.as_secs_f64()
    }

    #[pyo3(signature = (acked=None, rtt=None, now=None, *, delivered=None, marked=0, in_flight=None, forward_delay=None,
                        delivery_rate=None, round=None, cwnd_limited=true, in_recovery=false))]
    #[allow(clippy::too_many_arguments)] // as many as a sample has
    #[allow(clippy::needless_update)] // what a sample comes to say beside it has its default
    fn on_ack(
        &mut self,
        acked: Option<i64>,
        rtt: Option<f64>,
        now: Option<f64>,
        delivered: Option<i64>,
        marked: i64,
        in_flight: Option<i64>,
        forward_delay: Option<f64>,
        delivery_rate: Option<f64>,
        round: Option<u64>,
        cwnd_limited: bool,
        in_recovery: bool,
    ) -> PyResult<()> {
        let cwnd = self.control().cwnd();
        let acked = acked.map_or(Ok(self.mss), |n| bytes("acked", n))?;
        let delivered = delivered.map_or(Ok(acked), |n| bytes("delivered", n))?;
        let in_flight = in_flight.map_or(Ok(cwnd), |n| bytes("in_flight", n))?;
        let marked = bytes("marked", marked)?;
        let rtt = rtt.map(|seconds| span("rtt", seconds)).transpose()?;
        let forward_delay = forward_delay.map(|seconds| span("forward_delay", seconds)).transpose()?;
        // ACKs come as the window goes out: a whole one in a round trip.
        let spacing = rtt.unwrap_or(self.srtt).as_secs_f64() * acked as f64 / cwnd.max(1) as f64;
        self.advance(now, Duration::from_secs_f64(spacing))?;
        let before = self.round;
        match round {
            Some(round) => self.round = round,
            None if self.round_left == 0 => (self.round, self.round_left) = (self.round + 1, in_flight),
            None => {}
        }
        self.round_left = self.round_left.saturating_sub(acked);
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure(rtt, self.round != before);
        }
        self.delivered += delivered;
        let sample = AckSample {
            now: self.now,
            acked,
            delivered,
            marked,
            in_flight,
            rtt,
            srtt: self.srtt,
            rtt_min: self.rtt_min,
            forward_delay: forward_delay.map(|d| d.as_ps() as i64),
            round: self.round,
            cwnd_limited,
            after_timeout: self.loss_left > 0,
            in_recovery,
            rate: self.rate(in_flight, delivered, rtt, delivery_rate)?,
            ..AckSample::default()
        };
        self.loss_left = self.loss_left.saturating_sub(acked);
        let mut control = self.control();
        control.on_sample(&sample);
        if !in_recovery {
            control.on_ack(&sample);
        }
        hooks::raised()
    }

    #[pyo3(signature = (kind="loss", now=None, *, flight_size=None))]
    fn on_congestion(&mut self, kind: &str, now: Option<f64>, flight_size: Option<i64>) -> PyResult<()> {
        let kinds = [
            ("loss", Congestion::Loss),
            ("timeout", Congestion::Timeout),
            ("timeout_again", Congestion::TimeoutAgain),
            ("ecn", Congestion::Ecn),
            ("local", Congestion::Local),
        ];
        let names = kinds.map(|(name, _)| name);
        let Some((_, kind)) = kinds.into_iter().find(|(name, _)| *name == kind) else {
            return Err(crate::choose::unknown(&format!("no congestion is called `{kind}`"), kind, &names));
        };
        let flight_size = flight_size.map_or_else(|| Ok(self.control().cwnd()), |n| bytes("flight_size", n))?;
        self.advance(now, Duration::ZERO)?;
        if matches!(kind, Congestion::Timeout | Congestion::TimeoutAgain) {
            self.loss_left = flight_size;
        }
        self.round_left = 0;
        let event = CongestionEvent { now: self.now, kind, flight_size };
        self.control().on_congestion(&event);
        hooks::raised()
    }

    #[pyo3(signature = (now=None))]
    fn on_recovered(&mut self, now: Option<f64>) -> PyResult<()> {
        self.advance(now, Duration::ZERO)?;
        self.control().on_recovered(self.now);
        hooks::raised()
    }

    fn on_spurious(&mut self) -> PyResult<()> {
        self.loss_left = 0;
        self.control().on_spurious();
        hooks::raised()
    }

    fn on_restart(&mut self, idle: f64) -> PyResult<()> {
        let idle = span("idle", idle)?;
        self.advance(None, idle)?;
        self.round_left = 0;
        self.control().on_unused(Unused::Idle(idle));
        hooks::raised()
    }

    fn on_syn_loss(&mut self) -> PyResult<()> {
        congestion::syn_lost(&mut **self.control());
        hooks::raised()
    }

    /// Returns every variable of the control's state by its name; `None` where it has no value yet, or no bound.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        for (name, unit, value) in state::variables(&mut **self.control()) {
            match (unit, value) {
                (_, None) => state.set_item(name, py.None())?,
                (Unit::Flag, Some(value)) => state.set_item(name, value != 0.0)?,
                (unit, Some(value)) if unit.is_whole() => state.set_item(name, value as u64)?,
                (_, Some(value)) => state.set_item(name, value)?,
            }
        }
        Ok(state)
    }

    fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let state = self.state(py)?;
        match state.get_item(name)? {
            Some(value) => Ok(value),
            None => Err(self.unknown(name, &state::variables(&mut **self.control()).iter().map(|(name, ..)| *name).collect::<Vec<_>>())),
        }
    }

    /// Sets variables in the order given, up to the first that cannot be set.
    #[pyo3(signature = (**values))]
    fn set(&self, values: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        for (name, value) in values.into_iter().flatten() {
            let name: String = name.extract()?;
            // A value that is no number is outside of every range.
            let wanted = value.extract::<f64>().unwrap_or(f64::NAN);
            let done = state::set(&mut **self.control(), &name, wanted);
            done.map_err(|why| match why {
                Refusal::Unknown(names) => self.unknown(&name, &names),
                Refusal::Outside(unit, range) => {
                    let (least, most) = range.into_inner();
                    LongfatError::new_err(format!("{name} = {value}: expected {}, from {least} to {most}", unit.name()))
                }
            })?;
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<CongestionControl {}: cwnd {} bytes, round {}, {} s>", self.name, self.cwnd(), self.round, self.now())
    }
}

impl PyCongestionControl {
    fn unknown(&self, name: &str, names: &[&str]) -> PyErr {
        crate::choose::unknown(&format!("{} has no `{name}` in its state", self.name), name, names)
    }

    /// Returns the delivery rate for a control that asks for it: by default the bytes in flight per round trip.
    fn rate(&self, in_flight: u64, news: u64, rtt: Option<Duration>, delivery_rate: Option<f64>) -> PyResult<Option<RateSample>> {
        let interval = match delivery_rate {
            Some(bps) if bps > 0.0 && bps <= 1e14 => Duration::from_secs_f64(in_flight as f64 * 8.0 / bps),
            Some(bps) => {
                return Err(LongfatError::new_err(format!("delivery_rate = {bps}: expected bits per second, over 0 and up to 1e14")));
            }
            None => self.srtt,
        };
        if !self.control().traits().wants_rate || interval.is_zero() {
            return Ok(None);
        }
        Ok(Some(RateSample {
            delivered: in_flight,
            interval,
            prior_delivered: self.delivered.saturating_sub(in_flight),
            total_delivered: self.delivered,
            sent_at: Time::ZERO + self.now.since(Time::ZERO).saturating_sub(rtt.unwrap_or(self.srtt)),
            in_flight_then: in_flight,
            in_flight: in_flight.saturating_sub(news),
            rtt,
            ..RateSample::default()
        }))
    }
}
