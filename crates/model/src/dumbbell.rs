//! A dumbbell as an [`Experiment`], in Rust and without a file: for tests, benchmarks, and programs that run many.
//!
//! Pairs of hosts, an edge link each, two routers and one bottleneck between them. Node 0 is the left router, node 1 the
//! right one, then come the left and the right host of each pair. Links 0 and 1 are the two ways of the bottleneck.

use std::sync::Arc;

use longfat_core::link::{Unsteady, loss};
use longfat_core::packet::Dscp;
use longfat_core::params::{Choice, Value};
use longfat_core::queue;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_tcp::{TcpConfig, stack};

use crate::{Experiment, Flow, Link, Measure, Network, Node, NodeKind, Ties};

/// Options of a dumbbell. Packets have at most 1500 bytes, and links add no bytes to them.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Host pairs, one flow each, from left to right.
    pub pairs: usize,
    /// Flows of each pair.
    pub streams: usize,
    /// Time from the start of one flow to that of the next.
    pub stagger: Duration,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Round-trip propagation delay, edges included.
    pub rtt: Duration,
    /// Rate of the link between each host and its router.
    pub edge_rate: Rate,
    /// Propagation delay of one of these links.
    pub edge_delay: Duration,
    /// Queue in front of the bottleneck, in both directions.
    pub queue: Choice,
    /// Loss on the bottleneck, in both directions.
    pub loss: Choice,
    /// TCP of both ends of each flow.
    pub tcp: TcpConfig,
    /// Traffic of each flow.
    pub traffic: Traffic,
    /// Duration of the run, unless flows with a volume end it before.
    pub duration: Duration,
}

const MTU: u32 = 1500;

/// The drop-tail queue of `limit`.
pub fn droptail(limit: Capacity) -> Choice {
    queue::choice("droptail").with(&[("limit", Value::Capacity(limit))])
}

/// TCP as the RFCs say, or as another `stack` does.
pub fn tcp(stack: &str) -> TcpConfig {
    TcpConfig::new(&stack::named(stack).params(), MTU)
}

impl Default for Dumbbell {
    /// One flow over 10 Mb/s and 20 ms, with a queue of one bandwidth-delay product, for 10 s.
    fn default() -> Self {
        Dumbbell {
            pairs: 1,
            streams: 1,
            stagger: Duration::ZERO,
            rate: Rate::from_bps(10_000_000),
            rtt: Duration::from_millis(20),
            edge_rate: Rate::from_bps(1_000_000_000),
            edge_delay: Duration::from_millis(1),
            queue: droptail(Capacity::Bdp(1.0)),
            loss: loss::choice("none"),
            tcp: tcp("rfc"),
            traffic: Traffic::bulk(),
            duration: Duration::from_secs(10),
        }
    }
}

impl Dumbbell {
    /// The experiment: seed 1, no warmup, nothing recorded but what every run leaves. A round trip below four edge delays is one of four edge delays.
    pub fn experiment(&self) -> Experiment {
        let mut nodes = vec![node("left".into(), false), node("right".into(), false)];
        let bottleneck_delay = Duration::from_ps((self.rtt.as_ps() / 2).saturating_sub(2 * self.edge_delay.as_ps()));
        let bottleneck = |name: &str, from, to| Link {
            delay: bottleneck_delay,
            rate: self.rate,
            queue: self.queue.clone(),
            loss: self.loss.clone(),
            ..self.edge(name.into(), from, to)
        };
        let mut links = vec![Link { bottleneck: true, ..bottleneck("bottleneck>", 0, 1) }, bottleneck("bottleneck<", 1, 0)];
        let mut flows = Vec::new();
        let (group, tcp): (Arc<str>, _) = ("forward".into(), Arc::new(self.tcp.clone()));
        for i in 1..=self.pairs {
            let (from, to) = (nodes.len(), nodes.len() + 1);
            nodes.push(node(format!("sender{i}"), true));
            nodes.push(node(format!("receiver{i}"), true));
            links.push(self.edge(format!("sender{i}>"), from, 0));
            links.push(self.edge(format!("sender{i}<"), 0, from));
            links.push(self.edge(format!("receiver{i}>"), 1, to));
            links.push(self.edge(format!("receiver{i}<"), to, 1));
            for _ in 0..self.streams {
                flows.push(Flow {
                    group: group.clone(),
                    from,
                    to,
                    sender: tcp.clone(),
                    receiver: tcp.clone(),
                    dscp: Dscp::DEFAULT,
                    traffic: self.traffic.clone(),
                    start: self.stagger * flows.len() as u64,
                    drawn: None,
                    relays: None,
                    stop: None,
                    read_rate: None,
                    stream_of: flows.len(),
                });
            }
        }
        Experiment {
            title: "dumbbell".into(),
            seed: 1,
            ties: Ties::LinkOrder,
            departures_last: false,
            network: Network { nodes, links, moves: Vec::new() },
            hosts: Vec::new(),
            routers: Vec::new(),
            flows,
            measure: Measure { duration: self.duration, warmup: Duration::ZERO, interval: None, events: false, packets: None, acks: false },
            live: None,
        }
    }

    fn edge(&self, name: String, from: usize, to: usize) -> Link {
        Link {
            name,
            from,
            to,
            rate: self.edge_rate,
            delay: self.edge_delay,
            cells: false,
            overhead: 0,
            min_frame: 0,
            mtu: MTU,
            queue: droptail(Capacity::Packets(1 << 40)),
            discard: None,
            loss: loss::choice("none"),
            unsteady: Unsteady::default(),
            rate_file: None,
            delay_file: None,
            pause: None,
            bottleneck: false,
        }
    }
}

fn node(name: String, host: bool) -> Node {
    Node { name, kind: if host { NodeKind::Host } else { NodeKind::Router } }
}
