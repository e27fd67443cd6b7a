//! `[live]`: fields of the real hosts of a run between them.

use crate::shape::{Field, Shape};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;
use std::sync::LazyLock;

/// The real hosts.
pub(crate) fn live() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::required("host", Shape::List(&Shape::Table(live_host)), "the two hosts"),
            Field::param(ParamSpec {
                name: "spread",
                kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(7 * 24 * 3600) },
                default: Some(Value::Duration(Duration::ZERO)),
                doc: "repeats begin this far apart, at least; within one, runs go in an order drawn by the seed",
            }),
            Field::or("survey", Kind::Bool, Value::Bool(true), "look at routers, MTU and idle round trips before and after each run"),
            Field::or(
                "capture",
                Kind::Bool,
                Value::Bool(false),
                "capture the headers of the TCP flows at both hosts, for a second verdict",
            ),
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
