//! Shell commands of a script, and the shell scripts that they call: their sysctls hold, and of all else in a shell script there is a note.

use super::{EcnUse, Outcome, Refusal, Settings, wrong};
use crate::files::read_text;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::units::text::scale;
use longfat_tcp::congestion;
use std::path::Path;

/// Sysctls that change nothing an endpoint alone would show.
const WITHOUT_EFFECT: &[&str] = &[
    "tcp_available_congestion_control",
    "tcp_autocorking",
    "tcp_early_demux",
    "tcp_ecn_option",
    "tcp_fack",
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

/// Outcome of a shell command.
#[derive(Default, Debug)]
pub(crate) struct Ran {
    pub notes: Vec<String>,
    pub slept: Duration,
}

/// Depth to which shell scripts may call each other. A script that calls itself ends here.
const DEEPEST: u32 = 8;

impl Settings {
    /// Runs a shell command of a script in `folder`. Only commands that set sysctls, wait, or call a shell script that does, mean something
    /// here.
    pub(crate) fn command(&mut self, text: &str, folder: &Path) -> Result<Ran, Refusal> {
        self.command_at(text, folder, 0)
    }

    /// Runs the shell script at `path`, called by a script in `folder`, line by line.
    pub(crate) fn shell_script(&mut self, path: &Path, folder: &Path) -> Result<Ran, Refusal> {
        self.shell_script_at(path, folder, 0)
    }

    fn shell_script_at(&mut self, path: &Path, folder: &Path, depth: u32) -> Result<Ran, Refusal> {
        let shown = path.display();
        if depth >= DEEPEST {
            return Err(Refusal::Wrong(format!("{shown}: shell scripts call each other more than {DEEPEST} deep")));
        }
        let text = read_text(path).map_err(|e| Refusal::Wrong(format!("the shell script {shown} cannot be read: {e}")))?;
        let mut ran = Ran::default();
        for (i, line) in text.replace("\\\n", " ").lines().enumerate() {
            let notes = match self.command_at(line, folder, depth + 1) {
                Ok(of_line) => {
                    ran.slept += of_line.slept;
                    of_line.notes
                }
                Err(Refusal::Unsupported(what)) => vec![format!("{what} is passed over")],
                Err(Refusal::Wrong(message)) => return Err(Refusal::Wrong(format!("{shown}:{}: {message}", i + 1))),
            };
            ran.notes.extend(notes.into_iter().map(|note| format!("{shown}:{}: {note}", i + 1)));
        }
        Ok(ran)
    }

    fn command_at(&mut self, text: &str, folder: &Path, depth: u32) -> Result<Ran, Refusal> {
        let mut ran = Ran::default();
        let text = text.replace("\\\n", " ");
        let lines: Vec<String> = text.lines().map(|line| expanded(uncommented(line))).collect();
        for line in lines.iter().flat_map(|line| line.split(';')).flat_map(|line| line.split("&&")) {
            let notes = &mut ran.notes;
            let mut words = line.split_whitespace().peekable();
            let Some(program) = words.next() else { continue };
            match program.rsplit('/').next().unwrap_or(program) {
                "sysctl" | "set_sysctls.py" => {
                    let all = words.collect::<Vec<_>>().join(" ").replace(" = ", "=");
                    for assignment in assignments(&all)? {
                        notes.extend(self.sysctl(assignment.0, assignment.1)?);
                    }
                }
                // The suite's set_sysctls.py writes this file, to restore the settings it has changed. The settings of one script end with
                // it.
                name if name.starts_with("sysctl_restore_") => {}
                name if name.ends_with(".sh") && folder.join(program).exists() => {
                    let called = self.shell_script_at(&folder.join(program), folder, depth)?;
                    ran.slept += called.slept;
                    ran.notes.extend(called.notes);
                }
                "defaults.sh" => notes.push(format!("`{program}` is not there; the defaults of the stack `{}` hold", self.stack)),
                "tc" => notes.extend(self.queueing_discipline(line)?),
                // Destination metrics are kept for no peer here.
                "ip" if line.contains("tcp_metrics") => {}
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

    /// `tc qdisc add dev tun0 root fq`: Linux leaves pacing to `fq` where that is the discipline, and fq paces every connection (tc-fq(8)).
    fn queueing_discipline(&mut self, line: &str) -> Outcome {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["tc", "qdisc", "add" | "replace", "dev", _, "root", "fq"] => self.setup.set("pacing", Value::Choice("on")),
            ["tc", "qdisc", "add" | "replace", "dev", _, "root", "pfifo" | "pfifo_fast" | "noqueue"] => {}
            _ => return Err(Refusal::Unsupported(format!("the shell command `{}`", line.trim()))),
        }
        Ok(None)
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
            "tcp_syn_linear_timeouts" => self.setup.set("syn_linear_timeouts", Value::Count(number()?.min(20))),
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

/// The line up to a comment of the shell.
fn uncommented(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| *at == 0 || line[..*at].ends_with(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// Evaluates the shell's `$((15*1024*1024))` in the line, where that is a product of whole numbers.
fn expanded(line: &str) -> String {
    let Some((before, (inside, after))) = line.split_once("$((").and_then(|(before, rest)| Some((before, rest.split_once("))")?))) else {
        return line.to_owned();
    };
    let factors = inside.split('*').map(|factor| factor.trim().parse::<u64>().ok());
    let product = factors.reduce(|product, factor| product?.checked_mul(factor?)).flatten();
    let value = product.map_or_else(|| format!("$(({inside}))"), |product| product.to_string());
    format!("{before}{value}{}", expanded(after))
}

/// Returns the hypothetical timeout of `tcp_retries2` in Linux's documentation: a timer that begins at 200 ms and doubles up to 120 s
/// expires `retries` times, and once more.
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
