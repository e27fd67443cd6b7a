//! A twin compiled for this machine, as a program of its own: the sanitizers see whatever it does wrong, and it harms nobody.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use longfat_bpf::{Twin, knobs};
use longfat_core::params::Params;
use longfat_core::time::{Duration, Time};

use crate::{MSS, Step};

/// The program.
pub(crate) struct Host(PathBuf);

fn us(d: Duration) -> u64 {
    d.as_ps() / 1_000_000
}

fn at(t: Time) -> u64 {
    us(t.since(Time::ZERO))
}

fn line(step: &Step) -> String {
    match step {
        Step::Ack { sample: s, una, nxt, out, tsval } => format!(
            "ack {} {} {} {} {} {} {} {una} {nxt} {out} {tsval}\n",
            at(s.now),
            s.acked / MSS,
            s.delivered / MSS,
            s.rtt.map_or(-1, |rtt| us(rtt) as i64),
            us(s.srtt),
            u8::from(s.cwnd_limited),
            u8::from(!s.in_recovery),
        ),
        Step::Loss(now) => format!("loss {}\n", at(*now)),
        Step::Recovered(_) => "recovered\n".to_owned(),
        Step::Timeout(now) => format!("timeout {}\n", at(*now)),
        Step::TimeoutAgain(now) => format!("again {}\n", at(*now)),
        Step::Undo => "undo\n".to_owned(),
        Step::Restart => "restart\n".to_owned(),
    }
}

impl Host {
    /// Compiles the very file that goes into the kernel.
    pub(crate) fn compile(twin: &Twin) -> Self {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("twin-{}", twin.name));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let status = Command::new(&compiler)
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-missing-field-initializers"])
            .args(["-fsanitize=undefined", "-fno-sanitize-recover=all"])
            .arg(format!("-DTWIN=\"{}\"", source.join(format!("bpf/{}.bpf.c", twin.name)).display()))
            .args([source.join("tests/harness.c").as_os_str(), "-o".as_ref(), program.as_os_str()])
            .status()
            .unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(status.success(), "{compiler} could not compile {}", twin.name);
        Host(program)
    }

    /// Returns its window in segments after each step.
    pub(crate) fn live(&self, params: &Params, steps: &[Step]) -> Vec<f64> {
        let mut text: String = knobs(params).iter().map(|(name, value)| format!("knob {name} {value}\n")).collect();
        text += &format!("init 10 {}\n", (1_u64 << 30) / MSS);
        text.extend(steps.iter().map(line));
        self.read(text)
    }

    /// Returns its window in segments after each step, for lines as the program reads them.
    pub(crate) fn read(&self, text: String) -> Vec<f64> {
        let mut child = Command::new(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("just compiled");
        let mut input = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let output = child.wait_with_output().expect("runs");
        assert!(output.status.success(), "{}: {}", self.0.display(), output.status);
        writer.join().expect("no panic").expect("it reads all");
        let windows = String::from_utf8(output.stdout).expect("numbers");
        windows.lines().map(|line| line.parse::<u64>().expect("a number") as f64 / 4_294_967_296.0).collect()
    }
}
