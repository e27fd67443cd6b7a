//! Traces of mahimahi whose openings all stand at one instant.

use super::{Asked, Check, Warning};
use longfat_core::link::{OPPORTUNITY, Service};

pub(super) const WARNING: Warning = Warning {
    name: "openings_at_one_instant",
    summary: "a trace of mahimahi has all its openings at one instant: the link stands still, and then sends them at once",
    advice: "a line of the trace is the millisecond of one opening of 1500 bytes, not a size or a rate: for a constant rate list each millisecond that has one, such as 1, 2, 3 ... for 12 Mbit/s, or say `rate`",
    source: "mm-link(1): each line gives a timestamp in milliseconds, from the beginning of the trace, and represents an opportunity for one packet of 1500 bytes",
    about: &[],
    check: Check::Before(check),
};

fn check(asked: &Asked<'_>) -> Vec<String> {
    let told = asked.links().iter().filter_map(|link| {
        let Some(Service::Opportunities(of)) = &link.unsteady.service else { return None };
        let (count, at) = (of.0.len(), *of.0.last()?);
        (count > 1 && of.0.iter().all(|time| *time == at)).then(|| {
            format!(
                "{}: all {count} openings of its trace are at {at} ms: it stands still for {at} ms, and then sends {} kB at once",
                link.name,
                count as u64 * u64::from(OPPORTUNITY) / 1000
            )
        })
    });
    told.collect()
}
