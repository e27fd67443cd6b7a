//! Counters of the whole host while flows run: processors, the device of the flows and its queueing discipline, input queues, TCP.

use std::fs;
use std::net::IpAddr;

use longfat_record::trace::columns::NONE;
use longfat_record::trace::host::COUNTERS;
use socket2::{Domain, Socket, Type};

use crate::facts;
use crate::qdisc::Qdiscs;
use crate::sys;

/// Values of all [`COUNTERS`]; [`NONE`] where the host does not tell.
pub type Values = [u64; COUNTERS.len()];

/// Names of the values in a line of `/proc/net/dev`, which has eight of arrivals and eight of departures (proc(5)).
const OF_DEVICE: [(usize, &str); 9] = [
    (0, "rx_bytes"),
    (1, "rx_packets"),
    (2, "rx_errors"),
    (3, "rx_dropped"),
    (4, "rx_fifo_errors"),
    (8, "tx_bytes"),
    (9, "tx_packets"),
    (10, "tx_errors"),
    (11, "tx_dropped"),
];

/// Commands of ethtool that read the lengths of rings and the use of PAUSE frames, and the words of their answers: `struct ethtool_ringparam`
/// and `struct ethtool_pauseparam` of the kernel's user API (linux/ethtool.h; numbers and order from memory; no card that answers was at hand).
const GRINGPARAM: u32 = 0x10;
const GPAUSEPARAM: u32 = 0x12;
const RINGS: [(usize, &str); 4] = [(1, "rx_ring_max"), (4, "tx_ring_max"), (5, "rx_ring"), (8, "tx_ring")];
const PAUSE: [(usize, &str); 2] = [(2, "rx_pause"), (3, "tx_pause")];

/// Looks at the counters of this host, again and again.
pub struct Looker {
    /// Device through which the flows go.
    device: Option<String>,
    qdiscs: Option<Qdiscs>,
    /// Any socket, by which the driver of the device is asked.
    socket: Option<Socket>,
    /// Ticks of each core at the last look.
    cores: Vec<Core>,
    first: Option<Values>,
}

impl Looker {
    /// Makes one for flows from this address of the host. It sees the network namespace of this thread.
    pub fn new(local: IpAddr) -> Self {
        let device = device_of(local);
        let qdiscs = device.as_deref().and_then(Qdiscs::of);
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None).ok();
        Looker { device, qdiscs, socket, cores: cores(&read("/proc/stat")), first: None }
    }

    /// Returns the values now; counts are those since its first look.
    pub fn look(&mut self) -> Values {
        let now = self.counted();
        let first = *self.first.get_or_insert(now);
        let mut values = now;
        for ((value, first), counter) in values.iter_mut().zip(first).zip(COUNTERS) {
            if counter.is_count && *value != NONE && first != NONE {
                // A device that was replaced counts anew.
                *value = value.saturating_sub(first);
            }
        }
        values
    }

    fn counted(&mut self) -> Values {
        let mut values = [NONE; COUNTERS.len()];
        let mut put = |name: &str, value: Option<u64>| {
            let place = COUNTERS.iter().position(|counter| counter.name == name).expect("it is in the table");
            values[place] = value.unwrap_or(NONE);
        };
        let stat = read("/proc/stat");
        let cores = cores(&stat);
        put("cores", Some(cores.len() as u64).filter(|count| *count > 0));
        let busiest = busiest(&self.cores, &cores);
        put("cpu_busiest", busiest.map(|[_, share, _]| share));
        put("cpu_busiest_core", busiest.map(|[core, ..]| core));
        put("cpu_busiest_softirq", busiest.map(|[.., softirq]| softirq));
        self.cores = cores;
        put("cpu_clock", clock(&read("/proc/cpuinfo")));
        // A tick is 10 ms in /proc, whatever the kernel has (proc(5), USER_HZ).
        let ticks = ticks(stat.lines().next().unwrap_or_default());
        let ms = |kinds: &[usize]| kinds.iter().map(|kind| ticks.get(*kind).map(|ticks| 10 * ticks)).sum::<Option<u64>>();
        for (name, kinds) in [
            ("cpu_user", &[0, 1][..]),
            ("cpu_system", &[2]),
            ("cpu_idle", &[3, 4]),
            ("cpu_irq", &[5]),
            ("cpu_softirq", &[6]),
            ("cpu_steal", &[7]),
        ] {
            put(name, ms(kinds));
        }
        let own = |of: &str| read(&format!("/proc/thread-self/net/{of}"));
        let line = self.device.as_deref().and_then(|device| of_device(&own("dev"), device));
        for (place, name) in OF_DEVICE {
            put(name, line.as_ref().and_then(|line| line.get(place).copied()));
        }
        let asked = self.device.as_ref().zip(self.socket.as_ref());
        let rings = asked.and_then(|(device, socket)| sys::ethtool::<9>(socket, device, GRINGPARAM).ok());
        for (place, name) in RINGS {
            put(name, rings.map(|words| words[place].into()));
        }
        let pause = asked.and_then(|(device, socket)| sys::ethtool::<4>(socket, device, GPAUSEPARAM).ok());
        for (place, name) in PAUSE {
            put(name, pause.map(|words| u64::from(words[place] > 0)));
        }
        let of_card = |file: &str| read(&format!("/sys/class/net/{}/{file}", self.device.as_deref()?)).trim().parse::<u64>().ok();
        // In Mbit/s; -1 of a link that is down, and an error of a device without a link (Documentation/ABI/testing/sysfs-class-net).
        put("speed", of_card("speed").map(|speed| 1_000_000 * speed));
        put("rx_missed_errors", of_card("statistics/rx_missed_errors"));
        let queue = self.qdiscs.as_ref().and_then(Qdiscs::root);
        put("qdisc_drops", queue.map(|queue| queue.drops.into()));
        put("qdisc_overlimits", queue.map(|queue| queue.overlimits.into()));
        put("qdisc_requeues", queue.map(|queue| queue.requeues.into()));
        put("qdisc_backlog", queue.map(|queue| queue.backlog.into()));
        put("qdisc_qlen", queue.map(|queue| queue.qlen.into()));
        let softnet = read("/proc/net/softnet_stat");
        put("softnet_dropped", of_softnet(&softnet, 1));
        put("softnet_time_squeeze", of_softnet(&softnet, 2));
        put("tcp_dropped", facts::dropped_by_tcp(&own("netstat")));
        put("tcp_mem", facts::tcp_memory());
        put(
            "sockets_used",
            read("/proc/thread-self/net/sockstat").lines().next().and_then(|line| line.strip_prefix("sockets: used ")?.trim().parse().ok()),
        );
        values
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the device that has this address.
pub(crate) fn device_of(local: IpAddr) -> Option<String> {
    let local = local.to_canonical();
    let is_it = |address: &nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()))) == Some(local)
    };
    let mut all = nix::ifaddrs::getifaddrs().ok()?;
    all.find(|interface| interface.address.as_ref().is_some_and(is_it)).map(|interface| interface.interface_name)
}

/// Returns the numbers after the first word of a line.
fn ticks(line: &str) -> Vec<u64> {
    line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect()
}

/// Ticks of a core: all but those of guests, which are counted twice (proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Core {
    number: u64,
    all: u64,
    worked: u64,
    softirq: u64,
}

/// Returns the ticks of each core.
fn cores(stat: &str) -> Vec<Core> {
    let of = |line: &str| {
        let number = line.strip_prefix("cpu")?.split_whitespace().next()?.parse().ok().filter(|_| !line.starts_with("cpu "))?;
        let kinds = ticks(line);
        let sum = |kinds: &[u64]| kinds.iter().sum::<u64>();
        let all = sum(&kinds[..kinds.len().min(8)]);
        let worked = all - sum(kinds.get(3..5).unwrap_or_default()) - kinds.get(7).copied().unwrap_or(0);
        Some(Core { number, all, worked, softirq: kinds.get(6).copied().unwrap_or(0) })
    };
    stat.lines().filter_map(of).collect()
}

/// Returns which core worked most between two looks, the share of the time in which it did, and the share that it spent in softirqs, in per cent;
/// `None` where no time passed or cores changed.
fn busiest(before: &[Core], after: &[Core]) -> Option<[u64; 3]> {
    if !before.iter().map(|core| core.number).eq(after.iter().map(|core| core.number)) {
        return None;
    }
    let shares = |(before, after): (&Core, &Core)| {
        let all = after.all.checked_sub(before.all).filter(|ticks| *ticks > 0)?;
        let share = |before: u64, after: u64| (100 * after.saturating_sub(before) + all / 2) / all;
        Some([after.number, share(before.worked, after.worked), share(before.softirq, after.softirq)])
    };
    // The first of cores that worked alike.
    before.iter().zip(after).filter_map(shares).max_by_key(|[core, share, _]| (*share, std::cmp::Reverse(*core)))
}

/// Returns the mean of all `cpu MHz` lines, in Hz.
fn clock(cpuinfo: &str) -> Option<u64> {
    let lines = cpuinfo.lines().filter(|line| line.starts_with("cpu MHz"));
    let all: Vec<f64> = lines.filter_map(|line| line.split(':').nth(1)?.trim().parse().ok()).collect();
    (!all.is_empty()).then(|| (1e6 * all.iter().sum::<f64>() / all.len() as f64).round() as u64)
}

/// Returns the values of a device in `/proc/net/dev`.
fn of_device(text: &str, device: &str) -> Option<Vec<u64>> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    Some(line.split_whitespace().map(|value| value.parse().unwrap_or(0)).collect())
}

/// Adds up a column of `/proc/net/softnet_stat`, whose numbers are hexadecimal: a line for each core.
fn of_softnet(text: &str, column: usize) -> Option<u64> {
    text.lines()
        .map(|line| u64::from_str_radix(line.split_whitespace().nth(column)?, 16).ok())
        .sum::<Option<u64>>()
        .filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_proc() {
        let stat = "cpu  10 1 5 80 2 3 4 5 0 0\ncpu0 6 1 3 30 1 2 2 5 0 0\ncpu1 4 0 2 50 1 1 2 0 0 0\nintr 7\n";
        let core = |number, all, worked, softirq| Core { number, all, worked, softirq };
        assert_eq!(cores(stat), [core(0, 50, 14, 2), core(1, 60, 9, 2)]);
        let after = [core(0, 60, 20, 3), core(1, 80, 19, 12)];
        assert_eq!(busiest(&cores(stat), &after), Some([0, 60, 10]));
        assert_eq!(busiest(&after, &after.map(|core| Core { all: core.all + 10, worked: core.worked + 5, ..core })), Some([0, 50, 0]));
        assert_eq!((busiest(&after, &after), busiest(&after[1..], &after[..1])), (None, None), "no time, another core");
        assert_eq!(clock("cpu MHz\t\t: 2000.5\nmodel: 7\ncpu MHz\t\t: 3000.5\n"), Some(2_500_500_000));
        assert_eq!(clock("BogoMIPS: 50\n"), None);
        assert_eq!(of_device(" eth0: 1 2 3\neth01: 4\n", "eth0"), Some(vec![1, 2, 3]));
        assert_eq!(of_device(" eth0: 1 2 3\n", "eth1"), None);
        assert_eq!((of_softnet("0a 0b 0c\n01 01 02\n", 2), of_softnet("", 1), of_softnet("0a\n", 1)), (Some(14), None, None));
    }

    #[test]
    fn this_host_tells_of_its_loopback() {
        let mut looker = Looker::new("127.0.0.1".parse().unwrap());
        let place = |name: &str| COUNTERS.iter().position(|counter| counter.name == name).unwrap();
        let first = looker.look();
        for (value, counter) in first.iter().zip(COUNTERS) {
            assert!(!counter.is_count || [0, NONE].contains(value), "{}: counts begin at 0", counter.name);
        }
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..10 {
            socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        }
        let then = looker.look();
        let grown = |name: &str| then[place(name)];
        assert!(grown("rx_packets") >= 10 && grown("tx_bytes") >= 10_000, "{then:?}");
        assert!(grown("rx_packets") != NONE && grown("cores") >= 1 && grown("cores") != NONE);
        // The loopback's discipline, noqueue, is shown by no kernel or has no packets; the others are known to any kernel.
        let untold = COUNTERS.iter().zip(then).filter(|(_, value)| *value == NONE).map(|(counter, _)| counter.name);
        let may =
            |name: &str| ["qdisc_", "cpu_", "speed", "rx_ring", "tx_ring", "rx_pause", "tx_pause"].iter().any(|of| name.starts_with(of));
        assert_eq!(untold.filter(|name| !may(name)).collect::<Vec<_>>(), [] as [&str; 0]);
        assert!(Looker::new("192.0.2.1".parse().unwrap()).look()[place("rx_bytes")] == NONE, "no device has this address");
    }
}
