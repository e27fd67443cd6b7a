//! Volumes that were not delivered whole.

use super::{Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "unfinished",
    summary: "the run ended before a flow had delivered its volume",
    advice: "raise `measure.duration`, or lower the volume; times and rates of such a flow are NaN",
    source: "none: longfat's own",
    about: &["measure.duration"],
    check: Check::After(|asked, trace| {
        let (flows, end) = (&asked.experiment.flows, trace.end.as_secs_f64());
        let left = trace.flows.iter().enumerate().filter(|(_, flow)| flow.delivered_all.is_none());
        let told = left.filter_map(|(i, flow)| {
            let (volume, delivered) = (flows[i].traffic.volume()?, flow.total.delivered);
            Some(format!("{} did not finish: {delivered} of {volume} bytes were delivered when the run ended at {end} s", asked.flow(i)))
        });
        told.collect()
    }),
};
