//! An end that has nothing to send has no sender: nobody can tell.

use super::*;
use crate::ecn::EcnKind;

/// Returns what is sent, and what the server tells of itself, when it first writes after a second; with a sender from the start on, or
/// not. `lost`: so many of its SYN-ACKs are. Each seventh ECN-capable packet is marked.
fn life(client: &TcpConfig, server: &TcpConfig, from_the_start: bool, lost: u32) -> (Vec<(Time, bool, Segment)>, Vec<TcpInfo>) {
    let mut left = lost;
    let network = move |n: u64, client: bool, segment: &mut Segment, ecn: &mut Ecn| {
        if *ecn != Ecn::NotEct && n.is_multiple_of(7) {
            *ecn = Ecn::Ce;
        }
        let hit = !client && segment.has(flags::SYN) && left > 0;
        left -= u32::from(hit);
        if hit { vec![] } else { vec![Duration::ZERO] }
    };
    let mut pair = Pair::new(client.clone(), server.clone(), ms(20)).network(network);
    if from_the_start {
        // Nagle's setting stays the same. The call makes the sender.
        pair.server.set_nagle(server.sending.nagle);
    }
    let mut told = Vec::new();
    pair.client.write(60_000);
    for (until, bytes) in [(10_000, 40_000), (10_500, 200_000), (20_000, 0)] {
        pair.run_until(at_ms(until));
        told.push(pair.server.info());
        assert_eq!(pair.server.memory(), pair.server.info().memory);
        pair.server.write(bytes);
    }
    pair.server.close();
    pair.client.close();
    pair.run_until(at_ms(40_000));
    assert!(pair.server.all_acked() && pair.client.end_of_stream() && pair.client.bytes_delivered() == 240_000);
    (pair.log, told)
}

#[test]
fn a_sender_that_is_made_late_is_as_one_that_was_there() {
    let with = |stack: &str, control: &str, sizing: &str| TcpConfig {
        congestion_control: congestion::choice(control),
        window_sizing: window_sizing::choice(sizing),
        ..config(stack)
    };
    let controls = congestion::REGISTRY.iter().map(|kind| with("rfc", kind.name, "static"));
    let sizings = window_sizing::REGISTRY.iter().map(|kind| with("rfc", "reno", kind.name));
    let stacks = stack::REGISTRY.iter().map(|stack| config(stack.name));
    let ecn = [EcnKind::Classic, EcnKind::Dctcp, EcnKind::AccEcn]
        .into_iter()
        .flat_map(|ecn| ["reno", "dctcp", "prague", "bbr3"].map(|control| TcpConfig { ecn, ..with("rfc", control, "static") }));
    for server in controls.chain(sizings).chain(stacks).chain(ecn) {
        // The other side's segments are smaller, so that the server has to agree to that.
        let client = TcpConfig { mss: 1000, ..server.clone() };
        for lost in [0, 1] {
            let (late, early) = (life(&client, &server, false, lost), life(&client, &server, true, lost));
            assert!(late == early, "{} {} {:?} {lost}", server.congestion_control.kind, server.window_sizing.kind, server.ecn);
        }
    }
}
