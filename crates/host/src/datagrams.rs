//! One end of a flow of datagrams: a UDP socket, and what decides when it sends. A probe, which the simulator sends as ICMP echo, goes over UDP as
//! well, in packets of the same size.

use std::io;
use std::net::SocketAddrV4;

use longfat_core::time::Time;
use longfat_core::traffic::{Datagram, Datagrams, HEADERS};
use socket2::{Domain, Protocol, Type};

use crate::Error;
use crate::sys;

/// The number of a datagram, and whether it is a reply.
const LABEL: usize = 5;

/// An end.
#[derive(Debug)]
pub struct DatagramEnd {
    /// Source of the packets that it sends, and sink of those that arrive.
    pub datagrams: Box<dyn Datagrams>,
    /// Socket connected to the other end.
    pub socket: socket2::Socket,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that the kernel did not take.
    pub refused: u64,
    buffer: Vec<u8>,
}

impl DatagramEnd {
    /// Makes an end from `local` to `peer`, in the namespace of this thread.
    pub fn new(datagrams: Box<dyn Datagrams>, local: SocketAddrV4, peer: SocketAddrV4) -> Result<Self, Error> {
        let made = || -> io::Result<socket2::Socket> {
            let socket = socket2::Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
            for name in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
                sys::set_option(&socket, libc::SOL_SOCKET, name, 1 << 26)?;
            }
            socket.bind(&local.into())?;
            socket.connect(&peer.into())?;
            Ok(socket)
        };
        let socket = made().map_err(|e| Error::system(&format!("a UDP socket at {local} could not be made"), e))?;
        Ok(DatagramEnd { datagrams, socket, arrived: 0, refused: 0, buffer: vec![0; 1 << 16] })
    }

    /// Takes the packets that have arrived, and sends those that are due.
    pub fn attend(&mut self, now: Time) {
        while let Ok(len) = io::Read::read(&mut &self.socket, &mut self.buffer) {
            self.arrived += 1;
            if len >= LABEL {
                let number = u32::from_be_bytes([self.buffer[0], self.buffer[1], self.buffer[2], self.buffer[3]]);
                self.datagrams.handle(now, &Datagram { number, size: len as u32 + HEADERS, is_reply: self.buffer[4] == 1 });
            }
        }
        while let Some(datagram) = self.datagrams.poll_transmit(now) {
            let bytes = &mut self.buffer[..(datagram.payload() as usize).max(LABEL)];
            bytes[..4].copy_from_slice(&datagram.number.to_be_bytes());
            bytes[4] = datagram.is_reply.into();
            self.refused += u64::from(self.socket.send(bytes).is_err());
        }
    }
}
