"""A run over time: throughput, delay, windows, queues, drops and marks, and the stream itself."""

# Tables leave the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longfat.lazy import np
from longfat.plot.sequence import speed, time_sequence
from longfat.plot.spec import Axis, Plot, Series, floats
from longfat.plot.units import Unit, scaled, with_unit
from longfat.results.result import Result, cells_of, row_count, thinned

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
FEW_BYTES = 75_000
"""Bytes up to which one packet more in an interval is a rate that is seen to be above the link's: it is 2 % of them."""
LEAST_RATES = 20
"""Intervals that it has at least, where a round trip allows."""
MISFIT = 0.02
"""Part of an interval by which it may miss a whole number of round trips. A sender sends a burst per round trip: intervals that hold two
bursts or three in turn show a square wave which is none."""
ABOVE = 1.02
"""Part of the links' rate above which goodput is marked: it is more than they carry."""
SPEED_INTERVALS = 2000
"""Into which the time of a run is cut for its speed."""

Columns = Mapping[str, Any]
"""A table as its columns: a DataFrame takes longer to make than to draw."""


@dataclass(frozen=True)
class Rows:
    """Some rows of a table."""

    table: Columns
    numbers: Any

    def __getitem__(self, column: str) -> Any:
        return self.table[column][self.numbers]

    def __len__(self) -> int:
        return len(self.numbers)


Line = tuple[str, Rows]


def time_plots(result: Result, label: str = "", *, named: bool = True) -> Iterator[Plot]:
    """Yields a run's recordings over time. `label` stands in titles, the description of the run in captions if `named`."""
    (flows, of_flows), (links, of_links) = (thinned(result, name, MOST_ROWS) for name in ("flow_series", "link_series"))
    by_flow, of_run = _by(flows, "flow"), cells_of(result, "flows")
    some = list(by_flow)[:MOST_LINES]
    lines = [(flow_name(of_run, flow), by_flow[flow]) for flow in some]
    probes = {flow for flow, traffic in zip(of_run["flow"], of_run["traffic"], strict=True) if traffic == "ping"}
    tcp = [line for line, flow in zip(lines, some, strict=True) if flow not in probes]
    name = ", ".join(f"{axis} {value}" for axis, value in result.labels.items()) if named else ""
    left_out = f"the first {MOST_LINES} of {len(by_flow)} flows" if len(by_flow) > MOST_LINES else ""
    suffix = f" – {label}" if label else ""
    prefix = f"{re.sub('[^a-z]+', '-', label)}-" if label else ""

    def plot(id: str, title: str, y: str, unit: Unit, series: list[Series], note: str = left_out) -> Plot:
        made = in_unit(Plot(id, title, Axis("time (s)", start=0), Axis(y, start=0), series), unit)
        thin = of_links if id in ("queue", "drops", "marks") else of_flows
        parts = (name, note, f"One of {thin} samples" if thin > 1 else "")
        return replace(made, id=prefix + id, title=title + suffix, caption=". ".join(part for part in parts if part))

    if tcp:
        series, note = _goodput(result, of_run, by_flow, tcp)
        yield plot("goodput", "Goodput", "goodput (·, payload)", "bit/s", series, note)
    if lines:
        # Before the first sample there is none.
        rtt = [_line((name, Rows(rows.table, rows.numbers[rows["srtt_s"] > 0])), "srtt_s") for name, rows in lines]
        yield plot(
            "rtt",
            "Round-trip time" if probes else "Smoothed round-trip time",
            "srtt, or a ping's last (·)" if probes else "srtt (·)",
            "s",
            rtt,
        )
    if tcp:
        yield plot("cwnd", "Congestion window", "cwnd (·)", "iB", [_line(line, "cwnd_bytes") for line in tcp])
    by_link = _by(links, "link")
    queues = _queues(result, by_link, "backlog_packets")
    if queues:
        yield plot("queue", "Queue", "backlog (packets)", "1", queues, note="")
    for what, title in (("drops", "Drops"), ("marks", "Marks")):
        counted = _counted(result, by_link, what)
        if counted:
            yield plot(what, f"{title} in each interval", f"{title.lower()} (packets)", "1", counted, note="")
    if tcp:
        sequence = _sequence(tcp, cells_of(result, "events"))
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
    if not row_count(result, "packets"):
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
            who = flow_name(cells_of(result, "flows"), int(flow))
            for plot in (graph, rate):
                caption = ". ".join(part for part in (name, plot.caption) if part)
                yield replace(plot, title=f"{plot.title}: {who}{suffix}", caption=caption)
            shown += 1
            break
        if shown == MOST_SEQUENCES:
            return


def in_unit(plot: Plot, unit: Unit) -> Plot:
    """With the unit that fits the values, in the place of the dot in the title of `y`."""
    largest = max((float(np.nanmax(values)) for one in plot.series if len(values := _finite(one.y))), default=0.0)
    word, size = scaled(unit, largest)
    series = [replace(one, y=floats(np.asarray(one.y) / size)) for one in plot.series] if size != 1 else plot.series
    return replace(plot, y=replace(plot.y, title=plot.y.title.replace("·", word)), series=series)


def _finite(values: Any) -> Any:
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]


def _by(table: Columns, key: str) -> dict[int, Rows]:
    """Rows of each value of a column, in the order of the values."""
    if not len(table.get(key, ())):
        return {}
    order = np.argsort(table[key], kind="stable")
    values, starts = np.unique(table[key][order], return_index=True)
    return {int(value): Rows(table, part) for value, part in zip(values, np.split(order, starts[1:]), strict=True)}


def _line(line: Line, column: str) -> Series:
    name, rows = line
    return Series(name, floats(rows["time_s"]), floats(rows[column]), step=True)


def _goodput(result: Result, flows: Columns, by_flow: Mapping[int, Rows], tcp: list[Line]) -> tuple[list[Series], str]:
    """Bits delivered in each interval over its length: of each flow, or of each group where they are many; and of all. A note on them."""
    times, total = _total(list(by_flow.values()))
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    every = intervals(step, len(times), np.asarray(flows["rtt_min_s"], np.float64))
    note = f"Means over {every * step:.3g} s" if every > 1 else ""
    if len(by_flow) <= MOST_LINES:
        series = [_rate(name, rows["time_s"], rows["bytes_arrived"], every) for name, rows in tcp]
    else:
        groups: dict[str, list[Rows]] = {}
        for group, flow in zip(flows["group"], flows["flow"], strict=True):
            groups.setdefault(str(group), []).extend([by_flow[int(flow)]] if int(flow) in by_flow else [])
        series = [_rate(group, *_total(some), every) for group, some in list(groups.items())[:MOST_LINES]]
        note = ". ".join(part for part in ("The flows of a group together", note) if part)
    all_flows = replace(_rate("all", times, total, every), colour=6, dash=1)
    seconds = float(times[min(every, len(times) - 1)] - times[0]) if len(times) else 0.0
    if seconds and _finite(all_flows.y).max(initial=0.0) * seconds / 8 < FEW_BYTES:
        note = ". ".join(part for part in (note, "An interval counts whole packets: its rate may lie a packet above the link's") if part)
        return ([*series, all_flows] if len(series) > 1 else series), note
    above, why = _above(result, all_flows, list(by_flow.values()))
    return [*series, *([all_flows] if len(series) > 1 else []), *above], ". ".join(part for part in (note, why) if part)


def intervals(step_s: float, samples: int, trips_s: Any) -> int:
    """Number of samples per interval of a rate: about `MOST_RATES` intervals, each a whole number of every flow's round trips.

    Where no interval fits all of them within `MISFIT`, the one that fits best of those that leave `LEAST_RATES`.
    """
    trips = np.unique(np.round(trips_s[np.isfinite(trips_s) & (trips_s > 0)], 4)) if step_s > 0 else np.empty(0)
    least = max(1, round(samples / MOST_RATES))
    # Bursts of round trips that are much shorter than an interval are lost in it.
    trips = trips[trips > MISFIT * least * step_s]
    if not len(trips):
        return least
    candidates = np.arange(least, max(least, samples // LEAST_RATES) + 1)
    rounds = np.maximum(1, np.round(candidates[:, None] * step_s / trips))
    misfits = (np.abs(candidates[:, None] * step_s - rounds * trips) / (candidates[:, None] * step_s)).max(axis=1)
    fits = np.flatnonzero(misfits <= MISFIT)
    return int(candidates[fits[0] if len(fits) else int(misfits.argmin())])


def _above(result: Result, total: Series, flows: Sequence[Rows]) -> tuple[list[Series], str]:
    """Marks where all flows together get more than the bottlenecks carry, and words on it."""
    links = cells_of(result, "links")
    carried = float(np.asarray(links["rate_bps"], np.float64)[np.asarray(links["bottleneck"]) > 0].sum())
    x, y = np.asarray(total.x), np.asarray(total.y)
    over = y > ABOVE * carried
    if not carried > 0 or not over.any():
        return [], ""
    times, again = _summed(flows, "bytes_retransmitted")
    ends = np.append(x[1:], x[-1])
    # A repair reaches back by an interval: what it fills had been sent before.
    repaired = np.interp(ends, times, again) > np.interp(x - (ends - x), times, again)
    marks = [
        Series(name, floats(x[some]), floats(y[some]), line=False, colour=colour, marker=marker)
        for name, some, colour, marker in (("a repair delivers at once", over & repaired, 1, 4), ("above the link", over & ~repaired, 3, 5))
        if some.any()
    ]
    said = with_unit(carried, "bit/s")
    return marks, f"Marks: more than the {said} of the bottleneck arrived in an interval, since what had waited arrived together"


def _total(some: Sequence[Rows]) -> tuple[Any, Any]:
    """Times of these rows, each once, and how many bytes had arrived by then."""
    return _summed(some, "bytes_arrived")


def _summed(some: Sequence[Rows], column: str) -> tuple[Any, Any]:
    """Times of these rows, each once, and the sum of a column then."""
    times = np.concatenate([np.empty(0), *(rows["time_s"] for rows in some)])
    values = np.concatenate([np.empty(0), *(rows[column] for rows in some)])
    each, place = np.unique(times, return_inverse=True)
    return each, np.bincount(place, weights=np.nan_to_num(values), minlength=len(each))


def _rate(name: str, times: Any, arrived: Any, every: int) -> Series:
    """The rate in each `every` samples."""
    times, arrived = times[::every], arrived[::every]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.diff(arrived) * 8 / np.diff(times)
    # An interval's rate is held from its beginning to its end.
    return Series(name, floats(times), floats(np.append(rates, rates[-1:] if len(rates) else [np.nan] * len(times))), step=True)


def _fullest(result: Result, by_link: Mapping[int, Rows], column: str) -> Iterator[Line]:
    """Links by their names, with what was recorded of them, where a column has something: those with the longest queues first."""
    if not by_link:
        return
    links = cells_of(result, "links")
    shown = 0
    for number in np.argsort(-np.asarray(links["queue_max_packets"]), kind="stable"):
        rows = by_link.get(int(links["link"][number]))
        if rows is not None and rows[column].any() and shown < MOST_LINKS:
            shown += 1
            yield str(links["name"][number]), rows


def _queues(result: Result, by_link: Mapping[int, Rows], column: str) -> list[Series]:
    return [_line(line, column) for line in _fullest(result, by_link, column)]


def _counted(result: Result, by_link: Mapping[int, Rows], column: str) -> list[Series]:
    """Series of the increase in each interval, from a column that counts all so far."""
    found = _fullest(result, by_link, column)
    return [Series(name, floats(rows["time_s"]), floats(np.append(np.diff(rows[column]), 0.0)), step=True) for name, rows in found]


def flow_name(flows: Columns, flow: int) -> str:
    """The name of its group, with its number where the group has several."""
    whose = dict(zip(map(int, flows["flow"]), flows["group"], strict=True))
    members = [one for one, group in whose.items() if group == whose[flow]]
    return str(whose[flow]) if len(members) == 1 else f"{whose[flow]} {members.index(flow) + 1}"


def _sequence(lines: list[Line], events: Columns) -> list[Series]:
    series = [Series(name, floats(rows["time_s"]), floats(rows["bytes_arrived"])) for name, rows in lines]
    # The marks of ten flows cannot be read.
    if len(lines) > 2 or not len(events.get("flow", ())):
        return series
    mine = np.flatnonzero(np.isin(events["flow"], [rows["flow"][0] for _, rows in lines]))
    kinds = [events["kind"][number] for number in mine]
    for what, kind in (("drop", "dropped"), ("fast retransmit", "fast_retransmit"), ("timeout", "timeout")):
        # Drops have a kind for each reason.
        marks = mine[[one == kind or (what == "drop" and one.startswith(kind)) for one in kinds]]
        if len(marks):
            series.append(Series(what, floats(events["time_s"][marks]), floats(events["seq_bytes"][marks]), line=False))
    return series
