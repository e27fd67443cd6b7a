//! Run of an experiment: everything is made, the two threads run, and their results become the trace.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration as Span;

use longfat_bpf::{AGENT, Registered, Steered, Twin, register, steer};
use longfat_core::params::Params;
use longfat_core::time::{Duration, Time};
use longfat_host::clock::Clock;
use longfat_host::facts::{self, Before, TcpMemory};
use longfat_host::sys;
use longfat_model::Experiment;
use longfat_record::recorder::Recorder;
use longfat_record::trace::{LATE, PacketLog, RealTime, Trace};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::Error;
use crate::linux::acks::{self, Probe};
use crate::linux::agents::Agents;
use crate::linux::check;
use crate::linux::controls::KernelControls;
use crate::linux::emulator::{Emulated, Emulator, Exactness, Shared};
use crate::linux::flow;
use crate::linux::frame::Tuple;
use crate::linux::lock::Lock;
use crate::linux::namespace::Namespace;
use crate::linux::network::Network;
use crate::linux::plan::Plan;
use crate::linux::session::Session;

/// Time from the end of all preparations to time zero.
const AHEAD: Span = Span::from_millis(20);
/// Time between two checks whether the caller wants to stop.
const PATIENCE: Span = Span::from_millis(20);
/// Real-time priorities of the two threads. The emulator's is above that of threaded interrupts (50).
const EMULATOR: i32 = 60;
const ENDPOINTS: i32 = 1;
/// The most memory that is taken for packets before the start.
const PACKET_MEMORY: u64 = 1 << 29;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Virtual time, which is real time.
    pub now: Time,
    /// Links crossed by packets so far.
    pub crossings: u64,
}

/// The cores: the emulator has the last, all else the first. On a machine with one core they share it.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    first: usize,
    last: usize,
}

impl Cores {
    /// Returns the cores that this process may use.
    pub fn allowed() -> Self {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let cores: Vec<usize> = (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect();
        Cores { first: cores.first().copied().unwrap_or(0), last: cores.last().copied().unwrap_or(0) }
    }

    /// A mask of the first, in hexadecimal, as sysfs takes it: groups of 32.
    pub fn mask_of_first(&self) -> String {
        let zeros = ",00000000".repeat(self.first / 32);
        format!("{:x}{zeros}", 1_u32 << (self.first % 32))
    }
}

/// Ties this thread to `core`, with a real-time priority if it may have one: if not, the verdict says how long it waited for its core.
fn settle(core: usize, priority: i32) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|e| Error::system("a thread could not be tied to a core", e))?;
    match sys::run_in_real_time(priority) {
        Err(e) if e.kind() != ErrorKind::PermissionDenied => Err(Error::system("a thread could not get a real-time priority", e)),
        _ => Ok(()),
    }
}

/// Runs of one process follow each other: all its threads may ask for one, and [`Lock`] is for other processes.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Hosts and the path between them.
pub(crate) struct Bench {
    pub plan: Plan,
    pub namespaces: Vec<Namespace>,
    pub emulator: Emulator,
    pub cores: Cores,
    /// The controls that the kernel was given, until the run ends.
    _controls: Vec<Registered>,
    /// The control of sockets that policies steer, if there are any.
    steered: Option<Arc<Steered>>,
    _lock: Lock,
}

impl Bench {
    /// Prepares `experiment`; with `all`, every host is made, also those without a flow. Time has not begun.
    pub fn new(experiment: &Experiment, all: bool) -> Result<Self, Error> {
        let mut plan = planned(experiment, all)?;
        let lock = Lock::take()?;
        acks::remove_left();
        let give = |(twin, params): &(&'static Twin, Params)| register(twin, params).map_err(|why| Error::system(twin.kernel_name, why));
        let controls = plan.controls.iter().map(give).collect::<Result<_, _>>()?;
        let steered = plan.has_policies().then(steer).transpose().map_err(|why| Error::system(AGENT, why))?;
        let cores = Cores::allowed();
        let mut namespaces = Vec::new();
        let mut devices = Vec::new();
        for interface in &mut plan.interfaces {
            interface.rps_cpus = cores.mask_of_first();
            let namespace = Namespace::new()?;
            devices.push(namespace.connect(interface)?);
            namespaces.push(namespace);
        }
        let mut network = Network::new(experiment, &plan.nodes, &plan.addresses());
        plan.flows.iter().zip(0..).for_each(|(flow, number)| network.expect(flow.tuple, number));
        network.log.frames.reserve(room(experiment));
        let emulator = Emulator {
            network,
            devices,
            clock: Clock::starting_in(Span::ZERO),
            recorder: Recorder::new(experiment, None),
            experiment: experiment.clone(),
            exactness: Exactness::default(),
        };
        Ok(Bench { plan, namespaces, emulator, cores, _controls: controls, steered: steered.map(Arc::new), _lock: lock })
    }
}

/// Checks that `experiment` can be run here, as far as that is known without starting it.
///
/// # Errors
/// Experiments that ask for something that the testbed, this build or this process cannot do.
pub fn ready(experiment: &Experiment) -> Result<(), Error> {
    let plan = planned(experiment, false)?;
    plan.controls.iter().try_for_each(|(twin, _)| longfat_bpf::ready(twin).map_err(|why| Error::system(twin.kernel_name, why)))?;
    if plan.has_policies() { longfat_bpf::ready_to_steer().map_err(|why| Error::system(AGENT, why)) } else { Ok(()) }
}

fn planned(experiment: &Experiment, all: bool) -> Result<Plan, Error> {
    check::permitted()?;
    routes(experiment)?;
    Plan::new(experiment, all, KernelControls::default())
}

/// Checks that every flow has a path there and back.
fn routes(experiment: &Experiment) -> Result<(), Error> {
    let network = &experiment.network;
    let routes = longfat_model::route::Routes::new(network);
    for flow in &experiment.flows {
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            if routes.path(from, to).is_none_or(|path| path.is_empty()) {
                let name = |node: usize| network.nodes[node].name.clone();
                return Err(Error::NoRoute { group: flow.group.to_string(), from: name(flow.from), to: name(flow.to) });
            }
        }
    }
    Ok(())
}

/// Packets that are on their way at once if every link is full, and as many again in queues.
fn room(experiment: &Experiment) -> usize {
    let mtu = experiment.network.links.iter().map(|link| link.mtu).max().unwrap_or(1500);
    let in_flight: f64 =
        experiment.network.links.iter().map(|link| link.rate.as_bps() as f64 * link.delay.as_secs_f64() / 8.0 / f64::from(link.mtu)).sum();
    (2.0 * in_flight).min((PACKET_MEMORY / u64::from(mtu)) as f64) as usize + 4096
}

/// Runs `experiment` to its end, which takes as long as it says; calls `go_on` with how far it is every few milliseconds, and stops when
/// that says `false`.
///
/// # Errors
/// Experiments that cannot be run, before anything is started; operations that the system refuses; [`Error::Cancelled`].
pub fn run_with(experiment: &Experiment, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<Trace, Error> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Bench { plan, namespaces, mut emulator, cores, _controls, steered, _lock } = Bench::new(experiment, false)?;
    raise_files(experiment.flows.len());
    let names: Vec<String> = experiment.flow_names().collect();
    let ends = (experiment.flows.iter().zip(&plan.flows).zip(&names))
        .map(|((flow, place), name)| flow::ends(flow, place, &plan, &namespaces, experiment.seed, name))
        .collect::<Result<Vec<_>, _>>()?;
    let shared = Arc::new(Shared::new(Time::ZERO + experiment.measure.duration));
    let before = Before::now(Namespace::losses(&namespaces)?);
    let clock = Clock::starting_in(AHEAD);
    emulator.clock = clock;
    let probe = if experiment.measure.acks { Some(Probe::start()?) } else { None };
    let agents = steered.as_ref().map(|steered| Agents::new(Arc::clone(steered), &plan.steers(experiment), &ends)).transpose()?;
    let session = Session::new(experiment, ends, agents, clock, Arc::clone(&shared))?;
    let (of_emulator, of_endpoints) = (Arc::clone(&shared), Arc::clone(&shared));
    let first = cores.first;
    let emulate = thread::spawn(move || as_emulator(&cores, emulator, &of_emulator));
    let endpoints = thread::spawn(move || {
        let settled = settle(first, ENDPOINTS);
        let before = facts::waited();
        let left = settled.and_then(|()| session.run());
        if left.is_err() {
            of_endpoints.end_by(Time::ZERO);
        }
        left.map(|left| (left, since(before)))
    });
    let mut cancelled = None;
    let mut memory = TcpMemory::new();
    memory.look();
    while !(emulate.is_finished() && endpoints.is_finished()) {
        thread::sleep(PATIENCE);
        memory.look();
        let now = clock.now();
        if cancelled.is_none() && !go_on(&Progress { now, crossings: shared.crossings() }) {
            cancelled = Some(now);
            shared.end_by(Time::ZERO);
        }
    }
    let emulated = emulate.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let left = endpoints.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if let Some(at) = cancelled {
        return Err(Error::Cancelled { at });
    }
    let ((emulated, emulator_waited), (left, endpoints_waited)) = (emulated?, left?);
    let Emulated { network, trace: of_network, exactness } = emulated;
    let spoilt = before.since(Namespace::losses(&namespaces)?);
    let mut real_time = facts::spoilt(&spoilt, of(&exactness));
    (real_time.emulator_waited, real_time.endpoints_waited) = (emulator_waited, endpoints_waited);
    real_time.lost_at_socket += left.refused;
    (real_time.tcp_memory_max, real_time.tcp_memory_pressure) = (memory.most, memory.pressure);
    let tuples: Vec<Tuple> = plan.flows.iter().map(|flow| flow.tuple).collect();
    let first = network.log.first_bytes();
    let acks = probe.map(|probe| probe.finish(experiment, &tuples, &first, clock)).transpose()?;
    let mut trace = Trace {
        acks: acks.unwrap_or_default(),
        links: of_network.links,
        link_series: of_network.link_series,
        events: network.log.events,
        packets: network.log.rows.map(PacketLog::into_rows).unwrap_or_default(),
        packets_in_network_max: network.log.frames.made(),
        steps: network.crossings,
        real_time: Some(real_time),
        ..left.trace
    };
    trace.events.extend(left.events);
    trace.events.sort_by_key(|event| event.time);
    // The endpoints do not know what the network drops.
    for (record, lost) in trace.flows.iter_mut().zip(&of_network.flows) {
        record.total.packets_dropped = lost.total.packets_dropped;
        record.at_warmup.packets_dropped = lost.at_warmup.packets_dropped;
    }
    Ok(trace)
}

/// Runs as the emulator's thread; returns its results, and the time for which it waited for its core.
pub(crate) fn as_emulator(cores: &Cores, emulator: Emulator, shared: &Shared) -> Result<(Emulated, Time), Error> {
    let settled = settle(cores.last, EMULATOR);
    if settled.is_err() {
        shared.end_by(Time::ZERO);
    }
    let before = facts::waited();
    let emulated = emulator.run(shared);
    settled.map(|()| (emulated, since(before)))
}

/// Returns the time for which this thread has waited for a core since it had waited for `before`.
fn since(before: Time) -> Time {
    Time::ZERO + facts::waited().since(before)
}

/// Returns the disturbances of a run, as the emulator measured them.
pub(crate) fn of(exactness: &Exactness) -> RealTime {
    let times = |of: Option<[Duration; 3]>| of.unwrap_or_default().map(|time| Time::ZERO + time);
    RealTime {
        late: times(exactness.late.at(LATE, 0)),
        late_max: Time::ZERO + exactness.late_max,
        unseen: times(exactness.unseen.at(LATE, 0)),
        handed_over: exactness.handed_over,
        lost_at_device: exactness.refused,
        ..RealTime::default()
    }
}

/// Two sockets a flow, and one that listens; as far as the system lets us.
fn raise_files(flows: usize) {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let needed = 3 * flows as u64 + 1024;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < needed
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed));
    }
}
