//! Connections of this host itself, judged while their packets are captured: nothing of them is kept but the features, and rows if they are wanted.
//!
//! The host knows what a capture has to learn from the handshake: options, window scales, the least round trip, and which end this is. So the
//! capture may begin behind the handshake.

use super::connection::Connection;
use super::rows::{at_host, row};
use super::table::since;
use super::verdict::{features, verdict};
use crate::read::{Address, parse};
use longfat_record::trace::{Cause, PacketEvent};
use pcap_parser::Linktype;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Connection as its host knows it.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Number of its flow.
    pub flow: u32,
    /// Address and port of this end.
    pub local: SocketAddr,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// True if this end sends the data.
    pub sends: bool,
    /// Window scales of this end and of the other; `None`: they were not agreed on.
    pub scales: Option<[u8; 2]>,
    /// Payload of a full segment, with the room of options.
    pub mss: u16,
    /// True if SACK was agreed on.
    pub sack: bool,
    /// True if timestamps were agreed on.
    pub timestamps: bool,
    /// Least round trip, in ns.
    pub rtt: i64,
}

/// Verdict on a connection by the packets at one end.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Number of its flow.
    pub flow: u32,
    /// Cause that limited it.
    pub cause: Cause,
    /// Causes that look the same there.
    pub alike: Vec<Cause>,
    /// Probability that the cause is right, between 0 and 1.
    pub confidence: f64,
}

/// Returns the confidence in `cause` of samples that have `confidence`, beside verdicts on captures of the same flow.
///
/// One that names the same cause, or cannot tell it from its own, changes nothing: captures and samples go through the same rules, so it is no second
/// witness. Of two that differ at most one is right. With probabilities s and c, taken for independent, that is s (1 - c) / (1 - s c), by Bayes' rule.
pub fn beside(cause: Cause, confidence: f64, captured: &[&Judged]) -> f64 {
    // These two say that nothing was found.
    let is_cause = |cause: Cause| !matches!(cause, Cause::Unknown | Cause::TooShort);
    let differs = |other: &&&Judged| is_cause(other.cause) && other.cause != cause && !other.alike.contains(&cause);
    captured.iter().filter(differs).filter(|_| is_cause(cause)).fold(confidence, |s, other| {
        let c = other.confidence.min(0.99);
        s * (1.0 - c) / (1.0 - s * c)
    })
}

/// Connections of this host, while they are captured.
pub struct Watched {
    own: Vec<Own>,
    places: HashMap<[Address; 2], (usize, usize)>,
    connections: Vec<Option<Connection>>,
    /// Time from which rows count, in ns of the stamps.
    zero: i64,
    first: Option<i64>,
    rows: Vec<PacketEvent>,
    most: usize,
    left_out: u64,
}

impl Watched {
    /// Watches these connections; keeps the first `most` packets as rows, whose times count from `zero`, in ns of the stamps.
    pub fn new(own: Vec<Own>, zero: i64, most: usize) -> Self {
        let mut places = HashMap::new();
        for (place, one) in own.iter().enumerate() {
            let [local, remote] = [one.local, one.remote].map(|end| Address::new(end.ip().to_canonical(), end.port()));
            places.insert([local, remote], (place, 0));
            places.insert([remote, local], (place, 1));
        }
        let connections = own.iter().map(|_| None).collect();
        Watched { own, places, connections, zero, first: None, rows: Vec::new(), most, left_out: 0 }
    }

    /// Adds a packet of `len` bytes that passed at `time`, in ns; `bytes` are its first ones, from the IP header on.
    pub fn add(&mut self, time: i64, bytes: &[u8], len: u32) {
        // A filter let it through, so it is a segment; a cut or strange one tells nothing.
        let Ok(mut packet) = parse(Linktype::RAW, time, bytes, len) else { return };
        let Some(&(place, _)) = self.places.get(&[packet.from, packet.to]) else { return };
        packet.time = since(*self.first.get_or_insert(time), time);
        let own = &self.own[place];
        let connection = self.connections[place].get_or_insert_with(|| begun(own, packet.time));
        let side = usize::from(packet.from != connection.ends[0]);
        // Sequence numbers count from the first that is seen.
        connection.directions[side].handshake.isn.get_or_insert(packet.seq.wrapping_sub(1));
        connection.directions[1 - side].handshake.isn.get_or_insert(packet.ack.wrapping_sub(1));
        connection.add(&packet);
        if self.rows.len() < self.most {
            packet.time = time;
            self.rows.push(row(connection, &packet, self.zero));
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the verdicts, the rows in order of time, and how many packets were not kept as rows.
    pub fn finish(self) -> (Vec<Judged>, Vec<PacketEvent>, u64) {
        let Watched { own, connections, mut rows, left_out, .. } = self;
        let sends: HashMap<u32, bool> = own.iter().map(|own| (own.flow, own.sends)).collect();
        for row in &mut rows {
            row.kind = at_host(sends[&row.flow], row.is_back);
        }
        rows.sort_by_key(|row| row.time);
        let judged = own.iter().zip(connections).filter_map(|(own, connection)| Some(judge(own, connection?))).collect();
        (judged, rows, left_out)
    }
}

/// The connection from its sender to its receiver, before its first packet.
fn begun(own: &Own, time: i64) -> Connection {
    let [local, remote] = [own.local, own.remote].map(|end| Address::new(end.ip().to_canonical(), end.port()));
    let ends = if own.sends { [local, remote] } else { [remote, local] };
    let mut made = Connection::between(u64::from(own.flow), ends, time);
    for (side, direction) in made.directions.iter_mut().enumerate() {
        let is_local = (side == 0) == own.sends;
        direction.handshake.mss = Some(own.mss);
        direction.handshake.window_scale = own.scales.map(|[ours, theirs]| if is_local { ours } else { theirs });
        direction.handshake.sack_permitted = own.sack;
        direction.handshake.timestamps = own.timestamps;
        // Between this end and the point of capture there is nothing; between the other and it, the path.
        direction.rtt.near.add(if is_local { 0 } else { own.rtt });
    }
    made
}

fn judge(own: &Own, mut connection: Connection) -> Judged {
    connection.finish();
    let found = verdict(&connection, 0, &features(&connection, 0));
    let of_word = |word: &str| Cause::ALL.iter().find(|cause| cause.word() == word).copied();
    Judged {
        flow: own.flow,
        cause: of_word(found.cause).unwrap_or(Cause::Unknown),
        alike: found.cannot_tell_from.iter().filter_map(|word| of_word(word)).collect(),
        confidence: found.confidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(sends: bool) -> Own {
        let end = |host: u8, port| SocketAddr::from(([10, 0, 0, host], port));
        let [local, remote] = if sends { [end(1, 1000), end(2, 2000)] } else { [end(2, 2000), end(1, 1000)] };
        Own { flow: 3, local, remote, sends, scales: Some([2, 5]), mss: 1000, sack: true, timestamps: false, rtt: 19_900_000 }
    }

    /// Headers of a segment of the sender, or of its receiver.
    fn segment(is_back: bool, seq: u32, ack: u32, len: u32, window: u16) -> (Vec<u8>, u32) {
        let (from, to) = if is_back { (2, 1) } else { (1, 2) };
        let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 64);
        let builder = builder.tcp(1000 * u16::from(from), 1000 * u16::from(to), seq, window).ack(ack);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![0; len as usize]).unwrap();
        let whole = bytes.len() as u32;
        bytes.truncate(40);
        (bytes, whole)
    }

    /// A sender that is held by a window of 10 segments for `trips` round trips of 20 ms, as captured at either end. Its handshake was not captured.
    fn held(sends: bool, most: usize) -> (Vec<Judged>, Vec<PacketEvent>, u64) {
        let mut watched = Watched::new(vec![own(sends)], 1_000_000_000, most);
        let mut packets = Vec::new();
        // The scale is the receiver's: that of the other end at the sender, and its own at the receiver.
        let window = 10_240_u16 >> if sends { 5 } else { 2 };
        for trip in 0..20_i64 {
            for n in 0..10_i64 {
                let at = 1_000_000_000 + trip * 20_020_000 + n * 100_000;
                let seq = 7_u32.wrapping_sub(5000).wrapping_add((10 * trip + n) as u32 * 1000);
                let [left, back] = if sends { [0, 20_020_000] } else { [10_000_000, 10_020_000] };
                packets.push((at + left, segment(false, seq, 900, 1000, 100)));
                packets.push((at + back, segment(true, 900, seq.wrapping_add(1000), 0, window)));
            }
        }
        packets.sort_by_key(|(time, (bytes, _))| (*time, bytes.len() as u32 + u32::from(bytes[15] == 1)));
        for (time, (bytes, len)) in &packets {
            watched.add(*time, bytes, *len);
        }
        // Neither a stranger's packet nor a broken one counts.
        let (mut bytes, len) = segment(false, 1, 1, 0, 1);
        watched.add(5, &bytes[..19], len);
        bytes[15] = 9;
        watched.add(5, &bytes, len);
        watched.finish()
    }

    #[test]
    fn a_window_is_told_at_either_end_without_the_handshake() {
        for sends in [true, false] {
            let (judged, rows, left_out) = held(sends, 1000);
            assert_eq!((judged.len(), judged[0].flow), (1, 3));
            assert!(judged[0].cause == Cause::ReceiveWindow && judged[0].confidence > 0.5, "{judged:?}");
            assert_eq!((rows.len(), left_out), (400, 0));
            let (data, acks) = (rows.iter().find(|row| row.len > 0).unwrap(), rows.iter().find(|row| row.is_back).unwrap());
            assert_eq!((data.flow, data.seq, data.len, data.ip_len, acks.ack), (3, 0, 1000, 1040, Some(1000)));
            assert_eq!((data.kind, acks.kind), (at_host(sends, false), at_host(sends, true)));
            assert_eq!(data.time.as_ps(), if sends { 0 } else { 10_000_000_000 });
        }
    }

    #[test]
    fn rows_beyond_the_bound_are_counted_and_judged() {
        let (judged, rows, left_out) = held(true, 30);
        assert_eq!((rows.len(), left_out, judged[0].cause), (30, 370, Cause::ReceiveWindow));
        let (judged, rows, _) = Watched::new(vec![own(true)], 0, 9).finish();
        assert!(judged.is_empty() && rows.is_empty(), "a flow of which nothing was captured");
    }

    #[test]
    fn only_another_cause_lowers_the_confidence() {
        let of = |cause, confidence| Judged { flow: 0, cause, alike: vec![Cause::SmallBuffer], confidence };
        let [same, other, none] = [of(Cause::Policer, 0.9), of(Cause::RandomLoss, 0.5), of(Cause::TooShort, 1.0)];
        assert_eq!(beside(Cause::Policer, 0.8, &[&same, &none, &of(Cause::Unknown, 0.0)]), 0.8);
        assert_eq!(beside(Cause::SmallBuffer, 0.8, &[&other]), 0.8, "the capture cannot tell them apart");
        let once = beside(Cause::Policer, 0.8, &[&other]);
        assert!((once - 0.4 / 0.6).abs() < 1e-12, "{once}");
        assert!(beside(Cause::Policer, 0.8, &[&other, &same, &other]) < once);
        assert_eq!(beside(Cause::Unknown, 0.0, &[&same]), 0.0);
    }
}
