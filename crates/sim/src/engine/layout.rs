//! The layout of a world: its stages in the order of a sweep, and by which inputs packets come to each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use longfat_core::atm::port::Port;
use longfat_core::link::{Link, PauseAt};
use longfat_core::packet::{Cookie, Packets};
use longfat_core::queue::shared::SharedBuffer;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Over;
use longfat_model::made::{self, Made};
use longfat_model::{Experiment, Flow, Ties};
use longfat_tcp::FastOpen;

use super::schedule::Schedule;
use super::units::{Kind, Units};
use super::world::World;
use crate::Error;
use crate::context::ending::Ending;
use crate::context::inputs::{Input, InputId, Inputs, Tie};
use crate::context::route::RouteTable;
use crate::context::{Context, Milestones, Spot, Turns};
use crate::ledger::Ledger;
use crate::stage::Stage;
use crate::stage::carrier::{Carrier, Feeder};
use crate::stage::endpoint::alone::Alone;
use crate::stage::endpoint::{Endpoint, personality};
use crate::stage::host::Host;
use crate::stage::host::build::Parts;
use crate::stage::link::LinkStage;
use crate::stage::port::{CellSource, OutputPort, port};
use crate::stage::router::Router;

impl World {
    /// The world of `experiment` at time zero.
    pub(crate) fn new(experiment: &Experiment) -> Result<Self, Error> {
        let mut table = RouteTable::new(experiment)?;
        let names: Vec<String> = experiment.flow_names().map(|name| name.to_string()).collect();
        let Made { mut links, memories } = made::links(experiment);
        let pauses = pauses(experiment, &table, &mut links);
        for (i, &start) in table.starts.iter().enumerate() {
            let mut party = made::party(&experiment.network, &experiment.flows[i / 2]);
            if i % 2 == 1 {
                // Packets back come from where the flow goes to.
                party.hosts.reverse();
            }
            table.moves.tell(&mut links, &table.route(i), start, &party);
        }
        // A port that no flow crosses is none.
        let channels = (0..).zip(&table.channels_of).filter(|(_, channels)| **channels > 0);
        let ports: BTreeMap<u32, Port> = channels.map(|(link, channels)| (link, port(experiment, link as usize, *channels))).collect();
        let units = Units::new(experiment, &table);
        let lag = |number: u32| {
            let link = &links[number as usize];
            ports.get(&number).map_or_else(|| link.lag(), |port| port.lag() + link.delay())
        };
        let told = (0..).zip(&pauses).flat_map(|(from, all)| all.iter().map(move |feeder| (from, feeder.link, feeder.lag)));
        let longest = longest(experiment, &links, &table);
        let plan = units.graph(experiment, &table, lag, told).plan(longest);
        let places = Places::new(&units, &plan.order);
        let each = plan.order.iter().flat_map(|unit| std::iter::repeat_n(*unit, units.stages[*unit].len()));
        let mut schedule = Schedule::new(&plan, each);
        let joined = Joined::new(experiment, &places, &mut table);
        let mut maker = Maker {
            experiment,
            places: &places,
            joined: &joined,
            table: &table,
            leads_to: joined.leads_to(&table, links.len()),
            links: links.into_iter().map(Some).collect(),
            names: &names,
            pauses,
            ports,
            memories,
            patience: longest,
        };
        let stages: Vec<Stage> = places.kinds.iter().enumerate().map(|(place, kind)| maker.stage(place, *kind)).collect();
        for (place, stage) in stages.iter().enumerate() {
            schedule.set(place, stage.first_wake());
        }
        let hosts: BTreeMap<usize, usize> = places.hosts().collect();
        // Datagrams are numbered from 0; the stream of TCP begins after the SYN.
        let is_tcp = |number: usize| experiment.flows[number / 2].traffic.is_tcp();
        let iss = |number| if is_tcp(number) { personality(experiment.seed, &name(&names, number)).0 } else { u32::MAX };
        let initial: Vec<u32> = (0..table.starts.len()).map(iss).collect();
        let ledger = Ledger::new(std::mem::take(&mut table.origin), &initial, experiment);
        let context = Context {
            now: Time::ZERO,
            steps: 0,
            turns: Turns::USUAL,
            packets: Packets::new(),
            inputs: joined.inputs,
            routes: table,
            ledger,
            flows: vec![Milestones::default(); experiment.flows.len()],
            ending: ending(experiment),
            endpoints: places.endpoints,
            out: Vec::new(),
            asked: Arc::default(),
        };
        Ok(World { stages, schedule, context, spots: places.links, hosts: hosts.into_values().collect(), all_delivered: None })
    }
}

/// The end of a run of `experiment`.
fn ending(experiment: &Experiment) -> Ending {
    let flows = experiment.flows.iter().enumerate();
    let volumes: Vec<_> = flows.filter_map(|(i, flow)| Some((i, flow.traffic.volume()?, flow.stop))).collect();
    // Whoever stops early may be done before its volume is sent.
    let unsent = volumes.iter().filter(|(_, _, stop)| stop.is_none()).map(|(flow, volume, _)| (*flow, *volume)).collect();
    Ending::new(volumes.len(), unsent)
}

/// The name of the endpoint `number`, after which its streams of randomness are named: its flow's, and which end it is.
fn name(flows: &[String], number: usize) -> String {
    format!("{} {}", flows[number / 2], if number.is_multiple_of(2) { "sender" } else { "receiver" })
}

/// Returns, for each link, the links that its flow control stops: those that fill its queue.
fn pauses(experiment: &Experiment, table: &RouteTable, links: &mut [Link]) -> Vec<Vec<Feeder>> {
    let network = &experiment.network;
    let mut all = vec![Vec::new(); links.len()];
    for (number, pause) in network.links.iter().enumerate().filter_map(|(number, link)| Some((number, link.pause?))) {
        let into: BTreeSet<usize> = table
            .pairs()
            .filter(|(link, next)| *next as usize == number && !network.links[*link as usize].cells)
            .map(|(link, _)| link as usize)
            .collect();
        for &link in &into {
            // The two ways of a link stand side by side.
            let (lag, time) = (links[link ^ 1].lag(), pause.time(network.links[link].rate));
            all[number].push(Feeder { link: link as u32, sender: links[link].heed_pauses(), lag, time });
        }
        if let Some(shortest) = all[number].iter().map(|feeder| feeder.time).min() {
            // Half of it is left when the next one comes.
            let refresh = Duration::from_ps(shortest.as_ps() / 2);
            links[number].watch(PauseAt { on: pause.on, off: pause.off, refresh });
        }
    }
    all
}

/// Full packets of the fastest bottleneck that fit into the longest period: packets put aside between two stages take memory.
const MOST: u64 = 32_768;

/// The longest period that is worth while.
fn longest(experiment: &Experiment, links: &[Link], table: &RouteTable) -> Duration {
    let bottleneck = |endpoint: usize| table.route(endpoint).iter().map(|link| links[*link as usize].time_of(MOST)).max();
    let shortest = (0..2 * experiment.flows.len()).filter_map(bottleneck).min();
    // Nothing ever happens in a network with no flow.
    shortest.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1))
}

/// The stages in the order of a sweep, and the spot of each link and endpoint.
struct Places {
    kinds: Vec<Kind>,
    links: Vec<Spot>,
    endpoints: Vec<Spot>,
}

impl Places {
    fn new(units: &Units, order: &[usize]) -> Self {
        let kinds: Vec<Kind> = order.iter().flat_map(|unit| units.stages[*unit].iter().copied()).collect();
        let places: BTreeMap<Kind, usize> = kinds.iter().enumerate().map(|(place, kind)| (*kind, place)).collect();
        let spots = |of: &[Kind]| {
            let mut counts = vec![0..; kinds.len()];
            let spot = |kind: &Kind| Spot { stage: places[kind], index: counts[places[kind]].next().unwrap_or_default() };
            of.iter().map(spot).collect()
        };
        Places { links: spots(&units.links), endpoints: spots(&units.endpoints), kinds }
    }

    /// Returns each host that is a stage, and its place.
    fn hosts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.kinds.iter().enumerate().filter_map(|(place, kind)| if let Kind::Host(host) = kind { Some((*host, place)) } else { None })
    }

    /// The links or the endpoints at `spots` that are at this place, in order.
    fn at(spots: &[Spot], place: usize) -> Vec<usize> {
        (0..spots.len()).filter(|i| spots[*i].stage == place).collect()
    }
}

/// The inputs, and which of them is whose.
struct Joined {
    inputs: Inputs,
    /// Input by which packets come to each endpoint that is a stage, and those of its link, if others send by that as well.
    ends: BTreeMap<usize, (InputId, Option<[InputId; 2]>)>,
    /// Inputs of each stage, by its place, in the order of the links by which packets come.
    to: Vec<Vec<InputId>>,
}

impl Joined {
    /// Makes the inputs, and tells the route table of them.
    fn new(experiment: &Experiment, places: &Places, table: &mut RouteTable) -> Self {
        let links = experiment.network.links.len() as u32;
        // A stream is named after the links that it orders: the rest of the network has no say in it.
        let named = |link: u32| experiment.network.links[link as usize].name.as_str();
        let make = |to: usize, from: Option<u32>, rank: u32| {
            let mut input = Input::new(to, from, rank);
            if experiment.ties == Ties::Random {
                let at = if let Kind::Link(link) = places.kinds[to] { named(link) } else { "" };
                input.tie = (rank < links).then(|| Box::new(Tie::new(Rng::named(experiment.seed, &format!("ties {} {at}", named(rank))))));
                input.rank |= if rank < links { 0 } else { 1 << 31 };
            }
            input
        };
        let (mut inputs, mut ends) = (Inputs::default(), BTreeMap::new());
        let alone = |endpoint: usize| {
            let Spot { stage, .. } = places.endpoints[endpoint];
            (places.kinds[stage] == Kind::Endpoint(endpoint)).then_some(stage)
        };
        for (endpoint, stage) in (0..table.starts.len()).filter_map(|endpoint| Some((endpoint, alone(endpoint)?))) {
            let came_by = table.last_to(endpoint);
            ends.insert(endpoint, (inputs.add(make(stage, Some(came_by), came_by)), None));
        }
        for (&endpoint, (_, outlets)) in &mut ends {
            let (Spot { stage: own, .. }, to) = (places.endpoints[endpoint], places.links[table.first(endpoint) as usize].stage);
            if own != to {
                let ranks = [table.last_to(endpoint), links + endpoint as u32];
                *outlets = Some(ranks.map(|rank| inputs.add(make(to, None, rank))));
            }
        }
        // The others: by the link from which packets come, and the stage. A router takes what comes by one link in one line, whichever of its
        // own links it is for.
        let mut between: BTreeMap<(u32, usize), InputId> = BTreeMap::new();
        let mut lead =
            |link: u32, to: Spot| *between.entry((link, to.stage)).or_insert_with(|| inputs.add(make(to.stage, Some(link), link)));
        for endpoint in 0..table.starts.len() {
            let (route, start) = (table.route(endpoint), table.starts[endpoint] as usize);
            for (i, &link) in route.iter().enumerate() {
                let next = route.get(i + 1).map(|next| places.links[*next as usize]);
                let input = match (next, ends.get(&(endpoint ^ 1))) {
                    (Some(next), _) => lead(link, next),
                    (None, Some((input, _))) => *input,
                    (None, None) => lead(link, places.endpoints[endpoint ^ 1]),
                };
                table.hops[start + i + 1] = Some(input);
            }
            for (link, next) in table.moved_pairs(&route) {
                table.moved.insert((link, next), lead(link, places.links[next as usize]));
            }
        }
        let mut to = vec![Vec::new(); places.kinds.len()];
        inputs.iter().for_each(|(id, input)| to[input.to].push(id));
        for ids in &mut to {
            ids.sort_by_key(|id| inputs[*id].from);
            ids.iter().enumerate().for_each(|(at, id)| inputs[*id].at = at);
        }
        Joined { inputs, ends, to }
    }

    /// Returns, for each of `links` links, the input that receives all it carries, if there is one.
    fn leads_to(&self, table: &RouteTable, links: usize) -> Vec<Option<InputId>> {
        let mut all = vec![BTreeSet::new(); links];
        for &input in table.hops.iter().flatten() {
            all[self.inputs[input].from.expect("a link leads to it") as usize].insert(input);
        }
        all.iter().map(|inputs| inputs.first().copied().filter(|_| inputs.len() == 1)).collect()
    }
}

/// Makes stages of their parts.
struct Maker<'a> {
    experiment: &'a Experiment,
    places: &'a Places,
    joined: &'a Joined,
    table: &'a RouteTable,
    leads_to: Vec<Option<InputId>>,
    links: Vec<Option<Link>>,
    names: &'a [String],
    pauses: Vec<Vec<Feeder>>,
    ports: BTreeMap<u32, Port>,
    memories: BTreeMap<usize, Arc<SharedBuffer>>,
    patience: Duration,
}

impl Maker<'_> {
    /// The stage of this kind, which has this place.
    fn stage(&mut self, place: usize, kind: Kind) -> Stage {
        let experiment = self.experiment;
        match kind {
            Kind::Link(link) => Stage::Link(Box::new(LinkStage { carrier: self.carrier(link), waiting: Vec::new() })),
            Kind::Port(link) => {
                let port = self.ports.remove(&link).expect("a port is one stage");
                let source = |id: &InputId| {
                    let from = self.joined.inputs[*id].from.expect("a link leads to a switch");
                    CellSource::new(*id, &experiment.network.links[from as usize])
                };
                let sources = self.joined.to[place].iter().map(source).collect();
                let is_before_switch = self.table.pairs().any(|(before, next)| before == link && self.table.channels_of[next as usize] > 0);
                Stage::Port(Box::new(OutputPort::new(self.carrier(link), port, is_before_switch, self.patience, sources)))
            }
            Kind::Endpoint(number) => {
                let (input, outlets) = self.joined.ends[&number];
                let carrier = outlets.is_none().then(|| Box::new(self.carrier(self.table.first(number))));
                Stage::Endpoint(Box::new(Alone::new(self.endpoint(number), input, carrier, outlets)))
            }
            Kind::Host(number) => {
                let ends = Places::at(&self.places.endpoints, place);
                let parts = Parts {
                    exits: ends.iter().map(|end| self.places.links[self.table.first(*end) as usize].index).collect(),
                    endpoints: ends.iter().map(|end| self.endpoint(*end)).collect(),
                    carriers: self.carriers(place),
                    inputs: self.joined.to[place].clone(),
                };
                Stage::Host(Box::new(Host::new(experiment, &experiment.hosts[number], parts)))
            }
            Kind::Router(number) => {
                let memory = self.memories[&experiment.routers[number].node].clone();
                Stage::Router(Box::new(Router::new(self.carriers(place), memory)))
            }
        }
    }

    /// The links of the stage at `place`, in order.
    fn carriers(&mut self, place: usize) -> Vec<Carrier> {
        Places::at(&self.places.links, place).into_iter().map(|link| self.carrier(link as u32)).collect()
    }

    fn carrier(&mut self, number: u32) -> Carrier {
        let i = number as usize;
        let link = self.links[i].take().expect("a link is of one stage");
        Carrier { number, link, leads_to: self.leads_to[i], feeders: std::mem::take(&mut self.pauses[i]) }
    }

    /// The end `number` of `flow` has the cookie of Fast Open that the server's key makes for the client's address (RFC 7413 §4.1.2). Here a
    /// stream of random numbers of its own stands for the key: nobody forges cookies.
    fn give_cookie(&self, flow: &Flow, number: usize, endpoint: &mut Endpoint) {
        let own = if number.is_multiple_of(2) { &flow.sender } else { &flow.receiver };
        if own.fast_open == FastOpen::Off {
            return;
        }
        let asked = matches!(flow.traffic.kind().over, Over::Asked { .. });
        let (client, server, answers) = if asked { (flow.to, flow.from, &flow.sender) } else { (flow.from, flow.to, &flow.receiver) };
        let is_client = number.is_multiple_of(2) != asked;
        let key = if is_client && own.fast_open == FastOpen::Stale { "an old key" } else { "the key" };
        let bytes = Rng::named(self.experiment.seed, &format!("{key} of {server} for {client}")).next_u64().to_be_bytes();
        let mss = answers.mss + answers.headers() - 40;
        endpoint.set_cookie(Cookie::new(&bytes).expect("a cookie may have 8 bytes"), mss.min(u32::from(u16::MAX)) as u16);
    }

    fn endpoint(&self, number: usize) -> Endpoint {
        let (seed, flow) = (self.experiment.seed, &self.experiment.flows[number / 2]);
        let (iss, phase) = personality(seed, &name(self.names, number));
        let mut endpoint = if number.is_multiple_of(2) {
            Endpoint::sender(flow, iss, phase, Rng::named(seed, &format!("{} traffic", self.names[number / 2])))
        } else {
            Endpoint::receiver(flow, iss, phase)
        };
        endpoint.number = number;
        self.give_cookie(flow, number, &mut endpoint);
        (endpoint.outgoing.route, endpoint.outgoing.dscp) = (self.table.starts[number], flow.dscp);
        endpoint
    }
}
