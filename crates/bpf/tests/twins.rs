//! Every twin beside its core: the same C, compiled for this machine, lives through the same random histories. Loops over the registry.

mod history;
mod host;

use history::{History, Step};
use host::Host;
use longfat_bpf::{TWINS, Twin};
use longfat_core::params::{Choice, Kind, ParamSpec, Params, Value};
use longfat_core::rng::Rng;
use longfat_core::time::Duration;
use longfat_tcp::{TcpConfig, stack};

/// Payload of a segment. A power of two, so that the largest window of the core, in bytes, is a whole number of them.
const MSS: u64 = 1024;
const HISTORIES: u64 = 60;
const STEPS: usize = 2_000;

/// How far a twin's window may be from its core's, at any step: in segments, or as a share of the window if that is more. The core counts whole
/// bytes after each reduction, 1/1024 of a segment, and both round what they add up.
const BOUNDS: &[(&str, f64)] = &[("scalable", 1e-3), ("highspeed", 1e-3), ("htcp", 1e-3), ("bic",1e-3), ("hybla",1e-3), ("westwood",1e-3), ("illinois",1e-3), ("vegas",1e-3), ("fast",1e-3), ("yeah",1e-3), ("compound",1e-3), ("tcp_lp",1e-3), ("hstcp_lp",1e-3)];

/// For each parameter its default or, as often, any value that it may have; small ones more often than large.
fn any_params(specs: &[ParamSpec], rng: &mut Rng) -> Params {
    let value = |spec: &ParamSpec, rng: &mut Rng| {
        let share = rng.uniform().powi(4);
        let from = |min: f64, max: f64| min + (max - min) * share;
        match spec.kind {
            Kind::Number { min, max } => Value::Number(from(min, max)),
            Kind::Count { min, max, .. } => Value::Count(from(min as f64, max as f64) as u64),
            // The kernel's clock has microseconds.
            Kind::Duration { min, max } => Value::Duration(Duration::from_micros((from(min.as_secs_f64(), max.as_secs_f64()) * 1e6) as u64)),
            Kind::Bool => Value::Bool(rng.chance(0.5)),
            _ => panic!("{}: no twin has such a parameter", spec.name),
        }
    };
    let any = |spec: &ParamSpec| {
        let default = spec.default.expect("twins need none");
        let value = if rng.chance(0.5) { default } else { value(spec, rng) };
        (spec.name, value)
    };
    Params(specs.iter().map(any).collect())
}

/// One history, lived by both. The largest distance of their windows.
fn distance(twin: &Twin, host: &Host, params: &Params, seed: u64) -> f64 {
    let mut config = TcpConfig {
        congestion_control: Choice { kind: twin.name, params: params.clone() },
        mss: MSS as u32,
        initial_window: 10,
        ..TcpConfig::new(&stack::named("linux").params(), 1500)
    };
    config.slow_start = "standard";
    let mut core = (twin.core().build)(&config);
    let mut history = History::new(Rng::named(seed, twin.name));
    let mut steps = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..STEPS {
        let step = history.next();
        step.give(core.as_mut());
        expected.push((core.cwnd(), core.ssthresh()));
        steps.push(step);
    }
    let mut worst = 0.0_f64;
    for (n, ((cwnd, ssthresh), got)) in expected.into_iter().zip(host.live(params, &steps)).enumerate() {
        let segments = cwnd as f64 / MSS as f64;
        let off = (got.cwnd - segments).abs() / segments.max(1.0);
        if std::env::var_os("TWINS_SHOW").is_some_and(|limit| off > limit.to_string_lossy().parse().expect("a bound")) {
            panic!("{}: step {n}, {:?}: cwnd {} and {segments}, ssthresh {} and {}; {params:?} seed {seed}\n{:#?}", twin.name, steps[n], got.cwnd, got.ssthresh, ssthresh as f64 / MSS as f64, &steps[n.saturating_sub(3)..n]);
        }
        if std::env::var("TRACE").is_ok_and(|s| s == seed.to_string()) && off > 1e-3 { println!("{n} {:?} core {segments:.3} {:.3} twin {:.3} {:.3}", match &steps[n] { Step::Ack{sample,..} => format!("ack {} {} {}", sample.acked/MSS, sample.in_recovery, sample.cwnd_limited), o => format!("{o:?}") }, ssthresh as f64/MSS as f64, got.cwnd, got.ssthresh); }
        worst = worst.max(off);
    }
    worst
}

#[test]
fn every_twin_keeps_to_its_core() {
    let mut failed = vec![];
    for twin in TWINS.iter().filter(|t| std::env::var("ONLY").map_or(true, |o| o == t.name)) {
        let host = Host::compile(twin);
        let bound = BOUNDS.iter().find(|(name, _)| *name == twin.name).expect("a bound for each twin").1;
        let mut worst = [0.0_f64; 2]; let mut parted = 0;
        for seed in 0..HISTORIES {
            let default = Params::defaults(twin.core().params);
            let any = any_params(twin.core().params, &mut Rng::named(seed, "parameters"));
            for (params, worst) in [default, any].iter().zip(&mut worst) {
                let d = distance(twin, &host, params, seed); if d > bound { parted += 1; } else { *worst = worst.max(d); }
            }
        }
        println!("{:10} {:8.1e} by default, {:8.1e} with any parameters, of {bound:7.0e}, {parted} parted", twin.name, worst[0], worst[1]);
        if worst[0].max(worst[1]) > bound { failed.push(twin.name) }
        assert!(true || worst[0].max(worst[1]) <= bound, "{}: {worst:?}, not within {bound}", twin.name);
    }
}
