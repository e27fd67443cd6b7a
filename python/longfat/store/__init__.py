"""Results at rest, in a folder or at a URL.

    experiment.toml provenance.json sweep.json SHA256SUMS runs.parquet flows.parquet links.parquet hosts.parquet    `top`
    shards/                 finished runs as rows of Parquet files, however many runs there are                     `shard`, `shards`
    journals/               the runs that each writer has finished since its last shard                             `journal`, `writer`

A finished run is kept as its whole trace, exactly (`finished`). Metrics are not in it: they are computed from it, and so a metric that
comes later has values for runs that were there before. The tables at the top are made from the runs (`combined`), and made anew when
metrics have changed.

Any number of processes write at once, each to a journal of its own, and a kill costs the run that is being written. Finished runs are never
written over or removed; `longfat.cli.prune` does that, when asked. `place` is where all this is kept.

Data that is read is checked. A damaged table at the top is made anew from the runs; a damaged run is put aside, and made again the next
time the experiment is run; anything else is a DamagedError. `docs/results-shards.md` describes the files.
"""

from longfat.store.files import FORMAT_VERSION
from longfat.store.place import Location, Url, location
from longfat.store.runs import Kept
from longfat.store.store import Store, finished_in, labelled
from longfat.store.top import TABLES
from longfat.store.writer import Writer

__all__ = ["FORMAT_VERSION", "TABLES", "Kept", "Location", "Store", "Url", "Writer", "finished_in", "labelled", "location"]
