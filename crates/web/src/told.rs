//! Sentences on a run: its outcome, and what its senders waited for, word for word those of `longfat explain` (`python/longfat/explain`).
//! A test compares them. The sentences that need a recording of several samples per round trip are Python's alone.

use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_record::trace::Trace;
use longfat_tcp::LimitedBy;
use serde_json::{Value, json};

use crate::names;

/// Flows told one by one.
const MOST: usize = 3;
/// Share of the time from which on a cause is named.
const LEAST: f64 = 0.01;
/// Causes in the order of [`LimitedBy::ALL`], and the application.
const CAUSES: [&str; LimitedBy::ALL.len() + 1] = ["cwnd", "receiver window", "send buffer", "pacing", "host", "application"];

struct Flow {
    name: String,
    control: &'static str,
    start_s: f64,
    end_s: f64,
    rtt_min_s: f64,
    delivered: f64,
    flight_max: f64,
    /// Share of its time for each of [`CAUSES`].
    limits: Option<[f64; CAUSES.len()]>,
}

/// TCP flows of a run, and its bottlenecks: name and rate.
pub(crate) struct Story {
    flows: Vec<Flow>,
    bottlenecks: Vec<(String, f64)>,
}

pub(crate) fn story(experiment: &Experiment, trace: &Trace) -> Story {
    let all = names::flows(experiment).into_iter().zip(&experiment.flows).zip(&trace.flows);
    let flows = all.filter(|((_, flow), _)| flow.traffic.is_tcp()).map(|((name, flow), record)| {
        let end_s = record.acked_all.unwrap_or(trace.end).as_secs_f64();
        let life = end_s - record.established.map_or(f64::NAN, Time::as_secs_f64);
        let spent = record.total.limited_s;
        let limits = (life > 0.0 && !spent.iter().any(|one| one.is_nan())).then(|| {
            let shares = spent.map(|seconds| seconds / life);
            let rest = (1.0 - shares.iter().sum::<f64>()).max(0.0);
            std::array::from_fn(|i| shares.get(i).copied().unwrap_or(rest))
        });
        Flow {
            name,
            control: flow.sender.congestion_control.kind,
            start_s: record.start.as_secs_f64(),
            end_s,
            rtt_min_s: if record.rtt.min_s.is_nan() { 0.0 } else { record.rtt.min_s },
            delivered: record.total.arrived as f64,
            flight_max: record.in_flight_max as f64,
            limits,
        }
    });
    let links = experiment.network.links.iter().filter(|link| link.bottleneck);
    Story { flows: flows.collect(), bottlenecks: links.map(|link| (link.name.clone(), link.rate.as_bps() as f64)).collect() }
}

impl Story {
    /// `[{flow, shares: [[cause, share]]}]`, causes of under 0.1 % left out.
    pub(crate) fn limits(&self) -> Value {
        let shares = |limits: &[f64; 6]| -> Value {
            CAUSES.iter().zip(limits).filter(|(_, part)| **part >= 0.001).map(|(cause, part)| json!([cause, part])).collect()
        };
        self.flows.iter().filter_map(|flow| Some(json!({ "flow": flow.name, "shares": shares(flow.limits.as_ref()?) }))).collect()
    }

    /// The outcome, then one sentence per flow; for many flows one for their mean.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut told = vec![self.outcome()];
        let known: Vec<(&Flow, [f64; 6])> = self.flows.iter().filter_map(|flow| Some((flow, flow.limits?))).collect();
        if known.len() > MOST {
            let mean = std::array::from_fn(|i| known.iter().map(|(_, limits)| limits[i]).sum::<f64>() / known.len() as f64);
            told.push(format!("The {} flows waited on average {}.", known.len(), waited(&mean, "their")));
        } else {
            told.extend(
                known.iter().map(|(flow, limits)| format!("{} waited {}{}.", flow.name, waited(limits, "its"), meaning(flow, limits))),
            );
        }
        told
    }

    fn outcome(&self) -> String {
        let flows = &self.flows;
        let Some(first) = flows.first() else { return "No TCP flow carried data, so there is nothing to explain.".to_owned() };
        let start = flows.iter().map(|flow| flow.start_s).fold(f64::INFINITY, f64::min);
        let end = flows.iter().map(|flow| flow.end_s).fold(f64::NEG_INFINITY, f64::max);
        let payload: f64 = flows.iter().map(|flow| flow.delivered).sum();
        let mut controls: Vec<&str> = flows.iter().map(|flow| flow.control).filter(|name| !name.is_empty()).collect();
        controls.sort_unstable();
        controls.dedup();
        let who = if flows.len() == 1 { first.name.clone() } else { format!("{} flows", grouped(flows.len())) };
        let by = if controls.is_empty() { String::new() } else { format!(" ({})", controls.join(", ")) };
        let mut trips: Vec<f64> = flows.iter().map(|flow| flow.rtt_min_s).filter(|rtt| *rtt > 0.0).collect();
        trips.sort_unstable_by(f64::total_cmp);
        let over = match (trips.first(), trips.last()) {
            (Some(least), Some(most)) if *most < 1.1 * least => format!(" over a round trip of {}", with_unit(*least, TIME)),
            (Some(least), Some(most)) => format!(" over round trips of {} to {}", with_unit(*least, TIME), with_unit(*most, TIME)),
            _ => String::new(),
        };
        let goodput = if end > start { payload * 8.0 / (end - start) } else { 0.0 };
        let link = match &self.bottlenecks[..] {
            [(name, rate)] if *rate > 0.0 => format!(", {} of the {} of {name}", share(goodput / rate), with_unit(*rate, RATE)),
            _ => String::new(),
        };
        let (payload, span, rate) = (with_unit(payload, SIZE), with_unit(end - start, TIME), with_unit(goodput, RATE));
        format!("{who}{by} delivered {payload} in {span}{over}: {rate}{link}.")
    }
}

/// The causes with their shares, the greatest first.
fn waited(limits: &[f64; 6], whose: &str) -> String {
    let mut causes: Vec<(f64, &str)> = limits.iter().copied().zip(CAUSES).filter(|(part, _)| *part >= LEAST).collect();
    causes.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(a.1)));
    let said = causes.iter().enumerate().map(|(i, (part, cause))| {
        let the = match *cause {
            "cwnd" | "pacing" => (*cause).to_owned(),
            "host" => "the interface of its host".to_owned(),
            other => format!("the {other}"),
        };
        let rest = if i == 0 { format!(" of {whose} time") } else { String::new() };
        format!("{the} in {}{rest}", share(*part))
    });
    let said: Vec<String> = said.collect();
    match &said[..] {
        [] => "for nothing".to_owned(),
        [one] => format!("for {one}"),
        [first @ .., last] => format!("for {} and {last}", first.join(", ")),
    }
}

/// Words on what the first cause allows.
fn meaning(flow: &Flow, limits: &[f64; 6]) -> String {
    // The first of equals.
    let most = (1..CAUSES.len()).fold(0, |most, i| if limits[i] > limits[most] { i } else { most });
    match CAUSES[most] {
        "receiver window" | "send buffer" if flow.rtt_min_s > 0.0 => {
            let allowed = with_unit(flow.flight_max * 8.0 / flow.rtt_min_s, RATE);
            format!(": {} in flight per {} allow {allowed}", with_unit(flow.flight_max, SIZE), with_unit(flow.rtt_min_s, TIME))
        }
        "application" => ": it had written no more".to_owned(),
        "cwnd" | "pacing" => ": its congestion control set its rate".to_owned(),
        _ => String::new(),
    }
}

const TIME: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)];
const SIZE: &[(&str, f64)] = &[("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0)];
const RATE: &[(&str, f64)] = &[("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];

/// A number to three digits in the unit that fits it: `53.7 Gbit/s`.
fn with_unit(value: f64, units: &[(&str, f64)]) -> String {
    let fits = |unit: &&(&str, f64)| value.abs() >= unit.1 * (1.0 - 1e-9);
    let base = units.iter().find(|unit| unit.1 == 1.0);
    let chosen = if value.abs() > 0.0 { units.iter().find(fits).or(units.last()) } else { base };
    let (word, size) = chosen.expect("there are units");
    format!("{} {word}", three_digits(value / size))
}

/// Formats as Python's `.3g` does.
fn three_digits(value: f64) -> String {
    let short = format!("{value:.2e}");
    let (digits, exponent) = short.split_once('e').expect("it is in exponential notation");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let trim = |text: &str| if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() };
    if (-4..3).contains(&exponent) {
        trim(&format!("{value:.*}", usize::try_from(2 - exponent).unwrap_or(0)))
    } else {
        format!("{}e{}{:02}", trim(digits), if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }
}

fn share(part: f64) -> String {
    let percent = 100.0 * part;
    if percent >= 1.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else if percent < 0.1 {
        "under 0.1 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

/// 12345 as `12,345`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::{grouped, share, three_digits};

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let written = [0.5, 12.0, 96.549, 999.6, 0.00012345, 0.0, 1.005, 100.0].map(three_digits);
        assert_eq!(written, ["0.5", "12", "96.5", "1e+03", "0.000123", "0", "1", "100"]);
        assert_eq!([0.0, 0.0004, 0.004, 0.985, 0.005, 0.025].map(share), ["0 %", "under 0.1 %", "0.4 %", "98 %", "0.5 %", "2 %"]);
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
