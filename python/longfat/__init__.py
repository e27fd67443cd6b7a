"""longfat simulates TCP on fast, long-distance paths.

    import longfat

    e = longfat.load("lfn")                    # a name, or the path of a TOML file
    e["flow.recovery"] = ["newreno", "sack"]   # a list is a sweep
    e["measure.duration"] = "20 s"
    results = e.sweep("results/mine")          # on all cores; the same again runs only what is missing
    results.pivot("goodput_total_bps")         # also select(...), plot(), and tables: runs, flows, links

`docs/python.md` has an example of everything.

`load` gives an `Experiment`; its `run()` a `Result`, its `sweep()` `Results`, whose tables are pandas DataFrames
described in `longfat.results`. `Simulation` steps a run, `CongestionControl` a congestion control by hand; `congestion_control` makes
a class of yours one, and `conformance` checks it. Whatever a user can cause raises a `LongfatError` that says what would be right.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longfat._longfat import Ack, Congestion, CongestionControl, Window, __version__, registries, schema
    from longfat.advice import Advice, advise
    from longfat.control import Promise, Promises, conformance, congestion_control
    from longfat.errors import ExperimentError, LongfatError, LostError, StorageError
    from longfat.evaluate import (
        Card,
        Worst,
        evaluate_control,
        evaluate_queue,
        evaluate_startup,
        worst_path,
        worst_path_of_queue,
        worst_path_of_startup,
    )
    from longfat.experiment import Experiment, load, load_results
    from longfat.fit import Fit, fit_path
    from longfat.results.result import Result
    from longfat.results.results import Results
    from longfat.results.warning import RunWarning
    from longfat.simulation import Observation, Simulation

__all__ = [
    "Ack",
    "Advice",
    "Card",
    "Congestion",
    "CongestionControl",
    "Experiment",
    "ExperimentError",
    "Fit",
    "LongfatError",
    "LostError",
    "Observation",
    "Promise",
    "Promises",
    "Result",
    "Results",
    "RunWarning",
    "Simulation",
    "StorageError",
    "Window",
    "Worst",
    "__version__",
    "advise",
    "conformance",
    "congestion_control",
    "evaluate_control",
    "evaluate_queue",
    "evaluate_startup",
    "fit_path",
    "load",
    "load_results",
    "registries",
    "schema",
    "worst_path",
    "worst_path_of_queue",
    "worst_path_of_startup",
]

# Loaded when they are asked for: the command must be there before what it stands on (see longfat.__main__).
_HOMES = {
    "longfat._longfat": ("Ack", "Congestion", "CongestionControl", "Window", "__version__", "registries", "schema"),
    "longfat.advice": ("Advice", "advise"),
    "longfat.evaluate": (
        "Card",
        "Worst",
        "evaluate_control",
        "evaluate_queue",
        "evaluate_startup",
        "worst_path",
        "worst_path_of_queue",
        "worst_path_of_startup",
    ),
    "longfat.control": ("Promise", "Promises", "conformance", "congestion_control"),
    "longfat.errors": ("ExperimentError", "LongfatError", "LostError", "StorageError"),
    "longfat.experiment": ("Experiment", "load", "load_results"),
    "longfat.fit": ("Fit", "fit_path"),
    "longfat.results.result": ("Result",),
    "longfat.results.results": ("Results",),
    "longfat.simulation": ("Observation", "Simulation"),
    "longfat.results.warning": ("RunWarning",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
        if home == f"longfat.{name}":
            return import_module(home)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
