//! System calls that no library offers, each a few lines: the only `unsafe` of longfat.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

use libc::{c_int, c_void, socklen_t};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Opens a TUN device called `name` in the network namespace of this thread: IP packets without any header before them. It is gone when the
/// file is closed.
pub fn open_tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "an interface's name has at most 15 bytes");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // SAFETY: TUNSETIFF takes an ifreq, which lives until the call returns.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(file)
}

/// Sets a socket option that is a C `int`.
pub fn set_option(socket: &impl AsRawFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), size_of_val(&value) as socklen_t) };
    checked(result).map(drop)
}

/// Fills `into` with the socket option `name`; how many bytes the kernel wrote.
pub fn option(socket: &impl AsRawFd, level: c_int, name: c_int, into: &mut [u8]) -> io::Result<usize> {
    let mut len = into.len() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, the length of `into`, and says how many.
    checked(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, into.as_mut_ptr().cast::<c_void>(), &raw mut len) })?;
    Ok(len as usize)
}

/// An `ioctl` of a socket that gives a C `int`.
fn asked(socket: &impl AsRawFd, request: libc::Ioctl) -> u64 {
    let mut value: c_int = 0;
    // SAFETY: the requests below write one int.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut value) };
    if result < 0 { 0 } else { u64::try_from(value).unwrap_or(0) }
}

/// Bytes written to a TCP socket that are not acknowledged (`SIOCOUTQ`); none of a socket that cannot say.
pub fn unacknowledged(socket: &impl AsRawFd) -> u64 {
    asked(socket, libc::TIOCOUTQ)
}

/// Bytes that can be read from a socket (`SIOCINQ`); none of a socket that cannot say.
pub fn unread(socket: &impl AsRawFd) -> u64 {
    asked(socket, libc::FIONREAD)
}

/// Asks the driver of the device `name` by the ethtool `command`, an answer of `N` words with the command before them. It needs no rights for
/// commands that only read. In the network namespace of `socket`.
pub fn ethtool<const N: usize>(socket: &impl AsRawFd, name: &str, command: u32) -> io::Result<[u32; N]> {
    let mut words = [0; N];
    words[0] = command;
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL takes an ifreq that points to the structure of its command, here `N` words. Both live until the call returns.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(words)
}

/// Reads the state of the wall clock (adjtimex(2)), and whether it is synchronised. It needs no rights.
pub fn clock_state() -> io::Result<(libc::timex, bool)> {
    // SAFETY: all zeros is a valid timex, whose `modes` ask for no change.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: adjtimex takes a timex, which lives until the call returns.
    let said = checked(unsafe { libc::adjtimex(&raw mut state) })?;
    Ok((state, said != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0))
}

/// poll(2)'s answer: is there room to write? True where poll fails, so that the next write says why.
pub fn is_writable(socket: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    poll(&mut asked, PollTimeout::ZERO).map_or(true, |_| asked[0].any().unwrap_or(true))
}

/// Takes up to `most` bytes that have arrived on a TCP socket and throws them away, without a copy (`MSG_TRUNC`, tcp(7)); how many it got, 0 at
/// the end of the stream.
pub fn discard(socket: &impl AsRawFd, most: u64) -> io::Result<u64> {
    // SAFETY: with MSG_TRUNC the kernel writes nothing to the buffer of a TCP socket, so there need be none.
    let got = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most as usize, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    u64::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Gives this thread a real-time priority (`SCHED_FIFO`), 1 to 99.
pub fn run_in_real_time(priority: c_int) -> io::Result<()> {
    // SAFETY: all zeros is a valid sched_param, also where libc's has more fields than one.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    // SAFETY: 0 is the calling thread; `param` lives until the call returns.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) }).map(drop)
}

/// Binds a packet socket to the device with this index: from then on it gets packets of every protocol (packet(7)).
pub fn bind_to_device(socket: &impl AsRawFd, device: c_int) -> io::Result<()> {
    // SAFETY: all zeros is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = device;
    // SAFETY: the pointer and the length are those of `address`.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as socklen_t) };
    checked(result).map(drop)
}

/// Packet in a [`Ring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Wall time at which it passed: nanoseconds.
    pub wall: u64,
    /// Its first bytes, from the IP header on.
    pub bytes: &'a [u8],
    /// Length of the packet.
    pub len: u32,
}

/// Memory that a packet socket shares with the kernel, cut into frames of one packet each (packet(7), `PACKET_RX_RING` and `TPACKET_V2`; Linux,
/// Documentation/networking/packet_mmap.rst).
pub struct Ring {
    start: *mut u8,
    len: usize,
    frame: usize,
    next: usize,
}

// SAFETY: the memory belongs to the value alone, and to the kernel.
unsafe impl Send for Ring {}

impl Ring {
    /// Bytes that the kernel takes in one piece: a multiple of the page of every architecture.
    pub const BLOCK: usize = 1 << 16;

    /// Makes one of `blocks` blocks for `socket`, with frames of `frame` bytes: a power of two from 128 to [`Ring::BLOCK`].
    pub fn of(socket: &impl AsRawFd, frame: usize, blocks: usize) -> io::Result<Self> {
        assert!(frame.is_power_of_two() && (128..=Self::BLOCK).contains(&frame), "a block holds whole frames");
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as c_int)?;
        let len = blocks * Self::BLOCK;
        let request = libc::tpacket_req {
            tp_block_size: Self::BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame as u32,
            tp_frame_nr: (len / frame) as u32,
        };
        let size = size_of_val(&request) as socklen_t;
        // SAFETY: the pointer and the length are those of `request`.
        checked(unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, (&raw const request).cast(), size)
        })?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a free place, and nothing else of this process refers to it.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, libc::MAP_SHARED, socket.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { start: start.cast(), len, frame, next: 0 })
    }

    /// Calls `with` on the next packet, if there is one, and gives its frame back to the kernel.
    pub fn take(&mut self, with: impl FnOnce(Frame<'_>)) -> bool {
        // SAFETY: `next` is within the ring, whose frames are aligned to their size.
        let frame = unsafe { self.start.add(self.next) };
        let header: *mut libc::tpacket2_hdr = frame.cast();
        // SAFETY: the status is the first, aligned word of the header. The kernel and this thread hand the frame over by it.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*header).tp_status) };
        if status.load(Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the frame is this thread's until its status changes.
        let filled = unsafe { header.read() };
        let from = usize::from(filled.tp_net).min(self.frame);
        let len = (filled.tp_snaplen as usize).min(self.frame - from);
        // SAFETY: the bytes are within the frame, and nobody writes to them meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(frame.add(from), len) };
        with(Frame { wall: u64::from(filled.tp_sec) * 1_000_000_000 + u64::from(filled.tp_nsec), bytes, len: filled.tp_len });
        status.store(libc::TP_STATUS_KERNEL, Release);
        self.next = (self.next + self.frame) % self.len;
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this length, and no reference to it outlives the value.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}
