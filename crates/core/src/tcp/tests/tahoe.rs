//! Two ways to say Tahoe: as a congestion control, and as a way of recovery.

use super::*;
use crate::tcp::congestion;

#[test]
fn the_control_behaves_as_reno_with_tahoe_recovery_whatever_recovery_says() {
    let run = |control: &str, recovery| {
        let sender = TcpConfig { congestion_control: congestion::choice(control), recovery, ..config("rfc") };
        // Of what is sent for the first time, single losses, a burst, and more than a window, which takes the timer.
        let mut segments = 0;
        let mut highest = 0;
        let mut pair = Pair::with_iss(sender, config("rfc"), ms(30), 0, 0).network(|_, client, segment, _| {
            if !client || segment.len == 0 || segment.seq <= highest {
                return vec![Duration::ZERO];
            }
            (highest, segments) = (segment.seq, segments + 1);
            let lost = matches!(segments, 60 | 61 | 200..210 | 700..850);
            if lost { vec![] } else { vec![Duration::ZERO] }
        });
        pair.client.write(2_000_000);
        pair.client.close();
        pair.run_until(at_ms(60_000));
        assert_eq!(pair.server.bytes_read(), 2_000_000, "{control}");
        let segments: Vec<_> = pair.data().map(|(at, segment)| (at, segment.seq)).collect();
        (pair.client.stats().timeouts, segments)
    };
    let tahoe = run("reno", RecoveryKind::Tahoe);
    assert!(tahoe.0 > 0);
    assert!(tahoe == run("tahoe", RecoveryKind::Sack) && tahoe == run("tahoe", RecoveryKind::NewReno));
    assert!(tahoe != run("reno", RecoveryKind::Sack));
}
