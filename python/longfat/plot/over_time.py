"""A run over time: throughput, delay, windows, queues, drops and marks, and the stream itself."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from longfat.lazy import np, pd
from longfat.plot.sequence import speed, time_sequence
from longfat.plot.spec import Axis, Plot, Series, floats
from longfat.plot.units import Unit, scaled
from longfat.results.result import Result, thinned

MOST_LINES = 10
"""Lines of one plot that can still be told apart; more make another plot."""
MOST_LINKS = 4
"""Queues shown: the fullest."""
MOST_SEQUENCES = 2
"""Flows whose packets are drawn."""
MOST_ROWS = 1_000_000
"""Rows of a series that are read to be drawn, about."""
MOST_RATES = 120
"""Intervals that a figure of throughput has at most, about."""
SPEED_INTERVALS = 2000
"""Into which the time of a run is cut for its speed."""

Line: TypeAlias = "tuple[str, pd.DataFrame]"


def time_plots(result: Result, label: str = "", *, named: bool = True) -> Iterator[Plot]:
    """Yields a run's recordings over time. `label` stands in titles, the description of the run in captions if `named`."""
    (flows, of_flows), (links, of_links) = (thinned(result, name, MOST_ROWS) for name in ("flow_series", "link_series"))
    some = sorted(flows["flow"].unique())[:MOST_LINES] if len(flows) else []
    by_flow: dict[Any, pd.DataFrame] = dict(iter(flows.groupby("flow"))) if len(flows) else {}
    lines = [(_flow_name(result.flows, flow), by_flow[flow]) for flow in some]
    probes = set(result.flows["flow"][result.flows["traffic"] == "ping"])
    tcp = [line for line, flow in zip(lines, some, strict=True) if flow not in probes]
    name = ", ".join(f"{axis} {value}" for axis, value in result.labels.items()) if named else ""
    left_out = f"the first {MOST_LINES} of {flows['flow'].nunique()} flows" if len(flows) and flows["flow"].nunique() > MOST_LINES else ""
    suffix = f" – {label}" if label else ""
    prefix = f"{re.sub('[^a-z]+', '-', label)}-" if label else ""

    def plot(id: str, title: str, y: str, unit: Unit, series: list[Series], note: str = left_out) -> Plot:
        made = _scaled(Plot(id, title, Axis("time (s)", start=0), Axis(y, start=0), series), unit)
        thin = of_links if id in ("queue", "drops", "marks") else of_flows
        parts = (name, note, f"One of {thin} samples" if thin > 1 else "")
        return replace(made, id=prefix + id, title=title + suffix, caption=". ".join(part for part in parts if part))

    if tcp:
        series, note = _goodput(result, flows, tcp)
        yield plot("goodput", "Throughput", "goodput (·, payload)", "bit/s", series, note)
    if lines:
        # Before the first sample there is none.
        rtt = [_line((name, table[table["srtt_s"] > 0]), "srtt_s") for name, table in lines]
        yield plot(
            "rtt",
            "Round-trip time" if probes else "Smoothed round-trip time",
            "srtt, or a ping's last (·)" if probes else "srtt (·)",
            "s",
            rtt,
        )
    if tcp:
        yield plot("cwnd", "Congestion window", "cwnd (·)", "iB", [_line(line, "cwnd_bytes") for line in tcp])
    queues = _queues(result, links, "backlog_packets")
    if queues:
        yield plot("queue", "Queue", "backlog (packets)", "1", queues, note="")
    for what, title in (("drops", "Drops"), ("marks", "Marks")):
        counted = _counted(result, links, what)
        if counted:
            yield plot(what, f"{title} in each interval", f"{title.lower()} (packets)", "1", counted, note="")
    if tcp:
        sequence = _sequence(tcp, result.events)
        yield plot(
            "sequence",
            "Data delivered, and when it was not" if len(tcp) <= 2 else "Data delivered",
            "offset in the stream (·)",
            "B",
            sequence,
        )
    yield from _packets(result, suffix, prefix, name)


def _packets(result: Result, suffix: str, prefix: str, name: str) -> Iterator[Plot]:
    """The time-sequence graph and the speed of the first flows that have packets."""
    if not len(result.packets):
        return
    shown = 0
    for flow in sorted(result.packets["flow"].unique()):
        for at in ("sender", "receiver", *result.links["name"]):
            try:
                graph = time_sequence(result, flow=int(flow), at=at, id=f"{prefix}packets-{flow}")
                times = graph.series[0].x
                over = max(1e-4, (max(times) - min(times)) / SPEED_INTERVALS)
                rate = speed(result, flow=int(flow), at=at, over_s=float(f"{over:.1g}"), id=f"{prefix}speed-{flow}")
            except ValueError:
                continue
            who = _flow_name(result.flows, int(flow))
            for plot in (graph, rate):
                caption = ". ".join(part for part in (name, plot.caption) if part)
                yield replace(plot, title=f"{plot.title}: {who}{suffix}", caption=caption)
            shown += 1
            break
        if shown == MOST_SEQUENCES:
            return


def _scaled(plot: Plot, unit: Unit) -> Plot:
    """With the unit that fits the values, in the place of the dot in the title of `y`."""
    largest = max((float(np.nanmax(values)) for one in plot.series if len(values := _finite(one.y))), default=0.0)
    word, size = scaled(unit, largest)
    series = [replace(one, y=floats(np.asarray(one.y) / size)) for one in plot.series] if size != 1 else plot.series
    return replace(plot, y=replace(plot.y, title=plot.y.title.replace("·", word)), series=series)


def _finite(values: Any) -> Any:
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]


def _line(line: Line, column: str) -> Series:
    name, table = line
    return Series(name, floats(table["time_s"]), floats(table[column]), step=True)


def _goodput(result: Result, flows: pd.DataFrame, tcp: list[Line]) -> tuple[list[Series], str]:
    """Bits delivered in each interval over its length: of each flow, or of each group where they are many; and of all. A note on them."""
    total = _group_total(flows)
    # Intervals shorter than a round trip show bursts and gaps, and no throughput.
    every = max(1, round(len(total) / MOST_RATES))
    note = f"Means over {_interval(total, every):.3g} s" if every > 1 else ""
    if flows["flow"].nunique() <= MOST_LINES:
        series = [_rate(line, every) for line in tcp]
    else:
        groups = result.flows.groupby("group", sort=False)["flow"].agg(list)
        parts = [(str(group), _group_total(flows[flows["flow"].isin(members)])) for group, members in groups.items()]
        series = [_rate(part, every) for part in parts[:MOST_LINES]]
        note = ". ".join(part for part in ("The flows of a group together", note) if part)
    all_flows = replace(_rate(("all", total), every), colour=6, dash=1)
    return ([*series, all_flows] if len(series) > 1 else series), note


def _interval(table: pd.DataFrame, every: int) -> float:
    times = table["time_s"].to_numpy()
    return float(times[min(every, len(times) - 1)] - times[0])


def _group_total(flows: pd.DataFrame) -> pd.DataFrame:
    return flows.groupby("time_s", sort=True)["bytes_arrived"].sum().reset_index()


def _rate(line: Line, every: int) -> Series:
    """The rate in each `every` samples."""
    name, table = line
    times, arrived = table["time_s"].to_numpy()[::every], table["bytes_arrived"].to_numpy()[::every]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.diff(arrived) * 8 / np.diff(times)
    # An interval's rate is held from its beginning to its end.
    return Series(name, floats(times), floats(np.append(rates, rates[-1:] if len(rates) else [np.nan] * len(times))), step=True)


def _fullest(result: Result, links: pd.DataFrame, worth: Callable[[pd.DataFrame], bool]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Links by their names, with what was recorded of them: those with the longest queues first."""
    if not len(links):
        return
    by_link = dict(iter(links.groupby("link")))
    shown = 0
    for row in result.links.sort_values("queue_max_packets", ascending=False, kind="stable").to_dict("records"):
        table = by_link.get(row["link"])
        if table is not None and worth(table) and shown < MOST_LINKS:
            shown += 1
            yield str(row["name"]), table


def _queues(result: Result, links: pd.DataFrame, column: str) -> list[Series]:
    found = _fullest(result, links, lambda table: bool(table[column].any()))
    return [Series(name, floats(table["time_s"]), floats(table[column]), step=True) for name, table in found]


def _counted(result: Result, links: pd.DataFrame, column: str) -> list[Series]:
    """Series of the increase in each interval, from a column that counts all so far."""
    made: list[Series] = []
    for name, table in _fullest(result, links, lambda table: bool(table[column].any())):
        counts = np.diff(table[column].to_numpy())
        made.append(Series(name, floats(table["time_s"]), floats(np.append(counts, 0.0)), step=True))
    return made


def _flow_name(flows: pd.DataFrame, flow: int) -> str:
    """The name of its group, with its number where the group has several."""
    group = flows.loc[flows["flow"] == flow, "group"].iloc[0]
    members = list(flows["flow"][flows["group"] == group])
    return str(group) if len(members) == 1 else f"{group} {members.index(flow) + 1}"


def _sequence(lines: list[Line], events: pd.DataFrame) -> list[Series]:
    series = [Series(name, floats(table["time_s"]), floats(table["bytes_arrived"])) for name, table in lines]
    # The marks of ten flows cannot be read.
    if len(lines) > 2 or not len(events):
        return series
    flows: list[Any] = [table["flow"].iloc[0] for _, table in lines]
    mine = events[events["flow"].isin(flows)]
    for what, pattern in (("drop", "^dropped"), ("fast retransmit", "^fast_retransmit$"), ("timeout", "^timeout$")):
        marks = mine[mine["kind"].str.contains(pattern)]
        if len(marks):
            series.append(Series(what, floats(marks["time_s"]), floats(marks["seq_bytes"]), line=False))
    return series
