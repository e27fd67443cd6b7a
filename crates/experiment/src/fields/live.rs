//! `[live]`: fields of the real hosts of a run between them.

use crate::shape::{Field, Shape};
use std::sync::LazyLock;

/// The real hosts.
pub(crate) fn live() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::required("host", Shape::List(&Shape::Table(live_host)), "the two hosts"),
            Field::new("uncontrolled", Shape::Names, "tables of the file that the run did not control; longfat writes it into results"),
        ]
    });
    &TABLE
}

/// One of them.
pub(crate) fn live_host() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::required("name", Shape::Text, "its name in `from` and `to` of flows"),
            Field::required(
                "at",
                Shape::Text,
                "`local`, or the address of its `longfat serve`: a name or a number, and a port unless it is 5277",
            ),
            Field::new("key", Shape::Text, "name of the key that its server has (`longfat key`); without one the server must be open"),
        ]
    });
    &TABLE
}
