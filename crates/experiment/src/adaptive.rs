//! Sweeps that decide by what their runs give which others they need: `[precision]` and `[search]`.
//!
//! A document only describes the sweep. Its runs are those of the whole sweep, by the same numbers. A runner leaves out the runs that the
//! answer does not need.

use super::error::Fault;
use super::fields;
use super::files::NoFiles;
use super::sweep::Sweep;
use super::tree::Node;
use super::view::{View, Written};

/// Repeats of a combination are enough when half of the confidence interval of `metric` is at most `within`.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// A metric of the run.
    pub metric: &'static str,
    /// Largest half width of the confidence interval: a share of the mean if `relative`, else in the unit of the metric.
    pub within: f64,
    /// True if `within` is a share of the mean.
    pub relative: bool,
    /// Least number of repeats.
    pub least: u64,
}

/// The first value of an axis at which `metric` has reached `bound`.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Place among the [axes](super::Document::axes).
    pub axis: usize,
    /// Metric of the run, or its mean over several repeats.
    pub metric: &'static str,
    /// Value that the metric is to reach.
    pub bound: f64,
    /// True if it reaches the bound from below: `at_least`, not `at_most`.
    pub is_floor: bool,
}

const REQUIRED: &str = "its shape has been checked";

impl Precision {
    pub(super) fn read(root: &Node, repeats: u64) -> Result<Option<Self>, Fault> {
        let file = View::new(Written { node: root, path: Vec::new(), files: &NoFiles }, fields::root());
        let Some(table) = file.sub("precision", fields::precision()) else { return Ok(None) };
        let least = table.integer("least")?.expect(REQUIRED);
        if repeats < least {
            let message = format!("there are to be at least {least} repeats, and `repeats` is the most there may be");
            return Err(table
                .at
                .fault(message)
                .found(format!("repeats = {repeats}"))
                .expected("such as repeats = 50 at the head of the file"));
        }
        let (metric, within) = (table.word("metric")?.expect(REQUIRED), table.number("within")?.expect(REQUIRED));
        Ok(Some(Precision { metric, within, relative: table.boolean("relative")?, least }))
    }
}

impl Search {
    pub(super) fn read(root: &Node, sweep: &Sweep) -> Result<Option<Self>, Fault> {
        let file = View::new(Written { node: root, path: Vec::new(), files: &NoFiles }, fields::root());
        let Some(table) = file.sub("search", fields::search()) else { return Ok(None) };
        let name = table.text("axis").expect(REQUIRED);
        let names: Vec<&str> = sweep.axes.iter().filter(|axis| !axis.follows).map(|axis| axis.name.as_str()).collect();
        let Some(axis) = names.iter().position(|other| *other == name) else {
            let expected = if names.is_empty() { "the experiment sweeps nothing".to_owned() } else { names.join(", ") };
            return Err(table.fault("axis", format!("there is no axis `{name}`")).expected(expected).nearest(name, names));
        };
        if !sweep.stands_alone(name) {
            return Err(table.fault("axis", format!("`{name}` advances together with another axis, so it cannot be searched")));
        }
        let (bound, is_floor) = match (table.number("at_least")?, table.number("at_most")?) {
            (Some(bound), None) => (bound, true),
            (None, Some(bound)) => (bound, false),
            _ => return Err(table.at.fault("a search is for one bound").expected("at_least = NUMBER, or at_most = NUMBER")),
        };
        Ok(Some(Search { axis, metric: table.word("metric")?.expect(REQUIRED), bound, is_floor }))
    }
}
