//! The ends of a flow: a TCP connection or a probe, the application on it, and its one pending event.

use longfat_core::experiment::{Flow, Traffic};
use longfat_core::probe::Ping;
use longfat_core::rng::Rng;
use longfat_core::tcp::Connection;
use longfat_core::time::{Duration, Time};
use longfat_core::trace::EventKind;

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
    traffic: Traffic,
    started: bool,
    stop: Time,
    pub sent: Tally,
    pub delivered: Tally,
    /// Fast retransmits, timeouts and ended recoveries already written down as events.
    noted: [u64; 3],
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
    pub fn sender(flow: &Flow, iss: u32, phase: Duration) -> Self {
        let start = Time::ZERO + flow.start;
        let stop = flow.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        match flow.traffic {
            Traffic::Ping { interval, size } => {
                Self::new(Agent::Ping(Ping::ask(interval, size, start, stop)), flow, start, Milestone::Nothing)
            }
            _ => {
                let tcp = Agent::Tcp(Connection::connect(flow.sender.clone(), iss, phase));
                Endpoint { alarm: start, stop, ..Self::new(tcp, flow, start, Milestone::Nothing) }
            }
        }
    }

    /// The end that listens and receives.
    pub fn receiver(flow: &Flow, iss: u32, phase: Duration) -> Self {
        match flow.traffic {
            Traffic::Ping { .. } => Self::new(Agent::Ping(Ping::answer()), flow, Time::MAX, Milestone::Nothing),
            _ => Self::new(Agent::Tcp(Connection::listen(flow.receiver.clone(), iss, phase)), flow, Time::MAX, Milestone::EndOfStream),
        }
    }

    fn new(agent: Agent, flow: &Flow, wake: Time, milestone: Milestone) -> Self {
        let (sent, delivered) = (Tally::default(), Tally::default());
        let (alarm, stop) = (Time::MAX, Time::MAX);
        let traffic = flow.traffic;
        Endpoint { agent, first_link: 0, route: 0, wake, milestone, alarm, traffic, started: false, stop, sent, delivered, noted: [0; 3] }
    }

    /// The application's time has come: it starts (`ttcp` writes its volume and closes), or it stops.
    pub fn act(&mut self) {
        let Agent::Tcp(tcp) = &mut self.agent else { return };
        self.alarm = Time::MAX;
        if self.started {
            tcp.stop();
            return;
        }
        self.started = true;
        self.milestone = Milestone::Established;
        match self.traffic {
            Traffic::Ttcp { volume } => {
                tcp.write(volume);
                tcp.close();
            }
            _ => {
                tcp.write(u64::MAX);
                self.alarm = self.stop;
            }
        }
    }

    /// Whether the run waits for this flow: it has a volume.
    pub fn has_volume(&self) -> bool {
        matches!(self.traffic, Traffic::Ttcp { .. })
    }

    /// When this end wants to be woken.
    #[inline]
    pub fn wake_at(&self, now: Time) -> Time {
        self.agent.wake_at(now).min(self.alarm)
    }

    /// The milestone that has been reached since the last call, if one has.
    #[inline]
    pub fn reached(&mut self) -> Option<Milestone> {
        let reached = self.milestone;
        let Agent::Tcp(tcp) = &self.agent else { return None };
        let (done, next) = match reached {
            Milestone::Established => {
                let next = if self.has_volume() { Milestone::AllAcked } else { Milestone::Nothing };
                (tcp.is_established(), next)
            }
            Milestone::AllAcked => (tcp.all_acked(), Milestone::Nothing),
            Milestone::EndOfStream => (tcp.end_of_stream(), Milestone::Nothing),
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
        let now = [stats.fast_retransmits, stats.timeouts, stats.recoveries_ended];
        for (i, kind) in [EventKind::FastRetransmit, EventKind::Timeout, EventKind::RecoveryEnd].into_iter().enumerate() {
            for _ in self.noted[i]..now[i] {
                note(kind);
            }
        }
        self.noted = now;
    }
}
