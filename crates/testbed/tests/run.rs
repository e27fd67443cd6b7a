//! The real thing, where it is permitted: kernel sockets across emulated links.

use longfat_experiment::Document;
use longfat_model::Experiment;
use longfat_record::metric::impossible;
use longfat_testbed::{Error, check, run_with, shell};

fn experiment(text: &str) -> Experiment {
    let document = Document::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    document.run(0).unwrap_or_else(|e| panic!("{e}")).experiment
}

const FILE: &str = "backend = \"testbed\"\n[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = { rate = \"20 Mbit/s\" }\n\
     edge = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n[[flow]]\nstack = \"linux\"\ntraffic = { kind = \"ttcp\", volume = \"1 MiB\" }\n\
     [[flow]]\nname = \"probe\"\ntraffic = { kind = \"ping\", interval = \"50 ms\" }\n\
     [measure]\nduration = \"20 s\"\ninterval = \"100 ms\"\n";

const BOOKS: &str = "backend = \"testbed\"\n[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\n\
     bottleneck = { rate = \"20 Mbit/s\", duplicate = 0.2, loss = { kind = \"bernoulli\", probability = 0.05 } }\n\
     edge = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n[[flow]]\nstack = \"linux\"\n\
     [[flow]]\nname = \"udp\"\ntraffic = { kind = \"udp\", rate = \"4 Mbit/s\" }\n\
     [[flow]]\nname = \"probe\"\ntraffic = { kind = \"ping\", interval = \"10 ms\" }\n\
     [measure]\nduration = \"4 s\"\nwarmup = \"2 s\"\ninterval = \"100 ms\"\n";

/// The kernel's counts obey what holds for the simulator's: no metric beyond its bounds, and each payload once.
fn keeps_its_books(asked: &Experiment) {
    let trace = run_with(asked, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(impossible(asked, &trace), Vec::<String>::new());
    let [_, udp, probe] = &trace.flows[..] else { panic!("three flows") };
    // 4 Mb/s for 2 s, of which 1472 of 1500 bytes are payload, less 5 % and what an overflow takes; a fifth comes twice.
    let counts = udp.measured();
    assert!((600_000..990_000).contains(&counts.arrived), "{counts:?}");
    assert!((0.1..0.3).contains(&(counts.duplicate as f64 / counts.arrived as f64)), "{counts:?}");
    // Half of the probe's losses are in the warmup, and do not count.
    assert!(probe.at_warmup.packets_dropped > 0 && probe.measured().packets_dropped > 0, "{probe:?}");
    assert!((180..=202).contains(&probe.measured().segments_sent), "{probe:?}");
}

/// All in one test: a machine has room for one testbed at a time.
#[test]
fn a_volume_crosses_the_emulated_path_in_the_time_it_must() {
    if let Err(error) = check::permitted() {
        eprintln!("skipped: {error}");
        return;
    }
    let asked = experiment(FILE);
    let trace = match run_with(&asked, &mut |_| true) {
        Err(Error::Busy { .. }) => return eprintln!("skipped: another testbed is running"),
        result => result.unwrap_or_else(|e| panic!("{e}")),
    };
    let [flow, probe] = &trace.flows[..] else { panic!("two flows") };
    assert_eq!(flow.total.delivered, 1 << 20);
    // 1 MiB is 725 packets of 1500 bytes: 0.435 s at 20 Mb/s, after a handshake of 20 ms and in some round trips.
    let took = flow.delivered_all.expect("it is delivered").as_secs_f64();
    assert!((0.45..2.0).contains(&took), "{took}");
    assert!(flow.acked_all.is_none_or(|acked| flow.delivered_all.unwrap() <= acked));
    assert!((0.020..0.025).contains(&probe.rtt.min_s) || (0.020..0.025).contains(&flow.rtt.min_s), "{}", flow.rtt.min_s);
    let real = trace.real_time.expect("it ran in real time");
    assert!(real.handed_over > 725 && real.late_max.as_secs_f64() < 1.0, "{real:?}");
    // Conservation: packets that came to a link went on, were dropped, or are still there.
    for link in &trace.links {
        let dropped: u64 = link.drops.iter().map(|drop| drop.1).sum();
        assert_eq!(link.packets_in, link.packets_transmitted + dropped + link.packets_queued, "{link:?}");
        assert_eq!(link.packets_transmitted, link.packets_delivered + link.packets_lost + link.packets_in_flight, "{link:?}");
    }
    let last = trace.flow_series.iter().rev().find(|sample| sample.flow == 0).unwrap();
    assert_eq!((last.bytes_delivered, last.time), (1 << 20, trace.end));

    keeps_its_books(&experiment(BOOKS));

    // A command runs inside a host, and what it ends with comes back.
    let (code, trace) = shell::run(&asked, Some("right1"), &["sh", "-c", "exit 7"].map(str::to_owned)).unwrap();
    assert_eq!((code, trace.real_time.expect("it ran in real time").lost_at_socket), (7, 0));

    // The caller may have enough of it; and nothing is in the way of the next one.
    assert!(matches!(run_with(&asked, &mut |_| false), Err(Error::Cancelled { .. })));
    let backlog = std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog").unwrap();
    assert!(backlog.trim().parse::<u64>().unwrap() < 100_000, "{backlog} was not put back");
}
