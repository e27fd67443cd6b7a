//! The routers whose links share a memory.

use super::network::Plan;
use crate::error::Fault;
use crate::fields;
use crate::view::{View, Written};
use longfat_core::params::Choice;
use longfat_core::queue::shared::{self, SharedBuffer, Sharing};
use longfat_core::units::text::SIZE;
use longfat_model::{NodeKind, Router};
use std::collections::BTreeMap;

/// Returns every router that the file describes, in the order of the network.
pub(super) fn routers(file: &View<'_>, plan: &Plan<'_>) -> Result<Vec<Router>, Fault> {
    let mut routers = BTreeMap::new();
    for at in file.items("router") {
        let view = View::new(at, fields::router());
        let sharing = view.written("sharing").map_or_else(|| Ok(shared::choice("dynamic")), |written| written.choice(&fields::SHARING))?;
        let Some(shared_buffer) = view.integer("shared_buffer")? else {
            let fault = view.fault("name", "nothing is said of this router");
            return Err(fault.expected("a shared_buffer, such as shared_buffer = \"4 MB\""));
        };
        for written in view.items("name") {
            let node = named(&written, plan)?;
            let name = &plan.network.nodes[node].name;
            holds_a_packet(&view, plan, node, shared_buffer, &sharing)?;
            if routers.insert(node, Router { node, shared_buffer, sharing: sharing.clone() }).is_some() {
                let fault = view.fault("name", format!("router `{name}` is described twice"));
                return Err(fault.help("say all of it in one table"));
            }
        }
    }
    Ok(routers.into_values().collect())
}

fn named(written: &Written<'_>, plan: &Plan<'_>) -> Result<usize, Fault> {
    let name = written.node.as_text().unwrap_or_default();
    let nodes = &plan.network.nodes;
    let is_router = |node: &usize| nodes[*node].kind == NodeKind::Router;
    plan.named(name).filter(is_router).ok_or_else(|| {
        let known = || nodes.iter().filter(|node| node.kind == NodeKind::Router).map(|node| node.name.as_str());
        let fault = written.fault(format!("there is no router `{name}`")).expected("one of the path's routers");
        if known().next().is_none() { fault.help("this path has none") } else { fault.nearest(name, known()) }
    })
}

/// A queue that has all the memory that it can have must have room for a packet.
fn holds_a_packet(view: &View<'_>, plan: &Plan<'_>, node: usize, bytes: u64, sharing: &Choice) -> Result<(), Fault> {
    let leaving = || plan.network.links.iter().filter(|link| link.from == node);
    let (links, mtu) = (leaving().count() as u64, leaving().map(|link| u64::from(link.mtu)).max().unwrap_or(0));
    let sharing = (shared::named(sharing.kind).build)(&sharing.params);
    if SharedBuffer::new(bytes, links.max(1), sharing).alone() >= mtu {
        return Ok(());
    }
    let name = &plan.network.nodes[node].name;
    let need = if sharing == Sharing::Static { mtu * links } else { mtu };
    let fault = view.fault("shared_buffer", format!("the queues of `{name}` would have no room for a packet of {}", SIZE.format(mtu)));
    Err(fault.expected(format!("at least {}", SIZE.format(need))))
}
