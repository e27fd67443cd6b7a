//! The ends of a flow: a TCP connection, UDP or a probe, the application on it, and its one pending event.

use longfat_core::experiment::{Flow, Traffic};
use longfat_core::probe::Ping;
use longfat_core::rng::Rng;
use longfat_core::tcp::Connection;
use longfat_core::time::{Duration, Time};
use longfat_core::trace::EventKind;
use longfat_core::traffic::{Departures, Transfers, Udp};
use longfat_core::units::Rate;

use crate::agent::Agent;
use crate::ledger::Tally;

/// What this end waits for, in order, to write down when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The end of the handshake.
    Established,
    /// The sender of a volume: the acknowledgment of the last byte.
    AllAcked,
    /// The receiver: the end of the stream.
    EndOfStream,
    /// The sender of transfers: the acknowledgment of the last byte of this one. Comes again and again.
    Transferred,
    /// Nothing more.
    Nothing,
}

/// One end of a flow.
#[derive(Debug)]
pub struct Endpoint {
    pub agent: Agent,
    /// The link its packets start on, and the route cursor they start with.
    pub first_link: u32,
    pub route: u32,
    /// The time in the event set. It only ever moves to an earlier time before it has come: TCP puts its timers off with
    /// every ACK, and a wake-up too early now and then costs less than moving the event each time.
    pub wake: Time,
    pub milestone: Milestone,
    /// When the application next acts.
    pub alarm: Time,
    /// Whether anything is said of its host.
    pub on_host: bool,
    /// Whether it waits for room at the interface, and for the processor.
    pub is_waiting: bool,
    pub is_asking: bool,
    /// Numbers of the interface, of the processor and of the overhead of its host; [`NONE`]. Of the memory of its host, and of its share.
    nic: u32,
    processor: u32,
    overhead: u32,
    memory: Option<(u32, u32)>,
    traffic: Traffic,
    started: bool,
    stop: Time,
    /// Of web traffic.
    transfers: Option<Box<Transfers>>,
    /// Of an application that writes at a rate of its own: when, and how much.
    writes: Option<Box<(Departures, u32)>>,
    transferring: bool,
    /// Of a receiving application that takes its time.
    reader: Option<Box<Reader>>,
    pub sent: Tally,
    pub delivered: Tally,
    /// Fast retransmits, timeouts and ended recoveries already written down as events.
    noted: [u64; 4],
}

const NONE: u32 = u32::MAX;

/// An application that reads a block (a full segment), and takes the time its rate gives it before it reads the next.
#[derive(Debug)]
struct Reader {
    rate: Rate,
    block: u64,
    /// When it is ready for the next.
    next: Time,
}

/// The initial sequence number and the clock phase of an endpoint: its own, whatever other flows there are.
pub fn personality(seed: u64, name: &str) -> (u32, Duration) {
    let mut rng = Rng::named(seed, name);
    let iss = rng.next_u64() as u32;
    // Long against every tick, so that the phase is even over all of them.
    (iss, Duration::from_ps(rng.below(Duration::from_secs(100).as_ps())))
}

impl Endpoint {
    /// The end that connects and sends.
    pub fn sender(flow: &Flow, iss: u32, phase: Duration, rng: Rng) -> Self {
        let start = Time::ZERO + flow.start;
        let stop = flow.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        match flow.traffic {
            Traffic::Ping { interval, size } => {
                Self::new(Agent::Ping(Ping::ask(interval, size, start, stop)), flow, start, Milestone::Nothing)
            }
            Traffic::Udp { schedule, size } => {
                let departures = Departures::new(schedule, size, start, rng);
                let first = departures.next();
                Self::new(Agent::Udp(Udp::send(departures, size, stop)), flow, first, Milestone::Nothing)
            }
            traffic => {
                let tcp = Agent::Tcp(Connection::connect(flow.sender.clone(), iss, phase));
                let (mut transfers, mut writes) = (None, None);
                match traffic {
                    Traffic::Web(web) => transfers = Some(Box::new(Transfers::new(web, rng))),
                    Traffic::Writes { schedule, size } => writes = Some(Box::new((Departures::new(schedule, size, start, rng), size))),
                    _ => {}
                }
                Endpoint { alarm: start, stop, transfers, writes, ..Self::new(tcp, flow, start, Milestone::Nothing) }
            }
        }
    }

    /// The end that listens and receives.
    pub fn receiver(flow: &Flow, iss: u32, phase: Duration) -> Self {
        match flow.traffic {
            Traffic::Ping { .. } => Self::new(Agent::Ping(Ping::answer()), flow, Time::MAX, Milestone::Nothing),
            Traffic::Udp { .. } => Self::new(Agent::Udp(Udp::receive()), flow, Time::MAX, Milestone::Nothing),
            _ => {
                let mut tcp = Connection::listen(flow.receiver.clone(), iss, phase);
                tcp.set_auto_read(flow.read_rate.is_none());
                let reader = flow.read_rate.map(|rate| Box::new(Reader { rate, block: flow.receiver.mss.into(), next: Time::ZERO }));
                let on_host = reader.is_some();
                Endpoint { reader, on_host, ..Self::new(Agent::Tcp(tcp), flow, Time::MAX, Milestone::EndOfStream) }
            }
        }
    }

    fn new(agent: Agent, flow: &Flow, wake: Time, milestone: Milestone) -> Self {
        let (sent, delivered) = (Tally::default(), Tally::default());
        Endpoint {
            agent,
            first_link: 0,
            route: 0,
            wake,
            milestone,
            alarm: Time::MAX,
            on_host: false,
            is_waiting: false,
            is_asking: false,
            nic: NONE,
            processor: NONE,
            overhead: NONE,
            memory: None,
            traffic: flow.traffic,
            started: false,
            stop: Time::MAX,
            transfers: None,
            writes: None,
            transferring: false,
            reader: None,
            sent,
            delivered,
            noted: [0; 4],
        }
    }

    /// Its host has this interface, at which TCP waits, this processor and this overhead.
    pub fn place(&mut self, nic: Option<usize>, processor: Option<usize>, overhead: Option<usize>) {
        let number = |n: Option<usize>| n.map_or(NONE, |n| n as u32);
        (self.nic, self.processor, self.overhead) = (number(nic), number(processor), number(overhead));
        self.on_host |= nic.or(processor).or(overhead).is_some();
    }

    /// Its host has bounded memory, of which it has this share: numbers of both.
    pub fn share(&mut self, pool: usize, share: usize) {
        self.memory = Some((pool as u32, share as u32));
        self.on_host = true;
    }

    /// The numbers of the memory of its host and of its share.
    pub fn memory(&self) -> Option<(usize, usize)> {
        self.memory.map(|(pool, share)| (pool as usize, share as usize))
    }

    /// Whether it has yet to open its connection.
    pub fn is_yet_to_start(&self) -> bool {
        !self.started && self.milestone == Milestone::Nothing
    }

    /// How much the receiving application would read at once.
    pub fn is_ready_to_read(&self, now: Time) -> u64 {
        self.reader.as_ref().map_or(u64::MAX, |reader| if reader.next <= now { reader.block } else { 0 })
    }

    /// The receiving application reads, if it is ready to and there is something.
    pub fn read(&mut self, now: Time) {
        let (Some(reader), Agent::Tcp(tcp)) = (&mut self.reader, &mut self.agent) else { return };
        if reader.next <= now {
            let taken = tcp.read(reader.block);
            if taken > 0 {
                reader.next = now + reader.rate.transmit_time(taken);
            }
        }
        if tcp.unread() > 0 {
            self.alarm = reader.next;
        }
    }

    /// The interface of its host.
    pub fn nic(&self) -> Option<usize> {
        (self.nic != NONE).then_some(self.nic as usize)
    }

    /// The overhead of its host.
    pub fn overhead(&self) -> Option<usize> {
        (self.overhead != NONE).then_some(self.overhead as usize)
    }

    /// The processor of its host.
    pub fn processor(&self) -> Option<usize> {
        (self.processor != NONE).then_some(self.processor as usize)
    }

    /// Does what is due now: of the application, and of the protocol's timers.
    pub fn handle_time(&mut self, now: Time) {
        if self.alarm <= now {
            self.act(now);
        }
        if self.agent.is_due(now) {
            self.agent.handle_timeout(now);
        }
    }

    /// The application's time has come: it starts (`ttcp` writes its volume and closes), goes on, or stops.
    fn act(&mut self, now: Time) {
        let Agent::Tcp(tcp) = &mut self.agent else { return };
        self.alarm = Time::MAX;
        if self.reader.is_some() {
            return;
        }
        if now >= self.stop {
            // What has been written is finished; a stream without end is not.
            if self.transfers.is_some() || self.writes.is_some() { tcp.close() } else { tcp.stop() }
        } else if let Some(writes) = &mut self.writes {
            let (departures, size) = &mut **writes;
            if !self.started {
                self.started = true;
                self.milestone = Milestone::Established;
            }
            while departures.next() <= now {
                tcp.write(u64::from(*size));
                departures.advance();
            }
            self.alarm = departures.next().min(self.stop);
        } else if self.started {
            if let Some(transfers) = &mut self.transfers {
                tcp.write(transfers.size());
                self.transferring = true;
            }
            self.alarm = self.stop;
        } else {
            self.started = true;
            self.milestone = Milestone::Established;
            match self.traffic {
                Traffic::Ttcp { volume } => {
                    tcp.write(volume);
                    tcp.close();
                }
                Traffic::Web(_) => self.think(now),
                _ => {
                    tcp.write(u64::MAX);
                    self.alarm = self.stop;
                }
            }
        }
    }

    /// A transfer is over; after a while comes the next.
    pub fn think(&mut self, now: Time) {
        self.transferring = false;
        if let Some(transfers) = &mut self.transfers
            && now < self.stop
        {
            self.alarm = now.saturating_add(transfers.think()).min(self.stop);
        }
    }

    /// Whether the run waits for this flow: it has a volume.
    pub fn has_volume(&self) -> bool {
        matches!(self.traffic, Traffic::Ttcp { .. })
    }

    /// The milestone that has been reached since the last call, if one has.
    #[inline]
    pub fn reached(&mut self) -> Option<Milestone> {
        let reached = self.milestone;
        let Agent::Tcp(tcp) = &self.agent else { return None };
        let (done, next) = match reached {
            Milestone::Established => {
                let next = match self.traffic {
                    Traffic::Ttcp { .. } => Milestone::AllAcked,
                    Traffic::Web(_) => Milestone::Transferred,
                    _ => Milestone::Nothing,
                };
                (tcp.is_established(), next)
            }
            Milestone::AllAcked => (tcp.all_acked(), Milestone::Nothing),
            Milestone::Transferred => (self.transferring && tcp.all_acked(), reached),
            Milestone::EndOfStream => (tcp.end_of_stream() && (self.reader.is_none() || tcp.unread() == 0), Milestone::Nothing),
            Milestone::Nothing => (false, reached),
        };
        if !done {
            return None;
        }
        self.milestone = next;
        Some(reached)
    }

    /// The receiver closes when it has read the end of the stream.
    pub fn close(&mut self) {
        if let Agent::Tcp(tcp) = &mut self.agent {
            tcp.close();
        }
    }

    /// Calls `note` for each thing worth an event since the last call.
    pub fn note_events(&mut self, mut note: impl FnMut(EventKind)) {
        let stats = self.agent.stats();
        let now = [stats.fast_retransmits, stats.timeouts, stats.recoveries_ended, stats.spurious_recoveries];
        let kinds = [EventKind::FastRetransmit, EventKind::Timeout, EventKind::RecoveryEnd, EventKind::RecoveryUndone];
        for (i, kind) in kinds.into_iter().enumerate() {
            for _ in self.noted[i]..now[i] {
                note(kind);
            }
        }
        self.noted = now;
    }
}
