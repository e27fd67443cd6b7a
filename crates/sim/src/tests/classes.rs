//! Classes that go by hosts and groups of flows.

use longfat_experiment::Document;
use longfat_model::Experiment;
use longfat_record::trace::Trace;

use crate::run;

/// A home router with 20 Mb/s up and down: one flow of the laptop, two of the phone and two of the television, all up, or all down.
fn home(queue: &str, up: bool) -> Experiment {
    let link = |from: &str, to: &str, said: &str| format!("[[path.link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{said}\n");
    let hosts = ["laptop", "phone", "tv"];
    let lan: String = hosts.iter().map(|host| link(host, "router", "rate = \"1 Gbit/s\"")).collect();
    let flows = hosts.iter().zip([1, 2, 2]).map(|(host, count)| {
        let (from, to) = if up { (*host, "server") } else { ("server", *host) };
        format!("[[flow]]\nname = \"{host}'s\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\nstack = \"linux\"\n")
    });
    let text = format!(
        "[path]\npreset = \"explicit\"\nhosts = [\"laptop\", \"phone\", \"tv\", \"server\"]\nrouters = [\"router\", \"isp\"]\n{lan}{}{}{}\
         [measure]\nduration = \"30 s\"\nwarmup = \"10 s\"\n",
        link("router", "isp", &format!("rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nbottleneck = true\nqueue = {queue}")),
        link("isp", "server", "rate = \"1 Gbit/s\""),
        flows.collect::<String>(),
    );
    Document::parse(&text, "home.toml").and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{e}\n{text}")).experiment
}

/// The share of the laptop in all payload after the warmup.
fn laptops(trace: &Trace) -> f64 {
    let bytes: Vec<f64> = trace.flows.iter().map(|flow| (flow.total.delivered - flow.at_warmup.delivered) as f64).collect();
    bytes[0] / bytes.iter().sum::<f64>()
}

/// Each of two classes has half the rate and may borrow all: who has a class alone gets half, whichever way, and however it is named.
#[test]
fn a_host_with_half_the_rate_gets_half() {
    let half = |names: &str| {
        format!(
            "{{ kind = \"htb\", rate = \"19 Mbit/s\", class = [{{ {names}, rate = \"9.5 Mbit/s\", ceil = \"19 Mbit/s\", queue = \"fq_codel\" }}, \
             {{ rate = \"9.5 Mbit/s\", ceil = \"19 Mbit/s\", queue = \"fq_codel\" }}] }}"
        )
    };
    for up in [true, false] {
        let share = |queue: &str| laptops(&run(&home(queue, up)).unwrap());
        // One flow of five.
        let alike = share("{ kind = \"fq_codel\", collisions = false }");
        assert!((alike - 0.2).abs() < 0.02, "{up}: {alike}");
        for names in ["host = \"laptop\"", "group = \"laptop's\"", "host = [\"server\"], group = [\"laptop's\"]"] {
            let classed = share(&half(names));
            assert!((classed - 0.5).abs() < 0.01, "{up}: {names}: {classed}");
        }
    }
}

/// Nobody else is there: who has half may borrow the rest.
#[test]
fn what_nobody_else_wants_a_host_may_borrow() {
    let queue = "{ kind = \"htb\", class = [{ host = \"laptop\", rate = \"10 Mbit/s\", ceil = \"20 Mbit/s\", queue = \"fq_codel\" }, { rate = \"10 Mbit/s\" }] }";
    let mut experiment = home(queue, true);
    experiment.flows.truncate(1);
    let trace = run(&experiment).unwrap();
    assert!(trace.links.iter().any(|link| link.busy_s > 0.95 * 20.0), "{:?}", trace.links);
}

/// A route that moves keeps the classes of its packets.
#[test]
fn a_class_has_its_host_also_by_another_link() {
    let queue = "{ kind = \"prio\", class = [{ host = \"a\" }, {}] }";
    let link = |name: &str, from: &str, to: &str, said: &str| {
        format!("[[path.link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{said}\n")
    };
    let slow = |rate: &str| format!("rate = \"{rate}\"\ndelay = \"5 ms\"\nqueue = {queue}");
    let text = format!(
        "[path]\nhosts = [\"a\", \"b\", \"c\"]\nrouters = [\"r\", \"s\"]\n{}{}{}{}{}\
         [[path.move]]\nat = \"1 s\"\nlink = \"first\"\nby = \"second\"\n\
         [[flow]]\nname = \"probe\"\nfrom = \"a\"\nto = \"c\"\ntraffic = {{ kind = \"ping\", interval = \"10 ms\", size = \"100 bytes\" }}\n\
         [[flow]]\nfrom = \"b\"\nto = \"c\"\nstack = \"linux\"\n[measure]\nduration = \"10 s\"\nwarmup = \"2 s\"\n",
        link("a", "a", "r", "rate = \"1 Gbit/s\""),
        link("b", "b", "r", "rate = \"1 Gbit/s\""),
        link("first", "r", "s", &slow("20 Mbit/s")),
        link("second", "r", "s", &slow("10 Mbit/s")),
        link("c", "s", "c", "rate = \"1 Gbit/s\""),
    );
    let experiment = Document::parse(&text, "moves.toml").and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{e}")).experiment;
    let trace = run(&experiment).unwrap();
    // 10 ms there and back, at most one packet of 1500 bytes before it, 1.2 ms, and its own bytes.
    let probe = &trace.flows[0];
    assert!(probe.rtt.max_s < 10e-3 + 1.2e-3 + 0.6e-3, "{probe:?}");
    assert!(trace.flows[1].total.delivered > 8_000_000);
}
