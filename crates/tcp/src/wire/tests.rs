use proptest::prelude::*;

use super::*;

const A: Address = Address { ip: [192, 0, 2, 1], port: 5001 };
const B: Address = Address { ip: [198, 51, 100, 7], port: 80 };

fn bytes_of(segment: &Segment, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    emit(A, B, Ecn::NotEct, segment, payload, &mut out);
    out
}

/// Sets the TCP checksum right again after a change, so that a test reaches what lies behind it.
fn repair(packet: &mut [u8]) {
    packet[36..38].fill(0);
    let checksum = !tcp_sum(packet, IP_HEADER);
    packet[36..38].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn the_sum_is_that_of_rfc_1071() {
    // RFC 1071 §3, the numerical example.
    assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0)), 0xddf2);
    assert_eq!(fold(sum(&[0x01], 0)), 0x0100);
}

#[test]
fn a_syn_is_laid_out_as_rfc_9293_says() {
    let mut syn = Segment::new(0x0102_0304, flags::SYN | flags::ECE | flags::CWR, 0);
    syn.window = 0xfffe;
    syn.set_mss(1460);
    syn.set_sack_permitted();
    syn.set_timestamps(0x1111_1111, 0);
    syn.set_window_scale(7);
    let packet = bytes_of(&syn, &[]);
    assert_eq!(packet.len(), syn.ip_len() as usize);
    let tcp = &packet[20..];
    assert_eq!(tcp[..4], [0x13, 0x89, 0, 80]);
    assert_eq!(tcp[4..14], [1, 2, 3, 4, 0, 0, 0, 0, 10 << 4, 0xc2]);
    assert_eq!(tcp[20..40], [2, 4, 5, 180, 4, 2, 8, 10, 0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0, 1, 3, 3, 7]);
}

#[test]
fn an_accecn_option_is_laid_out_as_rfc_9768_says() {
    let mut ack = Segment::new(1, flags::ACK | flags::AE | flags::ECE, 0);
    assert!(ack.set_accecn(AccEcnOption { order: 0, fields: 3, values: [0x01_0203, 0x04_0506, 0xff07_0809] }));
    let packet = bytes_of(&ack, &[]);
    // §3.2.2 figure 3: AE is the bit before CWR; §3.2.3 figure 4.
    assert_eq!(packet[32..34], [8 << 4 | 1, 0x50]);
    assert_eq!(packet[40..], [1, 172, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut ack = Segment::new(1, flags::ACK, 0);
    assert!(ack.push_sack(7, 8) && ack.push_sack(9, 10));
    assert!(!ack.set_accecn(AccEcnOption { order: 1, fields: 3, values: [1; 3] }), "40 bytes are all there is");
    assert!(ack.set_accecn(AccEcnOption { order: 1, fields: 2, values: [1, 2, 0] }));
    assert!(!ack.push_sack(11, 12));
    assert_eq!(bytes_of(&ack, &[])[60..], [174, 8, 0, 0, 1, 0, 0, 2]);
    assert_eq!((ack.sack(0), ack.sack(1), ack.accecn().unwrap().values), ((7, 8), (9, 10), [1, 2, 0]));
}

#[test]
fn a_congestion_header_lies_between_ip_and_tcp() {
    let mut data = Segment::new(1, flags::ACK, 3);
    let header = CongestionHeader { cwnd: 0x0102_0304, rtt: 0.5, feedback: -2.0, answered: true };
    data.set_congestion(header);
    let packet = bytes_of(&data, b"abc");
    assert_eq!((packet.len(), packet[9]), (63, PROTOCOL_XCP));
    // IEEE 754: 0.5 is 3f000000, -2 is c0000000, no number 7fc00000.
    assert_eq!(packet[20..40], [6, 20, 0, 0, 0x81, 2, 3, 4, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x7f, 0xc0, 0, 0]);
    let parsed = parse(&packet).unwrap();
    assert_eq!((parsed.segment, parsed.payload, parsed.segment.congestion()), (data, &b"abc"[..], Some(header)));
    let mut ack = Segment::new(1, flags::ACK, 0);
    ack.set_timestamps(1, 2);
    ack.set_returned_feedback(1460.0);
    assert!(ack.push_sack(7, 8) && ack.push_sack(9, 10) && !ack.push_sack(11, 12) && ack.header_len() == 92 && ack.options_len() == 32);
    let packet = bytes_of(&ack, &[]);
    assert_eq!((parse(&packet).map(|parsed| parsed.segment), ack.returned_feedback()), (Ok(ack), Some(1460.0)));
    assert_eq!(parse(&packet[..45]), Err(WireError::Truncated));
    let mut other = packet;
    other[20] = 17;
    assert_eq!(parse(&other), Err(WireError::NotTcp));
}

/// RFC 9768 §3.2.3: of an option of any other length, the whole fields count.
#[test]
fn an_accecn_option_of_any_length_is_read() {
    let mut ack = Segment::new(1, flags::ACK, 0);
    assert!(ack.set_accecn(AccEcnOption { order: 0, fields: 3, values: [0; 3] }));
    let with = |options: [u8; 12]| {
        let mut packet = bytes_of(&ack, &[]);
        packet[40..].copy_from_slice(&options);
        repair(&mut packet);
        parse(&packet).unwrap().segment.accecn().unwrap()
    };
    let option = |order, fields, values| AccEcnOption { order, fields, values };
    assert_eq!(with([172, 12, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9]), option(0, 3, [1, 2, 3]));
    assert_eq!(with([174, 7, 0, 0, 1, 9, 9, 1, 1, 1, 1, 1]), option(1, 1, [1, 0, 0]));
    assert_eq!(with([1, 172, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]), option(0, 0, [0; 3]));
}

/// Bare SYN from 1.2.3.4:1 to 5.6.7.8:2 with sequence number 3, computed by hand.
#[test]
fn the_checksum_of_a_bare_syn_is_the_one_computed_by_hand() {
    let mut out = Vec::new();
    emit(
        Address { ip: [1, 2, 3, 4], port: 1 },
        Address { ip: [5, 6, 7, 8], port: 2 },
        Ecn::NotEct,
        &Segment::new(3, flags::SYN, 0),
        &[],
        &mut out,
    );
    // Pseudo-header 0102 + 0304 + 0506 + 0708 + 6 + 20 = 102e; segment 0001 + 0002 + 0003 + 5002 = 5008; sum 6036.
    assert_eq!(out[36..38], (!0x6036_u16).to_be_bytes());
}

#[test]
fn an_unknown_option_is_skipped_and_an_impossible_length_refused() {
    // An ACK with timestamps has twelve bytes of options: put others in their place.
    let mut ack = Segment::new(1, flags::ACK, 0);
    ack.set_timestamps(1, 2);
    let with = |options: [u8; 12]| {
        let mut packet = bytes_of(&ack, &[]);
        packet[40..52].copy_from_slice(&options);
        repair(&mut packet);
        parse(&packet).map(|p| p.segment)
    };
    let plain = Segment::new(1, flags::ACK, 0);
    // Unknown kinds of several lengths; then the end of the list, and rubbish after it.
    assert_eq!(with([254, 4, 9, 9, 30, 2, 1, 0, 8, 0, 8, 0]), Ok(plain));
    assert_eq!(with([99, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Ok(plain));
    // An option of the SYN on another segment says nothing.
    assert_eq!(with([2, 4, 5, 180, 3, 3, 7, 4, 2, 1, 1, 1]), Ok(plain));
    for (options, kind) in [
        ([1, 254, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1], 254),
        ([254, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 254),
        ([8, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8),
        ([5, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 5),
        ([5, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 5),
        ([5, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 5),
        ([2, 3, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1], 2),
        ([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7], 7),
    ] {
        assert_eq!(with(options), Err(WireError::OptionLength { kind }), "{options:?}");
    }
}

#[test]
fn a_bad_header_is_refused_for_what_it_is() {
    let packet = bytes_of(&Segment::new(7, flags::ACK, 4), &[1, 2, 3, 4]);
    let change = |at: usize, to: u8| {
        let mut packet = packet.clone();
        packet[at] = to;
        packet[10..12].fill(0);
        let checksum = !fold(sum(&packet[..20], 0));
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet
    };
    assert_eq!(parse(&packet[..19]), Err(WireError::Truncated));
    assert_eq!(parse(&packet[..43]), Err(WireError::Truncated));
    assert_eq!(parse(&change(3, 39)), Err(WireError::Truncated));
    assert_eq!(parse(&change(0, 0x46)), Err(WireError::NotTcp));
    assert_eq!(parse(&change(9, 17)), Err(WireError::NotTcp));
    assert_eq!(parse(&change(6, 0x20)), Err(WireError::NotTcp));
    // Another address: the header's checksum holds, that of TCP does not.
    assert_eq!(parse(&change(12, 193)), Err(WireError::TcpChecksum));
    for offset in [0, 4, 7, 15] {
        let mut packet = packet.clone();
        packet[32] = offset << 4;
        repair(&mut packet);
        assert_eq!(parse(&packet), Err(WireError::DataOffset), "{offset}");
    }
}

fn any_segment() -> impl Strategy<Value = (Segment, Vec<u8>)> {
    let fields = (any::<(u32, u32, u16)>(), 0..=FLAGS, prop::collection::vec(any::<u8>(), 0..300));
    let counters = prop::option::of((0u8..2, 0u8..4, any::<[u32; 3]>()));
    let options =
        (any::<(Option<(u32, u32)>, Option<u16>, Option<u8>, bool)>(), prop::collection::vec(any::<(u32, u32)>(), 0..5), counters);
    (fields, options).prop_map(|(((seq, ack, window), flags, payload), ((timestamps, mss, shift, sack_permitted), blocks, counters))| {
        let mut segment = Segment::new(seq, flags, payload.len() as u16);
        segment.ack = ack;
        segment.window = window;
        if let Some((val, ecr)) = timestamps {
            segment.set_timestamps(val, ecr);
        }
        if segment.has(flags::SYN) {
            mss.into_iter().for_each(|mss| segment.set_mss(mss));
            shift.into_iter().for_each(|shift| segment.set_window_scale(shift));
            if sack_permitted {
                segment.set_sack_permitted();
            }
        } else {
            blocks.into_iter().for_each(|(left, right)| _ = segment.push_sack(left, right));
        }
        if let Some((order, fields, values)) = counters {
            segment.set_accecn(AccEcnOption { order, fields, values });
        }
        assert!(segment.options_len() <= 40, "{segment:?}");
        (segment, payload)
    })
}

fn any_ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed((segment, payload) in any_segment(), ecn in any_ecn(), trailer in 0usize..20) {
        let mut packet = Vec::new();
        emit(A, B, ecn, &segment, &payload, &mut packet);
        prop_assert_eq!(packet.len(), segment.ip_len() as usize);
        packet.resize(packet.len() + trailer, 0xa5);
        prop_assert_eq!(parse(&packet), Ok(Parsed { source: A, destination: B, ecn, segment, payload: &payload }));
    }

    /// RFC 1071's sum detects every burst of up to 15 bits. (It does not detect words that changed places, nor errors that cancel.)
    #[test]
    fn a_burst_of_up_to_15_damaged_bits_is_detected((segment, payload) in any_segment(), at: prop::sample::Index, pattern in 1u16..0x8000) {
        let mut packet = bytes_of(&segment, &payload);
        let at = at.index(packet.len() * 8 - 15);
        for bit in 0..15 {
            if pattern >> bit & 1 != 0 {
                packet[(at + bit) / 8] ^= 0x80 >> ((at + bit) % 8);
            }
        }
        prop_assert!(parse(&packet).is_err());
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..120), honest: bool) {
        if honest && bytes.len() >= 40 {
            // Let the parser get as far as the options.
            bytes[0] = 0x45;
            bytes[6] &= 0xc0;
            bytes[7] = 0;
            bytes[9] = 6;
            let total = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&total.to_be_bytes());
            bytes[10..12].fill(0);
            let checksum = !fold(sum(&bytes[..20], 0));
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            repair(&mut bytes);
            let reached = matches!(parse(&bytes), Ok(_) | Err(WireError::DataOffset | WireError::OptionLength { .. }));
            prop_assert!(reached);
        } else {
            _ = parse(&bytes);
        }
    }
}
