//! Tests of every link layer and container, and of arbitrary content of a file.

use super::{Input, Joined, Skip, parse};
use crate::error::Error;
use etherparse::PacketBuilder;
use flate2::write::GzEncoder;
use pcap_parser::{LegacyPcapBlock, Linktype, PcapHeader, ToVec};
use proptest::prelude::*;
use std::io::{Cursor, Write};

/// An IP packet with a TCP segment of 100 bytes and timestamps.
fn segment(is_v6: bool, seq: u32) -> Vec<u8> {
    let ip = if is_v6 { PacketBuilder::ipv6([1; 16], [2; 16], 60) } else { PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 60) };
    let tcp = ip.tcp(1000, 2000, seq, 500).ack(77);
    let tcp = tcp.options_raw(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]).unwrap();
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, &[0; 100]).unwrap();
    bytes
}

fn pcap(link: i32, is_nano: bool, frames: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let mut header = PcapHeader { network: Linktype(link), snaplen: 65535, ..PcapHeader::new() };
    if is_nano {
        header.magic_number = 0xa1b2_3c4d;
    }
    let mut bytes = header.to_vec_raw().unwrap();
    for (sec, sub, data) in frames {
        let frame = LegacyPcapBlock { ts_sec: *sec, ts_usec: *sub, caplen: data.len() as u32, origlen: data.len() as u32, data };
        bytes.extend(frame.to_vec_raw().unwrap());
    }
    bytes
}

fn input(bytes: Vec<u8>) -> Result<Input, Error> {
    Input::new("a", Cursor::new(bytes))
}

#[test]
fn every_link_layer_leads_to_the_segment() {
    let (v4, v6) = (segment(false, 9), segment(true, 9));
    let before = |head: &[u8], ip: &[u8]| [head, ip].concat();
    let ethernet = |kind: [u8; 2]| [[0xaa; 12].as_slice(), &kind].concat();
    let label = |bottom: u8| vec![0, 1, bottom, 64];
    let sll = |kind: [u8; 2]| [[0; 14].as_slice(), &kind].concat();
    let sll2 = |kind: [u8; 2]| [kind.as_slice(), &[0; 18]].concat();
    let frames: Vec<(&str, Linktype, Vec<u8>)> = vec![
        ("Ethernet, IPv4", Linktype::ETHERNET, before(&ethernet([8, 0]), &v4)),
        ("Ethernet, IPv6", Linktype::ETHERNET, before(&ethernet([0x86, 0xdd]), &v6)),
        ("VLAN", Linktype::ETHERNET, before(&[ethernet([0x81, 0]), vec![0, 7, 8, 0]].concat(), &v4)),
        ("VLAN in VLAN", Linktype::ETHERNET, before(&[ethernet([0x88, 0xa8]), vec![0, 7, 0x81, 0, 0, 8, 0x86, 0xdd]].concat(), &v6)),
        ("MPLS", Linktype::ETHERNET, before(&[ethernet([0x88, 0x47]), label(1)].concat(), &v4)),
        ("two labels", Linktype::ETHERNET, before(&[ethernet([0x88, 0x47]), label(0), label(1)].concat(), &v6)),
        ("pseudowire", Linktype::ETHERNET, before(&[ethernet([0x88, 0x47]), label(1), vec![0; 4], ethernet([8, 0])].concat(), &v4)),
        ("raw IPv4", Linktype::RAW, v4.clone()),
        ("raw IPv6", Linktype::IPV6, v6.clone()),
        ("Linux cooked", Linktype::LINUX_SLL, before(&sll([8, 0]), &v4)),
        ("Linux cooked 2", Linktype::LINUX_SLL2, before(&sll2([0x86, 0xdd]), &v6)),
        ("Linux cooked with VLAN", Linktype::LINUX_SLL2, before(&[sll2([0x81, 0]), vec![0, 7, 8, 0]].concat(), &v4)),
        ("loopback", Linktype::NULL, before(&[2, 0, 0, 0], &v4)),
        ("loopback, of another byte order", Linktype::NULL, before(&[0, 0, 0, 30], &v6)),
        ("loopback of OpenBSD", Linktype::LOOP, before(&[0, 0, 0, 2], &v4)),
        ("PPP", Linktype(9), before(&[0, 0x21], &v4)),
        ("PPP, IPv6, a protocol field of one byte", Linktype(9), before(&[0x57], &v6)),
        ("PPP with address and control", Linktype(9), before(&[0xff, 3, 0, 0x57], &v6)),
        ("PPP in HDLC", Linktype(50), before(&[0xff, 3, 0x21], &v4)),
        ("PPP with MPLS", Linktype(9), before(&[vec![0xff, 3, 2, 0x81], label(1)].concat(), &v4)),
        ("PPP of pppd", Linktype(166), before(&[1, 3, 0, 0x21], &v4)),
        ("Cisco's HDLC", Linktype(104), before(&[0x0f, 0, 8, 0], &v4)),
        ("Cisco's HDLC as PPP's", Linktype(50), before(&[0x8f, 0, 0x86, 0xdd], &v6)),
        ("PPPoE", Linktype(51), before(&[0x11, 0, 0, 7, 0, 154, 0, 0x21], &v4)),
        ("PPPoE in Ethernet", Linktype::ETHERNET, before(&[ethernet([0x88, 0x64]), vec![0x11, 0, 0, 7, 0, 154, 0, 0x21]].concat(), &v4)),
        ("FDDI", Linktype(10), before(&[vec![0x50; 13], vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat(), &v4)),
    ];
    for (name, link, bytes) in frames {
        let packet = parse(link, 5, &bytes, bytes.len() as u32).unwrap_or_else(|skip| panic!("{name}: {skip:?}"));
        assert_eq!((packet.seq, packet.ack, packet.len, packet.window), (9, 77, 100, 500), "{name}");
        assert_eq!(packet.options.timestamps, Some((5, 6)), "{name}");
        assert_eq!((packet.from.port(), packet.to.port()), (1000, 2000), "{name}");
        // Padded as short frames are; the length of the packet is what counts.
        let padded = [bytes.clone(), vec![0; 30]].concat();
        assert_eq!(parse(link, 5, &padded, padded.len() as u32).unwrap().len, 100, "{name}");
        // Snapped anywhere: the same numbers, or an error, up to the end of the fixed header.
        for cut in 0..bytes.len() {
            match parse(link, 5, &bytes[..cut], bytes.len() as u32) {
                Ok(packet) => assert_eq!((packet.seq, packet.len), (9, 100), "{name} at {cut}"),
                Err(skip) => assert!(matches!(skip, Skip::Cut) && cut < bytes.len() - 112, "{name} at {cut}: {skip:?}"),
            }
        }
    }
    assert_eq!(parse(Linktype(147), 0, &v4, 9), Err(Skip::LinkType(147)));
    assert_eq!(parse(Linktype::ETHERNET, 0, &ethernet([8, 6]), 14), Err(Skip::NotIp));
    // PPP's own link control protocol (RFC 1661), and LLC that is not SNAP.
    assert_eq!(parse(Linktype(9), 0, &[0xff, 3, 0xc0, 0x21, 1], 5), Err(Skip::NotIp));
    assert_eq!(parse(Linktype(10), 0, &[0x42; 30], 30), Err(Skip::NotIp));
}

#[test]
fn addresses_are_written_as_people_do() {
    let text = |is_v6| parse(Linktype::RAW, 0, &segment(is_v6, 1), 200).unwrap().from.to_string();
    assert_eq!((text(false).as_str(), text(true).as_str()), ("10.0.0.1:1000", "[101:101:101:101:101:101:101:101]:1000"));
}

#[test]
fn containers_and_clocks() {
    let frames = [(7, 123_456, segment(false, 1)), (7, 123_457, segment(false, 2))];
    let plain = pcap(101, false, &frames);
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    for bytes in [plain.clone(), gzip.finish().unwrap(), zstd] {
        let mut input = input(bytes).unwrap();
        let times: Vec<i64> = std::iter::from_fn(|| input.next_packet()).map(|packet| packet.time).collect();
        assert_eq!(times, [7_123_456_000, 7_123_457_000]);
        assert_eq!(input.remarks(), [""; 0]);
    }
    let mut nano = input(pcap(101, true, &frames)).unwrap();
    assert_eq!(nano.next_packet().unwrap().time, 7_000_123_456);
}

#[test]
fn what_is_no_capture_is_said() {
    let said = |bytes: &[u8]| input(bytes.to_vec()).err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(said(b""), "a: the file is empty");
    assert_eq!(said(b"%PDF-1.4"), "a: no capture: it begins with 25 50 44 46, and neither pcap nor pcapng (nor gzip or zstd of them) does");
    assert!(said(&[0x1f, 0x8b, 8, 0, 0]).starts_with("a: cannot be unpacked: "));
    assert_eq!(said(&[0xd4, 0xc3, 0xb2, 0xa1, 2]), "a: a capture whose header is cut short or corrupt: there is nothing to read");
}

#[test]
fn a_capture_that_swaps_lengths_is_said_to() {
    let mut old = pcap(101, false, &[(1, 0, segment(false, 1))]);
    old[6] = 2;
    let mut input = input(old).unwrap();
    while input.next_packet().is_some() {}
    assert!(input.remarks()[0].starts_with("it is older than version 2.3 of pcap"), "{:?}", input.remarks());
}

#[test]
fn what_can_be_read_is_used() {
    let whole = pcap(101, false, &[(1, 0, segment(false, 1)), (3, 0, segment(false, 2)), (2, 0, segment(false, 3))]);
    let mut cut = input(whole[..whole.len() - 5].to_vec()).unwrap();
    assert_eq!(std::iter::from_fn(|| cut.next_packet()).count(), 2);
    assert!(cut.remarks()[0].starts_with("cut short after 2 frames, "), "{:?}", cut.remarks());
    let mut backwards = input(whole.clone()).unwrap();
    assert_eq!(std::iter::from_fn(|| backwards.next_packet()).count(), 3);
    assert_eq!(backwards.remarks(), ["1 frames were captured before the one that stands before them"]);
    // A length that no frame has.
    let mut corrupt = whole.clone();
    let second = 24 + 16 + segment(false, 1).len();
    corrupt[second + 8..second + 12].copy_from_slice(&[0xff; 4]);
    let mut corrupt = input(corrupt).unwrap();
    assert_eq!(std::iter::from_fn(|| corrupt.next_packet()).count(), 1);
    assert!(corrupt.remarks()[0].contains("after 1 frames"), "{:?}", corrupt.remarks());
    let mut other = input(pcap(147, false, &[(1, 0, segment(false, 1))])).unwrap();
    assert!(other.next_packet().is_none());
    assert_eq!(other.remarks(), ["1 frames are of link type 147, which longfat does not read"]);
    // Unpacked as far as it goes.
    let frames: Vec<_> = (0..5000_u32).map(|seq| (seq, seq, segment(false, seq.wrapping_mul(0x9e37_79b9)))).collect();
    let packed = zstd::encode_all(&pcap(101, false, &frames)[..], 1).unwrap();
    let mut packed = input(packed[..packed.len() - 20].to_vec()).unwrap();
    assert!(std::iter::from_fn(|| packed.next_packet()).count() > 1000);
    assert!(packed.remarks().iter().any(|remark| remark.starts_with("cannot be unpacked to its end: ")), "{:?}", packed.remarks());
}

#[test]
fn several_files_are_one_in_order_of_time() {
    let file = |times: &[u32]| {
        let frames: Vec<_> = times.iter().map(|time| (*time, 0, segment(false, *time))).collect();
        input(pcap(101, false, &frames)).unwrap()
    };
    let mut joined = Joined::of(vec![file(&[1, 4, 9]), file(&[2, 3]), file(&[])], 1);
    let seqs: Vec<u32> = std::iter::from_fn(|| joined.next_packet()).map(|packet| packet.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 9]);
}

/// Returns the number of inputs of each kind; a million in all with `LONGFAT_FUZZ=250000`.
fn cases() -> ProptestConfig {
    let cases = std::env::var("LONGFAT_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// Reads all of it, through the analysis too.
fn read(bytes: Vec<u8>) {
    let Ok(input) = input(bytes) else { return };
    let mut joined = Joined::of(vec![input], 1);
    let mut table = crate::flow::Table::new(1000);
    while let Some(packet) = joined.next_packet() {
        table.add(packet);
    }
    table.finish();
    let _ = joined.inputs[0].remarks();
}

fn pcapng() -> Vec<u8> {
    let mut bytes = crate::out::testing::section("a comment");
    for seq in 0..6 {
        bytes.extend(crate::out::testing::frame(seq, &segment(seq % 2 == 1, u32::from(seq as u8))));
    }
    bytes
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0..6) {
        let magic: &[u8] = match kind {
            0 => &[],
            1 => &[0xd4, 0xc3, 0xb2, 0xa1],
            2 => &[0xa1, 0xb2, 0x3c, 0x4d],
            3 => &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
            4 => &[0x1f, 0x8b],
            _ => &[0x28, 0xb5, 0x2f, 0xfd],
        };
        read([magic, &bytes].concat());
    }
    #[test]
    fn no_frame_is_too_much(bytes in prop::collection::vec(any::<u8>(), 0..120), link in prop::sample::select(vec![0, 1, 101, 113, 276, 228, 229, 12, 9, 10, 50, 51, 104, 166]), wire in any::<u32>()) {
        let _ = parse(Linktype(link), 0, &bytes, wire);
    }
    #[test]
    fn no_change_is_too_much(
        is_ng in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let frames: Vec<_> = (0..6).map(|seq| (seq, 0, segment(seq % 2 == 1, seq))).collect();
        let mut bytes = if is_ng { pcapng() } else { pcap(101, false, &frames) };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read(bytes);
    }
}
