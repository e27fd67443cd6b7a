//! Cores near a network card: those of its memory node, on hosts with more than one (Linux, Documentation/ABI/stable/sysfs-devices-node and
//! testing/sysfs-bus-pci, `numa_node`). A thread on another node reaches the card's packets through the link between the nodes.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::counters::device_of;

/// Devices below a device (bonds, bridges, VLANs) are followed so deep.
const DEPTH: usize = 4;

/// Cores near the card of some flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near(BTreeSet<usize>);

impl Near {
    /// Returns the cores near the device that has this address, in the network namespace of this thread; all cores where the host has one node, or
    /// does not tell.
    pub fn of(local: Option<IpAddr>) -> Self {
        let device = local.and_then(device_of);
        Near(device.and_then(|device| cores(Path::new("/sys"), &device)).unwrap_or_default())
    }

    /// Keeps this thread on these cores, as far as it may run there. It needs no rights.
    pub fn keep(&self) {
        if self.0.is_empty() {
            return;
        }
        let Ok(may) = sched_getaffinity(Pid::from_raw(0)) else { return };
        let mut cores = CpuSet::new();
        let those = self.0.iter().filter(|core| may.is_set(**core).unwrap_or(false));
        if those.filter(|core| cores.set(**core).is_ok()).count() > 0 {
            // A thread that stays where it was is slower, not wrong.
            let _ = sched_setaffinity(Pid::from_raw(0), &cores);
        }
    }
}

/// Returns the cores of the memory node of `device`, by the files below `sys`; `None` where there is one node, or the device has none.
fn cores(sys: &Path, device: &str) -> Option<BTreeSet<usize>> {
    let nodes = sys.join("devices/system/node");
    if list(&fs::read_to_string(nodes.join("online")).ok()?)?.len() < 2 {
        return None;
    }
    let all = nodes_of(&sys.join("class/net"), device, DEPTH);
    // A bond over cards of several nodes is near none.
    let [node] = all.into_iter().collect::<Vec<_>>()[..] else { return None };
    list(&fs::read_to_string(nodes.join(format!("node{node}/cpulist"))).ok()?).filter(|cores| !cores.is_empty())
}

/// Returns the nodes of a device, or of those below it.
fn nodes_of(net: &Path, device: &str, depth: usize) -> BTreeSet<usize> {
    if let Ok(node) = fs::read_to_string(net.join(device).join("device/numa_node")) {
        // -1: the firmware does not tell.
        return node.trim().parse().into_iter().collect();
    }
    let names = fs::read_dir(net.join(device)).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix("lower_")?.to_owned()));
    names.filter(|_| depth > 0).flat_map(|lower| nodes_of(net, &lower, depth - 1)).collect()
}

/// Reads a list as the kernel writes it: `0-3,8,10-11`. `None`: it is none.
fn list(text: &str) -> Option<BTreeSet<usize>> {
    let mut found = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        found.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files as below `/sys`: two nodes, eth0 on the second, a bond over eth0, one over both, and a card that has no node.
    fn tree(nodes: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("devices/system/node/online", nodes);
        write("devices/system/node/node0/cpulist", "0-3,8\n");
        write("devices/system/node/node1/cpulist", "4-7,9-10\n");
        for (device, node) in [("eth0", "1\n"), ("eth1", "0\n"), ("virtual", "-1\n")] {
            write(&format!("class/net/{device}/device/numa_node"), node);
        }
        for (upper, lower) in [("bond0", "eth0"), ("bond1", "eth0"), ("bond1", "eth1"), ("vlan7", "bond0")] {
            write(&format!("class/net/{upper}/lower_{lower}"), "");
        }
        write("class/net/loop/lower_loop", "");
        folder
    }

    #[test]
    fn a_card_has_the_cores_of_its_node() {
        let folder = tree("0-1\n");
        let of = |device| cores(folder.path(), device).map(|cores| cores.into_iter().collect::<Vec<_>>());
        assert_eq!(of("eth0"), Some(vec![4, 5, 6, 7, 9, 10]));
        assert_eq!(of("eth1"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!((of("bond0"), of("vlan7")), (of("eth0"), of("eth0")), "devices below");
        for device in ["bond1", "virtual", "loop", "none"] {
            assert_eq!(of(device), None, "{device}");
        }
    }

    #[test]
    fn one_node_leaves_threads_alone() {
        let folder = tree("0\n");
        assert_eq!(cores(folder.path(), "eth0"), None);
        assert_eq!(cores(Path::new("/nowhere"), "eth0"), None);
        assert_eq!(Near::of(None), Near::default());
    }

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(list("0-2,5\n"), Some(BTreeSet::from([0, 1, 2, 5])));
        assert_eq!((list("\n"), list("1-x"), list("-1")), (Some(BTreeSet::new()), None, None));
    }

    #[test]
    fn a_thread_is_kept_on_cores_where_it_may_run() {
        std::thread::spawn(|| {
            let may = sched_getaffinity(Pid::from_raw(0)).unwrap();
            let cores: Vec<usize> = (0..CpuSet::count()).filter(|core| may.is_set(*core).unwrap()).collect();
            let beyond = (0..CpuSet::count()).find(|core| !cores.contains(core));
            Near(beyond.into_iter().collect()).keep();
            assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), may, "none of them is its");
            Near(cores.first().copied().into_iter().chain(beyond).collect()).keep();
            let now = sched_getaffinity(Pid::from_raw(0)).unwrap();
            assert_eq!((0..CpuSet::count()).filter(|core| now.is_set(*core).unwrap()).collect::<Vec<_>>(), cores[..1]);
        })
        .join()
        .unwrap();
    }
}
