//! Network namespaces without a name, held by descriptors: whatever becomes of this process, the kernel removes them when it is gone, and
//! with them their devices, addresses, routes and settings.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, RawFd};
use std::process::{Command, Stdio};
use std::thread;

use longfat_host::facts::Losses;
use longfat_host::sys;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;

/// The name of a host's only device.
const DEVICE: &str = "path0";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(File);

/// A host's side of a path.
#[derive(Debug)]
pub struct Interface {
    /// Address of the interface.
    pub address: Ipv4Addr,
    /// The largest packet it sends.
    pub mtu: u32,
    /// Packets that its device holds until the emulator reads them.
    pub txqueuelen: u32,
    /// Routes to other hosts: the address, and the metrics as `ip route` spells them.
    pub routes: Vec<(Ipv4Addr, String)>,
    /// Settings below `/proc/sys/net`.
    pub sysctls: Vec<(&'static str, String)>,
    /// Core that takes in arriving packets (a bit for each, in hexadecimal).
    pub rps_cpus: String,
}

/// Settings that came after the oldest kernel that runs the testbed (6.5, ip-sysctl): without one, the kernel has the rule of before.
const LATER: &[&str] = &["ipv4/tcp_syn_linear_timeouts"];

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Namespace {
    /// A new one, with nothing in it.
    pub fn new() -> Result<Self, Error> {
        let made = || {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|e| Error::system("a network namespace could not be made", e))?;
            File::open("/proc/thread-self/ns/net").map(Namespace).map_err(|e| Error::system("a network namespace could not be opened", e))
        };
        thread::scope(|scope| scope.spawn(made).join()).expect("making a namespace does not panic")
    }

    /// Does `work` in this namespace, on a thread of its own, which no other thread is moved by.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let inside = || {
            setns(&self.0, CloneFlags::CLONE_NEWNET).map_err(|e| Error::system("a network namespace could not be entered", e))?;
            Ok(work())
        };
        match thread::scope(|scope| scope.spawn(inside).join()) {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Makes the device and all that belongs to it. Packets written to the file come to the host, and packets that the host sends are read
    /// from it.
    pub fn connect(&self, interface: &Interface) -> Result<File, Error> {
        self.within(|| {
            // The settings come before the device, so that it sends only what it is told.
            for setting in ["ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6"] {
                // A kernel without IPv6 has no such setting.
                let _ = fs::write(format!("/proc/sys/net/{setting}"), "1");
            }
            let file = sys::open_tun(DEVICE).map_err(|e| Error::system("a TUN device could not be made (/dev/net/tun)", e))?;
            let Interface { address, mtu, txqueuelen, .. } = interface;
            let mut batch = format!(
                "link set lo up\nlink set {DEVICE} mtu {mtu} txqueuelen {txqueuelen}\naddr add {address}/32 dev {DEVICE}\n\
                 link set {DEVICE} up\nroute add default dev {DEVICE} src {address}\n"
            );
            for (to, metrics) in &interface.routes {
                batch += &format!("route add {to}/32 dev {DEVICE} src {address} {metrics}\n");
            }
            ip(&batch)?;
            for (name, value) in &interface.sysctls {
                let path = format!("/proc/sys/net/{name}");
                match fs::write(&path, value) {
                    Err(e) if e.kind() == ErrorKind::NotFound && LATER.contains(name) => {}
                    result => result.map_err(|e| Error::system(&format!("{path} could not be set to {value}"), e))?,
                }
            }
            steer(&interface.rps_cpus)?;
            Ok(file)
        })?
    }

    /// Returns the losses of all of `namespaces` so far.
    pub fn losses(namespaces: &[Namespace]) -> Result<Losses, Error> {
        namespaces.iter().map(|namespace| namespace.within(|| Losses::now(DEVICE))).sum()
    }

    /// A command that runs in here; it gives up its own namespace when it ends.
    pub fn run(&self, command: &mut Command) -> Result<std::process::ExitStatus, Error> {
        self.within(|| {
            command.status().map_err(|e| Error::system(&format!("{} could not be started", command.get_program().display()), e))
        })?
    }
}

/// Has `ip` of iproute2 do what `batch` says, in the namespace of this thread.
fn ip(batch: &str) -> Result<(), Error> {
    let failed = |e| Error::system("the command `ip` (of iproute2) could not be started", e);
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    child.stdin.take().expect("it is piped").write_all(batch.as_bytes()).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::System { what: "a host's interface could not be set up (`ip -batch -`)".to_owned(), why: said })
}

/// Has the cores of `mask` take in packets that arrive by the device, so that the core that hands them over does not. The setting is in
/// sysfs, which shows the devices of the namespace in which it was mounted. So this thread mounts one of its own, which no other process
/// sees.
fn steer(mask: &str) -> Result<(), Error> {
    let failed = |e: nix::Error| Error::system("sysfs could not be mounted for a namespace", e);
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_FS).map_err(failed)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).map_err(failed)?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>).map_err(failed)?;
    let path = format!("/sys/class/net/{DEVICE}/queues/rx-0/rps_cpus");
    match fs::write(&path, mask) {
        // The root of a user namespace may not: the core that hands a packet over takes it in, too.
        Err(e) if e.kind() != ErrorKind::PermissionDenied => Err(Error::system(&format!("{path} could not be set"), e)),
        _ => Ok(()),
    }
}
