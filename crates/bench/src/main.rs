//! `bench [CASE...]`: measures the cost of the simulator on dumbbells, prints a table and writes `bench.json`.
//!
//! Each case runs in a process of its own, so that its peak memory is its own. A packet in flight is any packet in a queue
//! or on a wire; what it costs in memory is the peak of the case less the peak of the same case cut short after its
//! handshakes, over the most packets that were in the network at once (the state of TCP included).

mod beside;
mod cells;
mod controls;
mod instructions;
mod queues;
mod scale;
mod shapes;

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_model::Experiment;
use longfat_model::dumbbell::Dumbbell;
use longfat_tcp::{RecoveryKind, TcpConfig, congestion};

struct Case {
    name: &'static str,
    summary: &'static str,
    dumbbell: fn() -> Dumbbell,
}

fn dumbbell(pairs: usize, rate_mbps: u64, rtt_ms: u64, edge_gbps: u64, seconds: u64) -> Dumbbell {
    Dumbbell {
        pairs,
        rate: Rate::from_bps(rate_mbps * 1_000_000),
        rtt: Duration::from_millis(rtt_ms),
        edge_rate: Rate::from_bps(edge_gbps * 1_000_000_000),
        edge_delay: Duration::from_millis(1),
        duration: Duration::from_secs(seconds),
        // Drop-tail of one BDP, NewReno congestion control with SACK, slow start without bound, buffers that never limit:
        // the defaults.
        ..Dumbbell::default()
    }
}

/// Returns the dumbbell with another congestion control.
fn with(control: &str, dumbbell: Dumbbell) -> Dumbbell {
    Dumbbell { tcp: TcpConfig { congestion_control: congestion::choice(control), ..dumbbell.tcp }, ..dumbbell }
}

/// Returns the dumbbell with losses found by time (RACK-TLP).
fn rack(dumbbell: Dumbbell) -> Dumbbell {
    Dumbbell { tcp: TcpConfig { recovery: RecoveryKind::Rack, ..dumbbell.tcp }, ..dumbbell }
}

const CASES: &[Case] = &[
    Case { name: "a", summary: "1 flow, 622 Mb/s, 70 ms, 60 s", dumbbell: || dumbbell(1, 622, 70, 1, 60) },
    Case { name: "a-rack", summary: "as a, with recovery = rack", dumbbell: || rack(dumbbell(1, 622, 70, 1, 60)) },
    Case { name: "b", summary: "10 flows, 622 Mb/s, 70 ms, 60 s", dumbbell: || dumbbell(10, 622, 70, 1, 60) },
    Case { name: "c", summary: "100 flows, 1 Gb/s, 50 ms, 60 s", dumbbell: || dumbbell(100, 1000, 50, 1, 60) },
    Case { name: "d", summary: "1 flow, 10 Gb/s, 100 ms, 20 s, CUBIC", dumbbell: || with("cubic", dumbbell(1, 10_000, 100, 40, 20)) },
    Case { name: "e", summary: "1 flow, 622 Mb/s, 70 ms, 60 s, BBR", dumbbell: || with("bbr", dumbbell(1, 622, 70, 1, 60)) },
    Case { name: "f", summary: "1 flow, 622 Mb/s, 70 ms, 60 s, BBR3", dumbbell: || with("bbr3", dumbbell(1, 622, 70, 1, 60)) },
    Case { name: "g", summary: "1 flow, 10 Gb/s, 100 ms, 20 s, BBR", dumbbell: || with("bbr", dumbbell(1, 10_000, 100, 40, 20)) },
    Case { name: "h", summary: "1 flow, 10 Gb/s, 100 ms, 20 s, BBR3", dumbbell: || with("bbr3", dumbbell(1, 10_000, 100, 40, 20)) },
];

/// Measurements of one run of a case, in the order in which the child hands them to the parent.
#[derive(Clone, Copy, Default)]
struct Cost {
    data_packets: u64,
    events: u64,
    bytes_delivered: u64,
    packets_in_network_max: u64,
    retransmitted: u64,
    timeouts: u64,
    cpu_ns: u64,
    peak_rss_bytes: u64,
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--child", name, how] => child(name, *how == "short"),
        names => parent(names),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn find(name: &str) -> io::Result<&'static Case> {
    let known: Vec<_> = CASES.iter().map(|case| case.name).collect();
    CASES.iter().find(|case| case.name == name).ok_or_else(|| io::Error::other(format!("no case {name:?}; there are {}", known.join(", "))))
}

/// Runs one case and prints its cost as numbers.
fn child(name: &str, short: bool) -> io::Result<()> {
    if let Some(name) = name.strip_prefix(cells::PREFIX) {
        return cells::child(name, cpu_ns);
    }
    if let Some(name) = name.strip_prefix(queues::ALONE) {
        return queues::child(name, cpu_ns);
    }
    if let Some(row) = name.strip_prefix(beside::PREFIX) {
        return measure(&beside::of(row)?);
    }
    if let Some(shape) = name.strip_prefix(shapes::PREFIX) {
        return measure(&shapes::of(shape)?);
    }
    let mut dumbbell = match name.strip_prefix(controls::PREFIX) {
        Some(control) => controls::of(control),
        None if name.starts_with(queues::PREFIX) => queues::of(&name[queues::PREFIX.len()..]),
        None => match name.strip_prefix(scale::PREFIX) {
            Some(row) => scale::of(row)?,
            None => (find(name)?.dumbbell)(),
        },
    };
    if short {
        dumbbell.duration = dumbbell.rtt * 2;
    }
    measure(&dumbbell.experiment())
}

/// Runs `experiment` and prints its cost.
fn measure(experiment: &Experiment) -> io::Result<()> {
    let before = cpu_ns()?;
    let trace = longfat_sim::run(experiment).map_err(io::Error::other)?;
    let cpu_ns = cpu_ns()? - before;
    let sum = |of: fn(&longfat_record::trace::FlowRecord) -> u64| trace.flows.iter().map(of).sum::<u64>();
    let (sent, delivered) = (sum(|f| f.total.segments_sent), sum(|f| f.total.delivered));
    let (again, timeouts) = (sum(|f| f.total.segments_retransmitted), sum(|f| f.timeouts));
    println!("{sent} {} {delivered} {} {again} {timeouts} {cpu_ns} {}", trace.steps, trace.packets_in_network_max, peak_rss()?);
    Ok(())
}

fn run_child(name: &str, how: &str) -> io::Result<Cost> {
    let output = Command::new(env::current_exe()?).args(["--child", name, how]).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("case {name} failed: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    parse(name, &String::from_utf8_lossy(&output.stdout))
}

/// Returns the cost that the child for `name` printed.
fn parse(name: &str, text: &str) -> io::Result<Cost> {
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [data_packets, events, bytes_delivered, packets_in_network_max, retransmitted, timeouts, cpu_ns, peak_rss_bytes] = numbers[..]
    else {
        return Err(io::Error::other(format!("{name} printed {text:?}")));
    };
    Ok(Cost { data_packets, events, bytes_delivered, packets_in_network_max, retransmitted, timeouts, cpu_ns, peak_rss_bytes })
}

fn parent(names: &[&str]) -> io::Result<()> {
    if names == ["controls"] {
        return controls::table().map(|_| ());
    }
    if names == ["queues"] {
        return queues::table(cpu_ns).map(|_| ());
    }
    if names == ["beside"] {
        return beside::table().map(|_| ());
    }
    if names == ["scale"] {
        return scale::table().map(|_| ());
    }
    if names == ["shapes"] {
        return shapes::table().map(|_| ());
    }
    if names == ["instructions"] {
        return instructions::table().map(|_| ());
    }
    if names == ["cells"] {
        return cells::table().map(|_| ());
    }
    let cases = if names.is_empty() { CASES.iter().collect() } else { names.iter().map(|n| find(n)).collect::<io::Result<Vec<_>>>()? };
    println!(
        "case                                       data pkt/CPU s  events/CPU s  CPU s  peak RSS  B/pkt in flight  goodput (payload)  resent  timeouts"
    );
    let mut rows = Vec::new();
    for case in cases {
        let (cost, empty) = (run_child(case.name, "whole")?, run_child(case.name, "short")?);
        let cpu_s = cost.cpu_ns as f64 / 1e9;
        let per_cpu_s = |n: u64| n as f64 / cpu_s;
        let grown = cost.peak_rss_bytes.saturating_sub(empty.peak_rss_bytes);
        let bytes_per_packet = grown as f64 / cost.packets_in_network_max as f64;
        let goodput_bps = cost.bytes_delivered as f64 * 8.0 / (case.dumbbell)().duration.as_secs_f64();
        println!(
            "{:7}{:36} {:10.2} M  {:10.2} M  {:5.2}  {:5.1} MB  {:15.0}  {:12.1} Mb/s  {:6}  {:8}",
            case.name,
            case.summary,
            per_cpu_s(cost.data_packets) / 1e6,
            per_cpu_s(cost.events) / 1e6,
            cpu_s,
            cost.peak_rss_bytes as f64 / 1e6,
            bytes_per_packet,
            goodput_bps / 1e6,
            cost.retransmitted,
            cost.timeouts,
        );
        rows.push(format!(
            "  {{\"case\": \"{}\", \"data_packets_per_cpu_second\": {:.0}, \"events_per_cpu_second\": {:.0}, \"peak_rss_bytes\": {}, \
             \"bytes_per_packet_in_flight\": {:.1}, \"goodput_bps\": {:.0}}}",
            case.name,
            per_cpu_s(cost.data_packets),
            per_cpu_s(cost.events),
            cost.peak_rss_bytes,
            bytes_per_packet,
            goodput_bps,
        ));
    }
    if names.is_empty() {
        rows.extend(shapes::table()?);
        rows.extend(controls::table()?);
        rows.extend(queues::table(cpu_ns)?);
        rows.extend(beside::table()?);
        rows.extend(scale::table()?);
        rows.extend(cells::table()?);
        rows.extend(instructions::table()?);
    }
    fs::write("bench.json", format!("[\n{}\n]\n", rows.join(",\n")))
}

/// Runs `child`. Returns its output, and its instructions where `perf` can count them.
fn counted(child: &[OsString]) -> io::Result<(String, Option<f64>)> {
    let counted = Command::new("perf").args(["stat", "-x", ",", "-e", "instructions:u", "--"]).args(child).output();
    let output = match counted {
        Ok(output) if output.status.success() => output,
        _ => Command::new(&child[0]).args(&child[1..]).output()?,
    };
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    // `perf stat -x,`: the count is the first field; "<not supported>" on machines that do not count.
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = stderr.lines().find(|line| line.contains("instructions")).and_then(|line| line.split(',').next()?.parse::<f64>().ok());
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), count))
}

/// Returns the CPU time of this process's only thread so far, in nanoseconds: the first number of Linux's `schedstat`.
fn cpu_ns() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    text.split_whitespace().next().and_then(|word| word.parse().ok()).ok_or_else(|| io::Error::other("no CPU time in /proc/self/schedstat"))
}

/// Returns the peak memory of this process, in bytes.
fn peak_rss() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|word| word.parse().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| io::Error::other("no VmHWM in /proc/self/status"))
}
