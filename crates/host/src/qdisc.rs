//! Queueing discipline of a device, asked by rtnetlink(7).

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2, TcStatsQueue};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::time::Duration;

/// Room for a part of an answer: a kernel sends at most 32 KiB at once.
const ROOM: usize = 1 << 16;
/// The kernel answers at once.
const PATIENCE: Duration = Duration::from_millis(200);

/// Asks for the disciplines of one device.
pub(crate) struct Qdiscs {
    socket: Socket,
    device: i32,
}

impl Qdiscs {
    /// Makes one for a device of this thread's network namespace. `None` where there is no such device, or no netlink.
    pub(crate) fn of(device: &str) -> Option<Self> {
        let device = i32::try_from(nix::net::if_::if_nametoindex(device).ok()?).ok()?;
        let family = Domain::from(libc::AF_NETLINK);
        let socket = Socket::new(family, Type::RAW, Some(Protocol::from(libc::NETLINK_ROUTE))).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(Qdiscs { socket, device })
    }

    /// Returns the counts of the discipline at the root of the device, or `None` where the kernel does not tell.
    pub(crate) fn root(&self) -> Option<TcStatsQueue> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(self.device));
        let mut question = NetlinkMessage::new(header, NetlinkPayload::from(question));
        question.finalize();
        let mut bytes = vec![0; question.buffer_len()];
        question.serialize(&mut bytes);
        // A socket without a destination sends to the kernel.
        self.socket.send(&bytes).ok()?;
        let (mut found, mut buffer) = (None, vec![0; ROOM]);
        loop {
            let len = (&self.socket).read(&mut buffer).ok()?;
            let mut rest = &buffer[..len];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).ok()?;
                rest = rest.get((message.header.length as usize).next_multiple_of(4)..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::Done(_) => return found,
                    NetlinkPayload::Error(_) => return None,
                    // Kernels answer for all devices, whatever the index.
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(discipline))
                        if discipline.header.index == self.device && discipline.header.parent == TcHandle::ROOT =>
                    {
                        found = queue(&discipline);
                    }
                    _ => {}
                }
            }
        }
    }
}

fn queue(discipline: &TcMessage) -> Option<TcStatsQueue> {
    let counts = discipline.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Stats2(all) => Some(all),
        _ => None,
    })?;
    counts.iter().find_map(|count| match count {
        TcStats2::Queue(queue) => Some(*queue),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_end_for_every_device() {
        for device in &nix::net::if_::if_nameindex().unwrap() {
            let qdiscs = Qdiscs::of(device.name().to_str().unwrap()).unwrap();
            // Twice, so that nothing of the first answer is left.
            let once = qdiscs.root().map(|queue| queue.drops);
            assert_eq!(qdiscs.root().is_some(), once.is_some(), "{:?}", device.name());
        }
        assert!(Qdiscs::of("no such device").is_none());
    }
}
