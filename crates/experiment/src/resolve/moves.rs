//! Routes that move from a link to another.

use super::network::Plan;
use crate::error::Fault;
use crate::fields;
use crate::model::{Move, NodeKind};
use crate::view::View;
use longfat_core::units::text::SIZE;
use std::collections::BTreeSet;

/// Every move of the path, both ways, in order of time.
pub fn moves(path: &View<'_>, plan: &Plan<'_>) -> Result<Vec<Move>, Fault> {
    let (nodes, links) = (&plan.network.nodes, &plan.network.links);
    let (mut moves, mut seen) = (Vec::new(), BTreeSet::new());
    for written in path.items("move") {
        let view = View::new(written, fields::path_change());
        // The two ways of a link stand side by side.
        let named = |key: &str| {
            let name = view.text(key).unwrap_or_default();
            let names = || links.iter().step_by(2).map(|link| link.name.strip_suffix('>').unwrap_or(&link.name));
            let number = names().position(|other| other == name).map(|number| 2 * number);
            number
                .ok_or_else(|| view.fault(key, format!("there is no link `{name}`")).expected("a link of this path").nearest(name, names()))
        };
        let (at, link, by) = (view.duration("at")?.unwrap_or_default(), named("link")?, named("by")?);
        let (from, to) = (&links[link], &links[by]);
        if (from.from, from.to) != (to.from, to.to) {
            let fault = view.fault("by", "a route moves to a link that joins the same two nodes, in the same order");
            return Err(fault.expected(format!("a link from {} to {}", nodes[from.from].name, nodes[from.to].name)));
        }
        if [from.from, from.to].iter().any(|node| nodes[*node].kind != NodeKind::Router) {
            let fault = view.fault("link", "only routers choose between links: hosts send by one");
            return Err(fault.help("put a router between the host and its links"));
        }
        if links[by].mtu < links[link].mtu || links[by + 1].mtu < links[link + 1].mtu {
            let fault = view.fault("by", "what the route carried would be too big for this link");
            return Err(fault.expected(format!("an mtu of at least {}", SIZE.format(links[link].mtu.max(links[link + 1].mtu).into()))));
        }
        if let Some(paused) = links.iter().find(|link| link.pause.is_some()) {
            let fault =
                view.fault("link", format!("link `{}` has flow control, which stops the links of a route that does not move", paused.name));
            return Err(fault.help("leave out its `pause`, or the moves"));
        }
        if !seen.insert((link, at)) {
            return Err(view.fault("at", "this link moves twice at this time").help("leave one of them out"));
        }
        moves.extend([Move { at, link, by }, Move { at, link: link + 1, by: by + 1 }]);
    }
    moves.sort_by_key(|step| (step.at, step.link));
    Ok(moves)
}
