//! The packets of one connection, as the table `packets` of a run has them.

use super::connection::{Connection, Point};
use super::direction::ORIGIN;
use super::table::{Table, each, since};
use crate::error::Error;
use crate::read::{Joined, Packet};
use longfat_core::packet::{Ecn, flags};
use longfat_core::time::Time;
use longfat_record::trace::{PacketEvent, PacketKind};
use std::path::Path;

/// The packets of connection `number` in the captures at `paths`, at most `most` of them.
///
/// Times count from the first packet of the capture. The flow is the connection, `forward` its direction with more data. At the sender, its
/// packets are `sent` and those that come back `delivered`; at the receiver the other way round; anywhere else all are `queued`, at no
/// link. Offsets are of the stream where its SYN was captured, and else of the first segment that was.
pub fn rows(
    paths: &[impl AsRef<Path>],
    number: u64,
    most: usize,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<PacketEvent>, Error> {
    let mut joined = Joined::open(paths)?;
    let (mut table, mut rows, mut start, mut too_many) = (Table::default(), Vec::new(), None, false);
    let (mut main, mut point) = (0, Point::Unknown);
    each(&mut joined, progress, |packet| {
        let start = *start.get_or_insert(packet.time);
        let Some(connection) = table.add(packet) else { return };
        if connection.number == number {
            too_many |= rows.len() >= most;
            if !too_many {
                rows.push(row(connection, &packet, start));
            }
            (main, point) = (connection.main(), connection.point(connection.main()));
        }
    })?;
    if too_many {
        return Err(Error::Asked(format!(
            "connection {number} has more than {most} packets: cut the capture (editcap -A, -B), or ask for more"
        )));
    }
    if rows.is_empty() {
        let count = table.count();
        return Err(Error::Asked(format!("there is no connection {number} in it: it has {count}, numbered from 0")));
    }
    for row in &mut rows {
        row.is_back ^= main == 1;
        row.kind = match point {
            Point::Sender | Point::Receiver => at_host(point == Point::Sender, row.is_back),
            Point::Between | Point::Unknown => PacketKind::Queued,
        };
    }
    Ok(rows)
}

/// Returns the event that a packet is at the host of the flow's sender, or of its receiver.
pub(super) fn at_host(is_sender: bool, is_back: bool) -> PacketKind {
    if is_sender == is_back { PacketKind::Delivered } else { PacketKind::Sent }
}

/// Returns the row of a packet that was added to its connection, whose time counts from `start`.
pub(super) fn row(connection: &mut Connection, packet: &Packet, start: i64) -> PacketEvent {
    let side = usize::from(packet.from != connection.ends[0]);
    let flow = connection.number as u32;
    let [one, other] = &mut connection.directions;
    let (own, peer) = if side == 0 { (one, other) } else { (other, one) };
    let from_origin = |offset: u64| offset.saturating_sub(ORIGIN);
    let is_syn = packet.flags & flags::SYN != 0;
    let mut row = PacketEvent {
        time: Time::from_ps(since(start, packet.time).max(0).unsigned_abs() * 1000),
        flow,
        is_back: side == 1,
        seq: from_origin(own.offset(packet.seq.wrapping_add(u32::from(is_syn)))),
        len: packet.len,
        ip_len: packet.ip_len,
        flags: packet.flags,
        window: packet.window,
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(packet.ecn & 3)],
        timestamps: packet.options.timestamps,
        mss: packet.options.mss,
        window_scale: packet.options.window_scale,
        sack_permitted: packet.options.sack_permitted,
        ..PacketEvent::default()
    };
    if packet.flags & flags::ACK != 0 {
        row.ack = Some(from_origin(peer.offset(packet.ack)));
    }
    for (block, (left, right)) in row.sack.iter_mut().zip(packet.options.sack()) {
        *block = [*left, *right].map(|edge| Some(from_origin(peer.offset(edge))));
    }
    row
}
