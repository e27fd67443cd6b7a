//! Wall clock of a host during a run, where something synchronises it: with that of the other host it gives delays of one direction.

use longfat_core::time::Time;
use longfat_host::clock::{Clock, Synchronised};
use longfat_host::stamps::Wall;

use crate::linux::probe::Stamps;
use crate::protocol::Nanos;

/// Wall clock at the zero of a run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallClock {
    /// Nanoseconds since the begin of 1970 (UTC).
    pub zero: Nanos,
    /// Its error, as the host estimates it.
    pub estimated: Nanos,
    /// Bound of its error.
    pub most: Nanos,
}

/// First reading of a wall clock that is synchronised.
pub(crate) struct Reading(Wall, Synchronised);

impl Reading {
    /// Reads the clock at the begin of a run; `None`: it is not synchronised.
    pub(crate) fn begin() -> Option<Self> {
        Synchronised::now().map(|errors| Reading(Wall::now(), errors))
    }

    /// Reads it again at the end of the run with this clock; `None`: it is not synchronised any more, or was set meanwhile.
    pub(crate) fn end(mut self, clock: Clock) -> Option<WallClock> {
        let last = Synchronised::now()?;
        let is_steady = self.0.see(Wall::now());
        // Errors grow until the clock is synchronised again.
        let [estimated, most] = [self.1.estimated_ns.max(last.estimated_ns), self.1.most_ns.max(last.most_ns)];
        let zero = self.0.at(clock.nanoseconds_at(Time::ZERO));
        is_steady.then(|| WallClock { zero, estimated, most: most.saturating_add(self.0.error()) })
    }
}

/// Least delay of each direction by two wall clocks that are synchronised, and its error: zero: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OneWay {
    /// To the other host, and from it; never below zero, whatever the clocks say.
    pub delay: [Time; 2],
    /// Error as both hosts estimate it, and its bound.
    pub error: [Time; 2],
}

/// Returns the least delays of the probes of both hosts by their wall clocks; nothing where one is not synchronised, no probe came through in a
/// direction, or a delay would be negative by more than the bound of the clocks' errors: then one is not what its host says.
pub(crate) fn one_way([ours, theirs]: &[Stamps; 2], clocks: [Option<WallClock>; 2]) -> OneWay {
    let [Some(here), Some(there)] = clocks else { return OneWay::default() };
    let least = |from: &Stamps, from_clock: WallClock, to: &Stamps, to_clock: WallClock| {
        let wall = |clock: WallClock, at: Nanos| i128::from(clock.zero) + i128::from(at);
        from.crossings(to).iter().map(|(sent, got)| wall(to_clock, got.at) - wall(from_clock, sent.at)).min()
    };
    let (up, down) = (least(ours, here, theirs, there), least(theirs, there, ours, here));
    let [estimated, most] = [here.estimated.saturating_add(there.estimated), here.most.saturating_add(there.most)];
    let time = |ns: i128| Time::from_ps(u64::try_from(ns).unwrap_or(0).saturating_mul(1000));
    match (up, down) {
        (Some(up), Some(down)) if up.min(down) + i128::from(most) >= 0 => OneWay {
            delay: [time(up), time(down)],
            // A bound of no time at all would look like none.
            error: [time(estimated.into()), time(most.max(1).into())],
        },
        _ => OneWay::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::probe::{Got, Sent};

    /// The other host's run began 1 s later by true time. 4 ms to there, 6 ms from there; the first probe waits 1 ms more.
    fn probes() -> [Stamps; 2] {
        let sent = |at| Sent { number: (at / 10_000_000) as u32, due: at, at, is_stamped: true };
        let got = |at: Nanos, came| Got { number: (at / 10_000_000) as u32, at: came, is_stamped: true };
        let times = || (100..110_u64).map(|number| 10_000_000 * number);
        let wait = |at| if at == 1_000_000_000 { 1_000_000 } else { 0 };
        let ours = Stamps {
            sent: times().map(sent).collect(),
            got: times().map(|at| got(at, at + 1_000_000_000 + 6_000_000 + wait(at))).collect(),
        };
        let theirs = Stamps {
            sent: times().map(sent).collect(),
            got: times().map(|at| got(at, at - 1_000_000_000 + 4_000_000 + wait(at))).collect(),
        };
        [ours, theirs]
    }

    fn us(us: u64) -> Time {
        Time::from_ps(1_000_000 * us)
    }

    #[test]
    fn synchronised_clocks_tell_each_direction_within_their_errors() {
        let zero = 1_800_000_000_000_000_000;
        let here = WallClock { zero, estimated: 20_000, most: 300_000 };
        // Its clock is 200 us ahead.
        let there = WallClock { zero: zero + 1_000_200_000, estimated: 50_000, most: 500_000 };
        let found = one_way(&probes(), [Some(here), Some(there)]);
        assert_eq!(found, OneWay { delay: [us(4_200), us(5_800)], error: [us(70), us(800)] });
        for unknown in [[None, Some(there)], [Some(here), None], [None, None]] {
            assert_eq!(one_way(&probes(), unknown), OneWay::default());
        }
    }

    #[test]
    fn a_clock_that_is_not_what_its_host_says_tells_nothing() {
        let zero = 1_800_000_000_000_000_000;
        let clock = |ahead: u64, most| Some(WallClock { zero: zero + ahead, estimated: 0, most });
        // 8 ms ahead: the delay from there would be -2 ms.
        let ahead = 1_008_000_000;
        assert_eq!(one_way(&probes(), [clock(0, 500_000), clock(ahead, 500_000)]), OneWay::default());
        let wide = one_way(&probes(), [clock(0, 1_000_000), clock(ahead, 2_000_000)]);
        assert_eq!(wide, OneWay { delay: [us(12_000), us(0)], error: [us(0), us(3_000)] });
        let [ours, _] = probes();
        assert_eq!(one_way(&[ours, Stamps::default()], [clock(0, 1), clock(0, 1)]), OneWay::default(), "no probe came through");
    }

    #[test]
    fn a_reading_ends_as_it_began() {
        let clock = Clock::starting_in(std::time::Duration::ZERO);
        let reading = Reading(Wall::now(), Synchronised { estimated_ns: 5, most_ns: 7 });
        match (reading.end(clock), Synchronised::now()) {
            (Some(told), Some(_)) => assert!(told.estimated >= 5 && told.most >= 7 && told.zero > 1_500_000_000_000_000_000),
            (told, _) => assert_eq!(told, None, "nobody synchronises this clock, or it was set"),
        }
    }
}
