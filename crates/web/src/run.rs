//! A run in slices: opened, advanced by samples or until its time is over, and finished.

use longfat_core::time::{Duration, Time};
use longfat_experiment::fingerprint;
use longfat_model::{Experiment, cost};
use longfat_record::metric::{self, Scope};
use longfat_record::warning;
use longfat_sim::Simulation;
use serde_json::{Value, json};

use crate::file::{document, forecast, warnings};
use crate::{Fault, names, told};

/// Samples over the expected length of a run. They are the page's own, and change no result.
const SAMPLES: f64 = 600.0;
/// Samples after which their spacing is doubled, and then again after as many.
const MOST: u32 = 1200;
/// Flows and links whose samples are answered; the page draws no more.
const DRAWN: usize = 24;

/// The run under way, if there is one.
#[derive(Default)]
pub(crate) struct Lab {
    run: Option<Run>,
}

struct Run {
    simulation: Simulation,
    spacing: Duration,
    next: Time,
    taken: u32,
    /// Links that are drawn: the bottlenecks, or the slowest.
    links: Vec<usize>,
}

impl Lab {
    /// `{text, run}`: opens run number `run` of the file, in place of the one under way.
    pub(crate) fn open(&mut self, request: &Value) -> Result<Value, Fault> {
        self.run = None;
        let document = document(request)?;
        let number = request["run"].as_u64().unwrap_or(0);
        if number >= document.run_count() {
            return Err(format!("the file has {} runs, so there is no run {}", document.run_count(), number + 1).into());
        }
        let run = document.run(number)?;
        if run.backend.name != "sim" {
            return Err(format!("the backend `{}` needs real hosts or a kernel: a browser runs `sim`", run.backend.name).into());
        }
        let experiment = run.experiment;
        let mut ahead = forecast(&experiment, run.repeats);
        ahead["flows"] = names::flows(&experiment).into_iter().zip(&experiment.flows).take(DRAWN).map(|(name, flow)| {
            json!({ "name": name, "control": flow.sender.congestion_control.kind, "is_tcp": flow.traffic.is_tcp(), "traffic": flow.traffic.kind().name })
        }).collect();
        ahead["flow_count"] = experiment.flows.len().into();
        let links = drawn(&experiment);
        let all = &experiment.network.links;
        ahead["links"] =
            links.iter().map(|i| json!({ "name": all[*i].name, "rate_bps": all[*i].rate.as_bps(), "queue": all[*i].queue.kind })).collect();
        let spacing = cost::expected_end(&experiment).as_secs_f64() / SAMPLES;
        let spacing = Duration::from_secs_f64(spacing).max(Duration::from_ps(1));
        let simulation = Simulation::new(experiment, None).map_err(|e| e.to_string())?;
        self.run = Some(Run { simulation, spacing, next: Time::ZERO + spacing, taken: 0, links });
        Ok(ahead)
    }

    fn run(&mut self) -> Result<&mut Run, Fault> {
        self.run.as_mut().ok_or_else(|| "no run is open".into())
    }

    /// `{samples}`: advances by so many samples, or to the end. `{to_end: true}`: advances to the end without sampling.
    pub(crate) fn advance(&mut self, request: &Value) -> Result<Value, Fault> {
        let run = self.run()?;
        let mut rows = Vec::new();
        if request["to_end"] == true {
            run.simulation.advance(Time::MAX, &mut |_| true).map_err(|e| e.to_string())?;
        }
        for _ in 0..request["samples"].as_u64().unwrap_or(1) {
            if run.simulation.is_over() {
                break;
            }
            run.simulation.advance(run.next, &mut |_| true).map_err(|e| e.to_string())?;
            rows.push(run.sample());
            run.taken += 1;
            if run.taken.is_multiple_of(MOST) {
                run.spacing = run.spacing + run.spacing;
            }
            run.next += run.spacing;
        }
        Ok(json!({ "now": run.simulation.now().as_secs_f64(), "over": run.simulation.is_over(), "rows": rows }))
    }

    /// `{columns}`: runs to the end; metrics, flows, warnings and sentences. With `columns`, also the fingerprint of the run over them.
    pub(crate) fn finish(&mut self, request: &Value) -> Result<Value, Fault> {
        let run = self.run.take().ok_or("no run is open")?;
        let experiment = run.simulation.experiment().clone();
        let trace = run.simulation.finish(&mut |_| true).map_err(|e| e.to_string())?;
        let columns =
            request["columns"].as_array().map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
        let fingerprint =
            columns.map(|columns| fingerprint(&trace, &columns)).transpose().map_err(|name| format!("there is no column {name}"))?;
        let mut of_run = Vec::new();
        let mut of_flows = vec![serde_json::Map::new(); experiment.flows.len().min(DRAWN)];
        for metric in metric::REGISTRY {
            for (scope, value) in (metric.compute)(&experiment, &trace) {
                match scope {
                    Scope::Run if value.is_finite() => {
                        of_run.push(json!({ "name": metric.name, "unit": metric.unit, "summary": metric.summary, "value": value }));
                    }
                    Scope::Flow(i) if i < of_flows.len() && value.is_finite() => {
                        of_flows[i].insert(metric.name.to_owned(), value.into());
                    }
                    _ => {}
                }
            }
        }
        let story = told::story(&experiment, &trace);
        Ok(json!({
            "end_s": trace.end.as_secs_f64(),
            "steps": trace.steps,
            "packets": trace.links.iter().map(|link| link.packets_transmitted).sum::<u64>(),
            "metrics": of_run,
            "flow_metrics": of_flows,
            "limits": story.limits(),
            "told": story.sentences(),
            "warnings": warnings(&warning::of(&experiment, &trace)),
            "fingerprint": fingerprint,
        }))
    }
}

impl Run {
    /// `[time_s, [[cwnd, ssthresh, in flight, srtt_s, arrived, retransmitted] per flow], [[packets, wait_s, wire bytes, drops, marks] per link]]`;
    /// sizes in bytes, ssthresh null while there is none.
    fn sample(&mut self) -> Value {
        let count = self.simulation.experiment().flows.len().min(DRAWN);
        let flow = |i: usize| {
            let sample = self.simulation.flow(i).sample;
            let ssthresh = (sample.ssthresh != u64::MAX).then_some(sample.ssthresh);
            json!([sample.cwnd, ssthresh, sample.in_flight, sample.srtt_s, sample.bytes_arrived, sample.bytes_retransmitted])
        };
        let flows: Vec<Value> = (0..count).map(flow).collect();
        let samples = self.simulation.links();
        let rates = &self.simulation.experiment().network.links;
        let link = |i: &usize| {
            let sample = &samples[*i];
            let wait = sample.backlog_bytes as f64 * 8.0 / rates[*i].rate.as_bps() as f64;
            json!([sample.backlog_packets, wait, sample.wire_bytes, sample.drops, sample.marks])
        };
        let links: Vec<Value> = self.links.iter().map(link).collect();
        json!([self.simulation.now().as_secs_f64(), flows, links])
    }
}

/// Links that are drawn: the bottlenecks, or the slowest where none is marked.
fn drawn(experiment: &Experiment) -> Vec<usize> {
    let links = &experiment.network.links;
    let marked: Vec<usize> = (0..links.len()).filter(|i| links[*i].bottleneck).take(DRAWN).collect();
    let slowest = || (0..links.len()).min_by_key(|i| links[*i].rate).into_iter().collect();
    if marked.is_empty() { slowest() } else { marked }
}
