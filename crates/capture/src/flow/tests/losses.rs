//! Verdicts on losses: how sure they are, and queues that drop early.

use super::*;

/// Windows of ten segments over a path of 20 ms, of which the first of each of `losses` is lost, with no queue anywhere.
fn lossy(losses: &[u32]) -> Value {
    let mut transfer = Transfer::new();
    let mut now = 20;
    for window in 0..40_u32 {
        let at = 10_000 * window;
        for k in 0..10 {
            transfer = transfer.data(now + i64::from(k), at + 1000 * k);
        }
        if losses.contains(&window) {
            for k in 1..10 {
                transfer = transfer.ack(now + 20 + i64::from(k), at, &[(at + 1000, at + 1000 * (k + 1))]);
            }
            transfer = transfer.data(now + 24, at).ack(now + 44, at + 10_000, &[]);
            now += 44;
        } else {
            for k in 0..10 {
                transfer = transfer.ack(now + 20 + i64::from(k), at + 1000 * (k + 1), &[]);
            }
            now += 29;
        }
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    transfer.report()["verdict"].clone()
}

#[test]
fn a_verdict_on_losses_grows_surer_with_their_number() {
    // One loss tells half, by the sign test; eight all but all.
    let [one, two, many] = [&[7][..], &[7, 15], &[7, 15, 21, 26, 30, 33, 36, 38]].map(lossy);
    let sure = |verdict: &Value| verdict["confidence"].as_f64().unwrap();
    assert_eq!((&one["cause"], &two["cause"], &many["cause"]), (&"random loss".into(), &"random loss".into(), &"random loss".into()));
    assert!(sure(&one) <= 0.5 && sure(&one) < sure(&two) && sure(&two) < sure(&many), "{one} {two} {many}");
    let said = |verdict: &Value| verdict["limits"].to_string().contains("chance may have made");
    assert!(said(&one) && !said(&many), "{many}");
}
