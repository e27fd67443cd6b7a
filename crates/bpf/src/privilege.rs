//! Privileges that loading a program needs.

use crate::Error;
use std::fs;
use std::path::Path;

/// Capabilities by their bit (capabilities(7)), and their use here.
const NEEDED: &[(u32, &str)] = &[
    (12, "CAP_NET_ADMIN, to register a congestion control"),
    (21, "CAP_SYS_ADMIN, to keep it under /sys/fs/bpf"),
    (39, "CAP_BPF, to load a program"),
    (38, "CAP_PERFMON, to read the kernel's structures"),
];

/// Checks that this process may load a program, and that the kernel can.
pub(crate) fn check() -> Result<(), Error> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    lacking(&status).map_or(Ok(()), |what| Err(Error::NotAllowed(what)))?;
    if Path::new("/sys/kernel/btf/vmlinux").exists() { Ok(()) } else { Err(Error::NoBtf) }
}

fn lacking(status: &str) -> Option<&'static str> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map_or("0", str::trim);
    let effective = u64::from_str_radix(effective, 16).unwrap_or(0);
    NEEDED.iter().find(|(bit, _)| effective >> bit & 1 == 0).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing() {
        assert_eq!(lacking("Name:\tx\nCapEff:\t000001ffffffffff\n"), None);
        assert!(lacking("CapEff:\t0000000000000000\n").unwrap().starts_with("CAP_NET_ADMIN"));
        assert!(lacking("CapEff:\t0000000000201000\n").unwrap().starts_with("CAP_BPF"));
    }
}
