//! Hosts made from the description in an experiment.

use longfat_core::rng::Rng;
use longfat_model::{Experiment, OnFull};

use super::{Host, Interface, Member, Nic, Overhead, Pool, Processor};
use crate::context::inputs::InputId;
use crate::due::Due;
use crate::stage::carrier::Carrier;
use crate::stage::endpoint::{Agent, Endpoint};

/// Parts of a host that the experiment does not list under it.
pub(crate) struct Parts {
    pub endpoints: Vec<Endpoint>,
    /// The links by which they send, in order.
    pub carriers: Vec<Carrier>,
    /// Number of each endpoint's link.
    pub exits: Vec<usize>,
    /// Inputs by which packets come, in the order of the links.
    pub inputs: Vec<InputId>,
}

/// The transmit queue of a host, if TCP waits there. Lost when the queue is full: that is what the link's queue does by itself.
fn nic(host: &longfat_model::Host) -> Option<longfat_model::Nic> {
    host.nic.filter(|nic| nic.on_full != OnFull::Drop)
}

/// True for a host that is a stage: its endpoints share more than the links by which they send.
pub(crate) fn is_stage(host: &longfat_model::Host) -> bool {
    let has_part = host.cpu.is_some() || host.overhead.is_some() || host.interrupts.is_some();
    has_part || nic(host).is_some() || host.offload.is_some() || host.memory.is_some() || host.relays
}

impl Host {
    /// The host `host` of `experiment` at time zero.
    pub(crate) fn new(experiment: &Experiment, host: &longfat_model::Host, parts: Parts) -> Self {
        let Parts { endpoints, carriers, exits, inputs } = parts;
        let keeps_small = host.offload.is_some_and(|offload| offload.limit_output_bytes.is_some());
        let new_nic = |_: &Carrier| nic(host).map(|nic| Nic::new(nic.txqueuelen, nic.on_full, keeps_small));
        let name = format!("{} overhead", experiment.network.nodes[host.node].name);
        let mut made = Host {
            agenda: Due::new(inputs.len() + endpoints.len() + carriers.len() + 3),
            members: endpoints.into_iter().zip(exits).map(|(endpoint, exit)| Member::new(endpoint, exit)).collect(),
            nics: carriers.iter().map(new_nic).collect(),
            carriers,
            processor: host.cpu.as_ref().map(Processor::new),
            overhead: host.overhead.map(|most| Overhead::new(most, Rng::named(experiment.seed, &name))),
            interface: host.interrupts.map(Interface::new),
            memory: host.memory.map(|memory| Pool::new(memory.bytes)),
            offload: host.offload,
            inputs,
        };
        if host.relays {
            made.join_relays(experiment);
        }
        for number in 0..made.members.len() {
            made.join_memory(experiment, host, number);
            made.note_wake(number);
        }
        made
    }

    /// A connection that ends here gets its share of the memory, if that is bounded.
    fn join_memory(&mut self, experiment: &Experiment, host: &longfat_model::Host, number: usize) {
        let Member { share, endpoint, .. } = &mut self.members[number];
        if let (Some(pool), Some(memory), Agent::Tcp(tcp)) = (&mut self.memory, host.memory, &mut endpoint.agent) {
            let flow = &experiment.flows[endpoint.number / 2];
            let config = if endpoint.number.is_multiple_of(2) { &flow.sender } else { &flow.receiver };
            *share = Some(pool.join(number, tcp, memory.least(config)));
        }
    }
}

impl Member {
    fn new(endpoint: Endpoint, exit: usize) -> Self {
        Member {
            endpoint,
            exit,
            share: None,
            relay: None,
            queued: 0,
            waits_for_own: false,
            is_waiting: false,
            is_asking: false,
            has_relayed_all: false,
        }
    }
}
