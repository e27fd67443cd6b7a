"""One finished run: its facts, and its tables, each made when it is asked for. `longfat.results.results` says what stands in them."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from longfat.errors import LongfatError
from longfat.lazy import pd
from longfat.results.provenance import of_run
from longfat.results.warning import RunWarning

if TYPE_CHECKING:
    from longfat._longfat import Column, Run, Table, Tables, Trace
    from longfat.plot import Plot

SeriesName = Literal["flow_series", "link_series", "events", "packets", "acks", "tcp_info", "probes", "datagrams", "hops", "host_series"]
TableName = Literal[
    "runs",
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
]
SERIES: tuple[SeriesName, ...] = (
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
)


@dataclass(frozen=True)
class Columns:
    """A table of a run as its trace gives it: a DataFrame takes longer to make than many a run, so it is made when it is asked for."""

    table: Table
    words: tuple[str, ...] = ()
    """Columns that hold words, which cannot be told where there are no rows."""

    def __call__(self) -> pd.DataFrame:
        """Makes the DataFrame."""
        made = any(len(column) for column in self.table.values())
        if made or not self.words:
            return pd.DataFrame(self.table)
        return _empty(tuple((name, "str" if name in self.words else _dtype(column)) for name, column in self.table.items())).copy()


@dataclass(frozen=True)
class ColumnsOfTrace:
    """Columns of a large table: it stays where the trace has it, which need not be in memory, until it is asked for."""

    trace: Trace
    name: SeriesName

    @property
    def table(self) -> Table:
        """Returns the whole table."""
        return self.trace.table(self.name)

    def __call__(self) -> pd.DataFrame:
        """Makes the DataFrame."""
        return pd.DataFrame(self.table)

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.table, WORDS[self.name])


class Later:
    """A table that may be given as what makes or reads it, and then is made when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, owner: object, _: type) -> pd.DataFrame:
        if owner is None:
            raise AttributeError  # so that the field has no default
        kept: Any = owner.__dict__[self._name]
        if callable(kept):
            kept = owner.__dict__[self._name] = kept()
        return kept

    def __set__(self, owner: object, table: pd.DataFrame | Callable[[], pd.DataFrame]) -> None:
        owner.__dict__[self._name] = table


@dataclass(frozen=True)
class Result:
    """One finished run."""

    run: str
    """Hash of what it resolved to."""
    title: str
    """Title of the experiment."""
    labels: dict[str, str]
    """The value of each axis, as in the file."""
    repeat: int
    """Number of the repeat, from 0."""
    seed: int
    """Seed of the run's random numbers."""
    metrics: dict[str, float]
    """Metrics of the whole run, by name."""
    resolved: str
    """The whole run as JSON: every default filled in."""
    warnings: list[RunWarning]
    """Warnings of the run; see `docs/warnings.md`."""
    end_s: float
    """Time at which the run ended, in virtual seconds."""
    steps: int
    """Events the simulator handled."""
    cost: float
    """The estimate of packets times links, made before the run."""
    wall_s: float
    """Time that the run took, by the clock."""
    cpu_s: float
    """CPU time that the run took."""
    flows: Later = Later()
    """One row per flow: counters, and every metric of a flow."""
    links: Later = Later()
    """One row per one-way link: counters, and every metric of a link."""
    hosts: Later = Later()
    """One row per host of which the experiment says something (`[[host]]`): every metric of a host."""
    flow_series: Later = Later()
    """Flows over time; no rows unless the experiment sets `measure.interval`."""
    link_series: Later = Later()
    """Links over time; no rows unless the experiment sets `measure.interval`."""
    events: Later = Later()
    """Drops, marks, retransmissions; no rows unless the experiment sets `measure.events`."""
    packets: Later = Later()
    """Events of each packet; no rows unless the experiment sets `measure.packets`."""
    acks: Later = Later()
    """Senders as each ACK finds them; no rows unless the experiment sets `measure.acks`."""
    tcp_info: Later = Later()
    """All of `TCP_INFO` at both ends of each flow over time; rows only between real hosts."""
    probes: Later = Later()
    """Probes beside the flows; rows only between real hosts."""
    datagrams: Later = Later()
    """Datagrams of flows over UDP, the first ones of each; rows only between real hosts."""
    hops: Later = Later()
    """Routers on the way to the far host, before the run and after it; rows only between real hosts."""
    host_series: Later = Later()
    """Counters of both hosts over time; rows only between real hosts."""
    provenance: dict[str, Any] = field(default_factory=dict[str, Any])
    """Provenance: results_version, backend, longfat (version, commit, code; in real time also the machine), finished."""
    verdict: str | None = None
    """Verdict on a run in real time: `valid`, `suspect` or `invalid`; `warnings` say why."""
    control_from: str | None = None
    """Origin of the congestion controls of a run in a kernel: `kernel`, `twin`, `policy`, or several."""
    real_time: dict[str, float] = field(default_factory=dict[str, float])
    """Exactness of a run in real time, by the names of docs/testbed.md."""

    def __repr__(self) -> str:
        where = ", ".join([*(f"{axis} = {label}" for axis, label in self.labels.items()), f"repeat {self.repeat}"])
        return f"<longfat.Result {self.title!r}: {where}, {self.end_s:g} s>"

    @property
    def series(self) -> pd.DataFrame:
        """Alias of `flow_series`."""
        return self.flow_series

    def plot(self, what: str = "goodput") -> Plot:
        """Plot of a recording over time: `goodput`, `rtt`, `cwnd`, `queue`, `drops`. Needs `measure.interval`. Raises LongfatError."""
        from longfat.plot.over_time import time_plots

        there = {plot.id: plot for plot in time_plots(self)}
        if what not in there:
            known = f"choose one of {', '.join(there)}" if there else "the experiment sets no measure.interval"
            raise LongfatError(f"this run has no figure {what!r}: {known}")
        return there[what]

    def row(self) -> dict[str, Any]:
        """Row of the run in the table of runs; a column of its own with the name of an axis is called `run_...`."""
        names = ", ".join(dict.fromkeys(warning.name for warning in self.warnings if warning.name))
        key, own = self.key(), {"seed": self.seed, **self.metrics, "end_s": self.end_s, "steps": self.steps, "warnings": names}
        own |= {name: word for name, word in (("verdict", self.verdict), ("control_from", self.control_from)) if word is not None}
        return key | {f"run_{name}" if name in key else name: value for name, value in own.items()}

    def key(self) -> dict[str, Any]:
        """The columns that say which run a row is of."""
        return {"run": self.run, **self.labels, "repeat": self.repeat}


WORDS: dict[str, tuple[str, ...]] = {
    "flows": (),
    "links": (),
    "hosts": ("name",),
    "flow_series": (),
    "link_series": (),
    "events": ("kind",),
    "packets": ("event", "direction", "flags", "ecn"),
    "acks": (),
    "tcp_info": ("end",),
    "probes": ("direction",),
    "datagrams": (),
    "hops": ("when", "address"),
    "host_series": ("host",),
}
"""The tables of a run, each with the columns of words that it has also where it has no rows."""


WITHOUT_SERIES = dict.fromkeys(SERIES, Columns({}))
"""Fields of a `Result` that is to leave out what can be large."""


def from_trace(run: Run, title: str, trace: Trace, wall_s: float, cpu_s: float) -> Result:
    """Turns the trace of `run.execute()` into DataFrames."""
    return of_trace(
        trace,
        trace.tables(),
        run=run.hash,
        title=title,
        labels=dict(run.labels),
        repeat=run.repeat,
        seed=run.seed,
        resolved=run.resolved,
        cost=run.cost,
        wall_s=wall_s,
        cpu_s=cpu_s,
        provenance=of_run(run),
    )


def of_trace(trace: Trace, tables: Tables, **facts: Any) -> Result:
    """A run from its trace, the tables that this gives, and `facts` about it; `also` are more warnings than those of the trace."""
    also: list[RunWarning] = facts.pop("also", [])
    warnings = [RunWarning(one["name"], one["text"], one["count"], (facts["run"],)) for one in tables["warnings"]]
    return Result(
        metrics=tables["metrics"],
        flows=Columns(tables["flows"], WORDS["flows"]),
        links=Columns(tables["links"], WORDS["links"]),
        hosts=Columns(tables["hosts"], WORDS["hosts"]),
        **{name: _series(trace, name) for name in SERIES},
        end_s=tables["end_s"],
        steps=tables["steps"],
        verdict=tables["verdict"],
        control_from=tables["control_from"],
        real_time=tables["real_time"],
        warnings=[*warnings, *also],
        **facts,
    )


def _series(trace: Trace, name: SeriesName) -> Columns | ColumnsOfTrace:
    _, pieces = trace.pieces(name)
    return Columns(trace.table(name), WORDS[name]) if pieces <= 1 else ColumnsOfTrace(trace, name)


def _dtype(column: Column) -> str:
    return "object" if isinstance(column, list) else str(column.dtype)


@cache
def _empty(columns: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns})


def changed(result: Result, **fields: Any) -> Result:
    """Copies a result with other fields, as `dataclasses.replace`, without making tables that nobody has asked for."""
    made = copy.copy(result)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def thinned(result: Result, name: Literal["flow_series", "link_series"], most: int) -> tuple[dict[str, Any], int]:
    """Columns of a series for those who draw it, and that it has one of so many samples: of one too large for memory about `most` rows."""
    columns = _columns(result, name)
    if isinstance(columns, ColumnsOfTrace) and (rows := columns.trace.pieces(name)[0]) > most:
        return dict(columns.trace.table(name, most)), math.ceil(rows / most)
    return dict(columns.table), 1


def row_count(result: Result, name: SeriesName) -> int:
    """Number of rows of a series, which is not made for that."""
    columns = _columns(result, name)
    return columns.trace.pieces(name)[0] if isinstance(columns, ColumnsOfTrace) else len(next(iter(columns.table.values()), ()))


def _columns(result: Result, name: str) -> Columns | ColumnsOfTrace:
    table: Columns | ColumnsOfTrace | pd.DataFrame = result.__dict__[f"_{name}"]
    if isinstance(table, pd.DataFrame):
        return Columns({str(key): table[key].to_numpy() for key in table.columns}, WORDS[name])
    return table


def cells_of(result: Result, name: str) -> dict[str, Any]:
    """The columns of a table of a run, by name."""
    return dict(_columns(result, name).table)
