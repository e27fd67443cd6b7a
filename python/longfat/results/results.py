"""Results of runs, as DataFrames.

The tables. Every column's name ends with its unit (`_s` seconds, `_bps` bit/s, `_bytes`); rates of flows count payload.
"Axes" are one column of text for each axis of the sweep, named and valued as in the experiment file; an axis of
numbers has a second, numeric column with its unit (`window` = "64 KiB", `window_bytes` = 65536;
`count` = "8", `count_number` = 8). Where an axis is a parameter of which the table has a column, too (`seed`, `queue`), that column
is called `run_seed`, `link_queue`; no other column's name can be that of an axis.

==============  ====================  =================================================================
table           a row is              columns
==============  ====================  =================================================================
`runs`          one run               run, axes, repeat, seed, every metric of the whole run, end_s, steps, warnings
`flows`         one flow of a run     run, axes, repeat, flow, group, counters, every metric of a flow
`links`         one link of a run     run, axes, repeat, link, name, counters, every metric of a link
`hosts`         one host of a run     run, axes, repeat, host, name, every metric of a host: of hosts that say something
`flow_series`   a flow, an instant    run, time_s, flow, cwnd_bytes, ssthresh_bytes, srtt_s ...
`link_series`   a link, an instant    run, time_s, link, backlog_packets, backlog_bytes ...
`events`        one event             run, time_s, kind, flow, link, seq_bytes
`packets`       one thing of a packet run, time_s, event, flow, direction, link, seq_bytes, ack_bytes, flags ...
`acks`          one ACK at a sender   run, time_s, flow, acked_bytes, sent_bytes, cwnd_bytes, ssthresh_bytes ...
`tcp_info`      one end, an instant   run, time_s, flow, end, every field of `TCP_INFO`: between real hosts
`probes`        one probe             run, time_s, direction, number, queue_delay_s ...: between real hosts
`hops`          one router            run, when, flow, ttl, address, rtt_s: between real hosts
`host_series`   one host, a second    run, time_s, host, cpu_system, qdisc_drops ...: between real hosts
==============  ====================  =================================================================

`run` is the hash of what the run resolved to. `longfat list metrics` says what each metric is and who defined it.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

from longfat._longfat import columns, quantity, registries
from longfat.errors import LongfatError
from longfat.lazy import np, pd
from longfat.results import adaptive, convergence, ellipse, frames, harm, repeats, sizes
from longfat.results.result import SERIES, Later, Result, TableName, cells_of, changed
from longfat.results.warning import DECLARED, RunWarning, of_facts, unmet
from longfat.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from longfat.plot import Plot


def add_quantities(table: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Adds, after each axis whose values are all numbers of one unit, a numeric column named with that unit."""
    for axis in axes:
        found = axis_quantity(axis, table[axis].unique())
        # An axis `rate` leaves the links their own `rate_bps`.
        if found and found[0] not in table.columns:
            table.insert(list(table.columns).index(axis) + 1, found[0], table[axis].map(found[1]))
    return table


def axis_quantity(axis: str, texts: Iterable[str]) -> tuple[str, dict[str, float]] | None:
    """The numeric column of an axis, and its number for each of the axis's values; None where they are not all numbers of one unit."""
    values = {text: quantity(text) for text in texts}
    units = {value[1] if value else None for value in values.values()}
    if len(units) != 1 or None in units:
        return None
    return f"{axis}_{units.pop()}", {text: value[0] for text, value in values.items() if value}


def quantities(table: pd.DataFrame, axes: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The columns that `add_quantities` made: each with its axis and unit. They stand right behind their axis."""
    columns = list(table.columns)
    behind = [(axis, columns[columns.index(axis) + 1]) for axis in axes]
    return {name: (axis, name.removeprefix(f"{axis}_")) for axis, name in behind if name not in axes and name.startswith(f"{axis}_")}


@dataclass
class Results(Sequence[Result]):
    """The finished runs of a sweep, in the sweep's order. The tables are described at the top of this module."""

    title: str
    """Title of the experiment."""
    axes: list[str]
    """Names of the axes, the slowest first."""
    runs: Later = Later()
    """One row per run: axes, repeat, seed, metrics."""
    flows: Later = Later()
    """One row per run and flow: axes, counters, metrics."""
    links: Later = Later()
    """One row per run and one-way link: axes, counters, metrics."""
    hosts: Later = Later()
    """One row per run and host of which the experiment says something: axes, metrics."""
    open: Callable[[str], Result]  # pyright: ignore[reportGeneralTypeIssues]
    """The run of this hash, with its series."""
    provenance: dict[str, Any] = field(default_factory=dict[str, Any])
    """Experiment, changes and version that made the runs; empty where they are not from a folder."""

    @classmethod
    def of(cls, title: str, axes: list[str], results: Sequence[Result], provenance: dict[str, Any]) -> Results:
        """Puts the tables of `results` together."""
        by_hash = {result.run: result for result in results}
        return cls(
            title=title,
            axes=axes,
            runs=add_quantities(_in_order("runs", pd.DataFrame([result.row() for result in results])), axes),
            flows=add_quantities(_stacked(results, "flows"), axes),
            links=add_quantities(_stacked(results, "links"), axes),
            hosts=add_quantities(_stacked(results, "hosts"), axes),
            open=by_hash.__getitem__,
            provenance=provenance,
        )

    def __repr__(self) -> str:
        runs = "1 run" if len(self) == 1 else f"{len(self):,} runs"
        over = f" over {', '.join(self.axes)}" if self.axes else ""
        return f"<longfat.Results {self.title!r}: {runs}{over}>"

    @property
    def quick(self) -> bool:
        """True if they are of the short form that the experiment's file has for `--quick`."""
        return "quick" in self.provenance.get("changes", {})

    @property
    def so_far(self) -> str:
        """How much of a sweep this is that is under way or was stopped, in words; empty where it is all of it."""
        facts = self.provenance.get("so_far")
        if not facts:
            return ""
        if facts["finished"] == facts["runs"] and not facts["under_way"]:
            return f"All {facts['runs']:,} runs of this sweep are finished, and its tables are not made yet: `longfat gather` does it."
        why = "it is still running" if facts["under_way"] else "it was stopped"
        cut = f", and {count(facts['cut'], 'run')} cut before the end" if facts.get("cut") else ""
        return f"{facts['finished']:,} of the {facts['runs']:,} runs of this sweep{cut}: {why}."

    @property
    def warnings(self) -> list[RunWarning]:
        """Warnings of the runs: each once, with the runs it is of (`docs/warnings.md`)."""
        found = [of_facts(facts) for facts in self.provenance.get("warnings", [])]
        # A short, changed or unfinished sweep may lack the runs that an expectation is about.
        is_whole = not self.provenance.get("changes") and not self.provenance.get("so_far")
        declared = [name for name, why in self.expected.items() if why == DECLARED]
        return [*found, *unmet(declared, found)] if is_whole else found

    @property
    def expected(self) -> dict[str, str]:
        """Names of warnings that are not printed, each with the reason: `expect` names them, or an axis varies what they judge."""
        return self.provenance.get("expected", {})

    def found(self) -> pd.DataFrame:
        """Value that a `[search]` found (`longfat.results.adaptive.found`). Raises LongfatError without one."""
        return adaptive.found(self)

    def without(self, runs: Collection[str]) -> Results:
        """Returns the results without the runs of these hashes."""
        tables = {name: getattr(self, name) for name in ("runs", "flows", "links", "hosts")}
        left = {name: table[~table["run"].isin(list(runs))] if len(table) else table for name, table in tables.items()}
        return replace(self, **{name: table.reset_index(drop=True) for name, table in left.items()}) if runs else self

    def means(self, level: float = repeats.LEVEL, *, by: Literal["run", "group"] = "run") -> pd.DataFrame:
        """Means over the repeats, with confidence intervals by Student's t (`longfat.results.repeats`).

        One row per combination of the axes, with `repeats`, and for each metric of the run its mean and, as `..._ci`, half of its two-sided
        interval. Rows per group: one per combination and group of flows; `goodput_bps` is then the sum over the group's flows, `share`
        its part of what all groups have together, and other metrics are means over its flows. Raises LongfatError for another word,
        and for a level not between 0 and 1.
        """
        if by not in ("run", "group"):
            raise LongfatError(f'by={by!r}: choose "run" or "group"')
        return repeats.means(self, level) if by == "run" else repeats.group_means(self, level)

    def ratio(self, first: str, second: str, metric: str = "goodput_bps", level: float = repeats.LEVEL) -> pd.DataFrame:
        """Ratio of `metric`: a flow of group `first` over a flow of group `second`.

        One row per combination of the axes: `repeats`, their geometric mean as `ratio`, and its interval `ratio_low` to `ratio_high`.
        Raises LongfatError for a group or a metric of flows that there is not.
        """
        return repeats.group_ratios(self, first, second, metric, level)

    def harm(self, group: str, *, axis: str, alone: str, metric: str = "goodput_bps", level: float = repeats.LEVEL) -> pd.DataFrame:
        """Harm to a flow of `group` by what is beside it: the share of `metric` that it loses against having the path to itself.

        `alone` is the value of `axis` in which nothing is beside it (`count = 0`). One row per combination of the axes: `repeats`, mean
        `harm` (0 is none, 1 is all) and as `harm_ci` half of its interval. Goodput and rates count by the share that is lost, delays,
        completion times and losses by the share that is added (Ware and others, HotNets 2019). Raises LongfatError for a name there is not.
        """
        return harm.table(self, group, metric, axis, alone, level)

    def convergence(
        self, *groups: str, delta: float = convergence.DELTA, over_s: float | None = None, level: float = repeats.LEVEL
    ) -> pd.DataFrame:
        """Delta-fair convergence time: from the last start until each of n flows has (1 ± delta)/n of what they have together.

        The flows are those of `groups`, or all with a goodput; rates are taken over `over_s` seconds, by default ten mean round trips of
        the slowest flow. One row per combination of the axes: `repeats`, how many `converged`, and of those the mean `convergence_s` and
        `convergence_rtts` (in least round trips), each with half of its interval (`..._ci`). Source: RFC 5166 section 2.3.3. Raises
        LongfatError without `measure.interval`, for fewer than two flows, and for a group that there is not.
        """
        return convergence.table(self, groups, delta, over_s, level)

    def ellipse(self, x: str = ellipse.DELAY, y: str = ellipse.GOODPUT) -> pd.DataFrame:
        """Trade-off of two metrics of the runs, by default mean wait at the bottleneck and total goodput: a normal distribution per path.

        One row per combination of the axes: `repeats`, `x_median`, `y_median`, `x_mean`, `y_mean`, `x_deviation`, `y_deviation` (divided
        by n) and `correlation`, NaN where one does not vary. Source: RFC 7928 section 2.7. Raises LongfatError for a metric there is not.
        """
        return ellipse.table(self, x, y)

    def by_size(self, edges: Sequence[float] = sizes.EDGES) -> pd.DataFrame:
        """Completion times and slowdowns of flows by their sizes, of traffic `flows`: those that began after the warmup and finished.

        One row per combination of the axes, group and class of sizes, which are above `above_bytes` and up to `up_to_bytes` of payload: how
        many `flows` of all repeats, `completion_mean_s` and its median, 95th and 99th percentile, `slowdown_p50` and `slowdown_p99`.
        `edges` are the sizes between classes, in bytes. Raises LongfatError where no run has such flows.
        """
        return sizes.by_size(self, edges)

    def to_latex(self, *metrics: str, level: float = repeats.LEVEL, by: Literal["run", "group"] = "run") -> str:
        """A table for LaTeX (booktabs): a row per combination of the axes that vary, and group where `by` says so; a column per metric.

        Each cell is the mean over the repeats, with half of its confidence interval where there are several: as many digits as that
        leaves, in the unit that fits the column. Without `metrics`, the total goodput, or by group its goodput. Raises LongfatError for a
        metric that `means` has not, and where jinja2 is not installed.
        """
        chosen = metrics or (("goodput_bps",) if by == "group" else ("goodput_total_bps",))
        from longfat.plot.latex import to_latex

        return to_latex(self, chosen, level, by)

    def repeats_needed(self, metric: str, within: float = 0.05, *, relative: bool = True, level: float = repeats.LEVEL) -> pd.DataFrame:
        """Number of repeats that make half of that interval at most `within`: of the mean, or where not `relative` in the metric's unit.

        One row per combination of the axes; `repeats_needed` is NaN where there are fewer than two repeats. Raises LongfatError.
        """
        return repeats.needed(self, metric, within, relative=relative, level=level)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        """A `Result`, or several for a slice."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        row = self.runs.iloc[index]
        # A run that was there before is kept with the labels of its time; those of now are in the table.
        return changed(self.open(row["run"]), labels={axis: str(row[axis]) for axis in self.axes}, repeat=int(row["repeat"]))

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.runs)

    @property
    def series(self) -> pd.DataFrame:
        """One row per run, flow and instant."""
        return self.table("flow_series")

    @property
    def events(self) -> pd.DataFrame:
        """One row per run and event."""
        return self.table("events")

    @property
    def packets(self) -> pd.DataFrame:
        """One row per run and thing that happened to a packet."""
        return self.table("packets")

    @property
    def acks(self) -> pd.DataFrame:
        """One row per run and ACK: the sender as it found it."""
        return self.table("acks")

    @property
    def tcp_info(self) -> pd.DataFrame:
        """One row per run, flow, end and instant: all of the kernel's `TCP_INFO`, between real hosts."""
        return self.table("tcp_info")

    @property
    def probes(self) -> pd.DataFrame:
        """One row per run and probe, between real hosts."""
        return self.table("probes")

    @property
    def datagrams(self) -> pd.DataFrame:
        """One row per run and datagram of a flow over UDP, of the first ones, between real hosts."""
        return self.table("datagrams")

    @property
    def hops(self) -> pd.DataFrame:
        """One row per run and router on the way to the far host, before the run and after it, between real hosts."""
        return self.table("hops")

    @property
    def host_series(self) -> pd.DataFrame:
        """One row per run, host and second: counters of the host, between real hosts."""
        return self.table("host_series")

    def table(self, name: TableName, *, axes: bool = False, form: frames.Form = "pandas") -> Any:
        """A table of all runs, as pandas, polars or Arrow.

        In series only `run` says which run a row is of, so that they stay small; with `axes`, the axes and the repeat stand beside it.
        Raises LongfatError for a name or a form that there is not, and where the library is not installed.
        """
        if name in ("runs", "flows", "links", "hosts"):
            made: pd.DataFrame = getattr(self, name)
        elif name in SERIES:
            made = _join([_with_run(result, getattr(result, name)) for result in self])
            made = frames.with_axes(self, made) if axes else made
        else:
            raise LongfatError(f"there is no table {name!r}: choose one of runs, flows, links, hosts, {', '.join(SERIES)}")
        return frames.in_form(made, form)

    def select(self, **axes: frames.Label | Iterable[frames.Label]) -> Results:
        """The runs with these values of axes: `results.select(control="bbr3", window=["1 MiB", "4 MiB"])`; also by `repeat`.

        A quantity may be written otherwise than in the file. Raises LongfatError where no run is left, or there is no such axis.
        """
        return frames.select(self, axes)

    def pivot(self, values: str = "goodput_total_bps", index: str | None = None, columns: str | None = None) -> pd.DataFrame:
        """A column of `runs`, its mean over repeats, by one or two axes: by default the first down and the second across.

        With `_ci` behind its name, as in `means`, half of the 95 % confidence interval of that mean (NaN for one repeat).

        Raises LongfatError for another name, and where a third axis has several values.
        """
        return frames.pivot(self, values, index, columns)

    def plot(self, metric: str = "goodput_total_bps") -> Plot:
        """A metric of the runs along the axes of the sweep, as the report has it; it shows itself in a notebook, and has `save`.

        Raises LongfatError where there is no such metric, or more axes than one figure shows.
        """
        from longfat.plot.sweeps import plot_of

        return plot_of(self, metric)

    def _repr_html_(self) -> str:
        from longfat.report.notebook import of_results

        return of_results(self)


def _stacked(results: Sequence[Result], name: str) -> pd.DataFrame:
    """A table of all runs, with the run and its axes before it.

    A column of its own with the name of an axis is called `flow_...` and so on.
    """
    tables = [(result, cells_of(result, name)) for result in results]
    filled = [(result, cells) for result, cells in tables if _rows(cells)] or tables[:1]
    # Many at a time: pandas takes longer for a table than for what is in it.
    forms: dict[tuple[Any, ...], list[tuple[Result, dict[str, Any]]]] = {}
    places: dict[tuple[Any, ...], list[int]] = {}
    start = 0
    for result, cells in filled:
        form, rows = (*result.labels, *((key, isinstance(column, list)) for key, column in cells.items())), _rows(cells)
        forms.setdefault(form, []).append((result, cells))
        places.setdefault(form, []).extend(range(start, start + rows))
        start += rows
    made = _in_order(name, _join([_together(some, name.removesuffix("s")) for some in forms.values()]))
    if len(forms) == 1:
        return made
    return made.iloc[np.argsort([place for some in places.values() for place in some])].reset_index(drop=True)


def in_order(table: str, names: Iterable[str]) -> list[str]:
    """Columns of a table in their order: what says which row it is of, what was recorded, what was made of that.

    The order does not depend on which run was the first with a column that not every run has.
    """
    known = _known(table)
    return sorted(names, key=lambda name: known.get(name, -1))


@cache
def _known(table: str) -> dict[str, int]:
    recorded = [column["name"] for column in columns()[table]] if table != "runs" else []
    made = [entry["name"] for entry in registries()["metrics"]]
    # The table `runs` also has the columns that `Result.row` puts behind the metrics.
    names = dict.fromkeys([*recorded, *made, *(("end_s", "steps", "warnings", "verdict", "control_from") if table == "runs" else ())])
    return {name: number for number, name in enumerate(names)}


def _in_order(name: str, table: pd.DataFrame) -> pd.DataFrame:
    ordered = in_order(name, table.columns)
    return table if ordered == list(table.columns) else table[ordered]


def _rows(cells: dict[str, Any]) -> int:
    return len(next(iter(cells.values()), ()))


def _together(some: list[tuple[Result, dict[str, Any]]], what: str) -> pd.DataFrame:
    """The rows of runs whose tables are of one form."""
    counts = [_rows(cells) for _, cells in some]
    keys = [result.key() for result, _ in some]
    columns: dict[str, Any] = {name: np.repeat(_array([key[name] for key in keys]), counts) for name in keys[0]}
    for name in some[0][1]:
        parts = [cells[name] for _, cells in some]
        whole = [cell for part in parts for cell in part] if isinstance(parts[0], list) else np.concatenate(parts)
        columns[f"{what}_{name}" if name in keys[0] else name] = whole
    return pd.DataFrame(columns)


def _array(values: list[Any]) -> Any:
    return np.array(values, object if isinstance(values[0], str) else None)


def _with_run(result: Result, table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([pd.Series(result.run, index=table.index, name="run", dtype="str"), table], axis=1)


def _join(tables: list[pd.DataFrame]) -> pd.DataFrame:
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else (tables[0] if tables else pd.DataFrame())
