//! What stands in front of each link, last: a capacity in BDPs needs the routes, and a default needs the bottleneck.

use super::network::{Front, Plan, Written};
use super::switch;
use crate::experiment::error::Fault;
use crate::experiment::fields::QUEUE;
use crate::experiment::model::{Flow, Host, Link, Network, Nic};
use crate::experiment::route::Routes;
use crate::experiment::tree::path_text;
use crate::experiment::view::View;
use crate::params::{Choice, Params, Value};
use crate::queue::{self, QueueContext, QueueKind};
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::Capacity;

/// Of a queue that never limits: as much as the largest window.
const UNLIMITED: Capacity = Capacity::Bytes(1 << 30);

/// Chooses every queue.
pub fn finish(plan: Plan<'_>, flows: &[Flow], hosts: &[Host], seed: u64) -> Result<Network, Fault> {
    let Plan { mut network, fronts, .. } = plan;
    switch::check(&network, &fronts, flows)?;
    let rtts = Routes::new(&network).round_trips(flows);
    // The two ways of a link stand side by side, and are both a bottleneck's.
    let bottlenecks: Vec<bool> = network.links.chunks(2).flat_map(|ways| [ways.iter().any(|l| l.bottleneck); 2]).collect();
    for (i, Front { queue: written, discard, place }) in fronts.into_iter().enumerate() {
        let rtt = rtts[i];
        let link = &mut network.links[i];
        if network.nodes[link.from].is_switch() {
            link.discard = Some(switch::policy(discard, &place, link, seed)?);
            let (entry, params) = droptail(UNLIMITED);
            link.queue = Choice { kind: entry.name, params };
            continue;
        }
        let (mut entry, mut params) = match &written {
            Some(written) => choose(written)?,
            // A switch does the limiting.
            None => default(bottlenecks[i] && !network.nodes[link.to].is_switch()),
        };
        let nic = hosts.iter().find(|host| host.node == link.from).and_then(|host| host.nic);
        if let Some(Nic { txqueuelen, .. }) = nic {
            let transmit_queue = droptail(Capacity::Packets(txqueuelen));
            if let Some(written) = &written
                && (entry.name, &params) != (transmit_queue.0.name, &transmit_queue.1)
            {
                let message = format!("link `{}` has a queue of its own, and the transmit queue of its host", link.name);
                let fault = Fault::new(written.node.span, path_text(&written.path), message);
                return Err(fault.help("leave out this queue, or the host's txqueuelen"));
            }
            (entry, params) = transmit_queue;
        }
        for (_, value) in &mut params.0 {
            *value = in_bytes(*value, link, rtt);
        }
        let context = QueueContext { rate: link.rate, rtt, mtu: link.mtu, rng: Rng::named(seed, &link.name) };
        if let Err(sentence) = (entry.check)(&params, &context) {
            let message = format!("the {} of link `{}` cannot work: {sentence}", entry.name, link.name);
            let Written { node, path } = written.as_ref().unwrap_or(&place);
            let fault = Fault::new(node.span, path_text(path), message);
            return Err(if written.is_some() { fault } else { fault.help("give the link a `queue`, or the path a delay") });
        }
        link.queue = Choice { kind: entry.name, params };
    }
    Ok(network)
}

fn choose(written: &Written<'_>) -> Result<(&'static QueueKind, Params), Fault> {
    let (kind, view) = View::variant(written.node, written.path.clone(), &QUEUE)?;
    Ok((queue::named(kind), view.params()?))
}

/// One BDP of droptail at a bottleneck; elsewhere droptail that never limits.
fn default(bottleneck: bool) -> (&'static QueueKind, Params) {
    droptail(if bottleneck { Capacity::Bdp(1.0) } else { UNLIMITED })
}

fn droptail(limit: Capacity) -> (&'static QueueKind, Params) {
    let entry = queue::named("droptail");
    let mut params = Params::defaults(entry.params);
    params.set("limit", Value::Capacity(limit));
    (entry, params)
}

/// BDPs become bytes: the link's rate times the longest base round trip of the flows that cross it.
fn in_bytes(value: Value, link: &Link, rtt: Duration) -> Value {
    match value {
        Value::Capacity(Capacity::Bdp(x)) => {
            let bytes = x * link.rate.bytes_in(rtt) as f64;
            Value::Capacity(Capacity::Bytes(bytes as u64))
        }
        value => value,
    }
}
