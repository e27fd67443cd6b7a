//! A window that no full segment fits into.

use super::{Asked, Check, Warning};
use longfat_tcp::window_sizing;

pub(super) const WARNING: Warning = Warning {
    name: "window_below_a_segment",
    summary: "a window below one segment: no full segment is ever sent",
    advice: "raise the flow's `window` (or its smaller buffer) to one mss, or lower the mss",
    source: "none: longfat's own",
    about: &["window", "mss"],
    check: Check::Before(check),
};

fn check(asked: &Asked<'_>) -> Vec<String> {
    let flows = asked.experiment.flows.iter().enumerate().filter(|(_, flow)| flow.traffic.is_tcp());
    let found = flows.filter_map(|(i, flow)| {
        let (send, receive) = (window_sizing::bounds(&flow.sender).0, window_sizing::bounds(&flow.receiver).1);
        let (held, mss) = (send.min(receive), u64::from(flow.sender.mss));
        (held < mss).then(|| {
            let name = asked.flow(i);
            format!("{name}: its window of {held} bytes is less than one segment of {mss}, so no full segment is ever sent")
        })
    });
    found.collect()
}
