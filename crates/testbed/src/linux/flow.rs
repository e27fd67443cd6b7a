//! Ends of a flow in the kernel, and their state.

use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;

use longfat_core::packet::Dscp;
use longfat_core::quantiles::Quantiles;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::{Life, Over, Program, Reader, until};
use longfat_model::Flow;
use longfat_record::trace::{Event, EventKind, FlowCounts, FlowRecord, FlowSample, RttRecord};
use longfat_tcp::LimitedBy;

use crate::Error;
use crate::linux::datagrams::DatagramEnd;
use crate::linux::info::{Info, ca_state, state};
use crate::linux::namespace::Namespace;
use crate::linux::plan::{FlowPlan, Options, Plan};
use crate::linux::stream::{End, Stream, socket};
use crate::linux::sys;

/// Unsent bytes that a socket takes beyond those in flight (`TCP_NOTSENT_LOWAT`): there is always something to send, and no memory is
/// filled with data that cannot be sent yet.
const NOT_SENT: i32 = 1 << 21;

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
            Ends::Tcp(tcp) => tcp.watch.rtts.clear(),
            Ends::Datagrams(ends) => ends[0].datagrams.forget_round_trips(),
        }
    }

    /// Returns the record of the flow at the end, without its counts.
    pub fn record(&self) -> FlowRecord {
        let ends = match self {
            Ends::Tcp(tcp) => return tcp.at_the_end(),
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
    /// Socket that is bound, and not yet connected.
    unconnected: Option<socket2::Socket>,
    /// Socket that listens, until a connection has come.
    pub listener: Option<socket2::Socket>,
    peer: SocketAddrV4,
    /// Sender.
    pub sender: End,
    /// Receiver.
    pub receiver: End,
    /// Record of the flow so far: when the handshake ended at the sender, and so on.
    pub record: FlowRecord,
    watch: Watch,
    /// Windows that the sender and the receiver advertise at most.
    windows: [Option<i32>; 2],
}

/// State of a sender, as seen by looking now and then.
#[derive(Debug, Default)]
struct Watch {
    ca_state: u8,
    timeouts: u64,
    rtts: Quantiles,
    last: Option<Info>,
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
            let options = [Options::of(&flow.sender, of_sender, &flow.receiver), Options::of(&flow.receiver, of_receiver, &flow.sender)];
            let listener = namespaces[plan.to].within(|| {
                let socket = socket(&options[1], to)?;
                // Connections that it accepts inherit the codepoint.
                mark(&socket, flow.dscp)?;
                socket.listen(16).map_err(|e| Error::system(&format!("nobody can listen at {to}"), e))?;
                Ok(socket)
            })??;
            let unconnected = namespaces[plan.from].within(|| socket(&options[0], from))??;
            sys::set_option(&unconnected, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, NOT_SENT)
                .map_err(|e| Error::system("TCP_NOTSENT_LOWAT could not be set", e))?;
            mark(&unconnected, flow.dscp)?;
            let reader = |rate| Program::reader(Box::new(Reader::new(rate, flow.receiver.mss.into())));
            Ok(Ends::Tcp(Box::new(Connection {
                unconnected: Some(unconnected),
                listener: Some(listener),
                peer: to,
                sender: End { program: Program::new(application(params, life), start, stop), stream: None },
                receiver: End { program: flow.read_rate.map_or(Program::none(), reader), stream: None },
                record: FlowRecord { control_from: of_sender.from(), ..FlowRecord::default() },
                watch: Watch::default(),
                windows: options.map(|of| of.buffers.map(|buffers| buffers.window)),
            })))
        }
        Over::Datagrams { sender, receiver } => {
            let sender = until(stop, sender(params, life));
            let first = namespaces[plan.from].within(|| DatagramEnd::new(sender, from, to))??;
            let second = namespaces[plan.to].within(|| DatagramEnd::new(receiver(), to, from))??;
            [&first, &second].into_iter().try_for_each(|end| mark(&end.socket, flow.dscp))?;
            Ok(Ends::Datagrams(Box::new([first, second])))
        }
    }
}

/// Marks all packets of the socket with this codepoint (ip(7), IP_TOS: the lower two bits stay those of ECN).
fn mark(socket: &impl AsRawFd, dscp: Dscp) -> Result<(), Error> {
    if dscp == Dscp::DEFAULT {
        return Ok(());
    }
    let tos = i32::from(dscp.number()) << 2;
    sys::set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, tos).map_err(|e| Error::system("IP_TOS could not be set", e))
}

impl Connection {
    /// The sender connects.
    pub fn connect(&mut self) -> Result<Option<&Stream>, Error> {
        let Some(socket) = self.unconnected.take() else { return Ok(None) };
        match socket.connect(&self.peer.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(Error::system(&format!("no connection to {}", self.peer), e)),
            _ => Ok(Some(self.sender.stream.insert(Stream::new(socket, self.windows[0])))),
        }
    }

    /// Takes the connection that has come, if one has.
    pub fn accept(&mut self) -> Option<&Stream> {
        let (socket, _) = self.listener.as_ref()?.accept().ok()?;
        self.listener = None;
        socket.set_nonblocking(true).ok()?;
        Some(self.receiver.stream.insert(Stream::new(socket, self.windows[1])))
    }

    /// Does what can be done at both ends.
    pub fn attend(&mut self, now: Time) {
        self.sender.attend(now);
        self.receiver.attend(now);
        if let Some(stream) = &mut self.receiver.stream
            && stream.has_ended
            && !stream.is_shut
        {
            // Whoever has read the end of the stream closes.
            self.record.delivered_all = Some(now);
            traffic_close(stream);
        }
        let failed = [&self.sender, &self.receiver].iter().any(|end| end.stream.as_ref().is_some_and(|stream| stream.failure.is_some()));
        if failed && self.record.gave_up.is_none() && self.record.delivered_all.is_none() {
            self.record.gave_up = Some(now);
        }
    }

    /// Returns the time at which a program next acts, whatever happens.
    pub fn alarm(&self) -> Time {
        let reader = if self.receiver.stream.is_some() { self.receiver.program.alarm() } else { Time::MAX };
        self.sender.program.alarm().min(reader)
    }

    /// True if the kernel has to be asked now and then how far it is, since it gives no event.
    pub fn is_waiting(&self) -> bool {
        let is_shut = self.sender.stream.as_ref().is_some_and(|stream| stream.is_shut);
        self.sender.program.wait().acked || is_shut && self.record.acked_all.is_none() && self.record.gave_up.is_none()
    }

    /// Payload that the receiving application has.
    pub fn delivered(&self) -> u64 {
        self.receiver.stream.as_ref().map_or(0, |stream| stream.read)
    }

    /// Returns the counts of the flow now. The receiving kernel does not report data behind a gap; the sender's SACKed segments do.
    fn counts(&self) -> FlowCounts {
        let delivered = self.delivered();
        let unread = self.receiver.stream.as_ref().map_or(0, |stream| sys::unread(&stream.socket));
        let now = self.sender.stream.as_ref().and_then(|stream| Info::of(&stream.socket).ok()).filter(|info| info.state() != state::CLOSE);
        let mut limited_s = [f64::NAN; LimitedBy::ALL.len()];
        let Some(info) = now.as_ref().or(self.watch.last.as_ref()) else {
            return FlowCounts { delivered, arrived: delivered + unread, limited_s, ..FlowCounts::default() };
        };
        let seconds = |us: u64| us as f64 / 1e6;
        let (rwnd, sndbuf) = (info.rwnd_limited(), info.sndbuf_limited());
        limited_s[LimitedBy::Cwnd as usize] = seconds(info.busy_time().saturating_sub(rwnd + sndbuf));
        limited_s[LimitedBy::Rwnd as usize] = seconds(rwnd);
        limited_s[LimitedBy::SendBuffer as usize] = seconds(sndbuf);
        let (sent, retransmitted) = (info.bytes_sent(), info.bytes_retrans());
        // No more than was sent: the last segment may be short.
        let arrived = (delivered + unread + info.of_segments(info.sacked())).min(sent.saturating_sub(retransmitted)).max(delivered);
        FlowCounts {
            delivered,
            arrived,
            duplicate: info.of_segments(info.dsack_dups()),
            sent,
            retransmitted,
            segments_sent: info.data_segs_out().into(),
            segments_retransmitted: info.total_retrans().into(),
            packets_dropped: 0,
            limited_s,
        }
    }

    /// Looks at the sender; reports its events to `note`.
    pub fn look(&mut self, now: Time, mut note: impl FnMut(EventKind, u64)) {
        let Some(info) = self.sender.stream.as_ref().and_then(|stream| Info::of(&stream.socket).ok()) else { return };
        let watch = &mut self.watch;
        let seq = info.bytes_sent() - info.bytes_retrans().min(info.bytes_sent());
        let (before, state) = (watch.ca_state, info.ca_state());
        if state == ca_state::RECOVERY && before != ca_state::RECOVERY {
            self.record.fast_retransmits += 1;
            note(EventKind::FastRetransmit, seq);
        }
        // A kernel that counts timeouts knows them all; of an older one, those are seen that are looked at in time.
        let timeouts =
            if info.len >= 242 { info.total_rto().into() } else { watch.timeouts + u64::from(state == ca_state::LOSS && before != state) };
        for _ in watch.timeouts..timeouts {
            note(EventKind::Timeout, seq);
        }
        if before >= ca_state::RECOVERY && state < ca_state::RECOVERY {
            note(EventKind::RecoveryEnd, seq);
        }
        (watch.ca_state, watch.timeouts) = (state, timeouts);
        if info.rtt() > 0 && self.record.established.is_some() {
            watch.rtts.record(info.srtt());
        }
        self.record.in_flight_max = self.record.in_flight_max.max(info.in_flight());
        if self.record.established.is_some()
            && self.record.acked_all.is_none()
            && self.sender.stream.as_ref().is_some_and(|stream| stream.is_shut)
            && matches!(info.state(), state::FIN_WAIT2 | state::TIME_WAIT | state::CLOSE)
            && self.record.gave_up.is_none()
        {
            self.record.acked_all = Some(now);
        }
        // The kernel's `tcp_info` of a closed socket is empty.
        if info.state() != state::CLOSE || watch.last.is_none() {
            watch.last = Some(info);
        }
    }

    /// Returns a sample of the flow now, without its number and the time.
    fn sample(&self) -> FlowSample {
        let info = |end: &End| end.stream.as_ref().and_then(|stream| Info::of(&stream.socket).ok());
        let mut sample = FlowSample { ssthresh: u64::MAX, bytes_delivered: self.delivered(), ..FlowSample::default() };
        if let (Some(info), Some(stream)) = (info(&self.sender), &self.sender.stream) {
            let mut bytes = [0; 4];
            let _ = sys::option(&stream.socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &mut bytes);
            sample.cwnd = info.cwnd();
            sample.ssthresh = info.ssthresh();
            sample.in_flight = info.in_flight();
            sample.rwnd = info.snd_wnd().into();
            sample.send_buffered = sys::unacknowledged(&stream.socket);
            sample.send_buffer = u32::from_ne_bytes(bytes).into();
            sample.srtt_s = info.srtt().as_secs_f64();
            sample.rto_s = Duration::from_micros(info.rto().into()).as_secs_f64();
            sample.bytes_retransmitted = info.bytes_retrans();
        }
        if let (Some(info), Some(stream)) = (info(&self.receiver), &self.receiver.stream) {
            sample.receive_buffered = sys::unread(&stream.socket);
            sample.promised = info.rcv_wnd().into();
        }
        sample.bytes_arrived = self.counts().arrived;
        sample
    }

    /// Returns the record of the flow at the end, without the counts.
    fn at_the_end(&self) -> FlowRecord {
        let receiver = self.receiver.stream.as_ref().and_then(|stream| Info::of(&stream.socket).ok());
        let watch = &self.watch;
        let mut record = FlowRecord {
            timeouts: watch.timeouts,
            rtt: RttRecord { deviation_s: f64::NAN, ..RttRecord::default() },
            ..self.record.clone()
        };
        if let Some(info) = &watch.last {
            record.acks_received = u64::from(info.segs_in()).saturating_sub(u64::from(record.established.is_some()));
            record.duplicates_received = info.dsack_dups().into();
            record.cwnd_end = Some(info.cwnd());
            record.ssthresh_end = Some(info.ssthresh()).filter(|bytes| *bytes != u64::MAX);
        }
        if let Some(info) = receiver {
            record.acks_sent = u64::from(info.segs_out()).saturating_sub(info.data_segs_out().into());
            record.packets_delivered = info.segs_in().into();
        }
        let least = watch.last.as_ref().filter(|info| info.rtt() > 0).map(|info| Duration::from_micros(info.min_rtt().into()));
        record.with_round_trips(Some(&watch.rtts), least)
    }
}

fn traffic_close(stream: &mut Stream) {
    longfat_core::traffic::Socket::close(stream);
}

/// Makes an event of a flow.
pub fn event(time: Time, flow: u32, kind: EventKind, seq: u64) -> Event {
    Event { time, kind, flow, link: None, seq }
}
