//! Ports that share a memory: what each holds in the end.

use longfat_experiment::Document;

use crate::run;

/// Five ports of 100 Mb/s, 120 kB, and as many of the two receivers as are asked for with twice what their links carry; the most that each of
/// the two ports held.
fn held(sharing: &str, receivers: u32) -> [u64; 2] {
    let flow = |to: u32| {
        format!(
            "[[flow]]\nname = \"to{to}\"\nfrom = \"left{to}\"\nto = \"right{to}\"\ntraffic = {{ kind = \"udp\", rate = \"200 Mbit/s\", size = \"1500 bytes\" }}\n"
        )
    };
    let flows: String = (1..=receivers).map(flow).collect();
    let text = format!(
        "[path]\npreset = \"star\"\nsenders = 3\nreceivers = 2\nbottleneck = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
         edge = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [[router]]\nname = \"switch\"\nshared_buffer = \"120 kB\"\nsharing = {sharing}\n{flows}[measure]\nduration = \"2 s\"\n"
    );
    let experiment =
        Document::parse(&text, "shared.toml").and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{e}")).experiment;
    let trace = run(&experiment).unwrap();
    ["switch-right1>", "switch-right2>"].map(|name| trace.links.iter().find(|link| link.name == name).unwrap().queue_max_bytes)
}

/// Choudhury and Hahne 1998, equation 3, to the packet: alpha B / (1 + n alpha). What UDP sends never lets up, so a queue stays where the rule
/// puts it.
#[test]
fn overloaded_ports_come_to_their_thresholds() {
    let dynamic = |alpha: f64| format!("{{ kind = \"dynamic\", alpha = {alpha} }}");
    for alpha in [0.5, 1.0, 2.0] {
        let alone = alpha * 120_000.0 / (1.0 + alpha);
        let [one, none] = held(&dynamic(alpha), 1);
        assert!((alone..alone + 1500.0).contains(&(one as f64)) && none == 0, "{alpha}: {one} {none}, not {alone}");
        let each = alpha * 120_000.0 / (1.0 + 2.0 * alpha);
        let both = held(&dynamic(alpha), 2);
        assert!(both.iter().all(|held| (each..each + 1500.0).contains(&(*held as f64))), "{alpha}: {both:?}, not {each}");
    }
    assert_eq!(held("\"static\"", 1), [24_000, 0], "a fifth each");
    assert_eq!(held("\"static\"", 2), [24_000, 24_000]);
    assert_eq!(held("\"complete\"", 1), [120_000, 0]);
    let [one, other] = held("\"complete\"", 2);
    assert!(one.min(other) > 1500 && one.max(other) < 120_000, "{one} {other}: who had what is chance");
}
