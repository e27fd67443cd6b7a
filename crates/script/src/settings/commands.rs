//! What a shell command of a script sets: sysctls.

use super::{EcnUse, Outcome, Refusal, Settings, wrong};
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::units::text::scale;
use longfat_tcp::congestion;

/// Sysctls that change nothing an endpoint alone would show.
const WITHOUT_EFFECT: &[&str] = &[
    "tcp_available_congestion_control",
    "tcp_autocorking",
    "tcp_early_demux",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_limit_output_bytes",
    "tcp_low_latency",
    "tcp_max_syn_backlog",
    "tcp_max_tso_segs",
    "tcp_mem",
    "tcp_moderate_rcvbuf",
    "tcp_mtu_probing",
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
    "tcp_notsent_lowat",
    "tcp_syncookies",
    "tcp_tso_win_divisor",
    "tcp_tw_reuse",
    "tcp_workaround_signed_windows",
];

/// What came of a shell command.
#[derive(Default, Debug)]
pub struct Ran {
    pub notes: Vec<String>,
    pub slept: Duration,
}

impl Settings {
    /// A shell command: only those that set sysctls, or wait, mean something here.
    pub fn command(&mut self, text: &str) -> Result<Ran, Refusal> {
        let mut ran = Ran::default();
        let notes = &mut ran.notes;
        for line in text.split(['\n', ';']).flat_map(|line| line.split("&&")) {
            let mut words = line.split_whitespace().peekable();
            let Some(program) = words.next() else { continue };
            match program.rsplit('/').next().unwrap_or(program) {
                "sysctl" | "set_sysctls.py" => {
                    let all = words.collect::<Vec<_>>().join(" ").replace(" = ", "=");
                    for assignment in assignments(&all)? {
                        notes.extend(self.sysctl(assignment.0, assignment.1)?);
                    }
                }
                "defaults.sh" => notes.push(format!("`{program}` is taken for the defaults of the stack `{}`", self.stack)),
                "true" | "sync" | ":" => {}
                "sleep" => {
                    let seconds = words.next().unwrap_or_default();
                    match scale(seconds, 1_000_000_000_000, "picoseconds").map(Duration::from_ps) {
                        Ok(time) if time <= Duration::from_secs(1_000_000) && words.next().is_none() => ran.slept += time,
                        _ => return Err(wrong("sleep", seconds, "a number of seconds")),
                    }
                }
                _ => return Err(Refusal::Unsupported(format!("the shell command `{}`", line.trim()))),
            }
        }
        Ok(ran)
    }

    fn sysctl(&mut self, path: &str, value: &str) -> Outcome {
        let path = path.trim_start_matches("/proc/sys/").replace('/', ".");
        let Some(name) = path.strip_prefix("net.ipv4.") else {
            return match path.as_str() {
                path if path.starts_with("net.core.") => Ok(Some(format!("{path} has no effect here"))),
                _ => Err(Refusal::Unsupported(format!("the sysctl {path}"))),
            };
        };
        let number = || value.parse::<u64>().map_err(|_| wrong(name, value, "a whole number"));
        let switch = || number().map(|n| Value::Bool(n != 0));
        let last = |least: u64| {
            let last = value.split_whitespace().last().and_then(|n| n.parse::<u64>().ok());
            last.filter(|n| (least..=1 << 30).contains(n))
                .map(Value::Bytes)
                .ok_or_else(|| wrong(name, value, "three sizes in bytes, the last at most 2^30"))
        };
        match name {
            "tcp_sack" => self.setup.set("sack", switch()?),
            "tcp_timestamps" => self.setup.set("timestamps", switch()?),
            "tcp_window_scaling" => self.setup.set("window_scale", switch()?),
            "tcp_slow_start_after_idle" => {
                self.setup.set("cwnd_validation", Value::Choice(if number()? == 0 { "off" } else { "rfc5681" }));
            }
            "tcp_rmem" => self.setup.set("receive_buffer", last(1)?),
            "tcp_wmem" => self.setup.set("send_buffer", last(1)?),
            "tcp_reordering" => self.setup.set("dupack_threshold", Value::Count(number()?.clamp(1, 1000))),
            "tcp_rto_min_us" => self.setup.set("rto_min", Value::Duration(Duration::from_micros(number()?.min(120_000_000)))),
            "tcp_rto_max_ms" => self.setup.set("rto_max", Value::Duration(Duration::from_millis(number()?.clamp(1000, 120_000)))),
            "tcp_ecn" => match number()? {
                0 => self.ecn = EcnUse::Off,
                1 => self.ecn = EcnUse::On,
                2 => self.ecn = EcnUse::Answer,
                3 => self.ecn = EcnUse::Accurate,
                4 => self.ecn = EcnUse::AccurateAskingClassic,
                5 => self.ecn = EcnUse::AccurateAnswer,
                _ => return Err(wrong(name, value, "0 to 5")),
            },
            "tcp_congestion_control" => match congestion::find(value) {
                Some(control) => self.setup.set("congestion_control", Value::Choice(control.name)),
                None => return Err(Refusal::Unsupported(format!("the congestion control {value}"))),
            },
            // Bit 0: RACK, which finds lost retransmissions too; the others vary it.
            "tcp_recovery" => self.setup.set("recovery", Value::Choice(if number()? & 1 != 0 { "rack" } else { "sack" })),
            "tcp_min_tso_segs" => self.offload.min_segments = number()?.clamp(1, 65_535),
            "tcp_tso_rtt_log" => self.offload.rtt_log = number()?.min(31) as u32,
            "tcp_pacing_ss_ratio" => self.setup.set("pacing_ss_ratio", Value::Count(number()?.clamp(1, 1000))),
            "tcp_pacing_ca_ratio" => self.setup.set("pacing_ca_ratio", Value::Count(number()?.clamp(1, 1000))),
            "tcp_syn_retries" => self.setup.set("syn_retries", Value::Count(number()?.min(20))),
            "tcp_synack_retries" => self.setup.set("syn_ack_retries", Value::Count(number()?.min(20))),
            "tcp_retries2" => self.setup.set("user_timeout", Value::Duration(hypothetical_timeout(number()?))),
            "tcp_frto" => self.setup.set("frto", switch()?),
            "tcp_dsack" => self.setup.set("dsack", switch()?),
            // 3 and 4: tail loss probes (they need RACK here); less: none.
            "tcp_early_retrans" => self.setup.set("tail_probe", Value::Bool(number()? >= 3)),
            _ => {
                if WITHOUT_EFFECT.contains(&name) || name.starts_with("tcp_comp_sack") {
                    return Ok(Some(format!("{name} has no effect here")));
                }
                return Err(Refusal::Unsupported(format!("the sysctl net.ipv4.{name}")));
            }
        }
        Ok(None)
    }
}

/// What Linux's documentation says of `tcp_retries2`: a timer that begins at 200 ms and doubles up to 120 s goes off so often, and once
/// more.
fn hypothetical_timeout(retries: u64) -> Duration {
    (0..=retries.min(255))
        .map(|n| Duration::from_millis(200 << n.min(20)).min(Duration::from_secs(120)))
        .fold(Duration::ZERO, |sum, d| sum + d)
}

/// `name=value` pairs; a value goes on to the next name.
fn assignments(text: &str) -> Result<Vec<(&str, &str)>, Refusal> {
    let mut found: Vec<(&str, usize, usize)> = Vec::new();
    let mut at = 0;
    for word in text.split(' ') {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.starts_with('-')) {
            found.push((name, at + word.len() - value.len(), at));
        } else if found.is_empty() && !word.is_empty() && !word.starts_with('-') {
            return Err(Refusal::Unsupported(format!("`{word}` as an argument of sysctl")));
        }
        at += word.len() + 1;
    }
    let ends = found.iter().skip(1).map(|f| f.2).chain([text.len()]).collect::<Vec<_>>();
    Ok(found
        .iter()
        .zip(ends)
        .map(|((name, start, _), end)| {
            // Whatever redirection follows is the shell's.
            let value = text[*start..end].split('>').next().unwrap_or_default();
            (*name, value.trim().trim_matches(['"', '\'']))
        })
        .collect())
}
