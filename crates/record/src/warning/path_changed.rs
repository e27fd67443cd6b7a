//! Changes of the path between two real hosts, from before a run to after it.

use std::collections::BTreeMap;

use crate::trace::columns::NONE;
use crate::trace::{HopSample, Trace};
use longfat_core::time::Time;

/// Difference of idle round trips that hosts explain: their threads wake up late by less.
const HOSTS_S: f64 = 1e-3;

/// Returns the changes, a sentence each.
pub(super) fn changes(trace: &Trace) -> Vec<String> {
    let Some(real) = &trace.real_time else { return Vec::new() };
    let [before, after] = &real.surveys;
    let mut found = Vec::new();
    for (way, place) in [("to", 0), ("from", 1)] {
        let changed = |[was, is]: [u64; 2]| was > 0 && is > 0 && was != is;
        let links = [before.links[place], after.links[place]];
        if changed(links) {
            found.push(format!("the path {way} the far host had {} routers before the run, and {} after it", links[0] - 1, links[1] - 1));
        }
        let mtu = [before.mtu[place], after.mtu[place]];
        if changed(mtu) {
            found.push(format!("the MTU {way} the far host was {} bytes before the run, and {} after it", mtu[0], mtu[1]));
        }
    }
    let of = |is_after| -> BTreeMap<u32, String> {
        let those = trace.hops.iter().filter(|hop: &&HopSample| hop.is_after == is_after && hop.flow == NONE);
        those.filter_map(|hop| Some((hop.ttl, hop.named()?))).collect()
    };
    let now = of(true);
    for (ttl, was) in of(false) {
        if let Some(is) = now.get(&ttl).filter(|is| **is != was) {
            found.push(format!("router {ttl} of the path was {was} before the run, and {is} after it"));
        }
    }
    // Ten round trips of an unchanged path all exceed ten others in one of 184,756 cases (n! n! / (2 n)!).
    let [was, is] = [before.rtt, after.rtt].map(|rtt| rtt.map(Time::as_secs_f64));
    let is_apart = is[0] > was[1] || was[0] > is[1];
    if was[0] > 0.0 && is[0] > 0.0 && is_apart && (is[0] - was[0]).abs() > HOSTS_S {
        found.push(format!(
            "the idle round trip was {:.2} to {:.2} ms before the run, and {:.2} to {:.2} ms after it",
            1e3 * was[0],
            1e3 * was[1],
            1e3 * is[0],
            1e3 * is[1]
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{RealTime, SurveyRecord};
    use longfat_core::time::Duration;

    fn hop(is_after: bool, ttl: u32, address: u64) -> HopSample {
        HopSample { is_after, flow: NONE, ttl, address: [0, address], rtt_s: 0.01 }
    }

    fn said(change: impl FnOnce(&mut SurveyRecord), hops: Vec<HopSample>) -> Vec<String> {
        let time = |us| Time::ZERO + Duration::from_micros(us);
        let before = SurveyRecord { rtt: [time(20_000), time(20_900)], mtu: [1500, 1400], links: [3, 4] };
        let mut after = before;
        change(&mut after);
        changes(&Trace { real_time: Some(RealTime { surveys: [before, after], ..RealTime::default() }), hops, ..Trace::default() })
    }

    #[test]
    fn each_change_is_told_and_nothing_else() {
        let (one, two) = (0xffff_0a00_0001, 0xffff_0a00_0002);
        let time = |us| Time::ZERO + Duration::from_micros(us);
        let nothing: Vec<String> = Vec::new();
        let same = vec![hop(false, 1, one), hop(false, 2, 0), hop(true, 1, one), hop(true, 2, two)];
        assert_eq!(said(|_| {}, same), nothing, "a router that was silent");
        assert_eq!(said(|after| *after = SurveyRecord::default(), vec![hop(false, 1, one)]), nothing, "no look after the run");
        let other = said(|_| {}, vec![hop(false, 1, one), hop(true, 1, two)]);
        assert_eq!(other, ["router 1 of the path was 10.0.0.1 before the run, and 10.0.0.2 after it"]);
        let links = said(|after| after.links = [3, 5], Vec::new());
        assert_eq!(links, ["the path from the far host had 3 routers before the run, and 4 after it"]);
        let mtu = said(|after| after.mtu = [1400, 1400], Vec::new());
        assert_eq!(mtu, ["the MTU to the far host was 1500 bytes before the run, and 1400 after it"]);
        assert_eq!(said(|after| after.rtt = [time(20_950), time(21_000)], Vec::new()), nothing, "less than hosts explain");
        assert_eq!(said(|after| after.rtt = [time(20_850), time(90_000)], Vec::new()), nothing, "they overlap");
        let longer = said(|after| after.rtt = [time(22_000), time(22_500)], Vec::new());
        assert_eq!(longer, ["the idle round trip was 20.00 to 20.90 ms before the run, and 22.00 to 22.50 ms after it"]);
        assert_eq!(said(|after| after.rtt = [time(9_000), time(9_500)], Vec::new()).len(), 1, "a shorter path");
    }
}
