//! Endpoints on hosts of which something is said: what they send has to find room in the transmit queue, what they send and
//! receive takes the processor's time, or what they send is held for a while; what they hold takes memory; or the application takes
//! its time to read. Endpoints on other hosts never come here.

use longfat_core::packet::{Ecn, PacketId};
use longfat_core::queue::DropReason;

use super::World;
use super::ends::{Cause, way_of};
use super::parts::Source;
use crate::ledger::LinkLog;
use crate::stage::endpoint::Agent;
use crate::stage::host::processor::{Job, Next};

impl World {
    /// After anything that happened at an endpoint of such a host.
    #[inline(never)]
    pub(super) fn attend_on_host(&mut self, number: usize) {
        self.endpoints[number].read(self.now);
        self.set_alarm(number);
        if let Some(milestone) = self.endpoints[number].reached() {
            self.note_milestone(number, milestone);
        }
        if self.endpoints[number].memory().is_some() {
            self.provide(number);
        }
        match self.endpoints[number].processor() {
            Some(processor) => {
                self.account(number);
                self.ask(processor, number);
                self.serve(processor);
            }
            None => {
                while !self.endpoints[number].agent.is_silent(self.now)
                    && let Some(id) = self.poll_at_nic(number)
                {
                    self.send(number, id);
                }
                self.settle_on_host(number);
            }
        }
    }

    /// The endpoint has nothing more to send for now.
    #[inline]
    fn settle_on_host(&mut self, number: usize) {
        self.settle(number);
        if self.endpoints[number].memory().is_some() {
            self.account(number);
        }
    }

    /// Counts what the endpoint has of its host's memory, if that is bounded.
    fn account(&mut self, number: usize) {
        if let (Some((pool, share)), Agent::Tcp(tcp)) = (self.endpoints[number].memory(), &self.endpoints[number].agent) {
            self.hosts.pools[pool].account(self.now, share, tcp);
        }
    }

    /// Sets aside what the endpoint asks for of its host's memory, if that is bounded. Whether it has more than before.
    fn provide(&mut self, number: usize) -> bool {
        let endpoint = &mut self.endpoints[number];
        let (Some((pool, share)), Agent::Tcp(tcp)) = (endpoint.memory(), &mut endpoint.agent) else { return false };
        self.hosts.pools[pool].provide(share, tcp)
    }

    /// The memories whose time has come look at all their connections. Every stage has come to now.
    pub(super) fn look(&mut self) {
        self.cause = Cause::Timer;
        for pool in 0..self.hosts.pools.len() {
            if self.hosts.pools[pool].next_look() <= self.now {
                self.look_at(pool);
            }
        }
        self.settle_islands();
    }

    fn look_at(&mut self, pool: usize) {
        let endpoints = &self.endpoints;
        let tcp = |number: u32| match &endpoints[number as usize].agent {
            Agent::Tcp(tcp) => tcp,
            _ => panic!("memory is for TCP"),
        };
        let changed = self.hosts.pools[pool].look(self.now, tcp);
        let had_more: Vec<bool> = changed.iter().map(|number| self.provide(*number as usize)).collect();
        // Once more: by now those have given up what they will that come later.
        for (number, had_more) in changed.into_iter().map(|number| number as usize).zip(had_more) {
            let has_more = self.provide(number) || had_more;
            if has_more && !self.endpoints[number].is_yet_to_start() {
                self.attend_on_host(number);
            } else {
                self.account(number);
            }
        }
    }

    /// Whether the host has memory for the packet `id`. If not, it is lost.
    pub(super) fn admits(&mut self, number: usize, id: PacketId) -> bool {
        let endpoint = &self.endpoints[number];
        let (Some((pool, share)), Agent::Tcp(tcp)) = (endpoint.memory(), &endpoint.agent) else { return true };
        let pool = &mut self.hosts.pools[pool];
        if pool.has_room_for(share, tcp, self.packets.segment(id), endpoint.would_read(self.now)) {
            return true;
        }
        self.lose(id, DropReason::NoMemory);
        false
    }

    /// A packet has come to such an endpoint.
    #[inline(never)]
    pub(super) fn arrive_on_host(&mut self, number: usize, id: PacketId) {
        if let Some(processor) = self.endpoints[number].processor() {
            self.hosts.processors[processor].arrived(self.now, id);
            self.lose_overrun(processor);
            self.serve(processor);
        } else if let Some(interface) = self.endpoints[number].interface() {
            if !self.hosts.interfaces[interface].arrived(self.now, id) {
                self.lose(id, DropReason::Overrun);
            }
            self.set_interface(interface);
        } else if self.endpoints[number].memory().is_none() || self.admits(number, id) {
            self.receive(number, id);
            self.attend_on_host(number);
        }
    }

    /// The event of `source` has come.
    #[cold]
    pub(super) fn host_event(&mut self, source: Source) {
        match source {
            Source::Nic(number) => self.nic_event(number),
            Source::Processor(number) => self.processor_event(number),
            Source::Overhead(number) => self.overhead_event(number),
            Source::Interface(number) => self.interface_event(number),
        }
    }

    /// The packet `id` of an endpoint goes to its first link, at once or after a while.
    fn send(&mut self, number: usize, id: PacketId) {
        let endpoint = &self.endpoints[number];
        match endpoint.overhead() {
            None => self.post_in_turn(number, id),
            Some(overhead) => {
                self.hosts.overheads[overhead].hold(self.now, id, endpoint.first_link);
                self.set_overhead(overhead);
            }
        }
    }

    /// Packets that were held go now.
    fn overhead_event(&mut self, overhead: usize) {
        while let Some((id, link)) = self.hosts.overheads[overhead].take(self.now) {
            self.offer(link as usize, id);
        }
        self.set_overhead(overhead);
    }

    fn set_overhead(&mut self, overhead: usize) {
        self.set_source(Source::Overhead(overhead), self.hosts.overheads[overhead].next());
    }

    /// The next packet the endpoint sends, if there is room for it.
    fn poll_at_nic(&mut self, number: usize) -> Option<PacketId> {
        let id = self.packets.vacant(way_of(number));
        let ecn = self.poll_into(number, id)?;
        self.enter(number, id, ecn);
        Some(id)
    }

    /// The same, written to the vacant slot `id`.
    fn poll_into(&mut self, number: usize, id: PacketId) -> Option<Ecn> {
        let Some(place) = self.endpoints[number].nic() else { return self.poll_free(number, id) };
        let link = self.hosts.nics[place].link;
        self.links[link as usize].advance(self.now, &mut self.packets, &mut LinkLog { link, ledger: &mut self.ledger });
        self.shrink(place);
        let endpoint = &mut self.endpoints[number];
        let bursts = endpoint.bursts();
        let Agent::Tcp(tcp) = &mut endpoint.agent else { return self.poll_free(number, id) };
        let nic = &mut self.hosts.nics[place];
        let has_room = nic.has_room_for(number as u32, self.links[link as usize].count.backlog);
        match bursts {
            None => tcp.set_room(has_room),
            Some((offload, queued)) => tcp.set_room_for_bursts(&offload, has_room, queued),
        }
        let polled = tcp.poll_transmit_into(self.now, self.packets.segment_mut(id));
        if tcp.wants_room() && has_room {
            // It is its own part of the queue that must become smaller.
            nic.wait_for_own += usize::from(endpoint.waits_for_own(true));
            self.set_nic(place);
        } else if tcp.wants_room() {
            if nic.stalls {
                tcp.local_congestion(self.now);
            }
            // Linux 2.4 tries again when an ACK comes; where none can, or where TCP merely waits, once there is room.
            let waits = !nic.stalls || tcp.info().in_flight == 0;
            if waits && !endpoint.is_waiting {
                endpoint.is_waiting = true;
                nic.waiting.push_back(number as u32);
                self.set_nic(place);
            }
        }
        polled
    }

    /// The same where there is room for all.
    fn poll_free(&mut self, number: usize, id: PacketId) -> Option<Ecn> {
        let endpoint = &mut self.endpoints[number];
        let bursts = endpoint.bursts();
        if let (Some((offload, _)), Agent::Tcp(tcp)) = (bursts, &mut endpoint.agent) {
            tcp.set_room_for_bursts(&offload, true, 0);
        }
        endpoint.agent.poll_transmit(self.now, self.packets.segment_mut(id))
    }

    /// A packet has left the transmit queue: those that wait for room have their turn.
    fn nic_event(&mut self, place: usize) {
        let link = self.hosts.nics[place].link as usize;
        let has_room = |world: &mut World| {
            let mut log = LinkLog { link: link as u32, ledger: &mut world.ledger };
            world.links[link].advance(world.now, &mut world.packets, &mut log);
            world.hosts.nics[place].has_room(world.links[link].count.backlog)
        };
        has_room(self);
        self.shrink(place);
        self.resume(place);
        while has_room(self) {
            let Some(number) = self.hosts.nics[place].waiting.pop_front() else { break };
            self.endpoints[number as usize].is_waiting = false;
            self.hosts.nics[place].turn = Some(number);
            self.attend_on_host(number as usize);
        }
        self.set_nic(place);
    }

    /// The endpoint may have something to send.
    fn ask(&mut self, processor: usize, number: usize) {
        let endpoint = &mut self.endpoints[number];
        if !endpoint.is_asking {
            endpoint.is_asking = true;
            self.hosts.processors[processor].ask(number as u32);
        }
    }

    /// An idle processor takes the next thing to do.
    fn serve(&mut self, processor: usize) {
        while let Some(next) = self.hosts.processors[processor].next() {
            match next {
                Next::Ask(number) => {
                    let number = number as usize;
                    self.endpoints[number].is_asking = false;
                    // Its timers may have gone off while it waited.
                    self.endpoints[number].handle_time(self.now);
                    self.set_alarm(number);
                    self.provide(number);
                    let polled = self.poll_at_nic(number);
                    self.account(number);
                    let Some(id) = polled else {
                        self.settle(number);
                        continue;
                    };
                    let job = Job::Send(id, self.endpoints[number].first_link);
                    self.hosts.processors[processor].begin(self.now, job, self.packets[id].ip_len());
                    self.ask(processor, number);
                }
                Next::Receive(id) => {
                    let len = self.packets[id].ip_len();
                    self.hosts.processors[processor].begin(self.now, Job::Receive(id), len);
                }
            }
        }
        self.set_source(Source::Processor(processor), self.hosts.processors[processor].wakes());
    }

    /// What the host could not keep up with is lost.
    fn lose_overrun(&mut self, processor: usize) {
        while let Some(id) = self.hosts.processors[processor].take_overrun() {
            self.lose(id, DropReason::Overrun);
        }
    }

    /// A processor is done with a packet, or is interrupted.
    fn processor_event(&mut self, processor: usize) {
        let job = self.hosts.processors[processor].wake(self.now);
        self.lose_overrun(processor);
        match job {
            None => {}
            Some(Job::Send(id, link)) => self.offer(link as usize, id),
            Some(Job::Receive(id)) => {
                let number = self.ledger.receiver(&self.packets[id]);
                if self.admits(number, id) {
                    self.receive(number, id);
                    return self.attend_on_host(number);
                }
            }
        }
        self.serve(processor);
    }
}
