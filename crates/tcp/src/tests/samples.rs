//! Samples that a control gets with each ACK.

use std::sync::{Arc, Mutex};

use super::*;
use crate::congestion::{AckSample, CongestionControl, CongestionEvent};

/// A control with a window of its own that remembers its samples.
#[derive(Debug)]
pub(super) struct Recorder {
    pub window: u64,
    pub samples: Arc<Mutex<Vec<AckSample>>>,
}

impl CongestionControl for Recorder {
    fn cwnd(&self) -> u64 {
        self.window
    }
    fn on_sample(&mut self, ack: &AckSample) {
        self.samples.lock().unwrap().push(*ack);
    }
    fn on_ack(&mut self, _: &AckSample) {}
    fn on_congestion(&mut self, _: &CongestionEvent) {}
}

/// Segments 0, 2, 3, ... arrive; the receiver delays its ACK of the first, so that one ACK both moves the left edge and tells of
/// segment 2. All left together, 100 ms before.
#[test]
fn an_ack_that_moves_the_edge_and_sacks_has_a_round_trip() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        let samples = Arc::default();
        let sender = TcpConfig { recovery, mss: 1000, ..config("rfc") };
        let mut data = 0;
        let mut pair = Pair::with_iss(sender, config("rfc"), ms(50), 0, 0).network(move |_, client, segment, _| {
            data += u64::from(client && segment.len > 0);
            if client && segment.len > 0 && data == 2 { vec![] } else { vec![Duration::ZERO] }
        });
        pair.client.set_control(Box::new(Recorder { window: 6_000, samples: Arc::clone(&samples) }));
        pair.client.write(6_000);
        pair.run_until(at_ms(10_000));
        assert_eq!(pair.server.bytes_delivered(), 6_000);
        let samples = samples.lock().unwrap();
        let both = samples.iter().find(|s| s.acked > 0 && s.delivered > s.acked).expect("an ACK that does both");
        assert_eq!((both.acked, both.delivered, both.rtt), (1_000, 2_000, Some(ms(100))), "{recovery:?}");
        // Its own round trip is the only one there is: no ACK tells of less.
        assert!(samples.iter().filter_map(|s| s.rtt).all(|rtt| rtt >= ms(100)));
    }
}

/// RFC 7661 §4.5.3, RFC 9438 §5.8: a window was used when as much was in flight as it allows, and nothing more need wait.
#[test]
fn a_window_exactly_full_was_used() {
    const FULL: &[u64] = &[1_000; 10];
    let cases: [(&str, u64, bool, &[u64], bool); 9] = [
        ("exactly full", 10_000, true, FULL, true),
        ("more waits", 9_000, true, FULL, true),
        ("a segment less", 11_000, true, FULL, false),
        // Bytes of a window beyond whole segments have no room for another.
        ("half a segment more", 10_500, true, FULL, true),
        ("a byte less than a segment more", 10_999, true, FULL, true),
        // Nagle's algorithm holds the last piece back, for which there is room: nine segments of ten went.
        ("a piece held back", 10_000, true, &[9_500], false),
        ("a piece held back that would not fit", 9_400, true, &[9_500], true),
        // Small writes fill a window by their bytes.
        ("small writes", 10_000, false, &[500; 20], true),
        ("small writes, one less", 10_000, false, &[500; 19], false),
    ];
    for (name, window, nagle, writes, used) in cases {
        let samples = Arc::default();
        let sender = TcpConfig { mss: 1000, ..config("rfc") }.with(|tcp| tcp.sending.nagle = nagle);
        let mut pair = Pair::new(sender, TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") }, ms(50));
        pair.client.set_control(Box::new(Recorder { window, samples: Arc::clone(&samples) }));
        pair.run_until(at_ms(200));
        for bytes in writes {
            pair.client.write(*bytes);
        }
        pair.run_until(at_ms(10_000));
        assert_eq!(pair.server.bytes_delivered(), writes.iter().sum::<u64>());
        let samples: Vec<bool> = samples.lock().unwrap().iter().map(|s| s.cwnd_limited).collect();
        let first_flight = samples.len().min(9);
        // Each ACK of the flight, not only the first; what was held back is a flight of its own.
        assert!(samples[..first_flight].iter().all(|limited| *limited == used), "{name}: {samples:?}");
    }
}

/// All of cwnd is in flight, and the peer's window is as large: the two grow together, but cwnd not beyond.
#[test]
fn a_window_the_peer_does_not_allow_was_not_used() {
    for (rwnd, used) in [(10_000, true), (9_000, false)] {
        let samples = Arc::default();
        let sender = TcpConfig { mss: 1000, ..config("rfc") };
        let mut pair = Pair::new(sender, TcpConfig { receive_buffer: rwnd, ..config("rfc") }, ms(50));
        pair.client.set_control(Box::new(Recorder { window: 10_000, samples: Arc::clone(&samples) }));
        pair.client.write(1_000_000);
        pair.run_until(at_ms(5_000));
        let samples = samples.lock().unwrap();
        assert!(samples.len() > 20 && samples.iter().all(|s| s.cwnd_limited == used), "{rwnd}");
    }
}
