//! System calls: their results, and when they return.

use super::{Runner, Step, fail, refused, unsupported};
use crate::host::{Attempt, Progress};
use crate::place::Place;
use crate::settings::Refusal;
use crate::syntax::{Call, Expression};
use longfat_core::time::Time;

/// A system call that has not returned.
pub(super) struct Pending<'a> {
    pub call: &'a Call,
    pub place: Place,
    pub progress: Progress,
    /// Time at which it returns, according to the script.
    pub due: Time,
    /// Time at which it must be tried again even if nothing arrives.
    pub wake: Option<Time>,
}

impl<'a> Runner<'a> {
    pub(super) fn call(&mut self, place: Place, call: &'a Call) -> Step {
        self.finish_call()?;
        let mut progress = Progress::default();
        // A call counts its end from the time of the event before it, as it counts its own time; `base` has moved to its start.
        let due = call.end.map(|end| self.origin.saturating_add(end));
        let attempt = self.host.attempt(self.now, call, &mut progress);
        match (attempt, due) {
            (Attempt::Blocks(wake), Some(due)) => {
                self.pending = Some(Pending { call, place, progress, due, wake });
            }
            (Attempt::Blocks(_), None) => {
                let text = format!(
                    "{} blocks; a call that may is written with the time when it returns, `+0...0.1 {}(...)`",
                    call.name, call.name
                );
                return Err(self.with_history(fail(place, text), Vec::new()));
            }
            (attempt, due) => {
                judge(place, call, attempt).map_err(|v| self.with_history(v, Vec::new()))?;
                if let Some(due) = due {
                    self.on_time(&Pending { call, place, progress, due, wake: None })?;
                }
            }
        }
        self.flush();
        self.check()
    }

    /// Completes a call that blocks: it must have returned before the next one, and before the end.
    pub(super) fn finish_call(&mut self) -> Step {
        let Some(latest) = self.pending.as_ref().map(|p| p.due.saturating_add(self.settings.tolerance)) else { return Ok(()) };
        while self.pending.is_some() && self.step(latest) {}
        self.check()?;
        match &self.pending {
            Some(pending) => {
                let text = format!("{} has not returned by {:.6}", pending.call.name, latest.as_secs_f64());
                Err(self.with_history(fail(pending.place, text), Vec::new()))
            }
            None => Ok(()),
        }
    }

    /// Checks that a call that blocked returns when the script says: now.
    pub(super) fn on_time(&self, pending: &Pending<'_>) -> Step {
        let early = pending.due.since(self.now) > self.settings.tolerance;
        if early || self.now.since(pending.due) > self.settings.tolerance {
            let (now, due) = (self.now.as_secs_f64(), pending.due.as_secs_f64());
            return Err(fail(pending.place, format!("{} returns at {now:.6} instead of {due:.6}", pending.call.name)));
        }
        Ok(())
    }
}

/// Compares the result of a call with the script's.
pub(super) fn judge(place: Place, call: &Call, attempt: Attempt) -> Step {
    let expected = match (&call.result, &call.errno) {
        (Expression::Anything, _) => None,
        (Expression::Integer(n), errno) => Some((*n, errno.as_deref())),
        _ => return Err(unsupported(place, "a result that is no number")),
    };
    let name = &call.name;
    let (result, errno) = match attempt {
        Attempt::Returns(n) => (n, None),
        Attempt::Fails(errno) => (-1, Some(errno)),
        Attempt::Differs(what) => return Err(fail(place, format!("{name}: {what}"))),
        Attempt::Wrong(what) => return Err(refused(place, Refusal::Wrong(what))),
        Attempt::Unsupported(what) => return Err(unsupported(place, what)),
        Attempt::Blocks(_) => unreachable!("a call that blocks is not judged"),
    };
    let Some((want, want_errno)) = expected else { return Ok(()) };
    // A script may leave the error open.
    if want == result && (want_errno.is_none() || want_errno == errno) {
        return Ok(());
    }
    let text = |n: i64, errno: Option<&str>| errno.map_or(n.to_string(), |errno| format!("{n} {errno}"));
    Err(fail(place, format!("{name} returns {} instead of {}", text(result, errno), text(want, want_errno))))
}
