//! Runs an experiment file and prints what it says of itself: for work on this crate.
fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let document = longfat_experiment::Document::parse(&std::fs::read_to_string(&path).unwrap(), &path).unwrap_or_else(|e| panic!("{e}"));
    for index in 0..document.run_count() {
        let run = document.run(index).unwrap_or_else(|e| panic!("{e}"));
        match longfat_testbed::run_with(&run.experiment, &mut |_| true) {
            Err(e) => println!("{e}"),
            Ok(trace) => {
                println!("{:?}", trace.real_time);
                for metric in longfat_experiment::metric::REGISTRY {
                    let values = (metric.compute)(&run.experiment, &trace);
                    if ["goodput_total_bps", "bottleneck_queue_delay_mean_s", "link_utilization", "rtt_mean_s"].contains(&metric.name) {
                        println!("{} {:?}", metric.name, values.iter().map(|v| v.1).collect::<Vec<_>>());
                    }
                }
                for flow in &trace.flows { println!("{flow:?}"); }
                for link in trace.links.iter().take(4) { println!("{link:?}"); }
            }
        }
    }
}
