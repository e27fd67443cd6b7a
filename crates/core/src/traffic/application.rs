//! An application over TCP: what it does with its socket, and what it waits for.

use crate::time::Time;

/// The end of a connection, as the application has it. No call blocks, and none fails: what TCP cannot send yet waits in its buffer.
pub trait Socket {
    /// Hands over so many bytes of payload.
    fn write(&mut self, bytes: u64);
    /// Ends the stream after what has been written.
    fn close(&mut self);
    /// Ends the stream after what TCP has sent so far; the rest of what was written is forgotten.
    fn stop(&mut self);
    /// Takes up to so many bytes that have arrived in order; how many it got.
    fn read(&mut self, most: u64) -> u64;
    /// Bytes that have arrived in order and were not read.
    fn unread(&self) -> u64;
}

/// Condition that an application waits for, as a process does in `poll(2)`: a time, or an event before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// At the latest until then; [`Time::MAX`]: however long it takes.
    pub until: Time,
    /// Until all that it has written is acknowledged.
    pub acked: bool,
    /// Until there is something to read.
    pub readable: bool,
}

impl Wait {
    /// For nothing: it has nothing more to do.
    pub const FOR_EVER: Wait = Wait { until: Time::MAX, acked: false, readable: false };
    /// Until all that it has written is acknowledged.
    pub const ACKED: Wait = Wait { acked: true, ..Wait::FOR_EVER };

    /// Until `time`.
    pub const fn until(time: Time) -> Self {
        Wait { until: time, ..Wait::FOR_EVER }
    }
}

/// Behaviour of a process at one end of a connection. It decides, without clock or I/O: the simulator runs it, and a real process could.
pub trait Application: std::fmt::Debug + Send {
    /// Called when the flow starts, and then each time what it waited for has come. Says what it waits for next.
    fn act(&mut self, now: Time, socket: &mut dyn Socket) -> Wait;

    /// The flow's `stop` has come: the last call. What has been written is sent, unless the application has it otherwise.
    fn stop(&mut self, socket: &mut dyn Socket) {
        socket.close();
    }

    /// How many bytes it would read at once at `now`.
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

/// An application with what it waits for. Whoever runs it calls [`Program::act`] at [`Program::alarm`], and when something has happened
/// that it waits for.
#[derive(Debug)]
pub struct Program {
    /// `None`: nothing is done at this end but to read what comes, at once.
    application: Option<Box<dyn Application>>,
    alarm: Time,
    // Not a `Wait`: there is one of these for each end of a connection, and this is eight bytes less.
    acked: bool,
    readable: bool,
    has_begun: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Program>() == 32);

impl Program {
    /// Acts first at `start`, and last at `stop`.
    pub fn new(application: Box<dyn Application>, start: Time, stop: Time) -> Self {
        let application = if stop < Time::MAX { Box::new(Stopped { application, stop }) } else { application };
        Program { application: Some(application), alarm: start, ..Program::none() }
    }

    /// Reads at its own pace what comes.
    pub fn reader(application: Box<dyn Application>) -> Self {
        Program { application: Some(application), readable: true, ..Program::none() }
    }

    /// Does nothing but read what comes, at once.
    pub const fn none() -> Self {
        Program { application: None, alarm: Time::MAX, acked: false, readable: false, has_begun: false }
    }

    /// When it acts next, whatever happens.
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

    /// How many bytes it would read at once.
    pub fn would_read(&self, now: Time) -> u64 {
        match &self.application {
            Some(application) if self.readable => application.would_read(now),
            _ => u64::MAX,
        }
    }
}
