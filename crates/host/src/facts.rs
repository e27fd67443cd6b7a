//! Facts that could spoil a run, read from the kernel before and after it.

use std::fs;
use std::iter::Sum;

use longfat_core::time::Time;
use longfat_record::trace::RealTime;

use crate::clock::Drift;

/// Columns of `/proc/net/dev`: packets that the device could not take from us, and packets that it had no room for.
const DEVICE_COLUMNS: [usize; 2] = [3, 11];
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

/// Counters of packets that TCP connections had no room for.
const AT_CONNECTION: &[&str] = &["TcpExt.TCPBacklogDrop", "TcpExt.RcvPruned", "TcpExt.OfoPruned", "TcpExt.TCPRcvQDrop"];
/// Columns of `/proc/net/dev` of arrivals: packets that were dropped, and packets that a ring had no room for.
const ARRIVALS: [usize; 2] = [3, 4];

/// Packets that arrived at this host and were dropped so far: in the rings of all devices of this thread's network namespace, in the input
/// queues of all cores (softnet) and at TCP connections.
pub fn dropped() -> u64 {
    let read_own = |of: &str| read(&format!("/proc/thread-self/net/{of}"));
    let devices = read_own("dev");
    let names = devices.lines().filter_map(|line| line.split_once(':').map(|(name, _)| name.trim()));
    let rings: u64 = names.map(|name| columns_of(&devices, name, ARRIVALS)).sum();
    rings + dropped_at_input(&read("/proc/net/softnet_stat")) + sum_of(&read_own("netstat"), AT_CONNECTION)
}

/// Returns the packets that TCP connections had no room for, as the text of `/proc/net/netstat` has it; `None` where that is empty.
pub(crate) fn dropped_by_tcp(netstat: &str) -> Option<u64> {
    (!netstat.is_empty()).then(|| sum_of(netstat, AT_CONNECTION))
}

/// Returns the memory of all TCP of the machine, in bytes.
pub(crate) fn tcp_memory() -> Option<u64> {
    Some(held(&read("/proc/net/sockstat"))? * page())
}

/// Packets that one network stack has lost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Packets lost at the device.
    pub device: u64,
    /// Packets that sockets or connections had no room for.
    pub socket: u64,
}

impl Losses {
    /// Returns the losses of the stack and the `device` that this thread sees in its network namespace.
    pub fn now(device: &str) -> Self {
        let read = |of: &str| read(&format!("/proc/thread-self/net/{of}"));
        let counters = read("netstat") + &read("snmp");
        Losses { device: columns_of(&read("dev"), device, DEVICE_COLUMNS), socket: sum_of(&counters, AT_SOCKET) }
    }
}

impl Sum for Losses {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Losses::default(), |sum, one| Losses { device: sum.device + one.device, socket: sum.socket + one.socket })
    }
}

/// Counters of the machine and its clock before a run.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    losses: Losses,
    input: u64,
    stolen_ticks: u64,
    drift: Drift,
}

impl Before {
    /// Reads the counters now, when the network stacks of the run have had these `losses`.
    pub fn now(losses: Losses) -> Self {
        let (input, stolen_ticks) = of_machine();
        Before { losses, input, stolen_ticks, drift: Drift::start() }
    }

    /// Returns the changes since then, now that the network stacks of the run have had these `losses`.
    pub fn since(&self, losses: Losses) -> Spoilt {
        let (input, stolen_ticks) = of_machine();
        let drift = self.drift.corrected_ns();
        Spoilt {
            device: losses.device - self.losses.device,
            input: input - self.input,
            socket: losses.socket - self.losses.socket,
            // A tick is 1/100 s in /proc, whatever the kernel has (proc(5), USER_HZ).
            stolen: Time::from_ps((stolen_ticks - self.stolen_ticks) * 10_000_000_000),
            clock_corrected: Time::from_ps(drift * 1000),
        }
    }
}

/// Returns the packets that the input queues of the machine dropped, and the ticks stolen from its cores.
fn of_machine() -> (u64, u64) {
    (dropped_at_input(&read("/proc/net/softnet_stat")), stolen(&read("/proc/stat")))
}

/// Losses in the hosts, and disturbances of time.
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
        self.most = self.most.max(tcp_memory().unwrap_or(0));
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

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Adds up `columns` in the line of `device` in `/proc/net/dev`: receive first, then transmit, eight each.
fn columns_of(text: &str, device: &str, columns: [usize; 2]) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':')).unwrap_or_default();
    let values: Vec<u64> = line.split_whitespace().map(|value| value.parse().unwrap_or(0)).collect();
    columns.iter().filter_map(|column| values.get(*column)).sum()
}

/// Adds up the counters `names` (`TcpExt.TCPBacklogDrop`) in pairs of lines, names and values, each after a common prefix.
fn sum_of(text: &str, names: &[&str]) -> u64 {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| {
        let group = pair[0].split(':').next().unwrap_or_default();
        let fields = pair[0].split_whitespace().zip(pair[1].split_whitespace()).skip(1);
        fields.map(move |(name, value)| (format!("{group}.{name}"), value))
    });
    pairs.filter(|(name, _)| names.contains(&name.as_str())).filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
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
    fn counters_are_found_by_name() {
        let text = "TcpExt: A TCPBacklogDrop\nTcpExt: 1 7\nIpExt: A B\nIpExt: 3 4\n";
        assert_eq!(sum_of(text, &["TcpExt.TCPBacklogDrop", "IpExt.B", "IpExt.C"]), 11);
        let dev = "face |bytes\n  path0: 1 2 3 40 5 6 7 8 9 10 11 1200 13\n path01: 9 9 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(columns_of(dev, "path0", DEVICE_COLUMNS), 1240);
        assert_eq!(columns_of(dev, "eth0", DEVICE_COLUMNS), 0);
    }

    #[test]
    fn losses_of_several_stacks_add_up() {
        let one = Losses { device: 1, socket: 20 };
        assert_eq!([one, Losses { device: 3, socket: 4 }].into_iter().sum::<Losses>(), Losses { device: 4, socket: 24 });
        let before = Before { losses: one, ..Before::now(one) };
        let spoilt = before.since(Losses { device: 5, socket: 21 });
        assert_eq!((spoilt.device, spoilt.socket), (4, 1));
    }

    #[test]
    fn numbers_of_proc() {
        assert_eq!(dropped_at_input("000a 00000010 0\n000b 00000002 0\n"), 18);
        assert_eq!(pressure("287898\t383867\t575796\n"), Some(383_867));
        assert_eq!(held("sockets: used 28\nTCP: inuse 13 orphan 108 tw 36 alloc 121 mem 178335\nUDP: inuse 0 mem 7\n"), Some(178_335));
        assert_eq!((pressure(""), held("UDP: inuse 0 mem 7\n")), (None, None));
        assert_eq!(stolen("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2"), 88);
    }
}
