//! The flows: from groups in the file to single connections with their ends, routes and parameters.

use super::network::Plan;
use crate::error::Fault;
use crate::fields::{self, CONTROL, SIZING, TRAFFIC};
use crate::shape::Variants;
use crate::trace_file::{self, Content, How, Quantity};
use crate::tree::Step;
use crate::view::{View, Written};
use longfat_core::packet::Dscp;
use longfat_core::params::{Choice, Kept, Params, Refusal, Value};
use longfat_core::rng::Rng;
use longfat_core::time::Duration;
use longfat_core::traffic::{Over, Traffic, mean_size};
use longfat_core::units::Rate;
use longfat_core::units::text::{SIZE, TIME};
use longfat_model::route::Routes;
use longfat_model::{Distribution, Flow, Live, Network, Starts, When};
use longfat_tcp::ecn::EcnKind;
use longfat_tcp::stack::Setup;
use longfat_tcp::{TcpConfig, congestion, options, stack, window_sizing};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Connections of one experiment.
const MAX_FLOWS: u64 = 100_000;

/// A `[[flow]]`, with everything that does not depend on the route.
pub(super) struct Group<'a> {
    view: View<'a>,
    name: String,
    from: Vec<usize>,
    to: Vec<usize>,
    count: u64,
    streams: u64,
    /// Start of each sender.
    starts: Vec<Duration>,
    /// Traffic of each sender, if each has its own; otherwise one for all.
    traffic: Vec<Traffic>,
    /// Distribution of the starts, if they were drawn.
    drawn: Option<Arc<Starts>>,
    stop: Option<Duration>,
    read_rate: Option<Rate>,
    relays: Option<Arc<str>>,
    dscp: Dscp,
    sender: End,
    receiver: End,
}

/// Parameters of one end of a connection, as the file sets them.
#[derive(Clone)]
struct End {
    setup: Setup,
    control: Choice,
    sizing: Choice,
    /// Parameters of control and sizing that the file sets.
    said: [Vec<&'static str>; 2],
}

impl End {
    fn of(stack: &'static stack::Stack) -> Self {
        let setup = Setup::new(stack);
        let control = setup.control();
        let sizing = window_sizing::choice(setup.params().choice("window_sizing"));
        End { setup, control, sizing, said: Default::default() }
    }

    /// The control and the window sizing, with the parameters that the stack gives them where they are not written.
    fn kinds(&self) -> [Choice; 2] {
        let mut kinds = [self.control.clone(), self.sizing.clone()];
        kinds.iter_mut().zip(&self.said).for_each(|(kind, said)| self.setup.fill(kind, said));
        kinds
    }
}

/// Returns every `[[flow]]` of the file, checked but for its routes.
pub(super) fn groups<'a>(file: &View<'a>, plan: &Plan<'a>, duration: Duration, seed: u64) -> Result<Vec<Group<'a>>, Fault> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut names = BTreeSet::new();
    for (i, at) in file.items("flow").into_iter().enumerate() {
        let view = View::new(at, fields::flow());
        let name = view.text("name").map_or_else(|| format!("flow{}", i + 1), str::to_owned);
        if name.is_empty() || !names.insert(name.clone()) {
            return Err(view.fault("name", format!("there are two flows `{name}`")).help("give each a `name` of its own"));
        }
        groups.push(group(view, name, plan, duration, seed)?);
    }
    match groups.iter().map(|g| g.count * g.streams).sum() {
        0 => Err(file.fault("flow", "there is no flow: every count is 0")),
        1..=MAX_FLOWS => Ok(groups),
        n => Err(file.fault("flow", format!("there are {n} connections")).expected(format!("at most {MAX_FLOWS}"))),
    }
}

fn group<'a>(view: View<'a>, name: String, plan: &Plan<'a>, duration: Duration, seed: u64) -> Result<Group<'a>, Fault> {
    if view.get("count").is_none()
        && let Some(key) = ["from", "to"].into_iter().find(|key| view.items(key).len() > 1)
    {
        // A `count` below the number of hosts is intended: the number of senders may be swept.
        let hosts = view.items(key).len();
        let fault = view.fault(key, format!("{hosts} hosts for 1 connection: those after the first would have none"));
        return Err(fault.help(format!("say how many connections there are, such as `count = {hosts}`")));
    }
    let (from, to) = (hosts(&view, "from", "left", plan)?, hosts(&view, "to", "right", plan)?);
    let streams = view.integer("streams")?.unwrap_or(1);
    let mut said = Starts { start: view.when("start")?, stagger: view.when("stagger")? };
    let mut stop = view.duration("stop")?;
    let (traffic, load) = traffic(&view)?;
    let count = match load {
        None => Some(view.integer("count")?.unwrap_or(1)),
        Some(load) => {
            said.stagger = When::Random(Distribution::Exponential(gap(&view, &traffic, load, plan, from[0], to[0])?));
            view.get("count").map(|_| view.integer("count")).transpose()?.flatten()
        }
    };
    if view.get("count").is_none() && streams > 1 && said.stagger != When::At(Duration::ZERO) {
        // A `count` of 1 is intended: it may be swept.
        let fault = view.fault("stagger", format!("the {streams} streams of one sender start together: nothing is apart"));
        return Err(fault.help(format!("for {streams} senders one after the other, `count = {streams}` instead of `streams`")));
    }
    let starts = match (count, stop.take_if(|_| count.is_none())) {
        (Some(count), _) => starts(&view, &name, said, count, duration, seed)?,
        (None, Some(stop)) => arrivals(&view, &name, said, stop.min(duration), seed)?,
        (None, None) => {
            let fault = view.fault("traffic", format!("nothing says how long connections of `{name}` come"));
            return Err(fault.expected("`stop`, with time after it for the last ones, or `count`"));
        }
    };
    let count = starts.len() as u64;
    let last = starts.iter().max().map_or(0, |last| last.as_ps());
    if stop.is_some_and(|stop| stop.as_ps() <= last) {
        let fault = view.fault("stop", format!("`{name}` would stop before its last sender starts, at {}", TIME.format(last)));
        return Err(fault.expected("a later time"));
    }
    if stop.is_some() && (traffic.is_drawn() || traffic.volume().is_some()) {
        let message = format!("{} stops when its volume is written", traffic.kind().name);
        return Err(view.fault("stop", message).help("leave `stop` out, or let the traffic be `bulk`"));
    }
    if streams > 1 && !traffic.is_tcp() {
        return Err(view.fault("streams", "only TCP has streams").help("`count` gives several senders"));
    }
    let read_rate = if let Value::Rate(rate) = view.value("read_rate")? { Some(rate) } else { None };
    if read_rate.is_some() && !traffic.is_tcp() {
        return Err(view.fault("read_rate", "only TCP waits for an application that reads").help("leave `read_rate` out"));
    }
    if read_rate.is_some() && matches!(traffic.kind().over, Over::Asked { .. }) {
        return Err(view.fault("read_rate", "a receiver that asks reads at once").help("leave `read_rate` out"));
    }
    let relays = view.text("relays").map(Arc::from);
    if relays.is_some()
        && let Some(key) = ["traffic", "stop"].into_iter().find(|key| view.get(key).is_some())
    {
        let fault = view.fault(key, format!("`{name}` sends what it relays, and ends when that ends"));
        return Err(fault.help(format!("leave `{key}` out, and say it of the flow that is relayed")));
    }
    let dscp = if let Value::Dscp(dscp) = view.value("dscp")? { dscp } else { Dscp::DEFAULT };
    let (sender, receiver) = ends(&view)?;
    let is_drawn = traffic.is_drawn() || !matches!(said, Starts { start: When::At(_), stagger: When::At(_) });
    let traffic = match traffic.is_drawn() {
        true => (1..=count).map(|sender| traffic.draw(&mut Rng::named(seed, &format!("{name} {sender} size")))).collect(),
        false => vec![traffic],
    };
    Ok(Group {
        from,
        to,
        traffic,
        view,
        name,
        count,
        streams,
        starts,
        drawn: is_drawn.then(|| Arc::new(said)),
        stop,
        read_rate,
        relays,
        dscp,
        sender,
        receiver,
    })
}

/// Checks which of `groups`, whose connections are `flows`, send on the payload of which.
fn relayed(groups: &[Group<'_>], flows: &[Flow], network: &Network) -> Result<(), Fault> {
    let mut taken = BTreeSet::new();
    for (number, group) in groups.iter().enumerate() {
        let Some(name) = group.relays.as_deref().filter(|_| group.count > 0) else { continue };
        let fault = |message: String| group.view.fault("relays", message);
        let Some(first) = groups[..number].iter().find(|other| other.name == name) else {
            return Err(fault(format!("no flow above `{}` is called `{name}`", group.name)).expected("the `name` of a flow above it"));
        };
        let (ours, theirs) = (group.count * group.streams, first.count * first.streams);
        if ours != theirs {
            let fault = fault(format!("`{}` has {ours} connections, and `{name}` has {theirs}", group.name));
            return Err(fault.expected("one of each, by `count` and `streams`"));
        }
        if !taken.insert(name) {
            return Err(fault(format!("`{name}` is relayed twice")).help("a proxy sends what it reads to one connection"));
        }
        if !first.traffic[0].is_tcp() || first.traffic[0].volume().is_some() || first.traffic[0].is_drawn() || first.read_rate.is_some() {
            let fault = fault(format!("`{name}` cannot be relayed"));
            return Err(fault.expected("a flow over TCP without a volume, and without `read_rate`"));
        }
        let [from, to] = [name, &group.name].map(|name| flows.iter().filter(move |flow| &*flow.group == name));
        if let Some((from, to)) = from.zip(to).find(|(theirs, ours)| theirs.to != ours.from) {
            let node = |node: usize| &network.nodes[node].name;
            let fault = fault(format!("`{name}` ends at `{}`, and `{}` starts at `{}`", node(from.to), group.name, node(to.from)));
            return Err(fault.help("both connections of a proxy are at its host"));
        }
    }
    Ok(())
}

/// When each sender of the group `name` starts. What is random has a stream of numbers of its own for each sender, so that neither another
/// sender nor anything else in the run moves it.
fn starts(view: &View<'_>, name: &str, said: Starts, count: u64, duration: Duration, seed: u64) -> Result<Vec<Duration>, Fault> {
    let most = |when: When| match when {
        When::At(time) => Some(time),
        When::Random(distribution) => distribution.most(),
    };
    let late = |last: u64, why: &str| {
        let key = if most(said.start).is_none_or(|start| start >= duration) { "start" } else { "stagger" };
        let message = format!("the last connection of `{name}` {why} start at {}", TIME.format(last));
        Err(view.fault(key, message).expected("a start within the duration of the run"))
    };
    // Starts that may be too late with another seed are refused with this one.
    if let (Some(start), Some(stagger)) = (most(said.start), most(said.stagger)) {
        let last = start.as_ps().saturating_add(stagger.saturating_mul(count.saturating_sub(1)).as_ps());
        if last >= duration.as_ps() {
            return late(last, if said.start == When::At(start) && said.stagger == When::At(stagger) { "would" } else { "could" });
        }
    }
    let starts: Vec<Duration> = drawn(name, said, seed).take(count as usize).collect();
    match starts.iter().find(|start| **start >= duration) {
        Some(start) => late(start.as_ps(), &format!("was drawn, with seed {seed}, to")),
        None => Ok(starts),
    }
}

/// Returns the starts of the senders of the group `name`, one after the other.
fn drawn(name: &str, said: Starts, seed: u64) -> impl Iterator<Item = Duration> {
    let time = move |when: When, what: &str, sender: u64| match when {
        When::At(time) => time,
        When::Random(distribution) => distribution.draw(&mut Rng::named(seed, &format!("{name} {sender} {what}"))),
    };
    let mut gaps = Duration::ZERO;
    (1..).map(move |sender| {
        if sender > 1 {
            gaps += time(said.stagger, "stagger", sender);
        }
        gaps + time(said.start, "start", sender)
    })
}

/// Returns the starts of a group that sets the end of its arrivals, and not their number.
fn arrivals(view: &View<'_>, name: &str, said: Starts, until: Duration, seed: u64) -> Result<Vec<Duration>, Fault> {
    let starts: Vec<Duration> = drawn(name, said, seed).take_while(|start| *start < until).take(MAX_FLOWS as usize + 1).collect();
    match starts.len() as u64 {
        0 => Err(view.fault("start", format!("no connection of `{name}` starts by {}", TIME.format(until.as_ps())))),
        1..=MAX_FLOWS => Ok(starts),
        _ => {
            let fault = view.fault("traffic", format!("more than {MAX_FLOWS} connections of `{name}` come"));
            Err(fault.expected("an earlier `stop`, a lower load, or larger sizes"))
        }
    }
}

/// The mean time from one connection to the next, where `load` of the slowest link between two hosts is their payload.
fn gap(view: &View<'_>, traffic: &Traffic, load: f64, plan: &Plan<'_>, from: usize, to: usize) -> Result<Duration, Fault> {
    if view.get("stagger").is_some() {
        return Err(view.fault("stagger", "`load` says how far apart connections come").help("leave one of the two out"));
    }
    let routes = Routes::new(&plan.network);
    let slowest = routes.path(from, to).into_iter().flatten().map(|link| plan.network.links[link].rate.as_bps()).min();
    // A later check reports a missing route.
    let Some(rate) = slowest else { return Ok(Duration::from_secs(1)) };
    Ok(Duration::from_secs_f64(mean_size(traffic.params()) * 8.0 / (load * rate as f64)).max(Duration::from_ps(1)))
}

/// Returns the traffic of the flow `view`, and the load that decides when its connections start.
fn traffic(view: &View<'_>) -> Result<(Traffic, Option<f64>), Fault> {
    let Some(written) = view.written("traffic") else { return Ok((Traffic::bulk(), None)) };
    let (kind, view) = written.variant(&TRAFFIC)?;
    let mut params = view.params()?;
    if let Some((_, Value::Names(file))) = params.0.iter().find(|(name, _)| *name == "sizes") {
        let points = sizes(&view, &file.all()[0])?;
        params.set("sizes", Value::Choice("listed"));
        params.set("points", Value::Tables(points));
    }
    // `stagger` and `count` express the load.
    let load = params.0.iter_mut().find(|(name, _)| *name == "load").map(|(_, value)| std::mem::replace(value, Value::Auto));
    let load = if let Some(Value::Number(load)) = load { Some(load) } else { None };
    let traffic = Traffic::new(Choice { kind, params });
    let traffic = traffic.map_err(|Refusal { param, sentence, expected }| view.fault(param, sentence).expected(expected))?;
    Ok((traffic, load))
}

/// Returns the points of a file of sizes. They are parameters of the run, which needs no file from then on.
fn sizes(view: &View<'_>, file: &str) -> Result<Kept<Vec<Params>>, Fault> {
    if view.get("points").is_some() {
        return Err(view.fault("points", "a file of sizes has its own points").expected("no points"));
    }
    let how = How { of: Quantity::Size, value: None, interval: None };
    match trace_file::read(&view.at.files.lasting(file), view.at.files, &trace_file::OF_SIZES, how) {
        Ok((Content::Sizes(points), _)) => Ok(points),
        Ok(_) => unreachable!("sizes are of no other content"),
        Err(sentence) => Err(view.fault("sizes", sentence)),
    }
}

/// Returns the hosts that `view` names at `key`, or the hosts of the name `usual`.
pub(super) fn hosts(view: &View<'_>, key: &str, usual: &str, plan: &Plan<'_>) -> Result<Vec<usize>, Fault> {
    if view.get(key).is_none() {
        return plan.hosts_or(key, usual, &|message| view.fault(key, message));
    }
    let mut all = Vec::new();
    for at in view.items(key) {
        let name = at.node.as_text().unwrap_or_default();
        all.extend(plan.hosts_or(key, name, &|message| at.fault(message).found(at.node.found()))?);
    }
    Ok(all)
}

/// The parameters of both ends: the receiver is like the sender but for what `receiver` says.
fn ends(view: &View<'_>) -> Result<(End, End), Fault> {
    let rfc = End::of(stack::named("rfc"));
    let sender = endpoint(view, &rfc)?;
    let receiver = match view.sub("receiver", fields::endpoint()) {
        Some(receiver) => endpoint(&receiver, &sender)?,
        None => sender.clone(),
    };
    Ok((sender, receiver))
}

/// Returns the plain stack's value of `name`.
fn plain(name: &str) -> Value {
    options::PARAMS.iter().find(|spec| spec.name == name).and_then(|spec| spec.default).unwrap_or(Value::Auto)
}

fn endpoint(view: &View<'_>, basis: &End) -> Result<End, Fault> {
    let stack = view.word("stack")?.and_then(stack::find);
    let End { mut setup, mut control, mut sizing, mut said } = stack.map_or_else(|| basis.clone(), End::of);
    if let Some(name) = view.word("kernel")? {
        let kernels = setup.stack().kernels;
        let Some(kernel) = kernels.iter().find(|kernel| kernel.name == name) else {
            let fault = view.fault("kernel", format!("the stack `{}` has no versions", setup.stack().name));
            return Err(fault.expected("stack = \"linux\" beside it"));
        };
        setup.set_kernel(kernel);
    }
    if let Some(written) = view.written("congestion_control") {
        (control, said[0]) = chosen(&written, &CONTROL)?;
        setup.set("congestion_control", Value::Choice(control.kind));
    }
    if let Some(written) = view.written("window_sizing") {
        (sizing, said[1]) = chosen(&written, &SIZING)?;
        setup.set("window_sizing", Value::Choice(sizing.kind));
    }
    for spec in options::PARAMS {
        if view.get(spec.name).is_none() || ["congestion_control", "window_sizing"].contains(&spec.name) {
            continue;
        }
        match view.value(spec.name)? {
            // "auto" where a stack has a value of its own: the default of the plain stack.
            Value::Auto => setup.set(spec.name, plain(spec.name)),
            value => setup.set(spec.name, value),
        }
    }
    if view.get("window").is_some() && view.value("window")? == Value::Auto {
        // With `window = "auto"` the path sets the window: the buffers set no bound of their own, and right-sizing applies unless the file
        // says otherwise.
        for buffer in ["send_buffer", "receive_buffer"] {
            if view.get(buffer).is_none() {
                setup.set(buffer, plain(buffer));
            }
        }
        if view.get("window_sizing").is_none() {
            sizing = window_sizing::choice("drs");
            setup.set("window_sizing", Value::Choice(sizing.kind));
        }
    }
    if let Some(window) = view.integer("window")? {
        for buffer in ["send_buffer", "receive_buffer"] {
            if view.get(buffer).is_some() {
                return Err(view
                    .fault(buffer, format!("both `window` and `{buffer}` are given"))
                    .help("window sets send_buffer and receive_buffer; leave one of them out"));
            }
            setup.set(buffer, Value::Bytes(window));
        }
    }
    // The receiver of a flow answers as its sender asks.
    setup.set("ecn", Value::Choice(options::ecn(setup.params()).name()));
    contradictions(view, setup.params())?;
    Ok(End { setup, control, sizing, said })
}

/// Returns one of `variants` as written, and which of its parameters are written.
fn chosen(written: &Written<'_>, variants: &Variants) -> Result<(Choice, Vec<&'static str>), Fault> {
    let (kind, view) = written.variant(variants)?;
    let params = view.params()?;
    let said = params.0.iter().map(|(name, _)| *name).filter(|name| view.get(name).is_some()).collect();
    Ok((Choice { kind, params }, said))
}

fn contradictions(view: &View<'_>, params: &Params) -> Result<(), Fault> {
    // Point at the one that is written; where both are, at the first.
    let at = |a: &'static str, b: &'static str| if view.get(a).is_some() { a } else { b };
    // A sender that can repair by SACK may well meet a receiver that cannot.
    let receiver = view.at.path.last() == Some(&Step::Key("receiver".to_owned()));
    if matches!(params.choice("recovery"), "sack" | "fack") && !params.boolean("sack") && !receiver {
        let fault = view.fault(at("sack", "recovery"), "recovery by SACK needs the SACK option");
        return Err(fault.expected("sack = true, or recovery = \"newreno\""));
    }
    let control = params.choice("congestion_control");
    let uses = congestion::named(control).ecn;
    if !uses.accepts(options::ecn(params)) && !receiver {
        let fault = view.fault(at("ecn", "congestion_control"), format!("`{control}` must be told how much was marked"));
        let enough = EcnKind::NAMES.iter().filter(|name| uses.accepts(EcnKind::named(name)));
        let enough: Vec<String> = enough.map(|name| format!("ecn = \"{name}\"")).collect();
        return Err(fault.expected(enough.join(" or ")).help("leave `ecn` out for the one that it needs"));
    }
    let max = params.duration("rto_max");
    for name in ["rto_min", "rto_initial"] {
        if params.duration(name) > max {
            let fault = view.fault(at(name, "rto_max"), format!("`{name}` is above `rto_max`"));
            return Err(fault.expected(format!("{name} of at most {}", TIME.format(max.as_ps()))));
        }
    }
    Ok(())
}

/// Returns every connection, in the order of the file. If no link is marked as the bottleneck, marks one.
pub(super) fn connections(groups: &[Group<'_>], network: &mut Network) -> Result<Vec<Flow>, Fault> {
    let routes = Routes::new(network);
    let mut found = BTreeMap::new();
    let mut flows = Vec::new();
    let mut senders = 0;
    for group in groups {
        // Parameters of both ends, by the MTU of the route.
        let mut ends = BTreeMap::new();
        let name: Arc<str> = group.name.as_str().into();
        for i in 0..group.count {
            let from = group.from[i as usize % group.from.len()];
            let to = group.to[i as usize % group.to.len()];
            let route = match found.entry((from, to)) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(there_and_back(group, &routes, network, from, to)?),
            };
            // Between real hosts nobody knows it.
            let mtu = route.iter().map(|&l| network.links[l].mtu).min().unwrap_or(Live::MTU);
            let traffic = group.traffic.get(i as usize).unwrap_or(&group.traffic[0]);
            if traffic.packet_size().is_some_and(|size| size > mtu) {
                let fault = group.view.fault("traffic", format!("a packet of `{}` does not fit the route", group.name));
                return Err(fault.expected(format!("a size of at most {}, the smallest MTU", SIZE.format(mtu.into()))));
            }
            let (sender, receiver) = match ends.entry(mtu) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert((Arc::new(config(group, &group.sender, mtu)?), Arc::new(config(group, &group.receiver, mtu)?)))
                }
            };
            let flow = Flow {
                group: name.clone(),
                from,
                to,
                sender: sender.clone(),
                receiver: receiver.clone(),
                dscp: group.dscp,
                traffic: traffic.clone(),
                start: group.starts[i as usize],
                drawn: group.drawn.clone(),
                stop: group.stop,
                read_rate: group.read_rate,
                relays: group.relays.clone(),
                stream_of: senders,
            };
            flows.extend((0..group.streams).map(|_| flow.clone()));
            senders += 1;
        }
    }
    relayed(groups, &flows, network)?;
    if !network.links.is_empty() && network.links.iter().all(|l| !l.bottleneck) {
        let first = routes.path(flows[0].from, flows[0].to).expect("it was found before");
        // The first of the slowest.
        let slowest = first.into_iter().min_by_key(|&l| network.links[l].rate).expect("a route has a link");
        network.links[slowest].bottleneck = true;
    }
    Ok(flows)
}

fn there_and_back(group: &Group<'_>, routes: &Routes<'_>, network: &Network, from: usize, to: usize) -> Result<Vec<usize>, Fault> {
    let name = |node: usize| &network.nodes[node].name;
    if from == to {
        return Err(group.view.fault("to", format!("a connection of `{}` is from `{}` to itself", group.name, name(from))));
    }
    if network.links.is_empty() {
        return Ok(Vec::new());
    }
    // Links have both directions, so there is a reverse path if there is a forward one.
    match (routes.path(from, to), routes.path(to, from)) {
        (Some(there), Some(back)) => Ok([there, back].concat()),
        _ => {
            let fault = group.view.fault("to", format!("no links lead from `{}` to `{}`", name(from), name(to)));
            Err(fault.help("hosts do not forward packets; routers do"))
        }
    }
}

fn config(group: &Group<'_>, end: &End, mtu: u32) -> Result<TcpConfig, Fault> {
    let params = end.setup.params();
    let headers = u64::from(options::headers(params.boolean("timestamps")));
    let most = u64::from(mtu) - headers;
    match params.get("mss") {
        Value::Bytes(mss) if mss > most => {
            let fault = group.view.fault("mss", format!("a segment of `{}` does not fit the route", group.name));
            Err(fault.expected(format!("at most {}: the smallest MTU is {mtu}, and the headers take {headers}", SIZE.format(most))))
        }
        _ => {
            let [control, sizing] = end.kinds();
            let config = TcpConfig { congestion_control: control, window_sizing: sizing, ..TcpConfig::new(params, mtu) };
            match (window_sizing::kind(&config).check)(&config) {
                Ok(()) => Ok(config),
                Err(refusal) => Err(refused(group, end, refusal)),
            }
        }
    }
}

/// Points at the parameter of the window sizing where it is written: in the flow, or in what its receiver has of its own.
fn refused(group: &Group<'_>, end: &End, Refusal { param, sentence, expected }: Refusal) -> Fault {
    let own = group.view.sub("receiver", fields::endpoint()).filter(|view| view.get("window_sizing").is_some());
    let at = own.as_ref().filter(|_| std::ptr::eq(end, &group.receiver)).unwrap_or(&group.view);
    let message = format!("`{param}`: {sentence}");
    let fault = match at.written("window_sizing").map(|written| written.variant(&SIZING)) {
        Some(Ok((_, sizing))) => sizing.fault(param, message),
        _ => at.fault("window_sizing", message),
    };
    fault.expected(expected)
}
