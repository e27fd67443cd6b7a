//! Facts that could spoil a run, read from the kernel before and after it.

use std::fs;

use longfat_core::time::Time;
use longfat_record::trace::RealTime;

use crate::Error;
use crate::linux::clock::Drift;
use crate::linux::namespace::Namespace;

/// Places in `/proc/net/dev`: packets that the device could not take from us, and packets that it had no room for.
const RECEIVE_DROPPED: usize = 3;
const TRANSMIT_DROPPED: usize = 11;
/// Counters of packets that a connection or a socket had no room for.
const AT_SOCKET: &[&str] = &[
    "TcpExt.TCPBacklogDrop",
    "TcpExt.RcvPruned",
    "TcpExt.OfoPruned",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPZeroWindowDrop",
    "TcpExt.ListenOverflows",
    "TcpExt.TCPMemoryPressures",
    "Udp.RcvbufErrors",
    "Udp.SndbufErrors",
];

/// Counts that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    device: u64,
    input: u64,
    socket: u64,
    stolen_ticks: u64,
}

/// Counters and clock before a run.
pub struct Before {
    counts: Counts,
    drift: Drift,
}

impl Before {
    /// Reads the counters now.
    pub fn now(namespaces: &[Namespace]) -> Result<Self, Error> {
        Ok(Before { counts: count(namespaces)?, drift: Drift::start() })
    }

    /// Returns the changes since then.
    pub fn since(&self, namespaces: &[Namespace]) -> Result<Spoilt, Error> {
        let (now, before) = (count(namespaces)?, self.counts);
        let drift = self.drift.corrected_ns();
        Ok(Spoilt {
            device: now.device - before.device,
            input: now.input - before.input,
            socket: now.socket - before.socket,
            // A tick is 1/100 s in /proc, whatever the kernel has (proc(5), USER_HZ).
            stolen: Time::from_ps((now.stolen_ticks - before.stolen_ticks) * 10_000_000_000),
            clock_corrected: Time::from_ps(drift * 1000),
        })
    }
}

/// Losses beside the emulated network, and disturbances of time.
#[derive(Clone, Copy, Debug)]
pub struct Spoilt {
    /// Packets lost at devices.
    pub device: u64,
    /// Packets lost in input queues.
    pub input: u64,
    /// Packets that sockets or connections had no room for.
    pub socket: u64,
    /// Time stolen from all cores.
    pub stolen: Time,
    /// Correction of the clock, forward or back.
    pub clock_corrected: Time,
}

/// Returns `real` with the losses and disturbances of `spoilt`.
pub fn spoilt(spoilt: &Spoilt, real: RealTime) -> RealTime {
    RealTime {
        lost_at_device: real.lost_at_device + spoilt.device,
        lost_at_input: spoilt.input,
        lost_at_socket: spoilt.socket,
        stolen: spoilt.stolen,
        clock_corrected: spoilt.clock_corrected,
        ..real
    }
}

/// Memory of all TCP of the machine, whatever the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpMemory {
    /// Most memory seen, in bytes.
    pub most: u64,
    /// Memory in bytes above which the kernel lets no window grow; zero where it does not say.
    pub pressure: u64,
}

impl TcpMemory {
    /// Returns the memory before the first look.
    pub fn new() -> Self {
        TcpMemory { most: 0, pressure: pressure(&read("/proc/sys/net/ipv4/tcp_mem")).unwrap_or(0) * page() }
    }
    /// Takes in the memory in use now.
    pub fn look(&mut self) {
        self.most = self.most.max(held(&read("/proc/net/sockstat")).unwrap_or(0) * page());
    }
}

fn page() -> u64 {
    nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |bytes| bytes as u64)
}

/// Returns the second of three values, in pages (tcp(7)).
fn pressure(tcp_mem: &str) -> Option<u64> {
    tcp_mem.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the number after `mem` in the line of TCP, in pages (proc(5)).
fn held(sockstat: &str) -> Option<u64> {
    let words = sockstat.lines().find(|line| line.starts_with("TCP:"))?.split_whitespace();
    words.skip_while(|word| *word != "mem").nth(1)?.parse().ok()
}

fn count(namespaces: &[Namespace]) -> Result<Counts, Error> {
    let mut counts = Counts { input: dropped_at_input(&read("/proc/net/softnet_stat")), ..Counts::default() };
    for namespace in namespaces {
        counts.device += namespace.device_count(RECEIVE_DROPPED)? + namespace.device_count(TRANSMIT_DROPPED)?;
        counts.socket += namespace.counters(AT_SOCKET)?;
    }
    counts.stolen_ticks = stolen(&read("/proc/stat"));
    Ok(counts)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// A line for each core; the second number, in hexadecimal, is what its input queue dropped.
fn dropped_at_input(softnet: &str) -> u64 {
    softnet.lines().filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()).sum()
}

/// Returns the eighth number in the line of all cores (proc(5)).
fn stolen(stat: &str) -> u64 {
    stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse().ok()).unwrap_or(0)
}

/// Returns the time for which this thread has waited for a core, as far as the kernel reports it.
pub fn waited() -> Time {
    let text = read("/proc/thread-self/schedstat");
    let ns: u64 = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0);
    Time::from_ps(ns * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_proc() {
        assert_eq!(dropped_at_input("000a 00000010 0\n000b 00000002 0\n"), 18);
        assert_eq!(pressure("287898\t383867\t575796\n"), Some(383_867));
        assert_eq!(held("sockets: used 28\nTCP: inuse 13 orphan 108 tw 36 alloc 121 mem 178335\nUDP: inuse 0 mem 7\n"), Some(178_335));
        assert_eq!((pressure(""), held("UDP: inuse 0 mem 7\n")), (None, None));
        assert_eq!(stolen("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2"), 88);
    }
}
