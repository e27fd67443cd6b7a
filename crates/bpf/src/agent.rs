//! The control that an agent in user space steers, socket by socket.

use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use longfat_tcp::congestion::agent::action::Command;
use longfat_tcp::congestion::agent::{self, Sums};

/// Name in the kernel: `TCP_CONGESTION`, `ss`.
pub const AGENT: &str = "lf_agent";

/// Order of an agent to the program; `struct order` of `bpf/agent.bpf.c`.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Order {
    /// Window in segments; zero: none yet.
    pub cwnd: u64,
    /// Pacing rate in bytes per second; zero: none.
    pub pacing_rate: u64,
    /// Number of the last step that the agent has read.
    pub taken: u64,
    /// Microseconds between two steps; zero: one per round trip.
    pub every: u64,
}

impl Order {
    /// Sets what `command` says, for segments of `mss` bytes. A window has one segment at least.
    pub fn set(&mut self, command: Command, mss: u64) {
        self.cwnd = command.cwnd.map_or(self.cwnd, |bytes| (bytes / mss).max(1));
        self.pacing_rate = command.pacing_rate.map_or(0, |rate: Rate| rate.as_bps() / 8);
    }

    #[cfg(feature = "bpf")]
    pub(crate) fn bytes(self) -> Vec<u8> {
        [self.cwnd, self.pacing_rate, self.taken, self.every].into_iter().flat_map(u64::to_ne_bytes).collect()
    }
}

/// A step that the program has measured; `struct step` of `bpf/agent.bpf.c`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Number, from 1.
    pub number: u64,
    /// Window in segments.
    pub cwnd: u64,
    words: [u64; WORDS],
}

/// Numbers in a `struct step`, and in a `struct meter`, which begins with it.
const WORDS: usize = 18;
#[cfg(feature = "bpf")]
pub(crate) const METER: usize = 8 * (WORDS + 11 + 2);

impl Step {
    /// Reads the step that a `struct meter` begins with; `None` if none is over yet.
    #[cfg(feature = "bpf")]
    pub(crate) fn read(meter: &[u8]) -> Option<Self> {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(meter.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        (words[0] > 0).then_some(Step { number: words[0], cwnd: words[3], words })
    }

    /// Returns it as a meter takes it, for segments of `mss` bytes. The kernel's clock has its zero elsewhere: only differences count.
    pub fn measured(&self, mss: u64) -> agent::Step {
        let [_, begin, now, _, in_flight, srtt, rtt_min, acks, delivered, limited, recovery, reductions, timeouts, rtts, rtt, t, tt, t_rtt] =
            self.words;
        let seconds = |us: u64| us as f64 / 1e6;
        agent::Step {
            begin: Time::ZERO + Duration::from_micros(begin),
            now: Time::ZERO + Duration::from_micros(now),
            in_flight: in_flight * mss,
            srtt: Duration::from_micros(srtt),
            rtt_min: Duration::from_micros(rtt_min),
            sums: Sums {
                acks: acks as f64,
                delivered: delivered * mss,
                marked: 0,
                limited: limited as f64,
                recovery: recovery as f64,
                reductions: reductions as f64,
                timeouts: timeouts as f64,
                rtts: rtts as f64,
                rtt: seconds(rtt),
                t: seconds(t),
                tt: seconds(tt) / 1e6,
                t_rtt: seconds(t_rtt) / 1e6,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_ordered_in_whole_segments() {
        let mut order = Order { taken: 3, ..Order::default() };
        order.set(Command { cwnd: Some(2999), pacing_rate: Some(Rate::from_bps(8_000_000)) }, 1000);
        assert_eq!(order, Order { cwnd: 2, pacing_rate: 1_000_000, taken: 3, every: 0 });
        order.set(Command { cwnd: Some(10), pacing_rate: None }, 1000);
        assert_eq!(order, Order { cwnd: 1, pacing_rate: 0, taken: 3, every: 0 });
    }

    /// Two round trips, of 10 ms at 0 and 30 ms at 20 ms: a slope of 1 s/s.
    #[cfg(feature = "bpf")]
    #[test]
    fn a_step_is_read_as_the_program_writes_it() {
        let (t, rtt) = ([0, 20_000_u64], [10_000, 30_000_u64]);
        let of = |of: &dyn Fn(usize) -> u64| of(0) + of(1);
        let sums = [2, 4, 1, 1, 1, 0, 2, of(&|i| rtt[i]), of(&|i| t[i]), of(&|i| t[i] * t[i]), of(&|i| t[i] * rtt[i])];
        let words: Vec<u64> = [7, 1_000_000, 1_040_000, 12, 9, 25_000, 10_000].into_iter().chain(sums).chain([0; 13]).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(bytes.len(), METER);
        let step = Step::read(&bytes).unwrap();
        assert_eq!((step.number, step.cwnd), (7, 12));
        let mut meter = agent::Meter::new(1000);
        meter.take(step.measured(1000));
        let moment = meter.decide(None);
        assert_eq!((moment.step, moment.delivered, moment.in_flight, moment.reductions), (0.04, 4000.0, 9000.0, 1.0));
        assert_eq!((moment.delivery_rate, moment.cwnd_limited, moment.in_recovery, moment.timeouts), (800_000.0, 0.5, 0.5, 0.0));
        assert!((moment.rtt - 0.02).abs() < 1e-12 && (moment.rtt_gradient - 1.0).abs() < 1e-9, "{moment:?}");
        assert_eq!(Step::read(&[0; METER]), None);
    }
}
