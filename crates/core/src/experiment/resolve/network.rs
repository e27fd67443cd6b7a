//! The path: presets and explicit links become nodes and one-way links whose queues are still to be chosen.

use crate::atm::aal5;
use crate::experiment::error::Fault;
use crate::experiment::fields::{self, LOSS, PATH};
use crate::experiment::model::{Link, Network, Node as NetworkNode, NodeKind};
use crate::experiment::tree::{Node, Step, Tree, path_text};
use crate::experiment::view::View;
use crate::link::framing::{self, Framing};
use crate::link::loss;
use crate::params::{Choice, Params, Value};
use crate::time::Duration;
use crate::units::Rate;
use crate::units::text::TIME;

/// A network whose links have no queues yet.
#[derive(Default)]
pub struct Plan<'a> {
    pub network: Network,
    /// What is written of what stands in front of each link.
    pub fronts: Vec<Front<'a>>,
    /// Names that stand for several hosts.
    pub groups: Vec<(&'static str, Vec<usize>)>,
}

/// What is written of what stands in front of a link, and where the link is.
#[derive(Clone)]
pub struct Front<'a> {
    pub queue: Option<Written<'a>>,
    pub discard: Option<Written<'a>>,
    pub place: Written<'a>,
}

/// A node of the file, and where it stands.
#[derive(Clone)]
pub struct Written<'a> {
    pub node: &'a Node,
    pub path: Vec<Step>,
}

/// One way of a link as the file describes it.
#[derive(Clone)]
struct Way<'a> {
    rate: Rate,
    delay: Option<Duration>,
    mtu: u32,
    cells: bool,
    overhead: u32,
    min_frame: u32,
    loss: Choice,
    bottleneck: bool,
    front: Front<'a>,
}

/// A link as the file describes it, both ways.
#[derive(Clone)]
struct Line<'a> {
    there: Way<'a>,
    back: Way<'a>,
}

/// The nodes and links of the file's path.
pub fn plan<'a>(file: &View<'a>) -> Result<Plan<'a>, Fault> {
    let node = file.get("path").ok_or_else(|| file.fault("path", "there is no `path`"))?;
    let (preset, path) = View::variant(node, file.path_of("path"), &PATH)?;
    let mut plan = match preset {
        "dumbbell" => dumbbell(&path),
        "chain" => chain(&path),
        "parking_lot" => parking_lot(&path),
        "atm" => atm(&path),
        _ => explicit(&path),
    }?;
    plan.hosts_first();
    Ok(plan)
}

impl<'a> Plan<'a> {
    fn node(&mut self, name: String, kind: NodeKind) -> usize {
        self.network.nodes.push(NetworkNode { name, kind });
        self.network.nodes.len() - 1
    }

    /// Numbers the hosts before the routers and these before the switches, as an explicit path lists them, so that both are
    /// the same network.
    fn hosts_first(&mut self) {
        let nodes = &mut self.network.nodes;
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&i| (!nodes[i].is_host(), nodes[i].is_switch()));
        let mut place = vec![0; nodes.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        *nodes = order.iter().map(|&i| nodes[i].clone()).collect();
        for link in &mut self.network.links {
            (link.from, link.to) = (place[link.from], place[link.to]);
        }
        self.groups.iter_mut().flat_map(|(_, hosts)| hosts).for_each(|host| *host = place[*host]);
    }

    /// Adds the two ways of `line` between `a` and `b`.
    fn link(&mut self, name: &str, a: usize, b: usize, line: &Line<'a>) {
        for (suffix, from, to, way) in [('>', a, b, &line.there), ('<', b, a, &line.back)] {
            self.network.links.push(Link {
                name: format!("{name}{suffix}"),
                from,
                to,
                rate: way.rate,
                delay: way.delay.unwrap_or(Duration::ZERO),
                cells: way.cells,
                overhead: way.overhead,
                min_frame: way.min_frame,
                mtu: way.mtu,
                // Chosen once the routes are known.
                queue: Choice { kind: "", params: Params::default() },
                discard: None,
                loss: way.loss.clone(),
                bottleneck: way.bottleneck,
            });
            self.fronts.push(way.front.clone());
        }
    }

    /// The hosts that `name` stands for.
    pub fn hosts(&self, name: &str) -> Option<Vec<usize>> {
        let group = self.groups.iter().find(|(n, _)| *n == name).map(|(_, hosts)| hosts.clone());
        group.or_else(|| self.network.nodes.iter().position(|n| n.is_host() && n.name == name).map(|i| vec![i]))
    }

    /// Every name a flow can be from or to.
    pub fn host_names(&self) -> Vec<&str> {
        let hosts = self.network.nodes.iter().filter(|n| n.is_host()).map(|n| n.name.as_str());
        let mut names: Vec<&str> = self.groups.iter().map(|(n, _)| *n).chain(hosts).collect();
        names.dedup();
        names
    }
}

impl Line<'_> {
    fn with_delay(&self, there: Duration, back: Duration) -> Self {
        let mut line = self.clone();
        (line.there.delay, line.back.delay) = (Some(there), Some(back));
        line
    }
    /// Propagation there and back.
    fn round_trip(&self) -> Duration {
        self.there.delay.unwrap_or(Duration::ZERO) + self.back.delay.unwrap_or(Duration::ZERO)
    }
}

fn line<'a>(view: &View<'a>) -> Result<Line<'a>, Fault> {
    let there = way(view, None)?;
    // The bottleneck is the way there, unless the way back says so too.
    let same = Way { bottleneck: false, ..there.clone() };
    let back = match view.sub("reverse", fields::way()) {
        Some(reverse) => way(&reverse, Some(&same))?,
        None => same,
    };
    Ok(Line { there, back })
}

/// One way of a link: what `view` says over its type, or over the other way.
fn way<'a>(view: &View<'a>, other: Option<&Way<'a>>) -> Result<Way<'a>, Fault> {
    let usual = match (view.word("type")?.and_then(framing::find), other) {
        (Some(framing), _) => *framing,
        (None, Some(w)) => Framing {
            rate: Some(w.rate),
            overhead: w.overhead,
            min_frame: w.min_frame,
            mtu: w.mtu,
            cells: w.cells,
            ..*framing::named("plain")
        },
        (None, None) => *framing::named("plain"),
    };
    let written = if let Value::Rate(rate) = view.value("rate")? { Some(rate) } else { None };
    let rate = written.or(usual.rate).ok_or_else(|| {
        let types: Vec<&str> = framing::REGISTRY.iter().filter(|f| f.rate.is_some()).map(|f| f.name).collect();
        let fault = view.fault("rate", "the link has neither a `rate` nor a `type` that gives one");
        fault.expected(format!("a rate such as \"622 Mbit/s\", or one of the types {}", types.join(", ")))
    })?;
    let small = |name: &str, usual: u32| view.integer(name).map(|n| n.map_or(usual, |n| n as u32));
    let loss = match view.get("loss") {
        Some(node) => loss(node, view.path_of("loss"))?,
        None => other.map_or_else(no_loss, |w| w.loss.clone()),
    };
    let written = |name: &str| view.get(name).map(|node| Written { node, path: view.path_of(name) });
    let front = Front {
        queue: written("queue").or_else(|| other.and_then(|w| w.front.queue.clone())),
        discard: written("discard").or_else(|| other.and_then(|w| w.front.discard.clone())),
        place: Written { node: view.node, path: view.path.clone() },
    };
    let way = Way {
        rate,
        delay: view.duration("delay")?.or(other.and_then(|w| w.delay)),
        mtu: small("mtu", usual.mtu)?,
        cells: usual.cells,
        overhead: small("overhead", usual.overhead)?,
        min_frame: small("min_frame", usual.min_frame)?,
        loss,
        bottleneck: view.boolean("bottleneck")?,
        front,
    };
    if way.cells {
        check_cells(view, &way)?;
    }
    Ok(way)
}

fn check_cells(view: &View<'_>, way: &Way<'_>) -> Result<(), Fault> {
    if way.mtu + way.overhead > aal5::MAX_SDU {
        let fault = view.fault("mtu", format!("a packet of {} bytes with {} bytes of overhead fits no AAL5 frame", way.mtu, way.overhead));
        return Err(fault.expected(format!("an mtu of at most {} bytes", aal5::MAX_SDU.saturating_sub(way.overhead))));
    }
    if way.min_frame > 0 {
        return Err(view.fault("min_frame", "cells are all of one size").help("leave min_frame out, or choose a type that carries frames"));
    }
    Ok(())
}

fn no_loss() -> Choice {
    Choice::defaults(loss::NONE.name, loss::NONE.params)
}

fn loss(node: &Node, path: Vec<Step>) -> Result<Choice, Fault> {
    let (kind, view) = View::variant(node, path, &LOSS)?;
    let params = view.params()?;
    let entry = loss::named(kind);
    (entry.check)(&params).map_err(|sentence| Fault::new(node.span, path_text(&view.path), sentence))?;
    Ok(Choice { kind: entry.name, params })
}

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

/// What `used` leaves of `rtt`.
fn left_of(view: &View<'_>, rtt: Duration, used: Duration) -> Result<Duration, Fault> {
    if rtt < used {
        let message = format!("the other links alone take {} there and back", TIME.format(used.as_ps()));
        return Err(view.fault("rtt", message).expected(format!("at least {}", TIME.format(used.as_ps()))));
    }
    Ok(rtt - used)
}

fn rtts(view: &View<'_>) -> Vec<Duration> {
    let read = |node: &Node| node.as_text().and_then(|text| TIME.parse(text).ok()).map(Duration::from_ps);
    view.items("rtt").iter().filter_map(|(node, _)| read(node)).collect()
}

fn dumbbell<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let rtts = rtts(path);
    let pairs = path.integer("pairs")?.map_or(rtts.len().max(1), |n| n as usize);
    if rtts.len() > 1 && rtts.len() != pairs {
        let fault = path.fault("rtt", format!("there are {} rtts for {pairs} pairs of hosts", rtts.len()));
        return Err(fault.expected("one rtt, or one for each pair"));
    }
    let mut bottleneck = shared_line(path, "bottleneck", !rtts.is_empty())?;
    bottleneck.there.bottleneck = true;
    let edge = shared_line(path, "edge", false)?;
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
        let delay = |way: &Way<'_>| way.delay.unwrap_or(Duration::ZERO);
        let right_edge = edge.with_delay(delay(&edge.there) + more_there, delay(&edge.back) + more_back);
        plan.link(&format!("left{}-router1", pair + 1), a, router1, &edge);
        plan.link(&format!("router2-right{}", pair + 1), router2, b, &right_edge);
        left.push(a);
        right.push(b);
    }
    plan.groups = vec![("left", left), ("right", right)];
    Ok(plan)
}

fn chain<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let mut hops = Vec::new();
    for (node, at) in path.items("hops") {
        hops.push(line(&View::new(node, at, fields::link()))?);
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
    let routers = path.get("queue").map(|node| Written { node, path: path.path_of("queue") });
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

fn parking_lot<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let n = path.integer("bottlenecks")?.unwrap_or(1);
    let rtt = path.duration("rtt")?;
    let mut bottleneck = shared_line(path, "bottleneck", rtt.is_some())?;
    bottleneck.there.bottleneck = true;
    let edge = shared_line(path, "edge", false)?;
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
    plan.groups = vec![("in", into), ("out", out)];
    Ok(plan)
}

/// RF95 Figure 1, and the same with several switches in a row.
fn atm<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
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
    let discard = path.get("discard").map(|node| Written { node, path: path.path_of("discard") });
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
    plan.groups = vec![("left", left), ("right", right)];
    Ok(plan)
}

/// A switch of this path.
fn switch(path: &View<'_>) -> Result<NodeKind, Fault> {
    Ok(NodeKind::Switch { ports: path.integer("ports")?.expect("it has a default") })
}

fn explicit<'a>(path: &View<'a>) -> Result<Plan<'a>, Fault> {
    let mut plan = Plan::default();
    for (key, kind) in [("hosts", NodeKind::Host), ("routers", NodeKind::Router), ("switches", switch(path)?)] {
        for (node, at) in path.items(key) {
            let name = node.as_text().unwrap_or_default();
            if plan.network.nodes.iter().any(|n| n.name == name) || name.is_empty() {
                return Err(Fault::new(node.span, path_text(&at), "each node has a name of its own").found(node.found()));
            }
            plan.node(name.to_owned(), kind);
        }
    }
    for (node, at) in path.items("link") {
        let Tree::Table(table) = &node.value else { continue };
        let view = View::new(node, at, fields::link());
        let end = |key: &str| -> Result<usize, Fault> {
            let name = view.text(key).unwrap_or_default();
            plan.network.nodes.iter().position(|n| n.name == name).ok_or_else(|| {
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
        if plan.network.links.iter().any(|l| l.name == format!("{name}>")) {
            return Err(view.fault("name", format!("there are two links `{name}`")).help("give each a `name` of its own"));
        }
        plan.link(&name, from, to, &line(&view)?);
    }
    Ok(plan)
}
