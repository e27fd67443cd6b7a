//! What is allowed, and still hardly meant: what an experiment asks of its flows that they cannot do.
//!
//! One function for each. What only a run can tell stands with its record.

use super::model::Flow;
use longfat_tcp::window_sizing;

/// The largest window without the scale option: 16 bits (RFC 9293 section 3.1, RFC 7323 section 2.2).
const UNSCALED: u64 = 65_535;

/// What to tell the user of `flow`, which is called `name`: a sentence each.
pub fn of_flow(name: &str, flow: &Flow) -> impl Iterator<Item = String> {
    let checks = if flow.traffic.is_tcp() { &[window_below_a_segment, window_not_scaled][..] } else { &[] };
    checks.iter().filter_map(|check| check(flow)).map(move |sentence| format!("flow {name}: {sentence}"))
}

fn window_below_a_segment(flow: &Flow) -> Option<String> {
    let (send, receive) = (window_sizing::bounds(&flow.sender).0, window_sizing::bounds(&flow.receiver).1);
    let (held, mss) = (send.min(receive), u64::from(flow.sender.mss));
    (held < mss).then(|| format!("its window of {held} bytes is less than one segment of {mss}, so no full segment is ever sent"))
}

fn window_not_scaled(flow: &Flow) -> Option<String> {
    let asked = window_sizing::bounds(&flow.receiver).1;
    if (flow.sender.window_scale && flow.receiver.window_scale) || asked <= UNSCALED {
        return None;
    }
    let what = if asked < flow.receiver.receive_buffer { "window sizing" } else { "receive buffer" };
    Some(format!("without window scaling its window is at most {UNSCALED} bytes, not the {asked} of its {what}"))
}
