//! Window sizing over whole runs.

use longfat_core::params::{Choice, Value};
use longfat_core::tcp::{TcpConfig, congestion, right_sizing};
use longfat_core::time::Duration;
use longfat_core::trace::Trace;
use longfat_core::units::{Capacity, Rate};

use crate::dumbbell::{Dumbbell, droptail, loss_model, tcp};

/// The kind called `name` with `changes` to its defaults.
fn sizing(name: &str, changes: &[(&'static str, Value)]) -> Choice {
    let mut choice = right_sizing::choice(name);
    for (name, value) in changes {
        choice.params.set(name, *value);
    }
    choice
}

/// The paper's path: 100 Mb/s, 60 ms.
fn path(control: &str, sizing: Choice, queue: u64) -> Dumbbell {
    Dumbbell {
        rate: Rate::from_bps(100_000_000),
        rtt: Duration::from_millis(60),
        edge_rate: Rate::from_bps(1_000_000_000),
        queue: droptail(Capacity::Packets(queue)),
        tcp: TcpConfig { congestion_control: congestion::choice(control), window_sizing: sizing, ..tcp("rfc") },
        duration: Duration::from_secs(20),
        ..Dumbbell::default()
    }
}

fn run(dumbbell: &Dumbbell) -> Trace {
    let mut experiment = dumbbell.experiment();
    experiment.measure.interval = Some(Duration::from_millis(30));
    crate::run(&experiment).expect("it has routes")
}

#[test]
fn scratch() {
    for loss in ["none", "bernoulli"] {
        for ts in [true, false] {
            for control in ["reno", "cubic", "scalable", "bbr"] {
                for queue in [100, 500] {
                    let mut line = format!("{loss} ts {ts} {control} {queue}:");
                    for kind in ["static", "drs", "search", "auto-psc", "linux"] {
                        let mut d = path(control, sizing(kind, &[]), queue);
                        d.tcp.timestamps = ts;
                        if loss != "none" {
                            d.loss = loss_model("bernoulli", &[("probability", Value::Number(1e-4))]);
                        }
                        let t = run(&d);
                        let rwnd: f64 = t.flow_series.iter().map(|s| s.rwnd as f64).sum::<f64>() / t.flow_series.len() as f64;
                        let cwnd: f64 = t.flow_series.iter().map(|s| s.cwnd as f64).sum::<f64>() / t.flow_series.len() as f64;
                        let short = t.flow_series.iter().filter(|s| s.rwnd < s.cwnd).count();
                        line += &format!(
                            "  {kind} {:.2} Mb/s cwnd {:.0} rwnd {:.0} short {short}/{}",
                            t.flows[0].bytes_delivered as f64 * 8.0 / 20e6,
                            cwnd / 1448.,
                            rwnd / 1448.0,
                            t.flow_series.len()
                        );
                        if std::env::var("SHOW").is_ok_and(|v| v == format!("{loss} {ts} {control} {queue} {kind}")) {
                            println!("rtx {} rto {}", t.flows[0].segments_retransmitted, t.flows[0].timeouts);
                            for s in t.flow_series.iter().take(300) {
                                println!(
                                    "{:.3} cwnd {} rwnd {} flight {}",
                                    s.time.as_secs_f64(),
                                    s.cwnd / 1448,
                                    s.rwnd / 1448,
                                    s.in_flight / 1448
                                );
                            }
                        }
                    }
                    println!("{line}");
                }
            }
        }
    }
}
