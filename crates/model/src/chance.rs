//! Randomness of an experiment: whether two seeds can well give two results.

use crate::{Experiment, Ties};
use longfat_core::params::{Choice, Params, Value};
use longfat_tcp::TcpConfig;

/// Kinds that draw no random numbers. All others are taken to do so; a test of the simulator runs every kind with two seeds.
const QUEUES: &[&str] =
    &["droptail", "buffer_pool", "step", "codel", "dualpi2", "fq", "pfifo_head_drop", "tbf", "prio", "htb", "ets", "xcp"];
const LOSSES: &[&str] = &["none", "periodic"];
const TRAFFIC: &[&str] = &["bulk", "ttcp", "fetch", "ping", "udpmon"];
/// Controls that draw random numbers for when to probe, or that use the ticks of both ends' clocks.
const CONTROLS: &[&str] = &["bbr", "bbr3", "tcp_lp", "hstcp_lp", "ledbat", "cdg", "vivace"];

/// Returns true if the seed decides more about the results of `experiment` than the phase of its ends' clock ticks. The phase alone changes
/// a round trip measured from a retransmission by up to a millisecond, and hardly ever anything else.
pub fn has_any(experiment: &Experiment) -> bool {
    experiment.flows.iter().any(|flow| flow.drawn.is_some()) || has_any_under_way(experiment)
}

/// Returns true if anything is random once flows have started.
pub fn has_any_under_way(experiment: &Experiment) -> bool {
    let network = &experiment.network;
    experiment.ties == Ties::Random
        || experiment.hosts.iter().any(|host| host.overhead.is_some())
        || network
            .links
            .iter()
            .any(|link| link.discard.is_some() || link.unsteady.is_random() || draws(&link.queue) || !LOSSES.contains(&link.loss.kind))
        || experiment.flows.iter().any(|flow| {
            !TRAFFIC.contains(&flow.traffic.kind().name)
                || (flow.traffic.is_tcp() && (is_random(&flow.sender) || is_random(&flow.receiver)))
        })
}

/// Returns true if a queue, or one inside of it, draws random numbers; classes do where they take shares of the flows.
fn draws(queue: &Choice) -> bool {
    !QUEUES.contains(&queue.kind) || draws_inside(&queue.params)
}

fn draws_inside(params: &Params) -> bool {
    params.0.iter().any(|(name, value)| match value {
        Value::Queue(inside) => draws(inside),
        Value::Tables(tables) => tables.all().iter().any(draws_inside),
        value => *name == "hash" && *value != Value::Auto,
    })
}

/// Returns true if this end draws random numbers, or has a clock that ticks at a phase of its own.
fn is_random(end: &TcpConfig) -> bool {
    let ticks = |name| matches!(end.value(name), Value::Duration(tick) if !tick.is_zero());
    CONTROLS.contains(&end.congestion_control.kind) || ticks("slow_timer") || end.value("delayed_ack") == Value::Choice("heartbeat")
}
