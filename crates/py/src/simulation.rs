//! A run stepped from Python.

use crate::document::{Run, check_present};
use crate::error::ExperimentError;
use crate::hooks;
use crate::stored::PyTrace;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use longfat_disk::TemporaryFile;
use longfat_sim::Simulation;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A run at one instant of it. It stays in the thread that made it.
#[pyclass(module = "longfat._longfat", name = "Simulation", unsendable)]
pub struct PySimulation(Option<Simulation>);

/// Signals are looked at each time the simulator asks whether to go on.
fn go_on(failure: &mut Option<PyErr>) -> bool {
    *failure = hooks::take_failure().or_else(|| {
        let looked = Python::attach(|py| {
            py.check_signals()?;
            Ok(())
        });
        looked.err()
    });
    failure.is_none()
}

impl PySimulation {
    fn simulation(&self) -> PyResult<&Simulation> {
        self.0.as_ref().ok_or_else(finished)
    }
    fn simulation_mut(&mut self) -> PyResult<&mut Simulation> {
        self.0.as_mut().ok_or_else(finished)
    }
}

fn finished() -> PyErr {
    ExperimentError::new_err("the simulation is finished: make another one")
}

#[pymethods]
impl PySimulation {
    #[new]
    fn new(run: &Run) -> PyResult<Self> {
        let run = &run.0;
        check_present(&run.experiment)?;
        if run.backend.name != "sim" {
            return Err(ExperimentError::new_err(format!("the backend `{}` cannot be stepped: virtual time is `sim`'s", run.backend.name)));
        }
        hooks::take_failure();
        Simulation::new(run.experiment.clone(), Some(Arc::new(TemporaryFile::default())))
            .map(|simulation| PySimulation(Some(simulation)))
            .map_err(|e| ExperimentError::new_err(e.to_string()))
    }
    #[getter]
    fn now(&self) -> PyResult<f64> {
        Ok(self.simulation()?.now().as_secs_f64())
    }
    #[getter]
    fn done(&self) -> bool {
        self.0.as_ref().is_none_or(Simulation::is_over)
    }
    #[getter]
    fn was_steered(&self) -> PyResult<bool> {
        Ok(self.simulation()?.was_steered())
    }
    fn advance(&mut self, until_s: f64) -> PyResult<()> {
        let simulation = self.simulation_mut()?;
        let mut failure = None;
        let done = simulation.advance(Time::ZERO + Duration::from_secs_f64(until_s), &mut |_| go_on(&mut failure));
        failure.or_else(hooks::take_failure).map_or_else(|| done.map_err(|e| ExperimentError::new_err(e.to_string())), Err)
    }
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let simulation = self.simulation()?;
        let flow = |i: usize| {
            let state = simulation.flow(i);
            let (info, sample) = (&state.info, &state.sample);
            let dict = PyDict::new(py);
            dict.set_item("flow", i)?;
            dict.set_item("cwnd", info.cwnd)?;
            dict.set_item("ssthresh", (info.ssthresh < u64::MAX).then_some(info.ssthresh))?;
            dict.set_item("pacing_rate", state.pacing_rate.map(|rate| rate.as_bps() as f64))?;
            dict.set_item("in_flight", info.in_flight)?;
            dict.set_item("rwnd", info.rwnd)?;
            dict.set_item("mss", info.mss)?;
            dict.set_item("srtt", info.srtt.as_secs_f64())?;
            dict.set_item("rttvar", info.rttvar.as_secs_f64())?;
            dict.set_item("rto", info.rto.as_secs_f64())?;
            dict.set_item("lost", info.lost)?;
            dict.set_item("bytes_delivered", sample.bytes_delivered)?;
            dict.set_item("bytes_retransmitted", sample.bytes_retransmitted)?;
            Ok(dict)
        };
        (0..simulation.experiment().flows.len()).map(flow).collect()
    }
    fn queues<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let simulation = self.simulation_mut()?;
        let samples = simulation.links();
        let queue = |(sample, link): (longfat_record::trace::LinkSample, &longfat_model::Link)| {
            let dict = PyDict::new(py);
            dict.set_item("link", sample.link)?;
            dict.set_item("name", &link.name)?;
            dict.set_item("backlog_packets", sample.backlog_packets)?;
            dict.set_item("backlog_bytes", sample.backlog_bytes)?;
            dict.set_item("wire_bytes", sample.wire_bytes)?;
            dict.set_item("drops", sample.drops)?;
            dict.set_item("marks", sample.marks)?;
            Ok(dict)
        };
        samples.into_iter().zip(&simulation.experiment().network.links).map(queue).collect()
    }
    #[getter]
    fn flow_count(&self) -> PyResult<usize> {
        Ok(self.simulation()?.experiment().flows.len())
    }
    fn hold_cwnd(&mut self, flow: usize, bytes: Option<u64>) -> PyResult<bool> {
        let hold = self.simulation_mut()?.hold(flow);
        Ok(hold.map(|hold| hold.set_cwnd(bytes)).is_some())
    }
    fn hold_pacing_rate(&mut self, flow: usize, bps: Option<u64>) -> PyResult<bool> {
        let hold = self.simulation_mut()?.hold(flow);
        Ok(hold.map(|hold| hold.set_pacing_rate(bps.map(Rate::from_bps))).is_some())
    }
    fn finish(&mut self) -> PyResult<PyTrace> {
        let simulation = self.0.take().ok_or_else(finished)?;
        let experiment = simulation.experiment().clone();
        let mut failure = None;
        let trace = simulation.finish(&mut |_| go_on(&mut failure));
        if let Some(e) = failure.or_else(hooks::take_failure) {
            return Err(e);
        }
        trace.map(|trace| PyTrace::new(experiment, trace)).map_err(|e| ExperimentError::new_err(e.to_string()))
    }
}
