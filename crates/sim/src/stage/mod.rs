//! Stages: what lives by itself for a while, and owns its state.

pub(crate) mod carrier;
pub(crate) mod endpoint;
pub(crate) mod host;
pub(crate) mod link;
pub(crate) mod port;
pub(crate) mod router;

use longfat_core::packet::Packet;
use longfat_core::time::{Duration, Time};

use crate::context::Context;
use crate::context::inputs::InputId;
use carrier::Carrier;
use endpoint::Endpoint;
use endpoint::alone::Alone;
use host::Host;
use link::LinkStage;
use port::OutputPort;
use router::Router;

/// One stage, with everything that it has.
pub(crate) enum Stage {
    /// A link with the queue before it.
    Link(Box<LinkStage>),
    /// An output port of a switch, with the link behind it.
    Port(Box<OutputPort>),
    /// An endpoint that shares nothing with others but the link it sends by.
    Endpoint(Box<Alone>),
    /// Host that the experiment describes: its endpoints, the parts they share, and the links they send by.
    Host(Box<Host>),
    /// The links that lead from a router and share a memory there.
    Router(Box<Router>),
}

impl Stage {
    /// The stage lives up to and including `until`, or until it has had its turn. Returns when it next has something to do.
    #[inline]
    pub(crate) fn run(&mut self, until: Time, context: &mut Context) -> Time {
        match self {
            Stage::Endpoint(endpoint) => endpoint.run(until, context),
            Stage::Link(link) => link.run(until, context),
            Stage::Port(port) => port.run(until, context),
            Stage::Host(host) => host.run(until, context),
            Stage::Router(router) => router.run(until, context),
        }
    }

    /// Records that `packet` is the first to arrive by the input `id`, number `at` of the stage's, since nothing waited there. Returns the
    /// time at which the stage has something to do for it.
    #[inline]
    pub(crate) fn expect(&mut self, id: InputId, at: usize, packet: &Packet) -> Time {
        match self {
            Stage::Endpoint(_) => {}
            Stage::Link(link) => link.waiting.push(id),
            Stage::Router(router) => router.waiting.push(id),
            Stage::Host(host) => host.expect(at, packet.stamp),
            Stage::Port(port) => return port.expect(at, packet),
        }
        packet.stamp
    }

    /// A PAUSE frame is on its way to the link `index` of the stage ([`longfat_core::link::Link::pause`]). Returns when the stage has something to do.
    pub(crate) fn pause(&mut self, index: usize, sender: usize, at: Time, time: Duration) -> Time {
        let link = &mut self.carriers_mut()[index].link;
        link.pause(sender, at, time);
        let due = link.due();
        if let Stage::Host(host) = self { due.min(host.paused(index)) } else { due }
    }

    /// Returns the time beyond which no stage may go.
    #[inline]
    pub(crate) fn bound(&self) -> Time {
        if let Stage::Host(host) = self { host.next_look() } else { Time::MAX }
    }

    /// Returns the time at which an endpoint of the stage first wakes.
    pub(crate) fn first_wake(&self) -> Time {
        match self {
            Stage::Endpoint(alone) => alone.endpoint.wake,
            Stage::Host(host) => host.first_due(),
            Stage::Link(_) | Stage::Port(_) | Stage::Router(_) => Time::MAX,
        }
    }

    /// Returns its links.
    pub(crate) fn carriers(&self) -> &[Carrier] {
        match self {
            Stage::Link(link) => std::slice::from_ref(&link.carrier),
            Stage::Port(port) => std::slice::from_ref(&port.carrier),
            Stage::Endpoint(alone) => alone.carrier.as_deref().map_or(&[], std::slice::from_ref),
            Stage::Host(host) => &host.carriers,
            Stage::Router(router) => &router.carriers,
        }
    }

    /// Returns its links, to be changed.
    pub(crate) fn carriers_mut(&mut self) -> &mut [Carrier] {
        match self {
            Stage::Link(link) => std::slice::from_mut(&mut link.carrier),
            Stage::Port(port) => std::slice::from_mut(&mut port.carrier),
            Stage::Endpoint(alone) => alone.carrier.as_deref_mut().map_or(&mut [], std::slice::from_mut),
            Stage::Host(host) => &mut host.carriers,
            Stage::Router(router) => &mut router.carriers,
        }
    }

    /// Returns its endpoint of this number.
    pub(crate) fn endpoint(&self, index: usize) -> &Endpoint {
        match self {
            Stage::Endpoint(alone) => &alone.endpoint,
            Stage::Host(host) => &host.members[index].endpoint,
            Stage::Link(_) | Stage::Port(_) | Stage::Router(_) => panic!("the stage has endpoints"),
        }
    }

    /// Returns its endpoint of this number, to be changed.
    pub(crate) fn endpoint_mut(&mut self, index: usize) -> &mut Endpoint {
        match self {
            Stage::Endpoint(alone) => &mut alone.endpoint,
            Stage::Host(host) => &mut host.members[index].endpoint,
            Stage::Link(_) | Stage::Port(_) | Stage::Router(_) => panic!("the stage has endpoints"),
        }
    }
}
