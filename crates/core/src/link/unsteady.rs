//! Changes of a link over time or from packet to packet, and its rarely used properties.

use super::course::{Course, Outages};
use super::service::{Service, Transmitter};
use super::travel::Passage;
use crate::rng::Rng;
use crate::units::Rate;

/// Parts of a link that are not constant. By default, everything is constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsteady {
    /// Capacity over time. `None`: its rate.
    pub service: Option<Service>,
    /// Times at which it carries nothing. A transmission then goes on afterwards, and packets wait in the queue.
    pub outages: Outages,
    /// Impairments of packets on their way.
    pub passage: Passage,
    /// Most packets that it has at once: in its queue, in transmission and on the wire. `None`: no bound but the queue's own.
    pub limit_in_delay: Option<u64>,
}

impl Unsteady {
    /// Returns true if all is constant.
    pub fn is_steady(&self) -> bool {
        *self == Unsteady::default()
    }

    /// Returns true if any part is random.
    pub fn is_random(&self) -> bool {
        let Passage { delay, jitter, reorder, duplicate, harq } = &self.passage;
        let is_drawn = |course: &Course| matches!(course, Course::Drawn { by, .. } if by.kind != "sine");
        let is_rate_drawn = match &self.service {
            Some(Service::Rate(course)) => is_drawn(course),
            Some(Service::Granted(_)) => true,
            Some(Service::Opportunities(_)) | None => false,
        };
        is_rate_drawn || harq.is_some() || delay.as_ref().is_some_and(is_drawn) || jitter.is_some() || reorder.is_some() || *duplicate > 0.0
    }

    /// Returns the transmitter of a link with the rate `rate`; `None`: that rate, always.
    pub(super) fn transmitter(&self, rate: Rate, rng: Rng) -> Option<Transmitter> {
        if self.service.is_none() && self.outages == Outages::default() {
            return None;
        }
        let constant = Service::constant(rate.as_bps());
        Some(self.service.as_ref().unwrap_or(&constant).transmitter(self.outages.clone(), rng))
    }
}
