//! Packets for tests.

use super::{Address, Options, Packet};
use std::net::{IpAddr, Ipv4Addr};

fn address(host: u8, port: u16) -> Address {
    Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port)
}

/// Returns an empty packet between 10.0.0.1:1000 and 10.0.0.2:2000.
pub fn packet(time: i64, is_back: bool) -> Packet {
    let (one, other) = (address(1, 1000), address(2, 2000));
    let (from, to) = if is_back { (other, one) } else { (one, other) };
    Packet {
        time,
        from,
        to,
        ip_len: 40,
        ecn: 0,
        id: 0,
        ttl: 64,
        checksum: 0,
        seq: 0,
        ack: 0,
        flags: 0,
        window: 0,
        len: 0,
        options: Options::default(),
    }
}

/// Options with these SACK blocks.
pub fn sack(blocks: &[(u32, u32)]) -> Options {
    Options::default().with_sack(blocks)
}

/// Returns the packet from another host and port for each number.
pub fn with_port(packet: Packet, number: u32) -> Packet {
    Packet { from: address((number >> 16) as u8, number as u16), ..packet }
}
