//! From a checked tree without sweeps to an [`Experiment`]: presets become nodes and links, defaults are filled in,
//! and what contradicts itself is found.

mod classes;
mod flow;
mod host;
mod line;
mod live;
mod moves;
mod network;
mod offload;
mod presets;
mod queue;
mod recording;
mod router;
mod switch;
mod unsteady;

use super::backend;
use super::error::Fault;
use super::fields;
use super::files::Files;
use super::tree::Node;
use super::view::{View, Written};
use longfat_core::time::Duration;
use longfat_model::{Experiment, Measure, Ties};

/// The run with number `repeat` of its combination, whose traces are among `files`.
pub(crate) fn resolve(root: &Node, repeat: u64, files: &dyn Files) -> Result<Experiment, Fault> {
    let file = View::new(Written { node: root, path: Vec::new(), files }, fields::root());
    let (first, repeats) = (file.integer("seed")?.unwrap_or(1), file.integer("repeats")?.unwrap_or(1));
    if first + (repeats - 1) > fields::MAX_SEED {
        return Err(file
            .fault("seed", "the seeds of the repeats are out of range")
            .expected(format!("at most {} with the last repeat", fields::MAX_SEED)));
    }
    let seed = first + repeat;
    let ties = if file.word("ties")? == Some("random") { Ties::Random } else { Ties::LinkOrder };
    let departures_last = file.word("departures")? == Some("last");
    let mut measure = measure(&file)?;
    let (live, mut plan) = match live::hosts(&file, backend::of(root))? {
        Some((live, plan)) => (Some(live), plan),
        None => (None, presets::plan(&file)?),
    };
    let groups = flow::groups(&file, &plan, measure.duration, seed)?;
    let flows = flow::connections(&groups, &mut plan.network)?;
    // Real hosts are as they are.
    let is_live = live.is_some();
    let hosts = if is_live { Vec::new() } else { host::hosts(&file, &plan, &flows)? };
    let routers = if is_live { Vec::new() } else { router::routers(&file, &plan)? };
    let network = if is_live { plan.network } else { queue::finish(plan, &flows, &hosts, &routers, seed)? };
    measure.packets = recording::watched(&file, &network, &flows)?;
    let experiment = Experiment {
        title: file.text("title").unwrap_or("").to_owned(),
        seed,
        ties: if is_live { Ties::LinkOrder } else { ties },
        departures_last: departures_last && !is_live,
        network,
        hosts,
        routers,
        flows,
        measure,
        live,
    };
    moves::check(&file, &experiment)?;
    recording::check(&file, &experiment)?;
    Ok(experiment)
}

/// True if the repeats of `experiment` differ in more than their seeds. Only the starts of flows are drawn before a run begins.
pub(crate) fn repeats_are_drawn(experiment: &Experiment) -> bool {
    experiment.flows.iter().any(|flow| flow.drawn.is_some())
}

fn measure(file: &View<'_>) -> Result<Measure, Fault> {
    let view = file.sub("measure", fields::measure()).ok_or_else(|| file.fault("measure", "there is no `measure`"))?;
    let duration = view.duration("duration")?.unwrap_or(Duration::ZERO);
    let warmup = view.duration("warmup")?.unwrap_or(Duration::ZERO);
    let interval = view.duration("interval")?;
    if warmup >= duration {
        return Err(view.fault("warmup", "the warmup leaves nothing to measure").expected("less than the duration"));
    }
    if interval.is_some_and(|i| i > duration) {
        return Err(view.fault("interval", "the interval is longer than the run").expected("at most the duration"));
    }
    Ok(Measure { duration, warmup, interval, events: view.boolean("events")?, packets: None, acks: view.boolean("acks")? })
}
