//! Fields of a link that changes over time, or differs from packet to packet.

use super::{DELAY, SOME_TIME, TIME, count};
use crate::shape::{Case, Field, Shape, Variants};
use longfat_core::link::{course, service};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;
use std::sync::LazyLock;

pub(crate) static RATE_TRACE: Variants = Variants {
    what: "rate trace",
    tag: "kind",
    default: None,
    cases: || {
        static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| {
            let mut cases = cases(Kind::Rate, &Shape::Table(rate_step), true);
            cases.extend(service::REGISTRY.iter().map(|entry| Case::of_params(entry.name, entry.summary, entry.source, entry.params)));
            cases.push(Case {
                name: "mahimahi",
                doc: "instants at which 1500 bytes can leave, as in the traces of mahimahi. Bytes are counted: packets may share one, or take several. An opening that no waiting packet takes is wasted",
                source: "mm-link(1); Netravali and others, Mahimahi: Accurate Record-and-Replay for HTTP, USENIX ATC 2015",
                fields: vec![
                    Field::new("at", Shape::OneOrMany(at()), AT),
                    Field::new("file", Shape::Text, "a file with these in its lines, in place of `at`: its path from the folder of this one"),
                    SHA256,
                ],
            });
            cases
        });
        &TABLE
    },
};

pub(crate) static DELAY_TRACE: Variants = Variants {
    what: "delay trace",
    tag: "kind",
    default: None,
    cases: || {
        static TABLE: LazyLock<Vec<Case>> = LazyLock::new(|| cases(DELAY, &Shape::Table(delay_step), false));
        &TABLE
    },
};

const AT: &str = "milliseconds, in order of time, one for each 1500 bytes; after the last one they begin anew";

/// An opportunity of a trace, in ms.
pub(crate) const fn at() -> ParamSpec {
    ParamSpec { name: "at", kind: count(0, u32::MAX as u64), default: None, doc: AT }
}

/// Known of a file that has been read.
const SHA256: Field =
    Field::new("sha256", Shape::Text, "digest of the file, as results state it: the run is refused if the file has another");

/// Returns the cases of a trace: steps, steps in a file, and steps drawn between two values of `kind`.
fn cases(kind: Kind, step: &'static Shape, are_rates: bool) -> Vec<Case> {
    let written = Case {
        name: "steps",
        doc: "values as written, each from its time on",
        source: "none: longfat's own",
        fields: vec![
            Field::required("values", Shape::List(step), "in order of time, the first at 0 s"),
            Field::auto("period", SOME_TIME, "after so long they begin anew; by default the last one holds"),
        ],
    };
    let drawn = course::REGISTRY.iter().filter(|entry| are_rates || !entry.of_rates_alone).map(|entry| {
        let mut case = Case::of_params(entry.name, entry.summary, entry.source, entry.params);
        case.fields.splice(0..0, [needed("low", kind, "the least it is"), needed("high", kind, "the most it is")]);
        case
    });
    let in_file = Case {
        name: "csv",
        doc: "steps from a file of two columns: `time_s` or `time_ms`, and `rate_bps`, `rate_mbps`, `delay_s` or `delay_ms`",
        source: "none: longfat's own",
        fields: vec![
            Field::required("file", Shape::Text, "its path from the folder of this one; the first line names the columns"),
            Field::auto("period", SOME_TIME, "after so long they begin anew; by default the last one holds"),
            SHA256,
        ],
    };
    let columns: &[&str] = if are_rates { &["rate_bps", "rate_mbps"] } else { &["delay_s", "delay_ms"] };
    let in_lines = Case {
        name: "lines",
        doc: "steps from a file of one value a line, the same time apart",
        source: "none: longfat's own",
        fields: vec![
            Field::required("file", Shape::Text, "its path from the folder of this one"),
            needed("value", Kind::Choice(columns), "its values"),
            needed("interval", SOME_TIME, "from one line to the next"),
            Field::auto("period", SOME_TIME, "after so long they begin anew; by default the last one holds"),
            SHA256,
        ],
    };
    [written, in_file, in_lines].into_iter().chain(drawn).collect()
}

/// Returns the fields of a rate from a time on.
pub(crate) fn rate_step() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| step("rate", Kind::Rate));
    &TABLE
}

/// Returns the fields of a delay from a time on.
pub(crate) fn delay_step() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| step("delay", DELAY));
    &TABLE
}

fn step(name: &'static str, kind: Kind) -> Vec<Field> {
    vec![needed("at", TIME, "when"), needed(name, kind, "from then on")]
}

const fn needed(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field::param(ParamSpec { name, kind, default: None, doc })
}

/// A time in which nothing is sent.
pub(crate) fn outage() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            needed("from", TIME, "when it begins"),
            needed("to", TIME, "when it is over"),
            Field::auto("every", TIME, "from its beginning to that of the next, again and again; by default there is one"),
        ]
    });
    &TABLE
}

/// A random delay of each packet.
pub(crate) fn jitter() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::or(
                "distribution",
                Kind::Choice(&["uniform", "normal", "pareto"]),
                Value::Choice("uniform"),
                "`uniform`: any time from none to `most` is as likely; `normal` and `pareto` (shape 3): of the standard deviation `deviation`, cut 4 deviations from the mean, the least at none",
            ),
            Field::auto("most", DELAY, "the longest; needed with `uniform`"),
            Field::auto(
                "deviation",
                DELAY,
                "the standard deviation; needed with `normal` and `pareto`. The mean is 4 deviations of `normal`, and half a deviation (0.52) of `pareto`",
            ),
            Field::or(
                "correlation",
                Kind::Number { min: 0.0, max: 1.0 },
                Value::Number(0.0),
                "of the times of two packets in a row: the probability that a packet takes as much longer as the one before",
            ),
            Field::or(
                "in_order",
                Kind::Bool,
                Value::Bool(true),
                "whether packets keep their order: one that would overtake another arrives at the same instant",
            ),
        ]
    });
    &TABLE
}

/// Packets that are overtaken.
pub(crate) fn reorder() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![needed("probability", Kind::Number { min: 0.0, max: 1.0 }, "that a packet is held back"), needed("by", DELAY, "for how long")]
    });
    &TABLE
}

/// Returns the fields of blocks that are retransmitted.
pub(crate) fn harq() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let time = |name, default, doc| Field::or(name, SOME_TIME, Value::Duration(Duration::from_millis(default)), doc);
        vec![
            Field::or(
                "probability",
                Kind::Number { min: 0.0, max: 1.0 },
                Value::Number(0.1),
                "that a block fails, each time it is sent (3GPP TS 36.213 section 7.2.3: a rate is chosen at which no more do)",
            ),
            time("round_trip", 8, "from a block to its repetition (3GPP TS 36.321 section 7.7, FDD)"),
            time("block", 1, "what is sent within so long is one block, and arrives at its end"),
            Field::or("most", count(1, 100), Value::Count(3), "most retransmissions of a block; after them it has arrived"),
        ]
    });
    &TABLE
}
