use super::*;
use crate::packet::{Ecn, Segment};
use crate::time::Duration;

fn packet() -> Packet {
    packet_of(1000)
}

fn packet_of(payload: u16) -> Packet {
    Packet::new(Time::ZERO, 0, Ecn::NotEct, &Segment::new(0, 0, payload))
}

fn build(name: &str, given: &[(&'static str, f64)], seed: u64) -> Option<Box<dyn Loss + Send>> {
    let kind = find(name).unwrap();
    let mut params = Params::defaults(kind.params);
    for &(name, x) in given {
        let spec = kind.params.iter().find(|spec| spec.name == name).unwrap();
        params.set(name, if matches!(spec.kind, Kind::Count { .. }) { Value::Count(x as u64) } else { Value::Number(x) });
    }
    (kind.check)(&params).unwrap();
    (kind.build)(&params, Rng::named(seed, "line"))
}

fn fates(name: &str, given: &[(&'static str, f64)], n: usize) -> Vec<Fate> {
    let mut loss = build(name, given, 1).unwrap();
    (0..n).map(|i| loss.on_packet(Time::from_ps(i as u64), &packet())).collect()
}

fn part(fates: &[Fate], fate: Fate) -> f64 {
    fates.iter().filter(|f| **f == fate).count() as f64 / fates.len() as f64
}

/// Returns the lengths of the runs of lost packets.
fn bursts(fates: &[Fate]) -> Vec<usize> {
    fates.split(|f| *f != Fate::Lose).map(<[Fate]>::len).filter(|n| *n > 0).collect()
}

#[test]
fn every_model_is_deterministic_and_checks_its_defaults() {
    for kind in REGISTRY {
        let mut params = Params::defaults(kind.params);
        for spec in kind.params.iter().filter(|s| s.default.is_none()) {
            // With three wrong bits in ten no packet would ever arrive.
            let probability = if kind.name == "bit_errors" { 1e-4 } else { 0.3 };
            let value = match spec.kind {
                Kind::Count { .. } => Value::Count(3),
                Kind::Duration { .. } => Value::Duration(Duration::from_millis(3)),
                _ => Value::Number(probability),
            };
            params.set(spec.name, value);
        }
        assert_eq!((kind.check)(&params), Ok(()), "{}", kind.name);
        let run = |seed| -> Vec<Fate> {
            match (kind.build)(&params, Rng::named(seed, "line")) {
                Some(mut loss) => (0..1000).map(|i| loss.on_packet(Time::ZERO + Duration::from_millis(i), &packet())).collect(),
                None => vec![],
            }
        };
        assert_eq!(run(1), run(1), "{}", kind.name);
        if !["none", "periodic"].contains(&kind.name) {
            assert_ne!(run(1), run(2), "{}", kind.name);
        }
    }
    assert!(build("none", &[], 1).is_none(), "a perfect line costs nothing");
}

#[test]
fn bernoulli_loses_and_damages_the_given_part() {
    let seen = fates("bernoulli", &[("probability", 0.02), ("corruption", 0.01)], 400_000);
    // Standard deviations: 0.00022 and 0.00016.
    assert!((part(&seen, Fate::Lose) - 0.02).abs() < 0.0009);
    assert!((part(&seen, Fate::Corrupt) - 0.98 * 0.01).abs() < 0.0007);
    // Independence: after a loss, the next is lost as often as any.
    let pairs: Vec<Fate> = seen.windows(2).filter(|w| w[0] == Fate::Lose).map(|w| w[1]).collect();
    assert!((part(&pairs, Fate::Lose) - 0.02).abs() < 0.0065);
}

#[test]
fn the_bounds_of_a_probability_are_exact() {
    assert_eq!(part(&fates("bernoulli", &[("probability", 0.0)], 10_000), Fate::Deliver), 1.0);
    assert_eq!(part(&fates("bernoulli", &[("probability", 1.0)], 10_000), Fate::Lose), 1.0);
    assert_eq!(part(&fates("gilbert_elliott", &[("p", 0.0), ("r", 0.0)], 10_000), Fate::Deliver), 1.0);
    assert_eq!(part(&fates("bernoulli", &[("probability", 0.0), ("corruption", 1.0)], 10_000), Fate::Corrupt), 1.0);
}

#[test]
fn gilbert_elliott_has_the_stationary_loss_and_the_mean_burst() {
    let seen = fates("gilbert_elliott", &[("p", 0.002), ("r", 0.25)], 1_000_000);
    // Bad p / (p + r) of the time, in bursts of mean 1 / r.
    assert!((part(&seen, Fate::Lose) - 0.002 / 0.252).abs() < 0.0008);
    let bursts = bursts(&seen);
    let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
    assert!((mean - 4.0).abs() < 0.35, "{mean}");
}

#[test]
fn gilbert_elliott_starts_bad_as_often_as_it_is_bad() {
    let lost = |seed| build("gilbert_elliott", &[("p", 0.1), ("r", 0.4)], seed).unwrap().on_packet(Time::ZERO, &packet()) == Fate::Lose;
    // p / (p + r) = 0.2; the standard deviation over 20000 seeds is 0.0028.
    let part = (0..20_000).filter(|&seed| lost(seed)).count() as f64 / 20_000.0;
    assert!((part - 0.2).abs() < 0.012, "{part}");
}

#[test]
fn gilbert_elliott_loses_in_both_states_by_their_own_probability() {
    let seen = fates("gilbert_elliott", &[("p", 0.01), ("r", 0.04), ("loss_good", 0.001), ("loss_bad", 0.5)], 1_000_000);
    assert!((part(&seen, Fate::Lose) - (0.8 * 0.001 + 0.2 * 0.5)).abs() < 0.004);
}

#[test]
fn periodic_loses_every_nth_packet_of_data() {
    let lost = |given: &[(&'static str, f64)]| -> Vec<usize> {
        fates("periodic", given, 20).iter().enumerate().filter(|(_, f)| **f == Fate::Lose).map(|(i, _)| i + 1).collect()
    };
    assert_eq!(lost(&[("period", 7.0)]), [7, 14]);
    assert_eq!(lost(&[("period", 7.0), ("offset", 2.0)]), [2, 9, 16]);
    assert_eq!(lost(&[("period", 10.0), ("offset", 15.0)]), [15]);
    assert_eq!(lost(&[("period", 1.0)]).len(), 20);

    // Packets without data (a SYN, an ACK) are neither lost nor counted.
    let mut loss = build("periodic", &[("period", 2.0)], 1).unwrap();
    let fates: Vec<Fate> = [0, 1000, 0, 0, 1000, 0, 1].iter().map(|&n| loss.on_packet(Time::ZERO, &packet_of(n))).collect();
    assert_eq!(fates.iter().position(|f| *f == Fate::Lose), Some(4));
    assert_eq!(part(&fates, Fate::Lose), 1.0 / 7.0);
}

#[test]
fn a_line_that_can_only_turn_bad_is_refused() {
    let kind = find("gilbert_elliott").unwrap();
    let mut params = Params::defaults(kind.params);
    params.set("p", Value::Number(0.1));
    params.set("r", Value::Number(0.0));
    assert_eq!((kind.check)(&params), Err("r must be over 0 when p is: the line would turn bad and stay so".into()));
}

#[test]
fn bit_errors_go_by_the_length_of_a_packet() {
    let mut loss = build("bit_errors", &[("rate", 2e-5)], 1).unwrap();
    for (payload, expected) in [(1460, 0.2134), (0, 0.0064)] {
        let lost = (0..100_000).filter(|_| loss.on_packet(Time::ZERO, &packet_of(payload)) == Fate::Lose).count() as f64 / 100_000.0;
        // 1 - (1 - 2 x 10^-5)^12000 and ^320. Five standard deviations of the first: 0.0065.
        assert!((lost - expected).abs() < 0.0065 * (expected / 0.2134_f64).sqrt() + 1e-4, "{payload}: {lost}");
    }
}

/// Bad for 16.7 ms of 640: 2.6 % of the time, whatever is sent.
#[test]
fn losses_in_time_do_not_hang_on_the_packets() {
    let kind = find("gilbert_elliott_time").unwrap();
    let (good, bad) = (Duration::from_micros(623_300), Duration::from_micros(16_700));
    for lengths in ["exponential", "fixed"] {
        let mut params = Params::defaults(kind.params);
        params.set("good_for", Value::Duration(good));
        params.set("bad_for", Value::Duration(bad));
        params.set("lengths", Value::Choice(lengths));
        // For 3200 s, a packet every so many ms: which instants are bad.
        let lost = |every: u64| -> Vec<u64> {
            let mut loss = (kind.build)(&params, Rng::named(3, "line")).unwrap();
            let times = (0..3_200_000).step_by(every as usize);
            times.filter(|ms| loss.on_packet(Time::ZERO + Duration::from_millis(*ms), &packet()) == Fate::Lose).collect()
        };
        let (all, some) = (lost(1), lost(5));
        assert_eq!(some, all.iter().copied().filter(|ms| ms % 5 == 0).collect::<Vec<_>>(), "{lengths}");
        let share = all.len() as f64 / 3_200_000.0;
        // 5000 bursts: 1.4 % is one standard deviation of their sum where lengths are exponential, and that of the gaps adds as much.
        // With fixed ones each burst meets 16 or 17 whole milliseconds, always as many.
        assert!((share / 0.0261 - 1.0).abs() < if lengths == "fixed" { 0.05 } else { 0.08 }, "{lengths}: {share}");
        let bursts = 1 + all.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        assert!((4_600..=5_300).contains(&bursts), "{lengths}: {bursts}");
        if lengths == "fixed" {
            assert!((4_999..=5_001).contains(&bursts), "{bursts}");
        }
    }
}
