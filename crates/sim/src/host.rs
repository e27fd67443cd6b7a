//! The ends of a flow: a TCP connection, UDP or a probe, the application on it, and its one pending event.

use longfat_core::probe::Ping;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::{Departures, Transfers, Udp};
use longfat_core::units::Rate;
use longfat_experiment::{Flow, Traffic};
use longfat_tcp::Connection;

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

/// One end of a flow: eight lines of a cache. With thousands of connections each packet finds those of its own in no cache, and what it
/// costs is how many there are.
#[derive(Debug)]
#[repr(align(64))]
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
    /// Whether it lives on an island, together with what it shares something with.
    pub is_on_island: bool,
    place: Option<Box<Place>>,
    application: Application,
    started: bool,
    stop: Time,
    pub sent: Tally,
    pub delivered: Tally,
}

const _: () = assert!(size_of::<Endpoint>() == 8 * 64);

/// What its host has, by number.
#[derive(Debug, Default)]
struct Place {
    /// The interface, at which TCP waits.
    nic: Option<u32>,
    processor: Option<u32>,
    overhead: Option<u32>,
    /// The memory, and its share of it.
    memory: Option<(u32, u32)>,
}

/// What the application does at one end of a connection.
#[derive(Debug)]
enum Application {
    /// Writes so many bytes, and closes: `ttcp`.
    Volume(u64),
    /// Writes without end.
    Endless,
    /// Writes at a rate of its own: when, and how much.
    Writes(Box<(Departures, u32)>),
    /// Writes transfers with time to think between them.
    Web(Box<Web>),
    /// Reads, at once.
    Reads,
    /// Reads, and takes its time.
    Reader(Box<Reader>),
}

/// Transfers, of which one may be under way.
#[derive(Debug)]
struct Web {
    transfers: Transfers,
    transferring: bool,
}

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
                Self::new(Agent::Ping(Box::new(Ping::ask(interval, size, start, stop))), Application::Reads, start, Milestone::Nothing)
            }
            Traffic::Udp { schedule, size } => {
                let departures = Departures::new(schedule, size, start, rng);
                let first = departures.next();
                Self::new(Agent::Udp(Box::new(Udp::send(departures, size, stop))), Application::Reads, first, Milestone::Nothing)
            }
            traffic => {
                let tcp = Agent::Tcp(Connection::connect(flow.sender.clone(), iss, phase));
                let application = match traffic {
                    Traffic::Ttcp { volume } => Application::Volume(volume),
                    Traffic::Web(web) => Application::Web(Box::new(Web { transfers: Transfers::new(web, rng), transferring: false })),
                    Traffic::Writes { schedule, size } => {
                        Application::Writes(Box::new((Departures::new(schedule, size, start, rng), size)))
                    }
                    _ => Application::Endless,
                };
                Endpoint { alarm: start, stop, ..Self::new(tcp, application, start, Milestone::Nothing) }
            }
        }
    }

    /// The end that listens and receives.
    pub fn receiver(flow: &Flow, iss: u32, phase: Duration) -> Self {
        match flow.traffic {
            Traffic::Ping { .. } => Self::new(Agent::Ping(Box::new(Ping::answer())), Application::Reads, Time::MAX, Milestone::Nothing),
            Traffic::Udp { .. } => Self::new(Agent::Udp(Box::new(Udp::receive())), Application::Reads, Time::MAX, Milestone::Nothing),
            _ => {
                let mut tcp = Connection::listen(flow.receiver.clone(), iss, phase);
                tcp.set_auto_read(flow.read_rate.is_none());
                let reader = |rate| Box::new(Reader { rate, block: flow.receiver.mss.into(), next: Time::ZERO });
                let application = flow.read_rate.map_or(Application::Reads, |rate| Application::Reader(reader(rate)));
                let on_host = flow.read_rate.is_some();
                Endpoint { on_host, ..Self::new(Agent::Tcp(tcp), application, Time::MAX, Milestone::EndOfStream) }
            }
        }
    }

    fn new(agent: Agent, application: Application, wake: Time, milestone: Milestone) -> Self {
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
            is_on_island: false,
            place: None,
            application,
            started: false,
            stop: Time::MAX,
            sent: Tally::default(),
            delivered: Tally::default(),
        }
    }

    /// Its host has this interface, at which TCP waits, this processor and this overhead.
    pub fn place(&mut self, nic: Option<usize>, processor: Option<usize>, overhead: Option<usize>) {
        let number = |n: Option<usize>| n.map(|n| n as u32);
        if nic.or(processor).or(overhead).is_some() {
            let memory = self.place.as_ref().and_then(|place| place.memory);
            let (nic, processor, overhead) = (number(nic), number(processor), number(overhead));
            self.place = Some(Box::new(Place { nic, processor, overhead, memory }));
            self.on_host = true;
        }
    }

    /// Its host has bounded memory, of which it has this share: numbers of both.
    pub fn share(&mut self, pool: usize, share: usize) {
        self.place.get_or_insert_default().memory = Some((pool as u32, share as u32));
        self.on_host = true;
    }

    /// Whether it shares something with others of its host but the link it sends by.
    pub fn shares(&self) -> bool {
        self.place.is_some()
    }

    /// The numbers of the memory of its host and of its share.
    pub fn memory(&self) -> Option<(usize, usize)> {
        self.place.as_ref()?.memory.map(|(pool, share)| (pool as usize, share as usize))
    }

    /// Whether it has yet to open its connection.
    pub fn is_yet_to_start(&self) -> bool {
        !self.started && self.milestone == Milestone::Nothing
    }

    /// How much the receiving application would read at once.
    pub fn is_ready_to_read(&self, now: Time) -> u64 {
        match &self.application {
            Application::Reader(reader) if reader.next > now => 0,
            Application::Reader(reader) => reader.block,
            _ => u64::MAX,
        }
    }

    /// The receiving application reads, if it is ready to and there is something.
    pub fn read(&mut self, now: Time) {
        let (Application::Reader(reader), Agent::Tcp(tcp)) = (&mut self.application, &mut self.agent) else { return };
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
        self.place.as_ref()?.nic.map(|nic| nic as usize)
    }

    /// The overhead of its host.
    pub fn overhead(&self) -> Option<usize> {
        self.place.as_ref()?.overhead.map(|overhead| overhead as usize)
    }

    /// The processor of its host.
    pub fn processor(&self) -> Option<usize> {
        self.place.as_ref()?.processor.map(|processor| processor as usize)
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
        let starts = !self.started && now < self.stop;
        match &mut self.application {
            Application::Reads | Application::Reader(_) => return,
            // What has been written is finished; a stream without end is not.
            Application::Web(_) | Application::Writes(_) if now >= self.stop => tcp.close(),
            _ if now >= self.stop => tcp.stop(),
            Application::Writes(writes) => {
                let (departures, size) = &mut **writes;
                while departures.next() <= now {
                    tcp.write(u64::from(*size));
                    departures.advance();
                }
                self.alarm = departures.next().min(self.stop);
            }
            Application::Web(_) if starts => self.think(now),
            Application::Web(web) => {
                tcp.write(web.transfers.size());
                web.transferring = true;
                self.alarm = self.stop;
            }
            Application::Volume(volume) => {
                tcp.write(*volume);
                tcp.close();
            }
            Application::Endless => {
                tcp.write(u64::MAX);
                self.alarm = self.stop;
            }
        }
        if starts {
            self.started = true;
            self.milestone = Milestone::Established;
        }
    }

    /// A transfer is over; after a while comes the next.
    pub fn think(&mut self, now: Time) {
        let Application::Web(web) = &mut self.application else { return };
        web.transferring = false;
        if now < self.stop {
            self.alarm = now.saturating_add(web.transfers.think()).min(self.stop);
        }
    }

    /// Whether the run waits for this flow: it has a volume.
    pub fn has_volume(&self) -> bool {
        matches!(self.application, Application::Volume(_))
    }

    /// The milestone that has been reached since the last call, if one has.
    #[inline]
    pub fn reached(&mut self) -> Option<Milestone> {
        let reached = self.milestone;
        let Agent::Tcp(tcp) = &self.agent else { return None };
        let (done, next) = match reached {
            Milestone::Established => {
                let next = match self.application {
                    Application::Volume(_) => Milestone::AllAcked,
                    Application::Web(_) => Milestone::Transferred,
                    _ => Milestone::Nothing,
                };
                (tcp.is_established(), next)
            }
            Milestone::AllAcked => (tcp.all_acked(), Milestone::Nothing),
            Milestone::Transferred => (matches!(&self.application, Application::Web(web) if web.transferring) && tcp.all_acked(), reached),
            Milestone::EndOfStream => (tcp.end_of_stream() && tcp.unread() == 0, Milestone::Nothing),
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
}
