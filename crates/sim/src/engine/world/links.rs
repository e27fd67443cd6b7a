//! Links as stages: what has come goes through the queue in order of time, and what leaves goes to the inputs of what is next.

use longfat_core::packet::PacketId;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};

use super::ends::first_from_links;
use super::parts::Source;
use super::units::NONE;
use super::{Input, Stage, World};
use crate::engine::merge::Arrival;
use crate::ledger::LinkLog;

/// Where ties between links are broken at random: the ranks of what comes by one input. Each instant has a rank of its own, drawn from the
/// input's own stream, so that it does not depend on how much is done at once.
#[derive(Debug)]
pub(super) struct Tie {
    rng: Rng,
    instant: Time,
    rank: u32,
}

impl Tie {
    pub fn new(rng: Rng) -> Self {
        Tie { rng, instant: Time::MAX, rank: 0 }
    }

    /// The rank of what comes at `instant`, below those of endpoints that wake.
    fn rank(&mut self, instant: Time) -> u32 {
        if instant != self.instant {
            (self.instant, self.rank) = (instant, (self.rng.next_u64() >> 33) as u32);
        }
        self.rank
    }
}

/// Who is told what the flow control of a queue says: a link that fills it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub link: u32,
    /// The number of the queue among those that may stop that link.
    pub sender: usize,
    /// A PAUSE frame takes so long to its transmitter: the least frame on the line back.
    pub lag: Duration,
    /// For how long it stops it.
    pub time: Duration,
}

/// Whether packets come by the input of this number from a link, and not from one of so many endpoints.
fn is_from_link(input: usize, endpoints: usize) -> bool {
    input >= first_from_links(endpoints)
}

impl World {
    /// The link lives up to and including `until`; when it next has something to do.
    pub(super) fn link_turn(&mut self, number: usize, until: Time) -> Time {
        let next = if self.waiting[number].len() == 1 && self.ties.is_empty() {
            self.take_from_one(number, until)
        } else {
            self.take_from_all(number, until)
        };
        self.advance_link_before(number, until);
        next.min(self.links[number].due())
    }

    /// Does what happens at the queue before what could still come at `until`.
    #[inline]
    pub(super) fn advance_link_before(&mut self, number: usize, until: Time) {
        let mut log = LinkLog { link: number as u32, ledger: &mut self.ledger };
        self.links[number].advance_before(until, &mut self.packets, &mut log);
        self.links[number].settle(until, &mut self.packets, &mut log);
        self.pass_on(number);
    }

    /// What comes by the one input in which packets wait; when the next one does.
    fn take_from_one(&mut self, number: usize, until: Time) -> Time {
        let World { links, inputs, waiting, packets, ledger, endpoints, .. } = self;
        let of = waiting[number][0] as usize;
        let Input { line, rank, .. } = &mut inputs[of];
        let (link, mut log) = (&mut links[number], LinkLog { link: number as u32, ledger });
        let (mut came, mut next) = (0, Time::MAX);
        while let Some(id) = line.first() {
            let now = packets[id].stamp;
            if now > until {
                next = now;
                break;
            }
            line.pop(packets);
            log.ledger.queued(now, id, packets, log.link);
            link.offer(now, id, packets, &mut log);
            came += 1;
        }
        if line.is_empty() {
            waiting[number].clear();
        }
        if is_from_link(of, endpoints.len()) {
            links[*rank as usize].count.delivered += came;
        }
        next
    }

    /// The same for several inputs.
    fn take_from_all(&mut self, number: usize, until: Time) -> Time {
        let mut waiting = std::mem::take(&mut self.waiting[number]);
        let next = self.gather(&mut waiting, until);
        self.waiting[number] = waiting;
        let World { links, packets, ledger, batch, .. } = self;
        let (link, mut log) = (&mut links[number], LinkLog { link: number as u32, ledger });
        for Arrival { time, id, .. } in batch.drain() {
            log.ledger.queued(time, id, packets, log.link);
            link.offer(time, id, packets, &mut log);
        }
        next
    }

    /// Puts into the batch what comes up to `until` by the inputs in `waiting`, of which those stay in which more waits; when that comes.
    pub(super) fn gather(&mut self, waiting: &mut Vec<u32>, until: Time) -> Time {
        let World { links, inputs, packets, ties, batch, endpoints, .. } = self;
        // Of what has time and rank in common, what comes by the first input is first, whichever began to wait first.
        waiting.sort();
        let mut next = Time::MAX;
        waiting.retain(|of| {
            let Input { line, rank, .. } = &mut inputs[*of as usize];
            let is_set_off_by_link = (*rank as usize) < links.len();
            let before = batch.len();
            while let Some(id) = line.first() {
                let now = packets[id].stamp;
                if now > until {
                    next = next.min(now);
                    break;
                }
                line.pop(packets);
                let rank = match ties.get_mut(*of as usize) {
                    Some(tie) if is_set_off_by_link => tie.rank(now),
                    Some(_) => *rank | 1 << 31,
                    None => *rank,
                };
                batch.push(Arrival { time: now, rank, id });
            }
            if is_from_link(*of as usize, endpoints.len()) {
                links[*rank as usize].count.delivered += (batch.len() - before) as u64;
            }
            !line.is_empty()
        });
        next
    }

    /// What the link has sent goes to whom it is for.
    #[inline]
    pub(super) fn pass_on(&mut self, number: usize) {
        if !self.detours.moves.is_empty() {
            self.pass_on_by_time(number);
        }
        if self.leads_to[number] == NONE {
            while let Some(id) = self.links[number].take_sent(&self.packets) {
                let input = self.hops[self.packets[id].route as usize];
                self.put(input, id);
            }
        } else if let Some(first) = self.links[number].sent().first() {
            let input = self.leads_to[number];
            if self.inputs[input as usize].line.is_empty() {
                self.expect(input, first);
            }
            self.inputs[input as usize].line.append(self.links[number].sent(), &mut self.packets);
        }
        if !self.pauses.is_empty() {
            self.tell(number);
        }
    }

    /// The same where routes move.
    #[cold]
    fn pass_on_by_time(&mut self, number: usize) {
        while let Some(id) = self.links[number].take_sent(&self.packets) {
            let packet = &self.packets[id];
            let route = packet.route as usize;
            let input = self.detours.input(number as u32, self.next_link[route], packet.stamp);
            self.put(input.unwrap_or(self.hops[route]), id);
        }
    }

    /// Those who fill the link's queue are told what its flow control says.
    #[cold]
    fn tell(&mut self, number: usize) {
        while let Some(told) = self.links[number].take_told() {
            for i in 0..self.pauses[number].len() {
                let Told { link, sender, lag, time } = self.pauses[number][i];
                let feeder = &mut self.links[link as usize];
                feeder.pause(sender, told.at + lag, if told.stop { time } else { Duration::ZERO });
                let due = feeder.due();
                self.told(link, due);
            }
        }
    }

    /// The link has something else to do than it thought, which is due then.
    fn told(&mut self, link: u32, due: Time) {
        let nic = self.hosts.nics.iter().position(|nic| nic.link == link && nic.is_awaited());
        let place = self.place_of_link[link as usize] as usize;
        let mut due = due;
        if let (Some(nic), Stage::Island(_)) = (nic, self.stages[place]) {
            let starts = self.links[link as usize].next_start();
            self.set_source(Source::Nic(nic), starts);
            due = due.min(starts);
        }
        self.schedule.lower(place, due);
    }

    /// The packet `id` comes to the link now.
    #[inline]
    pub(super) fn offer(&mut self, number: usize, id: PacketId) {
        let mut log = LinkLog { link: number as u32, ledger: &mut self.ledger };
        log.ledger.queued(self.now, id, &self.packets, log.link);
        self.links[number].offer(self.now, id, &mut self.packets, &mut log);
    }

    /// Does what has happened at the queue, and on the wire, up to now.
    pub(super) fn advance_link(&mut self, number: usize) {
        let mut log = LinkLog { link: number as u32, ledger: &mut self.ledger };
        self.links[number].advance(self.now, &mut self.packets, &mut log);
        self.links[number].settle(self.now, &mut self.packets, &mut log);
        self.pass_on(number);
    }
}
