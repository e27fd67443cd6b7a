//! Packet scripts: what a TCP endpoint is told and what it must send, packet by packet, in virtual time.
//!
//! The language is that of packetdrill (Cardwell et al., *packetdrill: Scriptable Network Stack Testing, from Sockets to Packets*,
//! USENIX ATC 2013, and its syntax document), as large a part of it as a TCP endpoint without a kernel can mean. What is in and what
//! is not is said in docs/scripts.md.

mod code;
mod compare;
mod host;
mod info;
mod lexer;
mod numbers;
mod parser;
mod report;
mod runner;
mod settings;
mod syntax;

pub use report::{Finding, Report, Verdict};
pub use syntax::Place;

/// Runs the script `source`; `file` is what the report calls it.
pub fn run(source: &str, file: &str) -> Report {
    let script = match parser::parse(source) {
        Ok(script) => script,
        Err(e) => {
            let finding = Finding { place: e.place, message: e.to_string(), details: Vec::new() };
            return Report { file: file.to_owned(), verdict: Verdict::Error(finding), notes: Vec::new(), printed: Vec::new() };
        }
    };
    let mut runner = runner::Runner::new(&script);
    let verdict = runner.run();
    Report { file: file.to_owned(), verdict, notes: runner.notes, printed: runner.printed }
}
