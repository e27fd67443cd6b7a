//! Changes of a link, written as an experiment file would describe them.

use super::{Table, chosen, duration};
use crate::trace_file::TraceFile;
use longfat_core::link::course::{self, Course, Outage};
use longfat_core::link::{Harq, Jitter, Reorder, Service, Spread, Unsteady, service};
use longfat_core::time::Duration;
use longfat_core::units::text::RATE;
use longfat_model::Link;
use serde_json::{Value as Json, json};

/// Puts it into the `table` of the link.
pub(super) fn write(link: &Link, table: &mut Table) {
    let Unsteady { service, outages, passage, limit_in_delay } = &link.unsteady;
    let rate = service.as_ref().map(|service| match (service, &link.rate_file) {
        (Service::Rate(course), file) => trace(course, file.as_ref(), "rate", |bps| RATE.format(bps).into()),
        (Service::Granted(by), _) => chosen(by.kind, &by.params, service::named(by.kind).params),
        (Service::Opportunities(_), Some(file)) => of_file(file),
        (Service::Opportunities(of), None) => json!({ "kind": "mahimahi", "at": of.0.to_vec() }),
    });
    let delay = |course| trace(course, link.delay_file.as_ref(), "delay", |ps| duration(Duration::from_ps(ps)));
    for (key, trace) in [("rate_trace", rate), ("delay_trace", passage.delay.as_ref().map(delay))] {
        if let Some(trace) = trace {
            table.insert(key.into(), trace);
        }
    }
    if !outages.0.is_empty() {
        let down = outages.0.iter().map(|Outage { from, to, every }| {
            let mut said = json!({ "from": duration(*from), "to": duration(*to) });
            if let Some(every) = every {
                said["every"] = duration(*every);
            }
            said
        });
        table.insert("down".into(), down.collect());
    }
    if let Some(Jitter { spread, correlation, in_order }) = passage.jitter {
        let mut said = json!({ "correlation": correlation, "in_order": in_order });
        let (key, time, distribution) = match spread {
            Spread::Uniform(most) => ("most", most, None),
            Spread::Normal(deviation) => ("deviation", deviation, Some("normal")),
            Spread::Pareto(deviation) => ("deviation", deviation, Some("pareto")),
        };
        said[key] = duration(time);
        if let Some(distribution) = distribution {
            said["distribution"] = distribution.into();
        }
        table.insert("jitter".into(), said);
    }
    if let Some(Reorder { probability, by }) = passage.reorder {
        table.insert("reorder".into(), json!({ "probability": probability, "by": duration(by) }));
    }
    if let Some(Harq { probability, round_trip, block, most }) = passage.harq {
        let [round_trip, block] = [round_trip, block].map(duration);
        table.insert("harq".into(), json!({ "probability": probability, "round_trip": round_trip, "block": block, "most": most }));
    }
    if let Some(limit) = limit_in_delay {
        table.insert("limit_in_delay".into(), format!("{limit} packets").into());
    }
    // One word of all this is always there: so the way back has nothing from the way there.
    table.insert("duplicate".into(), passage.duplicate.into());
}

fn of_file(file: &TraceFile) -> Json {
    let mut said = json!({ "kind": file.format, "file": file.path, "sha256": file.sha256 });
    if let Some(value) = file.how.value {
        said["value"] = value.into();
    }
    if let Some(interval) = file.how.interval {
        said["interval"] = duration(interval);
    }
    said
}

fn trace(course: &Course, file: Option<&TraceFile>, what: &str, value: impl Fn(u64) -> Json) -> Json {
    match course {
        Course::Steps(of) => {
            let values = || of.steps.iter().map(|step| json!({ "at": duration(step.at), what: value(step.value) })).collect::<Json>();
            let mut table = file.map_or_else(|| json!({ "kind": "steps", "values": values() }), of_file);
            if let Some(period) = of.repeat {
                table["period"] = duration(period);
            }
            table
        }
        Course::Drawn { low, high, by } => {
            let mut table = chosen(by.kind, &by.params, course::named(by.kind).params);
            table["low"] = value(*low);
            table["high"] = value(*high);
            table
        }
    }
}
