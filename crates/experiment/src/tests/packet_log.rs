//! The log of packets that a file asks for.

use crate::Document;
use longfat_core::time::Time;
use longfat_record::trace::{PacketEvent, PacketLog, PacketPlace};

#[test]
fn rows_of_several_pieces_come_in_order_and_a_link_keeps_its_own() {
    let text = "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = { rate = \"1 Mbit/s\" }\n[[flow]]\n[measure]\nduration = \"1 s\"\npackets = \"left1\"\n";
    let experiment = Document::parse(text, "test.toml").unwrap().run(0).unwrap().experiment;
    let mut log = PacketLog::new(&experiment).unwrap();
    assert!(log.watches(0, false, PacketPlace::Sender) && log.watches(0, true, PacketPlace::Receiver));
    assert!(!log.watches(0, true, PacketPlace::Sender) && !log.watches(0, false, PacketPlace::Receiver));
    // More than the log has in one piece of memory.
    let many = (1 << 14) + 10;
    for n in 0..many {
        log.push(PacketEvent { time: Time::from_ps(many - n / 2), link: Some(0), seq: n, ..PacketEvent::default() });
    }
    let rows = log.into_rows();
    let is_sorted = |pair: &[PacketEvent]| pair[0].time < pair[1].time || pair[0].seq + 1 == pair[1].seq;
    assert!(rows.len() as u64 == many && rows.windows(2).all(is_sorted), "two of one instant stay as they came");
}
