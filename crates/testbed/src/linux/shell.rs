//! Any program as the endpoint: the path of an experiment comes up, and a command runs inside one of its hosts.

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use longfat_core::time::Time;
use longfat_host::clock::Clock;
use longfat_host::facts::{self, Before};
use longfat_model::Experiment;
use longfat_record::trace::{RealTime, Trace};

use crate::Error;
use crate::linux::emulator::Shared;
use crate::linux::namespace::Namespace;
use crate::linux::run::{Bench, as_emulator, of};

/// Runs `command` in the host called `host` (the first, where none is named) of `experiment`, whose own flows stay away. Gives the exit code
/// (128 and the signal, where one ended it) and what the links did meanwhile.
///
/// For each host called NAME the command finds in its environment `LONGFAT_ADDRESS_NAME`, an IPv4 address, and `LONGFAT_NETNS_NAME`, a file for
/// `nsenter --net=FILE`, by which other programs come to that host.
///
/// # Errors
/// Experiments that cannot be run, before anything is started; operations that the system refuses.
pub fn run(experiment: &Experiment, host: Option<&str>, command: &[String]) -> Result<(i32, Trace), Error> {
    let nodes = &experiment.network.nodes;
    let bench = Bench::new(experiment, true)?;
    let names: Vec<&str> = bench.plan.nodes.iter().map(|node| nodes[*node].name.as_str()).collect();
    let number = match host {
        None => 0,
        Some(host) => names.iter().position(|name| *name == host).ok_or_else(|| Error::System {
            what: format!("there is no host `{host}`"),
            why: format!("its hosts are {}", names.join(", ")),
        })?,
    };
    let mut asked = Command::new(&command[0]);
    asked.args(&command[1..]);
    for ((name, namespace), interface) in names.iter().zip(&bench.namespaces).zip(&bench.plan.interfaces) {
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        asked.env(format!("LONGFAT_ADDRESS_{name}"), interface.address.to_string());
        asked.env(format!("LONGFAT_NETNS_{name}"), format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd()));
    }
    let before = Before::now(Namespace::losses(&bench.namespaces)?);
    let shared = Arc::new(Shared::new(Time::MAX));
    let (mut emulator, of_emulator, cores) = (bench.emulator, Arc::clone(&shared), bench.cores);
    emulator.clock = Clock::starting_in(std::time::Duration::ZERO);
    let clock = emulator.clock;
    let emulate = thread::spawn(move || as_emulator(&cores, emulator, &of_emulator));
    let status = bench.namespaces[number].run(&mut asked);
    shared.end_by(clock.now());
    let (emulated, emulator_waited) = emulate.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let spoilt = before.since(Namespace::losses(&bench.namespaces)?);
    let real_time = RealTime { emulator_waited, ..facts::spoilt(&spoilt, of(&emulated.exactness)) };
    let trace = Trace { real_time: Some(real_time), ..emulated.trace };
    let status = status?;
    Ok((status.code().unwrap_or(128 + status.signal().unwrap_or(0)), trace))
}
