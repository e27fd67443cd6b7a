//! Loss of a link and its queue, or of a switch before it.

use super::{Bound, Metric, Scope, ratio};

pub(super) const SHARE: Metric = Metric {
    name: "loss_share",
    unit: "1",
    bound: Bound::Share,
    summary: "packets dropped by the queue or the link, for whatever reason but that an ACK filter left them out, over packets that came, in the measured span",
    // RFC 5166 §2.1.3: loss rates.
    source: "RFC 5166 §2.1.3",
    compute: |_, trace| {
        let share = |link: &crate::trace::LinkRecord| {
            let dropped = link.packets_dropped_in_span - link.packets_filtered_in_span;
            // Packets dropped in the span may have come before it.
            ratio(dropped.min(link.packets_in_in_span) as f64, link.packets_in_in_span as f64)
        };
        trace.links.iter().enumerate().map(|(i, link)| (Scope::Link(i), share(link))).collect()
    },
};

pub(super) const CELLS: Metric = Metric {
    name: "cell_loss_share",
    unit: "1",
    bound: Bound::Share,
    summary: "cells dropped at the output port before the link, for whatever reason, over cells that came to it in the measured span; NaN behind no switch",
    source: "Romanow and Floyd 1995, appendix C",
    compute: |_, trace| {
        let share = |link: &crate::trace::LinkRecord| {
            let count = |cells: &crate::trace::CellRecord| {
                let port = &cells.in_span;
                ratio(port.dropped.iter().sum::<u64>() as f64, port.cells_in() as f64)
            };
            link.cells.as_ref().map_or(f64::NAN, count)
        };
        trace.links.iter().enumerate().map(|(i, link)| (Scope::Link(i), share(link))).collect()
    },
};
