//! Crowds: endpoints that send to one trunk only, by links of their hosts.
//!
//! What one of them does can matter to nobody before a packet of it has crossed that link and the trunk. So nothing is done when its
//! time comes: once for each delay of the trunk all that has come to each of them since is handed out, and each lives through that time
//! by itself, event by event, before the next does. What it is and knows is then at hand from its first event to its last, where a
//! thousand others would have come in between; and none has a place in the event set.
//!
//! What members send by a link that they share is put aside until all have lived, and goes there in the order of what set it off.
//!
//! Where a host has something that its endpoints share (a transmit queue, a processor) it is one member, a *household*: its endpoints
//! live through the time together, with an event set of their own.

use longfat_core::packet::{Line, PacketId};
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};

use super::World;
use super::hosts::Hosts;
use super::trunks::Trunk;
use crate::endpoint::Endpoint;
use crate::event_set::{Part, Tree};
use crate::link::{Link, Role};
use crate::route::{Hop, RouteTable};

/// The endpoints behind a trunk that live through time by themselves.
#[derive(Debug)]
pub struct Crowd {
    members: Vec<Member>,
    /// When each wants to be woken.
    wakes: Tree,
    /// The links by which packets come to them, in order, and when each of these next has something to do.
    sinks: Vec<u32>,
    arrivals: Tree,
    /// What one of them does takes more than that to the far end of the trunk.
    lead: Duration,
    /// Who has something to do, while that is being found out.
    busy: Vec<u32>,
}

#[derive(Debug)]
struct Member {
    who: Who,
    is_busy: bool,
    /// What has come to it.
    inbox: Line,
}

#[derive(Clone, Copy, Debug)]
enum Who {
    /// An endpoint, and the link it sends by if it shares that with others.
    Endpoint(u32, Option<u32>),
    /// Endpoints and what they share, the sources of this group of the event set.
    Household(u32),
}

/// What members that share a link have sent by it, while they live through a time.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The link; `None` while a member lives that shares none.
    link: Option<u32>,
    /// In one number, in order of size: when a burst was sent, in which turn of that time, and its place among the packets.
    bursts: Vec<u128>,
    /// The packets of burst after burst, and whether each is the last of its own.
    packets: Vec<(PacketId, bool)>,
    /// What is done at one time is done in the order of this.
    turn: u32,
}

impl Outbox {
    #[inline]
    fn put(&mut self, time: Time, id: PacketId) {
        let burst = u128::from(time.as_ps()) << 64 | u128::from(self.turn) << 32;
        if self.bursts.last().is_some_and(|last| last >> 32 == burst >> 32) {
            self.packets.last_mut().expect("a burst has a packet").1 = false;
        } else {
            self.bursts.push(burst | self.packets.len() as u128);
        }
        self.packets.push((id, true));
    }
}

/// So many full packets of the trunk fit into the longest time that is lived through at once: what is put aside takes memory.
const MOST: u64 = 32_768;

impl Crowd {
    fn new(members: Vec<Who>, sinks: Vec<u32>, lead: Duration) -> Self {
        let (wakes, arrivals) = (Tree::new(members.len()), Tree::new(sinks.len()));
        let members = members.into_iter().map(|who| Member { who, is_busy: false, inbox: Line::new() }).collect();
        Crowd { members, wakes, sinks, arrivals, lead, busy: Vec::new() }
    }

    /// Nobody.
    pub fn none() -> Self {
        Crowd::new(Vec::new(), Vec::new(), Duration::ZERO)
    }

    /// When the next of them has something to do, as far as is known.
    #[inline]
    fn next(&self) -> Time {
        self.wakes.first().0.min(self.arrivals.first().0)
    }

    /// When that has to have been done.
    #[inline]
    pub fn due(&self) -> Time {
        self.next().saturating_add(self.lead)
    }

    /// A sink has something to do at `time`, earlier than it had.
    #[inline]
    pub fn expect(&mut self, sink: u32, time: Time) {
        self.arrivals.set(sink as usize, time, 0);
    }

    #[inline]
    fn call(&mut self, member: u32) {
        if !std::mem::replace(&mut self.members[member as usize].is_busy, true) {
            self.busy.push(member);
        }
    }
}

/// Makes a crowd of the endpoints behind each of `trunks` that can be in one, and says in `parts` where each source of events that is
/// no link has them from here on. Which member of its crowd each endpoint is.
///
/// Those of a host can if all that it sends goes by one link, and all that comes to it by another.
pub fn join(
    links: &mut [Link],
    table: &RouteTable,
    endpoints: &mut [Endpoint],
    hosts: &Hosts,
    trunks: &mut [Trunk],
    parts: &mut [Part],
) -> Vec<u32> {
    let mut users = vec![[Vec::new(), Vec::new()]; links.len()];
    let last_links = table.last_links();
    for (i, (&(first, _), last)) in table.starts.iter().zip(&last_links).enumerate() {
        users[first as usize][0].push(i as u32);
        if let Some(last) = last {
            users[*last as usize][1].push(i as u32);
        }
    }
    let (mut member_of, mut households) = (vec![u32::MAX; endpoints.len()], 0);
    for (number, trunk) in trunks.iter_mut().enumerate() {
        let (mut members, mut sinks, mut lead) = (Vec::new(), Vec::new(), Duration::MAX);
        for &source in trunk.sources() {
            let senders = &users[source as usize][0];
            let Some(sink) = last_links[senders[0] as usize] else { continue };
            let link = &mut links[sink as usize];
            let Some(shared) = hosts.shared_by(senders, endpoints) else { continue };
            if users[sink as usize][1] != *senders || link.role != Role::Alone || !link.takes_time() {
                continue;
            }
            link.role = Role::Sink { trunk: number as u32, sink: sinks.len() as u32 };
            sinks.push(sink);
            lead = lead.min(links[source as usize].delay());
            if senders.iter().any(|endpoint| endpoints[*endpoint as usize].on_host) {
                for endpoint in senders {
                    member_of[*endpoint as usize] = members.len() as u32;
                    parts[*endpoint as usize] = Part::Apart(households);
                }
                shared.into_iter().for_each(|part| parts[endpoints.len() + part] = Part::Apart(households));
                members.push(Who::Household(households));
                households += 1;
                continue;
            }
            let shared = (senders.len() > 1).then_some(source);
            for endpoint in senders {
                endpoints[*endpoint as usize].is_alone = true;
                parts[*endpoint as usize] = Part::Nowhere;
                member_of[*endpoint as usize] = members.len() as u32;
                members.push(Who::Endpoint(*endpoint, shared));
            }
        }
        if !members.is_empty() {
            let lead = (lead + links[trunk.link].delay()).min(links[trunk.link].time_of(MOST));
            trunk.crowd = Crowd::new(members, sinks, lead);
        }
    }
    member_of
}

impl World {
    /// Everybody lives up to and including now.
    pub(super) fn live_all(&mut self) {
        (0..self.trunks.len()).for_each(|trunk| self.cross(trunk));
    }

    /// Each of the crowd behind the trunk `number` lives up to and including now.
    pub(super) fn live(&mut self, number: usize) {
        if self.trunks[number].crowd.next() > self.now {
            return;
        }
        self.hand_out(number);
        let until = self.now;
        let mut busy = std::mem::take(&mut self.trunks[number].crowd.busy);
        // Side by side in memory, if it can be had, and those that share a link one after the other.
        busy.sort_unstable();
        for member in busy.drain(..) {
            self.let_live(number, member as usize, until);
        }
        self.trunks[number].crowd.busy = busy;
        self.now = until;
        self.post_for(None);
    }

    /// What has come to the crowd goes to whom it is for.
    fn hand_out(&mut self, number: usize) {
        let World { trunks, links, packets, ledger, hops, member_of, now, .. } = self;
        let crowd = &mut trunks[number].crowd;
        while let (time, member) = crowd.wakes.first()
            && time <= *now
        {
            crowd.wakes.go_on(member, Time::MAX, 0);
            crowd.call(member as u32);
        }
        while let (time, sink) = crowd.arrivals.first()
            && time <= *now
        {
            let number = crowd.sinks[sink];
            let link = &mut links[number as usize];
            loop {
                let time = link.next_event();
                if time > *now {
                    break;
                }
                let Some(id) = link.arrival(time, packets, ledger) else { continue };
                if packets[id].corrupted {
                    link.count.drops[DropReason::Corrupted as usize] += 1;
                    ledger.dropped(time, id, packets, DropReason::Corrupted, number);
                    packets.remove(id);
                    continue;
                }
                let Hop::Endpoint(endpoint) = hops.at(packets[id].route) else { panic!("a packet came to a host that is not its end") };
                let member = member_of[endpoint as usize];
                crowd.members[member as usize].inbox.push(id, packets);
                crowd.call(member);
            }
            link.scheduled = link.next_event();
            crowd.arrivals.go_on(sink, link.scheduled, 0);
        }
    }

    /// A member of the crowd behind the trunk `number` lives up to and including `until`.
    fn let_live(&mut self, number: usize, member: usize, until: Time) {
        let Member { who, is_busy, inbox } = &mut self.trunks[number].crowd.members[member];
        *is_busy = false;
        let (who, inbox) = (*who, std::mem::take(inbox));
        let wakes = match who {
            Who::Endpoint(endpoint, shared) => {
                self.post_for(shared);
                self.live_as_endpoint(endpoint as usize, inbox, until)
            }
            Who::Household(group) => {
                self.post_for(None);
                self.live_as_household(group, inbox, until)
            }
        };
        self.trunks[number].crowd.wakes.set(member, wakes, 0);
    }

    /// When it wants to be woken after that.
    fn live_as_endpoint(&mut self, endpoint: usize, mut inbox: Line, until: Time) -> Time {
        loop {
            let arrives = inbox.first().map_or(Time::MAX, |id| self.packets[id].stamp);
            let wakes = self.endpoints[endpoint].wake;
            self.now = arrives.min(wakes);
            if self.now > until {
                return wakes;
            }
            self.steps += 1;
            // What comes by a link is first, as in the event set. No two come to a host by one link at one time.
            if arrives <= wakes {
                self.outbox.turn = 0;
                let id = inbox.pop(&self.packets).expect("there is a first");
                self.receive(endpoint, id);
                self.attend(endpoint);
            } else {
                self.outbox.turn = endpoint as u32 + 1;
                self.wake(endpoint);
            }
        }
    }

    /// The same for a household.
    fn live_as_household(&mut self, group: u32, mut inbox: Line, until: Time) -> Time {
        loop {
            let arrives = inbox.first().map_or(Time::MAX, |id| self.packets[id].stamp);
            let (wakes, source) = self.events.first_apart(group);
            self.now = arrives.min(wakes);
            if self.now > until {
                return wakes;
            }
            self.steps += 1;
            if arrives <= wakes {
                let id = inbox.pop(&self.packets).expect("there is a first");
                let Hop::Endpoint(endpoint) = self.hops.at(self.packets[id].route) else { panic!("handed out to an endpoint") };
                self.arrive(endpoint as usize, id);
            } else {
                self.source_event(source - self.links.len());
            }
        }
    }

    /// An endpoint that lives by itself sends the packet `id` by `link`.
    #[inline]
    pub(super) fn post(&mut self, link: usize, id: PacketId) {
        match self.outbox.link {
            Some(_) => self.outbox.put(self.now, id),
            None => self.offer(link, id),
        }
    }

    /// From here on a member lives that shares `link`: what others have sent by another one goes there.
    fn post_for(&mut self, link: Option<u32>) {
        let World { outbox, links, packets, ledger, .. } = self;
        if outbox.link == link {
            return;
        }
        let Some(before) = std::mem::replace(&mut outbox.link, link) else { return };
        let link = &mut links[before as usize];
        outbox.bursts.sort_unstable();
        for burst in outbox.bursts.drain(..) {
            let time = Time::from_ps((burst >> 64) as u64);
            for (id, is_last) in &outbox.packets[burst as u32 as usize..] {
                link.offer(time, *id, packets, ledger);
                if *is_last {
                    break;
                }
            }
        }
        outbox.packets.clear();
        self.reschedule(before as usize);
    }

    /// At the start: the trunk `number` is looked at when its crowd first does something that may matter.
    pub(super) fn wait_for_crowd(&mut self, number: usize) {
        let crowd = &mut self.trunks[number].crowd;
        if crowd.members.is_empty() {
            return;
        }
        for (i, member) in crowd.members.iter().enumerate() {
            let wakes = match member.who {
                Who::Endpoint(endpoint, _) => self.endpoints[endpoint as usize].wake,
                Who::Household(group) => self.events.first_apart(group).0,
            };
            crowd.wakes.set(i, wakes, 0);
        }
        self.hasten(number);
    }

    /// Links that lead to members of crowds have more to do than they had.
    pub(super) fn note_stirred(&mut self) {
        while let Some(number) = self.stirred.pop() {
            let Role::Sink { trunk, sink } = self.links[number as usize].role else { panic!("a link was stirred that leads to no crowd") };
            let next = self.links[number as usize].scheduled;
            self.trunks[trunk as usize].crowd.expect(sink, next);
            self.hasten(trunk as usize);
        }
    }
}
