//! Plain segments: [`Connection::plain`] does with them what `handle_segment` and `poll_transmit` do.

use proptest::prelude::*;

use super::*;

/// Delays of the copies of a segment that arrive, in 0.1 ms more than usual: none of them is a loss.
fn fate() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        60 => Just(vec![0]),
        20 => (0u64..20).prop_map(|late| vec![late]),
        2 => Just(vec![]),
        1 => Just(vec![0, 40]),
        1 => (100u64..900).prop_map(|late| vec![late]),
    ]
}

fn any_config() -> impl Strategy<Value = TcpConfig> {
    let stack = prop::sample::select(vec!["rfc", "rfc", "bsd-reno-1994", "reno-2001", "linux"]);
    let recovery =
        prop::sample::select(vec![RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack]);
    let control = prop::sample::select(congestion::NAMES);
    let validation =
        prop::sample::select(vec![CwndValidation::Off, CwndValidation::Rfc5681, CwndValidation::Rfc2861, CwndValidation::Rfc7661]);
    let delayed_ack = prop::sample::select(vec![DelayedAck::Off, DelayedAck::Timer, DelayedAck::Heartbeat, DelayedAck::Adaptive]);
    let pacing = prop_oneof![4 => Just(Pacing::Auto), 1 => Just(Pacing::Off), 1 => Just(Pacing::On)];
    let sizing = prop_oneof![2 => Just("static"), 3 => prop::sample::select(window_sizing::NAMES)];
    let buffer = || prop_oneof![3 => Just(1u64 << 24), 1 => 10_000u64..100_000];
    let ecn = prop_oneof![7 => Just(crate::ecn::EcnKind::Off), 1 => Just(crate::ecn::EcnKind::Classic)];
    ((stack, recovery, control, validation, delayed_ack, pacing), (buffer(), buffer(), sizing, ecn), (any::<[bool; 6]>(), 1u32..4))
        .prop_map(|((stack, recovery, control, validation, delayed_ack, pacing), (send, receive, sizing, ecn), (flags, ack_every))| {
            TcpConfig {
                window_sizing: window_sizing::choice(sizing),
                congestion_control: congestion::choice(control),
                recovery,
                timestamps: flags[0] | flags[5],
                send_buffer: send,
                receive_buffer: receive,
                ecn,
                delayed_ack,
                ack_every,
                ..config(stack)
            }
            .with(|tcp| {
                tcp.sending.nagle = flags[1];
                tcp.sending.cwnd_validation = validation;
                tcp.sending.pacing = pacing;
                tcp.sending.count_segments = flags[2];
                tcp.repair.frto = flags[3];
                tcp.repair.undo = flags[4];
            })
        })
}

/// One of two pairs that live through the same history.
fn pair<'a>(config: &TcpConfig, fates: &'a [Vec<u64>], plain: bool) -> Pair<'a> {
    let mut pair = Pair::new(config.clone(), config.clone(), ms(5)).network(|n, _, _, _| {
        let fate = fates.get(n as usize);
        fate.map_or_else(|| vec![Duration::ZERO], |fate| fate.iter().map(|late| Duration::from_micros(100 * late)).collect())
    });
    pair.plain = plain.then_some(0);
    pair
}

proptest! {
    #[test]
    fn they_are_handled_as_any_others(
        config in any_config(),
        fates in prop::collection::vec(fate(), 0..500),
        writes in prop::collection::vec((0u64..400_000, 0usize..60), 1..6),
    ) {
        let mut both = [pair(&config, &fates, true), pair(&config, &fates, false)];
        for (bytes, steps) in writes {
            both.iter_mut().for_each(|pair| pair.client.write(bytes));
            for _ in 0..steps {
                let went_on = both.each_mut().map(|pair| pair.step(pair.now + ms(500)));
                prop_assert_eq!(went_on[0], went_on[1]);
                let [plain, slow] = both.each_ref();
                prop_assert_eq!(plain.now, slow.now);
                prop_assert_eq!(&plain.log[..], &slow.log[..]);
                prop_assert_eq!(format!("{:?}", plain.client), format!("{:?}", slow.client));
                prop_assert_eq!(format!("{:?}", plain.server), format!("{:?}", slow.server));
            }
        }
        both.iter_mut().for_each(|pair| pair.run_until(pair.now + Duration::from_secs(20)));
        prop_assert_eq!(&both[0].log[..], &both[1].log[..]);
        prop_assert_eq!(format!("{:?}", both[0].client), format!("{:?}", both[1].client));
        prop_assert_eq!(format!("{:?}", both[0].server), format!("{:?}", both[1].server));
    }
}

/// Nearly every segment of a transfer without losses is plain, under every control that has no rate measured and paces nothing, and every
/// window sizing.
#[test]
fn most_segments_are_plain() {
    let sizings = window_sizing::NAMES.iter().map(|sizing| (&"reno", sizing));
    // Each segment of XCP has a header of its own, which takes the long way.
    let controls = congestion::NAMES.iter().filter(|control| **control != "xcp");
    for (control, sizing) in controls.map(|control| (control, &"static")).chain(sizings) {
        let (congestion_control, window_sizing) = (congestion::choice(control), window_sizing::choice(sizing));
        let config = TcpConfig { congestion_control, window_sizing, ..config("rfc") };
        let mut pair = pair(&config, &[], true);
        pair.client.write(2_000_000);
        pair.run_until(at_ms(3_000));
        let (sent, plain) = (pair.log.len() as f64, pair.plain.unwrap() as f64);
        let sends_plainly = !["bbr", "bbr3", "copa", "vivace"].contains(control);
        assert!(plain > if sends_plainly { 0.9 } else { 0.5 } * sent, "{control}, {sizing}: {plain} of {sent}");
    }
}
