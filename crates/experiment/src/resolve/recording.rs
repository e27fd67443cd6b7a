//! What a run records has to fit into memory: what would not is refused before it starts.

use super::super::error::Fault;
use super::super::fields;
use super::super::model::Experiment;
use super::super::trace::columns;
use super::super::view::View;
use longfat_core::time::Duration;
use longfat_core::units::text::TIME;

/// The most memory that the records of a run may take, in bytes: 8 GiB.
const MOST: u64 = 8 << 30;
/// Bytes of memory that a recorded value takes: 8 in the trace, and twice that while the run's tables are made and written (measured:
/// 24.1, of 43 million values).
const VALUE: u64 = 24;

/// Refuses series that would take more than [`MOST`].
pub fn check(file: &View<'_>, experiment: &Experiment) -> Result<(), Fault> {
    let measure = &experiment.measure;
    let Some(interval) = measure.interval else { return Ok(()) };
    let (flows, links) = (experiment.flows.len() as u64, experiment.network.links.len() as u64);
    let values = flows * columns::flow_series().len() as u64 + links * columns::link_series().len() as u64;
    let samples = |interval: u64| measure.duration.as_ps() / interval + 1;
    let bytes = |samples: u64| u128::from(samples) * u128::from(values * VALUE);
    let asked = samples(interval.as_ps());
    if bytes(asked) <= u128::from(MOST) {
        return Ok(());
    }
    let rows = u128::from(asked) * u128::from(flows + links);
    let what = format!(
        "a sample of {flows} flows and {links} links each {} makes {rows} rows in {}, about {} of memory",
        time(interval),
        time(measure.duration),
        gigabytes(bytes(asked))
    );
    let most_samples = (MOST / (values * VALUE)).max(2);
    let least = rounded_up(measure.duration.as_ps().div_ceil(most_samples - 1));
    let view = file.sub("measure", fields::measure()).expect("there is a measure");
    Err(view.fault("interval", what).expected(format!(
        "at least \"{}\" (at most {} of memory), or a shorter `duration`",
        TIME.format(least.min(measure.duration.as_ps())),
        gigabytes(u128::from(MOST))
    )))
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
