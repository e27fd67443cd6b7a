//! The cost of a run, from its file.

use crate::Document;
use longfat_core::time::Duration;
use longfat_model::cost::{estimate, expected_end};

/// The cost of flows with this traffic over 8 Mb/s for 10 s at most, and when they are expected to end.
fn of(traffic: &str, count: u32) -> (f64, Duration) {
    let text = format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate = \"8 Mbit/s\" }}\nedge = {{ rate = \"80 Mbit/s\" }}\n\
         [[flow]]\ntraffic = {traffic}\ncount = {count}\nmss = \"1000 bytes\"\n[measure]\nduration = \"10 s\"\n"
    );
    let run = Document::parse(&text, "cost.toml").and_then(|document| document.run(0)).unwrap_or_else(|error| panic!("{error}"));
    (estimate(&run.experiment), expected_end(&run.experiment))
}

#[test]
fn a_run_costs_its_packets_times_its_links() {
    // One sender and one receiver: three duplex links, which each packet and half an ACK cross, so 4.5 for a packet.
    for (traffic, count, packets, seconds) in [
        // Two volumes of 1 MB fill 8 Mb/s for two seconds.
        ("{ kind = \"ttcp\", volume = \"1 MB\" }", 2, 2000.0, 2),
        // Both flows together fill the link: 10 MB in 10 s.
        ("\"bulk\"", 2, 10_000.0, 10),
        ("{ kind = \"ping\", interval = \"10 ms\" }", 1, 1000.0, 10),
        ("{ kind = \"udp\", rate = \"1 Mbit/s\", size = \"1250 bytes\" }", 1, 1000.0, 10),
        // On for a third of the time.
        ("{ kind = \"udp\", rate = \"3 Mbit/s\", size = \"1250 bytes\", on = \"1 s\", off = \"2 s\" }", 1, 1000.0, 10),
        // 100 writes of 500 bytes per second; and the part of 80 Mb/s that a link of 8 Mb/s takes.
        ("{ kind = \"writes\", rate = \"400 kbit/s\", size = \"500 bytes\" }", 1, 1000.0, 10),
        ("{ kind = \"writes\", rate = \"80 Mbit/s\", size = \"2000 bytes\" }", 1, 10_000.0, 10),
        // At most a transfer each 100 ms.
        ("{ kind = \"web\", size = \"10 kB\", think = \"100 ms\" }", 1, 1000.0, 10),
    ] {
        let (cost, end) = of(traffic, count);
        assert!((cost / (packets * 1.5 * 3.0) - 1.0).abs() < 1e-9, "{traffic}: {cost}");
        assert_eq!(end, Duration::from_secs(seconds), "{traffic}");
    }
}
