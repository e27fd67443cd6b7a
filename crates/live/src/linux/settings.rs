//! Settings of a whole host, which no socket can be told: read at both ends, and compared with what a flow asks for.

use std::collections::BTreeMap;
use std::fs;

use longfat_host::options::settings as asked;
use longfat_model::{Flow, Live};
use longfat_tcp::TcpConfig;
use longfat_tcp::stack::{self, Setup};

use crate::Error;
use crate::protocol::message::Setting;

/// Congestion control of new connections.
const CONTROL: &str = "ipv4/tcp_congestion_control";
/// Settings below `/proc/sys/net` that decide what TCP does.
const NAMES: &[&str] = &[
    "core/default_qdisc",
    "core/rmem_max",
    "core/wmem_max",
    "ipv4/tcp_allowed_congestion_control",
    CONTROL,
    "ipv4/tcp_dsack",
    "ipv4/tcp_early_retrans",
    "ipv4/tcp_ecn",
    "ipv4/tcp_frto",
    "ipv4/tcp_mem",
    "ipv4/tcp_mtu_probing",
    "ipv4/tcp_no_metrics_save",
    "ipv4/tcp_pacing_ca_ratio",
    "ipv4/tcp_pacing_ss_ratio",
    "ipv4/tcp_recovery",
    "ipv4/tcp_reordering",
    "ipv4/tcp_rmem",
    "ipv4/tcp_sack",
    "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_timestamps",
    "ipv4/tcp_window_scaling",
    "ipv4/tcp_wmem",
];
/// Settings that each flow has for itself, or that concern the first moments alone.
const OF_SOCKETS: &[&str] = &["ipv4/tcp_no_metrics_save", "ipv4/tcp_rmem", "ipv4/tcp_wmem", "core/somaxconn"];

/// Returns the settings of this host; what its kernel does not have is left out.
pub(crate) fn here() -> Vec<Setting> {
    let read = |name: &str| {
        let value = fs::read_to_string(format!("/proc/sys/net/{name}")).ok()?;
        Some(Setting { name: name.to_owned(), value: value.split_whitespace().collect::<Vec<_>>().join(" ") })
    };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = Setting { name: "kernel".to_owned(), value: release.trim().to_owned() };
    [kernel].into_iter().chain(NAMES.iter().filter_map(|name| read(name))).filter(|setting| setting.value.len() <= 128).collect()
}

/// Returns the congestion control that these settings have in force for new connections.
pub(crate) fn control(settings: &[Setting]) -> Option<String> {
    settings.iter().find(|setting| setting.name == CONTROL).map(|setting| setting.value.clone())
}

/// Returns the settings that the end `tcp` asks for: those that neither the plain stack nor `linux` has by
/// default, since a default asks for nothing.
fn wanted(tcp: &TcpConfig) -> BTreeMap<&'static str, String> {
    let of = |stack| asked(&TcpConfig::new(Setup::new(stack::named(stack)).params(), Live::MTU));
    let by_default = [of("rfc"), of("linux")].concat();
    let is_default = |setting: &(&'static str, String)| OF_SOCKETS.contains(&setting.0) || by_default.contains(setting);
    asked(tcp).into_iter().filter(|setting| !is_default(setting)).collect()
}

/// Checks that the host called `host`, with these settings, is as its end of `flow` asks: the sender or the receiver. `window` is what the
/// receiver advertises at most.
///
/// # Errors
/// The first difference, with the line that sets it.
pub(crate) fn check(host: &str, has: &[Setting], flow: &Flow, is_sender: bool, window: Option<u64>) -> Result<(), Error> {
    let value = |name: &str| has.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str());
    let line = |name: &str, value: &str| format!("sysctl -w net.{}=\"{value}\"", name.replace('/', "."));
    for (name, want) in wanted(if is_sender { &flow.sender } else { &flow.receiver }) {
        if let Some(found) = value(name)
            && found != want
        {
            let what = format!("flow {} asks for {name} = {want}, and {host} has {found}. Run there: {}", flow.group, line(name, &want));
            return Err(Error::unsupported(format!("flow.{}", name.trim_start_matches("ipv4/tcp_")), what));
        }
    }
    let name = if is_sender { "ipv4/tcp_wmem" } else { "ipv4/tcp_rmem" };
    let Some((window, sizes)) = window.zip(value(name)) else { return Ok(()) };
    let sizes: Vec<u64> = sizes.split(' ').filter_map(|size| size.parse().ok()).collect();
    if let [least, first, most] = sizes[..]
        && most < window
    {
        // The memory of a segment is up to twice its payload.
        let line = line(name, &format!("{least} {first} {}", 2 * window));
        let what = format!("flow {} asks for {window} bytes, and {host} lets a buffer have {most}. Run there: {line}", flow.group);
        return Err(Error::unsupported("flow.window", what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_model::dumbbell::Dumbbell;
    use std::sync::Arc;

    fn has(name: &str, value: &str) -> Vec<Setting> {
        vec![Setting { name: name.to_owned(), value: value.to_owned() }]
    }

    #[test]
    fn a_default_asks_for_nothing_and_the_rest_must_be_so() {
        let mut flow = Dumbbell::default().experiment().flows.remove(0);
        let plain = has("ipv4/tcp_sack", "0");
        assert_eq!(check("dtn", &plain, &flow, true, None), Ok(()), "whatever the host has");
        flow.sender = Arc::new(TcpConfig { dsack: !flow.sender.dsack, sack: false, timestamps: false, ..(*flow.sender).clone() });
        let said = check("dtn", &has("ipv4/tcp_timestamps", "1"), &flow, true, None).unwrap_err().to_string();
        assert!(said.starts_with("`flow.timestamps`") && said.ends_with("Run there: sysctl -w net.ipv4.tcp_timestamps=\"0\""), "{said}");
        assert_eq!(check("dtn", &has("ipv4/tcp_timestamps", "0"), &flow, true, None), Ok(()));
        assert_eq!(check("dtn", &has("ipv4/tcp_timestamps", "1"), &flow, false, None), Ok(()), "the receiver asks for nothing");
    }

    #[test]
    fn a_window_fits_the_buffers() {
        let flow = Dumbbell::default().experiment().flows.remove(0);
        let sizes = has("ipv4/tcp_rmem", "4096 131072 6291456");
        assert_eq!(check("dtn", &sizes, &flow, false, Some(6_291_456)), Ok(()));
        let said = check("dtn", &sizes, &flow, false, Some(8_000_000)).unwrap_err().to_string();
        assert!(said.contains("net.ipv4.tcp_rmem=\"4096 131072 16000000\""), "{said}");
        assert_eq!(check("dtn", &sizes, &flow, true, Some(8_000_000)), Ok(()), "a sender has another buffer");
    }

    #[test]
    fn this_host_tells_what_it_has() {
        let all = here();
        assert!(all.iter().any(|setting| setting.name == "kernel") && all.iter().any(|setting| setting.name == "ipv4/tcp_rmem"));
    }
}
