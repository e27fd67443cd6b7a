//! Packet scripts: inputs of a TCP endpoint and the packets it must send, packet by packet, in virtual time.
//!
//! The language is that of packetdrill (Cardwell et al., *packetdrill: Scriptable Network Stack Testing, from Sockets to Packets*,
//! USENIX ATC 2013, and its syntax document), as large a part of it as a TCP endpoint without a kernel can mean. What is in and what
//! is not is said in docs/scripts-reference.md.

mod code;
mod compare;
mod files;
mod host;
mod lexer;
mod numbers;
mod offload;
mod parser;
mod place;
mod report;
mod runner;
mod settings;
mod syntax;

pub use files::read_text;
pub use place::Place;
pub use report::{Expectation, Finding, Report, Verdict};
pub use settings::IpVersion;

use std::path::Path;

/// Options of a run from outside of its script.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// IP version, if the script does not set one. The MTU is then that of IPv4, and 20 bytes larger under IPv6, so that the mss is the
    /// same.
    pub ip_version: Option<IpVersion>,
    /// Settings, as `--name=value` at the head of a script, which has the last word. In any order: the stack comes first, whoever names it.
    pub settings: Vec<(String, String)>,
    /// True to continue after an expectation that is not met, and to report each expectation.
    pub all: bool,
    /// True to print every packet.
    pub verbose: bool,
    /// Shell scripts to read first.
    pub init_scripts: Vec<String>,
}

/// Runs the script `source`; `file` is where it is, and what the report calls it.
pub fn run(source: &str, file: &str, options: &Options) -> Report {
    let script = match parser::parse(source) {
        Ok(script) => script,
        Err(e) => {
            let finding = Finding { place: e.place, message: e.to_string(), details: Vec::new() };
            let ip_version = options.ip_version.unwrap_or(IpVersion::V4);
            return Report {
                file: file.to_owned(),
                ip_version,
                verdict: Verdict::Error(finding),
                expectations: Vec::new(),
                warnings: Vec::new(),
                notes: Vec::new(),
                printed: Vec::new(),
            };
        }
    };
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut runner = runner::Runner::new(&script, options, folder);
    let verdict = runner.run();
    Report {
        file: file.to_owned(),
        ip_version: runner.ip_version(),
        verdict,
        expectations: runner.expectations,
        warnings: runner.warnings,
        notes: runner.notes,
        printed: runner.printed,
    }
}
