//! A control that sends on through losses, with a recovery that does not see when a retransmission is lost.

use super::{Asked, Check, Warning};
use crate::trace::Trace;
use longfat_tcp::RecoveryKind;

pub(super) const WARNING: Warning = Warning {
    name: "blind_recovery",
    summary: "BBR with a recovery other than `rack` ran into timeouts: only RACK finds lost retransmissions without one",
    advice: "set `stack = \"linux\"` or `recovery = \"rack\"`, which BBR was made for",
    source: "RFC 8985 section 3.4",
    about: &["recovery"],
    check: Check::After(check),
};

/// One or two timeouts can have a cause that no recovery detects: a lost tail, or a window of one segment.
const MANY: u64 = 5;

fn check(asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let flows = asked.experiment.flows.iter().zip(&trace.flows).enumerate();
    let blind = flows.filter(|(_, (flow, record))| {
        flow.sender.recovery != RecoveryKind::Rack
            && ["bbr", "bbr3"].contains(&flow.sender.congestion_control.kind)
            && record.timeouts >= MANY
    });
    let told = |(i, (flow, record)): (usize, (&longfat_model::Flow, &crate::trace::FlowRecord))| {
        let control = flow.sender.congestion_control.kind;
        format!("{}: {control} had {} timeouts and {} retransmissions", asked.flow(i), record.timeouts, record.total.segments_retransmitted)
    };
    blind.map(told).collect()
}
