"""Pages of the Python module's reference: which names stand on which; mkdocstrings writes what their docstrings say."""

from __future__ import annotations

import longfat

GROUPS = {
    "Experiments": ("load", "Experiment"),
    "Results": ("load_results", "Results", "Result", "RunWarning"),
    "Advice": ("advise", "Advice"),
    "The path behind numbers": ("fit_path", "Fit"),
    "The worst path": ("worst_path", "worst_path_of_queue", "worst_path_of_startup", "Worst"),
    "Report cards": ("evaluate_control", "evaluate_queue", "evaluate_startup", "Card"),
    "Stepping a run": ("Simulation", "Observation"),
    "Congestion controls": ("CongestionControl", "congestion_control", "Window", "Ack", "Congestion", "conformance", "Promise", "Promises"),
    "What there is": ("registries", "schema"),
    "Errors": ("LongfatError", "LostError", "ExperimentError", "StorageError"),
}
PLACES = {"advise": "longfat.advice.advise.advise"}
"""Names whose module is called as they are: mkdocstrings would take `longfat.advise` for it."""
MODULES = ("plot", "theory", "theory.probe", "capture", "explain", "fit", "gym", "paper")
WHOLE = "    options: { show_root_heading: false, heading_level: 2 }\n"
HEAD = "# longfat\n\nWhat `import longfat` gives. [Python](../python.md) has an example of each."


def pages() -> dict[str, str]:
    """The pages, by their paths. ValueError where a public name of longfat is on none."""
    missing = {name for name in longfat.__all__ if not name.startswith("__")} - {name for names in GROUPS.values() for name in names}
    if missing:
        raise ValueError(f"GROUPS in {__file__} has no place for {', '.join(sorted(missing))}")
    public = [
        f"## {title}\n\n" + "\n\n".join(f"::: {PLACES.get(name, f'longfat.{name}')}" for name in names) for title, names in GROUPS.items()
    ]
    modules = {f"docs/reference/{module}.md": f"# longfat.{module}\n\n::: longfat.{module}\n{WHOLE}" for module in MODULES}
    return {"docs/reference/longfat.md": "\n\n".join([HEAD, *public, ""]), **modules}
