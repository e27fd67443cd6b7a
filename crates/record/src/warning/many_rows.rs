//! Series of more samples than anybody looks at.

use super::asked::bytes;
use super::{Asked, Check, Warning};
use crate::trace::columns;
use longfat_model::cost::CELL;

pub(super) const WARNING: Warning = Warning {
    name: "many_rows",
    summary: "`measure.interval` asks for series of more than 1 GiB in each run, before they are compressed",
    advice: "raise `measure.interval`: a plot shows a few thousand samples",
    source: "none: longfat's own",
    about: &["measure.interval"],
    check: Check::Before(check),
};

const MUCH: u128 = 1 << 30;

fn check(asked: &Asked<'_>) -> Vec<String> {
    let measure = &asked.experiment.measure;
    let Some(interval) = measure.interval else { return Vec::new() };
    let (flows, links) = (asked.experiment.flows.len(), asked.links().len());
    let values = flows * columns::flow_series().len() + links * columns::link_series().len();
    let samples = measure.duration.as_ps() / interval.as_ps() + 1;
    let taken = u128::from(samples) * values as u128 * u128::from(CELL);
    if taken <= MUCH {
        return Vec::new();
    }
    let rows = u128::from(samples) * (flows + links) as u128;
    vec![format!(
        "{samples} samples of {flows} flows and {links} links are {rows} rows, {} a run before they are compressed",
        bytes(taken as f64)
    )]
}
