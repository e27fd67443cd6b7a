//! `epd_red`: early packet discard with random early detection on the average queue.
//!
//! RF95 §6 only outlines it: two thresholds for two purposes, a high one on the queue, so that whole packets are dropped before the buffer
//! overflows, and a lower one on the average, so that senders slow down.

use super::{
    AfterLoss, Arrival, BUFFER, Discard, DiscardContext, DiscardKind, THRESHOLD, Verdict, buffer, cells_of, check_early, threshold,
};
use crate::atm::aal5;
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::queue::early::{self, Red, RedConfig};

/// The registry entry.
pub(super) const KIND: DiscardKind = DiscardKind {
    name: "epd_red",
    summary: "early packet discard, and random early detection on the average queue, by whole frames",
    source: "Romanow and Floyd 1995, section 6; Floyd and Jacobson 1993",
    params: PARAMS,
    after_loss: |_| AfterLoss::Rest,
    accounts: false,
    check,
    build: |params, context| Box::new(EpdRed::new(params, context, false)),
};

pub(super) const PARAMS: &[ParamSpec] = &[
    BUFFER,
    ParamSpec {
        // RF95 §6: fairly high.
        default: Some(Value::Number(0.75)),
        ..THRESHOLD
    },
    ParamSpec {
        name: "min_threshold",
        kind: Kind::Portion { unit: "cells" },
        default: Some(Value::Number(0.125)),
        doc: "average queue at which signals begin: cells, or a fraction of the buffer",
    },
    ParamSpec {
        name: "max_threshold",
        kind: Kind::Portion { unit: "cells" },
        // Three times min_threshold: Floyd, "RED: Discussions of Setting Parameters", 1997.
        default: Some(Value::Number(0.375)),
        doc: "average queue at which the probability reaches max_p",
    },
    ParamSpec {
        name: "max_p",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        // Floyd 1997.
        default: Some(Value::Number(0.1)),
        doc: "probability of a signal as the average reaches max_threshold",
    },
    ParamSpec {
        name: "wq",
        kind: Kind::Number { min: 1e-9, max: 1.0 },
        // FJ93 §6.
        default: Some(Value::Number(0.002)),
        doc: "weight of a new sample in the average, which is taken as each frame begins",
    },
    ParamSpec {
        name: "gentle",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "whether the probability rises from max_p to 1 between max_threshold and its double, instead of jumping to 1",
    },
];

/// Returns the thresholds on the average, in cells.
fn averages(params: &Params) -> (u64, u64) {
    (cells_of(params.get("min_threshold"), buffer(params)), cells_of(params.get("max_threshold"), buffer(params)))
}

pub(super) fn check(params: &Params, context: &DiscardContext) -> Result<(), String> {
    check_early(params, context)?;
    let (min, max) = averages(params);
    if min >= max {
        return Err(format!("min_threshold ({min} cells) must be under max_threshold ({max} cells)"));
    }
    if max > threshold(params) {
        return Err(format!("max_threshold ({max} cells), on the average, must not be above the threshold ({} cells)", threshold(params)));
    }
    Ok(())
}

/// Early discard, preceded by signals of congestion.
pub(super) struct EpdRed {
    threshold: u64,
    red: Red,
    /// Frames of ECN-capable packets are marked instead of dropped.
    marks: bool,
}

impl EpdRed {
    pub(super) fn new(params: &Params, context: DiscardContext, marks: bool) -> Self {
        let (min, max) = averages(params);
        let config = RedConfig {
            min_threshold: min as f64,
            max_threshold: max as f64,
            max_p: params.number("max_p"),
            wq: params.number("wq"),
            gentle: params.boolean("gentle"),
            adaptive: false,
            scale_by_size: None,
            wait: false,
            // The least frame.
            small_packet: aal5::CELL,
            rate: context.rate,
        };
        EpdRed { threshold: threshold(params), red: Red::new(config, context.rng), marks }
    }
}

impl Discard for EpdRed {
    fn on_frame(&mut self, arrival: &Arrival) -> Verdict {
        self.red.silent_from(arrival.silent_from);
        // The size has no effect: `scale_by_size` is off.
        let signal = self.red.arrival(arrival.now, arrival.queued, aal5::CELL);
        if arrival.queued > self.threshold {
            return Verdict::Drop;
        }
        match signal {
            early::Verdict::Accept => Verdict::Accept,
            early::Verdict::Signal if self.marks && arrival.is_ect => Verdict::Mark,
            early::Verdict::Signal | early::Verdict::Severe => Verdict::Drop,
        }
    }
}
