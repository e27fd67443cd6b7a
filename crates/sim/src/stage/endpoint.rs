//! The ends of a flow: TCP or datagrams, the application over it, and its one pending event.

mod agent;

use longfat_core::packet::Dscp;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::{Life, Over, Program, Reader, Wait, until};
use longfat_model::Flow;
use longfat_tcp::{Connection, Offload};

use crate::ledger::Tally;
pub use agent::Agent;
use agent::Stream;

/// What this end waits for, in order, to write down when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The end of the handshake.
    Established,
    /// The sender of a volume: the acknowledgment of the last byte.
    AllAcked,
    /// The receiver: the end of the stream.
    EndOfStream,
    /// A sender whose application waits for it: the acknowledgment of all that is written so far. May come again and again.
    Acked,
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
    /// When it wakes. It only ever moves to an earlier time before it has come: TCP puts its timers off with every ACK, and a wake-up too
    /// early now and then costs less than moving it each time.
    pub wake: Time,
    pub milestone: Milestone,
    /// Whether anything is said of its host.
    pub on_host: bool,
    /// Whether it waits for room at the interface, and for the processor.
    pub is_waiting: bool,
    pub is_asking: bool,
    /// Whether it lives on an island, together with what it shares something with.
    pub is_on_island: bool,
    /// Whether the link it sends by is a part of its stage: nobody else sends by it.
    pub has_link: bool,
    /// Whether the run waits for it.
    pub has_volume: bool,
    /// The codepoint of its packets.
    pub dscp: Dscp,
    place: Option<Box<Place>>,
    program: Program,
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
    /// What the interface takes at once, and how it interrupts.
    offload: Option<Offload>,
    interface: Option<u32>,
    /// IP bytes in the transmit queue, where small queues are kept, and whether it waits for them to become fewer.
    queued: u64,
    waits_for_own: bool,
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
        let (params, life) = (flow.traffic.params(), Life { start, rng, volume: flow.traffic.volume() });
        match flow.traffic.kind().over {
            Over::Tcp(application) => {
                let tcp = Agent::Tcp(Connection::connect(flow.sender.clone(), iss, phase));
                let program = Program::new(application(params, life), start, stop);
                let has_volume = flow.traffic.volume().is_some();
                Endpoint { has_volume, ..Self::new(tcp, program, start, Milestone::Nothing) }
            }
            Over::Datagrams { sender, .. } => {
                let datagrams = sender(params, life);
                let first = datagrams.poll_timeout().unwrap_or(Time::MAX);
                Self::new(Agent::Datagrams(until(stop, datagrams)), Program::none(), first, Milestone::Nothing)
            }
        }
    }

    /// The end that listens and receives.
    pub fn receiver(flow: &Flow, iss: u32, phase: Duration) -> Self {
        match flow.traffic.kind().over {
            Over::Tcp(_) => {
                let mut tcp = Connection::listen(flow.receiver.clone(), iss, phase);
                tcp.set_auto_read(flow.read_rate.is_none());
                let reader = |rate| Program::reader(Box::new(Reader::new(rate, flow.receiver.mss.into())));
                let program = flow.read_rate.map_or(Program::none(), reader);
                let on_host = flow.read_rate.is_some();
                Endpoint { on_host, ..Self::new(Agent::Tcp(tcp), program, Time::MAX, Milestone::EndOfStream) }
            }
            Over::Datagrams { receiver, .. } => Self::new(Agent::Datagrams(receiver()), Program::none(), Time::MAX, Milestone::Nothing),
        }
    }

    fn new(agent: Agent, program: Program, wake: Time, milestone: Milestone) -> Self {
        Endpoint {
            agent,
            first_link: 0,
            route: 0,
            wake,
            milestone,
            on_host: false,
            is_waiting: false,
            is_asking: false,
            is_on_island: false,
            has_link: false,
            has_volume: false,
            dscp: Dscp::DEFAULT,
            place: None,
            program,
            sent: Tally::default(),
            delivered: Tally::default(),
        }
    }

    /// Its host has this interface, at which TCP waits, this processor and this overhead.
    pub fn place(&mut self, nic: Option<usize>, processor: Option<usize>, overhead: Option<usize>) {
        let number = |n: Option<usize>| n.map(|n| n as u32);
        if nic.or(processor).or(overhead).is_some() {
            let place = self.place.get_or_insert_default();
            (place.nic, place.processor, place.overhead) = (number(nic), number(processor), number(overhead));
            self.on_host = true;
        }
    }

    /// Its host has bounded memory, of which it has this share: numbers of both.
    pub fn share(&mut self, pool: usize, share: usize) {
        self.place.get_or_insert_default().memory = Some((pool as u32, share as u32));
        self.on_host = true;
    }

    /// Its interface takes this at once, and is that of this number where it interrupts in a way of its own.
    pub fn offload(&mut self, offload: Option<Offload>, interface: Option<usize>) {
        if offload.is_some() || interface.is_some() {
            let place = self.place.get_or_insert_default();
            (place.offload, place.interface) = (offload, interface.map(|n| n as u32));
            self.on_host = true;
        }
    }

    /// The receiving interface of its host.
    pub fn interface(&self) -> Option<usize> {
        self.place.as_ref()?.interface.map(|interface| interface as usize)
    }

    /// Of a host whose interface takes bursts: what it takes at once, and the IP bytes in its transmit queue.
    pub fn bursts(&self) -> Option<(Offload, u64)> {
        self.place.as_ref().and_then(|place| Some((place.offload?, place.queued)))
    }

    /// `bytes` of it have joined the transmit queue.
    pub fn joined(&mut self, bytes: u32) {
        self.place.get_or_insert_default().queued += u64::from(bytes);
    }

    /// `bytes` of it have left the transmit queue.
    pub fn left(&mut self, bytes: u32) {
        self.place.get_or_insert_default().queued -= u64::from(bytes);
    }

    /// It waits, or no longer, until less of it is in the transmit queue; whether that is news.
    pub fn waits_for_own(&mut self, waits: bool) -> bool {
        std::mem::replace(&mut self.place.get_or_insert_default().waits_for_own, waits) != waits
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
        !self.program.has_begun() && self.milestone == Milestone::Nothing
    }

    /// When the application next acts.
    #[inline]
    pub fn alarm(&self) -> Time {
        self.program.alarm()
    }

    /// How much the receiving application would read at once.
    pub fn would_read(&self, now: Time) -> u64 {
        self.program.would_read(now)
    }

    /// The receiving application reads, if it is ready to and there is something.
    pub fn read(&mut self, now: Time) {
        if let Agent::Tcp(tcp) = &mut self.agent
            && self.program.wait().readable
        {
            self.program.act(now, &mut Stream(tcp));
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
        if self.alarm() <= now {
            if self.program.wait().readable {
                // It reads once the timers have gone off.
                self.program.put_off();
            } else {
                self.act(now);
            }
        }
        if self.agent.is_due(now) {
            self.agent.handle_timeout(now);
        }
    }

    /// What the application has waited for has come: it starts, goes on, or stops.
    pub fn act(&mut self, now: Time) {
        let Agent::Tcp(tcp) = &mut self.agent else { return };
        let had_begun = self.program.has_begun();
        self.program.act(now, &mut Stream(tcp));
        if self.program.has_begun() != had_begun {
            self.milestone = Milestone::Established;
        } else if had_begun && self.milestone != Milestone::Established {
            self.milestone = self.next_milestone();
        }
    }

    /// What a sender waits for once its connection is established.
    fn next_milestone(&self) -> Milestone {
        let wait = self.program.wait();
        if wait.acked {
            Milestone::Acked
        } else if self.has_volume && wait == Wait::FOR_EVER {
            Milestone::AllAcked
        } else {
            Milestone::Nothing
        }
    }

    /// The milestone that has been reached since the last call, if one has.
    #[inline]
    pub fn reached(&mut self) -> Option<Milestone> {
        let Agent::Tcp(tcp) = &self.agent else { return None };
        let reached = self.milestone;
        let done = match reached {
            Milestone::Established => tcp.is_established(),
            Milestone::AllAcked | Milestone::Acked => tcp.all_acked(),
            Milestone::EndOfStream => tcp.end_of_stream() && tcp.unread() == 0,
            Milestone::Nothing => false,
        };
        if !done {
            return None;
        }
        self.milestone = if reached == Milestone::Established { self.next_milestone() } else { Milestone::Nothing };
        Some(reached)
    }

    /// The receiver closes when it has read the end of the stream.
    pub fn close(&mut self) {
        if let Agent::Tcp(tcp) = &mut self.agent {
            tcp.close();
        }
    }
}
