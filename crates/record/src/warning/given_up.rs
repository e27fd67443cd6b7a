//! Connections that an end gave up.

use super::{Check, Warning};

pub(super) const WARNING: Warning = Warning {
    name: "gave_up",
    summary: "one end gave up a connection because nothing answered",
    advice: "look for losses in both directions; `user_timeout` and `syn_retries` set how long an end tries",
    source: "RFC 9293 section 3.8.3",
    about: &[],
    check: Check::After(|asked, trace| {
        let gave_up = trace.flows.iter().enumerate().filter_map(|(i, flow)| Some((i, flow, flow.gave_up?)));
        let told = gave_up.map(|(i, flow, at)| {
            let sent = if flow.established.is_some() { "its retransmissions" } else { "its SYN" };
            format!("{} was given up at {} s: nothing answered {sent}", asked.flow(i), at.as_secs_f64())
        });
        told.collect()
    }),
};
