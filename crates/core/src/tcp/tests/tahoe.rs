//! Two ways to say Tahoe: as a congestion control, and as a way of recovery.

use super::*;
use crate::tcp::congestion;

#[test]
fn the_control_behaves_as_reno_with_tahoe_recovery_whatever_recovery_says() {
    let run = |control: &str, recovery| {
        let sender = TcpConfig { congestion_control: congestion::choice(control), recovery, ..config("rfc") };
        // Single losses, a burst, and a whole window, which takes the timer.
        let mut pair = Pair::new(sender, config("rfc"), ms(30)).network(|n, client, _, _| {
            let lost = client && (n == 60 || (300..310).contains(&n) || (700..780).contains(&n));
            if lost { vec![] } else { vec![Duration::ZERO] }
        });
        pair.client.write(2_000_000);
        pair.client.close();
        pair.run_until(at_ms(300_000));
        assert_eq!(pair.server.bytes_read(), 2_000_000, "{control}");
        let segments: Vec<_> = pair.data().map(|(at, segment)| (at, segment.seq)).collect();
        segments
    };
    let tahoe = run("reno", RecoveryKind::Tahoe);
    assert!(tahoe == run("tahoe", RecoveryKind::Sack) && tahoe == run("tahoe", RecoveryKind::NewReno));
    assert!(tahoe != run("reno", RecoveryKind::Sack));
}
