//! Routes that move from a link to another.

use super::network::Plan;
use crate::error::Fault;
use crate::fields;
use crate::view::View;
use longfat_core::units::text::SIZE;
use longfat_model::route::Routes;
use longfat_model::{Experiment, Move, NodeKind};
use std::collections::BTreeSet;

/// Returns every move of the path, in both directions, in order of time.
pub(super) fn moves(path: &View<'_>, plan: &Plan<'_>) -> Result<Vec<Move>, Fault> {
    let (nodes, links) = (&plan.network.nodes, &plan.network.links);
    let (mut moves, mut seen) = (Vec::new(), BTreeSet::new());
    for written in path.items("move") {
        let view = View::new(written, fields::path_change());
        // The two ways of a link stand side by side.
        let named = |key: &str| {
            let name = view.text(key).unwrap_or_default();
            let names = || links.iter().step_by(2).map(|link| name_of(&link.name));
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

/// A move must be of a link by which some flow goes: any other moves nothing.
pub(super) fn check(file: &View<'_>, experiment: &Experiment) -> Result<(), Fault> {
    let Some(path) = file.sub("path", &[]).filter(|_| !experiment.network.moves.is_empty()) else { return Ok(()) };
    let links = &experiment.network.links;
    let name = |link: usize| name_of(&links[link].name);
    let routes = Routes::new(&experiment.network);
    let ends: BTreeSet<(usize, usize)> = experiment.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let ways = ends.into_iter().flat_map(|(from, to)| [routes.path(from, to), routes.path(to, from)]);
    // The first of the two ways of each link in use.
    let used: BTreeSet<usize> = ways.flatten().flatten().map(|link| link & !1).collect();
    for written in path.items("move") {
        let view = View::new(written, fields::path_change());
        let is_used = used.iter().any(|link| Some(name(*link)) == view.text("link"));
        if is_used {
            continue;
        }
        let link = view.text("link").unwrap_or_default();
        let fault = view.fault("link", format!("no flow's route goes by link `{link}`, so this would move nothing"));
        let of = links.iter().step_by(2).find(|other| name_of(&other.name) == link);
        // The link between the same routers that is in use: it keeps its name wherever its packets go.
        let instead = used.iter().find(|used| of.is_some_and(|of| (of.from, of.to) == (links[**used].from, links[**used].to)));
        let help = match (instead, view.text("by")) {
            (Some(used), Some(by)) => {
                let used = name(*used);
                format!("the route is over `{used}`, whichever link it has moved to: write link = \"{used}\", by = \"{by}\"")
            }
            _ => "leave it out, or name a link that a flow crosses".to_owned(),
        };
        return Err(fault.help(help));
    }
    Ok(())
}

/// The name of a link, of whichever way.
fn name_of(way: &str) -> &str {
    way.strip_suffix('>').unwrap_or(way)
}
