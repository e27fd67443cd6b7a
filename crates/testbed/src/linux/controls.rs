//! Congestion controls of sockets: the kernel's own where it has one, our twin in BPF where not, or where that is asked for. Policies steer
//! a program of ours.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use longfat_bpf::Twin;
use longfat_core::params::Params;
use longfat_record::trace::ControlFrom;
use longfat_tcp::congestion::agent::{Clock, Policy};
use longfat_tcp::congestion::extensions;
use longfat_tcp::{TcpConfig, congestion};

use crate::Error;

/// File that lists the kernel's congestion controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The controls that a kernel has, and can load.
#[derive(Clone, Debug)]
pub struct KernelControls {
    available: PathBuf,
    modprobe: OsString,
}

impl Default for KernelControls {
    fn default() -> Self {
        KernelControls { available: AVAILABLE.into(), modprobe: "modprobe".into() }
    }
}

impl KernelControls {
    /// True if the kernel has a control called `name` in `TCP_CONGESTION`: it is there, or its module can be loaded.
    pub fn has(&self, name: &str) -> bool {
        self.lists(name) || (self.load(name) && self.lists(name))
    }

    fn lists(&self, name: &str) -> bool {
        fs::read_to_string(&self.available).is_ok_and(|text| text.split_whitespace().any(|one| one == name))
    }

    /// A machine without modprobe, or without the module, lacks the control; neither is an error.
    fn load(&self, name: &str) -> bool {
        let mut modprobe = Command::new(&self.modprobe);
        modprobe.arg("-q").arg(format!("tcp_{name}")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        modprobe.status().is_ok_and(|status| status.success())
    }
}

/// The control of an end.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// Name in `TCP_CONGESTION`.
    pub name: &'static str,
    /// Program to load into the kernel; `None`: the control is the kernel's own.
    pub twin: Option<&'static Twin>,
    /// Policy that steers the sender.
    pub policy: Option<&'static Policy>,
}

impl Chosen {
    /// Returns the implementation of the control.
    pub fn from(&self) -> ControlFrom {
        match (self.policy, self.twin) {
            (Some(_), _) => ControlFrom::Policy,
            (_, Some(_)) => ControlFrom::Twin,
            _ => ControlFrom::Kernel,
        }
    }
}

/// Chooser of controls, which remembers its choices: the kernel is asked once for each.
#[derive(Debug, Default)]
pub struct Chooser {
    kernel: KernelControls,
    chosen: BTreeMap<(&'static str, bool), Chosen>,
    /// The programs that the kernel is to be given.
    given: BTreeMap<&'static str, (&'static Twin, Params)>,
}

impl Chooser {
    /// One that asks `kernel`.
    pub fn new(kernel: KernelControls) -> Self {
        Chooser { kernel, ..Chooser::default() }
    }

    /// The control of the end `tcp`.
    pub fn choose(&mut self, tcp: &TcpConfig) -> Result<Chosen, Error> {
        let control = &tcp.congestion_control;
        let chosen = match self.chosen.get(&(control.kind, tcp.twin)) {
            Some(chosen) => *chosen,
            None => self.ask(control.kind, tcp.twin)?,
        };
        self.chosen.insert((control.kind, tcp.twin), chosen);
        let Some(twin) = chosen.twin else {
            if control.params == Params::defaults(congestion::named(control.kind).params) {
                return Ok(chosen);
            }
            let what = format!("parameters of {}: the kernel's {} has its own", control.kind, chosen.name);
            let twin = longfat_bpf::find(control.kind).is_ok();
            return Err(Error::unsupported(
                "flow.congestion_control",
                &(what + if twin { "; `twin = true` takes longfat's program, which has them" } else { "" }),
            ));
        };
        // The kernel has one control of a name.
        let before = self.given.insert(control.kind, (twin, control.params.clone()));
        if before.is_some_and(|(_, params)| params != control.params) {
            let what = format!("two sets of parameters of {}: the kernel has one control of that name", control.kind);
            return Err(Error::unsupported("flow.congestion_control", &what));
        }
        Ok(chosen)
    }

    fn ask(&self, kind: &'static str, is_twin_asked: bool) -> Result<Chosen, Error> {
        if let Some(policy) = extensions::policy(kind).filter(|_| !is_twin_asked) {
            return steered(kind, policy);
        }
        let twin = longfat_bpf::find(kind).ok();
        let own = twin.map_or(Some(kind), |twin| twin.linux);
        match (own, twin) {
            (_, None) if is_twin_asked => {
                Err(Error::unsupported("flow.twin", &format!("a twin of {kind}: longfat has no program of it in BPF")))
            }
            (Some(name), _) if !is_twin_asked && self.kernel.has(name) => Ok(Chosen { name, twin: None, policy: None }),
            (_, Some(twin)) => Ok(Chosen { name: twin.kernel_name, twin: Some(twin), policy: None }),
            (_, None) => {
                let what = format!(
                    "{kind}: this kernel does not have it, and no module tcp_{kind} (see net.ipv4.tcp_available_congestion_control)"
                );
                Err(Error::unsupported("flow.congestion_control", &what))
            }
        }
    }

    /// The programs that the kernel is to be given, with their parameters.
    pub fn given(self) -> Vec<(&'static Twin, Params)> {
        self.given.into_values().collect()
    }
}

/// The control of the socket that `policy`, called `kind`, steers.
fn steered(kind: &str, policy: &'static Policy) -> Result<Chosen, Error> {
    if policy.clock() == Clock::Ack {
        let what = format!("a decision at each ACK ({kind}): its policies decide once per round trip or by time (`decide`)");
        return Err(Error::unsupported("flow.congestion_control", &what));
    }
    Ok(Chosen { name: longfat_bpf::AGENT, twin: None, policy: Some(policy) })
}

/// Linux's own controls of which there is a twin, and whether this kernel has them: (ours, the kernel's, whether it is there).
pub fn beside_twins() -> Vec<(&'static str, &'static str, bool)> {
    let kernel = KernelControls::default();
    longfat_bpf::TWINS.iter().filter_map(|twin| Some((twin.name, twin.linux?, kernel.has(twin.linux?)))).collect()
}

#[cfg(test)]
pub mod testing {
    use super::KernelControls;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// A machine whose kernel has `available`, and whose folder of modules has `modules`.
    pub struct Machine(PathBuf);

    impl Machine {
        pub fn new(name: &str, available: &str, modules: &[&str]) -> Self {
            let folder = std::env::temp_dir().join(format!("longfat-controls-{}-{name}", std::process::id()));
            fs::create_dir_all(folder.join("modules")).unwrap();
            fs::write(folder.join("available"), format!("{available}\n")).unwrap();
            modules.iter().for_each(|module| fs::write(folder.join("modules").join(module), "").unwrap());
            let modprobe = folder.join("modprobe");
            let script = format!(
                "#!/bin/sh\ncd {}\necho \"$2\" >> asked\ntest -e \"modules/$2\" && printf '%s' \" ${{2#tcp_}}\" >> available\n",
                folder.display()
            );
            fs::write(&modprobe, script).unwrap();
            fs::set_permissions(&modprobe, fs::Permissions::from_mode(0o755)).unwrap();
            Machine(folder)
        }

        pub fn controls(&self) -> KernelControls {
            KernelControls { available: self.0.join("available"), modprobe: self.0.join("modprobe").into() }
        }

        /// The modules that were asked for.
        pub fn asked(&self) -> Vec<String> {
            let text = fs::read_to_string(self.path().join("asked")).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        }

        pub fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Machine;
    use super::*;
    use longfat_core::params::Value;
    use longfat_tcp::stack::{self, Setup};

    fn tcp(control: &'static str, twin: bool) -> TcpConfig {
        let mut setup = Setup::new(stack::named("linux"));
        setup.set("congestion_control", Value::Choice(control));
        setup.set("twin", Value::Bool(twin));
        TcpConfig::new(setup.params(), 1500)
    }

    fn chosen(machine: &Machine, control: &'static str, twin: bool) -> Result<(&'static str, ControlFrom), String> {
        let mut chooser = Chooser::new(machine.controls());
        let found = chooser.choose(&tcp(control, twin)).map_err(|error| error.to_string())?;
        // The kernel gets only controls that it lacks.
        assert_eq!(chooser.given().len(), usize::from(found.from() == ControlFrom::Twin));
        Ok((found.name, found.from()))
    }

    #[test]
    fn the_kernels_own_comes_first_then_its_module_then_our_twin() {
        let machine = Machine::new("order", "reno cubic htcp", &["tcp_lp", "tcp_vegas"]);
        let kernel = |name| Ok((name, ControlFrom::Kernel));
        let twin = |name| Ok((name, ControlFrom::Twin));
        assert_eq!(chosen(&machine, "htcp", false), kernel("htcp"));
        assert_eq!(machine.asked(), Vec::<String>::new());
        // Linux calls it `lp`.
        assert_eq!(chosen(&machine, "tcp_lp", false), kernel("lp"));
        assert_eq!(machine.asked(), ["tcp_lp"]);
        assert_eq!(chosen(&machine, "vegas", false), kernel("vegas"));
        assert_eq!(chosen(&machine, "yeah", false), twin("lf_yeah"));
        // Linux has none of that kind: nothing is asked for.
        assert_eq!(chosen(&machine, "compound", false), twin("lf_compound"));
        assert_eq!(machine.asked(), ["tcp_lp", "tcp_vegas", "tcp_yeah"]);
        // Asked for, in place of the kernel's own.
        assert_eq!(chosen(&machine, "htcp", true), twin("lf_htcp"));
    }

    #[test]
    fn a_machine_without_modprobe_lacks_the_modules() {
        let machine = Machine::new("none", "reno cubic", &["tcp_htcp"]);
        std::fs::remove_file(machine.path().join("modprobe")).unwrap();
        assert_eq!(chosen(&machine, "htcp", false), Ok(("lf_htcp", ControlFrom::Twin)));
        assert_eq!(chosen(&machine, "cubic", false), Ok(("cubic", ControlFrom::Kernel)));
        let error = chosen(&machine, "bbr", false).unwrap_err();
        assert!(error.contains("bbr: this kernel does not have it"), "{error}");
    }

    #[test]
    fn a_twin_that_there_is_not_is_refused() {
        let machine = Machine::new("no-twin", "reno cubic bbr", &[]);
        for control in ["reno", "cubic", "bbr"] {
            let error = chosen(&machine, control, true).unwrap_err();
            assert!(error.contains("`flow.twin`") && error.contains(control), "{error}");
        }
    }

    #[test]
    fn the_kernel_is_asked_once_for_a_control_that_many_flows_have() {
        let machine = Machine::new("once", "reno cubic", &[]);
        let mut chooser = Chooser::new(machine.controls());
        for _ in 0..100 {
            chooser.choose(&tcp("westwood", false)).unwrap();
        }
        assert_eq!(machine.asked(), ["tcp_westwood"]);
    }

    /// Each word of the registry that the testbed takes is a control of the kernel, or has a twin.
    #[test]
    fn every_control_that_the_testbed_takes_has_a_program() {
        let backend = longfat_experiment::backend::named("testbed");
        let taken = backend.limits().find(|limit| limit.key == "flow.congestion_control").unwrap().only;
        let machine = Machine::new("all", "reno cubic bbr", &[]);
        for control in congestion::NAMES {
            assert_eq!(taken.contains(control), chosen(&machine, control, false).is_ok(), "{control}");
        }
    }
}
