//! What a control is told with each ACK.

use std::sync::{Arc, Mutex};

use super::*;
use crate::congestion::{AckSample, CongestionControl, CongestionEvent};

/// A control with a window of its own that remembers its samples.
#[derive(Debug)]
pub struct Recorder {
    pub window: u64,
    pub samples: Arc<Mutex<Vec<AckSample>>>,
}

impl CongestionControl for Recorder {
    fn cwnd(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn on_sample(&mut self, ack: &AckSample) {
        self.samples.lock().unwrap().push(*ack);
    }
    fn on_ack(&mut self, _: &AckSample) {}
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn on_restart(&mut self, _: Duration) {}
    fn on_syn_loss(&mut self) {}
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
