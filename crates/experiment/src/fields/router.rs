//! `[[router]]`: what is special about routers.

use crate::shape::{Field, Shape};
use longfat_core::params::{Kind, Value};
use std::sync::LazyLock;

/// The words of `sharing`, the default first.
pub const SHARING: &[&str] = &["dynamic", "static", "complete"];

/// A router, or several alike.
pub fn router() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::required("name", Shape::Names, "a router, or a list of them"),
            Field::auto(
                "shared_buffer",
                Kind::Bytes { min: 1, max: 1 << 40 },
                "one memory for the queues of all its links: bytes of IP packets, those in transmission not counted. A packet must fit into it, and into the `queue` of its link",
            ),
            Field::or(
                "sharing",
                Kind::Choice(SHARING),
                Value::Choice(SHARING[0]),
                "how much of it a link's queue may take: `alpha` times what is free (Choudhury and Hahne 1998), an equal part for each link, or all that is free",
            ),
            Field::or(
                "alpha",
                // The hardware has powers of two, about these.
                Kind::Number { min: 0.001, max: 1024.0 },
                Value::Number(1.0),
                "with `sharing = \"dynamic\"`: of n queues that want more, each gets alpha B / (1 + n alpha) of B bytes",
            ),
        ]
    });
    &TABLE
}
