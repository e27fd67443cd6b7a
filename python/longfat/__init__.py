"""longfat: a laboratory for TCP over long fat networks.

    import longfat

    e = longfat.load("ansnet/single-68ms")        # a name, or the path of a TOML file
    e["flow[0].window"] = ["64 KiB", "384 KiB"]   # a list is a sweep
    results = e.sweep("results/mine")             # on all cores; the same again runs only what is missing
    results.runs[["flow[0].window_bytes", "ttcp_utilization_bps"]]

`load` gives an `Experiment`; its `run()` a `Result`, its `sweep()` `Results`, whose tables are pandas DataFrames
described in `longfat.results`. `CongestionControl` steps a congestion control by
hand. Whatever a user can cause raises a `LongfatError` that says what would be right.
"""

from longfat._longfat import CongestionControl, __version__, registries, schema
from longfat.errors import ExperimentError, LongfatError, StorageError
from longfat.experiment import Experiment, load, load_results
from longfat.results import Result, Results

__all__ = [
    "CongestionControl",
    "Experiment",
    "ExperimentError",
    "LongfatError",
    "Result",
    "Results",
    "StorageError",
    "__version__",
    "load",
    "load_results",
    "registries",
    "schema",
]
