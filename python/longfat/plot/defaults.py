"""Figures that make sense for any experiment: what came out along the axes of its sweep, and runs over time."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from longfat.plot.spec import Axis, Plot, Series
from longfat.results import Result, Results, quantities

MOST_LINES = 10
"""Lines of one plot that can still be told apart; more make another plot."""

UNITS = {"bytes": ("KiB", 1024.0), "s": ("ms", 1e-3), "bps": ("Mbit/s", 1e6), "number": ("", 1.0)}
"""What an axis of a unit is shown in, and how many of the base unit that is."""


def default_plots(results: Results) -> list[Plot]:
    """Everything below that has something to show."""
    plots = list(sweep_plots(results))
    plots += [plot for label, result in runs_to_show(results) for plot in time_plots(result, label)]
    return plots


def headline(results: Results) -> tuple[str, str]:
    """The column of throughput and what to call it: that of `ttcp` where every run has it, else the total goodput."""
    if results.runs["ttcp_utilization_bps"].notna().all():
        return "ttcp_utilization_bps", "slowest flow × flows (Mbit/s, payload)"
    return "goodput_total_bps", "total goodput (Mbit/s, payload)"


def sweep_plots(results: Results) -> Iterator[Plot]:
    """Throughput, utilization and unfairness along the numeric axis of most values, a line for each of the others'."""
    column = _numeric_axis(results)
    if column is None:
        return
    throughput, title = headline(results)
    several = (results.flows.groupby("run", sort=False).size() > 1).any()
    shown = [
        (throughput, "throughput", "Throughput", title, 1e-6),
        ("bottleneck_utilization", "utilization", "Utilization of the bottleneck link", "time busy (%)", 100.0),
    ]
    if several:
        shown.append(("unfairness", "fairness", "Deviation from fairness", "(fastest − slowest) / fastest (%)", 100.0))
    for name, id, what, y_title, scale in shown:
        yield from _along(results, column, name, id, what, y_title, scale)


def _along(results: Results, column: str, name: str, id: str, what: str, y_title: str, scale: float) -> Iterator[Plot]:
    axis, unit = quantities(results.runs, results.axes)[column]
    others = [other for other in results.axes if other != axis and results.runs[other].nunique() > 1]
    word, size = UNITS.get(unit, (unit, 1.0))
    x = Axis(f"{axis} ({word})" if word else axis)
    lines: list[Series] = []
    for key, group in _groups(results.runs, others):
        # Repeats of a point are averaged.
        mean = group.groupby(column)[name].mean().sort_index()
        values = [float(value) * scale for value in mean]
        if any(value == value for value in values):
            lines.append(Series(", ".join(key) or what, [float(at) / size for at in mean.index], values))
    parts = [lines[start : start + MOST_LINES] for start in range(0, len(lines), MOST_LINES)]
    for number, part in enumerate(parts, 1):
        suffix = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        yield Plot(
            id=f"{id}-{number}" if len(parts) > 1 else id,
            title=f"{what} against {axis}{suffix}",
            x=x,
            y=Axis(y_title, start=0),
            # Each part begins again with the first style.
            series=part,
            caption=f"Lines: {', '.join(others)}." if others else "",
        )


def _groups(runs: pd.DataFrame, by: list[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    if not by:
        yield (), runs
        return
    for key, group in runs.groupby(by, sort=False):
        yield tuple(str(part) for part in key), group


def _numeric_axis(results: Results) -> str | None:
    numeric = [c for c in quantities(results.runs, results.axes) if results.runs[c].nunique() > 1]
    return max(numeric, key=lambda c: results.runs[c].nunique(), default=None)


def runs_to_show(results: Results) -> list[tuple[str, Result]]:
    """The run itself; of a sweep, the one with the highest and the one with the lowest throughput."""
    if len(results) == 1:
        return [("", results[0])]
    values = results.runs[headline(results)[0]]
    if not values.notna().any():
        return [("first run", results[0])]
    best, worst = int(values.argmax()), int(values.argmin())
    return [("highest throughput", results[best]), ("lowest throughput", results[worst])]


def time_plots(result: Result, label: str = "") -> Iterator[Plot]:
    """Window, RTT, queue and sequence over the time of one run; none of what was not recorded."""
    name = ", ".join(f"{axis} {value}" for axis, value in result.labels.items())
    suffix = f" – {label}" if label else ""
    id = f"{re.sub('[^a-z]+', '-', label)}-" if label else ""
    time = Axis("time (s)", start=0)
    flows, links = result.flow_series, result.link_series
    some = sorted(flows["flow"].unique())[:MOST_LINES] if len(flows) else []
    lines = [(_flow_name(result.flows, flow), flows[flows["flow"] == flow]) for flow in some]
    probes = set(result.flows["flow"][result.flows["traffic"] == "ping"])
    tcp = [line for line, flow in zip(lines, some, strict=True) if flow not in probes]
    left_out = f"the first {MOST_LINES} of {flows['flow'].nunique()} flows" if len(flows) and flows["flow"].nunique() > MOST_LINES else ""
    caption = ". ".join(part for part in (name, left_out) if part)

    def plot(what: str, title: str, y: Axis, series: list[Series]) -> Plot:
        return Plot(id + what, title + suffix, time, y, series, caption)

    if tcp:
        cwnd = [Series(n, _list(table["time_s"]), _list(table["cwnd_bytes"], 1 / 1024), step=True) for n, table in tcp]
        yield plot("cwnd", "Congestion window", Axis("cwnd (KiB)", start=0), cwnd)
    if lines:
        rtt = [Series(n, _list(table["time_s"]), _list(table["srtt_s"], 1e3), step=True) for n, table in lines]
        yield plot(
            "rtt",
            "Round-trip time" if probes else "Smoothed round-trip time",
            Axis("srtt, or a ping's last (ms)" if probes else "srtt (ms)", start=0),
            rtt,
        )
    if tcp:
        yield plot("sequence", "Time-sequence graph", Axis("bytes delivered (MB)", start=0), _sequence(tcp, result.events))
    if len(links):
        busiest = result.links.nlargest(4, "queue_max_packets")
        queues = [
            Series(str(row["name"]), _list(table["time_s"]), _list(table["backlog_packets"]), step=True)
            for _, row in busiest.iterrows()
            if (table := links[links["link"] == row["link"]])["backlog_packets"].any()
        ]
        if queues:
            yield plot("queue", "Queue", Axis("backlog (packets)", start=0), queues)


def _flow_name(flows: pd.DataFrame, flow: int) -> str:
    """The name of its group, with its number where the group has several."""
    group = flows.loc[flows["flow"] == flow, "group"].iloc[0]
    members = list(flows["flow"][flows["group"] == group])
    return str(group) if len(members) == 1 else f"{group} {members.index(flow) + 1}"


def _sequence(lines: list[tuple[str, pd.DataFrame]], events: pd.DataFrame) -> list[Series]:
    series = [Series(name, _list(table["time_s"]), _list(table["bytes_delivered"], 1e-6)) for name, table in lines]
    # A time-sequence graph with the marks of ten flows cannot be read.
    if len(lines) > 2 or not len(events):
        return series
    flows: list[Any] = [table["flow"].iloc[0] for _, table in lines]
    mine = events[events["flow"].isin(flows)]
    for what, pattern in (("drop", "^dropped"), ("fast retransmit", "^fast_retransmit$"), ("timeout", "^timeout$")):
        marks = mine[mine["kind"].str.contains(pattern)]
        if len(marks):
            series.append(Series(what, _list(marks["time_s"]), _list(marks["seq_bytes"], 1e-6), line=False))
    return series


def _list(column: pd.Series, scale: float = 1.0) -> list[float]:
    return [float(value) * scale for value in column]
