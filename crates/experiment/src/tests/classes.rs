//! Queues in queues and codepoints: valid and invalid ones in a file.

use super::super::{Document, Run};
use longfat_core::packet::Dscp;
use longfat_core::params::Choice;
use longfat_core::units::Capacity;

fn text(queue: &str, flow: &str) -> String {
    format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"80 ms\"\nedge = {{ rate = \"1 Gbit/s\" }}\n\
         bottleneck = {{ rate = \"100 Mbit/s\", queue = {queue} }}\n\
         [[flow]]\nname = \"a\"\n{flow}\n[measure]\nduration = \"1 s\"\n"
    )
}

fn run(queue: &str, flow: &str) -> Result<Run, String> {
    Document::parse(&text(queue, flow), "classes.toml").and_then(|document| document.run(0)).map_err(|error| error.to_string())
}

/// Returns the queue of the bottleneck. The run as it is written back reads as the same.
fn queue(queue: &str) -> Choice {
    let run = run(queue, "").unwrap_or_else(|error| panic!("{error}"));
    let again = Document::parse(&run.to_toml(), "again.toml").and_then(|d| d.run(0)).unwrap_or_else(|e| panic!("{e}\n{}", run.to_toml()));
    assert_eq!((&again.experiment, &again.hash), (&run.experiment, &run.hash), "{}", run.to_toml());
    run.experiment.network.links[0].queue.clone()
}

#[test]
fn a_queue_inside_is_at_the_rate_there() {
    let shaped = queue(r#"{ kind = "tbf", rate = "10 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } }"#);
    let inside = shaped.params.queue("queue").expect("it is given");
    // 10 Mb/s times 80 ms.
    assert_eq!(inside.params.capacity("limit"), Capacity::Bytes(100_000));
    let htb = queue(
        r#"{ kind = "htb", rate = "50 Mbit/s", class = [
            { dscp = "AF41 EF", rate = "5 Mbit/s", ceil = "20 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } },
            { rate = "45 Mbit/s", class = [{ rate = "45 Mbit/s", queue = { kind = "prio", class = [{ queue = "fq_codel" }] } }] },
        ] }"#,
    );
    let classes = htb.params.tables("class");
    let inside = classes[0].queue("queue").expect("it is given");
    assert_eq!(inside.params.capacity("limit"), Capacity::Bytes(200_000), "the ceil is what it may have");
    assert_eq!(classes[0].dscps("dscp").map(longfat_core::packet::Dscps::names), Some("AF41 EF".to_owned()));
    let prio = classes[1].tables("class")[0].queue("queue").expect("it is given");
    assert_eq!(prio.params.tables("class")[0].queue("queue").map(|choice| choice.kind), Some("fq_codel"));
}

#[test]
fn a_flow_has_its_codepoint_by_name_or_number() {
    let of = |flow: &str| run("\"droptail\"", flow).map(|run| run.experiment.flows[0].dscp.name());
    assert_eq!([of("dscp = \"ef\""), of("dscp = 46"), of(""), of("dscp = 5")], ["EF", "EF", "CS0", "5"].map(|name| Ok(name.to_owned())));
    let run = run("\"droptail\"", "dscp = \"AF41\"").unwrap();
    let again = Document::parse(&run.to_toml(), "again.toml").unwrap().run(0).unwrap();
    assert_eq!((again.experiment.flows[0].dscp, again.hash), (Dscp::parse("AF41").unwrap(), run.hash));
}

/// Resolves two pairs of hosts with the flows `flows`.
fn of_two_pairs(queue: &str, flows: &str) -> Result<Run, String> {
    let text = text(queue, "").replace("[path]\n", "[path]\npairs = 2\n").replace("[[flow]]\nname = \"a\"\n", flows);
    Document::parse(&text, "classes.toml").and_then(|document| document.run(0)).map_err(|error| error.to_string())
}

const TWO: &str =
    "[[flow]]\nname = \"uploads\"\nfrom = \"left1\"\nto = \"right1\"\n[[flow]]\nname = \"auto\"\nfrom = \"left2\"\nto = \"right2\"\n";

#[test]
fn classes_name_hosts_and_groups() {
    let queue = r#"{ kind = "prio", class = [
        { host = ["left1"], dscp = "EF" },
        { queue = { kind = "htb", class = [{ host = "left", group = "uploads", rate = "1 Mbit/s" }, { rate = "1 Mbit/s" }] } },
        { group = ["auto"] },
    ] }"#;
    let run = of_two_pairs(queue, TWO).unwrap_or_else(|error| panic!("{error}"));
    let again = Document::parse(&run.to_toml(), "again.toml").and_then(|d| d.run(0)).unwrap_or_else(|e| panic!("{e}\n{}", run.to_toml()));
    assert_eq!((&again.experiment, &again.hash), (&run.experiment, &run.hash), "{}", run.to_toml());
    let classes = run.experiment.network.links[0].queue.params.tables("class");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(classes[0].names("host"), Some(&names(&["left1"])[..]));
    assert_eq!(classes[2].names("group"), Some(&names(&["auto"])[..]), "a name in a list is one, whatever it is");
    let inside = &classes[1].queue("queue").unwrap().params.tables("class")[0];
    assert_eq!(inside.names("host"), Some(&names(&["left1", "left2"])[..]), "the name of a side stands for all its hosts");
    // The way back has the same queue, and the same hosts on its other side.
    assert_eq!(run.experiment.network.links[1].queue, run.experiment.network.links[0].queue);
}

/// A text that is of several links: each class must get packets at one of them.
#[test]
fn a_class_need_not_get_packets_at_each_link_of_its_text() {
    let of_edges = |class: &str| {
        let edge = format!("edge = {{ rate = \"1 Gbit/s\", queue = {{ kind = \"prio\", class = [{class}, {{}}] }} }}\n");
        let text = text("\"droptail\"", "").replace("[path]\n", "[path]\npairs = 2\n");
        let text = text.replace("edge = { rate = \"1 Gbit/s\" }\n", &edge).replace("[[flow]]\nname = \"a\"\n", TWO);
        Document::parse(&text, "classes.toml").and_then(|document| document.run(0)).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(of_edges("{ host = \"left1\" }, { host = \"right2\" }"), Ok(()));
    assert!(of_edges("{ host = \"left1\", group = [\"auto\"] }").is_err_and(|error| error.contains("never gets a packet")));
}

/// The messages a user reads, to be judged by eye.
#[test]
fn names_that_cannot_be_are_told_where_they_stand() {
    let queues = [
        r#"{ kind = "prio", class = [{ host = "left3" }, {}] }"#,
        r#"{ kind = "prio", class = [{ host = ["left1", "router1"] }, {}] }"#,
        r#"{ kind = "prio", class = [{ group = "upload" }, {}] }"#,
        r#"{ kind = "prio", class = [{ group = 1 }, {}] }"#,
        r#"{ kind = "prio", class = [{ group = [] }, {}] }"#,
        r#"{ kind = "prio", class = [{ host = ["left1", 2] }, {}] }"#,
        r#"{ kind = "prio", class = [{ from = "left1" }, {}] }"#,
        r#"{ kind = "prio", class = [{ host = "left1" }, { host = "left2" }] }"#,
        r#"{ kind = "prio", class = [{ host = "left1" }, { dscp = "EF", host = "left1" }, {}] }"#,
        r#"{ kind = "prio", class = [{ host = "left1" }, { group = "uploads" }, {}] }"#,
        r#"{ kind = "prio", class = [{ host = "left1", group = ["auto"] }, {}] }"#,
        r#"{ kind = "prio", class = [{ host = "left1", queue = { kind = "prio", class = [{ group = ["auto"] }, {}] } }, {}] }"#,
    ];
    let errors = queues.map(|queue| of_two_pairs(queue, TWO).unwrap_err());
    insta::assert_snapshot!(errors.join("\n\n"));
}

/// Flow control depends on the bytes held, whatever the queue.
#[test]
fn a_queue_with_classes_may_be_watched() {
    let pause = r#""prio", pause = { on = "100 kB" }"#;
    assert!(run(pause, "").is_ok_and(|run| run.experiment.network.links[0].pause.is_some()));
}

#[test]
fn a_value_deep_inside_can_be_swept() {
    let queue = r#"{ kind = "htb", class = [{ rate = { sweep = ["10 Mbit/s", "20 Mbit/s"], name = "share" }, queue = "codel" }] }"#;
    let document = Document::parse(&text(queue, ""), "classes.toml").unwrap();
    let rate = |i| document.run(i).unwrap().experiment.network.links[0].queue.params.tables("class")[0].rate("rate").as_bps();
    assert_eq!([rate(0), rate(1)], [10_000_000, 20_000_000]);
}

/// The messages a user reads, to be judged by eye.
#[test]
fn what_cannot_be_is_told_where_it_stands() {
    let queues = [
        r#"{ kind = "prio", class = [{ dscp = "AF44" }, {}] }"#,
        r#"{ kind = "prio", class = [{ dcsp = "EF" }, {}] }"#,
        r#"{ kind = "prio", class = ["EF"] }"#,
        r#"{ kind = "prio", class = [] }"#,
        r#"{ kind = "htb", class = [{ ceil = "1 Mbit/s" }] }"#,
        r#"{ kind = "tbf", queue = { kind = "codel", target = "1 s" } }"#,
        r#"{ kind = "htb", class = [{ rate = "90 Mbit/s", dscp = "EF" }, { rate = "20 Mbit/s" }] }"#,
    ];
    let errors = queues.map(|queue| run(queue, "").unwrap_err()).into_iter().chain([run("\"tbf\"", "dscp = 64").unwrap_err()]);
    insta::assert_snapshot!(errors.collect::<Vec<_>>().join("\n\n"));
}
