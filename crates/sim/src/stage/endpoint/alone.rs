//! Endpoints as stages, where they share nothing with others of their host but the link they send by.

use longfat_core::packet::{Ecn, Line, PacketId};
use longfat_core::queue::DropReason;
use longfat_core::time::Time;

use super::{Endpoint, Exchange};
use crate::context::Context;
use crate::context::inputs::InputId;
use crate::stage::carrier::Carrier;

/// An endpoint by itself.
pub(crate) struct Alone {
    pub endpoint: Endpoint,
    /// The input by which packets come to it.
    input: InputId,
    /// Link of the endpoint, if no other endpoint sends by it. Thousands of endpoints may send by one link: they have no room for one of
    /// their own.
    pub carrier: Option<Box<Carrier>>,
    /// Packets sent in this turn, which the link takes at its end.
    sent: Line,
    /// Inputs of the stage of its link, if others send by it: one per [`Cause`], since each is in order of time then.
    outlets: Option<[InputId; 2]>,
}

/// Cause of an endpoint's actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A packet came.
    Arrival,
    /// The endpoint woke.
    Timer,
}

impl Alone {
    /// Makes a stage of an endpoint to which packets come by `input`, and which sends by `carrier` or `outlets`.
    pub(crate) fn new(endpoint: Endpoint, input: InputId, carrier: Option<Box<Carrier>>, outlets: Option<[InputId; 2]>) -> Self {
        Alone { endpoint, input, carrier, sent: Line::new(), outlets }
    }

    /// The endpoint lives up to and including `until`, or until it has had its turn. Returns when it next has something to do.
    pub(crate) fn run(&mut self, until: Time, context: &mut Context) -> Time {
        let turn_ends = context.turn_ends();
        let mut line = std::mem::take(&mut context.inputs[self.input].line);
        let before = line.len();
        let next = loop {
            let comes = line.first().map_or(Time::MAX, |id| context.packets[id].stamp);
            let wakes = self.endpoint.wake;
            let next = comes.min(wakes);
            if next > until || ((context.steps >= turn_ends || context.is_asked()) && next > context.now) {
                break next;
            }
            if comes <= wakes && self.take_plain(&mut line, until, turn_ends, context) {
                continue;
            }
            context.now = next;
            context.steps += 1;
            // Packets come before timers.
            if comes <= wakes {
                let id = line.pop(&context.packets).expect("there is a first");
                self.arrive(id, context);
            } else {
                self.endpoint.wake(context);
                self.attend(Cause::Timer, context);
                let Endpoint { wake, number, .. } = self.endpoint;
                assert!(wake > context.now, "endpoint {number} was woken at {wake:?}, and wants it again at once");
            }
        };
        let input = &mut context.inputs[self.input];
        input.delivered += (before - line.len()) as u64;
        input.line = line;
        let Some(carrier) = &mut self.carrier else { return next };
        let Context { packets, ledger, .. } = &mut *context;
        carrier.offer_line(&mut self.sent, Time::MAX, packets, ledger);
        let lived = if next > until { until } else { Time::from_ps(next.as_ps() - 1) };
        carrier.advance_before(lived, context);
        next.min(carrier.link.due())
    }

    /// Takes plain segments from the front of `line`, if the endpoint is plain, up to its next wake-up. Returns true if it took any.
    #[inline]
    fn take_plain(&mut self, line: &mut Line, until: Time, turn_ends: u64, context: &mut Context) -> bool {
        let Alone { endpoint, sent, outlets, .. } = self;
        let (number, way) = (endpoint.number, endpoint.way());
        let Some(Exchange { mut plain, wake, delivered, outgoing }) = endpoint.exchange(context) else { return false };
        let before = line.len();
        let mut left = turn_ends.saturating_sub(context.steps);
        let mut is_all = true;
        while let Some(id) = line.first() {
            let (packet, segment) = (&context.packets[id], context.packets.segment(id));
            let now = packet.stamp;
            // A turn ends between two instants.
            let is_over = (now > until.min(*wake)) | (((left == 0) | context.is_asked()) & (now > context.now)) | packet.corrupted;
            if is_over || !plain.handle(now, segment, || packet.ecn) {
                break;
            }
            context.now = now;
            left = left.saturating_sub(1);
            context.ledger.left(now, packet, segment);
            delivered.add(packet.ip_len());
            line.pop(&context.packets);
            context.packets.remove(id);
            is_all = plain.send(now, |segment| {
                let packet = outgoing.enter(now, number, Ecn::NotEct, segment, &mut context.ledger);
                let id = context.packets.insert(way, packet, *segment);
                match outlets {
                    None => sent.push(id, &mut context.packets),
                    Some(outlets) => context.inputs.put(outlets[Cause::Arrival as usize], id, &mut context.packets),
                }
            });
            *wake = plain.deadline().min(*wake);
            if !is_all {
                break;
            }
        }
        let taken = before - line.len();
        context.steps += taken as u64;
        if !is_all {
            self.attend(Cause::Arrival, context);
        }
        taken > 0
    }

    /// The packet `id` has come. If it is damaged, the checksum fails.
    #[inline]
    fn arrive(&mut self, id: PacketId, context: &mut Context) {
        if context.packets[id].corrupted {
            return context.lose(id, DropReason::Corrupted);
        }
        self.endpoint.receive(id, context);
        self.attend(Cause::Arrival, context);
    }

    /// Attends to the endpoint after any event: notes it, sends what there is to send, sets the timer.
    #[inline]
    fn attend(&mut self, cause: Cause, context: &mut Context) {
        self.endpoint.read(context.now);
        self.endpoint.note_milestone(context);
        while let Some(id) = self.endpoint.poll(context) {
            match self.outlets {
                None => self.sent.push(id, &mut context.packets),
                Some(outlets) => context.inputs.put(outlets[cause as usize], id, &mut context.packets),
            }
        }
        self.endpoint.settle(context);
    }
}
