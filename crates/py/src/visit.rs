//! Visitors of any table of a trace.

use longfat_record::trace::columns::{self, Column};
use longfat_record::trace::{Recorded, Trace};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

/// Tables in which a run has rows, in the order of its digest.
pub(crate) const TABLES: [&str; 13] = [
    "flows",
    "links",
    "hosts",
    "flow_series",
    "link_series",
    "events",
    "packets",
    "acks",
    "tcp_info",
    "probes",
    "datagrams",
    "hops",
    "host_series",
];

/// Visitor of any table.
pub(crate) trait Visit {
    type Out;
    fn table<R: Clone + 'static>(self, columns: &'static [Column<R>], rows: &(impl Recorded<R> + ?Sized)) -> Self::Out;
}

/// Visits the table `name`. KeyError if there is none.
pub(crate) fn visit<V: Visit>(trace: &Trace, name: &str, with: V) -> PyResult<V::Out> {
    Ok(match name {
        "flows" => with.table(columns::flows(), &trace.flows[..]),
        "links" => with.table(columns::links(), &trace.links[..]),
        "hosts" => with.table(columns::hosts(), &trace.hosts[..]),
        "flow_series" => with.table(columns::flow_series(), &trace.flow_series),
        "link_series" => with.table(columns::link_series(), &trace.link_series),
        "events" => with.table(columns::events(), &trace.events[..]),
        "packets" => with.table(columns::packets(), &trace.packets[..]),
        "acks" => with.table(columns::acks(), &trace.acks[..]),
        "tcp_info" => with.table(columns::tcp_info(), &trace.tcp_info[..]),
        "probes" => with.table(columns::probes(), &trace.probes[..]),
        "datagrams" => with.table(columns::datagrams(), &trace.datagrams[..]),
        "hops" => with.table(columns::hops(), &trace.hops[..]),
        "host_series" => with.table(columns::host_series(), &trace.host_series[..]),
        _ => return Err(PyKeyError::new_err(format!("a trace has no table {name}"))),
    })
}
