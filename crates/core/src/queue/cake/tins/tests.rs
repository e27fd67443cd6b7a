use super::*;
use crate::queue::cake::tests::{Rig, limit_of_packets, rate, word};
use crate::time::Time;

fn tin(word: &str, dscp: &str) -> u8 {
    named(word).1[usize::from(Dscp::parse(dscp).unwrap().number())]
}

#[test]
fn every_codepoint_has_a_tin() {
    for (word, tins) in [("besteffort", 1), ("precedence", 8), ("diffserv3", 3), ("diffserv4", 4), ("diffserv8", 8)] {
        let (kinds, of) = named(word);
        assert_eq!((kinds.len(), usize::from(*of.iter().max().unwrap()) + 1), (tins, tins), "{word}");
        assert!((0..tins).all(|number| of.iter().any(|&tin| usize::from(tin) == number)), "{word}: a tin of nothing");
    }
    assert!(WORDS.iter().all(|word| tin(word, "CS0") == u8::from(word.starts_with("diffserv"))));
}

#[test]
fn codepoints_go_where_their_class_is() {
    // The first three bits.
    for (dscp, expected) in
        [("CS0", 0), ("LE", 0), ("CS1", 1), ("AF11", 1), ("AF23", 2), ("AF41", 4), ("VOICE-ADMIT", 5), ("EF", 5), ("CS7", 7)]
    {
        assert_eq!(tin("precedence", dscp), expected, "{dscp}");
    }
    // RFC 4594 figure 3, from low-priority data to network control.
    let classes: [&[&str]; 8] = [
        &["LE", "CS1"],
        &["CS0", "2", "63"],
        &["AF11", "AF12", "AF13"],
        &["AF21", "AF22", "AF23", "CS2", "4"],
        &["AF31", "AF32", "AF33", "CS3"],
        &["AF41", "AF42", "AF43"],
        &["EF", "VOICE-ADMIT", "CS5", "CS4"],
        &["CS6", "CS7"],
    ];
    for (expected, dscps) in (0..).zip(classes) {
        assert!(dscps.iter().all(|dscp| tin("diffserv8", dscp) == expected), "{dscps:?}");
    }
}

/// The tins of `diffserv4`, each split, have its thresholds.
#[test]
fn diffserv8_is_a_finer_diffserv4() {
    let ((coarse, of), (fine, split)) = (named("diffserv4"), named("diffserv8"));
    for dscp in 0..64 {
        let (coarse, fine) = (&coarse[usize::from(of[dscp])], &fine[usize::from(split[dscp])]);
        assert_eq!((coarse.threshold, coarse.weights), (fine.threshold, fine.weights), "{dscp}");
    }
    assert!((0..64).all(|dscp| (0..64).all(|other| of[dscp] >= of[other] || split[dscp] < split[other])), "in the same order");
    let kbps = |word| named(word).0.iter().map(|kind| kind.rate(Rate::from_bps(16_000_000)).as_bps() / 1000).collect::<Vec<_>>();
    assert_eq!(kbps("precedence"), [16_000, 8000, 8000, 8000, 4000, 4000, 4000, 4000]);
    assert_eq!(kbps("diffserv8"), [1000, 16_000, 16_000, 8000, 8000, 8000, 4000, 4000]);
}

/// Returns the shares, in percent, of tins that all want the whole link.
fn shares(mode: &'static str, dscps: &[&str]) -> Vec<f64> {
    let mut rig = Rig::new(100_000_000, &[word("diffserv", mode), rate(100_000_000), limit_of_packets(1_000_000)]);
    for (flow, dscp) in (0..).zip(dscps) {
        rig.arrive(Time::ZERO, (flow, dscp), 0..8000, 1500);
    }
    rig.shares(dscps.len() as u32, 8000).iter().map(|&share| f64::from(share) / 80.0).collect()
}

#[test]
fn eight_tins_share_by_weight_and_threshold() {
    let cases: [(&str, &[&str], Vec<f64>); 6] = [
        // Each tin beside best effort has its threshold.
        ("precedence", &["CS0", "CS1"], vec![50.0, 50.0]),
        ("precedence", &["CS0", "CS7"], vec![75.0, 25.0]),
        // Two tins without best effort exceed their thresholds, and have turns of these.
        ("precedence", &["CS7", "CS3"], vec![100.0 / 3.0, 200.0 / 3.0]),
        ("diffserv8", &["CS0", "AF11"], vec![50.0, 50.0]),
        // Bulk has a sixteenth of best effort's share, and best effort has all that the other tin leaves.
        ("diffserv8", &["CS1", "CS0", "EF"], vec![75.0 / 17.0, 75.0 * 16.0 / 17.0, 25.0]),
        ("diffserv8", &["CS0", "EF", "CS6"], vec![50.0, 25.0, 25.0]),
    ];
    for (mode, dscps, expected) in cases {
        let got = shares(mode, dscps);
        assert!(
            got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 0.2),
            "{mode}, {dscps:?}: {got:?}, not {expected:?}"
        );
    }
}

/// All eight tins want everything, which is more than their thresholds allow: a higher tin gets no less, and the lowest gets at least its
/// part of the weights, 1 of 23.
#[test]
fn nobody_starves_under_eight_tins() {
    let got = shares("precedence", &["CS0", "CS1", "CS2", "CS3", "CS4", "CS5", "CS6", "CS7"]);
    assert!(got.is_sorted() && got[0] > 100.0 / 23.0 && got[7] < 25.0, "{got:?}");
}

/// Washed packets leave without a codepoint and were classified by the one that they had. ECN is not touched.
#[test]
fn washed_packets_leave_as_best_effort() {
    for wash in [false, true] {
        let mut rig = Rig::new(12_000_000, &[("wash", crate::params::Value::Bool(wash))]);
        rig.ecn = crate::packet::Ecn::Ect1;
        rig.arrive(Time::ZERO, (0, "CS0"), 0..1, 1500);
        rig.arrive(Time::ZERO, (1, "EF"), 0..1, 200);
        let id = rig.queue.dequeue(Time::ZERO, &mut rig.packets, &mut rig.log).unwrap();
        let packet = rig.packets[id];
        assert_eq!((packet.route, packet.ecn), (1, rig.ecn), "voice first");
        assert_eq!(packet.dscp.name(), if wash { "CS0" } else { "EF" });
    }
}
