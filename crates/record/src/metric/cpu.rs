//! Load of hosts' processors, and the processor cycles per bit.

use super::{Bound, Metric, Scope, goodput, ratio, senders, span_s};
use crate::trace::{HostSample, Trace};
use longfat_model::{Cpu, Experiment, Flow};

pub(super) const SENDER: Metric = Metric {
    name: "sender_cpu_utilization",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span in which the processor of the sending host was at work; NaN where the host has none",
    source: "Bulot, Cottrell and Hughes-Jones 2004, §4.2",
    compute: |experiment, trace| of_flows(experiment, trace, |flow| flow.from),
};

pub(super) const RECEIVER: Metric = Metric {
    name: "receiver_cpu_utilization",
    unit: "1",
    bound: Bound::Share,
    summary: "the same of the receiving host",
    source: "Bulot, Cottrell and Hughes-Jones 2004, §4.2",
    compute: |experiment, trace| of_flows(experiment, trace, |flow| flow.to),
};

// §4.2: CPU utilization times CPU MHz over the average throughput.
pub(super) const MHZ_PER_MBPS: Metric = Metric {
    name: "mhz_per_mbps",
    unit: "MHz/(Mbit/s)",
    bound: Bound::NotNegative,
    summary: "processor cycles of the sending hosts over payload bits of the measured senders on them: for each sender its host's, and the whole run's; NaN where nothing was delivered. Between real hosts: time of all cores at work, for whatever program, times their clock",
    source: "Bulot, Cottrell and Hughes-Jones 2004, §4.2",
    compute: mhz_per_mbps,
};

/// The cycles per second, in MHz, of one of the real hosts between which flows ran: time of all cores at work, within the measured span, times
/// their clock. `None` where the host does not tell, or was looked at less than twice.
fn of_real_host(trace: &Trace, is_far: bool) -> Option<f64> {
    let within = |look: &&HostSample| look.is_far == is_far && look.time >= trace.span.0 && look.time <= trace.span.1;
    let looks: Vec<&HostSample> = trace.host_series.iter().filter(within).collect();
    let (first, last) = (looks.first()?, looks.last()?);
    let clocks: Vec<f64> = looks.iter().filter_map(|look| Some(look.get("cpu_clock")? as f64 / 1e6)).collect();
    let clock = clocks.iter().sum::<f64>() / clocks.len() as f64;
    let busy = last.busy_ms()?.checked_sub(first.busy_ms()?)? as f64 / 1e3;
    let seconds = last.time.since(first.time).as_secs_f64();
    Some(busy / seconds * clock).filter(|mhz| mhz.is_finite())
}

/// The processor of `node` and the share of the measured span in which it was at work.
fn of_node(experiment: &Experiment, trace: &Trace, node: usize) -> Option<(Cpu, f64)> {
    let host = experiment.hosts.iter().position(|host| host.node == node)?;
    Some((experiment.hosts[host].cpu?, ratio(trace.hosts[host].cpu_busy_s, span_s(trace))))
}

fn of_flows(experiment: &Experiment, trace: &Trace, end: fn(&Flow) -> usize) -> Vec<(Scope, f64)> {
    if experiment.hosts.is_empty() {
        return Vec::new();
    }
    let utilization = |flow: &Flow| of_node(experiment, trace, end(flow)).map_or(f64::NAN, |(_, share)| share);
    experiment.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), utilization(flow))).collect()
}

fn mhz_per_mbps(experiment: &Experiment, trace: &Trace) -> Vec<(Scope, f64)> {
    let senders = senders(experiment);
    let node = |streams: &[usize]| experiment.flows[streams[0]].from;
    // One entry per host, with all measured flows from it.
    let mut hosts: Vec<(usize, f64, Vec<usize>)> = Vec::new();
    for streams in &senders {
        match hosts.iter_mut().find(|(host, ..)| *host == node(streams)) {
            Some((_, _, flows)) => flows.extend(streams),
            None => {
                let node = node(streams);
                let mhz = match &experiment.live {
                    Some(live) if !trace.host_series.is_empty() => of_real_host(trace, node != live.local()),
                    _ => of_node(experiment, trace, node).map(|(cpu, share)| share * cpu.mhz as f64),
                };
                hosts.extend(mhz.map(|mhz| (node, mhz, streams.clone())));
            }
        }
    }
    // Nothing was delivered, so no bit has a cost.
    let cost = |mhz: f64, flows: &[usize]| ratio(mhz, goodput::of_flows(experiment, trace, flows) / 1e6);
    let of = |streams: &Vec<usize>| {
        let (_, mhz, flows) = hosts.iter().find(|(host, ..)| *host == node(streams))?;
        Some((Scope::Sender(experiment.flows[streams[0]].stream_of), cost(*mhz, flows)))
    };
    let all: Vec<usize> = hosts.iter().flat_map(|(.., flows)| flows.iter().copied()).collect();
    let mhz = hosts.iter().map(|(_, mhz, _)| mhz).sum();
    senders.iter().filter_map(of).chain([(Scope::Run, cost(mhz, &all))]).collect()
}
