//! Both ends of a flow in the kernel, and their state.

use std::net::SocketAddrV4;

use longfat_core::rng::Rng;
use longfat_core::time::Time;
use longfat_core::traffic::{Life, Over, Program, Reader, until};
use longfat_host::datagrams::DatagramEnd;
use longfat_host::flow::{ReceiverEnd, SenderEnd, mark};
use longfat_host::options::Options;
use longfat_model::Flow;
use longfat_record::trace::{Event, EventKind, FlowCounts, FlowRecord, FlowSample, RttRecord};
use longfat_tcp::LimitedBy;

use crate::Error;
use crate::linux::namespace::Namespace;
use crate::linux::plan::{FlowPlan, Plan};

/// The ends of a flow.
#[derive(Debug)]
pub enum Ends {
    /// Both ends of a connection.
    Tcp(Box<Connection>),
    /// Both ends of datagrams: the end that sends first, and the end that answers.
    Datagrams(Box<[DatagramEnd; 2]>),
}

impl Ends {
    /// Returns the counts of the flow now.
    pub fn counts(&self) -> FlowCounts {
        let ends = match self {
            Ends::Tcp(tcp) => return tcp.counts(),
            Ends::Datagrams(ends) => ends,
        };
        let (sent, answered) = (ends[0].datagrams.stats(), ends[1].datagrams.stats());
        FlowCounts {
            delivered: answered.bytes_delivered,
            arrived: answered.bytes_delivered,
            duplicate: answered.bytes_duplicate,
            sent: sent.bytes_sent,
            segments_sent: sent.sent,
            limited_s: [f64::NAN; LimitedBy::ALL.len()],
            ..FlowCounts::default()
        }
    }

    /// Returns a sample of the flow now, without its number and the time.
    pub fn sample(&self) -> FlowSample {
        let ends = match self {
            Ends::Tcp(tcp) => return tcp.sample(),
            Ends::Datagrams(ends) => ends,
        };
        let bytes_delivered = ends[1].datagrams.stats().bytes_delivered;
        FlowSample {
            srtt_s: ends[0].datagrams.stats().rtt.last.as_secs_f64(),
            bytes_delivered,
            bytes_arrived: bytes_delivered,
            ..FlowSample::default()
        }
    }

    /// Forgets the round trips seen so far, all but the least.
    pub fn forget_round_trips(&mut self) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.watch.forget_round_trips(),
            Ends::Datagrams(ends) => ends[0].datagrams.forget_round_trips(),
        }
    }

    /// Returns the record of the flow at the end, without its counts.
    pub fn record(&self) -> FlowRecord {
        let ends = match self {
            Ends::Tcp(tcp) => return tcp.record(),
            Ends::Datagrams(ends) => ends,
        };
        let (sent, answered) = (ends[0].datagrams.stats(), ends[1].datagrams.stats());
        let record = FlowRecord {
            duplicates_received: answered.duplicates,
            acks_sent: answered.replies,
            acks_received: ends[0].arrived,
            packets_delivered: ends[1].arrived,
            rtt: RttRecord { deviation_s: sent.rtt.deviation_s(), ..RttRecord::default() },
            ..FlowRecord::default()
        };
        record.with_round_trips(ends[0].datagrams.round_trips(), Some(sent.rtt.min).filter(|rtt| !rtt.is_zero()))
    }

    /// Returns the packets that its sockets had no room for.
    pub fn refused(&self) -> u64 {
        if let Ends::Datagrams(ends) = self { ends.iter().map(|end| end.refused).sum() } else { 0 }
    }
}

/// A connection, from both ends.
#[derive(Debug)]
pub struct Connection {
    /// Sender.
    pub sender: SenderEnd,
    /// Receiver.
    pub receiver: ReceiverEnd,
}

/// Makes the ends of `flow`, called `name`, as planned; sockets in their namespaces.
pub fn ends(flow: &Flow, plan: &FlowPlan, all: &Plan, namespaces: &[Namespace], seed: u64, name: &str) -> Result<Ends, Error> {
    let start = Time::ZERO + flow.start;
    let stop = flow.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
    let at = |host: usize| SocketAddrV4::new(all.interfaces[host].address, plan.port);
    let (from, to) = (at(plan.from), at(plan.to));
    let (params, life) =
        (flow.traffic.params(), Life { start, rng: Rng::named(seed, &format!("{name} traffic")), volume: flow.traffic.volume() });
    match flow.traffic.kind().over {
        Over::Tcp(application) => {
            let [of_sender, of_receiver] = plan.controls.expect("a connection has controls");
            let reader = flow.read_rate.map(|rate| Reader::new(rate, flow.receiver.mss.into()));
            let options = Options::of(&flow.receiver, of_receiver.name, &flow.sender);
            let receiver = namespaces[plan.to].within(|| ReceiverEnd::new(&options, to, flow.dscp, reader))??;
            let program = Program::new(application(params, life), start, stop);
            let options = Options::of(&flow.sender, of_sender.name, &flow.receiver);
            let mut sender = namespaces[plan.from].within(|| SenderEnd::new(&options, from, to, flow.dscp, program))??;
            sender.watch.record.control_from = of_sender.from();
            Ok(Ends::Tcp(Box::new(Connection { sender, receiver })))
        }
        Over::Asked { .. } => Err(Error::unsupported("flow.traffic", "a transfer that the receiver asks for")),
        Over::Datagrams { sender, receiver, .. } => {
            let sender = until(stop, sender(params, life));
            let first = namespaces[plan.from].within(|| DatagramEnd::new(sender, from, to))??;
            let second = namespaces[plan.to].within(|| DatagramEnd::new(receiver(), to, from))??;
            [&first, &second].into_iter().try_for_each(|end| mark(&end.socket, flow.dscp))?;
            Ok(Ends::Datagrams(Box::new([first, second])))
        }
    }
}

impl Connection {
    /// Does what can be done at both ends.
    pub fn attend(&mut self, now: Time) {
        self.sender.attend(now);
        self.receiver.attend(now);
        if self.sender.watch.record.gave_up.is_none() && self.receiver.delivered_all.is_none() && self.has_failed() {
            self.sender.watch.record.gave_up = Some(now);
        }
    }

    fn has_failed(&self) -> bool {
        self.sender.has_failed() || self.receiver.has_failed()
    }

    /// True if all is delivered, or never will be.
    pub fn is_over(&self) -> bool {
        self.receiver.delivered_all.is_some() || self.sender.watch.record.gave_up.is_some()
    }

    fn counts(&self) -> FlowCounts {
        self.sender.counts(self.receiver.counts())
    }

    fn sample(&self) -> FlowSample {
        let counts = self.counts();
        let mut sample =
            FlowSample { ssthresh: u64::MAX, bytes_delivered: counts.delivered, bytes_arrived: counts.arrived, ..FlowSample::default() };
        self.sender.sample(&mut sample);
        self.receiver.sample(&mut sample);
        sample
    }

    fn record(&self) -> FlowRecord {
        let mut record = self.sender.watch.at_the_end();
        self.receiver.at_the_end(&mut record);
        record
    }
}

/// Makes an event of a flow.
pub fn event(time: Time, flow: u32, kind: EventKind, seq: u64) -> Event {
    Event { time, kind, flow, link: None, seq }
}
