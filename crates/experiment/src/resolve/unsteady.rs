//! Changes of a link over time or from packet to packet, as the file describes them.

use crate::error::Fault;
use crate::fields::{self, DELAY_TRACE, RATE_TRACE};
use crate::shape::{Field, read};
use crate::trace_file::{self, Content, Format, How, Quantity, TraceFile};
use crate::view::{View, Written};
use longfat_core::link::course::{self, Course, Outage, Outages, Step, Steps};
use longfat_core::link::{Harq, Jitter, Opportunities, Passage, Reorder, Service, Spread, Unsteady, service};
use longfat_core::params::{Choice, Value};
use longfat_core::time::Duration;

/// The keys of it. A way back that says one of them has nothing of this from the way there.
pub(super) const KEYS: [&str; 8] = ["rate_trace", "delay_trace", "down", "jitter", "reorder", "duplicate", "harq", "limit_in_delay"];

/// Changes of one direction, and the files from which they were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    pub unsteady: Unsteady,
    pub rate_file: Option<TraceFile>,
    pub delay_file: Option<TraceFile>,
}

/// Returns the changes that `view` describes, or else those of the `other` direction.
pub(super) fn changes(view: &View<'_>, other: Option<&Changes>) -> Result<Changes, Fault> {
    if KEYS.iter().all(|key| view.get(key).is_none()) {
        let mut same = other.cloned().unwrap_or_default();
        // A rate or delay of this direction replaces the trace of the other one.
        if view.get("rate").is_some() || view.get("type").is_some() {
            (same.unsteady.service, same.rate_file) = (None, None);
        }
        if view.get("delay").is_some() {
            (same.unsteady.passage.delay, same.delay_file) = (None, None);
        }
        return Ok(same);
    }
    let (service, rate_file) = view.written("rate_trace").map(|at| service(&at)).transpose()?.unzip();
    let (delay, delay_file) = view.written("delay_trace").map(|at| delay(&at)).transpose()?.unzip();
    let passage = Passage {
        delay,
        jitter: view.sub("jitter", fields::jitter()).map(|view| jitter(&view)).transpose()?,
        reorder: view.sub("reorder", fields::reorder()).map(|view| reorder(&view)).transpose()?,
        duplicate: view.number("duplicate")?.unwrap_or(0.0),
        harq: view.sub("harq", fields::harq()).map(|view| harq(&view)).transpose()?,
    };
    let unsteady = Unsteady { service, outages: outages(view)?, passage, limit_in_delay: view.integer("limit_in_delay")? };
    Ok(Changes { unsteady, rate_file: rate_file.flatten(), delay_file: delay_file.flatten() })
}

fn service(at: &Written<'_>) -> Result<(Service, Option<TraceFile>), Fault> {
    let (kind, view) = at.variant(&RATE_TRACE)?;
    let (service, file) = match kind {
        "mahimahi" => opportunities(&view).map(|(of, file)| (Service::Opportunities(of), file))?,
        _ if service::find(kind).is_some() => (Service::Granted(Choice { kind: service::named(kind).name, params: view.params()? }), None),
        _ => course(kind, &view, "rate", fields::rate_step()).map(|(of, file)| (Service::Rate(of), file))?,
    };
    service.check().map_err(|sentence| at.fault(format!("this rate trace cannot work: {sentence}")))?;
    Ok((service, file))
}

fn opportunities(view: &View<'_>) -> Result<(Opportunities, Option<TraceFile>), Fault> {
    let spec = fields::at();
    let listed = view.items("at");
    if listed.is_empty() == view.get("file").is_none() {
        return Err(view.at.fault("a trace is either a `file` or what `at` lists").expected("one of them"));
    }
    if listed.is_empty() {
        let how = How { of: Quantity::Rate, value: None, interval: None };
        let (content, file) = file(view, trace_file::format("mahimahi").expect("it is registered"), how)?;
        let times = if let Content::Opportunities(times) = content { times } else { [1].into() };
        return Ok((Opportunities(times), Some(file)));
    }
    let ms = listed.into_iter().map(|item| read(&spec, item.node, &item.path).map(|value| number(value) as u32));
    Ok((Opportunities(ms.collect::<Result<_, Fault>>()?), None))
}

fn delay(at: &Written<'_>) -> Result<(Course, Option<TraceFile>), Fault> {
    let (kind, view) = at.variant(&DELAY_TRACE)?;
    let (course, file) = course(kind, &view, "delay", fields::delay_step())?;
    course.check().map_err(|sentence| at.fault(format!("this delay trace cannot work: {sentence}")))?;
    Ok((course, file))
}

/// Returns the content of a trace's file. A trace that was read before, according to its `sha256`, need not exist any more unless it is to
/// be run.
fn file(view: &View<'_>, format: &'static Format, how: How) -> Result<(Content, TraceFile), Fault> {
    let said = view.text("file").unwrap_or("");
    // Results are readable wherever they are, without the file.
    let files = view.at.files;
    let path = files.lasting(said);
    match (trace_file::read(&path, files, format, how), view.text("sha256")) {
        (Ok((content, sha256)), known) if known.is_none_or(|known| known == sha256) => {
            Ok((content, TraceFile { path, sha256, is_there: true, format: format.name, how }))
        }
        (_, Some(known)) => {
            let nothing = Content::Steps([Step { at: Duration::ZERO, value: 1 }].into());
            Ok((nothing, TraceFile { path, sha256: known.to_owned(), is_there: false, format: format.name, how }))
        }
        (Err(sentence), None) => Err(view.fault("file", sentence)),
        (Ok(_), None) => unreachable!("without a sum to compare, any file will do"),
    }
}

/// A course of the values that the steps of it call `what`.
fn course(kind: &str, view: &View<'_>, what: &str, fields: &'static [Field]) -> Result<(Course, Option<TraceFile>), Fault> {
    if let Some(format) = trace_file::format(kind) {
        let is_listed = format.name == "lines";
        let how = How {
            of: if what == "rate" { Quantity::Rate } else { Quantity::Delay },
            value: if is_listed { view.word("value")? } else { None },
            interval: if is_listed { view.duration("interval")? } else { None },
        };
        let (content, file) = file(view, format, how)?;
        let Content::Steps(steps) = content else { panic!("it has steps") };
        return Ok((Course::Steps(Steps { steps, repeat: view.duration("period")? }), Some(file)));
    }
    if kind == "steps" {
        let step = |at: Written<'_>| {
            let view = View::new(at, fields);
            Ok(Step { at: Duration::from_ps(number(view.value("at")?)), value: number(view.value(what)?) })
        };
        let steps = view.items("values").into_iter().map(step).collect::<Result<_, Fault>>()?;
        return Ok((Course::Steps(Steps { steps, repeat: view.duration("period")? }), None));
    }
    let kind = course::named(kind);
    let mut params = view.params()?;
    let mut bound = |name| {
        let place = params.0.iter().position(|(n, _)| *n == name).expect("it is needed");
        number(params.0.remove(place).1)
    };
    let (low, high) = (bound("low"), bound("high"));
    Ok((Course::Drawn { low, high, by: Choice { kind: kind.name, params } }, None))
}

fn number(value: Value) -> u64 {
    match value {
        Value::Rate(rate) => rate.as_bps(),
        Value::Duration(time) => time.as_ps(),
        Value::Count(n) => n,
        other => panic!("{other:?} is no rate and no time"),
    }
}

fn outages(view: &View<'_>) -> Result<Outages, Fault> {
    let time = |value: Value| Duration::from_ps(number(value));
    let span = |at: Written<'_>| {
        let view = View::new(at, fields::outage());
        Ok(Outage { from: time(view.value("from")?), to: time(view.value("to")?), every: view.duration("every")? })
    };
    let outages = Outages(view.items("down").into_iter().map(span).collect::<Result<_, Fault>>()?);
    outages.check().map_err(|sentence| view.fault("down", sentence))?;
    Ok(outages)
}

fn jitter(view: &View<'_>) -> Result<Jitter, Fault> {
    let correlation = view.number("correlation")?.unwrap_or(0.0);
    if correlation >= 1.0 {
        return Err(view.fault("correlation", "with a correlation of 1 all packets take as long").expected("less than 1"));
    }
    Ok(Jitter { spread: spread(view)?, correlation, in_order: view.boolean("in_order")? })
}

/// `most` goes with the uniform distribution, `deviation` with the others.
fn spread(view: &View<'_>) -> Result<Spread, Fault> {
    let kind = view.word("distribution")?.unwrap_or("uniform");
    let (key, other) = if kind == "uniform" { ("most", "deviation") } else { ("deviation", "most") };
    if view.get(other).is_some() {
        let fault = view.fault(other, format!("`{other}` says nothing of a {kind} distribution"));
        let others = if kind == "uniform" { " or `distribution = \"normal\"`" } else { "" };
        return Err(fault.expected(format!("`{key}`{others}")));
    }
    let Some(time) = view.duration(key)? else {
        return Err(view
            .at
            .fault(format!("`{key}` is missing: a {kind} distribution needs it"))
            .expected(format!("`{key}`, such as \"2 ms\"")));
    };
    Ok(match kind {
        "normal" => Spread::Normal(time),
        "pareto" => Spread::Pareto(time),
        _ => Spread::Uniform(time),
    })
}

fn reorder(view: &View<'_>) -> Result<Reorder, Fault> {
    Ok(Reorder { probability: view.number("probability")?.unwrap_or(0.0), by: Duration::from_ps(number(view.value("by")?)) })
}

fn harq(view: &View<'_>) -> Result<Harq, Fault> {
    let probability = view.number("probability")?.unwrap_or(0.0);
    if probability >= 1.0 {
        return Err(view.fault("probability", "with a probability of 1 every block fails").expected("less than 1"));
    }
    let time = |name| Ok(Duration::from_ps(number(view.value(name)?)));
    let (round_trip, block) = (time("round_trip")?, time("block")?);
    if round_trip < block {
        return Err(view.fault("round_trip", "a block cannot be retransmitted before it has ended").expected("at least one block"));
    }
    Ok(Harq { probability, round_trip, block, most: number(view.value("most")?) })
}
