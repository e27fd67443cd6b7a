//! No byte is lost or altered, whatever the network, the receiver or the applications do (property tests). Every segment crosses
//! the wire as bytes, and the damaged ones are found by their checksums.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ecn::EcnKind;
use crate::wire::{self, Address, Parsed};

/// Harm that the network does to one segment.
#[derive(Clone, Copy, Debug)]
enum Mischief {
    None,
    Lose,
    Duplicate,
    /// Milliseconds more on the way: a few reorder, thousands outlast the retransmission timer.
    Delay(u64),
    /// These of 15 bits in a row, this far into the packet, are inverted.
    Corrupt(u16, usize),
    Mark,
}

fn mischief() -> impl Strategy<Value = Mischief> {
    prop_oneof![
        24 => Just(Mischief::None),
        4 => Just(Mischief::Lose),
        2 => Just(Mischief::Duplicate),
        4 => (1u64..60).prop_map(Mischief::Delay),
        1 => (200u64..6_000).prop_map(Mischief::Delay),
        2 => (1u16..0x8000, any::<usize>()).prop_map(|(bits, at)| Mischief::Corrupt(bits, at)),
        2 => Just(Mischief::Mark),
    ]
}

fn any_config() -> impl Strategy<Value = TcpConfig> {
    let recovery = prop_oneof![
        1 => Just(RecoveryKind::Tahoe),
        1 => Just(RecoveryKind::Reno),
        1 => Just(RecoveryKind::NewReno),
        1 => Just(RecoveryKind::Sack),
        3 => Just(RecoveryKind::Rack),
    ];
    let stack = prop_oneof![Just("rfc"), Just("bsd-tahoe-1988"), Just("bsd-reno-1994"), Just("linux")];
    let mss = prop_oneof![1 => 1u32..40, 4 => 40u32..2000, 1 => 2000u32..9000];
    let pacing = prop_oneof![Just(Pacing::Auto), Just(Pacing::On), Just(Pacing::Off)];
    let buffer = || prop_oneof![1 => 1u64..50, 1 => 50u64..5_000, 4 => 5_000u64..200_000];
    let ecn = prop_oneof![Just(EcnKind::Off), Just(EcnKind::Classic), Just(EcnKind::Dctcp), Just(EcnKind::AccEcn)];
    let control = prop::sample::select(congestion::NAMES);
    let sizing = prop::sample::select(window_sizing::NAMES);
    ((stack, recovery, mss, buffer(), buffer()), (any::<[bool; 12]>(), 1u32..6, 1u32..4), (ecn, control, pacing, sizing)).prop_map(
        |((stack, recovery, mss, send_buffer, receive_buffer), (flags, dupack_threshold, ack_every), (ecn, control, pacing, sizing))| {
            TcpConfig {
                congestion_control: congestion::choice(control),
                recovery,
                mss,
                send_buffer,
                receive_buffer,
                window_sizing: window_sizing::choice(sizing),
                timestamps: flags[0],
                window_scale: flags[1],
                // SACK is what most of the cases are for.
                sack: flags[2] || flags[6],
                ecn,
                dsack: flags[8],
                ack_every,
                ..config(stack)
            }
            .with(|tcp| {
                tcp.sending.nagle = flags[4];
                tcp.repair.prr = flags[5];
                tcp.repair.limited_transmit = flags[7];
                tcp.repair.frto = flags[9];
                tcp.repair.tail_probe = flags[11];
                tcp.repair.undo = flags[10];
                tcp.repair.dupack_threshold = dupack_threshold;
                tcp.sending.pacing = pacing;
                // A run with many timeouts stays short.
                tcp.timers.rto_max = Duration::from_secs(4);
            })
        },
    )
}

/// The stream's byte at `offset`, so that a byte out of place is seen.
fn byte(offset: u32, client: bool) -> u8 {
    (offset.wrapping_mul(2_654_435_761) >> 13) as u8 ^ u8::from(client)
}

/// Side of a connection, as an observer sees the segments that it sends.
struct Side {
    client: bool,
    iss: u32,
    announced: u64,
    timestamps: bool,
    scale: Option<u8>,
    /// The right edge it last advertised and the farthest, as offsets of the other side's stream.
    edge: u64,
    farthest: u64,
    /// Bytes that have been let through, and how many were called delivered.
    arrived: BTreeMap<u64, u8>,
    checked: u64,
}

impl Side {
    fn new(client: bool, iss: u32, config: &TcpConfig) -> Self {
        Side {
            client,
            iss,
            announced: 0,
            timestamps: config.timestamps,
            scale: None,
            edge: 0,
            farthest: 0,
            arrived: BTreeMap::new(),
            checked: 0,
        }
    }

    fn payload(&self, segment: &Segment) -> Vec<u8> {
        (0..u32::from(segment.len)).map(|i| byte(segment.seq.wrapping_sub(self.iss).wrapping_add(i), self.client)).collect()
    }

    /// Checks that the sender never does what it must not, whatever it was told. (Streams here are far shorter than 4 GiB.)
    fn check(&mut self, other: &Side, segment: &Segment) {
        if segment.has(flags::SYN) {
            self.scale = segment.window_scale();
            self.announced = u64::from(segment.mss().unwrap());
        }
        if segment.has(flags::RST) {
            return;
        }
        // No segment larger than either side announced, options included (RFC 6691 §2).
        let whole = u64::from(segment.len) + u64::from(segment.options_len());
        assert!(segment.len == 0 || whole <= self.announced, "{segment:?} from one who takes {}", self.announced);
        // Below 28 bytes a segment has no room for what is on it anyway.
        assert!(segment.len <= 1 || whole <= other.announced, "{segment:?} to one who takes {}", other.announced);
        assert!(self.timestamps || segment.timestamps().is_none());
        // Nothing beyond the right edge but a probe of one octet.
        if !segment.has(flags::SYN) && segment.seq_len() > 0 {
            let end = u64::from(segment.seq.wrapping_sub(self.iss)) + u64::from(segment.seq_len());
            assert!(end <= other.farthest + 1, "{segment:?} ends at {end}, the window at {}", other.farthest);
        }
        // RFC 9293 §3.8.6.2.1, RFC 7323 §2.4: the right edge does not move left by more than the scale rounds off.
        if segment.has(flags::ACK) {
            // Only where both offered it, and never on a SYN.
            let shift = other.scale.and(self.scale).filter(|_| !segment.has(flags::SYN)).unwrap_or(0);
            self.edge = u64::from(segment.ack.wrapping_sub(other.iss)) + (u64::from(segment.window) << shift);
            assert!(self.edge + (1 << shift) > self.farthest, "the window shrank from {} to {}: {segment:?}", self.farthest, self.edge);
            self.farthest = self.farthest.max(self.edge);
        } else if segment.has(flags::SYN) {
            self.farthest = 1 + u64::from(segment.window);
        }
    }
}

/// Both ways across the wire, as bytes. `None`: the damage was found.
fn carry(segment: &Segment, ecn: Ecn, payload: &[u8], damage: Option<(u16, usize)>) -> Option<(Segment, Vec<u8>)> {
    let (a, b) = (Address { ip: [10, 0, 0, 1], port: 1 }, Address { ip: [10, 0, 0, 2], port: 2 });
    let mut packet = Vec::new();
    wire::emit(a, b, ecn, segment, payload, &mut packet);
    assert_eq!(packet.len(), segment.ip_len() as usize);
    if let Some((bits, at)) = damage {
        let at = at % (packet.len() * 8 - 15);
        for bit in (0..15).filter(|bit| bits >> bit & 1 != 0) {
            packet[(at + bit) / 8] ^= 0x80 >> ((at + bit) % 8);
        }
    }
    match wire::parse(&packet) {
        Ok(Parsed { segment: parsed, payload, .. }) => {
            // No sum is over the congestion header, so damage within it goes unseen.
            let is_unseen = segment.has_congestion()
                && damage.is_some_and(|(bits, at)| {
                    let first = at % (packet.len() * 8 - 15);
                    (0..15).filter(|bit| bits >> bit & 1 != 0).all(|bit| (160..320).contains(&(first + bit)))
                });
            // A burst this short never gets by RFC 1071's sum elsewhere.
            assert!(is_unseen || (damage.is_none() && parsed == *segment), "{parsed:?} for {segment:?}, damaged at {damage:?}");
            Some((if is_unseen { *segment } else { parsed }, payload.to_vec()))
        }
        Err(error) => {
            assert!(damage.is_some(), "{error}: {segment:?}");
            None
        }
    }
}

/// Who closes when.
#[derive(Clone, Copy, Debug)]
enum Closing {
    ClientFirst,
    ServerFirst,
    Both,
}

/// Behaviour of the two applications.
#[derive(Clone, Debug)]
struct Applications {
    /// Bytes to the server and to the client.
    volumes: (u64, u64),
    closing: Closing,
    /// Bytes that the server reads in each 20 ms, over and over; empty: everything at once. Then those of the client.
    reads: (Vec<u16>, Vec<u16>),
    /// When a receiver reneges, in steps of 20 ms, and whether the client does.
    reneges: Vec<(u16, bool)>,
}

fn any_applications() -> impl Strategy<Value = Applications> {
    let closing = prop_oneof![2 => Just(Closing::ClientFirst), 1 => Just(Closing::ServerFirst), 1 => Just(Closing::Both)];
    let reads = || prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(0u16..6_000, 1..8)];
    let reneges = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec((0u16..600, any::<bool>()), 1..6)];
    ((0u64..120_000, prop_oneof![1 => Just(0u64), 2 => 0u64..80_000]), closing, (reads(), reads()), reneges)
        .prop_map(|(volumes, closing, reads, reneges)| Applications { volumes, closing, reads, reneges })
}

/// Client and server exchange streams over a network that does `script` to its segments, in order, and then nothing more.
fn exchange(client: TcpConfig, server: TcpConfig, iss: (u32, u32), apps: &Applications, script: &[Mischief]) {
    let smallest = |a: &TcpConfig, b: &TcpConfig| u64::from(a.mss.min(b.mss)).min(a.send_buffer).min(b.receive_buffer);
    // A tiny segment or buffer is one round trip, or one probe, for little: no more than some hundred of them.
    let volumes = (apps.volumes.0.min(200 * smallest(&client, &server)), apps.volumes.1.min(200 * smallest(&server, &client)));
    let sides = RefCell::new([Side::new(true, iss.0, &client), Side::new(false, iss.1, &server)]);
    let mut pair = Pair::with_iss(client, server, ms(10), iss.0, iss.1).network(|n, client, segment, ecn| {
        let mut sides = sides.borrow_mut();
        let [first, second] = &mut *sides;
        let (side, other) = if client { (first, second) } else { (second, first) };
        side.check(other, segment);
        // The mischief ends with the script, so that every run can finish.
        let what = script.get(n as usize).copied().unwrap_or(Mischief::None);
        let copies = match what {
            Mischief::Lose => vec![],
            Mischief::Duplicate => vec![Duration::ZERO, ms(3)],
            Mischief::Delay(extra) => vec![ms(extra)],
            Mischief::Mark => {
                if *ecn != Ecn::NotEct {
                    *ecn = Ecn::Ce;
                }
                vec![Duration::ZERO]
            }
            Mischief::Corrupt(..) | Mischief::None => vec![Duration::ZERO],
        };
        let damage = if let Mischief::Corrupt(bits, at) = what { Some((bits, at)) } else { None };
        let Some((parsed, payload)) = carry(segment, *ecn, &side.payload(segment), damage) else { return vec![] };
        *segment = parsed;
        if !copies.is_empty() {
            let start = u64::from(segment.seq.wrapping_sub(side.iss));
            side.arrived.extend(payload.into_iter().zip(start..).map(|(value, at)| (at, value)));
        }
        copies
    });
    pair.server.set_auto_read(apps.reads.0.is_empty());
    pair.client.set_auto_read(apps.reads.1.is_empty());
    pair.client.write(volumes.0);
    pair.server.write(volumes.1);
    for step in 0..200_000usize {
        while pair.step(at_ms(20 * (step as u64 + 1))) {
            pair.client.assert_invariants();
            pair.server.assert_invariants();
        }
        for (end, reads) in [(&mut pair.server, &apps.reads.0), (&mut pair.client, &apps.reads.1)] {
            if !reads.is_empty() {
                // In the end all is read, in ever larger pieces, even by one who reads nothing for long.
                end.read(u64::from(reads[step % reads.len()]) * (1 + step as u64 / 100) + step as u64 / 500);
            }
        }
        for (at, client) in &apps.reneges {
            if step == usize::from(*at) {
                if *client { pair.client.renege() } else { pair.server.renege() }
            }
        }
        let (client_now, server_now) = match apps.closing {
            Closing::ClientFirst => (true, pair.server.end_of_stream()),
            Closing::ServerFirst => (pair.client.end_of_stream(), true),
            Closing::Both => (true, true),
        };
        if client_now {
            pair.client.close();
        }
        if server_now {
            pair.server.close();
        }
        // Whatever is called delivered was let through by the network, byte for byte.
        for (end, side) in [(&pair.server, 0), (&pair.client, 1)] {
            let side = &mut sides.borrow_mut()[side];
            let delivered = end.bytes_delivered();
            while side.checked < delivered {
                side.checked += 1;
                let offset = side.checked;
                assert_eq!(side.arrived.get(&offset), Some(&byte(offset as u32, side.client)), "byte {offset} is called delivered");
            }
        }
        if pair.client.end_of_stream() && pair.server.end_of_stream() && pair.client.all_acked() && pair.server.all_acked() {
            break;
        }
    }
    let delivered = (pair.server.bytes_delivered(), pair.client.bytes_delivered());
    assert_eq!(delivered, volumes, "a byte was lost: {:?} {:?}", pair.client, pair.server);
    assert!(pair.server.end_of_stream() && pair.client.end_of_stream() && pair.client.all_acked() && pair.server.all_acked());
}

proptest! {
    /// `PROPTEST_CASES` sets how many cases; tens of thousands have been run.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        client in any_config(),
        server in any_config(),
        iss in any::<(u32, u32)>(),
        applications in any_applications(),
        script in prop::collection::vec(mischief(), 0..400),
    ) {
        exchange(client, server, iss, &applications, &script);
    }

    /// Segments that no sender of ours would send: nothing breaks, and no byte beyond those that arrived is called delivered.
    #[test]
    fn any_segment_is_taken_or_refused_without_harm(
        segments in prop::collection::vec((any::<(u32, u32, u16, u16)>(), 0u16..3000, any::<Option<(u32, u32)>>(), prop::collection::vec(any::<(u32, u32)>(), 0..4)), 0..60),
        near: bool,
    ) {
        let mut pair = Pair::with_iss(config("rfc"), config("linux"), ms(10), 0, 0);
        pair.client.write(20_000);
        pair.server.write(20_000);
        for ((seq, ack, window, bits), len, timestamps, blocks) in segments {
            let shrink = |n: u32| if near { (n % 40_000).wrapping_sub(5_000) } else { n };
            // A reset or a SYN would end it all too soon.
            let mut segment = Segment::new(shrink(seq), bits & !(flags::SYN | flags::RST | flags::FIN), len);
            segment.ack = shrink(ack);
            segment.window = window;
            if let Some((val, ecr)) = timestamps {
                segment.set_timestamps(if near { val % 1000 } else { val }, ecr);
            }
            for (left, right) in blocks {
                segment.push_sack(shrink(left), shrink(right));
            }
            pair.run_until(pair.now + ms(7));
            pair.client.handle_segment(pair.now, &segment, Ecn::Ce);
            pair.server.handle_segment(pair.now, &segment, Ecn::NotEct);
            pair.client.assert_invariants();
            pair.server.assert_invariants();
        }
        pair.run_until(pair.now + Duration::from_secs(30));
    }
}

#[test]
fn sequence_numbers_wrap_in_the_middle_of_a_stream() {
    let apps = Applications { volumes: (200_000, 50_000), closing: Closing::ClientFirst, reads: (vec![], vec![]), reneges: vec![] };
    for stack in ["rfc", "bsd-tahoe-1988", "bsd-reno-1994", "linux"] {
        exchange(config(stack), config(stack), (u32::MAX - 50_000, u32::MAX - 3), &apps, &[]);
    }
}
