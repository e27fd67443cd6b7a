//! A resolved experiment, written back in the shape of an experiment file with explicit nodes and links: what goes into
//! the results folder, reads back as the same run, and identifies it ([`super::identity`]).

mod unsteady;

use super::error::Span;
use super::fields;
use super::print::print;
use super::tree::{self, Entry, Node, Tree};
use longfat_core::atm::discard;
use longfat_core::link::{Shaper, loss};
use longfat_core::packet::Dscp;
use longfat_core::params::{Choice, Kind, ParamSpec, Params, Value};
use longfat_core::queue::{self, shared};
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::text::{RATE, SIZE, TIME};
use longfat_model::{
    self, Experiment, Flow, Host, Intake, Interrupts, Link, Live, LiveHost, Network, NodeKind, OnFull, Router, Starts, Ties, Watched, When,
};
use longfat_tcp::congestion::{self, extensions};
use longfat_tcp::options::PARAMS;
use longfat_tcp::window_sizing;
use longfat_tcp::{Offload, TcpConfig};
use serde_json::{Map, Value as Json, json};

type Table = Map<String, Json>;

fn duration(d: Duration) -> Json {
    TIME.format(d.as_ps()).into()
}
fn when(when: When) -> Json {
    match when {
        When::At(time) => duration(time),
        When::Random(distribution) => json!({ "random": distribution.to_string() }),
    }
}
fn size(n: u64) -> Json {
    SIZE.format(n).into()
}

/// The experiment as an experiment file would say it, to be run by `backend`.
pub(crate) fn experiment(experiment: &Experiment, backend: &str) -> Json {
    let mut file = frame(experiment, backend);
    let network = &experiment.network;
    if experiment.live.is_none() {
        file["path"]["link"] = links(&network.links).map(|ways| link(ways, network)).collect();
    }
    file["flow"] = groups(&experiment.flows).map(|flows| group(flows, network, true)).collect();
    file
}

/// Links: the two ways of each, which stand side by side.
pub(crate) fn links(links: &[Link]) -> impl Iterator<Item = &[Link]> {
    links.chunks(2)
}

/// Flows, by groups.
pub(crate) fn groups(flows: &[Flow]) -> impl Iterator<Item = &[Flow]> {
    flows.chunk_by(|a, b| a.group == b.group)
}

/// Returns the same as [`experiment`], with null in the place of its links and of its flows.
pub(crate) fn frame(experiment: &Experiment, backend: &str) -> Json {
    let mut file = Table::new();
    file.insert("backend".into(), backend.into());
    if !experiment.title.is_empty() {
        file.insert("title".into(), experiment.title.clone().into());
    }
    file.insert("seed".into(), experiment.seed.into());
    if experiment.ties == Ties::Random {
        file.insert("ties".into(), "random".into());
    }
    if experiment.departures_last {
        file.insert("departures".into(), "last".into());
    }
    let nodes = &experiment.network.nodes;
    let name = |i: usize| nodes[i].name.as_str();
    let names =
        |of: fn(&longfat_model::Node) -> bool| nodes.iter().filter(|n| of(n)).map(|n| Json::from(n.name.as_str())).collect::<Vec<_>>();
    let mut path = Table::new();
    path.insert("preset".into(), "explicit".into());
    path.insert("hosts".into(), names(longfat_model::Node::is_host).into());
    let routers = names(|node| node.kind == NodeKind::Router);
    if !routers.is_empty() {
        path.insert("routers".into(), routers.into());
    }
    if let Some(NodeKind::Switch { ports, buffers_at_inputs }) =
        nodes.iter().map(|node| node.kind).find(|kind| matches!(kind, NodeKind::Switch { .. }))
    {
        path.insert("switches".into(), names(longfat_model::Node::is_switch).into());
        path.insert("ports".into(), ports.into());
        if buffers_at_inputs {
            path.insert("buffers".into(), "input".into());
        }
    }
    path.insert("link".into(), Json::Null);
    let ways = &experiment.network.links;
    let link_name = |link: usize| ways[link].name.strip_suffix('>').unwrap_or(&ways[link].name);
    let moves = experiment.network.moves.iter().filter(|step| step.link.is_multiple_of(2));
    let moves: Vec<Json> =
        moves.map(|step| json!({ "at": duration(step.at), "link": link_name(step.link), "by": link_name(step.by) })).collect();
    if !moves.is_empty() {
        path.insert("move".into(), moves.into());
    }
    match &experiment.live {
        Some(live) => file.insert("live".into(), hosts_of(live, nodes)),
        None => file.insert("path".into(), path.into()),
    };
    // A proxy is one by its flows.
    let described = |h: &&Host| **h != Host { relays: h.relays, ..Host::new(h.node) };
    let hosts: Vec<Json> = experiment.hosts.iter().filter(described).map(|h| host(h, name(h.node))).collect();
    if !hosts.is_empty() {
        file.insert("host".into(), hosts.into());
    }
    if !experiment.routers.is_empty() {
        file.insert("router".into(), experiment.routers.iter().map(|r| router(r, name(r.node))).collect());
    }
    file.insert("flow".into(), Json::Null);
    let mut measure = Table::new();
    measure.insert("duration".into(), duration(experiment.measure.duration));
    measure.insert("warmup".into(), duration(experiment.measure.warmup));
    if let Some(interval) = experiment.measure.interval {
        measure.insert("interval".into(), duration(interval));
    }
    measure.insert("events".into(), experiment.measure.events.into());
    if let Some(watched) = experiment.measure.packets {
        let what = match watched {
            Watched::All => Watched::ALL,
            Watched::Link(link) => &experiment.network.links[link].name,
            Watched::Node(node) => name(node),
            Watched::Flows(first, _) => &*experiment.flows[first].group,
        };
        measure.insert("packets".into(), what.into());
    }
    if experiment.measure.acks {
        measure.insert("acks".into(), true.into());
    }
    file.insert("measure".into(), measure.into());
    file.into()
}

/// The real hosts, which are these nodes.
fn hosts_of(live: &Live, nodes: &[longfat_model::Node]) -> Json {
    let host = |(host, node): (&LiveHost, &longfat_model::Node)| {
        let mut table = Table::new();
        table.insert("name".into(), node.name.as_str().into());
        table.insert("at".into(), host.at.as_str().into());
        if let Some(key) = &host.key {
            table.insert("key".into(), key.as_str().into());
        }
        Json::from(table)
    };
    let mut table = Table::new();
    table.insert("host".into(), live.hosts.iter().zip(nodes).map(host).collect());
    table.insert("spread".into(), duration(live.spread));
    table.insert("survey".into(), live.survey.into());
    table.insert("capture".into(), live.capture.into());
    if !live.uncontrolled.is_empty() {
        table.insert("uncontrolled".into(), live.uncontrolled.iter().map(String::as_str).collect());
    }
    table.into()
}

/// One of the [`links`] of `network`.
pub(crate) fn link(ways: &[Link], network: &Network) -> Json {
    let name = |node: usize| network.nodes[node].name.as_str();
    let mut table = way(&ways[0], None);
    table.insert("name".into(), ways[0].name.strip_suffix('>').unwrap_or(&ways[0].name).into());
    table.insert("from".into(), name(ways[0].from).into());
    table.insert("to".into(), name(ways[0].to).into());
    let mut reverse = way(&ways[1], (ways[0].cells == ways[1].cells).then_some((&table, &ways[0])));
    if ways[0].cells && !ways[1].cells {
        reverse.insert("type".into(), "plain".into());
    }
    if !reverse.is_empty() {
        table.insert("reverse".into(), reverse.into());
    }
    table.into()
}

/// One way of a link; with `other`, only what differs from it.
fn way(link: &Link, other: Option<(&Table, &Link)>) -> Table {
    let mut table = Table::new();
    if link.cells {
        table.insert("type".into(), "atm".into());
    }
    table.insert("rate".into(), RATE.format(link.rate.as_bps()).into());
    table.insert("delay".into(), duration(link.delay));
    table.insert("mtu".into(), size(link.mtu.into()));
    table.insert("overhead".into(), size(link.overhead.into()));
    table.insert("min_frame".into(), size(link.min_frame.into()));
    match &link.discard {
        Some(policy) => table.insert("discard".into(), choice(policy, discard::named(policy.kind).params)),
        None => table.insert("queue".into(), choice(&link.queue, queue::named(link.queue.kind).params)),
    };
    table.insert("loss".into(), choice(&link.loss, loss::named(link.loss.kind).params));
    if let Some(pause) = link.pause {
        let mut said = Table::new();
        said.insert("on".into(), size(pause.on));
        said.insert("off".into(), size(pause.off));
        said.insert("quanta".into(), format!("{} quanta", pause.quanta).into());
        table.insert("pause".into(), said.into());
    }
    if let Some((other, _)) = other {
        table.retain(|key, value| other.get(key.as_str()) != Some(value));
    }
    // A way that says any of this has nothing of it from the other, and a way with another rate or delay does not have the trace of that.
    let same = |(_, other): (&Table, &Link)| (&link.unsteady, link.rate, link.delay) == (&other.unsteady, other.rate, other.delay);
    if !other.map_or(link.unsteady.is_steady(), same) {
        unsteady::write(link, &mut table);
    }
    if link.bottleneck {
        table.insert("bottleneck".into(), true.into());
    }
    table
}

fn host(host: &Host, name: &str) -> Json {
    let mut table = Table::new();
    table.insert("name".into(), name.into());
    if let Some(nic) = host.nic {
        table.insert("txqueuelen".into(), format!("{} packets", nic.txqueuelen).into());
        let on_full = match nic.on_full {
            OnFull::Stall => "stall",
            OnFull::Wait => "wait",
            OnFull::Drop => "drop",
        };
        table.insert("on_full".into(), on_full.into());
    }
    if let Some(cpu) = host.cpu {
        table.insert("cpu".into(), format!("{} MHz", cpu.mhz).into());
        for (way, cycles) in [("send", cpu.send), ("receive", cpu.receive)] {
            table.insert(format!("{way}_packet"), format!("{} cycles", cycles.packet).into());
            table.insert(format!("{way}_byte"), cycles.byte.into());
        }
        intake(&cpu.intake, &mut table);
    }
    if let Some(offload) = host.offload {
        bursts(&offload, &mut table);
    }
    if let Some(Interrupts { rx_ring, rx_usecs, rx_frames, gro_max_size }) = host.interrupts {
        intake(&Intake { rx_ring, rx_usecs, rx_frames, backlog: None }, &mut table);
        table.insert("rx_usecs".into(), duration(rx_usecs));
        if let Some(most) = gro_max_size {
            table.insert("gro_max_size".into(), size(most));
        }
    }
    if let Some(Shaper { rate, burst }) = host.shaper {
        table.insert("shape_rate".into(), RATE.format(rate.as_bps()).into());
        table.insert("shape_burst".into(), size(burst));
    }
    if let Some(overhead) = host.overhead {
        table.insert("overhead".into(), duration(overhead));
    }
    if let Some(memory) = host.memory {
        table.insert("memory".into(), size(memory.bytes));
        if let Some(least) = memory.least {
            table.insert("memory_min".into(), size(least));
        }
    }
    table.into()
}

fn router(router: &Router, name: &str) -> Json {
    let mut table = Table::new();
    table.insert("name".into(), name.into());
    table.insert("shared_buffer".into(), size(router.shared_buffer));
    table.insert("sharing".into(), choice(&router.sharing, shared::named(router.sharing.kind).params));
    table.into()
}

/// Writes how packets come to a processor. Values at their default stay out, so such a host reads as it did before these keys existed.
fn intake(intake: &Intake, table: &mut Table) {
    let Intake { rx_ring, rx_usecs, rx_frames, backlog } = *intake;
    let max = backlog.map(|backlog| backlog.max);
    for (name, count) in [("rx_ring", rx_ring), ("rx_frames", rx_frames), ("netdev_max_backlog", max)] {
        if let Some(count) = count {
            table.insert(name.into(), format!("{count} packets").into());
        }
    }
    if !rx_usecs.is_zero() {
        table.insert("rx_usecs".into(), duration(rx_usecs));
    }
    if backlog.is_some_and(|backlog| backlog.throttles) {
        table.insert("on_backlog_full".into(), "throttle".into());
    }
}

fn bursts(offload: &Offload, table: &mut Table) {
    let Offload { gso_max_size, min_tso_segs, tso_win_divisor, tso_rtt_log, limit_output_bytes } = *offload;
    if let Some(most) = gso_max_size {
        table.insert("gso_max_size".into(), size(most));
        for (name, value) in [("min_tso_segs", min_tso_segs), ("tso_win_divisor", tso_win_divisor), ("tso_rtt_log", tso_rtt_log)] {
            table.insert(name.into(), value.into());
        }
    }
    if let Some(most) = limit_output_bytes {
        table.insert("limit_output_bytes".into(), size(most));
    }
}

fn choice(choice: &Choice, specs: &[ParamSpec]) -> Json {
    chosen(choice.kind, &choice.params, specs)
}

fn traffic(traffic: &Traffic) -> Json {
    chosen(traffic.kind().name, traffic.params(), traffic.kind().params)
}

fn chosen(kind: &str, params: &Params, specs: &[ParamSpec]) -> Json {
    let mut table = said(params, specs);
    table.insert("kind".into(), kind.into());
    table.into()
}

fn said(params: &Params, specs: &[ParamSpec]) -> Table {
    let value = |spec: &ParamSpec| match (params.get(spec.name), spec.kind) {
        (Value::Queue(inside), _) => Some(choice(&inside, queue::named(inside.kind).params)),
        (Value::Tables(tables), Kind::Tables(keys)) => Some(tables.all().iter().map(|table| Json::from(said(table, keys.0))).collect()),
        (value, kind) => kind.write(value),
    };
    specs.iter().filter_map(|spec| Some((spec.name.to_owned(), value(spec)?))).collect()
}

/// One of the [`groups`] over `network`: connections that differ only in their ends and evenly spaced starts are one flow.
///
/// A group lacks, without `defaults`, the parameters that its sender has as the plain stack has them: the identity leaves them out.
pub(crate) fn group(flows: &[Flow], network: &Network, defaults: bool) -> Json {
    let first = &flows[0];
    let streams = flows.iter().take_while(|flow| flow.stream_of == first.stream_of).count();
    let mut row = endpoint(&first.sender, |spec, value| defaults || spec.default != Some(value));
    row.insert("name".into(), first.group.to_string().into());
    row.insert("from".into(), ends(flows, streams, |f| f.from, network));
    row.insert("to".into(), ends(flows, streams, |f| f.to, network));
    row.insert("count".into(), (flows.len() / streams).into());
    if streams > 1 {
        row.insert("streams".into(), streams.into());
    }
    let starts = first.drawn.as_deref().copied().unwrap_or_else(|| {
        let stagger = flows.get(streams).map_or(Duration::ZERO, |second| second.start - first.start);
        Starts { start: When::At(first.start), stagger: When::At(stagger) }
    });
    row.insert("start".into(), when(starts.start));
    if starts.stagger != When::At(Duration::ZERO) {
        row.insert("stagger".into(), when(starts.stagger));
    }
    if let Some(stop) = first.stop {
        row.insert("stop".into(), duration(stop));
    }
    if let Some(rate) = first.read_rate {
        row.insert("read_rate".into(), RATE.format(rate.as_bps()).into());
    }
    if let Some(relayed) = &first.relays {
        row.insert("relays".into(), relayed.to_string().into());
    }
    if first.dscp != Dscp::DEFAULT {
        row.insert("dscp".into(), first.dscp.name().into());
    }
    if first.relays.is_none() {
        row.insert("traffic".into(), traffic(&first.traffic));
    }
    let mut receiver = endpoint(&first.receiver, |spec, value| spec.name == "mss" || value != first.sender.value(spec.name));
    // Connections over several routes can each have an mss of their own: then the route decides.
    for (table, end) in [(&mut row, (|f| &f.sender) as fn(&Flow) -> &TcpConfig), (&mut receiver, |f| &f.receiver)] {
        if flows.iter().any(|f| end(f).mss != end(first).mss) {
            table.insert("mss".into(), "auto".into());
        }
    }
    receiver.retain(|key, value| row.get(key.as_str()) != Some(value));
    if !receiver.is_empty() {
        row.insert("receiver".into(), receiver.into());
    }
    row.into()
}

fn ends(flows: &[Flow], streams: usize, end: impl Fn(&Flow) -> usize, network: &Network) -> Json {
    let name = |node: usize| network.nodes[node].name.as_str();
    let all: Vec<usize> = flows.iter().step_by(streams).map(end).collect();
    match all.iter().all(|&e| e == all[0]) {
        true => name(all[0]).into(),
        false => all.into_iter().map(name).collect(),
    }
}

/// The TCP parameters of one end: those with more than a value, and of the others those that are `said`.
fn endpoint(config: &TcpConfig, said: impl Fn(&ParamSpec, Value) -> bool) -> Table {
    let mut table = Table::new();
    for spec in PARAMS {
        let registered = match spec.name {
            "congestion_control" => {
                let control = &config.congestion_control;
                Some((control, congestion::named(control.kind).params))
            }
            "window_sizing" => {
                let sizing = &config.window_sizing;
                Some((sizing, window_sizing::named(sizing.kind).params))
            }
            _ => None,
        };
        if let Some((chosen, specs)) = registered {
            // A kind without parameters is its name alone.
            let mut json = if specs.is_empty() { chosen.kind.into() } else { choice(chosen, specs) };
            if let Some(brought) = extensions::find(chosen.kind) {
                json = choice(chosen, specs);
                json["source"] = brought.source.into();
            }
            table.insert(spec.name.into(), json);
            continue;
        }
        let value = config.value(spec.name);
        if said(spec, value) {
            table.insert(spec.name.into(), written(spec, value));
        }
    }
    table
}

fn written(spec: &ParamSpec, value: Value) -> Json {
    spec.kind.write(value).unwrap_or_else(|| "auto".into())
}

/// A resolved experiment as TOML. Reads back as the same experiment.
pub(crate) fn toml(resolved: &Json) -> String {
    print(&node(resolved))
}

fn node(json: &Json) -> Node {
    let value = match json {
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| Entry { key: key.clone(), key_span: Span::default(), node: node(value) };
            Tree::Table(tree::Table(in_order(entries).into_iter().map(entry).collect()))
        }
        Json::Array(items) => Tree::Array(items.iter().map(node).collect()),
        Json::String(text) => Tree::Text(text.clone()),
        Json::Bool(b) => Tree::Bool(*b),
        Json::Number(n) => n.as_i64().map_or_else(|| Tree::Float(n.as_f64().unwrap_or(0.0)), Tree::Integer),
        Json::Null => unreachable!("nothing resolved is null"),
    };
    Node { span: Span::default(), value }
}

/// The entries of a table in the order of the reference: names and kinds first.
fn in_order(entries: &Table) -> Vec<(&String, &Json)> {
    let mut known = vec!["kind", "preset"];
    for fields in [fields::explicit_link(), fields::host(), fields::router(), fields::flow(), fields::measure(), fields::root()] {
        known.extend(fields.iter().map(|f| f.name));
    }
    let mut rows: Vec<_> = entries.iter().collect();
    rows.sort_by_key(|(key, _)| (known.iter().position(|k| k == key).unwrap_or(known.len()), *key));
    rows
}
