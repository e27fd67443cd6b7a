"""The native part: parses experiments and runs them. Private; `longfat` is the public face."""

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

__version__: str
FORMAT_VERSION: int
"""Version of the results folder's layout that this build writes, and the newest it reads."""
CODE: str
"""Fingerprint of the sources that decide what a run gives: another one may give other numbers."""
COMMIT: str
"""Git commit of the build, with `+` where the tree had changes; empty where there was no git."""

Column = NDArray[np.float64] | NDArray[np.int64] | list[str]
Table = dict[str, Column]

class Param(TypedDict):
    name: str
    kind: str
    default: str
    doc: str

class Entry(TypedDict):
    name: str
    summary: str
    source: str
    params: list[Param]

class Trace(TypedDict):
    metrics: dict[str, float]
    flows: Table
    links: Table
    flow_series: Table
    link_series: Table
    events: Table
    end_s: float
    steps: int
    warnings: list[str]

class Document:
    """An experiment file, parsed and checked."""

    def __new__(cls, text: str, file: str) -> Document:
        """Raises longfat.ExperimentError; `file` is for its messages."""
    title: str
    axes: list[tuple[str, list[str]]]
    """Name and values of each axis, as in the file; the last turns fastest."""
    run_count: int
    """How many runs there are: combinations that are not skipped, times the repeats."""
    def set(self, path: str, value: str) -> None:
        """Replaces the value at `path` (`flow[0].window`) by TOML, a word or a quantity; raises ExperimentError."""
    def quick(self) -> Document | None:
        """With what the file says under `quick` changed; None where it says nothing."""
    def run(self, index: int) -> Run:
        """Run `index` of `run_count`, resolved; raises longfat.ExperimentError."""

class Run:
    """One run, resolved."""

    labels: list[tuple[str, str]]
    """The value of each axis."""
    repeat: int
    seed: int
    hash: str
    """Of everything that decides the outcome, but the code."""
    resolved: str
    """All of it, as JSON."""
    cost: float
    """About how many packets pass how many links: proportional to the time the run takes."""
    def execute(self, progress: Callable[[float], object] | None = None) -> Trace:
        """Runs it without the GIL. `progress` hears the share done ten times a second; what it raises ends it."""

def registries() -> dict[str, list[Entry]]:
    """Everything that can be named in an experiment, and the metrics, by kind."""

def schema() -> str:
    """The JSON Schema of experiment files."""

def quantity(text: str) -> tuple[float, str] | None:
    """`"64 KiB"` as (65536.0, "bytes"), `"8"` as (8.0, "number"); None where the text is no number of a known unit."""
