//! The ends of a flow: TCP or datagrams, the application over it, and its one pending event.

mod agent;
pub(crate) mod alone;

use longfat_core::packet::{Cookie, Direction, Dscp, Ecn, Packet, PacketId, Segment};
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::{Life, Over, Program, Reader, Wait, until};
use longfat_model::Flow;
use longfat_record::trace::{Event, EventKind};
use longfat_tcp::{Connection, Plain};

use super::host::relay::Opens;
use crate::context::Context;
use crate::ledger::{Ledger, Tally, sent_so_far};
pub(crate) use agent::Agent;
use agent::Stream;

/// Milestones of this end, in order, to write down when each came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Milestone {
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
pub(crate) struct Endpoint {
    pub agent: Agent,
    /// Endpoint `2 f` sends for flow `f`, endpoint `2 f + 1` answers.
    pub number: usize,
    /// When it wakes. It only ever moves to an earlier time before it has come: TCP puts its timers off with every ACK, and a wake-up too
    /// early now and then costs less than moving it each time.
    pub wake: Time,
    milestone: Milestone,
    /// True if its application reads: it takes its time, or answers.
    reads: bool,
    /// True if the run waits for its flow.
    has_volume: bool,
    program: Program,
    pub outgoing: Outgoing,
    pub delivered: Tally,
}

/// Packets that an endpoint sends.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// The route cursor with which they start.
    pub route: u32,
    /// Their codepoint.
    pub dscp: Dscp,
    pub sent: Tally,
}

impl Outgoing {
    /// Returns the packet of `endpoint` with this `segment`, which is in the network now.
    #[inline]
    fn enter(&mut self, now: Time, endpoint: usize, ecn: Ecn, segment: &Segment, ledger: &mut Ledger) -> Packet {
        let mut packet = Packet::new(now, self.route, ecn, segment);
        packet.dscp = self.dscp;
        self.sent.add(packet.ip_len());
        ledger.entered(now, endpoint, &packet, segment);
        packet
    }
}

/// Parts of an endpoint that exchange plain segments.
pub(super) struct Exchange<'a> {
    pub plain: Plain<'a>,
    pub wake: &'a mut Time,
    pub delivered: &'a mut Tally,
    pub outgoing: &'a mut Outgoing,
}

const _: () = assert!(size_of::<Endpoint>() == 8 * 64);

/// The initial sequence number and the clock phase of an endpoint: its own, whatever other flows there are.
pub(crate) fn personality(seed: u64, name: &str) -> (u32, Duration) {
    let mut rng = Rng::named(seed, name);
    let iss = rng.next_u64() as u32;
    // Long against every tick, so that the phase is even over all of them.
    (iss, Duration::from_ps(rng.below(Duration::from_secs(100).as_ps())))
}

impl Endpoint {
    /// The end that connects and sends.
    pub(crate) fn sender(flow: &Flow, iss: u32, phase: Duration, rng: Rng) -> Self {
        let start = Time::ZERO + flow.start;
        let stop = flow.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        let (params, life) = (flow.traffic.params(), Life { start, rng, volume: flow.traffic.volume() });
        match flow.traffic.kind().over {
            Over::Tcp(application) => {
                let tcp = Agent::Tcp(Connection::connect(flow.sender.clone(), iss, phase));
                let application = if flow.relays.is_some() { Box::new(Opens) } else { application(params, life) };
                let program = Program::new(application, start, stop);
                Endpoint { has_volume: flow.traffic.volume().is_some(), ..Self::new(tcp, program, start, Milestone::Nothing) }
            }
            Over::Asked { answers, .. } => {
                let mut tcp = Connection::listen(flow.sender.clone(), iss, phase);
                tcp.set_auto_read(false);
                let program = Program::reader(answers(params));
                let end = Self::new(Agent::Tcp(tcp), program, Time::MAX, Milestone::Established);
                Endpoint { reads: true, has_volume: flow.traffic.volume().is_some(), ..end }
            }
            Over::Datagrams { sender, .. } => {
                let datagrams = sender(params, life);
                let first = datagrams.poll_timeout().unwrap_or(Time::MAX);
                Self::new(Agent::Datagrams(until(stop, datagrams)), Program::none(), first, Milestone::Nothing)
            }
        }
    }

    /// The end that listens and receives.
    pub(crate) fn receiver(flow: &Flow, iss: u32, phase: Duration) -> Self {
        match flow.traffic.kind().over {
            Over::Tcp(_) => {
                let mut tcp = Connection::listen(flow.receiver.clone(), iss, phase);
                tcp.set_auto_read(flow.read_rate.is_none());
                let reader = |rate| Program::reader(Box::new(Reader::new(rate, flow.receiver.mss.into())));
                let program = flow.read_rate.map_or(Program::none(), reader);
                Endpoint {
                    reads: flow.read_rate.is_some(),
                    has_volume: flow.traffic.volume().is_some(),
                    ..Self::new(Agent::Tcp(tcp), program, Time::MAX, Milestone::EndOfStream)
                }
            }
            Over::Asked { asks, .. } => {
                let start = Time::ZERO + flow.start;
                let tcp = Agent::Tcp(Connection::connect(flow.receiver.clone(), iss, phase));
                let program = Program::new(asks(flow.traffic.params()), start, Time::MAX);
                Endpoint { has_volume: flow.traffic.volume().is_some(), ..Self::new(tcp, program, start, Milestone::EndOfStream) }
            }
            Over::Datagrams { receiver, .. } => Self::new(Agent::Datagrams(receiver()), Program::none(), Time::MAX, Milestone::Nothing),
        }
    }

    fn new(agent: Agent, program: Program, wake: Time, milestone: Milestone) -> Self {
        Endpoint {
            agent,
            number: 0,
            wake,
            milestone,
            reads: false,
            has_volume: false,
            program,
            outgoing: Outgoing { route: 0, dscp: Dscp::DEFAULT, sent: Tally::default() },
            delivered: Tally::default(),
        }
    }

    /// Gives it the cookie of Fast Open that the server's key makes for this client; `mss`: the server's MSS option.
    pub(crate) fn set_cookie(&mut self, cookie: Cookie, mss: u16) {
        if let Agent::Tcp(tcp) = &mut self.agent {
            tcp.set_cookie(cookie, mss);
        }
    }

    /// True if it has yet to open its connection.
    pub(crate) fn is_yet_to_start(&self) -> bool {
        let waits_to_ask = !self.reads && self.program.alarm() < Time::MAX;
        !self.program.has_begun() && (self.milestone == Milestone::Nothing || waits_to_ask)
    }

    /// Returns the bytes that the receiving application would read at once.
    pub(crate) fn would_read(&self, now: Time) -> u64 {
        self.program.would_read(now)
    }

    /// The receiving application reads, if it takes its time, is ready to and there is something.
    #[inline]
    pub(crate) fn read(&mut self, now: Time) {
        if !self.reads {
            return;
        }
        if let Agent::Tcp(tcp) = &mut self.agent
            && self.program.wait().readable
        {
            self.program.act(now, &mut Stream(tcp));
            if self.program.wait() == Wait::FOR_EVER {
                // A sender has answered.
                self.reads = false;
                if self.milestone == Milestone::Nothing {
                    self.milestone = self.next_milestone();
                }
            }
        }
        self.set_alarm();
    }

    /// The packet `id` comes to the protocol.
    #[inline]
    pub(crate) fn receive(&mut self, id: PacketId, context: &mut Context) {
        let Context { now, packets, ledger, .. } = context;
        let (packet, segment) = (&packets[id], packets.segment(id));
        ledger.left(*now, packet, segment);
        self.delivered.add(packet.ip_len());
        // A packet that opens a connection is no ACK of data.
        if ledger.keeps_acks()
            && self.way() == Direction::There
            && let Agent::Tcp(tcp) = &self.agent
            && tcp.is_established()
        {
            ledger.acknowledged(*now, self.number, &tcp.info());
        }
        self.agent.handle_segment(*now, segment, packet.ecn);
        packets.remove(id);
    }

    /// Does everything due at its wake-up: of the application, and of the protocol's timers.
    pub(crate) fn wake(&mut self, context: &mut Context) {
        self.handle_time(context.now);
        self.wake = self.program.alarm();
        if self.agent.gave_up() {
            self.note_end(context);
        }
    }

    /// Does everything due, but does not set the next wake-up.
    pub(crate) fn handle_time(&mut self, now: Time) {
        if self.program.alarm() <= now {
            if self.program.wait().readable {
                // The application reads once the timers have expired.
                self.program.put_off();
            } else {
                self.act(now);
            }
        }
        if self.agent.is_due(now) {
            self.agent.handle_timeout(now);
        }
    }

    /// The next packet that it sends, which is in the network now.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context) -> Option<PacketId> {
        if self.agent.is_silent(context.now) {
            return None;
        }
        let id = context.packets.vacant(self.way());
        let ecn = self.agent.poll_transmit(context.now, context.packets.segment_mut(id))?;
        self.enter(id, ecn, context);
        Some(id)
    }

    /// Sends the packet whose segment is in the vacant slot `id`, which is in the network now.
    #[inline]
    pub(crate) fn enter(&mut self, id: PacketId, ecn: Ecn, context: &mut Context) {
        let Context { now, packets, ledger, .. } = context;
        packets[id] = self.outgoing.enter(*now, self.number, ecn, packets.segment(id), ledger);
        packets.keep(id);
    }

    /// Returns its parts for plain segments, if it is a plain connection with no milestone before it and nobody looks at each packet.
    #[inline]
    fn exchange(&mut self, context: &Context) -> Option<Exchange<'_>> {
        let Endpoint { agent: Agent::Tcp(tcp), wake, delivered, outgoing, milestone, reads, .. } = self else { return None };
        if *reads | (*milestone == Milestone::Established) | context.ledger.keeps_acks() | context.ledger.keeps_events() {
            return None;
        }
        Some(Exchange { plain: tcp.plain()?, wake, delivered, outgoing })
    }

    /// Ends its turn when it has nothing more to send: notes the events, and sets its timer.
    #[inline]
    pub(crate) fn settle(&mut self, context: &mut Context) {
        let now = context.now;
        if context.ledger.keeps_events() {
            context.ledger.note(now, self.number, &self.agent.stats());
        }
        let next = self.agent.wake_at(now);
        // A packet may arrive at the very instant a timer is set for: the timer's event is then still to come.
        assert!(next >= now, "endpoint {} wants to be woken at {next:?}, and it is {now:?} already", self.number);
        self.wake = self.wake.min(next);
    }

    /// The application may have something to do before the endpoint would be woken otherwise.
    pub(crate) fn set_alarm(&mut self) {
        self.wake = self.wake.min(self.program.alarm());
    }

    /// Returns the direction of the packets that it sends.
    #[inline]
    pub(crate) const fn way(&self) -> Direction {
        if self.number.is_multiple_of(2) { Direction::There } else { Direction::Back }
    }

    /// Notes a milestone that has been reached since the last call.
    #[inline]
    pub(crate) fn note_milestone(&mut self, context: &mut Context) {
        if let Some(milestone) = self.reached() {
            self.note(milestone, context);
        }
    }

    #[cold]
    fn note(&mut self, milestone: Milestone, context: &mut Context) {
        let flow = &mut context.flows[self.number / 2];
        let now = Some(context.now);
        match milestone {
            Milestone::Established => flow.established = now,
            Milestone::AllAcked => {
                flow.acked_all = now;
                context.ending.acknowledged();
            }
            Milestone::EndOfStream => {
                flow.delivered_all = now;
                // The receiver closes when it has read the end of the stream.
                if let Agent::Tcp(tcp) = &mut self.agent {
                    tcp.close();
                }
                if self.has_volume {
                    context.ending.delivered();
                }
            }
            Milestone::Acked => {
                self.act(context.now);
                self.set_alarm();
            }
            Milestone::Nothing => {}
        }
    }

    /// Handles an endpoint that has given up its connection.
    #[cold]
    fn note_end(&self, context: &mut Context) {
        let flow = &mut context.flows[self.number / 2];
        if flow.gave_up.is_none() {
            flow.gave_up = Some(context.now);
            let seq = sent_so_far(&self.agent.stats());
            let flow = (self.number / 2) as u32;
            context.ledger.event(Event { time: context.now, kind: EventKind::GaveUp, flow, link: None, seq });
        }
    }

    /// The application starts, goes on, or stops: its wait is over.
    fn act(&mut self, now: Time) {
        let Agent::Tcp(tcp) = &mut self.agent else { return };
        let had_begun = self.program.has_begun();
        self.program.act(now, &mut Stream(tcp));
        if self.milestone == Milestone::EndOfStream {
            // A receiver that has asked waits for the answer.
            return;
        }
        if self.program.has_begun() != had_begun {
            self.milestone = Milestone::Established;
        } else if had_begun && self.milestone != Milestone::Established {
            self.milestone = self.next_milestone();
        }
    }

    /// Next milestone of a sender whose connection is established.
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
    fn reached(&mut self) -> Option<Milestone> {
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
}
