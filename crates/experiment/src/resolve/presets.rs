//! The presets of a path, and the path of explicit links.

use super::line::{Direction, Line, line};
use super::moves;
use super::network::{Plan, Side};
use crate::error::Fault;
use crate::fields::{self, PATH};
use crate::tree::{Node, Tree};
use crate::view::View;
use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_core::units::text::TIME;
use longfat_model::NodeKind;
use std::collections::BTreeSet;

/// Splits a round trip into two ways; an odd picosecond goes back.
fn halves(rtt: Duration) -> (Duration, Duration) {
    (rtt / 2, rtt - rtt / 2)
}

/// The line at `name`, which must leave its delay to the path's rtt where there is one.
fn shared_line<'a>(view: &View<'a>, name: &str, rtt: bool) -> Result<Line<'a>, Fault> {
    let sub = view.sub(name, fields::link()).ok_or_else(|| view.fault(name, format!("there is no `{name}`")))?;
    let line = line(&sub)?;
    if rtt && line.there.delay.or(line.back.delay).is_some() {
        return Err(sub
            .fault("delay", "both the path's `rtt` and this delay say how long the bottleneck is")
            .help("leave one of them out"));
    }
    Ok(line)
}

/// The edges of a path whose limit is `bottleneck`: those of the file, or by default links that never limit. These are ten times as fast as the
/// bottleneck ever is, so that what a flow alone sends queues there and two flows do not take turns by the phase of their packets (Floyd and
/// Jacobson 1992), and of its framing and mtu; they have no delay, and nothing happens on them.
fn edges<'a>(path: &View<'a>, bottleneck: &Line<'a>) -> Result<Line<'a>, Fault> {
    if path.get("edge").is_some() {
        return shared_line(path, "edge", false);
    }
    let fastest = bottleneck.there.most().max(bottleneck.back.most());
    let rate = Rate::from_bps(fastest.as_bps().saturating_mul(10).min(Rate::MOST.as_bps()));
    Ok(Line { there: bottleneck.there.bare(rate), back: bottleneck.back.bare(rate) })
}

/// Returns the rest of `rtt` after `used`.
fn left_of(view: &View<'_>, rtt: Duration, used: Duration) -> Result<Duration, Fault> {
    if rtt < used {
        let message = format!("the other links alone take {} there and back", TIME.format(used.as_ps()));
        return Err(view.fault("rtt", message).expected(format!("at least {}", TIME.format(used.as_ps()))));
    }
    Ok(rtt - used)
}

fn rtts(view: &View<'_>) -> Vec<Duration> {
    let read = |node: &Node| node.as_text().and_then(|text| TIME.parse(text).ok()).map(Duration::from_ps);
    view.items("rtt").iter().filter_map(|item| read(item.node)).collect()
}

/// The nodes and links of the file's path.
pub(super) fn plan<'a>(file: &View<'a>) -> Result<Plan<'a>, Fault> {
    let written = file.written("path").ok_or_else(|| file.fault("path", "there is no `path`"))?;
    let (preset, path) = written.variant(&PATH)?;
    let mut plan = match preset {
        "dumbbell" => dumbbell(&path),
        "chain" => chain(&path),
        "parking_lot" => parking_lot(&path),
        "atm" => atm(&path),
        "star" => star(&path),
        _ => explicit(&path),
    }?;
    plan.hosts_first();
    Ok(plan)
}

const PAIRS: &str = "`pairs` (or a list of that many `rtt`)";

/// Returns the sides, each with its name, its hosts, and the keys that set their number.
fn sides(of: [(&'static str, Vec<usize>, &'static str); 2]) -> Vec<Side> {
    of.into_iter().map(|(name, hosts, said_by)| Side { name, hosts, said_by }).collect()
}

pub(super) fn dumbbell<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let rtts = rtts(path);
    let pairs = path.integer("pairs")?.map_or(rtts.len().max(1), |n| n as usize);
    if rtts.len() > 1 && rtts.len() != pairs {
        let fault = path.fault("rtt", format!("there are {} rtts for {pairs} pairs of hosts", rtts.len()));
        return Err(fault.expected("one rtt, or one for each pair"));
    }
    let mut bottleneck = shared_line(path, "bottleneck", !rtts.is_empty())?;
    bottleneck.there.bottleneck = true;
    let edge = edges(path, &bottleneck)?;
    let shortest = match rtts.iter().min() {
        Some(&rtt) => {
            let (there, back) = halves(left_of(path, rtt, edge.round_trip() * 2)?);
            bottleneck = bottleneck.with_delay(there, back);
            rtt
        }
        None => Duration::ZERO,
    };

    let mut plan = Plan::default();
    let (router1, router2) = (plan.node("router1".to_owned(), NodeKind::Router), plan.node("router2".to_owned(), NodeKind::Router));
    plan.link("bottleneck", router1, router2, &bottleneck);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let (a, b) = (plan.node(format!("left{}", pair + 1), NodeKind::Host), plan.node(format!("right{}", pair + 1), NodeKind::Host));
        let rtt = rtts.get(pair).or(rtts.first()).copied().unwrap_or(Duration::ZERO);
        let (more_there, more_back) = halves(rtt.saturating_sub(shortest));
        let delay = |way: &Direction<'_>| way.delay.unwrap_or(Duration::ZERO);
        let right_edge = edge.with_delay(delay(&edge.there) + more_there, delay(&edge.back) + more_back);
        plan.link(&format!("left{}-router1", pair + 1), a, router1, &edge);
        plan.link(&format!("router2-right{}", pair + 1), router2, b, &right_edge);
        left.push(a);
        right.push(b);
    }
    plan.sides = sides([("left", left, PAIRS), ("right", right, PAIRS)]);
    Ok(plan)
}

pub(super) fn chain<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let mut hops = Vec::new();
    for at in path.items("hops") {
        hops.push(line(&View::new(at, fields::link()))?);
    }
    if let Some(rtt) = path.duration("rtt")? {
        let open = hops.iter().filter(|h| h.there.delay.is_none()).count() as u64;
        let used = hops.iter().fold(Duration::ZERO, |sum, h| sum + h.round_trip());
        let rest = left_of(path, rtt, used)?;
        if open == 0 && !rest.is_zero() {
            let fault = path.fault("rtt", format!("the delays of the hops add up to {}, and none is left open", TIME.format(used.as_ps())));
            return Err(fault.help("leave out the delay of the hops that are to make up the rest, or leave out the rtt"));
        }
        let mut shares = shares(rest, open).into_iter();
        for hop in hops.iter_mut().filter(|h| h.there.delay.is_none()) {
            let (there, back) = halves(shares.next().unwrap_or(Duration::ZERO));
            *hop = hop.with_delay(there, back);
        }
    }

    let mut plan = Plan::default();
    let n = hops.len();
    let name = |i: usize| match i {
        0 => "left".to_owned(),
        i if i == n => "right".to_owned(),
        i => format!("router{i}"),
    };
    let nodes: Vec<usize> = (0..=n).map(|i| plan.node(name(i), if i == 0 || i == n { NodeKind::Host } else { NodeKind::Router })).collect();
    let routers = path.written("queue");
    for (i, hop) in hops.iter_mut().enumerate() {
        if i > 0 && hop.there.front.queue.is_none() {
            hop.there.front.queue.clone_from(&routers);
        }
        if i + 1 < n && hop.back.front.queue.is_none() {
            hop.back.front.queue.clone_from(&routers);
        }
        plan.link(&format!("hop{}", i + 1), nodes[i], nodes[i + 1], hop);
    }
    Ok(plan)
}

/// `total` in `n` parts, equal but for the first, which has the remainder.
fn shares(total: Duration, n: u64) -> Vec<Duration> {
    if n == 0 {
        return Vec::new();
    }
    let each = total / n;
    (0..n).map(|i| if i == 0 { total - each * (n - 1) } else { each }).collect()
}

pub(super) fn parking_lot<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let n = path.integer("bottlenecks")?.unwrap_or(1);
    let rtt = path.duration("rtt")?;
    let mut bottleneck = shared_line(path, "bottleneck", rtt.is_some())?;
    bottleneck.there.bottleneck = true;
    let edge = edges(path, &bottleneck)?;
    let rest = rtt.map(|rtt| left_of(path, rtt, edge.round_trip() * 2)).transpose()?;
    let shares = rest.map(|rest| shares(rest, n));

    let mut plan = Plan::default();
    let routers: Vec<usize> = (0..=n).map(|i| plan.node(format!("router{}", i + 1), NodeKind::Router)).collect();
    for i in 0..n as usize {
        let here = match &shares {
            Some(shares) => bottleneck.with_delay(halves(shares[i]).0, halves(shares[i]).1),
            None => bottleneck.clone(),
        };
        plan.link(&format!("bottleneck{}", i + 1), routers[i], routers[i + 1], &here);
    }
    let mut host = |name: String, router: usize, towards: bool| {
        let host = plan.node(name.clone(), NodeKind::Host);
        let router_name = plan.network.nodes[router].name.clone();
        match towards {
            true => plan.link(&format!("{name}-{router_name}"), host, router, &edge),
            false => plan.link(&format!("{router_name}-{name}"), router, host, &edge),
        }
        host
    };
    host("left".to_owned(), routers[0], true);
    host("right".to_owned(), routers[n as usize], false);
    let (mut into, mut out) = (Vec::new(), Vec::new());
    for i in 0..n as usize {
        into.push(host(format!("in{}", i + 1), routers[i], true));
        out.push(host(format!("out{}", i + 1), routers[i + 1], false));
    }
    plan.sides = sides([("in", into, "`bottlenecks`"), ("out", out, "`bottlenecks`")]);
    Ok(plan)
}

/// RF95 Figure 1, and the same with several switches in a row.
pub(super) fn atm<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let number = |name: &str| Ok(path.integer(name)?.map_or(1, |n| n as usize));
    let (senders, receivers, switches) = (number("senders")?, number("receivers")?, number("switches")?);
    if switches == 1 && receivers > 1 {
        let fault =
            path.fault("receivers", "behind one switch, each of several receivers has an output of its own, and there is no bottleneck");
        return Err(fault.help("give it one receiver, or the path several switches"));
    }
    let mut bottleneck = shared_line(path, "bottleneck", false)?;
    bottleneck.there.bottleneck = true;
    let mut edge = shared_line(path, "edge", false)?;
    let discard = path.written("discard");
    for way in [&mut bottleneck, &mut edge].into_iter().flat_map(|line| [&mut line.there, &mut line.back]) {
        way.front.discard = way.front.discard.take().or_else(|| discard.clone());
    }

    let mut plan = Plan::default();
    let kind = switch(path)?;
    let row: Vec<usize> = (1..=switches).map(|i| plan.node(format!("switch{i}"), kind)).collect();
    for (i, pair) in row.windows(2).enumerate() {
        plan.link(&format!("bottleneck{}", i + 1), pair[0], pair[1], &bottleneck);
    }
    let (first, last) = (row[0], row[switches - 1]);
    let mut right = Vec::new();
    for i in 1..=receivers {
        let host = plan.node(format!("right{i}"), NodeKind::Host);
        match switches {
            1 => plan.link("bottleneck", last, host, &bottleneck),
            n => plan.link(&format!("switch{n}-right{i}"), last, host, &edge),
        }
        right.push(host);
    }
    let mut left = Vec::new();
    for i in 1..=senders {
        let host = plan.node(format!("left{i}"), NodeKind::Host);
        plan.link(&format!("left{i}-switch1"), host, first, &edge);
        left.push(host);
    }
    plan.sides = sides([("left", left, "`senders`"), ("right", right, "`receivers`")]);
    Ok(plan)
}

/// Returns a star: all hosts on one router.
pub(super) fn star<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let number = |name: &str| Ok(path.integer(name)?.map_or(1, |n| n as usize));
    let (senders, receivers) = (number("senders")?, number("receivers")?);
    let mut bottleneck = shared_line(path, "bottleneck", false)?;
    bottleneck.there.bottleneck = true;
    let edge = shared_line(path, "edge", false)?;
    let mut plan = Plan::default();
    let switch = plan.node("switch".to_owned(), NodeKind::Router);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for i in 1..=receivers {
        right.push(plan.node(format!("right{i}"), NodeKind::Host));
        plan.link(&format!("switch-right{i}"), switch, right[i - 1], &bottleneck);
    }
    for i in 1..=senders {
        left.push(plan.node(format!("left{i}"), NodeKind::Host));
        plan.link(&format!("left{i}-switch"), left[i - 1], switch, &edge);
    }
    plan.sides = sides([("left", left, "`senders`"), ("right", right, "`receivers`")]);
    Ok(plan)
}

/// A switch of this path.
fn switch(path: &View<'_>) -> Result<NodeKind, Fault> {
    let buffers_at_inputs = path.word("buffers")? == Some("input");
    Ok(NodeKind::Switch { ports: path.integer("ports")?.expect("it has a default"), buffers_at_inputs })
}

pub(super) fn explicit<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let mut plan = Plan::default();
    for (key, kind) in [("hosts", NodeKind::Host), ("routers", NodeKind::Router), ("switches", switch(path)?)] {
        for at in path.items(key) {
            let name = at.node.as_text().unwrap_or_default();
            if plan.named(name).is_some() || name.is_empty() {
                return Err(at.fault("each node has a name of its own").found(at.node.found()));
            }
            plan.node(name.to_owned(), kind);
        }
    }
    let mut names = BTreeSet::new();
    for at in path.items("link") {
        let Tree::Table(table) = &at.node.value else { continue };
        let view = View::new(at, fields::link());
        let end = |key: &str| -> Result<usize, Fault> {
            let name = view.text(key).unwrap_or_default();
            plan.named(name).ok_or_else(|| {
                let fault = view.fault(key, format!("there is no node `{name}`")).expected("one of the path's hosts, routers and switches");
                fault.nearest(name, plan.network.nodes.iter().map(|n| n.name.as_str()))
            })
        };
        let (from, to) = (end("from")?, end("to")?);
        if from == to {
            return Err(view.fault("to", "a link joins two nodes"));
        }
        let name = match table.get("name").and_then(Node::as_text) {
            Some(name) => name.to_owned(),
            None => format!("{}-{}", plan.network.nodes[from].name, plan.network.nodes[to].name),
        };
        if !names.insert(name.clone()) {
            return Err(view.fault("name", format!("there are two links `{name}`")).help("give each a `name` of its own"));
        }
        plan.link(&name, from, to, &line(&view)?);
    }
    plan.network.moves = moves::moves(path, &plan)?;
    Ok(plan)
}
