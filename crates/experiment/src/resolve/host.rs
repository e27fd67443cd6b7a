//! The hosts: their transmit queues, processors, overheads and memory.

use super::network::Plan;
use super::offload::Profile;
use super::{flow, offload};
use crate::error::Fault;
use crate::fields;
use crate::view::View;
use longfat_core::link::Shaper;
use longfat_core::params::Value;
use longfat_core::units::text::SIZE;
use longfat_model::{Backlog, Cpu, Cycles, Flow, Host, Intake, Memory, Nic, OnFull};
use longfat_tcp::TcpConfig;
use std::collections::{BTreeMap, BTreeSet};

/// Names of the costs of a processor's work.
const COSTS: [&str; 4] = ["send_packet", "send_byte", "receive_packet", "receive_byte"];

/// Names of fields that only a processor has.
const BACKLOG: [&str; 2] = ["netdev_max_backlog", "on_backlog_full"];

/// Returns every host that the file describes, in the order of the network.
pub(super) fn hosts(file: &View<'_>, plan: &Plan<'_>, flows: &[Flow]) -> Result<Vec<Host>, Fault> {
    let mut hosts: Vec<Host> = Vec::new();
    let mut described = BTreeSet::new();
    let connections = connections(flows);
    for at in file.items("host") {
        let view = View::new(at, fields::host());
        let profile = offload::profile(&view)?;
        let (nic, cpu, overhead) = (nic(&view, profile)?, cpu(&view)?, view.duration("overhead")?);
        let (memory, shaper) = (memory(&view)?, shaper(&view)?);
        for (name, is_said) in [("cpu", cpu.is_some()), ("overhead", overhead.is_some())] {
            if is_said {
                offload::goes_alone(&view, name)?;
            }
        }
        let offload = offload::offload(&view, profile, nic)?;
        let interrupts = if cpu.is_none() { offload::interrupts(&view, profile)? } else { None };
        let says_nothing = nic.is_none() && cpu.is_none() && overhead.is_none() && memory.is_none() && shaper.is_none();
        if says_nothing && offload.is_none() && interrupts.is_none() {
            let fault = view.fault("name", "nothing is said of this host");
            return Err(fault.expected("profile, txqueuelen, gso_max_size, rx_usecs, cpu, overhead, shape_rate or memory"));
        }
        if overhead.is_some() && (nic.is_some() || cpu.is_some() || interrupts.is_some()) {
            let fault =
                view.fault("overhead", "a random overhead stands for what a host does to packets, and this host says more exactly what");
            return Err(fault.expected("either overhead, or txqueuelen, cpu and rx_usecs"));
        }
        for node in flow::hosts(&view, "name", "left", plan)? {
            if !described.insert(node) {
                let name = &plan.network.nodes[node].name;
                return Err(view.fault("name", format!("host `{name}` is described twice")).help("say all of it in one table"));
            }
            if let Some(memory) = memory {
                let ends = connections.get(&node).map_or(&[][..], Vec::as_slice);
                holds_the_least(&view, memory, &plan.network.nodes[node].name, ends)?;
            }
            hosts.push(Host { node, nic, cpu, overhead, memory, shaper, offload, interrupts, relays: false });
        }
    }
    for node in flows.iter().filter(|flow| flow.relays.is_some()).map(|flow| flow.from) {
        match hosts.iter_mut().find(|host| host.node == node) {
            Some(host) => host.relays = true,
            None => hosts.push(Host { relays: true, ..Host::new(node) }),
        }
    }
    hosts.sort_by_key(|host| host.node);
    Ok(hosts)
}

fn memory(view: &View<'_>) -> Result<Option<Memory>, Fault> {
    let least = view.integer("memory_min")?;
    match view.integer("memory")? {
        Some(bytes) => Ok(Some(Memory { bytes, least })),
        None if least.is_some() => {
            let fault = view.fault("memory_min", "of memory that has room for all, nobody needs a minimum");
            Err(fault.expected("a memory beside it, such as memory = \"256 MiB\""))
        }
        None => Ok(None),
    }
}

/// Returns the ends of connections at each node.
fn connections(flows: &[Flow]) -> BTreeMap<usize, Vec<&TcpConfig>> {
    let mut ends: BTreeMap<usize, Vec<&TcpConfig>> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow.traffic.is_tcp()) {
        ends.entry(flow.from).or_default().push(&flow.sender);
        ends.entry(flow.to).or_default().push(&flow.receiver);
    }
    ends
}

/// Checks that each connection of the host has its minimum, and that this is a segment.
fn holds_the_least(view: &View<'_>, memory: Memory, name: &str, ends: &[&TcpConfig]) -> Result<(), Fault> {
    let (mut count, mut needed) = (0_u64, 0_u64);
    for tcp in ends {
        let least = memory.least(tcp);
        if least < u64::from(tcp.mss) {
            let fault = view.fault("memory_min", format!("a connection of `{name}` would stand still with less than one segment"));
            return Err(fault.expected(format!("at least {}, the mss", SIZE.format(tcp.mss.into()))));
        }
        count += 1;
        needed = needed.saturating_add(2 * least);
    }
    if needed > memory.bytes {
        let fault = view.fault("memory", format!("the memory of `{name}` is smaller than the minimum of its {count} connections"));
        return Err(fault.expected(format!("at least {} (memory_min each way for each)", SIZE.format(needed))));
    }
    Ok(())
}

fn nic(view: &View<'_>, profile: Option<&Profile>) -> Result<Option<Nic>, Fault> {
    let Some(txqueuelen) = view.integer("txqueuelen")?.or(profile.map(|profile| profile.txqueuelen)) else {
        return match view.get("on_full") {
            Some(_) => Err(view.fault("on_full", "a queue that has room for all is never full").expected("a txqueuelen beside it")),
            None => Ok(None),
        };
    };
    let on_full = match view.word("on_full")? {
        Some("wait") => OnFull::Wait,
        Some("drop") => OnFull::Drop,
        _ if profile.is_some() && view.get("on_full").is_none() => OnFull::Wait,
        _ => OnFull::Stall,
    };
    Ok(Some(Nic { txqueuelen, on_full }))
}

fn shaper(view: &View<'_>) -> Result<Option<Shaper>, Fault> {
    let Value::Rate(rate) = view.value("shape_rate")? else {
        return match view.get("shape_burst") {
            Some(_) => Err(view.fault("shape_burst", "without a rate nothing holds a packet back").expected("a shape_rate beside it")),
            None => Ok(None),
        };
    };
    Ok(Some(Shaper { rate, burst: view.integer("shape_burst")?.unwrap_or(0) }))
}

fn cpu(view: &View<'_>) -> Result<Option<Cpu>, Fault> {
    let cycles = |packet, byte| -> Result<Cycles, Fault> {
        Ok(Cycles { packet: view.integer(packet)?.unwrap_or(0), byte: view.number(byte)?.unwrap_or(0.0) })
    };
    let (send, receive) = (cycles(COSTS[0], COSTS[1])?, cycles(COSTS[2], COSTS[3])?);
    let intake = intake(view)?;
    let Some(mhz) = view.integer("cpu")? else {
        let given = |names: &[&'static str]| names.iter().copied().find(|name| view.get(name).is_some());
        let (name, why) = match (given(&COSTS), given(&BACKLOG)) {
            (Some(cost), _) => (cost, "cycles take time only on a processor"),
            (None, Some(key)) => (key, "packets wait only for a processor"),
            (None, None) => return Ok(None),
        };
        return Err(view.fault(name, why).expected("a cpu beside it, such as cpu = \"3060 MHz\""));
    };
    let free = |cycles: Cycles| cycles.packet == 0 && cycles.byte == 0.0;
    if free(send) && free(receive) {
        return Err(view.fault("cpu", "nothing costs this processor any time").expected(format!("one of {}", COSTS.join(", "))));
    }
    Ok(Some(Cpu { mhz, send, receive, intake }))
}

fn intake(view: &View<'_>) -> Result<Intake, Fault> {
    let throttles = view.word("on_backlog_full")? == Some("throttle");
    let backlog = view.integer("netdev_max_backlog")?.map(|max| Backlog { max, throttles });
    if backlog.is_none() && view.get("on_backlog_full").is_some() {
        let fault = view.fault("on_backlog_full", "without a backlog the processor takes packets from the ring itself");
        return Err(fault.expected("a netdev_max_backlog beside it, such as netdev_max_backlog = \"300 packets\""));
    }
    let (rx_ring, rx_frames) = (view.integer("rx_ring")?, view.integer("rx_frames")?);
    if let (Some(ring), Some(frames)) = (rx_ring, rx_frames)
        && frames > ring
    {
        let fault = view.fault("rx_frames", "so many packets never wait: the ring is full before");
        return Err(fault.expected(format!("at most {ring} packets, the rx_ring")));
    }
    let rx_usecs = view.duration("rx_usecs")?.unwrap_or_default();
    Ok(Intake { rx_ring, rx_usecs, rx_frames, backlog })
}
