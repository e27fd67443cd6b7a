//! Hosts of today: transmit queues in which each connection has little, and interfaces that hand over at once what has come in a while.

use longfat_core::packet::PacketId;
use longfat_core::time::Time;

use super::World;
use super::parts::Source;
use crate::stage::host::interface::Clump;

impl World {
    /// The endpoint sends the packet `id` by its first link, where small queues may be kept.
    pub(super) fn post_in_turn(&mut self, number: usize, id: PacketId) {
        let Some(place) = self.endpoints[number].nic() else { return self.post(number, id) };
        let (link, bytes) = (self.hosts.nics[place].link as usize, self.packets[id].ip_len());
        let dropped = self.links[link].count.queue_drops();
        self.post(number, id);
        let has_joined = self.links[link].count.queue_drops() == dropped;
        if has_joined && self.hosts.nics[place].joined(number as u32, bytes) {
            self.endpoints[number].joined(bytes);
        }
    }

    /// What has left the transmit queue by now, to which its link has been advanced, is no longer in it.
    pub(super) fn shrink(&mut self, place: usize) {
        let nic = &mut self.hosts.nics[place];
        let backlog = self.links[nic.link as usize].count.backlog;
        while let Some((number, bytes)) = nic.left(backlog) {
            let endpoint = &mut self.endpoints[number as usize];
            endpoint.left(bytes);
            if endpoint.waits_for_own(false) {
                nic.wait_for_own -= 1;
                nic.ready.push_back(number);
            }
        }
    }

    /// Those whose part of the transmit queue has become smaller have their turn.
    pub(super) fn resume(&mut self, place: usize) {
        for _ in 0..self.hosts.nics[place].ready.len() {
            let number = self.hosts.nics[place].ready.pop_front().expect("there are so many");
            self.attend_on_host(number as usize);
        }
    }

    /// When somebody who waits for the transmit queue is to have a turn.
    pub(super) fn set_nic(&mut self, place: usize) {
        let nic = &self.hosts.nics[place];
        let at = match (nic.ready.is_empty(), nic.is_awaited()) {
            (false, _) => self.now,
            (true, true) => self.links[nic.link as usize].next_start(),
            (true, false) => Time::MAX,
        };
        self.set_source(Source::Nic(place), at);
    }

    /// An interface interrupts: all that waits there comes to TCP, one after the other or in clumps.
    pub(super) fn interface_event(&mut self, interface: usize) {
        let mut ring = self.hosts.interfaces[interface].take();
        let most = self.hosts.interfaces[interface].gro_max_size();
        // The last clump of each endpoint, which has not been answered.
        let mut open: Vec<Clump> = Vec::new();
        for id in ring.drain(..) {
            let number = self.ledger.receiver(&self.packets[id]);
            if !self.admits(number, id) {
                continue;
            }
            if let Some(most) = most {
                let (packet, segment) = (&self.packets[id], self.packets.segment(id));
                match open.iter_mut().find(|clump| clump.endpoint == number) {
                    None => open.push(Clump::new(number, packet, segment)),
                    Some(clump) => {
                        if !clump.takes(packet, segment, most) {
                            *clump = Clump::new(number, packet, segment);
                            self.attend_on_host(number);
                        }
                    }
                }
            }
            self.receive(number, id);
            if most.is_none() {
                self.attend_on_host(number);
            }
        }
        open.iter().for_each(|clump| self.attend_on_host(clump.endpoint));
        self.hosts.interfaces[interface].give_back(ring);
        self.set_interface(interface);
    }

    pub(super) fn set_interface(&mut self, interface: usize) {
        self.set_source(Source::Interface(interface), self.hosts.interfaces[interface].next());
    }
}
