//! Whether anything in an experiment is left to chance: whether two seeds can well give two results.

use crate::{Experiment, Ties};
use longfat_core::params::{Choice, Params, Value};
use longfat_tcp::TcpConfig;

/// What draws no random numbers. A kind that is not among these is taken to do so; a test of the simulator runs every one with two seeds.
const QUEUES: &[&str] = &["droptail", "buffer_pool", "step", "codel", "dualpi2", "fq", "pfifo_head_drop", "tbf", "prio", "htb"];
const LOSSES: &[&str] = &["none", "periodic"];
const TRAFFIC: &[&str] = &["bulk", "ttcp", "ping", "udpmon"];
/// Controls that draw lots of their own, for when to probe, or go by the ticks of both ends' clocks.
const CONTROLS: &[&str] = &["bbr", "bbr3", "tcp_lp", "hstcp_lp"];

/// Whether the seed decides more of what comes of `experiment` than at which phase the clocks of its ends tick. That alone moves a round trip
/// that was measured of a retransmission by up to a millisecond, and hardly ever anything else.
pub fn has_any(experiment: &Experiment) -> bool {
    experiment.flows.iter().any(|flow| flow.drawn.is_some()) || has_any_under_way(experiment)
}

/// The same of what happens once flows have started.
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

/// Whether a queue, or one inside of it, draws lots; classes do where they take shares of the flows.
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

/// Whether this end draws lots, or has a clock whose ticks come at a phase of its own.
fn is_random(end: &TcpConfig) -> bool {
    let ticks = |name| matches!(end.value(name), Value::Duration(tick) if !tick.is_zero());
    CONTROLS.contains(&end.congestion_control.kind) || ticks("slow_timer") || end.value("delayed_ack") == Value::Choice("heartbeat")
}
