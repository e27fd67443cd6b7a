//! Captures between two hosts that are missing, or lack packets.

use super::{Asked, Check, Warning};
use crate::trace::{Seen, Trace};

pub(super) const WARNING: Warning = Warning {
    name: "not_captured",
    summary: "a host did not capture the packets of its flows, or not all of them",
    advice: "give that process the right to capture, or read the causes as those of samples alone",
    source: "capabilities(7), packet(7)",
    about: &[],
    check: Check::After(check),
};

/// Share of the packets beyond which losses of the capture cannot be told from those of the path (`docs/captures-verdicts.md`).
const SHARE: f64 = 0.01;

fn check(_: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let Some(real) = &trace.real_time else { return Vec::new() };
    let mut found = Vec::new();
    let hosts = [("this host", "longfat"), ("the other host", "its `longfat serve`")];
    for (seen, (host, process)) in real.captures.iter().zip(hosts) {
        let program = "sudo setcap cap_net_raw+ep $(readlink -f $(which python3))";
        match seen.outcome {
            Seen::NO_RIGHT => {
                found.push(format!("{host} captured nothing: {process} lacks CAP_NET_RAW. Run there: {program}"));
            }
            Seen::NOT_ALLOWED => found.push(format!("{host} captured nothing: start {process} with --capture, and use a key")),
            Seen::FAILED => found.push(format!("{host} captured nothing: its system refused, or the host was lost")),
            _ if seen.lost as f64 > SHARE * (seen.packets + seen.lost) as f64 => {
                let all = seen.packets + seen.lost;
                found.push(format!("the capture at {host} lost {} of {all} packets: it was too slow", seen.lost));
            }
            _ => {}
        }
    }
    if real.captures[0].left_out > 0 {
        let [kept, all] = [trace.packets.len() as u64, real.captures[0].packets];
        found.push(format!("the table `packets` has the first {kept} of {all} captured packets, and the causes are of all"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::RealTime;
    use longfat_model::dumbbell::Dumbbell;

    fn said(captures: [Seen; 2]) -> Vec<String> {
        let experiment = Dumbbell::default().experiment();
        let trace = Trace { real_time: Some(RealTime { captures, ..RealTime::default() }), ..Trace::default() };
        check(&Asked::new(&experiment, 1), &trace)
    }

    #[test]
    fn each_host_that_did_not_capture_is_named_with_what_helps() {
        let of = |outcome| Seen { outcome, ..Seen::default() };
        let whole = Seen { outcome: Seen::CAPTURED, packets: 990, lost: 10, left_out: 0 };
        assert!(said([of(Seen::NOT_ASKED), whole]).is_empty());
        let found = said([of(Seen::NO_RIGHT), of(Seen::NOT_ALLOWED)]);
        assert!(found[0].starts_with("this host captured nothing") && found[0].contains("setcap cap_net_raw+ep"), "{found:?}");
        assert!(found[1].starts_with("the other host") && found[1].contains("--capture"), "{found:?}");
        let found = said([Seen { left_out: 5, ..whole }, Seen { lost: 30, ..whole }]);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("lost 30 of 1020 packets") && found[1].contains("first 0 of 990"), "{found:?}");
        assert_eq!(said([whole, of(Seen::FAILED)]).len(), 1);
    }
}
