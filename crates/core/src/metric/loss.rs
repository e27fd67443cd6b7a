//! How much a link and its queue dropped.

use super::{Metric, Scope};

pub const SHARE: Metric = Metric {
    name: "loss_share",
    unit: "1",
    summary: "packets dropped by the queue or the link, for whatever reason, over packets that came",
    // RFC 5166 §2.1.3: loss rates.
    source: "RFC 5166 §2.1.3",
    compute: |_, trace| {
        let share = |link: &crate::trace::LinkRecord| {
            let dropped: u64 = link.drops.iter().map(|(_, n)| n).sum();
            dropped as f64 / link.packets_in as f64
        };
        trace.links.iter().enumerate().map(|(i, link)| (Scope::Link(i), share(link))).collect()
    },
};
