//! No byte is lost or altered, whatever the network does (property tests).

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What the network does to one segment.
#[derive(Clone, Copy, Debug)]
enum Mischief {
    None,
    Lose,
    Duplicate,
    Delay(u64),
    /// Damaged: the checksum fails, so it never reaches the connection.
    Corrupt,
    Mark,
}

fn mischief() -> impl Strategy<Value = Mischief> {
    prop_oneof![
        12 => Just(Mischief::None),
        2 => Just(Mischief::Lose),
        1 => Just(Mischief::Duplicate),
        2 => (1u64..60).prop_map(Mischief::Delay),
        1 => Just(Mischief::Corrupt),
        1 => Just(Mischief::Mark),
    ]
}

fn any_config() -> impl Strategy<Value = TcpConfig> {
    let recovery = prop_oneof![Just(RecoveryKind::Tahoe), Just(RecoveryKind::Reno), Just(RecoveryKind::NewReno), Just(RecoveryKind::Sack)];
    let stack = prop_oneof![Just("rfc"), Just("bsd-reno-1994"), Just("linux")];
    ((stack, recovery, 100u32..2000, 1u64..200_000, 1u64..200_000), (any::<[bool; 6]>(), 1u32..6, 1u32..4)).prop_map(
        |((stack, recovery, mss, send_buffer, receive_buffer), (flags, dupack_threshold, ack_every))| TcpConfig {
            recovery,
            mss,
            send_buffer,
            receive_buffer,
            timestamps: flags[0],
            window_scale: flags[1],
            sack: flags[2],
            ecn: flags[3],
            nagle: flags[4],
            prr: flags[5],
            dupack_threshold,
            ack_every,
            // So that a run with many timeouts stays short.
            rto_max: Duration::from_secs(4),
            ..config(stack)
        },
    )
}

/// The stream's byte at `offset`, so that a byte out of place is seen.
fn byte(offset: u64, client: bool) -> u8 {
    (offset.wrapping_mul(2_654_435_761) >> 13) as u8 ^ u8::from(client)
}

/// One direction's payload as it travels: filled in from wire sequence numbers alone, checked against the stream.
struct Stream {
    iss: u32,
    client: bool,
    /// What arrived: offset of a byte to its value.
    arrived: BTreeMap<u64, u8>,
    /// The last offset called delivered and found right.
    checked: u64,
}

impl Stream {
    /// The payload bytes that the sender's application gave for this segment, by its wire number.
    fn payload(&self, segment: &Segment) -> Vec<(u32, u8)> {
        let first = segment.seq.wrapping_add(u32::from(segment.has(flags::SYN)));
        (0..u32::from(segment.len))
            .map(|i| first.wrapping_add(i))
            .map(|seq| (seq, byte(u64::from(seq.wrapping_sub(self.iss)), self.client)))
            .collect()
    }
}

fn exchange(client: TcpConfig, server: TcpConfig, iss: (u32, u32), volumes: (u64, u64), reading: u64, script: &[Mischief]) {
    use std::cell::RefCell;
    let streams = RefCell::new([
        Stream { iss: iss.0, client: true, arrived: BTreeMap::new(), checked: 0 },
        Stream { iss: iss.1, client: false, arrived: BTreeMap::new(), checked: 0 },
    ]);
    let mut pair = Pair::with_iss(client, server, ms(10), iss.0, iss.1).network(|n, client, segment, ecn| {
        let mut streams = streams.borrow_mut();
        let stream = &mut streams[usize::from(!client)];
        let payload = stream.payload(segment);
        // The mischief ends with the script, so that every run can finish.
        let what = script.get(n as usize).copied().unwrap_or(Mischief::None);
        let copies = match what {
            Mischief::Lose | Mischief::Corrupt => vec![],
            Mischief::Duplicate => vec![Duration::ZERO, ms(3)],
            Mischief::Delay(extra) => vec![ms(extra)],
            Mischief::Mark => {
                if *ecn != Ecn::NotEct {
                    *ecn = Ecn::Ce;
                }
                vec![Duration::ZERO]
            }
            Mischief::None => vec![Duration::ZERO],
        };
        if !copies.is_empty() {
            stream.arrived.extend(payload.into_iter().map(|(seq, value)| (u64::from(seq.wrapping_sub(stream.iss)), value)));
        }
        copies
    });
    if reading > 0 {
        pair.server.set_auto_read(false);
    }
    pair.client.write(volumes.0);
    pair.server.write(volumes.1);
    pair.client.close();
    let mut closed = false;
    for step in 1..200_000u64 {
        pair.run_until(at_ms(20 * step));
        if reading > 0 {
            pair.server.read(reading * (1 + step));
        }
        if pair.server.end_of_stream() && !closed {
            pair.server.close();
            closed = true;
        }
        // Whatever is called delivered has arrived (or is on its way no longer), byte for byte.
        for (end, stream) in [(&pair.server, 0), (&pair.client, 1)] {
            let stream = &mut streams.borrow_mut()[stream];
            let delivered = end.bytes_delivered();
            while stream.checked < delivered {
                stream.checked += 1;
                let offset = stream.checked;
                assert_eq!(stream.arrived.remove(&offset), Some(byte(offset, stream.client)), "byte {offset} is called delivered");
            }
        }
        if pair.client.end_of_stream() && pair.server.end_of_stream() && pair.client.all_acked() && pair.server.all_acked() {
            break;
        }
    }
    assert_eq!(
        (pair.server.bytes_delivered(), pair.client.bytes_delivered()),
        volumes,
        "a byte was lost: {:?} {:?}",
        pair.client,
        pair.server
    );
    assert!(pair.server.end_of_stream() && pair.client.end_of_stream());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        client in any_config(),
        server in any_config(),
        iss in any::<(u32, u32)>(),
        volumes in (0u64..120_000, 0u64..40_000),
        reading in prop_oneof![3 => Just(0u64), 1 => 1u64..3000],
        script in prop::collection::vec(mischief(), 0..400),
    ) {
        exchange(client, server, iss, volumes, reading, &script);
    }
}

#[test]
fn sequence_numbers_wrap_in_the_middle_of_a_stream() {
    for stack in ["rfc", "bsd-reno-1994", "linux"] {
        exchange(config(stack), config(stack), (u32::MAX - 50_000, u32::MAX - 3), (200_000, 5_000), 0, &[]);
    }
}
