//! Ways to give the kernel the data of a stream, whose bytes mean nothing: copied from memory, from a file (sendfile(2)), or from memory that the
//! kernel reads itself (Linux, Documentation/networking/msg_zerocopy.rst).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use longfat_tcp::SendBy;
use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use socket2::Socket;

use crate::sys;

/// Bytes of one write. The payload is zeros, since it means nothing; nobody changes them, so the kernel may read them whenever it likes.
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];
/// Room for the control messages of a completion.
const ROOM: usize = 256;
/// Origin of a completion in the error queue, and the bit that says that the data was copied (linux/errqueue.h).
const ORIGIN: u8 = 5;
const COPIED: u8 = 1;

/// Source of a stream's data, with what the kernel has said of it.
#[derive(Debug, Default)]
pub struct Sending {
    way: Way,
    counts: Zerocopy,
}

/// Sends that the kernel was to take without a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zerocopy {
    /// Sends of which the kernel has said how it took them.
    pub completed: u64,
    /// Sends that it copied all the same, or had no room to take otherwise.
    pub copied: u64,
}

#[derive(Debug, Default)]
enum Way {
    #[default]
    Copy,
    File(File),
    Zerocopy,
}

/// Lets `socket` send without a copy, if data is to be sent so.
///
/// # Errors
/// A kernel that cannot do it.
pub fn allow(socket: &impl AsRawFd, by: SendBy) -> io::Result<()> {
    if by == SendBy::Zerocopy { sys::set_option(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1) } else { Ok(()) }
}

impl Sending {
    /// Makes the source of data that is sent `by` this way, from a file in memory where it has to be one.
    ///
    /// # Errors
    /// A system without a file descriptor left.
    pub fn new(by: SendBy) -> io::Result<Self> {
        let way = match by {
            SendBy::Copy => Way::Copy,
            SendBy::Zerocopy => Way::Zerocopy,
            SendBy::Sendfile => {
                let mut file = File::from(memfd_create(c"zeros", MFdFlags::MFD_CLOEXEC)?);
                file.write_all(&ZEROS)?;
                Way::File(file)
            }
        };
        Ok(Sending { way, counts: Zerocopy::default() })
    }

    /// Gives `socket` up to `most` bytes; returns how many it took.
    ///
    /// # Errors
    /// `WouldBlock` where it has no room, and those of send(2).
    pub(crate) fn send(&mut self, socket: &Socket, most: u64) -> io::Result<usize> {
        let data = &ZEROS[..most.min(ZEROS.len() as u64) as usize];
        match &self.way {
            Way::Copy => socket.send(data),
            Way::File(file) => Ok(sendfile(socket, file, Some(&mut 0), data.len())?),
            Way::Zerocopy => {
                let sent = socket.send_with_flags(data, libc::MSG_ZEROCOPY);
                if sent.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ENOBUFS)) {
                    // Too much waits for its completion already (net.core.optmem_max).
                    let copied = socket.send(data)?;
                    (self.counts.completed, self.counts.copied) = (self.counts.completed + 1, self.counts.copied + 1);
                    return Ok(copied);
                }
                sent
            }
        }
    }

    /// Takes in what the kernel has said of sends; returns the counts so far.
    pub fn completions(&mut self, socket: &Socket) -> Zerocopy {
        while matches!(self.way, Way::Zerocopy) {
            let mut control = [0; ROOM];
            let got = match recvmsg::<()>(socket.as_raw_fd(), &mut [], Some(&mut control), MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT)
            {
                Ok(got) => got,
                Err(Errno::EINTR) => continue,
                Err(_) => break,
            };
            for message in got.cmsgs().ok().into_iter().flatten() {
                let (ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _)) = message else { continue };
                if error.ee_origin == ORIGIN {
                    // One completion is of all sends from the first number to the last.
                    let sends = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
                    self.counts.completed += sends;
                    self.counts.copied += if error.ee_code & COPIED != 0 { sends } else { 0 };
                }
            }
        }
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// A connection over loopback of each family that the machine has.
    fn pairs() -> Vec<(Socket, TcpStream)> {
        let connect = |address: &str| {
            let listener = TcpListener::bind(address).ok()?;
            let from = TcpStream::connect(listener.local_addr().ok()?).ok()?;
            Some((Socket::from(from), listener.accept().ok()?.0))
        };
        ["127.0.0.1:0", "[::1]:0"].into_iter().filter_map(connect).collect()
    }

    #[test]
    fn every_way_sends_zeros_and_one_tells_of_copies() {
        for by in [SendBy::Copy, SendBy::Sendfile, SendBy::Zerocopy] {
            for (from, mut to) in pairs() {
                allow(&from, by).unwrap();
                let mut sending = Sending::new(by).unwrap();
                for bytes in [1_000, 100_000] {
                    let sent = sending.send(&from, bytes).unwrap();
                    assert!(sent > 0 && sent as u64 <= bytes);
                    let mut got = vec![1; sent];
                    to.read_exact(&mut got).unwrap();
                    assert!(got.iter().all(|byte| *byte == 0), "{by:?}");
                }
                let begun = Instant::now();
                while by == SendBy::Zerocopy && sending.completions(&from).completed < 2 {
                    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", sending.counts);
                    std::thread::sleep(Duration::from_millis(5));
                }
                let counts = sending.completions(&from);
                // Loopback hands the packets to a reader of this host: the kernel copies them.
                let all = if by == SendBy::Zerocopy { 2 } else { 0 };
                assert_eq!(counts, Zerocopy { completed: all, copied: all }, "{by:?}");
            }
        }
    }
}
