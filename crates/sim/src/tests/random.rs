//! Experiments at random: networks of any shape (dumbbells, trees with second lines, chains, parking lots, routers and cell switches), any
//! traffic, and hosts with anything that a host can have.

use std::sync::Arc;

use longfat_core::atm::discard;
use longfat_core::link::course::{self, Course, Outage, Outages, Step, Steps};
use longfat_core::link::{Harq, Jitter, Opportunities, Passage, Reorder, Service, Shaper, Spread, Unsteady, loss, service};
use longfat_core::params::{Choice, Value};
use longfat_core::queue::{self, shared};
use longfat_core::rng::Rng;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{
    Backlog, Cpu, Cycles, Experiment, Flow, Host, Intake, Link, Memory, Move, Network, Nic, Node, NodeKind, OnFull, Pause, Router,
};
use longfat_tcp::{TcpConfig, congestion};

use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

/// The experiment number `seed`: the same every time. `None` where no flow has a way.
pub(super) fn experiment(seed: u64) -> Option<Experiment> {
    let mut draw = Draw(Rng::named(seed, "random experiment"));
    let mut experiment = Dumbbell { duration: Duration::from_millis(draw.of(&[700, 2000, 3000])), ..Dumbbell::default() }.experiment();
    experiment.seed = seed;
    let flow = experiment.flows.remove(0);
    let template = experiment.network.links[0].clone();
    experiment.network.links.clear();
    experiment.network.nodes.clear();
    let hosts = draw.network(&mut experiment, &template);
    Draw(Rng::named(seed, "random links that change")).unsettle(&mut experiment);
    for group in 0..draw.up_to(8) + 1 {
        let (from, to) = (draw.pick(&hosts), draw.pick(&hosts));
        let traffic = draw.traffic();
        let config = draw.tcp();
        let start = Duration::from_millis(draw.of(&[0, 0, 0, 1, 100, 137, 400]));
        let stop = draw.one_in(4).then(|| start + Duration::from_millis(300));
        let read_rate = (draw.one_in(10) && traffic.is_tcp()).then(|| Rate::from_bps(2_000_000));
        // Streams of one group share their hosts.
        for stream in 0..draw.of(&[1, 1, 1, 2, 5]) {
            let start = start + Duration::from_millis(draw.of(&[0, 0, 7]) * stream);
            let of = Flow { from, to, traffic: traffic.clone(), start, stop: stop.map(|stop| stop.max(start)), read_rate, ..flow.clone() };
            let group = format!("group{group}").into();
            experiment.flows.push(Flow {
                group,
                sender: config.clone(),
                receiver: config.clone(),
                stream_of: experiment.flows.len(),
                ..of
            });
        }
    }
    // Routes are over routers only: flows without one are none.
    let routes = longfat_model::route::Routes::new(&experiment.network);
    let has_route = |a, b| routes.path(a, b).is_some_and(|path| !path.is_empty());
    let kept: Vec<Flow> = experiment.flows.iter().filter(|f| has_route(f.from, f.to) && has_route(f.to, f.from)).cloned().collect();
    experiment.flows = kept;
    if experiment.flows.is_empty() {
        return None;
    }
    for &node in &hosts {
        if draw.one_in(4) {
            draw.equip(&mut experiment, node);
        }
    }
    draw.hold_back(&mut experiment, &hosts);
    Draw(Rng::named(seed, "random shared memories")).share(&mut experiment);
    Draw(Rng::named(seed, "random moves")).detour(&mut experiment);
    experiment.departures_last = draw.one_in(3);
    experiment.measure.interval = draw.one_in(2).then(|| Duration::from_micros(draw.of(&[1000, 9137, 10_000, 100_000, 377_000])));
    experiment.measure.events = true;
    experiment.measure.warmup = Duration::from_millis(draw.of(&[0, 100, 500]));
    Some(experiment)
}

struct Draw(Rng);

impl Draw {
    fn up_to(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.up_to(values.len())]
    }

    fn pick(&mut self, from: &[usize]) -> usize {
        self.of(from)
    }

    /// Nodes and links; the hosts among the nodes.
    fn network(&mut self, experiment: &mut Experiment, template: &Link) -> Vec<usize> {
        let (inner, ends) = (1 + self.up_to(5), 2 + self.up_to(6));
        let shape = self.up_to(4);
        let has_switches = self.one_in(3);
        for i in 0..inner + ends {
            let kind = match i < inner {
                true if has_switches && !self.one_in(3) => NodeKind::Switch { ports: 64, buffers_at_inputs: false },
                true => NodeKind::Router,
                false => NodeKind::Host,
            };
            experiment.network.nodes.push(Node { name: format!("n{i}"), kind });
        }
        // Equal times everywhere make many events happen at once.
        let regular = self.one_in(3).then(|| (self.of(&[1_u64, 10, 100]), self.of(&[0_u64, 500, 1000, 7000])));
        for i in 1..inner + ends {
            let before = match shape {
                // A chain, with hosts anywhere; a dumbbell or parking lot if there are two or three routers.
                0 | 1 if i < inner => i - 1,
                1 => (i % 2) * (inner - 1),
                // A tree, and some hosts hang on each other.
                2 if i >= inner && self.one_in(5) => self.up_to(i),
                _ => self.up_to(i.min(inner)),
            };
            self.join(experiment, template, i, before, regular);
        }
        for _ in 0..self.up_to(3) {
            let (a, b) = (self.up_to(inner + ends), self.up_to(inner));
            if a != b && experiment.network.links.iter().all(|link| (link.from, link.to) != (a, b)) {
                self.join(experiment, template, a, b, regular);
            }
        }
        (inner..inner + ends).collect()
    }

    fn join(&mut self, experiment: &mut Experiment, template: &Link, a: usize, b: usize, regular: Option<(u64, u64)>) {
        let (rate, delay) =
            regular.unwrap_or_else(|| (self.of(&[1, 2, 5, 10, 17, 40, 100]), self.of(&[0, 0, 1, 50, 500, 1000, 7000, 20_000])));
        let nodes = &experiment.network.nodes;
        let cells = nodes[a].is_switch() || nodes[b].is_switch();
        for (from, to) in [(a, b), (b, a)] {
            let mut link = Link {
                name: format!("n{from}>n{to}"),
                from,
                to,
                rate: Rate::from_bps(rate * 1_000_000),
                delay: Duration::from_micros(delay),
                queue: self.queue(),
                loss: self.loss(),
                overhead: self.of(&[0, 0, 18]),
                min_frame: self.of(&[0, 64]),
                mtu: 1500,
                pause: None,
                bottleneck: false,
                ..template.clone()
            };
            if cells {
                (link.cells, link.overhead, link.min_frame) = (true, self.of(&[0, 8]), 0);
            }
            if experiment.network.nodes[from].is_switch() {
                let kind = self.of(discard::NAMES);
                let buffer = ("buffer", Value::Count(self.of(&[40, 100, 1000])));
                link.discard = Some(discard::choice(kind).with(&[buffer]));
            }
            experiment.network.links.push(link);
        }
    }

    /// Some links change, or treat packets unevenly.
    fn unsettle(&mut self, experiment: &mut Experiment) {
        if !self.one_in(3) {
            return;
        }
        for link in experiment.network.links.iter_mut().filter(|link| !link.cells) {
            if self.one_in(2) {
                link.unsteady = self.unsteady(link);
            }
        }
    }

    fn unsteady(&mut self, link: &Link) -> Unsteady {
        let (rate, delay, ms) = (link.rate.as_bps(), link.delay.as_ps(), Duration::from_millis);
        let leo = course::choice("leo").with(&[("interval", Value::Duration(ms(self.of(&[7, 100]))))]);
        let granted = |interval| {
            service::choice("docsis").with(&[("rate", Value::Rate(Rate::from_bps(rate))), ("map_interval", Value::Duration(ms(interval)))])
        };
        let service = match self.up_to(6) {
            0 => Some(Service::Rate(Course::Drawn { low: rate / 4, high: rate, by: leo.clone() })),
            1 => {
                let steps = [(0, rate), (250, rate / 10), (300, rate)].map(|(at, value)| Step { at: ms(at), value });
                Some(Service::Rate(Course::Steps(Steps { steps: steps.into(), repeat: self.one_in(2).then_some(ms(400)) })))
            }
            2 => Some(Service::Rate(Course::Drawn { low: 1 + rate / 50, high: 1 + rate, by: course::choice("lte") })),
            3 => Some(Service::Granted(granted(self.of(&[2, 9])))),
            4 => Some(Service::Opportunities(Opportunities([3, 3, 8, 30].into()))),
            _ => None,
        };
        let outages = match self.up_to(5) {
            0 => Outages::once([(ms(100), ms(150)), (ms(400), ms(520))]),
            1 => Outages(vec![Outage { from: ms(30), to: ms(45), every: Some(ms(110)) }, Outage { from: ms(40), to: ms(60), every: None }]),
            _ => Outages::default(),
        };
        let most = ms(self.of(&[1, 20]));
        let spread = self.of(&[Spread::Uniform(most), Spread::Normal(most / 8), Spread::Pareto(most / 4)]);
        let jitter = Jitter { spread, correlation: self.of(&[0.0, 0.5]), in_order: self.one_in(2) };
        let passage = Passage {
            delay: self.one_in(2).then_some(Course::Drawn { low: delay, high: delay + 20_000_000_000, by: leo }),
            jitter: self.one_in(2).then_some(jitter),
            reorder: self.one_in(3).then_some(Reorder { probability: 0.02, by: ms(4) }),
            duplicate: self.of(&[0.0, 0.0, 0.03]),
            harq: self.one_in(3).then_some(Harq { probability: 0.1, round_trip: ms(8), block: ms(1), most: 3 }),
        };
        Unsteady { service, outages, passage, limit_in_delay: self.one_in(3).then_some(self.of(&[3, 60])) }
    }

    fn queue(&mut self) -> Choice {
        let limit = Capacity::Packets(1 + self.0.below(40));
        if !self.one_in(3) {
            return droptail(limit);
        }
        let kind = queue::named(self.of(queue::NAMES));
        // The default limit of a queue for a fast network may be less than a packet on a slow one.
        let has_limit = kind.params.iter().any(|param| param.name == "limit");
        let limit = has_limit.then_some(("limit", Value::Capacity(Capacity::Packets(30))));
        queue::choice(kind.name).with(limit.as_slice())
    }

    fn loss(&mut self) -> Choice {
        if !self.one_in(6) {
            return loss::choice("none");
        }
        let (probability, corruption) = (self.of(&[0.0, 0.01, 0.05]), self.of(&[0.0, 0.01]));
        loss::choice("bernoulli").with(&[("probability", Value::Number(probability)), ("corruption", Value::Number(corruption))])
    }

    fn tcp(&mut self) -> Arc<TcpConfig> {
        let stack = self.of(&["rfc", "rfc", "linux", "linux-2.4", "reno-2001", "bsd-reno-1994"]);
        let config = match stack {
            "rfc" => TcpConfig { congestion_control: congestion::choice(self.of(congestion::NAMES)), ..tcp("rfc") },
            stack => tcp(stack),
        };
        let ecn = if self.one_in(2) { congestion::ecn_use(&config).default } else { config.ecn };
        Arc::new(TcpConfig { ecn, ..config })
    }

    fn traffic(&mut self) -> Traffic {
        let ms = |ms| Value::Duration(Duration::from_millis(ms));
        let (rate, size) = (("rate", Value::Rate(Rate::from_bps(500_000))), |bytes| ("size", Value::Bytes(bytes)));
        let volume = Traffic::ttcp;
        match self.up_to(11) {
            0..3 => Traffic::bulk(),
            3 => volume(300_000),
            4 => volume(40_000),
            5 => Traffic::ping(Duration::from_millis(50), 84),
            6 => Traffic::udp(Rate::from_bps(500_000), 1500),
            7 => Traffic::of("on_off", &[rate, size(600), ("on", ms(30)), ("off", ms(30))]),
            8 => Traffic::of("web", &[size(20_000), ("think", ms(40))]),
            9 => Traffic::of("writes", &[rate, size(900), ("gaps", Value::Choice("poisson"))]),
            _ => Traffic::of("writes", &[rate, size(5000)]),
        }
    }

    /// Draws the intake of a processor: mostly without obstacles.
    fn intake(&mut self) -> Intake {
        if !self.one_in(2) {
            return Intake::default();
        }
        let backlog = Backlog { max: 1 + self.up_to(8) as u64, throttles: self.one_in(2) };
        Intake {
            rx_ring: self.one_in(2).then_some(4),
            rx_usecs: Duration::from_micros(self.of(&[0, 100, 2000])),
            rx_frames: self.one_in(2).then_some(3),
            backlog: self.one_in(2).then_some(backlog),
        }
    }

    /// Some transmitters are held back: by the queues they fill, or by a rate of their own.
    fn hold_back(&mut self, experiment: &mut Experiment, hosts: &[usize]) {
        if self.one_in(3) {
            let nodes = &experiment.network.nodes;
            for link in experiment.network.links.iter_mut().filter(|link| nodes[link.from].kind == NodeKind::Router) {
                let on = self.of(&[1, 1500, 6000, 30_000]);
                let off = self.of(&[0, on / 2, on - 1]);
                link.pause = self.one_in(2).then_some(Pause { on, off, quanta: self.of(&[40, 1000, 65_535]) });
            }
        }
        for &node in hosts {
            if !self.one_in(6) {
                continue;
            }
            let shaper = Shaper { rate: Rate::from_bps(self.of(&[300_000, 2_000_000, 30_000_000])), burst: self.of(&[0, 3000, 20_000]) };
            match experiment.hosts.iter_mut().find(|host| host.node == node) {
                Some(host) => host.shaper = Some(shaper),
                None => experiment.hosts.push(Host { shaper: Some(shaper), ..Host::new(node) }),
            }
        }
    }

    /// Some routers have a second line between them, to which routes move, and back.
    fn detour(&mut self, experiment: &mut Experiment) {
        let Network { nodes, links, moves } = &mut experiment.network;
        if !self.one_in(3) || links.iter().any(|link| link.pause.is_some()) {
            return;
        }
        let is_between_routers = |link: &Link| [link.from, link.to].iter().all(|node| nodes[*node].kind == NodeKind::Router);
        // The two ways of a link stand side by side.
        for link in (0..links.len()).step_by(2).filter(|link| is_between_routers(&links[*link])).collect::<Vec<_>>() {
            let (by, delay) = (links.len(), Duration::from_micros(self.of(&[0, 100, 5000, 30_000])));
            for way in [link, link + 1] {
                links.push(Link { name: format!("{} again", links[way].name), delay, queue: self.queue(), ..links[way].clone() });
            }
            let (there, back) = (Duration::from_millis(self.of(&[0, 137, 300])), Duration::from_millis(600));
            for (at, to) in [(there, by), (back, link)] {
                moves.extend([0, 1].map(|way| Move { at, link: link + way, by: to + way }));
            }
        }
        moves.sort_by_key(|step| (step.at, step.link));
    }

    /// The ports of some routers share a memory.
    fn share(&mut self, experiment: &mut Experiment) {
        if !self.one_in(3) {
            return;
        }
        let nodes = &experiment.network.nodes;
        for node in (0..nodes.len()).filter(|node| nodes[*node].kind == NodeKind::Router) {
            if self.one_in(4) {
                continue;
            }
            let sharing = match self.up_to(4) {
                0 => shared::choice("complete"),
                1 => shared::choice("static"),
                _ => shared::choice("dynamic").with(&[("alpha", Value::Number(self.of(&[0.125, 1.0, 8.0])))]),
            };
            experiment.routers.push(Router { node, shared_buffer: self.of(&[20_000, 40_000, 200_000]), sharing });
        }
    }

    /// The host `node` gets something that all on it share.
    fn equip(&mut self, experiment: &mut Experiment, node: usize) {
        let cycles = Cycles { packet: 10_000, byte: 1.0 };
        let on_full = self.of(&[OnFull::Stall, OnFull::Wait, OnFull::Drop]);
        let has_cpu = self.one_in(3);
        let host = Host {
            nic: self.one_in(2).then_some(Nic { txqueuelen: 5, on_full }),
            cpu: has_cpu.then(|| Cpu { mhz: 100, send: cycles, receive: cycles, intake: self.intake() }),
            overhead: self.one_in(4).then(|| Duration::from_micros(300)),
            memory: self.one_in(3).then_some(Memory { bytes: 1 << 20, least: None }),
            ..Host::new(node)
        };
        if host.nic.is_some() {
            for link in experiment.network.links.iter_mut().filter(|link| link.from == node) {
                link.queue = droptail(Capacity::Packets(5));
            }
        }
        experiment.hosts.push(host);
    }
}
