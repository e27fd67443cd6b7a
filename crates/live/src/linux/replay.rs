//! Samples of both ends become a trace: they are gone through in order of time, as if the recorder had been there.

use longfat_capture::sampled;
use longfat_core::time::{Duration, Time};
use longfat_host::flow::{Watch, record_of_receiver, sample_of_sender};
use longfat_host::info::{Info, ca_state, field, state};
use longfat_model::Experiment;
use longfat_record::recorder::{Recorder, Totals, Watched};
use longfat_record::trace::{
    ControlFrom, Event, EventKind, FlowCounts, FlowRecord, FlowSample, InfoSample, LinkRecord, LinkSample, LinkTotals, RttRecord, Trace,
};
use longfat_tcp::LimitedBy;

use crate::linux::data::OPENING;
use crate::linux::datagrams::Counted;
use crate::linux::rows::Row;
use crate::protocol::Nanos;

/// Samples of both hosts.
pub(crate) struct Both {
    /// Samples of this host.
    pub ours: Vec<Row>,
    /// Samples of the other host, by its own clock since its beginning.
    pub theirs: Vec<Row>,
    /// Counts of flows over UDP at this host, and at the other by its own clock.
    pub counted: [Vec<Counted>; 2],
    /// Time from the beginning of both to the run's.
    pub lead: Nanos,
    /// Time by which its beginning was before ours, as far as that is known: within as much of it.
    pub ahead: Nanos,
    /// End of the run on our clock.
    pub end: Nanos,
}

/// One flow on its way through the samples.
#[derive(Default)]
struct Flow {
    watch: Watch,
    sender: Option<Row>,
    receiver: Option<Row>,
    /// Bytes and packets that opened the connection and are no data of the flow.
    opening: (u64, u64),
    delivered_all: Option<Time>,
    /// Counts of the sender and the receiver of a flow over UDP.
    over_udp: Option<[Counted; 2]>,
}

/// Sample of one end of a flow.
enum Item {
    Tcp(Row),
    Udp(Counted),
}

struct Replay(Vec<Flow>);

fn time(ns: Nanos) -> Time {
    Time::from_ps(ns.saturating_mul(1000))
}

/// Returns the trace of `experiment`, and the flows as verdicts read them, in which this host sends the flows of which `we_send` is true.
pub(crate) fn trace(experiment: &Experiment, we_send: &[bool], both: Both) -> (Trace, Vec<sampled::Flow>) {
    let Both { ours, theirs, counted, lead, ahead, end } = both;
    // One that was cut before it began has lasted for a moment.
    let end = time(end.saturating_sub(lead).max(1_000_000)).min(Time::ZERO + experiment.measure.duration);
    let flow = |(flow, we_send): (&longfat_model::Flow, &bool)| {
        if !flow.traffic.is_tcp() {
            return Flow { over_udp: Some(Default::default()), ..Flow::default() };
        }
        let mut made = Flow { opening: if *we_send { (OPENING as u64, 1) } else { (0, 0) }, ..Flow::default() };
        made.watch.record.control_from = ControlFrom::Kernel;
        // The connection stands before the run begins; the flow starts with its first write.
        made.watch.record.established = Some(Time::ZERO + flow.start);
        made
    };
    let mut replay = Replay(experiment.flows.iter().zip(we_send).map(flow).collect());
    let shift = |row: Row, by: Nanos| {
        let at = row.at.checked_sub(by)?;
        Some(Row { at, delivered_all: row.delivered_all.map(|at| at.saturating_sub(by)), ..row })
    };
    // Nothing happens before the run begins.
    let ours = ours.into_iter().filter_map(|row| Some((shift(row, lead)?, true)));
    let theirs = theirs.into_iter().filter_map(|row| Some((shift(row, lead + ahead)?, false)));
    let mut rows: Vec<(Row, bool)> = ours.chain(theirs).collect();
    rows.sort_by_key(|(row, _)| row.at);
    let [our_counts, their_counts] = counted;
    let shift = |counts: Counted, by: Nanos| Some(Counted { at: counts.at.checked_sub(by)?, ..counts });
    let our_counts = our_counts.into_iter().filter_map(|counts| Some((shift(counts, lead)?, true)));
    let their_counts = their_counts.into_iter().filter_map(|counts| Some((shift(counts, lead + ahead)?, false)));
    let mut counts: Vec<(Counted, bool)> = our_counts.chain(their_counts).collect();
    // A packet that comes later than its successors was not lost: a number is missing at a time if it is missing ever after.
    let mut missing = vec![u64::MAX; experiment.flows.len()];
    for (counts, _) in counts.iter_mut().rev().filter(|(counts, is_ours)| we_send[counts.flow as usize] != *is_ours) {
        let least = &mut missing[counts.flow as usize];
        *least = counts.missing().min(*least);
        counts.reached = counts.distinct() + *least;
    }
    // Before its first sample a connection is as in that, and nothing has arrived.
    for (row, is_ours) in rows.iter().rev() {
        let flow = &mut replay.0[row.flow as usize];
        match we_send[row.flow as usize] == *is_ours {
            true => flow.sender = Some(row.clone()),
            false => flow.receiver = Some(Row { read: 0, unread: 0, delivered_all: None, ..row.clone() }),
        }
    }
    let mut recorder = Recorder::new(experiment, None);
    let (mut events, mut tcp_info) = (Vec::new(), Vec::new());
    let mut judged = vec![sampled::Flow::default(); experiment.flows.len()];
    let mut dropped_before = vec![None; experiment.flows.len()];
    let of_tcp = rows.into_iter().map(|(row, is_ours)| (row.at, Item::Tcp(row), is_ours));
    let of_udp = counts.into_iter().map(|(counts, is_ours)| (counts.at, Item::Udp(counts), is_ours));
    let mut items: Vec<(Nanos, Item, bool)> = of_tcp.chain(of_udp).collect();
    items.sort_by_key(|(at, ..)| *at);
    for (at, item, is_ours) in items {
        let row = match item {
            Item::Tcp(row) => row,
            Item::Udp(_) if time(at) > end => continue,
            Item::Udp(counts) => {
                while recorder.next_stop() < time(at) {
                    let stop = recorder.next_stop();
                    recorder.record(stop, &mut replay).expect("a series in memory has room");
                }
                let is_sender = we_send[counts.flow as usize] == is_ours;
                if let Some(ends) = &mut replay.0[counts.flow as usize].over_udp {
                    ends[usize::from(!is_sender)] = counts;
                }
                continue;
            }
        };
        let at = time(row.at);
        // A flow that was over by the end is known to be by a later sample.
        if at > end && !replay.0[row.flow as usize].was_over(&row, we_send[row.flow as usize] == is_ours, end) {
            continue;
        }
        let at = at.min(end);
        while recorder.next_stop() < at {
            let stop = recorder.next_stop();
            recorder.record(stop, &mut replay).expect("a series in memory has room");
        }
        let number = row.flow;
        tcp_info.push(InfoSample::of(at, number, we_send[number as usize] != is_ours, &row.info));
        let flow = &mut replay.0[number as usize];
        let seen = &mut judged[number as usize];
        if we_send[number as usize] == is_ours {
            add_sender(seen, &row);
            let started = flow.watch.record.established.is_some_and(|start| start <= at);
            flow.watch.look(at, row.info.clone(), row.is_closed, |kind: EventKind, seq| {
                if started && experiment.measure.events {
                    events.push(Event { time: at, kind, flow: number, link: None, seq });
                }
            });
            flow.sender = Some(row);
        } else {
            seen.arrived.push((row.at as i64, row.info.data_segs_in().into()));
            let before = *dropped_before[number as usize].get_or_insert(row.dropped);
            seen.dropped = row.dropped.saturating_sub(before);
            flow.delivered_all = row.delivered_all.map(time);
            flow.receiver = Some(row);
        }
    }
    while recorder.next_stop() <= end {
        let stop = recorder.next_stop();
        recorder.record(stop, &mut replay).expect("a series in memory has room");
    }
    let trace = recorder.finish(end, None, experiment, &mut replay).expect("a series in memory has room");
    (Trace { events, tcp_info, ..trace }, judged)
}

/// Adds a sample of the sender of `flow`.
fn add_sender(flow: &mut sampled::Flow, row: &Row) {
    let info = &row.info;
    // A closed socket has no connection to tell of.
    if info.state() == state::CLOSE {
        return;
    }
    flow.mss = info.snd_mss();
    flow.rtt_min = i64::from(info.min_rtt()) * 1000;
    // Kernels before 5.4 do not tell the window.
    let window = info.get(&field::snd_wnd).unwrap_or(u64::MAX);
    flow.sender.push(sampled::Sender {
        time: row.at as i64,
        acked: info.bytes_acked(),
        flight: u64::from(info.unacked()) * u64::from(info.snd_mss()),
        unsent: info.notsent_bytes().into(),
        wants: row.wants,
        window,
        rtt: i64::from(info.rtt()) * 1000,
        is_recovering: info.ca_state() >= ca_state::RECOVERY,
        is_timeout: info.ca_state() == ca_state::LOSS,
        segments: info.data_segs_out().into(),
        again: info.total_retrans().into(),
        needless: info.dsack_dups().into(),
        marked: info.delivered_ce().into(),
    });
}

impl Flow {
    /// True if `row`, a sample of the sender or the receiver after `end`, tells of a flow that was over by then.
    fn was_over(&self, row: &Row, is_sender: bool, end: Time) -> bool {
        let had_all = |delivered_all: Option<Time>| delivered_all.is_some_and(|at| at <= end);
        if is_sender {
            had_all(self.delivered_all) && self.watch.record.acked_all.is_none()
        } else {
            had_all(row.delivered_all.map(time)) && self.delivered_all.is_none()
        }
    }

    fn info(row: Option<&Row>) -> Option<&Info> {
        row.map(|row| &row.info)
    }

    fn counts(&self) -> FlowCounts {
        if let Some([sender, receiver]) = self.over_udp {
            return FlowCounts {
                delivered: receiver.bytes,
                arrived: receiver.bytes,
                duplicate: receiver.duplicate_bytes,
                sent: sender.bytes,
                segments_sent: sender.packets,
                // Those after the last arrival may be under way.
                packets_dropped: receiver.missing(),
                limited_s: [f64::NAN; LimitedBy::ALL.len()],
                ..FlowCounts::default()
            };
        }
        let (bytes, packets) = self.opening;
        let (delivered, unread) = match (&self.receiver, &self.sender) {
            (Some(row), _) => (row.read, row.unread),
            // Of a receiver that was lost, its acknowledgments tell. The SYN is one byte of them (RFC 9293, section 3.4).
            (None, Some(row)) => (row.info.bytes_acked().saturating_sub(bytes + 1), 0),
            (None, None) => (0, 0),
        };
        let received = FlowCounts { delivered, arrived: delivered + unread, ..FlowCounts::default() };
        let counts = self.watch.counts(Flow::info(self.sender.as_ref()).cloned(), received);
        FlowCounts {
            sent: counts.sent.saturating_sub(bytes),
            // SACKed segments may be the sender's of a moment later.
            arrived: counts.arrived.min(counts.sent.saturating_sub(counts.retransmitted + bytes)).max(counts.delivered),
            segments_sent: counts.segments_sent.saturating_sub(packets),
            ..counts
        }
    }
}

impl Watched for Replay {
    fn totals(&mut self, now: Time) -> Totals {
        Totals { time: now, flows: self.0.iter().map(Flow::counts).collect(), ..Totals::default() }
    }

    fn sample(&mut self, at: Time, flows: &mut Vec<FlowSample>, _links: &mut Vec<LinkSample>) {
        let sample = |(flow, number): (&Flow, u32)| {
            let counts = flow.counts();
            let mut sample = FlowSample {
                time: at,
                flow: number,
                ssthresh: u64::MAX,
                bytes_delivered: counts.delivered,
                bytes_arrived: counts.arrived,
                ..FlowSample::default()
            };
            if let Some(row) = &flow.sender {
                sample_of_sender(&row.info, &mut sample);
                (sample.send_buffered, sample.send_buffer) = (row.unacknowledged, row.send_buffer);
            }
            if let Some(row) = &flow.receiver {
                (sample.receive_buffered, sample.promised) = (row.unread, row.info.rcv_wnd().into());
            }
            sample
        };
        flows.extend(self.0.iter().zip(0..).map(sample));
    }

    fn forget_round_trips(&mut self, flow: usize) {
        self.0[flow].watch.forget_round_trips();
    }

    fn forget_waits(&mut self) {}

    fn flow(&self, flow: usize) -> FlowRecord {
        let flow = &self.0[flow];
        if let Some([_, receiver]) = flow.over_udp {
            let record = FlowRecord {
                duplicates_received: receiver.duplicates,
                packets_delivered: receiver.packets,
                rtt: RttRecord { deviation_s: f64::NAN, ..RttRecord::default() },
                ..FlowRecord::default()
            };
            return record.with_round_trips(None, None);
        }
        let mut record = flow.watch.at_the_end();
        record.delivered_all = flow.delivered_all;
        if let Some(row) = &flow.sender {
            (record.sends_completed, record.sends_copied) = (row.completed, row.copied);
        }
        if let Some(info) = Flow::info(flow.receiver.as_ref()) {
            record_of_receiver(info, &mut record);
            record.packets_delivered = record.packets_delivered.saturating_sub(flow.opening.1);
        }
        record
    }

    fn link(&self, _link: usize, _span: Duration, _from: &LinkTotals, _to: &LinkTotals) -> LinkRecord {
        unreachable!("a run between real hosts has no links")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::traffic::Traffic;
    use longfat_model::dumbbell::Dumbbell;

    /// Time before the run.
    const LEAD: Nanos = 3_000_000;

    fn row(ms: u64, read: u64, values: &[(&longfat_host::info::Field, u64)]) -> Row {
        let common =
            [(&field::state, 1), (&field::snd_mss, 1000), (&field::rtt, 40_000), (&field::min_rtt, 40_000), (&field::snd_cwnd, 10)];
        let info = Info::with(280, common.into_iter().chain(values.iter().copied()));
        let at = ms * 1_000_000;
        Row { at, read, send_buffer: 1 << 16, info, ..Row::default() }
    }

    /// One flow of 100 ms, sampled at these times, that sends and delivers 1000 bytes per ms. The other host is ahead by 20 ms.
    fn replayed(traffic: Traffic, theirs: Vec<Row>, end: u64) -> Trace {
        let mut experiment = Dumbbell { duration: Duration::from_millis(100), ..Dumbbell::default() }.experiment();
        (experiment.measure.warmup, experiment.measure.interval) = (Duration::from_millis(50), Some(Duration::from_millis(10)));
        experiment.network.links.clear();
        experiment.flows.truncate(1);
        experiment.flows[0].traffic = traffic;
        let sent = |ms: u64| (&field::bytes_sent, OPENING as u64 + 1000 * ms);
        let ours = (0..=10).map(|step| row(10 * step, 0, &[sent(10 * step), (&field::data_segs_out, 1 + 10 * step)])).collect();
        let begun = |row: Row| Row { at: row.at + LEAD, delivered_all: row.delivered_all.map(|at| at + LEAD), ..row };
        let [ours, theirs]: [Vec<Row>; 2] = [ours, theirs].map(|rows: Vec<Row>| rows.into_iter().map(begun).collect());
        trace(
            &experiment,
            &[true],
            Both { ours, theirs, counted: Default::default(), lead: LEAD, ahead: 20_000_000, end: LEAD + end * 1_000_000 },
        )
        .0
    }

    #[test]
    fn counts_of_both_ends_meet_on_one_clock() {
        let theirs = (0..=12).map(|step: u64| row(10 * step, 1000 * (10 * step).saturating_sub(20), &[])).collect();
        let trace = replayed(Traffic::bulk(), theirs, 100);
        let flow = &trace.flows[0];
        assert_eq!((flow.total.delivered, flow.total.sent, flow.total.segments_sent), (100_000, 100_000, 100));
        // A sample of the instant of the warmup counts to what follows.
        assert!((40_000..=50_000).contains(&flow.at_warmup.delivered), "{}", flow.at_warmup.delivered);
        let delivered: Vec<u64> = trace.flow_series.iter().map(|sample| sample.bytes_delivered).collect();
        assert_eq!((delivered.len(), delivered.is_sorted(), trace.end), (11, true, time(100_000_000)));
        assert!(flow.total.limited_s[0] == 0.0 && (flow.rtt.min_s, flow.rtt.mean_s) == (0.04, 0.04), "{flow:?}");
        assert!(trace.links.is_empty() && flow.delivered_all.is_none());
        let ends: Vec<usize> = [false, true].map(|end| trace.tcp_info.iter().filter(|row| row.is_receiver == end).count()).to_vec();
        assert!(ends == [11, 11] && trace.tcp_info.is_sorted_by_key(|row| row.time), "{ends:?}");
        let sent = field::ALL.iter().position(|field| *field == field::bytes_sent).unwrap();
        assert_eq!(trace.tcp_info.iter().filter(|row| !row.is_receiver).map(|row| row.values[sent]).max(), Some(100_020));
    }

    /// A flow over UDP from the other host, which is ahead by 20 ms: 2 packets of 500 bytes each 10 ms, of which number 3 is lost and the last but one
    /// comes twice. What comes after the end is not the run's.
    #[test]
    fn datagrams_are_counted_by_both_ends() {
        let mut experiment = Dumbbell { duration: Duration::from_millis(100), ..Dumbbell::default() }.experiment();
        (experiment.measure.warmup, experiment.measure.interval) = (Duration::from_millis(50), Some(Duration::from_millis(10)));
        experiment.network.links.clear();
        experiment.flows.truncate(1);
        experiment.flows[0].traffic = Traffic::udp(longfat_core::units::Rate::from_bps(800_000), 528);
        let at = |step: u64| LEAD + 10_000_000 * step;
        let sent = (0..=14).map(|step| Counted { at: at(step) + 20_000_000, packets: 2 * step, bytes: 1000 * step, ..Counted::default() });
        let came = (0..=14).map(|step: u64| {
            let (lost, twice) = (u64::from(step > 1), u64::from(step > 8));
            let distinct = 2 * step - lost;
            // At 40 ms two packets are overtaken.
            let distinct = if step == 4 { distinct - 2 } else { distinct };
            Counted {
                at: at(step),
                packets: distinct + twice,
                bytes: 500 * distinct,
                duplicates: twice,
                duplicate_bytes: 500 * twice,
                reached: 2 * step,
                ..Counted::default()
            }
        });
        let both = Both {
            ours: Vec::new(),
            theirs: Vec::new(),
            counted: [came.collect(), sent.collect()],
            lead: LEAD,
            ahead: 20_000_000,
            end: LEAD + 100_000_000,
        };
        let (trace, _) = trace(&experiment, &[false], both);
        let flow = &trace.flows[0];
        let counts = [flow.total.sent, flow.total.segments_sent, flow.total.delivered, flow.total.duplicate, flow.total.packets_dropped];
        assert_eq!(counts, [10_000, 20, 9500, 500, 1]);
        assert_eq!((flow.packets_delivered, flow.duplicates_received, flow.established, flow.acks_sent), (20, 1, None, 0));
        assert!(flow.total.limited_s.iter().all(|time| time.is_nan()) && flow.rtt.mean_s.is_nan() && flow.rtt.deviation_s.is_nan());
        let delivered: Vec<u64> = trace.flow_series.iter().map(|sample| sample.bytes_delivered).collect();
        assert_eq!((delivered.len(), delivered.is_sorted(), delivered.last()), (11, true, Some(&9500)));
    }

    #[test]
    fn a_volume_that_was_there_by_the_end_is_known_from_a_later_sample() {
        let done = |ms: u64, at: u64| Row { delivered_all: Some(at * 1_000_000), ..row(ms, 90_000, &[]) };
        let early = replayed(Traffic::ttcp(90_000), vec![row(0, 0, &[]), done(125, 112)], 95);
        assert_eq!((early.flows[0].delivered_all, early.flows[0].total.delivered), (Some(time(92_000_000)), 90_000));
        let late = replayed(Traffic::ttcp(90_000), vec![row(0, 0, &[]), done(125, 118)], 95);
        assert_eq!((late.flows[0].delivered_all, late.flows[0].total.delivered), (None, 0));
    }
}
