//! Counters of a whole host while flows run, as one table.

use longfat_core::time::Time;

use super::columns::NONE;

/// Counter of a host, or a value that it has at a moment.
#[derive(Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name; counters of `/proc` and of queueing disciplines have the kernel's.
    pub name: &'static str,
    /// Unit, as columns name it.
    pub unit: &'static str,
    /// True of a count, which results have since the first look; false of a value of the moment.
    pub is_count: bool,
    /// Content.
    pub doc: &'static str,
}

const fn count(name: &'static str, unit: &'static str, doc: &'static str) -> Counter {
    Counter { name, unit, is_count: true, doc }
}

const fn now(name: &'static str, unit: &'static str, doc: &'static str) -> Counter {
    Counter { name, unit, is_count: false, doc }
}

/// All of them. Kinds of processor time: proc(5), `/proc/stat`; devices: proc(5), `/proc/net/dev`; queueing disciplines: `tc -s qdisc`.
pub const COUNTERS: &[Counter] = &[
    now("cores", "1", "cores that are online"),
    now("cpu_clock", "Hz", "mean clock rate of the cores, as the kernel tells it"),
    now("cpu_busiest", "%", "time since the look before in which the busiest core worked"),
    now("cpu_busiest_core", "1", "which core that was, from 0"),
    now("cpu_busiest_softirq", "%", "time of that core in softirqs, where one card's packets all go to one core"),
    count("cpu_user", "ms", "time of all cores in programs, nice ones too"),
    count("cpu_system", "ms", "time of all cores in the kernel for programs"),
    count("cpu_irq", "ms", "time of all cores in interrupts"),
    count("cpu_softirq", "ms", "time of all cores in softirqs: most of the receiving side of TCP"),
    count("cpu_steal", "ms", "time that other virtual machines had"),
    count("cpu_idle", "ms", "time of all cores without work, waiting for disks too"),
    count("rx_bytes", "byte", "bytes received at the device of the flows, of whatever traffic"),
    count("rx_packets", "packet", "packets received there"),
    count("rx_errors", "packet", "packets received broken there"),
    count("rx_dropped", "packet", "packets dropped on arrival there"),
    count("rx_fifo_errors", "packet", "packets for which its ring had no room"),
    count("rx_missed_errors", "packet", "packets that the card missed, as its driver counts them"),
    count("tx_bytes", "byte", "bytes sent there"),
    count("tx_packets", "packet", "packets sent there"),
    count("tx_errors", "packet", "packets that could not be sent there"),
    count("tx_dropped", "packet", "packets dropped on their way out there"),
    now("speed", "bit/s", "speed of its link"),
    now("rx_ring", "1", "places in its receive ring"),
    now("rx_ring_max", "1", "places that this ring can have"),
    now("tx_ring", "1", "places in its transmit ring"),
    now("tx_ring_max", "1", "places that this ring can have"),
    now("rx_pause", "1", "1: it obeys PAUSE frames, 0: it does not"),
    now("tx_pause", "1", "1: it sends PAUSE frames, 0: it does not"),
    count("qdisc_drops", "packet", "packets dropped by its queueing discipline"),
    count("qdisc_overlimits", "1", "times at which that had to wait for its rate"),
    count("qdisc_requeues", "packet", "packets that the device gave back to it"),
    now("qdisc_backlog", "byte", "bytes that wait in it"),
    now("qdisc_qlen", "packet", "packets that wait in it"),
    count("softnet_dropped", "packet", "packets dropped from the input queues of all cores"),
    count("softnet_time_squeeze", "1", "times at which softirqs ran out of time or budget with packets left"),
    count("tcp_dropped", "packet", "packets for which TCP connections had no room"),
    now("tcp_mem", "byte", "memory of all TCP"),
    now("sockets_used", "1", "sockets in use"),
];

/// One host at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSample {
    /// Time of the look.
    pub time: Time,
    /// True of the far host.
    pub is_far: bool,
    /// Values of [`COUNTERS`]; [`NONE`] of one that the host does not tell.
    pub values: [u64; COUNTERS.len()],
}

impl HostSample {
    /// Returns the value of the counter `name`, if the host told it.
    ///
    /// # Panics
    /// If there is no such counter.
    pub fn get(&self, name: &str) -> Option<u64> {
        let place = COUNTERS.iter().position(|counter| counter.name == name).unwrap_or_else(|| panic!("there is no counter {name}"));
        Some(self.values[place]).filter(|value| *value != NONE)
    }

    /// Returns the processor time of all cores in which they worked, in milliseconds, if the host told it.
    pub fn busy_ms(&self) -> Option<u64> {
        ["cpu_user", "cpu_system", "cpu_irq", "cpu_softirq"].iter().map(|name| self.get(name)).sum()
    }
}

impl Default for HostSample {
    fn default() -> Self {
        HostSample { time: Time::ZERO, is_far: false, values: [NONE; COUNTERS.len()] }
    }
}
