//! Waits for the moment at which a packet is due: asleep, and at the end awake where a core is free.

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use longfat_core::time::{Duration as Span, Time};
use longfat_host::clock::{Clock, nanoseconds};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use socket2::Socket;

use crate::protocol::Nanos;

/// Longest sleep of a thread: it then looks whether it is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// Time before a packet is due from which a thread waits for it awake: a sleep may be as late as this.
const AWAKE: Nanos = 60_000;

/// Waits of a thread that sends on schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    clock: Clock,
    is_awake: bool,
}

impl Due {
    /// Makes the waits of a thread beside which `busy` threads of its session want a core: with more cores, it ends its waits awake.
    pub(crate) fn beside(busy: usize, clock: Clock) -> Self {
        Due { clock, is_awake: thread::available_parallelism().is_ok_and(|cores| cores.get() > busy) }
    }

    /// Lets the sleeps of this thread end when they are over, and not up to 50 us later (prctl(2), PR_SET_TIMERSLACK).
    pub(crate) fn prepare() {
        // A kernel that refuses it lets packets leave late, which their stamps show.
        let _ = nix::sys::prctl::set_timerslack(1);
    }

    /// Rests until something is `due`, or returns before: for the work at `next`, for `news` at a socket, and after [`LOOK`].
    pub(crate) fn rest(&self, due: Time, next: Time, news: Option<&Socket>) {
        let now = self.clock.now();
        let until = |time: Time| self.clock.nanoseconds_at(time).saturating_sub(self.clock.nanoseconds_at(now));
        let left = until(due);
        if left <= 2 * AWAKE && due <= next {
            return if self.is_awake { wait_until(self.clock, self.clock.nanoseconds_at(due)) } else { self.clock.sleep_until(due) };
        }
        let most = Duration::from_nanos(left.saturating_sub(AWAKE).min(until(next))).min(LOOK);
        match news {
            Some(socket) => {
                // Whatever poll says, the next look is soon.
                let _ = ppoll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], Some(TimeSpec::from_duration(most)), None);
            }
            None => self.clock.sleep_until(now + Span::from_micros(most.as_micros() as u64)),
        }
    }
}

/// Waits until the monotonic clock is at `due`: asleep, and at the end awake.
pub(crate) fn wait_until(clock: Clock, due: Nanos) {
    let now = nanoseconds(ClockId::CLOCK_MONOTONIC);
    if due > now + AWAKE {
        clock.sleep_until(clock.at(due - AWAKE));
    }
    while nanoseconds(ClockId::CLOCK_MONOTONIC) < due {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Type};
    use std::net::{Ipv4Addr, SocketAddr};

    #[test]
    fn nothing_is_early_and_news_end_a_rest() {
        let clock = Clock::starting_in(Duration::ZERO);
        for is_awake in [false, true] {
            let waits = Due { clock, is_awake };
            let due = clock.now() + Span::from_millis(2);
            let mut rests = 0;
            while clock.now() < due {
                waits.rest(due, Time::MAX, None);
                rests += 1;
            }
            // One sleep until shortly before it, and one wait until then; a sleep that a busy machine ends late needs no second one.
            assert!(rests <= 3, "{rests} rests, awake: {is_awake}");
        }
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        socket.send_to(b"news", &socket.local_addr().unwrap()).unwrap();
        let waits = Due::beside(0, clock);
        waits.rest(Time::MAX, Time::MAX, Some(&socket));
        assert!(socket.set_nonblocking(true).is_ok() && socket.recv(&mut [std::mem::MaybeUninit::uninit(); 4]).is_ok());
        let next = clock.now() + Span::from_millis(1);
        waits.rest(Time::MAX, next, Some(&socket));
        assert!(clock.now() >= next, "the work at `next`, though nothing is due");
    }

    #[test]
    fn as_many_threads_as_cores_leave_none_to_wait_awake_on() {
        let clock = Clock::starting_in(Duration::ZERO);
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!([cores - 1, cores].map(|busy| Due::beside(busy, clock).is_awake), [true, false]);
    }
}
