//! Streams of a sender that have not the same.

use super::asked::rate;
use super::{Asked, Check, Warning};
use crate::metric::goodput;
use crate::trace::Trace;

pub(super) const WARNING: Warning = Warning {
    name: "unequal_streams",
    summary: "a sender's slowest parallel stream got less than half of its fastest",
    advice: "look at `goodput_bps` in the table `flows`: the sum hides that a transfer waits for its slowest stream",
    source: "none: longfat's own",
    about: &["streams"],
    check: Check::After(check),
};

fn check(asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let flows = &asked.experiment.flows;
    let mut told = Vec::new();
    let mut first = 0;
    for streams in flows.chunk_by(|a, b| a.stream_of == b.stream_of) {
        let all = first..first + streams.len();
        first = all.end;
        if streams.len() < 2 {
            continue;
        }
        let rates: Vec<f64> = all.clone().map(|i| goodput::of_flows(asked.experiment, trace, &[i])).collect();
        let (least, most) = rates.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
        if least < most / 2.0 {
            told.push(format!(
                "{}: of its {} streams the fastest got {} and the slowest {}",
                asked.flow(all.start),
                streams.len(),
                rate(most),
                rate(least)
            ));
        }
    }
    told
}
