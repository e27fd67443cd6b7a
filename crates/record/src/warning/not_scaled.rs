//! A window larger than can be said without the scale option.

use super::asked::UNSCALED;
use super::{Asked, Check, Warning};
use longfat_tcp::window_sizing;

pub(super) const WARNING: Warning = Warning {
    name: "window_not_scaled",
    summary: "a window above 65535 bytes, and an end that does not scale windows",
    advice: "set `window_scale = true` at both ends, or a window of at most 65535 bytes",
    source: "RFC 7323 section 2.2",
    about: &["window", "window_scale"],
    check: Check::Before(check),
};

fn check(asked: &Asked<'_>) -> Vec<String> {
    let flows = asked.experiment.flows.iter().enumerate().filter(|(_, flow)| flow.traffic.is_tcp());
    let found = flows.filter_map(|(i, flow)| {
        let wanted = window_sizing::bounds(&flow.receiver).1;
        if (flow.sender.window_scale && flow.receiver.window_scale) || wanted <= UNSCALED {
            return None;
        }
        let what = if wanted < flow.receiver.receive_buffer { "window sizing" } else { "receive buffer" };
        let name = asked.flow(i);
        Some(format!("{name}: without window scaling its window is at most {UNSCALED} bytes, not the {wanted} of its {what}"))
    });
    found.collect()
}
