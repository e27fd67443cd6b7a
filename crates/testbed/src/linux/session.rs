//! The thread of the endpoints: all sockets of all hosts, and the applications on them.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use longfat_core::time::{Duration, Time};
use longfat_host::clock::Clock;
use longfat_model::Experiment;
use longfat_record::recorder::{Recorder, Totals, Watched};
use longfat_record::trace::{Event, FlowRecord, FlowSample, LinkRecord, LinkSample, LinkTotals, Trace};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::Error;
use crate::linux::agents::Agents;
use crate::linux::emulator::{IN_MEMORY, Shared};
use crate::linux::flow::{Ends, event};

/// Time between two looks at senders: few of them are looked at often, many less so.
const LOOK: Duration = Duration::from_millis(2);
/// Time between two looks at senders that wait for something that the kernel does not report.
const ASK: Duration = Duration::from_millis(1);
/// Mark of the timer's descriptor.
const TIMER: u64 = u64::MAX;

/// All flows while they run.
pub struct Session {
    flows: Flows,
    agents: Option<Agents>,
    starts: Vec<Time>,
    clock: Clock,
    shared: Arc<Shared>,
    epoll: Epoll,
    timer: TimerFd,
    /// Times at which each flow has something to do, in order.
    alarms: BTreeSet<(Time, usize)>,
    alarm_of: Vec<Time>,
    look_every: Duration,
    next_look: Time,
    recorder: Recorder,
    experiment: Experiment,
    waits_for: Vec<usize>,
    /// Events at senders.
    events: Vec<Event>,
}

/// Results of a session.
#[derive(Debug)]
pub struct Left {
    /// Records and samples of flows.
    pub trace: Trace,
    /// Events at senders.
    pub events: Vec<Event>,
    /// Packets that a socket had no room for.
    pub refused: u64,
}

fn failed(e: nix::Error) -> Error {
    Error::system("the sockets cannot be waited for", e)
}

impl Session {
    /// The flows of `experiment`, whose ends these are, and the policies that steer some of them.
    pub fn new(
        experiment: &Experiment,
        flows: Vec<Ends>,
        agents: Option<Agents>,
        clock: Clock,
        shared: Arc<Shared>,
    ) -> Result<Self, Error> {
        let volumes = |(i, flow): (usize, &longfat_model::Flow)| flow.traffic.volume().map(|_| i);
        let starts: Vec<Time> = experiment.flows.iter().map(|flow| Time::ZERO + flow.start).collect();
        let mut session = Session {
            alarms: starts.iter().copied().zip(0..).collect(),
            alarm_of: starts.clone(),
            look_every: LOOK.saturating_mul((flows.len() as u64).div_ceil(8).max(1)),
            next_look: Time::ZERO,
            recorder: Recorder::new(experiment, None),
            experiment: experiment.clone(),
            waits_for: experiment.flows.iter().enumerate().filter_map(volumes).collect(),
            events: Vec::new(),
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?,
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK).map_err(failed)?,
            flows: Flows(flows),
            agents,
            starts,
            clock,
            shared,
        };
        session.watch_all()?;
        // A run without a volume waits for something that never comes.
        if session.waits_for.is_empty() {
            session.waits_for.push(usize::MAX);
        }
        Ok(session)
    }

    fn watch_all(&mut self) -> Result<(), Error> {
        self.epoll.add(self.timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER)).map_err(failed)?;
        for (i, flow) in self.flows.0.iter().enumerate() {
            match flow {
                Ends::Tcp(tcp) => watch(&self.epoll, tcp.receiver.listener.as_ref().map(AsFd::as_fd), i)?,
                Ends::Datagrams(ends) => {
                    for end in ends.iter() {
                        watch(&self.epoll, Some(end.socket.as_fd()), i)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs until the end.
    pub fn run(mut self) -> Result<Left, Error> {
        let mut events = vec![EpollEvent::empty(); 256];
        loop {
            let now = self.clock.now();
            if now >= self.shared.end() {
                return Ok(self.finish(now));
            }
            self.note(now);
            self.decide(now)?;
            while let Some(&(time, flow)) = self.alarms.first()
                && time <= now
            {
                self.attend(flow)?;
            }
            self.sleep()?;
            let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => 0,
                Err(e) => return Err(failed(e)),
            };
            for event in &events[..count] {
                if event.data() != TIMER {
                    self.attend(event.data() as usize)?;
                }
            }
        }
    }

    /// Sets the timer to the next time at which there is something to do.
    fn sleep(&mut self) -> Result<(), Error> {
        let alarm = self.alarms.first().map_or(Time::MAX, |(time, _)| *time);
        let decision = self.agents.as_ref().map_or(Time::MAX, Agents::next_look);
        let next = alarm.min(decision).min(self.next_look).min(self.recorder.next_stop()).min(self.shared.end());
        let spec = TimeSpec::new(0, 0) + TimeSpec::from(std::time::Duration::from_nanos(self.clock.nanoseconds_at(next).max(1)));
        self.timer.set(Expiration::OneShot(spec), TimerSetTimeFlags::TFD_TIMER_ABSTIME).map_err(failed)
    }

    /// Records everything that is due.
    fn note(&mut self, now: Time) {
        let now = now.min(self.shared.end());
        if self.recorder.next_stop() <= now {
            self.recorder.record(now, &mut self.flows).expect(IN_MEMORY);
        }
        if self.next_look <= now {
            self.look(now);
        }
    }

    /// Has the policies decide, if they are due.
    fn decide(&mut self, now: Time) -> Result<(), Error> {
        match &mut self.agents {
            Some(agents) if agents.next_look() <= now => agents.look(now, &self.flows.0),
            _ => Ok(()),
        }
    }

    /// Looks at every sender.
    fn look(&mut self, now: Time) {
        let mut soon = false;
        let mut waiting = Vec::new();
        for (i, flow) in self.flows.0.iter_mut().enumerate() {
            let Ends::Tcp(tcp) = flow else { continue };
            let (events, records) = (&mut self.events, self.experiment.measure.events);
            tcp.sender.look(now, |kind, seq| {
                if records {
                    events.push(event(now, i as u32, kind, seq));
                }
            });
            if tcp.sender.is_waiting() {
                soon = true;
                waiting.push(i);
            }
        }
        self.next_look = now + if soon { ASK } else { self.look_every };
        for flow in waiting {
            // An error of a connection is its own: it shows in its record.
            let _ = self.attend(flow);
        }
    }

    /// Does everything due for a flow.
    fn attend(&mut self, number: usize) -> Result<(), Error> {
        let now = self.clock.now();
        let next = match &mut self.flows.0[number] {
            Ends::Tcp(tcp) => {
                if self.starts[number] <= now
                    && let Some(stream) = tcp.sender.connect()?
                {
                    watch(&self.epoll, Some(stream.socket.as_fd()), number)?;
                }
                if let Some(stream) = tcp.receiver.accept() {
                    watch(&self.epoll, Some(stream.socket.as_fd()), number)?;
                }
                tcp.attend(now);
                if tcp.sender.is_waiting() {
                    self.next_look = self.next_look.min(now + ASK);
                }
                if tcp.is_over() {
                    self.waits_for.retain(|flow| *flow != number);
                    if self.waits_for.is_empty() {
                        self.shared.end_by(now);
                    }
                }
                tcp.sender.alarm().min(tcp.receiver.alarm())
            }
            Ends::Datagrams(ends) => {
                ends.iter_mut().for_each(|end| end.attend(now));
                ends[0].datagrams.poll_timeout().unwrap_or(Time::MAX)
            }
        };
        // Whoever wants to act at a time that has come, and did not, waits for its stream.
        let next = if next <= now { now + ASK } else { next };
        self.alarms.remove(&(self.alarm_of[number], number));
        self.alarm_of[number] = next;
        if next < Time::MAX {
            self.alarms.insert((next, number));
        }
        Ok(())
    }

    fn finish(mut self, now: Time) -> Left {
        self.note(now);
        self.look(now);
        let Session { recorder, experiment, mut flows, events, .. } = self;
        let trace = recorder.finish(self.shared.end(), None, &experiment, &mut flows).expect(IN_MEMORY);
        Left { trace, events, refused: flows.0.iter().map(Ends::refused).sum() }
    }
}

/// The flows, of which a recorder writes down what their sockets say.
struct Flows(Vec<Ends>);

impl Watched for Flows {
    fn totals(&mut self, now: Time) -> Totals {
        Totals { time: now, flows: self.0.iter().map(Ends::counts).collect(), ..Totals::default() }
    }

    fn sample(&mut self, at: Time, flows: &mut Vec<FlowSample>, _links: &mut Vec<LinkSample>) {
        flows.extend(self.0.iter().zip(0..).map(|(ends, number)| FlowSample { time: at, flow: number, ..ends.sample() }));
    }

    fn forget_round_trips(&mut self, flow: usize) {
        self.0[flow].forget_round_trips();
    }

    fn forget_waits(&mut self) {}

    fn flow(&self, flow: usize) -> FlowRecord {
        self.0[flow].record()
    }

    fn link(&self, _link: usize, _span: Duration, _from: &LinkTotals, _to: &LinkTotals) -> LinkRecord {
        unreachable!("no endpoint has totals of links")
    }
}

/// Has the events of `fd` come under the number of its flow.
fn watch(epoll: &Epoll, fd: Option<BorrowedFd<'_>>, flow: usize) -> Result<(), Error> {
    let Some(fd) = fd else { return Ok(()) };
    let what = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
    epoll.add(fd, EpollEvent::new(what, flow as u64)).map_err(failed)
}
