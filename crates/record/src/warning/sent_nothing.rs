//! Flows that never sent anything.

use super::{Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "sent_nothing",
    summary: "a flow began before the end of the run and sent nothing",
    advice: "raise `measure.duration`, shorten the `off` times of an on/off source, or try another `seed`; a mean over such a flow counts its zero",
    source: "none: longfat's own",
    about: &[],
    check: Check::After(|asked, trace| {
        let silent = trace
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| flow.total.segments_sent == 0 && flow.gave_up.is_none() && flow.start < trace.end);
        let told = silent.map(|(i, flow)| {
            let (start, end) = (flow.start.as_secs_f64(), trace.end.as_secs_f64());
            format!("{} sent nothing from its start at {start} s to the end of the run at {end} s", asked.flow(i))
        });
        told.collect()
    }),
};
