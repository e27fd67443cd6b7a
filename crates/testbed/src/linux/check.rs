//! Requirements of the testbed on the machine: rights, and features of the kernel.

use std::fs;

use longfat_host::info::{self, field};
use longfat_host::sys;

use crate::Error;
use crate::linux::controls;

/// Capabilities that are needed: their number (capabilities(7)), name, and what for.
const CAPABILITIES: [(u32, &str, &str); 2] =
    [(12, "CAP_NET_ADMIN", "devices, addresses and routes"), (21, "CAP_SYS_ADMIN", "network namespaces")];

/// Finding about one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Requirement that was looked at.
    pub what: String,
    /// State that was found.
    pub found: String,
    /// True if the testbed can run with it.
    pub is_good: bool,
}

/// The capabilities that this thread has (`CapEff` of `/proc/thread-self/status`).
fn capabilities() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Returns everything that the testbed needs, each with its state.
pub fn findings() -> Vec<Finding> {
    let has = capabilities();
    let right = |(bit, name, what): (u32, &str, &str)| {
        let is_good = has >> bit & 1 == 1;
        Finding { what: format!("{name} ({what})"), found: if is_good { "yes" } else { "no" }.to_owned(), is_good }
    };
    let mut all: Vec<Finding> = CAPABILITIES.into_iter().map(right).collect();
    let tun = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    all.push(Finding {
        what: "/dev/net/tun (TUN devices)".to_owned(),
        found: tun.as_ref().map_or_else(ToString::to_string, |_| "yes".to_owned()),
        is_good: tun.is_ok(),
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    let ip = std::env::split_paths(&path).map(|folder| folder.join("ip")).find(|path| path.exists());
    all.push(Finding {
        what: "ip (iproute2)".to_owned(),
        found: ip.as_ref().map_or_else(|| "not on PATH".to_owned(), |path| path.display().to_string()),
        is_good: ip.is_some(),
    });
    all
}

/// Returns facts about the kernel and the machine. They decide nothing, and may explain different results of two machines.
pub fn facts() -> Vec<(String, String)> {
    let read = |path: &str| fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned());
    vec![
        ("kernel".to_owned(), read("/proc/sys/kernel/osrelease")),
        ("congestion controls".to_owned(), read("/proc/sys/net/ipv4/tcp_available_congestion_control")),
        ("controls by longfat's twins, for want of a module".to_owned(), twins()),
        ("TCP_INFO".to_owned(), tcp_info()),
        ("cores".to_owned(), std::thread::available_parallelism().map_or(1, usize::from).to_string()),
        ("real-time priority (CAP_SYS_NICE in the first user namespace, or RLIMIT_RTPRIO)".to_owned(), real_time()),
        ("real-time share".to_owned(), read("/proc/sys/kernel/sched_rt_runtime_us")),
    ]
}

/// Returns the congestion controls of Linux that this kernel lacks, and that our programs replace.
fn twins() -> String {
    let lacking: Vec<&str> = controls::beside_twins().into_iter().filter(|(_, _, has)| !has).map(|(ours, ..)| ours).collect();
    if lacking.is_empty() { "none".to_owned() } else { lacking.join(" ") }
}

/// Returns the size of the kernel's `TCP_INFO`, and the fields that it lacks, each with the first Linux that has it.
fn tcp_info() -> String {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let info = match socket.and_then(|socket| info::of(&socket)) {
        Ok(info) => info,
        Err(e) => return format!("unknown ({e})"),
    };
    let lacking: Vec<String> =
        field::ALL.iter().filter(|field| !info.has(field)).map(|field| format!("{} (Linux {})", field.name, field.since)).collect();
    let lacking = if lacking.is_empty() { "no field missing".to_owned() } else { format!("without {}", lacking.join(", ")) };
    format!("{} bytes, {lacking}", info.filled())
}

/// Tells if a thread gets real-time priority. Without it the emulator waits for its core like any thread, and the verdict on each run says
/// for how long.
fn real_time() -> String {
    let tried = std::thread::spawn(|| sys::run_in_real_time(1)).join().expect("asking does not panic");
    tried.map_or_else(|why| format!("no ({why}): verdicts tell what that costs"), |()| "yes".to_owned())
}

/// Checks that all requirements are met.
pub fn permitted() -> Result<(), Error> {
    let missing: Vec<String> = findings().into_iter().filter(|finding| !finding.is_good).map(|finding| finding.what).collect();
    if missing.is_empty() { Ok(()) } else { Err(Error::NotPermitted { missing }) }
}
