//! The thread of the endpoints: all sockets of all hosts, and the applications on them.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use longfat_core::time::{Duration, Time};
use longfat_model::Experiment;
use longfat_record::trace::{Event, FlowCounts, FlowRecord, FlowSample};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::Error;
use crate::linux::clock::Clock;
use crate::linux::emulator::Shared;
use crate::linux::flow::{Ends, counts_of_datagrams, event, finish_datagrams};

/// How often senders are looked at: few of them often, many less so.
const LOOK: Duration = Duration::from_millis(2);
/// How often those are that wait for something that the kernel does not say when it comes.
const ASK: Duration = Duration::from_millis(1);
/// Whose descriptor is the timer.
const TIMER: u64 = u64::MAX;

/// All flows while they run.
pub struct Session {
    flows: Vec<Ends>,
    starts: Vec<Time>,
    clock: Clock,
    shared: Arc<Shared>,
    epoll: Epoll,
    timer: TimerFd,
    /// When each flow has something to do, in order.
    alarms: BTreeSet<(Time, usize)>,
    alarm_of: Vec<Time>,
    look_every: Duration,
    interval: Option<Duration>,
    next_sample: Time,
    next_look: Time,
    warmup: Time,
    span_start: Time,
    at_warmup: Option<Vec<FlowCounts>>,
    at_span_start: Option<Vec<FlowCounts>>,
    experiment: Experiment,
    waits_for: Vec<usize>,
    records_events: bool,
    /// What it leaves.
    pub left: Left,
}

/// What a session leaves.
#[derive(Debug, Default)]
pub struct Left {
    /// A record for each flow.
    pub flows: Vec<FlowRecord>,
    /// Samples.
    pub series: Vec<FlowSample>,
    /// What happened to senders.
    pub events: Vec<Event>,
    /// Packets that a socket had no room for.
    pub refused: u64,
}

fn failed(e: nix::Error) -> Error {
    Error::system("the sockets cannot be waited for", e)
}

impl Session {
    /// The flows of `experiment`, whose ends these are.
    pub fn new(experiment: &Experiment, flows: Vec<Ends>, clock: Clock, shared: Arc<Shared>) -> Result<Self, Error> {
        let volumes = |(i, flow): (usize, &longfat_model::Flow)| flow.traffic.volume().map(|_| i);
        let starts: Vec<Time> = experiment.flows.iter().map(|flow| Time::ZERO + flow.start).collect();
        let mut session = Session {
            alarms: starts.iter().copied().zip(0..).collect(),
            alarm_of: starts.clone(),
            look_every: LOOK.saturating_mul((flows.len() as u64).div_ceil(8).max(1)),
            interval: experiment.measure.interval,
            next_sample: if experiment.measure.interval.is_some() { Time::ZERO } else { Time::MAX },
            next_look: Time::ZERO,
            warmup: Time::ZERO + experiment.measure.warmup,
            span_start: Time::ZERO + experiment.span_start(),
            at_warmup: None,
            at_span_start: None,
            experiment: experiment.clone(),
            waits_for: experiment.flows.iter().enumerate().filter_map(volumes).collect(),
            records_events: experiment.measure.events,
            left: Left::default(),
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?,
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK).map_err(failed)?,
            flows,
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
        for (i, flow) in self.flows.iter().enumerate() {
            match flow {
                Ends::Tcp(tcp) => watch(&self.epoll, tcp.listener.as_ref().map(AsFd::as_fd), i)?,
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
        let next = alarm.min(self.next_look).min(self.next_stop()).min(self.shared.end());
        let spec = TimeSpec::new(0, 0) + TimeSpec::from(std::time::Duration::from_nanos(self.clock.nanoseconds_at(next).max(1)));
        self.timer.set(Expiration::OneShot(spec), TimerSetTimeFlags::TFD_TIMER_ABSTIME).map_err(failed)
    }

    fn next_stop(&self) -> Time {
        let warmup = if self.at_warmup.is_none() { self.warmup } else { Time::MAX };
        let span = if self.at_span_start.is_none() { self.span_start } else { Time::MAX };
        self.next_sample.min(warmup).min(span)
    }

    fn counts(&self) -> Vec<FlowCounts> {
        let of = |flow: &Ends| match flow {
            Ends::Tcp(tcp) => tcp.counts(),
            Ends::Datagrams(ends) => counts_of_datagrams(ends),
        };
        self.flows.iter().map(of).collect()
    }

    /// The warmup is over: what is measured begins here.
    fn warm(&mut self) {
        self.at_warmup = Some(self.counts());
        for (flow, _) in self.flows.iter_mut().zip(&self.experiment.flows).filter(|(_, said)| !said.is_measured_whole()) {
            match flow {
                Ends::Tcp(tcp) => tcp.forget_round_trips(),
                Ends::Datagrams(ends) => ends[0].datagrams.forget_round_trips(),
            }
        }
    }

    /// Writes down what is due.
    fn note(&mut self, now: Time) {
        if self.at_warmup.is_none() && self.warmup <= now {
            self.warm();
        }
        if self.at_span_start.is_none() && self.span_start <= now {
            self.at_span_start = Some(self.counts());
        }
        if let Some(interval) = self.interval
            && self.next_sample <= now
        {
            self.sample(self.next_sample);
            while self.next_sample <= now {
                self.next_sample += interval;
            }
        }
        if self.next_look <= now {
            self.look(now);
        }
    }

    fn sample(&mut self, time: Time) {
        for (i, flow) in self.flows.iter().enumerate() {
            let sample = match flow {
                Ends::Tcp(tcp) => tcp.sample(time, i as u32),
                Ends::Datagrams(ends) => {
                    let stats = ends[0].datagrams.stats();
                    let bytes_delivered = ends[1].datagrams.stats().bytes_delivered;
                    FlowSample {
                        time,
                        flow: i as u32,
                        srtt_s: stats.rtt.last.as_secs_f64(),
                        bytes_delivered,
                        bytes_arrived: bytes_delivered,
                        ..FlowSample::default()
                    }
                }
            };
            self.left.series.push(sample);
        }
    }

    /// Looks at every sender.
    fn look(&mut self, now: Time) {
        let mut soon = false;
        let mut waiting = Vec::new();
        for (i, flow) in self.flows.iter_mut().enumerate() {
            let Ends::Tcp(tcp) = flow else { continue };
            let (left, records) = (&mut self.left, self.records_events);
            tcp.look(now, |kind, seq| {
                if records {
                    left.events.push(event(now, i as u32, kind, seq));
                }
            });
            if tcp.is_waiting() {
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

    /// Does what there is to do for a flow.
    fn attend(&mut self, number: usize) -> Result<(), Error> {
        let now = self.clock.now();
        let next = match &mut self.flows[number] {
            Ends::Tcp(tcp) => {
                if self.starts[number] <= now
                    && let Some(stream) = tcp.connect()?
                {
                    watch(&self.epoll, Some(stream.socket.as_fd()), number)?;
                }
                if let Some(stream) = tcp.accept() {
                    watch(&self.epoll, Some(stream.socket.as_fd()), number)?;
                }
                if tcp.record.established.is_none() && tcp.sender.stream.as_ref().is_some_and(|stream| is_established(&stream.socket)) {
                    tcp.record.established = Some(now);
                }
                tcp.attend(now);
                if tcp.is_waiting() {
                    self.next_look = self.next_look.min(now + ASK);
                }
                if tcp.record.delivered_all.is_some() || tcp.record.gave_up.is_some() {
                    self.waits_for.retain(|flow| *flow != number);
                    if self.waits_for.is_empty() {
                        self.shared.end_by(now);
                    }
                }
                tcp.alarm()
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
        if self.interval.is_some() && self.left.series.last().is_none_or(|last| last.time < self.shared.end()) {
            self.sample(self.shared.end());
        }
        let end = self.counts();
        let at_span_start = self.at_span_start.take().unwrap_or_else(|| end.clone());
        for (i, flow) in self.flows.into_iter().enumerate() {
            let record = match flow {
                Ends::Tcp(tcp) => tcp.finish(),
                Ends::Datagrams(ends) => {
                    self.left.refused += ends.iter().map(|end| end.refused).sum::<u64>();
                    finish_datagrams(&ends, self.starts[i])
                }
            };
            self.left.flows.push(record.counted(
                &self.experiment.flows[i],
                &end[i],
                self.at_warmup.as_ref().map(|all| &all[i]),
                (&at_span_start[i], &end[i]),
            ));
        }
        self.left
    }
}

fn is_established(socket: &socket2::Socket) -> bool {
    socket.peer_addr().is_ok()
}

/// Has the events of `fd` come under the number of its flow.
fn watch(epoll: &Epoll, fd: Option<BorrowedFd<'_>>, flow: usize) -> Result<(), Error> {
    let Some(fd) = fd else { return Ok(()) };
    let what = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
    epoll.add(fd, EpollEvent::new(what, flow as u64)).map_err(failed)
}
