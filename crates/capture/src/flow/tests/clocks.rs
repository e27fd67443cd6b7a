//! Clocks that step, and clocks that run backwards.

use super::*;

/// 100 Mb/s of segments that are acknowledged 0.5 ms later, as a clock of `step` ns sees them.
fn stepped(step: i64) -> Value {
    let mut transfer = Transfer::new();
    for k in 0..1000_u32 {
        let sent = 30 * MS + 80_000 * i64::from(k);
        transfer = transfer.data(0, 1000 * k).ack(0, 1000 * (k + 1), &[]);
        let [.., data, ack] = &mut transfer.packets[..] else { unreachable!() };
        (data.time, ack.time) = (sent, sent + 500_000);
    }
    (transfer.packets[1].time, transfer.packets[2].time) = (500_000, 501_000);
    transfer.packets.sort_by_key(|packet| packet.time);
    transfer.packets.iter_mut().for_each(|packet| packet.time = packet.time / step * step);
    transfer.report()
}

#[test]
fn a_clock_that_steps_gives_no_number_finer_than_its_steps() {
    let (fine, coarse) = (stepped(1000), stepped(10 * MS));
    assert!((fine["bottleneck"]["rate_bps"].as_f64().unwrap() / fine["data"]["goodput_bps"].as_f64().unwrap() - 1.0).abs() < 0.1);
    assert_eq!(fine["rtt"]["min_s"], 0.000_501);
    for nothing in ["bottleneck", "rtt", "rtt_near", "rtt_far"] {
        assert_eq!(coarse[nothing], Value::Null, "{nothing}");
    }
    assert!(coarse["data"]["goodput_bps"].as_f64().is_some());
    assert_eq!(coarse["verdict"]["cause"], "cannot tell", "{}", coarse["verdict"]);
}

/// Neither handshake nor timestamps say that the receiver captured it: its ACKs go in bursts of ten.
#[test]
fn bursts_of_acknowledgments_are_no_bottleneck() {
    let mut transfer = Transfer::new();
    for k in 0..1000_u32 {
        let (came, at) = (30 * MS + 80_000 * i64::from(k), 1000 * k);
        transfer = transfer.data(0, at);
        transfer.packets.last_mut().unwrap().time = came;
        if k % 10 == 9 {
            for one in 0..10 {
                transfer = transfer.ack(0, at - 1000 * (9 - one) + 1000, &[]);
                transfer.packets.last_mut().unwrap().time = came + i64::from(one) * 10_000;
            }
        }
    }
    transfer.packets.drain(..3);
    transfer.packets.sort_by_key(|packet| packet.time);
    let found = transfer.report();
    let rate = found["bottleneck"]["rate_bps"].as_f64().unwrap();
    assert!((90e6..110e6).contains(&rate) && rate >= found["data"]["goodput_bps"].as_f64().unwrap(), "{}", found["bottleneck"]);
}

/// The byte of a window probe is sent once more when the window opens, as the first of more.
#[test]
fn a_probed_byte_that_the_window_lets_go_is_no_retransmission() {
    for is_taken in [false, true] {
        let mut transfer = Transfer::new();
        for k in 0..60 {
            transfer = transfer.data(20 + 20 * k, 1000 * k as u32).ack(40 + 20 * k, 1000 * (k as u32 + 1), &[]);
        }
        transfer.packets.last_mut().unwrap().window = 0;
        let probe = |mut transfer: Transfer, ms, window, taken| {
            transfer = transfer.data(ms, 60_000).ack(ms + 20, 60_000 + taken, &[]);
            let [.., data, ack] = &mut transfer.packets[..] else { unreachable!() };
            (data.len, ack.window) = (1, window);
            transfer
        };
        let taken = u32::from(is_taken);
        transfer = probe(transfer, 1500, 0, 0);
        transfer = probe(transfer, 1900, 10_000, taken);
        let next = if is_taken { 60_001 } else { 60_000 };
        transfer = transfer.data(1920, next);
        transfer.packets.last_mut().unwrap().len = if is_taken { 1000 } else { 1 };
        let end = next + transfer.packets.last().unwrap().len;
        transfer = transfer.data(1921, end).ack(1941, end + 1000, &[]);
        let data = transfer.report()["data"].clone();
        assert_eq!((&data["window_probes"], &data["retransmitted"]["segments"]), (&2.into(), &0.into()), "{data}");
        assert_eq!((&data["never_captured_bytes"], &data["bytes_acked"]), (&0.into(), &(end + 1000).into()), "{data}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    /// Whatever the clock does, a time that is given is not negative, and a rate is one that a path may have.
    #[test]
    fn any_clock_gives_times_and_rates_or_none(times in prop::collection::vec(prop_oneof![any::<i64>(), 0..2000 * MS], 80)) {
        let mut transfer = Transfer::new();
        for k in 0..40 {
            transfer = transfer.data(20 + 20 * k, 1000 * k as u32).ack(40 + 20 * k, 1000 * (k as u32 + 1), &[]);
        }
        transfer.packets.iter_mut().skip(3).zip(times).for_each(|(packet, time)| packet.time = time);
        let found = transfer.report();
        for trip in ["rtt", "rtt_near", "rtt_far"] {
            let given = ["min_s", "mean_s", "max_s"].map(|name| found[trip][name].as_f64().unwrap_or(0.0));
            prop_assert!(given.iter().all(|time| (0.0..2e7).contains(time)), "{}", found[trip]);
        }
        prop_assert!(found["data"]["goodput_bps"].as_f64().is_none_or(|rate| (0.0..1e12).contains(&rate)), "{}", found["data"]);
    }
}

/// An application that writes a burst of ten segments each 100 ms: what trains show is how fast it sent, and no more.
#[test]
fn who_never_fills_the_path_shows_a_lower_bound() {
    let mut transfer = Transfer::new();
    for write in 0..60_i64 {
        let (now, at) = (30 + 100 * write, 10_000 * write as u32);
        for k in 0..10 {
            transfer = transfer.data(now + i64::from(k), at + 1000 * k).ack(now + 20 + i64::from(k), at + 1000 * (k + 1), &[]);
        }
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    let found = transfer.report();
    assert_eq!(found["verdict"]["cause"], "application", "{}", found["verdict"]);
    let bound = &found["bottleneck"];
    assert_eq!((&bound["is_lower_bound"], &bound["rate_high_bps"]), (&true.into(), &Value::Null), "{bound}");
}
