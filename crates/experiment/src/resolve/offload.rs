//! Offloads of today's hosts at their interfaces: bursts, small queues, interrupts; and the profiles that set all of them at once.

use crate::error::Fault;
use crate::view::View;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_model::{Interrupts, Nic, OnFull};
use longfat_tcp::Offload;

/// Profile of a host: settings under one word.
pub(super) struct Profile {
    pub name: &'static str,
    pub txqueuelen: u64,
    gso_max_size: u64,
    limit_output_bytes: u64,
    gro_max_size: u64,
    rx_usecs: u64,
}

/// Linux, with interfaces of these rates: docs/hosts.md says where each value comes from.
const PROFILES: [Profile; 2] = [
    Profile { name: "linux-10g", txqueuelen: 1000, gso_max_size: 65_536, limit_output_bytes: 1 << 20, gro_max_size: 65_536, rx_usecs: 84 },
    Profile { name: "linux-100g", txqueuelen: 1000, gso_max_size: 65_536, limit_output_bytes: 1 << 20, gro_max_size: 65_536, rx_usecs: 80 },
];

/// Keys that exclude a host that takes packets one by one.
const ALL_AT_ONCE: [&str; 4] = ["profile", "gso_max_size", "limit_output_bytes", "gro_max_size"];

/// The profile of the host, if it names one.
pub(super) fn profile(view: &View<'_>) -> Result<Option<&'static Profile>, Fault> {
    let name = view.word("profile")?;
    Ok(PROFILES.iter().find(|profile| Some(profile.name) == name))
}

/// Returns the bursts that the host's interface takes at once.
pub(super) fn offload(view: &View<'_>, profile: Option<&Profile>, nic: Option<Nic>) -> Result<Option<Offload>, Fault> {
    let gso_max_size = view.integer("gso_max_size")?.or(profile.map(|profile| profile.gso_max_size));
    let limit_output_bytes = view.integer("limit_output_bytes")?.or(profile.map(|profile| profile.limit_output_bytes));
    if gso_max_size.is_none()
        && let Some(name) = ["min_tso_segs", "tso_win_divisor", "tso_rtt_log"].into_iter().find(|name| view.get(name).is_some())
    {
        let fault = view.fault(name, "it sizes bursts, and this host sends segments one by one");
        return Err(fault.expected("a gso_max_size beside it, such as gso_max_size = \"64 KiB\""));
    }
    if limit_output_bytes.is_some() && nic.is_none_or(|nic| nic.on_full != OnFull::Wait) {
        let fault = view.fault("limit_output_bytes", "small queues are kept in a transmit queue of a length, before which TCP waits");
        return Err(fault.expected("txqueuelen and on_full = \"wait\" beside it"));
    }
    let count = |name| -> Result<u64, Fault> { Ok(view.integer(name)?.unwrap_or(0)) };
    Ok((gso_max_size.is_some() || limit_output_bytes.is_some()).then_some(Offload {
        gso_max_size,
        min_tso_segs: count("min_tso_segs")?,
        tso_win_divisor: count("tso_win_divisor")?,
        tso_rtt_log: count("tso_rtt_log")?,
        limit_output_bytes,
    }))
}

/// Returns the interrupts of its interface, if it has no processor.
pub(super) fn interrupts(view: &View<'_>, profile: Option<&Profile>) -> Result<Option<Interrupts>, Fault> {
    let gro_max_size = view.integer("gro_max_size")?.or(profile.map(|profile| profile.gro_max_size));
    let rx_frames = view.integer("rx_frames")?;
    let given = if view.get("rx_usecs").is_some() { view.duration("rx_usecs")? } else { None };
    let rx_usecs = given.or(profile.map(|profile| Duration::from_micros(profile.rx_usecs)));
    let rx_ring = view.integer("rx_ring")?;
    let Some(rx_usecs) = rx_usecs else {
        let given =
            [("gro_max_size", "nothing comes together where nothing waits for an interrupt"), ("rx_frames", WAITS), ("rx_ring", WAITS)];
        for (name, why) in given {
            if view.value(name)? != Value::Auto {
                return Err(view.fault(name, why).expected("rx_usecs beside it, such as rx_usecs = \"80 us\""));
            }
        }
        return Ok(None);
    };
    Ok(Some(Interrupts { rx_ring, rx_usecs, rx_frames, gro_max_size }))
}

/// Why packets would not wait.
pub(super) const WAITS: &str = "packets wait only for a processor or an interrupt";

/// A processor, and a random time for each packet, are of hosts that take packets one by one.
pub(super) fn goes_alone(view: &View<'_>, beside: &str) -> Result<(), Fault> {
    for name in ALL_AT_ONCE {
        if view.value(name)? != Value::Auto {
            let fault = view.fault(name, format!("with `{beside}` a host takes packets one by one"));
            return Err(fault.expected(format!("either `{beside}` or `{name}`")));
        }
    }
    Ok(())
}
