//! Settings of a script before the endpoint is made: options at its head, and sysctls ([`commands`]).

mod commands;

use crate::offload::Offload;
use longfat_core::packet::Cookie;
use longfat_core::params::{Literal, ParamSpec, Value};
use longfat_core::time::Duration;
use longfat_tcp::options::PARAMS;
use longfat_tcp::stack::Setup;
use longfat_tcp::{TcpConfig, congestion, stack};

/// Reason that something cannot be set.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Refusal {
    /// Mistake of the script.
    Wrong(String),
    /// Feature of the language that longfat does not have.
    Unsupported(String),
}

/// `Ok` may carry a note: it was read, and it does nothing.
type Outcome = Result<Option<String>, Refusal>;

/// IP version under which a script runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Sockets of IPv6 with addresses of IPv4 (RFC 4291 section 2.5.5.2).
    V4MappedV6,
}

/// `tcp_ecn` (Linux Documentation/networking/ip-sysctl), 0 to 5.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EcnUse {
    /// ECN as the stack or the parameter sets it.
    Unsaid,
    Off,
    On,
    /// ECN if the peer asks for it.
    Answer,
    /// Accurate ECN: ask and answer; answer, and ask for the classic kind; answer only.
    Accurate,
    AccurateAskingClassic,
    AccurateAnswer,
}

/// Segments with PSH, and whether it is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Push {
    /// PSH at the end of written data.
    Write,
    /// PSH also at the end of each frame for the network card.
    Frames,
    /// PSH is not compared.
    Any,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub setup: Setup,
    pub stack: &'static str,
    pub ip: IpVersion,
    pub tolerance: Duration,
    /// True if every packet that is sent must be expected.
    pub strict: bool,
    /// True if every packet is printed.
    pub verbose: bool,
    /// Files of `--init_scripts`, which are shell scripts.
    pub init_scripts: Vec<String>,
    mtu: u32,
    ecn: EcnUse,
    pub push: Push,
    pub offload: Offload,
    /// True if TSval is compared.
    pub timestamps_checked: bool,
    /// Fast Open cookie that a client remembers, and that a server's key makes for its client (RFC 7413 §4.1.2, §4.1.3).
    pub cookie: Option<Cookie>,
}

/// A cookie as a script writes it. A letter tells it from a number.
pub(crate) const COOKIE: &str = "a cookie of 4 to 16 bytes, an even number, in hexadecimal digits with a letter among them";

/// Returns the cookie of these hexadecimal digits.
pub(crate) fn cookie_of(digits: &str) -> Option<Cookie> {
    let bytes = (0..digits.len()).step_by(2).map(|i| digits.get(i..i + 2).and_then(|byte| u8::from_str_radix(byte, 16).ok()));
    let bytes = bytes.collect::<Option<Vec<u8>>>()?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    Cookie::new(&bytes).filter(|cookie| !cookie.is_request() && !is_number)
}

/// Upper bounds of `tcp_rmem` and `tcp_wmem` in the Linux documentation. A script that sets none runs on such a host.
const RECEIVE_BUFFER: u64 = 6 << 20;
const SEND_BUFFER: u64 = 4 << 20;

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Settings {
            setup: Setup::new(stack::named("linux")),
            stack: "linux",
            ip: IpVersion::V4,
            tolerance: Duration::from_millis(4),
            strict: false,
            verbose: false,
            init_scripts: Vec::new(),
            mtu: 1500,
            ecn: EcnUse::Unsaid,
            push: Push::Write,
            offload: Offload::default(),
            timestamps_checked: false,
            cookie: None,
        };
        settings.set_stack(stack::named("linux"));
        settings
    }
}

impl IpVersion {
    /// Returns the name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            IpVersion::V4 => "ipv4",
            IpVersion::V6 => "ipv6",
            IpVersion::V4MappedV6 => "ipv4-mapped-ipv6",
        }
    }

    /// Returns the version of this name; `_` may stand for `-`.
    pub fn named(name: &str) -> Option<Self> {
        [IpVersion::V4, IpVersion::V6, IpVersion::V4MappedV6].into_iter().find(|ip| ip.name() == name.replace('_', "-"))
    }
}

impl Settings {
    fn set_stack(&mut self, stack: &'static stack::Stack) {
        self.stack = stack.name;
        self.setup = Setup::new(stack);
        self.ecn = EcnUse::Unsaid;
        self.push = Push::Write;
        if stack.name == "linux" {
            self.push = Push::Frames;
            self.setup.set("receive_buffer", Value::Bytes(RECEIVE_BUFFER));
            self.setup.set("send_buffer", Value::Bytes(SEND_BUFFER));
            self.ecn = EcnUse::Answer;
        }
    }

    /// The endpoint's configuration; `listens`: of the side that answers.
    pub(crate) fn config(&self, listens: bool) -> TcpConfig {
        // RFC 8200 §3: its header has 40 bytes, 20 more than that of IPv4.
        let mtu = if self.ip == IpVersion::V6 { self.mtu - 20 } else { self.mtu };
        let mut params = self.setup.params().clone();
        if !params.boolean("sack") && !matches!(params.choice("recovery"), "tahoe" | "reno") {
            params.set("recovery", Value::Choice("newreno"));
        }
        let ecn = match (self.ecn, listens) {
            (EcnUse::Unsaid, _) | (EcnUse::Answer | EcnUse::AccurateAnswer, false) => None,
            (EcnUse::Off, _) => Some("off"),
            (EcnUse::On, _) | (EcnUse::Answer, true) | (EcnUse::AccurateAskingClassic, false) => Some("classic"),
            (EcnUse::Accurate, _) | (EcnUse::AccurateAskingClassic | EcnUse::AccurateAnswer, true) => Some("accecn"),
        };
        if let Some(ecn) = ecn {
            params.set("ecn", Value::Choice(ecn));
        }
        TcpConfig { congestion_control: self.setup.control(), ..TcpConfig::new(&params, mtu) }
    }

    /// `--name=value`.
    pub(crate) fn option(&mut self, name: &str, value: &str) -> Outcome {
        let micros = || match value.parse::<u64>() {
            Ok(n) if n <= 1_000_000_000 => Ok(Duration::from_micros(n)),
            _ => Err(wrong(name, value, "microseconds, from 0 to 1000000000")),
        };
        match name {
            "tolerance_usecs" => self.tolerance = micros()?,
            "tcp_ts_tick_usecs" => {
                let tick = micros()?;
                self.timestamps_checked = !tick.is_zero();
                if self.timestamps_checked {
                    self.setup.set("timestamp_tick", Value::Duration(tick));
                }
            }
            "ip_version" => {
                self.ip = IpVersion::named(value).ok_or_else(|| wrong(name, value, "ipv4, ipv6 or ipv4-mapped-ipv6"))?;
            }
            "mtu" => {
                // The least that leaves the least mss (32) after IPv6 and TCP headers with timestamps.
                self.mtu = value
                    .parse()
                    .ok()
                    .filter(|mtu| (104..=65_535).contains(mtu))
                    .ok_or_else(|| wrong(name, value, "bytes, from 104 to 65535"))?;
            }
            "fast_open_cookie" => self.cookie = Some(cookie_of(value).ok_or_else(|| wrong(name, value, COOKIE))?),
            "stack" => {
                let stack = stack::find(value).ok_or_else(|| wrong(name, value, &format!("one of {}", stack::NAMES.join(", "))))?;
                self.set_stack(stack);
            }
            "strict" => match value {
                "" | "1" | "true" => self.strict = true,
                "0" | "false" => self.strict = false,
                _ => return Err(wrong(name, value, "1 or 0")),
            },
            "verbose" => match value {
                "" | "1" | "true" => self.verbose = true,
                "0" | "false" => self.verbose = false,
                _ => return Err(wrong(name, value, "1 or 0")),
            },
            "init_scripts" => self.init_scripts.extend(value.split(',').filter(|path| !path.is_empty()).map(str::to_owned)),
            "push" => {
                self.push = match value {
                    "write" => Push::Write,
                    "frames" => Push::Frames,
                    "any" => Push::Any,
                    _ => return Err(wrong(name, value, "write, frames or any")),
                };
            }
            "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "connect_port" | "bind_port" | "speed" | "wire_protocol"
            | "persistent_tun_dev" => {
                return Ok(Some(format!("--{name} has no meaning without an IP layer")));
            }
            _ => match name.strip_prefix("set ") {
                Some(param) => return self.param(param.strip_prefix("tcp.").unwrap_or(param), value),
                None => return Err(Refusal::Unsupported(format!("the option --{name}"))),
            },
        }
        Ok(None)
    }

    /// `--set tcp.name=value`: a TCP parameter, as an experiment file would write it.
    fn param(&mut self, name: &str, value: &str) -> Outcome {
        let spec = PARAMS.iter().find(|p| p.name == name).ok_or_else(|| {
            let nearest = PARAMS.iter().map(|p| p.name).min_by_key(|p| strsim::levenshtein(p, name)).unwrap_or_default();
            Refusal::Wrong(format!("there is no TCP parameter `{name}`; did you mean `{nearest}`?"))
        })?;
        let literals = [value.parse().ok().map(Literal::Bool), value.parse().ok().map(Literal::Integer), Some(Literal::Text(value))];
        let mut mismatch = None;
        for literal in literals.into_iter().flatten() {
            match spec.read(literal) {
                Ok(value) => {
                    self.assign(spec, value);
                    return Ok(None);
                }
                Err(e) => mismatch = Some(e),
            }
        }
        let expected = mismatch.map_or_else(String::new, |e| e.expected);
        Err(wrong(&format!("set {name}"), value, &expected))
    }

    fn assign(&mut self, spec: &ParamSpec, value: Value) {
        if spec.name == "ecn" {
            self.ecn = EcnUse::Unsaid;
        }
        self.setup.set(spec.name, value);
    }

    /// Sets the version that was asked for from outside. The MTU then gives segments the same size under each version.
    pub(crate) fn use_ip(&mut self, ip: IpVersion) {
        self.mtu = if ip == IpVersion::V6 { (self.mtu + 20).min(65_535) } else { self.mtu };
        self.ip = ip;
    }

    /// True if an endpoint made with `other` would differ.
    pub(crate) fn makes_another_than(&self, other: &Settings) -> bool {
        (self.setup.params(), self.ecn) != (other.setup.params(), other.ecn)
    }

    /// TCP_CONGESTION of a socket.
    pub(crate) fn set_control(&mut self, name: &str) -> bool {
        let found = congestion::find(name);
        if let Some(control) = found {
            self.setup.set("congestion_control", Value::Choice(control.name));
        }
        found.is_some()
    }
}

fn wrong(name: &str, value: &str, expected: &str) -> Refusal {
    Refusal::Wrong(format!("{name} = `{value}`; expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The slow start after such options and sysctls, in their order.
    fn slow_start(said: &[(&str, &str)]) -> &'static str {
        let mut settings = Settings::default();
        for (name, value) in said {
            if *name == "sysctl" {
                settings.command(&format!("sysctl -q net.ipv4.tcp_congestion_control={value}"), Path::new("")).expect("it is one");
            } else {
                settings.option(name, value).expect("it is one");
            }
        }
        settings.config(false).growth.slow_start
    }

    #[test]
    fn a_control_has_the_slow_start_that_the_stack_gives_it_whichever_way_it_is_chosen() {
        assert_eq!(slow_start(&[]), "hystart");
        assert_eq!(slow_start(&[("sysctl", "reno")]), "standard");
        assert_eq!(slow_start(&[("sysctl", "reno"), ("sysctl", "cubic")]), "hystart");
        assert_eq!(slow_start(&[("set tcp.congestion_control", "hybla")]), "standard");
        assert_eq!(slow_start(&[("set tcp.slow_start", "hystart"), ("sysctl", "reno")]), "hystart");
        assert_eq!(slow_start(&[("stack", "rfc"), ("sysctl", "cubic")]), "standard");
        let mut settings = Settings::default();
        assert!(settings.set_control("reno"));
        assert_eq!(settings.config(false).growth.slow_start, "standard");
    }
}
