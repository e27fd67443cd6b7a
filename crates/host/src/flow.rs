//! Ends of a connection, each on its own: the sender, which connects, and the receiver, which listens. Neither knows the other; what both must
//! know of each other to count, callers hand over.

use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;

use longfat_core::packet::Dscp;
use longfat_core::quantiles::Quantiles;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::{self, Program, Reader};
use longfat_record::trace::{EventKind, FlowCounts, FlowRecord, FlowSample, RttRecord};
use longfat_tcp::LimitedBy;

use crate::Error;
use crate::info::{Info, ca_state, field, state};
use crate::options::Options;
use crate::stream::{End, Stream, socket};
use crate::sys;

/// Unsent bytes that a socket takes beyond those in flight (`TCP_NOTSENT_LOWAT`): there is always something to send, and no memory is
/// filled with data that cannot be sent yet.
pub const NOT_SENT: i32 = 1 << 21;

/// Marks all packets of the socket with this codepoint (ip(7), IP_TOS: the lower two bits stay those of ECN).
///
/// # Errors
/// A socket that does not take it.
pub fn mark(socket: &impl AsRawFd, dscp: Dscp) -> Result<(), Error> {
    if dscp == Dscp::DEFAULT {
        return Ok(());
    }
    let tos = i32::from(dscp.number()) << 2;
    sys::set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, tos).map_err(|e| Error::system("IP_TOS could not be set", e))
}

/// A sender as its kernel tells of it, look by look. What comes and goes between two looks is not seen.
#[derive(Debug, Default)]
pub struct Watch {
    /// Record of the flow so far: when the handshake ended, and so on.
    pub record: FlowRecord,
    ca_state: u8,
    timeouts: u64,
    rtts: Quantiles,
    last: Option<Info>,
}

impl Watch {
    /// Takes in the kernel's view `info` of the connection at `now`, whose application has closed it or not; reports its events to `note`.
    pub fn look(&mut self, now: Time, info: Info, is_shut: bool, mut note: impl FnMut(EventKind, u64)) {
        let seq = info.bytes_sent() - info.bytes_retrans().min(info.bytes_sent());
        let (before, state) = (self.ca_state, info.ca_state());
        if state == ca_state::RECOVERY && before != ca_state::RECOVERY {
            self.record.fast_retransmits += 1;
            note(EventKind::FastRetransmit, seq);
        }
        // A kernel that counts timeouts knows them all; of an older one, those are seen that are looked at in time.
        let seen = self.timeouts + u64::from(state == ca_state::LOSS && before != state);
        let timeouts = info.get(&field::total_rto).unwrap_or(seen);
        for _ in self.timeouts..timeouts {
            note(EventKind::Timeout, seq);
        }
        if before >= ca_state::RECOVERY && state < ca_state::RECOVERY {
            note(EventKind::RecoveryEnd, seq);
        }
        (self.ca_state, self.timeouts) = (state, timeouts);
        let record = &mut self.record;
        if info.rtt() > 0 && record.established.is_some() {
            self.rtts.record(info.srtt());
        }
        record.in_flight_max = record.in_flight_max.max(info.in_flight());
        if record.established.is_some()
            && record.acked_all.is_none()
            && is_shut
            && matches!(info.state(), state::FIN_WAIT2 | state::TIME_WAIT | state::CLOSE)
            && record.gave_up.is_none()
        {
            record.acked_all = Some(now);
        }
        // The kernel's `tcp_info` of a closed socket may be empty, or have the last counts (seen on 6.18).
        if info.state() != state::CLOSE || self.last.as_ref().is_none_or(|last| info.bytes_sent() > last.bytes_sent()) {
            self.last = Some(info);
        }
    }

    /// Returns the counts of the flow, of which the receiver has these and the sender's kernel says `now`; of a socket that is closed, the
    /// last look counts. The receiving kernel does not report data behind a gap; the sender's SACKed segments do.
    pub fn counts(&self, now: Option<Info>, received: FlowCounts) -> FlowCounts {
        let now = now.filter(|info| info.state() != state::CLOSE);
        let mut limited_s = [f64::NAN; LimitedBy::ALL.len()];
        let Some(info) = now.as_ref().or(self.last.as_ref()) else {
            return FlowCounts { limited_s, ..received };
        };
        let seconds = |us: u64| us as f64 / 1e6;
        let (rwnd, sndbuf) = (info.rwnd_limited(), info.sndbuf_limited());
        limited_s[LimitedBy::Cwnd as usize] = seconds(info.busy_time().saturating_sub(rwnd + sndbuf));
        limited_s[LimitedBy::Rwnd as usize] = seconds(rwnd);
        limited_s[LimitedBy::SendBuffer as usize] = seconds(sndbuf);
        let (sent, retransmitted) = (info.bytes_sent(), info.bytes_retrans());
        FlowCounts {
            // No more than was sent: the last segment may be short.
            arrived: (received.arrived + info.of_segments(info.sacked())).min(sent.saturating_sub(retransmitted)).max(received.delivered),
            duplicate: info.of_segments(info.dsack_dups()),
            sent,
            retransmitted,
            segments_sent: info.data_segs_out().into(),
            segments_retransmitted: info.total_retrans().into(),
            packets_dropped: 0,
            limited_s,
            ..received
        }
    }

    /// Forgets the round trips seen so far, all but the least.
    pub fn forget_round_trips(&mut self) {
        self.rtts.clear();
    }

    /// Returns the record of the flow at the end, without the counts and without what the receiver knows.
    pub fn at_the_end(&self) -> FlowRecord {
        let mut record =
            FlowRecord { timeouts: self.timeouts, rtt: RttRecord { deviation_s: f64::NAN, ..RttRecord::default() }, ..self.record.clone() };
        if let Some(info) = &self.last {
            record.acks_received = u64::from(info.segs_in()).saturating_sub(u64::from(record.established.is_some()));
            record.duplicates_received = info.dsack_dups().into();
            record.cwnd_end = Some(info.cwnd());
            record.ssthresh_end = Some(info.ssthresh()).filter(|bytes| *bytes != u64::MAX);
        }
        let least = self.last.as_ref().filter(|info| info.rtt() > 0).map(|info| Duration::from_micros(info.min_rtt().into()));
        record.with_round_trips(Some(&self.rtts), least)
    }
}

/// Writes into `sample` what the sender's kernel says.
pub fn sample_of_sender(info: &Info, sample: &mut FlowSample) {
    sample.cwnd = info.cwnd();
    sample.ssthresh = info.ssthresh();
    sample.in_flight = info.in_flight();
    sample.rwnd = info.snd_wnd().into();
    sample.srtt_s = info.srtt().as_secs_f64();
    sample.rto_s = Duration::from_micros(info.rto().into()).as_secs_f64();
    sample.bytes_retransmitted = info.bytes_retrans();
}

/// The sending end of a connection.
#[derive(Debug)]
pub struct SenderEnd {
    /// Socket that is bound, and not yet connected.
    unconnected: Option<socket2::Socket>,
    peer: SocketAddrV4,
    /// Window that it advertises at most.
    window: Option<i32>,
    end: End,
    /// State of the connection so far.
    pub watch: Watch,
}

impl SenderEnd {
    /// Makes the end at `local` that will connect to `peer` and run `program`, in the namespace of this thread.
    ///
    /// # Errors
    /// A socket that cannot be made as `options` say.
    pub fn new(options: &Options, local: SocketAddrV4, peer: SocketAddrV4, dscp: Dscp, program: Program) -> Result<Self, Error> {
        let unconnected = socket(options, local)?;
        sys::set_option(&unconnected, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, NOT_SENT)
            .map_err(|e| Error::system("TCP_NOTSENT_LOWAT could not be set", e))?;
        mark(&unconnected, dscp)?;
        Ok(SenderEnd {
            unconnected: Some(unconnected),
            peer,
            window: options.buffers.map(|buffers| buffers.window),
            end: End { program, stream: None },
            watch: Watch::default(),
        })
    }

    /// Connects; the stream, the first time.
    ///
    /// # Errors
    /// A system that refuses at once.
    pub fn connect(&mut self) -> Result<Option<&Stream>, Error> {
        let Some(socket) = self.unconnected.take() else { return Ok(None) };
        match socket.connect(&self.peer.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(Error::system(&format!("no connection to {}", self.peer), e)),
            _ => Ok(Some(self.end.stream.insert(Stream::new(socket, self.window)))),
        }
    }

    /// Returns its socket, connected or not yet.
    pub fn socket(&self) -> Option<&socket2::Socket> {
        self.unconnected.as_ref().or_else(|| self.end.stream.as_ref().map(|stream| &stream.socket))
    }

    /// Does what can be done.
    pub fn attend(&mut self, now: Time) {
        let established = &mut self.watch.record.established;
        if established.is_none() && self.end.stream.as_ref().is_some_and(|stream| stream.socket.peer_addr().is_ok()) {
            *established = Some(now);
        }
        self.end.attend(now);
    }

    fn is_shut(&self) -> bool {
        self.end.stream.as_ref().is_some_and(|stream| stream.is_shut)
    }

    /// Returns the time at which its program next acts, whatever happens.
    pub fn alarm(&self) -> Time {
        self.end.program.alarm()
    }

    /// True if the kernel gave the connection up, or it was reset.
    pub fn has_failed(&self) -> bool {
        self.end.has_failed()
    }

    /// True if the kernel has to be asked now and then how far it is, since it gives no event.
    pub fn is_waiting(&self) -> bool {
        let record = &self.watch.record;
        self.end.program.wait().acked || self.is_shut() && record.acked_all.is_none() && record.gave_up.is_none()
    }

    /// Looks at the connection; reports its events to `note`.
    pub fn look(&mut self, now: Time, note: impl FnMut(EventKind, u64)) {
        if let Some(info) = self.end.info() {
            self.watch.look(now, info, self.is_shut(), note);
        }
    }

    /// Returns the counts of the flow now, of which the receiver has these.
    pub fn counts(&self, received: FlowCounts) -> FlowCounts {
        self.watch.counts(self.end.info(), received)
    }

    /// Writes into `sample` what this end knows.
    pub fn sample(&self, sample: &mut FlowSample) {
        let (Some(info), Some(stream)) = (self.end.info(), &self.end.stream) else { return };
        let mut bytes = [0; 4];
        let _ = sys::option(&stream.socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &mut bytes);
        sample_of_sender(&info, sample);
        sample.send_buffered = sys::unacknowledged(&stream.socket);
        sample.send_buffer = u32::from_ne_bytes(bytes).into();
    }
}

/// The receiving end of a connection.
#[derive(Debug)]
pub struct ReceiverEnd {
    /// Socket that listens, until a connection has come.
    pub listener: Option<socket2::Socket>,
    /// Window that it advertises at most.
    window: Option<i32>,
    end: End,
    /// Time at which the application had read the end of the stream.
    pub delivered_all: Option<Time>,
}

impl ReceiverEnd {
    /// Makes the end that listens at `local` and runs `reader` on the connection that comes, in the namespace of this thread.
    ///
    /// # Errors
    /// A socket that cannot be made as `options` say.
    pub fn new(options: &Options, local: SocketAddrV4, dscp: Dscp, reader: Option<Reader>) -> Result<Self, Error> {
        let listener = socket(options, local)?;
        // Connections that it accepts inherit the codepoint.
        mark(&listener, dscp)?;
        listener.listen(16).map_err(|e| Error::system(&format!("nobody can listen at {local}"), e))?;
        let program = reader.map_or(Program::none(), |reader| Program::reader(Box::new(reader)));
        Ok(ReceiverEnd {
            listener: Some(listener),
            window: options.buffers.map(|buffers| buffers.window),
            end: End { program, stream: None },
            delivered_all: None,
        })
    }

    /// Takes the connection that has come, if one has.
    pub fn accept(&mut self) -> Option<&Stream> {
        let (socket, _) = self.listener.as_ref()?.accept().ok()?;
        self.listener = None;
        socket.set_nonblocking(true).ok()?;
        Some(self.end.stream.insert(Stream::new(socket, self.window)))
    }

    /// Does what can be done.
    pub fn attend(&mut self, now: Time) {
        self.end.attend(now);
        if let Some(stream) = &mut self.end.stream
            && stream.has_ended
            && !stream.is_shut
        {
            // Whoever has read the end of the stream closes.
            self.delivered_all = Some(now);
            traffic::Socket::close(stream);
        }
    }

    /// Returns the time at which its program next acts, whatever happens.
    pub fn alarm(&self) -> Time {
        if self.end.stream.is_some() { self.end.program.alarm() } else { Time::MAX }
    }

    /// True if the kernel gave the connection up, or it was reset.
    pub fn has_failed(&self) -> bool {
        self.end.has_failed()
    }

    /// Returns the counts of the flow now, as far as this end knows them.
    pub fn counts(&self) -> FlowCounts {
        let delivered = self.end.stream.as_ref().map_or(0, |stream| stream.read);
        let unread = self.end.stream.as_ref().map_or(0, |stream| sys::unread(&stream.socket));
        FlowCounts { delivered, arrived: delivered + unread, ..FlowCounts::default() }
    }

    /// Writes into `sample` what this end knows.
    pub fn sample(&self, sample: &mut FlowSample) {
        if let (Some(info), Some(stream)) = (self.end.info(), &self.end.stream) {
            sample.receive_buffered = sys::unread(&stream.socket);
            sample.promised = info.rcv_wnd().into();
        }
    }

    /// Writes into the record of the flow what this end knows at the end.
    pub fn at_the_end(&self, record: &mut FlowRecord) {
        record.delivered_all = self.delivered_all;
        if let Some(info) = self.end.info() {
            record_of_receiver(&info, record);
        }
    }
}

/// Writes into the record of a flow what the receiver's kernel says at the end.
pub fn record_of_receiver(info: &Info, record: &mut FlowRecord) {
    record.acks_sent = u64::from(info.segs_out()).saturating_sub(info.data_segs_out().into());
    record.packets_delivered = info.segs_in().into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::Field;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// An established connection of full segments of 1000 bytes, in this state of congestion control, of a kernel that fills `len` bytes.
    fn info(len: usize, ca: u8, values: &[(&Field, u64)]) -> Info {
        let common = [(&field::state, 1), (&field::ca_state, ca.into()), (&field::snd_mss, 1000), (&field::rtt, 40_000)];
        Info::with(len, common.iter().chain(values).copied())
    }

    /// Looks at these, 1 ms apart, and gives the names of the events.
    fn events(infos: Vec<Info>) -> (Watch, Vec<(EventKind, u64)>) {
        let (mut watch, mut events) = (Watch::default(), Vec::new());
        watch.record.established = Some(Time::ZERO);
        for (info, ms) in infos.into_iter().zip(1..) {
            watch.look(at(ms), info, true, |kind, seq| events.push((kind, seq)));
        }
        (watch, events)
    }

    #[test]
    fn recoveries_and_timeouts_are_seen() {
        let sent = (&field::bytes_sent, 9000);
        let look = |ca, rto| info(280, ca, &[sent, (&field::bytes_retrans, 2000), (&field::total_rto, rto)]);
        let (watch, events) = events(vec![look(0, 0), look(ca_state::RECOVERY, 0), look(0, 0), look(0, 2)]);
        let kinds: Vec<EventKind> = events.iter().map(|event| event.0).collect();
        assert_eq!(kinds, [EventKind::FastRetransmit, EventKind::RecoveryEnd, EventKind::Timeout, EventKind::Timeout]);
        assert!(events.iter().all(|event| event.1 == 7000));
        let record = watch.at_the_end();
        assert_eq!((record.fast_retransmits, record.timeouts, record.acked_all), (1, 2, None));
    }

    #[test]
    fn an_older_kernel_shows_the_timeouts_that_are_looked_at() {
        let look = |ca| info(236, ca, &[]);
        let (watch, _) = events(vec![look(0), look(ca_state::LOSS), look(ca_state::LOSS), look(0), look(ca_state::LOSS)]);
        assert_eq!(watch.at_the_end().timeouts, 2);
    }

    #[test]
    fn a_closed_socket_keeps_what_was_seen_last() {
        let last = info(
            280,
            0,
            &[(&field::bytes_sent, 5000), (&field::snd_cwnd, 10), (&field::busy_time, 3_000_000), (&field::rwnd_limited, 1_000_000)],
        );
        let closed = info(280, 0, &[(&field::state, state::CLOSE.into())]);
        let (watch, _) = events(vec![last, closed.clone()]);
        assert_eq!(watch.record.acked_all, Some(at(2)));
        let counts = watch.counts(Some(closed), FlowCounts { delivered: 4000, arrived: 4500, ..FlowCounts::default() });
        assert_eq!((counts.sent, counts.delivered, counts.arrived), (5000, 4000, 4500));
        assert_eq!((counts.limited_s[LimitedBy::Cwnd as usize], counts.limited_s[LimitedBy::Rwnd as usize]), (2.0, 1.0));
        assert_eq!(watch.at_the_end().cwnd_end, Some(10_000));
    }
}
