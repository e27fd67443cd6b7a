//! A link as the stage that owns it has it: with where what it carries goes.

use longfat_core::link::Link;
use longfat_core::packet::{Line, PacketId, Packets};
use longfat_core::time::{Duration, Time};

use crate::context::inputs::InputId;
use crate::context::{Context, Message};
use crate::ledger::{Ledger, LinkLog};

/// One link.
pub(crate) struct Carrier {
    /// Number in the network.
    pub number: u32,
    pub link: Link,
    /// The input by which all comes that it carries; `None` where there are several.
    pub leads_to: Option<InputId>,
    /// Links that are told what the flow control of its queue says.
    pub feeders: Vec<Feeder>,
}

/// A link that fills a queue with flow control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feeder {
    pub link: u32,
    /// The number of the queue among those that may stop that link.
    pub sender: usize,
    /// Time that a PAUSE frame takes to the link's transmitter: the least frame on the link back.
    pub lag: Duration,
    /// Time for which a PAUSE frame stops the link.
    pub time: Duration,
}

impl Carrier {
    /// The packet `id` comes to the queue at `now`.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, id: PacketId, context: &mut Context) {
        let Context { packets, ledger, .. } = context;
        ledger.queued(now, id, packets, self.number);
        self.link.offer(now, id, packets, &mut LinkLog { link: self.number, ledger });
    }

    /// The packets of `line` come to the queue that come by `until`. Returns when the next one comes.
    #[inline]
    pub(crate) fn offer_line(&mut self, line: &mut Line, until: Time, packets: &mut Packets, ledger: &mut Ledger) -> Time {
        let mut log = LinkLog { link: self.number, ledger };
        if self.link.takes_lines() && !log.ledger.keeps_packets() {
            return self.link.take_line(line, until, packets, &mut log);
        }
        while let Some(id) = line.first() {
            let now = packets[id].stamp;
            if now > until {
                return now;
            }
            line.pop(packets);
            log.ledger.queued(now, id, packets, log.link);
            self.link.offer(now, id, packets, &mut log);
        }
        Time::MAX
    }

    /// Does what happens at the queue before what could still come at `until`.
    #[inline]
    pub(crate) fn advance_before(&mut self, until: Time, context: &mut Context) {
        self.advance_queue_before(until, context);
        self.settle(until, context);
        self.pass_on(context);
    }

    /// Does what happens at the queue, and not yet on the wire, before what could still come at `until`.
    #[inline]
    pub(crate) fn advance_queue_before(&mut self, until: Time, context: &mut Context) {
        let Context { packets, ledger, .. } = context;
        self.link.advance_before(until, packets, &mut LinkLog { link: self.number, ledger });
    }

    /// Does what has happened at the queue up to now.
    pub(crate) fn advance_queue(&mut self, context: &mut Context) {
        let Context { packets, ledger, now, .. } = context;
        self.link.advance(*now, packets, &mut LinkLog { link: self.number, ledger });
    }

    /// Does what has happened at the queue, and on the wire, up to now.
    pub(crate) fn advance(&mut self, context: &mut Context) {
        self.advance_queue(context);
        self.settle(context.now, context);
        self.pass_on(context);
    }

    /// Does what has happened on the wire up to `until`.
    #[inline]
    pub(crate) fn settle(&mut self, until: Time, context: &mut Context) {
        let Context { packets, ledger, .. } = context;
        self.link.settle(until, packets, &mut LinkLog { link: self.number, ledger });
    }

    /// Sends on its way what the link has sent.
    #[inline]
    pub(crate) fn pass_on(&mut self, context: &mut Context) {
        let Context { packets, inputs, routes, .. } = &mut *context;
        if !routes.moves.is_empty() {
            while let Some(id) = self.link.take_sent(packets) {
                inputs.put(routes.hop_from(self.number, &packets[id]), id, packets);
            }
        } else if let Some(input) = self.leads_to {
            inputs.append(input, self.link.sent(), packets);
        } else {
            let sent = self.link.sent();
            while let Some(first) = sent.first() {
                let input = routes.hop(packets[first].route);
                let mut run = sent.take_while(packets, |packet| routes.hop(packet.route) == input);
                inputs.append(input, &mut run, packets);
            }
        }
        if !self.feeders.is_empty() {
            self.tell(context);
        }
    }

    /// Tells those who fill the queue what its flow control says.
    #[cold]
    fn tell(&mut self, context: &mut Context) {
        while let Some(told) = self.link.take_change() {
            let frame = |&Feeder { link, sender, lag, time }: &Feeder| {
                let time = if told.stop { time } else { Duration::ZERO };
                Message::Pause { link, sender, at: told.at + lag, time }
            };
            context.out.extend(self.feeders.iter().map(frame));
        }
    }
}
