//! Size of a run's records: series have to fit into a temporary file, the rest into memory. An experiment with more is refused before it
//! starts.

use super::super::error::Fault;
use super::super::fields;
use super::super::view::View;
use longfat_core::time::Duration;
use longfat_core::units::text::TIME;
use longfat_model::cost::{self, CELL, VALUE};
use longfat_model::route::Routes;
use longfat_model::{Experiment, Flow, Network, Watched};
use longfat_record::trace::columns;

/// The most memory that the records of a run may take, in bytes: 8 GiB.
const MOST: u64 = 8 << 30;
const MOST_SAID: &str = "what a run records may take 8 GiB of memory";

/// The most that the series of a run may take, in bytes before they are compressed: 64 GiB.
const MOST_OF_SERIES: u64 = 64 << 30;

/// Refuses what would take more than that.
pub(super) fn check(file: &View<'_>, experiment: &Experiment) -> Result<(), Fault> {
    series(file, experiment)?;
    packets(file, experiment)?;
    acks(file, experiment)
}

fn series(file: &View<'_>, experiment: &Experiment) -> Result<(), Fault> {
    let measure = &experiment.measure;
    let Some(interval) = measure.interval else { return Ok(()) };
    let (flows, links) = (experiment.flows.len() as u64, experiment.network.links.len() as u64);
    let values = flows * columns::flow_series().len() as u64 + links * columns::link_series().len() as u64;
    let bytes = |samples: u64| u128::from(samples) * u128::from(values * CELL);
    let asked = measure.duration.as_ps() / interval.as_ps() + 1;
    if bytes(asked) <= u128::from(MOST_OF_SERIES) {
        return Ok(());
    }
    let what = format!(
        "a sample each {} of {} and {} makes {} rows in {}, {} before they are compressed",
        time(interval),
        count(flows, "flow"),
        count(links, "link"),
        u128::from(asked) * u128::from(flows + links),
        time(measure.duration),
        gigabytes(bytes(asked))
    );
    let most_samples = (MOST_OF_SERIES / (values * CELL)).max(2);
    let least = rounded_up(measure.duration.as_ps().div_ceil(most_samples - 1));
    let expected = format!("at least \"{}\", or a shorter `duration`", TIME.format(least.min(measure.duration.as_ps())));
    Err(measured(file).fault("interval", what).expected(expected).help("the series of a run may have 64 GiB, which go to disk, compressed"))
}

/// Checks the estimated packet events: data packets that the bottleneck carries, or that are to be sent, and one ACK per two of them.
fn packets(file: &View<'_>, experiment: &Experiment) -> Result<(), Fault> {
    let Some(watched) = experiment.measure.packets else { return Ok(()) };
    let routes = Routes::new(&experiment.network);
    let links = &experiment.network.links;
    let rows_of = |i: usize, flow: &Flow| {
        let path = routes.path(flow.from, flow.to).unwrap_or_default();
        let touches = |node: usize| path.iter().filter(|link| links[**link].from == node || links[**link].to == node).count();
        match watched {
            Watched::All => path.len() + 2,
            Watched::Link(link) => usize::from(path.contains(&link)),
            Watched::Node(node) => touches(node) + usize::from(flow.from == node) + usize::from(flow.to == node),
            Watched::Flows(first, end) => {
                if (first..end).contains(&i) {
                    path.len() + 2
                } else {
                    0
                }
            }
        }
    };
    let each = cost::packets(experiment).zip(&experiment.flows).enumerate().map(|(i, (n, flow))| n * 1.5 * rows_of(i, flow) as f64);
    let rows: f64 = each.sum();
    let bytes = rows * (columns::packets().len() as u64 * VALUE) as f64;
    if bytes <= MOST as f64 {
        return Ok(());
    }
    let what = format!("that is about {rows:.0} rows of packets, {} of memory", gigabytes(bytes as u128));
    let expected = "the name of a link, a host or a flow with fewer packets, or a shorter `duration`";
    Err(measured(file).fault("packets", what).expected(expected).help(MOST_SAID))
}

/// Checks the ACKs that are recorded: at most one per data packet.
fn acks(file: &View<'_>, experiment: &Experiment) -> Result<(), Fault> {
    let rows: f64 = if experiment.measure.acks { cost::packets(experiment).sum() } else { 0.0 };
    let bytes = rows * (columns::acks().len() as u64 * VALUE) as f64;
    if bytes <= MOST as f64 {
        return Ok(());
    }
    let what = format!("that is up to {rows:.0} rows of ACKs, {} of memory", gigabytes(bytes as u128));
    Err(measured(file).fault("acks", what).expected("a shorter `duration`, or `interval`").help(MOST_SAID))
}

/// The packets that `measure.packets` names.
pub(super) fn watched(file: &View<'_>, network: &Network, flows: &[Flow]) -> Result<Option<Watched>, Fault> {
    let view = measured(file);
    let Some(name) = view.text("packets") else { return Ok(None) };
    let mut found = Vec::new();
    if name == Watched::ALL {
        found.push(Watched::All);
    }
    found.extend(network.links.iter().position(|link| link.name == name).map(Watched::Link));
    found.extend(network.nodes.iter().position(|node| node.name == name).map(Watched::Node));
    if let Some(first) = flows.iter().position(|flow| *flow.group == *name) {
        let end = flows.iter().rposition(|flow| *flow.group == *name).map_or(first, |last| last + 1);
        found.push(Watched::Flows(first, end));
    }
    match found[..] {
        [one] => Ok(Some(one)),
        [] => {
            let links = network.links.iter().map(|link| link.name.as_str());
            let names = links.chain(network.nodes.iter().map(|node| node.name.as_str())).chain(flows.iter().map(|flow| &*flow.group));
            let fault = view.fault("packets", format!("no link, host or flow is called `{name}`"));
            Err(fault.nearest(name, names).expected("the name of a link, a host or a flow, or \"all\""))
        }
        _ => {
            Err(view.fault("packets", format!("more than one link, host or flow is called `{name}`")).help("give the flow another `name`"))
        }
    }
}

fn measured<'a>(file: &View<'a>) -> View<'a> {
    file.sub("measure", fields::measure()).expect("there is a measure")
}

fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn time(duration: Duration) -> String {
    TIME.format(duration.as_ps())
}

fn gigabytes(bytes: u128) -> String {
    match bytes as f64 / 1e9 {
        gb if gb >= 10_000.0 => format!("{:.0} TB", gb / 1e3),
        gb => format!("{gb:.1} GB"),
    }
}

/// The next number of one digit, and zeros.
fn rounded_up(ps: u64) -> u64 {
    let unit = 10_u64.pow(ps.max(1).ilog10());
    ps.div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn it_rounds_up_to_one_digit() {
        assert_eq!([1, 9, 10, 11, 99, 2_000_001].map(rounded_up), [1, 9, 10, 20, 100, 3_000_000]);
    }
}
