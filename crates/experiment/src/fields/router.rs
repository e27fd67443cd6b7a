//! `[[router]]`: fields of routers.

use super::one_of;
use crate::shape::{Case, Field, Shape, Variants};
use longfat_core::params::Kind;
use longfat_core::queue::shared;
use std::sync::LazyLock;

pub(crate) static SHARING: Variants = one_of!(shared::REGISTRY, "sharing of a memory");

/// A router, or several alike.
pub(crate) fn router() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::required("name", Shape::Names, "a router, or a list of them"),
            Field::auto(
                "shared_buffer",
                Kind::Bytes { min: 1, max: 1 << 40 },
                "one memory for the queues of all its links: bytes of IP packets, those in transmission not counted. A packet must fit into it, and into the `queue` of its link",
            ),
            Field::new("sharing", Shape::Variants(&SHARING), "how much of it a link's queue may take; by default `dynamic`"),
        ]
    });
    &TABLE
}
