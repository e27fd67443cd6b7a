"""Tables of results, for the terminal and the report: runs, means over repeats, and hosts."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from rich.console import Console

from longfat.lazy import np, pd
from longfat.plot.units import of_column, with_half
from longfat.report.columns import Column, print_columns
from longfat.report.terminal import escape, number
from longfat.results import adaptive, repeats
from longfat.results.results import Results, quantities
from longfat.text import count

FIRST = (
    "slowdown_p99",
    "slowdown_p50",
    "completion_p50_s",
    "completion_p99_s",
    "ttcp_utilization_bps",
    "goodput_total_bps",
    "bottleneck_utilization",
    "flow_rtt_p95_s",
    "bottleneck_queue_delay_mean_s",
    "retransmission_rate",
    "limited by",
    "jain_index",
)
"""Metrics in the order in which they are asked for; the others follow in that of the registry."""

DETAILS = frozenset(
    {
        "goodput_deviation_bps",
        "stability",
        "completion_p95_s",
        "effective_throughput",
        "memory_fairness",
        "bottleneck_queue_delay_p50_s",
        "bottleneck_queue_delay_p95_s",
        "bottleneck_queue_delay_p99_s",
        "bottleneck_queue_delay_max_s",
        "flow_rtt_mean_s",
        "flow_rtt_p50_s",
        "flow_rtt_p99_s",
        "flow_rtt_max_s",
        "loaded_rtt_per_minute",
        "queue_delay_up_p50_s",
        "queue_delay_up_p99_s",
        "queue_delay_up_idle_p50_s",
        "queue_delay_down_p50_s",
        "queue_delay_down_p99_s",
        "queue_delay_down_idle_p50_s",
        "timer_error_p50_s",
        "timer_error_p99_s",
        "cwnd_limited_share",
        "rwnd_limited_share",
        "sndbuf_limited_share",
        "pacing_limited_share",
        "host_limited_share",
        "application_limited_share",
    }
)
"""Metrics that nearly every run has, and that a first look does without."""

LIMITED = "limited by"
"""The column of what the senders waited for most."""

FEW_GROUPS = range(2, 5)
"""Numbers of groups of flows whose goodputs are columns of the table of runs."""
OF_GROUP = " goodput_bps"
"""End of the names of these columns, behind the group's name: no metric has a space in its name."""


def print_results(console: Console, results: Results, *, details: bool = True) -> None:
    """The table of runs: axes, then the metrics in which they differ. Equal metrics, and those of a single run, are a list.

    Without `details`, `DETAILS` are left out, and a last line says how many.
    """
    console.print(f"[bold]{escape(results.title or str(results.provenance.get('experiment', '')))}[/]", soft_wrap=True)
    _print_table(console, *run_table(results, details=details), len(results.axes))
    titles, rows = mean_table(results, details=details)
    if rows:
        console.print("\n[bold]Means over the repeats[/], ± half of the 95 % confidence interval (Student's t)", soft_wrap=True)
        _print_table(console, titles, rows, len(results.axes))
    print_decision(console, results)
    if (streams := _streams(results)) > 1:
        console.print(f"  [dim]jain index: of senders, so the {streams} streams of one sender count as one[/]", soft_wrap=True)
    titles, rows = host_table(results)
    if rows:
        console.print("\n[bold]Each host[/]")
        _print_table(console, titles, rows, len(results.axes) + 1)
    left_out = [] if details else [name for name in results.runs if name in DETAILS and results.runs[name].notna().any()]
    if left_out:
        console.print(f"  [dim]{count(len(left_out), 'more metric')}, of delay and of what limits: --all[/]", soft_wrap=True)


def _streams(results: Results) -> int:
    """The most parallel streams that a sender of the first or the last run has."""
    ends = [results[place].flows for place in dict.fromkeys((0, len(results) - 1))]
    return max((int(flows["sender"].value_counts().max()) for flows in ends if len(flows)), default=1)


def print_runs(console: Console, runs: pd.DataFrame, axes: Sequence[str]) -> None:
    """Prints runs of several results; what they have in common is left out."""
    titles, rows = _table(runs, axes)
    shown = [i for i in range(len(titles)) if len({row[i] for row in rows}) > 1]
    columns = [Column(escape(titles[i]), [escape(row[i]) for row in rows], left=i < len(axes)) for i in shown]
    width = sum(i < len(axes) for i in shown)
    print_columns(console, columns[:width], columns[width:])


def print_decision(console: Console, results: Results) -> None:
    """Findings of an adaptive sweep (`[precision]`, `[search]`)."""
    for line in adaptive.lines(results):
        console.print(escape(line), soft_wrap=True)


def _print_table(console: Console, titles: list[str], rows: list[list[str]], width: int) -> None:
    differ = [i for i in range(width, len(titles)) if len({row[i] for row in rows}) > 1]
    if differ:
        shown = [*range(width), *differ]
        columns = [Column(escape(titles[i]), [escape(row[i]) for row in rows], left=i < width) for i in shown]
        print_columns(console, columns[:width], columns[width:])
    same = [i for i in range(len(titles)) if i not in differ and (i >= width or not differ)]
    if differ and same:
        console.print("  in all of them:")
    margin = max((len(titles[i]) for i in same), default=0)
    for i in same:
        console.print(f"  {escape(titles[i]):{margin}}  {escape(rows[0][i])}", soft_wrap=True)


def run_table(results: Results, *, details: bool = True) -> tuple[list[str], list[list[str]]]:
    """Titles and cells of the table of runs for people: axes, then metrics, in the units people use."""
    runs = with_groups(results).runs
    if not details:
        limits = limited_by(runs)
        runs = runs.drop(columns=[name for name in DETAILS if name in runs and name not in results.axes])
        if limits is not None and LIMITED not in runs:
            runs = runs.assign(**{LIMITED: limits})
    return _table(runs, results.axes)


def with_groups(results: Results) -> Results:
    """Adds the goodput of each group of flows to the runs, where there are two to four groups: the sum over its flows, after the total."""
    if results.flows.empty:
        return results
    runs, rates = results.runs, repeats.goodput_by_group(results).sum().unstack(sort=False)
    if rates.shape[1] not in FEW_GROUPS:
        return results
    more = copy(results)
    place = [*runs.columns].index("goodput_total_bps") + 1
    own = pd.DataFrame({f"{name}{OF_GROUP}": runs["run"].map(rates[name]) for name in rates})
    more.runs = pd.concat([runs.iloc[:, :place], own, runs.iloc[:, place:]], axis=1)
    return more


def limited_by(runs: pd.DataFrame) -> pd.Series | None:
    """Names what the senders of each run waited for most, and for how much of the time: `cwnd 98 %`. `None` where that was not recorded."""
    names = {f"{name}_limited_share": name for name in ("cwnd", "rwnd", "sndbuf", "pacing", "host", "application")}
    if not set(names) <= set(runs) or runs[[*names]].isna().all(axis=None):
        return None

    shares = runs[[*names]].to_numpy(float)
    words = list(names.values())
    most = np.nan_to_num(shares, nan=-1.0).argmax(axis=1)
    known = np.logical_not(np.isnan(shares).any(axis=1)).tolist()
    rows = zip(shares, most, known, strict=True)
    said = [f"{words[place]} {100 * row[place]:.0f} %" if is_known else "–" for row, place, is_known in rows]
    return pd.Series(said, index=runs.index)


def mean_table(results: Results, *, details: bool = True) -> tuple[list[str], list[list[str]]]:
    """Titles and cells of the means over repeats, where there are any: axes, how many, and mean ± half of the 95 % confidence interval."""
    if results.runs["repeat"].nunique() < 2:
        return [], []
    results = with_groups(results)
    table = results.means()
    shown = [name for name in repeats.metrics(results) if not table[name].isna().all() and (details or name not in DETAILS)]
    titles, columns = [*results.axes], [[str(value) for value in table[axis]] for axis in results.axes]
    titles.append("repeats")
    columns.append([number(value) for value in table["repeats"]])
    for name in shown:
        title, scale = _for_people(name, table[name])
        titles.append(title)
        pairs = zip(table[name] * scale, table[f"{name}_ci"] * scale, strict=True)
        columns.append([with_half(mean, half) if half > 0 else number(mean) for mean, half in pairs])
    return titles, [list(row) for row in zip(*columns, strict=True)]


def host_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Returns the table of hosts, where a run has several with bounded memory: for one alone, the table of runs says all."""
    hosts = results.hosts
    # An axis called `name` leaves the hosts' own column another name.
    name = "host_name" if "host_name" in hosts else "name"
    if hosts.empty or (hosts := hosts[hosts["memory_bytes"].notna()])[name].nunique() < 2:
        return [], []
    return _table(hosts, [*results.axes, name])


def _table(table: pd.DataFrame, axes: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    # Warnings are told in full below the table.
    hidden = {"run", "seed", "run_seed", "steps", "host", "warnings", *(() if table["repeat"].nunique() > 1 else ("repeat",))} - set(axes)
    twins = quantities(table, axes).keys()
    # A column without a single value (no probe, no second sender) says nothing.
    shown = [name for name in table.columns if name not in hidden | twins and (name in axes or not table[name].isna().all())]

    def place(name: str) -> int:
        name = "goodput_total_bps" if name.endswith(OF_GROUP) else name
        return FIRST.index(name) if name in FIRST and name not in axes else len(FIRST)

    # The columns that readers ask for most come first: they are in the first part of a table that is split for want of room.
    shown.sort(key=lambda name: (name not in axes, place(name)))
    titles: list[str] = []
    cells: list[list[str]] = []
    for name in shown:
        title, scale = (name, None) if name in axes else _for_people(name, table[name])
        titles.append(title)
        cells.append([number(value if scale is None or isinstance(value, str) else float(value) * scale) for value in table[name]])
    return titles, [list(row) for row in zip(*cells, strict=True)]


def _for_people(column: str, values: pd.Series) -> tuple[str, float]:
    """The title of a column with its unit, and what its values are multiplied by."""
    if column.endswith(OF_GROUP):
        word, size = of_column("bit/s", values)
        return f"{column.removesuffix(OF_GROUP)} goodput ({word})", 1 / size
    words = column.replace("_", " ")
    if column.endswith("_bps"):
        word, size = of_column("bit/s", values)
        return words.removesuffix("bps") + f"({word})", 1 / size
    if not column.endswith("_s"):
        return words, 1.0
    # Delays are milliseconds, the times of a run seconds.
    is_delay = "_delay_" in column or "rtt_" in column
    return words.removesuffix("s") + ("(ms)" if is_delay else "(s)"), 1e3 if is_delay else 1.0
