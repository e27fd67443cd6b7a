//! Queues in front of each link. They are resolved last: a capacity in BDPs needs the routes, and a default needs the bottleneck.

use super::classes;
use super::line::{Front, cannot_work};
use super::network::Plan;
use super::switch;
use crate::error::Fault;
use crate::shape::QUEUE;
use longfat_core::params::{Choice, Value};
use longfat_core::queue::{self, QueueContext};
use longfat_core::rng::Rng;
use longfat_core::units::Capacity;
use longfat_core::units::text::SIZE;
use longfat_model::route::Routes;
use longfat_model::{Flow, Host, Link, Network, Nic, NodeKind, Pause, Router};

/// Capacity of a queue that never limits: as much as the largest window.
const UNLIMITED: Capacity = Capacity::Bytes(1 << 30);

/// Chooses every queue.
pub(super) fn finish(plan: Plan<'_>, flows: &[Flow], hosts: &[Host], routers: &[Router], seed: u64) -> Result<Network, Fault> {
    switch::check(&plan.network, &plan.fronts, flows)?;
    let written_at = |i: usize| plan.fronts[i].queue.as_ref().filter(|_| !plan.network.nodes[plan.network.links[i].from].is_switch());
    let choice = |i: usize| match written_at(i) {
        Some(written) => classes::named(written.choice(&QUEUE)?, written, &plan, flows).map(Some),
        None => Ok(None),
    };
    let mut choices = (0..plan.fronts.len()).map(choice).collect::<Result<Vec<Option<Choice>>, Fault>>()?;
    let Plan { mut network, fronts, .. } = plan;
    let rtts = Routes::new(&network).round_trips(flows);
    // The two ways of a link stand side by side, and are both a bottleneck's.
    let bottlenecks: Vec<bool> = network.links.chunks(2).flat_map(|ways| [ways.iter().any(|l| l.bottleneck); 2]).collect();
    for (i, Front { queue: written, discard, place }) in fronts.iter().enumerate() {
        let rtt = rtts[i];
        let link = &mut network.links[i];
        if link.pause.is_some() && network.nodes[link.from].kind != NodeKind::Router {
            let fault = place.fault(format!("link `{}` comes from no router, and nobody else sends PAUSE frames", link.name));
            return Err(fault.expected("`pause` at a link that comes from a router"));
        }
        if network.nodes[link.from].is_switch() {
            link.discard = Some(switch::policy(discard.as_ref(), place, link, seed)?);
            link.queue = droptail(UNLIMITED);
            continue;
        }
        let mut choice = match choices[i].take() {
            Some(choice) => choice,
            // One BDP at a bottleneck; elsewhere the queue never limits. Into a switch, or at a shared memory, it is that which does the limiting.
            None => {
                let is_limited =
                    network.nodes[link.to].is_switch() || routers.iter().any(|router| router.node == link.from || router.node == link.to);
                droptail(if bottlenecks[i] && !is_limited { Capacity::Bdp(1.0) } else { UNLIMITED })
            }
        };
        // Hosts are in the order of the nodes.
        let nic = hosts.binary_search_by_key(&link.from, |host| host.node).ok().and_then(|host| hosts[host].nic);
        if let Some(Nic { txqueuelen, .. }) = nic {
            let transmit_queue = droptail(Capacity::Packets(txqueuelen));
            if let Some(written) = &written
                && choice != transmit_queue
            {
                let fault = written.fault(format!("link `{}` has a queue of its own, and the transmit queue of its host", link.name));
                return Err(fault.help("leave out this queue, or the host's txqueuelen"));
            }
            choice = transmit_queue;
        }
        choice.params = queue::in_bytes(&choice.params, link.rate, rtt);
        let context = QueueContext { rate: link.rate, rtt, mtu: link.mtu, rng: Rng::named(seed, &link.name) };
        queue::check(&choice, &context).map_err(|sentence| {
            let fault = cannot_work(choice.kind, link, &sentence, written.as_ref(), place);
            if written.is_some() { fault } else { fault.help("give the link a `queue`, or the path a delay") }
        })?;
        link.queue = choice;
        if let Some(pause) = link.pause {
            check_pause(link, pause).map_err(|(sentence, help)| {
                place.fault(format!("flow control of link `{}` cannot work: {sentence}", link.name)).help(help)
            })?;
        }
    }
    classes::check(&network, &fronts, flows)?;
    Ok(network)
}

/// Flow control must be able to set in before the queue overflows.
fn check_pause(link: &Link, pause: Pause) -> Result<(), (String, &'static str)> {
    let Some(limit) = link.droptail_bytes() else { return Ok(()) };
    if pause.on >= limit {
        let sentence = format!("its queue never holds {} without being full", SIZE.format(pause.on));
        return Err((sentence, "an `on` far enough below the queue's limit for what still comes until the senders have stopped"));
    }
    Ok(())
}

fn droptail(limit: Capacity) -> Choice {
    queue::choice("droptail").with(&[("limit", Value::Capacity(limit))])
}
