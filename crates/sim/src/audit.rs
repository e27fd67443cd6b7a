//! The audit: at the end of every run, every packet and byte is accounted for, by link and by flow. A wrong sum is a
//! defect of the simulator, so it panics, in release as well.

use longfat_core::packet::{Packet, PacketId, Packets};
use longfat_core::queue::{DropReason, QueueLog};
use longfat_core::time::Time;

use crate::engine::world::World;
use crate::ledger::Tally;
use crate::stage::Stage;
use crate::stage::host::Host;
use crate::stage::port::OutputPort;

/// Census of the packets still in the network, by flow.
pub(crate) struct Census<'a> {
    origin: &'a [u32],
    remaining: Vec<Tally>,
}

impl Census<'_> {
    /// Adds a packet.
    pub(crate) fn add(&mut self, packet: &Packet) {
        let flow = self.origin[packet.route as usize] / 2;
        self.remaining[flow as usize].add(packet.ip_len());
    }
}

/// Packets that a link still holds at the end count as dropped by it.
impl QueueLog for Census<'_> {
    fn dropped(&mut self, _now: Time, id: PacketId, packets: &Packets, _reason: DropReason) {
        self.add(&packets[id]);
    }
    fn marked(&mut self, _now: Time, _id: PacketId, _packets: &Packets) {}
}

/// Checks `world`, whose links have been advanced to now, and empties its links.
pub(crate) fn audit(world: &mut World) {
    for stage in &world.stages {
        match stage {
            Stage::Host(host) => host.audit(),
            Stage::Router(router) => router.audit(),
            Stage::Link(_) | Stage::Port(_) | Stage::Endpoint(_) => {}
        }
    }
    // Queued + on wires: both sides count the packets, the links by what they hold and the pool by its slots.
    let on_wires = world.on_wires();
    let held: u64 = world.links().zip(&on_wires).map(|(link, on_wire)| link.queue_holds().0 + on_wire).sum();
    let on_hosts: Vec<PacketId> = world.hosts().flat_map(Host::holds).collect();
    let ports = (0..on_wires.len()).filter_map(|link| world.port(link));
    let in_cells: Vec<(PacketId, u32, bool)> = ports.flat_map(OutputPort::unfinished).collect();
    let kept = held as usize + on_hosts.len() + in_cells.len();
    assert_eq!(world.context.packets.len(), kept, "packets kept = queued + in flight + on hosts + in switches");
    let origin = world.context.ledger.origin().to_vec();
    let mut census = Census { origin: &origin, remaining: vec![Tally::default(); world.context.flows.len()] };
    for (i, link) in world.links().enumerate() {
        let count = &link.count;
        let (packets_in, dropped, queued) = match world.port(i) {
            None => (count.packets_in, count.queue_drops(), count.backlog),
            Some(port) => (port.packets_in, port.packets_lost, port.packets_queued()),
        };
        assert_eq!(packets_in, link.carried().transmitted + dropped + queued, "link {i}: packets in = transmitted + dropped + queued");
        let accounted = count.delivered + count.lost + on_wires[i];
        let carried = link.carried().transmitted + count.duplicated;
        assert_eq!(carried, accounted, "link {i}: transmitted + duplicated = delivered + lost + in flight");
        assert_eq!((count.backlog, count.backlog_bytes), link.queue_holds(), "link {i}: its queue holds what came and did not leave");
    }
    let now = world.now();
    for carrier in world.stages.iter_mut().flat_map(Stage::carriers_mut) {
        carrier.link.empty(now, &mut world.context.packets, &mut census);
    }
    for id in world.take_on_way().into_iter().chain(on_hosts) {
        census.add(&world.context.packets[id]);
        world.context.packets.remove(id);
    }
    // Packets that a switch has dropped a cell of are lost and counted, even where other cells of them are still on their way.
    for (id, route, is_lost) in in_cells {
        world.context.packets[id].route = route;
        if !is_lost {
            census.add(&world.context.packets[id]);
        }
        world.context.packets.remove(id);
    }
    let in_network: u64 = census.remaining.iter().map(|tally| tally.packets).sum();
    assert_eq!(world.context.ledger.in_network(), in_network, "packets in the network");
    assert!(world.context.packets.is_empty(), "{} packets are kept, and in no link", world.context.packets.len());
    for i in 0..world.context.flows.len() {
        let pair = [2 * i, 2 * i + 1].map(|number| world.endpoint(number));
        let sum = |tallies: &[Tally]| (tallies.iter().map(|t| t.packets).sum::<u64>(), tallies.iter().map(|t| t.bytes).sum::<u64>());
        let sent = sum(&[pair[0].outgoing.sent, pair[1].outgoing.sent, world.context.ledger.duplicated_of(i)]);
        let accounted = sum(&[pair[0].delivered, pair[1].delivered, world.context.ledger.dropped_of(i), census.remaining[i]]);
        assert_eq!(sent, accounted, "flow {i}: (packets, bytes) sent + duplicated = delivered + dropped + in the network");
    }
}
