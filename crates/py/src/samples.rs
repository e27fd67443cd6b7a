//! Arguments of the hooks of a control written in Python: its window, an ACK, a reason to shrink.

use crate::choose::LongfatError;
use longfat_core::time::Duration;
use longfat_tcp::congestion::{AckSample, Congestion, CongestionEvent, Window};
use pyo3::prelude::*;
use std::ops::RangeInclusive;

/// Largest window (RFC 7323 §2.3).
const MOST: u64 = 1 << 30;

/// The window of a control written in Python: as [`Window`] in Rust.
#[pyclass(module = "longfat._longfat", name = "Window")]
pub struct PyWindow(pub Window);

#[pymethods]
impl PyWindow {
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = number("cwnd", bytes, ANY, "bytes")?;
        // A cast saturates.
        self.0.cwnd = (bytes as u64).clamp(self.0.mss, MOST);
        Ok(())
    }
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        Some(self.0.ssthresh).filter(|bytes| *bytes < u64::MAX)
    }
    #[setter]
    fn set_ssthresh(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.ssthresh =
            if bytes.is_none() { u64::MAX } else { (number("ssthresh", bytes, ANY, "bytes, or None")? as u64).max(2 * self.0.mss) };
        Ok(())
    }
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss
    }
    #[getter]
    fn segments(&self) -> f64 {
        self.0.segments()
    }
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }
    fn slow_start(&mut self, ack: &PyAck) -> bool {
        self.0.slow_start(&ack.0)
    }
    fn increase(&mut self, ack: &PyAck, segments: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.increase(&ack.0, finite("segments", segments)?);
        Ok(())
    }
    fn grow(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.grow(finite("bytes", bytes)?);
        Ok(())
    }
    fn acked_segments(&self, ack: &PyAck) -> f64 {
        self.0.acked_segments(&ack.0)
    }
    fn move_to(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.move_to((finite("bytes", bytes)? as u64).min(MOST));
        Ok(())
    }
    fn reduce(&mut self, event: &PyCongestion, factor: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.reduce(&event.0, finite("factor", factor)?);
        Ok(())
    }
    fn reduce_to(&mut self, event: &PyCongestion, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.reduce_to(&event.0, (finite("ssthresh", ssthresh)? as u64).min(MOST));
        Ok(())
    }
    fn undo(&mut self) -> bool {
        self.0.undo()
    }
    fn restart(&mut self) {
        self.0.restart();
    }
    fn syn_loss(&mut self) {
        self.0.syn_loss();
    }
    fn __repr__(&self) -> String {
        format!("<Window: cwnd {} bytes, mss {}>", self.0.cwnd, self.0.mss)
    }
}

const ANY: RangeInclusive<f64> = f64::MIN..=f64::MAX;

/// Returns `value` if it is a number in `range`; else a `LongfatError` that says what was `expected`.
pub(crate) fn number(name: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<f64>, expected: &str) -> PyResult<f64> {
    let read = value.extract::<f64>().ok().filter(|read| range.contains(read));
    read.map_or_else(|| Err(LongfatError::new_err(format!("{name} = {}: expected {expected}", value.repr()?))), Ok)
}

fn finite(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    number(name, value, ANY, "a finite number")
}

/// ACK for a hook: [`AckSample`] of Rust.
#[pyclass(module = "longfat._longfat", name = "Ack", frozen)]
pub struct PyAck(pub AckSample);

#[pymethods]
impl PyAck {
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked
    }
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }
    #[getter]
    fn srtt(&self) -> f64 {
        self.0.srtt.as_secs_f64()
    }
    #[getter]
    fn rtt_min(&self) -> f64 {
        self.0.rtt_min.as_secs_f64()
    }
    #[getter]
    fn forward_delay(&self) -> Option<f64> {
        self.0.forward_delay.map(|ps| ps as f64 / 1e12)
    }
    #[getter]
    fn round(&self) -> u64 {
        self.0.round
    }
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }
    #[getter]
    fn after_timeout(&self) -> bool {
        self.0.after_timeout
    }
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        let rate = self.0.rate.filter(|rate| !rate.interval.is_zero())?;
        Some(rate.delivered as f64 * 8.0 / rate.interval.as_secs_f64())
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.rate.is_some_and(|rate| rate.app_limited)
    }
}

/// Why the window must shrink: as [`CongestionEvent`] in Rust.
#[pyclass(module = "longfat._longfat", name = "Congestion", frozen)]
pub struct PyCongestion(pub CongestionEvent);

#[pymethods]
impl PyCongestion {
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            Congestion::Loss => "loss",
            Congestion::Timeout => "timeout",
            Congestion::TimeoutAgain => "timeout_again",
            Congestion::Ecn => "ecn",
            Congestion::Local => "local",
        }
    }
    #[getter]
    fn flight_size(&self) -> u64 {
        self.0.flight_size
    }
}
