//! Plan of an experiment for the kernel: hosts with addresses and settings, and for each flow its ports and controls.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use longfat_bpf::Twin;
use longfat_core::params::Params;
use longfat_host::options::settings;
use longfat_model::{Experiment, Flow};
use longfat_tcp::TcpConfig;

use crate::Error;
use crate::linux::agents::Steers;
use crate::linux::controls::{Chooser, Chosen, KernelControls};
use crate::linux::frame::{TCP, Tuple, UDP};
use crate::linux::namespace::Interface;

/// Port of the first flow, at both ends; the ports of the others follow.
const FIRST_PORT: u16 = 1024;

/// Everything that is to be made.
#[derive(Debug)]
pub struct Plan {
    /// The nodes that are hosts, in the order of the network.
    pub nodes: Vec<usize>,
    /// Interfaces: the hosts' sides of the path.
    pub interfaces: Vec<Interface>,
    /// Plan of each flow.
    pub flows: Vec<FlowPlan>,
    /// Congestion controls that the kernel does not have, and is to be given.
    pub controls: Vec<(&'static Twin, Params)>,
}

/// Ends of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowPlan {
    /// Number of the host that connects.
    pub from: usize,
    /// Number of the host that listens.
    pub to: usize,
    /// Port at both ends.
    pub port: u16,
    /// Addresses and ports, as in its packets.
    pub tuple: Tuple,
    /// Congestion controls of its sender and of its receiver.
    pub controls: Option<[Chosen; 2]>,
}

/// The address of host `number`.
fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0001 + number as u32)
}

impl Plan {
    /// For `experiment` in a kernel that has `kernel`, or what cannot be done of it. With `all`, every host is made, also those without a flow.
    pub fn new(experiment: &Experiment, all: bool, kernel: KernelControls) -> Result<Self, Error> {
        let network = &experiment.network;
        let ends: BTreeSet<usize> = experiment.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        let nodes: Vec<usize> = (0..network.nodes.len()).filter(|i| ends.contains(i) || all && network.nodes[*i].is_host()).collect();
        if experiment.flows.len() > usize::from(u16::MAX - FIRST_PORT) {
            return Err(Error::unsupported("flow.count", "more than 64,511 flows: each has a port of its own"));
        }
        let number = |node: usize| nodes.binary_search(&node).expect("it is a host");
        let mut chooser = Chooser::new(kernel);
        let plan = |(i, flow): (usize, &Flow)| {
            let (from, to, port) = (number(flow.from), number(flow.to), FIRST_PORT + i as u16);
            let protocol = if flow.traffic.is_tcp() { TCP } else { UDP };
            let tuple = Tuple { from: address(from).into(), to: address(to).into(), protocol, from_port: port, to_port: port };
            let controls =
                if flow.traffic.is_tcp() { Some([chooser.choose(&flow.sender)?, chooser.choose(&flow.receiver)?]) } else { None };
            Ok(FlowPlan { from, to, port, tuple, controls })
        };
        let flows: Vec<FlowPlan> = experiment.flows.iter().enumerate().map(plan).collect::<Result<_, Error>>()?;
        let interfaces = (0..nodes.len()).map(|host| interface(experiment, &nodes, &flows, host)).collect::<Result<_, _>>()?;
        Ok(Plan { nodes, interfaces, flows, controls: chooser.given() })
    }

    /// True if an end has the control that policies steer.
    pub fn has_policies(&self) -> bool {
        self.flows.iter().any(|flow| flow.controls.is_some_and(|ends| ends.iter().any(|end| end.policy.is_some())))
    }

    /// The flows of `experiment` that policies steer.
    pub fn steers(&self, experiment: &Experiment) -> Vec<Steers> {
        let policy = |flow: &FlowPlan| flow.controls.and_then(|[sender, _]| sender.policy);
        let flows = self.flows.iter().zip(&experiment.flows).enumerate();
        flows.filter_map(|(i, (plan, flow))| Some((i, policy(plan)?, flow.sender.mss.into()))).collect()
    }

    /// The addresses of the hosts.
    pub fn addresses(&self) -> Vec<u32> {
        self.interfaces.iter().map(|interface| interface.address.into()).collect()
    }
}

/// The side of `host`: what all its flows have in common.
fn interface(experiment: &Experiment, nodes: &[usize], flows: &[FlowPlan], host: usize) -> Result<Interface, Error> {
    let links = &experiment.network.links;
    let mtu = links.iter().filter(|link| link.from == nodes[host]).map(|link| link.mtu).max().unwrap_or(1500);
    let mut sysctls: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut routes: BTreeMap<usize, String> = BTreeMap::new();
    for (flow, plan) in experiment.flows.iter().zip(flows).filter(|(flow, _)| flow.traffic.is_tcp()) {
        for (at, other, tcp) in [(plan.from, plan.to, &flow.sender), (plan.to, plan.from, &flow.receiver)] {
            if at != host {
                continue;
            }
            let name = &experiment.network.nodes[nodes[host]].name;
            for (key, value) in settings(tcp) {
                let before = sysctls.insert(key, value.clone());
                if before.is_some_and(|before| before != value) {
                    return Err(Error::unsupported(
                        key,
                        &format!("flows that have it differently at one host ({name}): Linux has it for a whole host"),
                    ));
                }
            }
            let metrics = metrics(tcp);
            let before = routes.insert(other, metrics.clone());
            if before.is_some_and(|before| before != metrics) {
                let what = format!("flows between the same hosts (from {name}) that differ in initial_window, rto_min or initial_ssthresh");
                return Err(Error::unsupported("flow.initial_window", &what));
            }
        }
    }
    Ok(Interface {
        address: address(host),
        mtu,
        txqueuelen: if nodes.len() > 50 { 10_000 } else { 100_000 },
        routes: routes.into_iter().map(|(to, metrics)| (address(to), metrics)).collect(),
        sysctls: sysctls.into_iter().collect(),
        rps_cpus: String::new(),
    })
}

/// Returns the metrics of the route to the other end.
fn metrics(tcp: &TcpConfig) -> String {
    let segments = |bytes: u64| (bytes / u64::from(tcp.mss)).max(1);
    let mut text = format!("initcwnd {} rto_min {}ms", segments(tcp.first_window()), (tcp.timers.rto_min.as_ps() / 1_000_000_000).max(1));
    if tcp.initial_ssthresh != u64::MAX {
        text += &format!(" ssthresh {}", segments(tcp.initial_ssthresh));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::controls::testing::Machine;
    use longfat_experiment::Document;
    use longfat_host::options::Options;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn experiment(flows: &str) -> Experiment {
        let text = format!(
            "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate = \"10 Mbit/s\", mtu = \"1500 bytes\" }}\n\
             edge = {{ rate = \"100 Mbit/s\", mtu = \"1500 bytes\" }}\n{flows}\n[measure]\nduration = \"1 s\"\n"
        );
        let document = Document::parse(&text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
        document.run(0).unwrap_or_else(|e| panic!("{e}")).experiment
    }

    fn planned(experiment: &Experiment) -> Result<Plan, Error> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let machine = Machine::new(&format!("plan{}", NUMBER.fetch_add(1, Ordering::Relaxed)), "reno cubic scalable", &[]);
        Plan::new(experiment, false, machine.controls())
    }

    #[test]
    fn hosts_get_what_their_flows_ask_for() {
        let text = "[[flow]]\nstack = \"linux\"\nwindow = \"64 KiB\"\nrto_min = \"50 ms\"\nsack = false\nrecovery = \"newreno\"\ninitial_window = 4";
        let text = text.replace("initial_window = 4", "initial_window = \"4 segments\"");
        let experiment = experiment(&text);
        let plan = planned(&experiment).unwrap();
        assert_eq!((plan.nodes.len(), plan.flows[0].port), (2, 1024));
        let interface = &plan.interfaces[plan.flows[0].from];
        let value = |name| interface.sysctls.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        assert_eq!([value("ipv4/tcp_sack"), value("ipv4/tcp_recovery"), value("ipv4/tcp_frto")], [Some("0"), Some("0"), Some("2")]);
        assert_eq!(interface.routes[0].1, "initcwnd 4 rto_min 50ms");
        let flow = &experiment.flows[0];
        let options = Options::of(&flow.sender, plan.flows[0].controls.unwrap()[0].name, &flow.receiver);
        assert_eq!((options.control, options.maxseg, options.buffers.unwrap().window), ("cubic", 1460, 65_536));
    }

    #[test]
    fn a_window_is_the_lesser_of_both_buffers() {
        let experiment = experiment("[[flow]]\nsend_buffer = \"10 KiB\"\nreceive_buffer = \"20 KiB\"");
        let (flow, plan) = (&experiment.flows[0], planned(&experiment).unwrap());
        assert_eq!(Options::of(&flow.receiver, plan.flows[0].controls.unwrap()[1].name, &flow.sender).buffers.unwrap().window, 10_240);
    }

    #[test]
    fn flows_of_one_host_that_linux_cannot_tell_apart_are_refused() {
        let flows = "[[flow]]\n[[flow]]\nname = \"b\"\nsack = false\nrecovery = \"newreno\"";
        let mut experiment = experiment(flows);
        (experiment.flows[1].from, experiment.flows[1].to) = (experiment.flows[0].from, experiment.flows[0].to);
        let error = planned(&experiment).unwrap_err().to_string();
        assert!(error.contains("tcp_sack") && error.contains("left1"), "{error}");
    }

    #[test]
    fn parameters_of_a_control_that_the_kernel_does_not_take_are_refused() {
        let flows = "[[flow]]\ncongestion_control = { kind = \"cubic\", abe = true }";
        let error = planned(&experiment(flows)).unwrap_err().to_string();
        assert!(error.contains("parameters of cubic"), "{error}");
    }

    #[test]
    fn parameters_that_only_the_twin_takes_are_refused_until_it_is_asked_for() {
        let flows = "[[flow]]\ncongestion_control = { kind = \"scalable\", b = 0.25 }";
        let error = planned(&experiment(flows)).unwrap_err().to_string();
        assert!(error.contains("parameters of scalable") && error.contains("twin = true"), "{error}");
        let plan = planned(&experiment(&format!("{flows}\ntwin = true"))).unwrap();
        assert_eq!(plan.flows[0].controls.unwrap()[0].name, "lf_scalable");
        assert_eq!(plan.controls.len(), 1);
    }

    /// One experiment may have both: the kernel's own, and ours beside it.
    #[test]
    fn the_kernels_own_and_its_twin_run_beside_each_other() {
        let control = "congestion_control = \"scalable\"";
        let flows = format!("[[flow]]\n{control}\n[[flow]]\nname = \"b\"\n{control}\ntwin = true");
        let plan = planned(&experiment(&flows)).unwrap();
        assert_eq!(plan.flows.iter().map(|flow| flow.controls.unwrap()[0].name).collect::<Vec<_>>(), ["scalable", "lf_scalable"]);
        assert_eq!(plan.controls.len(), 1);
    }
}
