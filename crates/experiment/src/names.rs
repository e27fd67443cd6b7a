//! Names that an axis cannot have: columns of results that every reader of the tables relies on.
//!
//! Columns that only repeat the experiment (the seed, a link's queue) do not forbid a name, since an axis may well be that parameter. The
//! column of the table then takes the name of its row in front: `run_seed`, `link_queue`.

use longfat_record::metric;
use longfat_record::trace::columns;

/// Kind of rows of a table, the columns that every reader relies on, and the columns that step aside.
struct Rows {
    of: &'static str,
    keys: &'static [&'static str],
    asked: &'static [&'static str],
}

const TABLES: [Rows; 4] = [
    Rows { of: "run", keys: &["run", "repeat", "end_s", "steps", "warnings", "repeats"], asked: &["seed"] },
    Rows { of: "flow", keys: &["flow", "sender"], asked: &["group", "from", "to", "congestion_control", "traffic"] },
    Rows { of: "link", keys: &["link", "rate_bps"], asked: &["name", "from", "to", "queue", "bottleneck", "discard"] },
    Rows { of: "host", keys: &["host", "memory_bytes"], asked: &["name"] },
];

/// True if results have a column `name` that cannot step aside for an axis.
pub(crate) fn is_taken(name: &str) -> bool {
    let of_table = |Rows { of, keys, asked }: &Rows| {
        let aside = name.strip_prefix(of).and_then(|rest| rest.strip_prefix('_'));
        keys.contains(&name) || aside.is_some_and(|rest| asked.contains(&rest))
    };
    TABLES.iter().any(of_table)
        || metric::REGISTRY.iter().any(|metric| metric.name == name)
        || columns::flows().iter().any(|column| column.name == name)
        || columns::links().iter().any(|column| column.name == name)
}
