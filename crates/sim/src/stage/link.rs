//! Links as stages: packets that have arrived go through the queue in order of time.

use longfat_core::time::Time;

use super::carrier::Carrier;
use crate::context::Context;
use crate::context::inputs::InputId;

/// A link with the queue before it.
pub(crate) struct LinkStage {
    pub carrier: Carrier,
    /// The inputs in which packets wait.
    pub waiting: Vec<InputId>,
}

impl LinkStage {
    /// The link lives up to and including `until`. Returns when it next has something to do.
    pub(crate) fn run(&mut self, until: Time, context: &mut Context) -> Time {
        let next = match self.waiting[..] {
            [only] if context.inputs[only].tie.is_none() => self.take_from_one(only, until, context),
            _ => self.take_from_all(until, context),
        };
        self.carrier.advance_before(until, context);
        next.min(self.carrier.link.due())
    }

    /// Takes packets from the one input in which packets wait. Returns the arrival of the next one.
    fn take_from_one(&mut self, only: InputId, until: Time, context: &mut Context) -> Time {
        let Context { inputs, packets, ledger, .. } = context;
        let input = &mut inputs[only];
        let before = input.line.len();
        let line = &mut input.line;
        let next = self.carrier.offer_line(line, until, packets, ledger);
        if line.is_empty() {
            self.waiting.clear();
        }
        input.delivered += (before - input.line.len()) as u64;
        next
    }

    /// Takes packets from several inputs. Returns the arrival of the next one.
    fn take_from_all(&mut self, until: Time, context: &mut Context) -> Time {
        let Context { inputs, packets, ledger, .. } = context;
        let (mut line, next) = inputs.merge(&mut self.waiting, until, packets);
        self.carrier.offer_line(&mut line, Time::MAX, packets, ledger);
        next
    }
}
