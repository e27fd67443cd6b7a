//! An application over TCP: its use of its socket, and the conditions that it waits for.

use crate::time::Time;

/// The end of a connection, as the application has it. No call blocks, and none fails: payload that TCP cannot send yet waits in its
/// buffer.
pub trait Socket {
    /// Writes `bytes` bytes of payload.
    fn write(&mut self, bytes: u64);
    /// Ends the stream after the payload that has been written.
    fn close(&mut self);
    /// Ends the stream after the payload that TCP has sent so far; the rest is forgotten.
    fn stop(&mut self);
    /// Reads up to `most` bytes that have arrived in order. Returns how many it got.
    fn read(&mut self, most: u64) -> u64;
    /// Returns the bytes that have arrived in order and were not read.
    fn unread(&self) -> u64;
}

/// Condition that an application waits for, as a process does in `poll(2)`: a time, or an event before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Latest time to wait until; [`Time::MAX`]: however long it takes.
    pub until: Time,
    /// True to wait until all written payload is acknowledged.
    pub acked: bool,
    /// True to wait until there is something to read.
    pub readable: bool,
}

impl Wait {
    /// Waits for nothing: it has nothing more to do.
    pub const FOR_EVER: Wait = Wait { until: Time::MAX, acked: false, readable: false };
    /// Waits until all written payload is acknowledged.
    pub const ACKED: Wait = Wait { acked: true, ..Wait::FOR_EVER };

    /// Waits until `time`.
    pub const fn until(time: Time) -> Self {
        Wait { until: time, ..Wait::FOR_EVER }
    }
}

/// Behaviour of a process at one end of a connection. It decides, without clock or I/O: the simulator runs it, and a real process could.
pub trait Application: std::fmt::Debug + Send {
    /// Acts when the flow starts, and then each time the awaited event has come. Returns the next condition to wait for.
    fn act(&mut self, now: Time, socket: &mut dyn Socket) -> Wait;

    /// Acts for the last time: the flow's `stop` has come. Written payload is sent, unless the application decides otherwise.
    fn stop(&mut self, socket: &mut dyn Socket) {
        socket.close();
    }

    /// Returns how many bytes it would read at once at `now`.
    fn would_read(&self, _now: Time) -> u64 {
        u64::MAX
    }
}

/// An application that is stopped at some time.
#[derive(Debug)]
struct Stopped {
    application: Box<dyn Application>,
    stop: Time,
}

impl Application for Stopped {
    fn act(&mut self, now: Time, socket: &mut dyn Socket) -> Wait {
        if now >= self.stop {
            self.application.stop(socket);
            return Wait::FOR_EVER;
        }
        let wait = self.application.act(now, socket);
        Wait { until: wait.until.min(self.stop), ..wait }
    }

    fn would_read(&self, now: Time) -> u64 {
        self.application.would_read(now)
    }
}

/// An application and the condition that it waits for. The driver calls [`Program::act`] at [`Program::alarm`], and when an awaited event
/// has happened.
#[derive(Debug)]
pub struct Program {
    /// Application; `None`: this end only reads what comes, at once.
    application: Option<Box<dyn Application>>,
    alarm: Time,
    // The fields replace a `Wait`: each end of a connection has them, and they take eight bytes less.
    acked: bool,
    readable: bool,
    has_begun: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Program>() == 32);

impl Program {
    /// Returns a program that acts first at `start`, and last at `stop`.
    pub fn new(application: Box<dyn Application>, start: Time, stop: Time) -> Self {
        let application = if stop < Time::MAX { Box::new(Stopped { application, stop }) } else { application };
        Program { application: Some(application), alarm: start, ..Program::none() }
    }

    /// Returns a program that reads arriving payload at its own pace.
    pub fn reader(application: Box<dyn Application>) -> Self {
        Program { application: Some(application), readable: true, ..Program::none() }
    }

    /// Returns a program that only reads arriving payload, at once.
    pub const fn none() -> Self {
        Program { application: None, alarm: Time::MAX, acked: false, readable: false, has_begun: false }
    }

    /// Returns when it acts next, whatever happens.
    #[inline]
    pub fn alarm(&self) -> Time {
        self.alarm
    }

    /// Returns the condition that it waits for.
    #[inline]
    pub fn wait(&self) -> Wait {
        Wait { until: self.alarm, acked: self.acked, readable: self.readable }
    }

    /// Returns true if it has acted of itself, not just read.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Lets the alarm go by.
    pub fn put_off(&mut self) {
        self.alarm = Time::MAX;
    }

    /// Acts: the event that it waited for has come.
    pub fn act(&mut self, now: Time, socket: &mut dyn Socket) {
        let Some(application) = &mut self.application else { return };
        self.has_begun |= !self.readable;
        let Wait { until, acked, readable } = application.act(now, socket);
        (self.alarm, self.acked, self.readable) = (until, acked, readable);
    }

    /// Returns how many bytes it would read at once.
    pub fn would_read(&self, now: Time) -> u64 {
        match &self.application {
            Some(application) if self.readable => application.would_read(now),
            _ => u64::MAX,
        }
    }
}
