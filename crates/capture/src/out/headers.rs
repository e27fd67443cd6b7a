//! Headers of IPv4, TCP, UDP and ICMP, made from a run's packet records.

use crate::error::Error;
use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use longfat_core::packet::{AccEcnOption, Ecn, flags};
use longfat_model::Experiment;
use longfat_record::trace::PacketEvent;
use std::net::Ipv4Addr;

/// First port of receivers, ttcp's; and first port of senders, the first dynamic one (RFC 6335 section 6).
const RECEIVER_PORT: usize = 5001;
const SENDER_PORT: usize = 49_152;
const SENDER_PORTS: usize = 65_536 - SENDER_PORT;
/// Initial TTL of hosts. The records of a run do not tell how many hops there were.
const TTL: u8 = 64;
/// The bytes of a TCP header without options.
const TCP: u32 = 20;

/// Makes packets of one run.
pub(crate) struct Headers<'a> {
    experiment: &'a Experiment,
}

impl<'a> Headers<'a> {
    pub(crate) fn new(experiment: &'a Experiment) -> Self {
        Headers { experiment }
    }

    /// Writes the packet of `row`, with a payload of zeros, in place of the content of `bytes`.
    pub(crate) fn write(&mut self, row: &PacketEvent, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let flow = &self.experiment.flows[row.flow as usize];
        let number = row.flow as usize;
        let sender = (address(flow.from), (SENDER_PORT + number % SENDER_PORTS) as u16);
        let receiver = (address(flow.to), (RECEIVER_PORT + number / SENDER_PORTS) as u16);
        let (from, to) = if row.is_back { (receiver, sender) } else { (sender, receiver) };
        let payload = vec![0; row.len as usize];
        bytes.clear();
        let mut ip = Ipv4Header {
            time_to_live: TTL,
            source: from.0.octets(),
            destination: to.0.octets(),
            // Packets are never fragmented. The identification then means nothing (RFC 6864 section 4.1).
            dont_fragment: true,
            ecn: match row.ecn {
                Ecn::NotEct => IpEcn::ZERO,
                Ecn::Ect1 => IpEcn::ONE,
                Ecn::Ect0 => IpEcn::TWO,
                Ecn::Ce => IpEcn::THREE,
            },
            dscp: IpDscp::try_new(flow.dscp.number()).expect("a codepoint is under 64"),
            ..Ipv4Header::default()
        };
        let wrong =
            |what: &dyn std::fmt::Display| Error::Asked(format!("a packet of flow {number} at {} s: {what}", row.time.as_secs_f64()));
        let header = if flow.traffic.is_tcp() {
            ip.protocol = IpNumber::TCP;
            let mut tcp = tcp(row, from.1, to.1, self.experiment.live.is_some()).map_err(|what| wrong(&what))?;
            ip.set_payload_len(tcp.header_len() + payload.len()).map_err(|e| wrong(&e))?;
            tcp.checksum = tcp.calc_checksum_ipv4(&ip, &payload).map_err(|e| wrong(&e))?;
            tcp.to_bytes().to_vec()
        } else if flow.traffic.kind().name == "ping" {
            ip.protocol = IpNumber::ICMP;
            let echo = IcmpEchoHeader { id: number as u16, seq: row.seq as u16 };
            let kind = if row.is_back { Icmpv4Type::EchoReply(echo) } else { Icmpv4Type::EchoRequest(echo) };
            let icmp = Icmpv4Header::with_checksum(kind, &payload);
            ip.set_payload_len(icmp.header_len() + payload.len()).map_err(|e| wrong(&e))?;
            icmp.to_bytes().to_vec()
        } else {
            ip.protocol = IpNumber::UDP;
            let udp = UdpHeader::with_ipv4_checksum(from.1, to.1, &ip, &payload).map_err(|e| wrong(&e))?;
            ip.set_payload_len(8 + payload.len()).map_err(|e| wrong(&e))?;
            udp.to_bytes().to_vec()
        };
        ip.header_checksum = ip.calc_header_checksum();
        bytes.extend_from_slice(&ip.to_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&payload);
        Ok(())
    }
}

/// Returns the address of the host at a node: 10.0.0.1 is the first.
pub(crate) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node as u32)
}

/// Returns the initial sequence number of a direction of a flow. (The run records offsets, not the number that it used.)
fn initial(row_of: u32, is_back: bool) -> u32 {
    // (Knuth's multiplicative hashing: far apart for neighbours.)
    (2 * row_of + u32::from(is_back)).wrapping_add(1).wrapping_mul(2_654_435_761)
}

/// The header of TCP; `is_real`: a kernel sent it, and no simulated host.
fn tcp(row: &PacketEvent, from: u16, to: u16, is_real: bool) -> Result<TcpHeader, String> {
    // The SYN is at offset 0, and so is the first byte, which comes after it.
    let on_wire = |offset: u64, is_back: bool| initial(row.flow, is_back).wrapping_add(1).wrapping_add(offset as u32);
    let seq = on_wire(row.seq, row.is_back).wrapping_sub(u32::from(row.flags & flags::SYN != 0));
    let has = |bit: u16| row.flags & bit != 0;
    let mut header = TcpHeader::new(from, to, seq, row.window);
    header.acknowledgment_number = row.ack.map_or(0, |ack| on_wire(ack, !row.is_back));
    (header.fin, header.syn, header.rst, header.psh) = (has(flags::FIN), has(flags::SYN), has(flags::RST), has(flags::PSH));
    (header.ack, header.ece, header.cwr, header.ns) = (has(flags::ACK), has(flags::ECE), has(flags::CWR), has(flags::AE));
    let mut options = options(row, |edge| on_wire(edge, !row.is_back));
    // A trace stored without columns of options lacks these options; their room is known all the same.
    let room = match is_real {
        // IPv6 has a longer header, and kernels have options that no row has.
        true => options.len().next_multiple_of(4),
        false => row.ip_len.checked_sub(20 + TCP + row.len).ok_or("its length is less than its headers and payload")? as usize,
    };
    if options.len() > room || room > 40 || !room.is_multiple_of(4) {
        return Err(format!("its options take {} bytes, and its length leaves {room}", options.len()));
    }
    options.resize(room, NOP);
    header.set_options_raw(&options).map_err(|e| e.to_string())?;
    Ok(header)
}

const NOP: u8 = 1;

/// The options, each padded to words of 4 bytes as [`longfat_core::packet::Segment`] counts them (RFC 7323 appendix A).
pub(crate) fn options(row: &PacketEvent, on_wire: impl Fn(u64) -> u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    if let Some(mss) = row.mss {
        bytes.extend([2, 4]);
        bytes.extend(mss.to_be_bytes());
    }
    // SACK-permitted stands in the padding of the timestamps, where there are any.
    match (row.sack_permitted, row.timestamps.is_some()) {
        (true, true) => bytes.extend([4, 2]),
        (true, false) => bytes.extend([NOP, NOP, 4, 2]),
        (false, true) => bytes.extend([NOP, NOP]),
        (false, false) => {}
    }
    if let Some((val, ecr)) = row.timestamps {
        bytes.extend([8, 10]);
        bytes.extend(val.to_be_bytes());
        bytes.extend(ecr.to_be_bytes());
    }
    if let Some(shift) = row.window_scale {
        bytes.extend([NOP, 3, 3, shift]);
    }
    if let Some(option) = row.accecn {
        accecn(option, &mut bytes);
    }
    let blocks: Vec<u32> = row.sack.iter().filter_map(|[from, until]| Some([(*from)?, (*until)?])).flatten().map(on_wire).collect();
    if !blocks.is_empty() {
        bytes.extend([NOP, NOP, 5, 2 + 4 * blocks.len() as u8]);
        bytes.extend(blocks.iter().flat_map(|edge| edge.to_be_bytes()));
    }
    bytes
}

/// RFC 9768 section 3.2.3: kind 172 for order 0, 174 for order 1; counters of 24 bits.
fn accecn(option: AccEcnOption, bytes: &mut Vec<u8>) {
    let fields = usize::from(option.fields);
    let end = bytes.len() + AccEcnOption::padded_len(option.fields) as usize;
    bytes.extend([172 + 2 * option.order, 2 + 3 * option.fields]);
    bytes.extend(option.values[..fields].iter().flat_map(|value| value.to_be_bytes()[1..].to_vec()));
    bytes.resize(end, NOP);
}
