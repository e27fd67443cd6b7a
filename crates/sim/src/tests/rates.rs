//! Controls that model the path, in whole dumbbells: what BBR promises, and what pacing does.

use longfat_core::queue;
use longfat_core::tcp::{TcpConfig, congestion};
use longfat_core::time::Duration;
use longfat_core::trace::Trace;
use longfat_core::units::{Capacity, Rate};

use crate::dumbbell::{Dumbbell, droptail, loss_model};
use crate::run;

fn dumbbell(control: &str, pairs: usize, mbps: u64, rtt_ms: u64, seconds: u64) -> Dumbbell {
    let plain = Dumbbell::default();
    Dumbbell {
        pairs,
        rate: Rate::from_bps(mbps * 1_000_000),
        rtt: Duration::from_millis(rtt_ms),
        duration: Duration::from_secs(seconds),
        tcp: TcpConfig { congestion_control: congestion::choice(control), ..plain.tcp },
        ..plain
    }
}

#[test]
fn look() {
    for control in ["bbr", "bbr3", "cubic"] {
        let mut e = Dumbbell { queue: droptail(Capacity::Bdp(8.0)), ..dumbbell(control, 1, 100, 40, 30) }.experiment();
        e.measure.interval = Some(Duration::from_millis(100));
        let t = run(&e).unwrap();
        for s in t.flow_series.iter().take(60) {
            eprintln!("{s:?}");
        }
        let f = &t.flows[0];
        eprintln!(
            "{control} {} {:?} {:?} q mean {} max {}",
            f.bytes_delivered as f64 * 8e-6 / 30.0,
            f,
            (),
            t.links[0].queue_mean_packets,
            t.links[0].queue_max_packets
        );
    }
}
