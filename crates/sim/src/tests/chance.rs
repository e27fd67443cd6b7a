//! Tests that the seed decides nothing in an experiment without randomness.

use crate::conformance::golden::experiments;
use longfat_experiment::Document;
use longfat_model::chance;
use longfat_record::trace::Trace;

#[test]
fn two_seeds_give_one_result_where_nothing_is_random() {
    let (mut same, mut random) = (0, 0);
    for (name, text) in experiments() {
        // Randomness that most experiments have beside the feature each is about.
        let losses = text.replace("kind = \"bernoulli\", probability = 0.003", "kind = \"periodic\", period = \"300 packets\"");
        let text = losses.replace("traffic = { kind = \"web\", size = \"30 kB\", think = \"300 ms\" }", "traffic = \"bulk\"");
        let run = |seed: u64| Document::parse(&format!("seed = {seed}\n{text}"), &name).unwrap().run(0).unwrap().experiment;
        if chance::has_any(&run(1)) {
            random += 1;
            continue;
        }
        same += 1;
        let [one, other] = [1, 2].map(|seed| crate::run(&run(seed)).unwrap());
        // Round trips measured on retransmitted data depend on the ticks of a clock, and these have a phase of their own.
        let got = |trace: &Trace| trace.flows.iter().map(|flow| (flow.total.delivered, flow.total.packets_dropped)).collect::<Vec<_>>();
        assert_eq!(got(&one), got(&other), "{name} hangs on the seed");
    }
    assert!(same > 50 && random > 10, "{same} {random}");
}
