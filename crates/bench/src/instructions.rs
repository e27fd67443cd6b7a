//! Instructions of a data packet, which do not depend on what else the machine does: counted by valgrind, where it is installed.

use std::io;
use std::process::Command;

/// Rows whose instructions are counted, as `bench --child` calls them.
const ROWS: &[&str] = &[
    "a",
    "a-rack",
    "b",
    "c",
    "d",
    "e",
    "shape:ansnet",
    "shape:drs",
    "shape:chain5",
    "shape:parking_lot",
    "scale:1000",
    "scale:10000",
    "cells:epd-512",
];

/// Counts the instructions of each row, whole process, and prints them. Returns rows of JSON; none without valgrind.
pub(crate) fn table() -> io::Result<Vec<String>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("\nno valgrind: instructions are not counted");
        return Ok(Vec::new());
    }
    println!("\nrow                      packets or cells    instructions  of each");
    ROWS.iter().map(|row| count(row)).collect()
}

fn count(row: &str) -> io::Result<String> {
    let child = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--child", row, "whole"])
        .output()?;
    let (out, log) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    let packets = out.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    let refs =
        log.lines().find_map(|line| line.split_once("refs:")).and_then(|(_, count)| count.trim().replace(',', "").parse::<u64>().ok());
    let (Some(packets), Some(refs)) = (packets, refs) else {
        return Err(io::Error::other(format!("valgrind counted nothing for {row}: {}", log.trim())));
    };
    let each = refs as f64 / packets as f64;
    println!("{row:22} {packets:18} {refs:15} {each:8.0}");
    Ok(format!(
        "  {{\"instructions_of\": \"{row}\", \"packets\": {packets}, \"instructions\": {refs}, \"instructions_per_packet\": {each:.0}}}"
    ))
}
