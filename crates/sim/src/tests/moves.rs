//! Routes that move from a link to another.

use longfat_experiment::Document;
use longfat_model::Experiment;
use longfat_record::trace::Trace;

use crate::run;

/// Two routers with a short and a long link between them, 10 Mb/s each; `moves` and what flows.
fn experiment(moves: &str, flow: &str, queue: &str) -> Experiment {
    let link = |from: &str, to: &str, name: &str, said: &str| {
        format!("[[path.link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{said}\n")
    };
    let links = [
        link("a", "r", "left", "rate = \"1 Gbit/s\""),
        link("r", "s", "short", "rate = \"10 Mbit/s\"\ndelay = \"5 ms\""),
        link("r", "s", "long", "rate = \"10 Mbit/s\"\ndelay = \"40 ms\""),
        link("s", "b", "right", &format!("rate = \"9 Mbit/s\"\nqueue = {{ {queue} }}")),
    ];
    let text = format!(
        "[path]\nhosts = [\"a\", \"b\"]\nrouters = [\"r\", \"s\"]\n{}{moves}[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n\
         [measure]\nduration = \"6 s\"\ninterval = \"100 ms\"\n",
        links.concat()
    );
    Document::parse(&text, "moves.toml").and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{e}")).experiment
}

const THERE: &str = "[[path.move]]\nat = \"2 s\"\nlink = \"short\"\nby = \"long\"\n";
const BACK: &str = "[[path.move]]\nat = \"4 s\"\nlink = \"short\"\nby = \"short\"\n";
const ROOMY: &str = "kind = \"droptail\", limit = \"1 MiB\"";

/// Returns the packets that the two links have sent, in each direction.
fn sent(trace: &Trace) -> [u64; 4] {
    ["short>", "short<", "long>", "long<"].map(|name| trace.links.iter().find(|link| link.name == name).unwrap().packets_transmitted)
}

/// A ping each 10 ms: those that come to the router from 2 s to 4 s go by the long link, and so do their answers, by when they come to theirs.
#[test]
fn packets_go_by_when_they_come_to_the_router() {
    let ping = "traffic = { kind = \"ping\", interval = \"10 ms\", size = \"100 bytes\" }";
    let trace = run(&experiment(&format!("{THERE}{BACK}"), ping, ROOMY)).unwrap();
    let [short, answers, long, long_answers] = sent(&trace);
    assert_eq!((long, short), (200, 400), "200 pings of 600");
    // Pings of the last 40 ms on the long link come to the other router from 4 s on, and are answered over the short one.
    assert_eq!((answers, long_answers), (404, 196));
    let (min, max) = (trace.flows[0].rtt.min_s, trace.flows[0].rtt.max_s);
    assert!((0.010..0.011).contains(&min) && (0.080..0.081).contains(&max), "{min} {max}");
}

/// Nothing is lost or made by a move, and TCP goes on: towards a shorter link packets overtake those before, and what came out of order is
/// told from a loss or repaired.
#[test]
fn tcp_goes_on_over_either_link() {
    for queue in [ROOMY, "kind = \"fq_codel\""] {
        let steady = run(&experiment("", "stack = \"linux\"", queue)).unwrap();
        let moved = run(&experiment(&format!("{THERE}{BACK}"), "stack = \"linux\"", queue)).unwrap();
        assert!(sent(&moved)[2] > 300 && sent(&steady)[2] == 0, "{:?} {:?}", sent(&moved), sent(&steady));
        let (steady, moved) = (&steady.flows[0], &moved.flows[0]);
        assert!(moved.total.delivered > steady.total.delivered / 2, "{} {}", moved.total.delivered, steady.total.delivered);
        assert!(moved.rtt.max_s > steady.rtt.min_s + 0.07);
    }
}

/// A move to the link that is taken already is none.
#[test]
fn a_move_to_itself_changes_nothing() {
    let plain = run(&experiment("", "stack = \"linux\"", ROOMY)).unwrap();
    let moved = run(&experiment(BACK, "stack = \"linux\"", ROOMY)).unwrap();
    let told = |trace: Trace| format!("{:?}", Trace { steps: 0, packets_in_network_max: 0, ..trace });
    assert_eq!(told(plain), told(moved));
}
