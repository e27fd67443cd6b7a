"""The path between two real hosts as its file has it, beside what the runs showed of it."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.lazy import pd
from longfat.plot.units import Unit, with_unit
from longfat.results.results import Results

TITLE = "Path"
COLUMNS = ["", "believed", "seen", "least", "most", "runs"]
NOTHING = "–"
NOTE = "A dash: the file leaves it open, or no run shows it. Rate and buffer show where a flow filled the path, loss where it was random."
"""Sentence below the table."""
MTU, HEADERS = 1500, 52
"""Bytes of a packet where its size is not known, and of IPv4 and TCP with timestamps in it."""
OTHERS = frozenset(("random loss", "policer", "active queue management", "congestion, by ECN"))
"""Causes of losses that say nothing of a plain buffer (`limited_by`)."""
RANDOM = "random loss"


def believed_table(results: Results, text: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: rate, base round trip, loss and buffer by direction. No rows where the file has no `[path]` or no `[live]`."""
    try:
        file = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return COLUMNS, []
    hosts = file.get("live", {}).get("host", [])
    if "path" not in file or len(hosts) != 2 or "base_rtt_before_s" not in results.runs:
        return COLUMNS, []
    near = next((host["name"] for host in hosts if host["at"] == "local"), hosts[0]["name"])
    far = next(host["name"] for host in hosts if host["name"] != near)
    believed = dict(_believed(text, near, far))
    return COLUMNS, [_row(name, unit, believed.get(name, math.nan), values) for name, unit, values in _seen(results, near)]


def _row(name: str, unit: Unit, believed: float, seen: pd.Series) -> list[str]:
    known = seen.dropna()

    def said(value: float) -> str:
        if math.isnan(value):
            return NOTHING
        return f"{value:.2g}" if unit == "1" else with_unit(value, unit, 3)

    ends = (known.median(), known.min(), known.max()) if len(known) else (math.nan,) * 3
    return [name, said(believed), *(said(float(value)) for value in ends), f"{len(known)} of {len(seen)}"]


def _seen(results: Results, near: str) -> Iterator[tuple[str, Unit, pd.Series]]:
    """Name, unit and a value per run of each quantity; NaN where a run does not decide it."""
    runs, flows = results.runs.set_index("run"), results.flows
    yield "base round trip", "s", runs["base_rtt_before_s"]
    for way in ("up", "down"):
        those = flows[(flows["from"] == near) == (way == "up")]
        if not len(those):
            continue
        causes = those.groupby("run")["limited_by"].agg(set).reindex(runs.index)
        lost = those.groupby("run")["bytes_retransmitted"].sum().reindex(runs.index) > 0

        def column(name: str) -> pd.Series:
            return runs[name] if name in runs else pd.Series(math.nan, runs.index)

        mtu = column(f"mtu_{way}_bytes").fillna(MTU)
        rate = column(f"path_goodput_{way}_bps") * mtu / (mtu - HEADERS)
        is_plain = lost & causes.map(lambda some: isinstance(some, set) and not some & OTHERS)
        is_random = causes.map(lambda some: some == {RANDOM})
        yield f"rate {way}", "bit/s", rate
        yield f"buffer {way}", "B", (rate * column(f"queue_delay_{way}_p99_s") / 8).where(is_plain)
        yield f"loss {way}", "1", (1 - column(f"tcp_efficiency_{way}")).where(is_random)


def _believed(text: str, near: str, far: str) -> Iterator[tuple[str, float]]:
    """Quantities of the path of the first run, as the simulator has it; none where the file cannot be simulated."""
    try:
        experiment = Experiment(text)
        experiment["backend"] = "sim"
        links = json.loads(experiment.resolve(0).resolved)["path"]["link"]
    except LongfatError:
        return
    ways = {"up": _route(links, near, far), "down": _route(links, far, near)}
    if not all(ways.values()):
        return
    yield "base round trip", sum(_number(link["delay"]) for way in ways.values() for link in way)
    for name, way in ways.items():
        slowest = min(way, key=lambda link: _number(link["rate"]))
        yield f"rate {name}", _number(slowest["rate"])
        if slowest["queue"]["kind"] == "droptail":
            yield f"buffer {name}", _number(slowest["queue"]["limit"])
        if all(link["loss"]["kind"] in ("none", "bernoulli") for link in way):
            yield f"loss {name}", 1 - math.prod(1 - link["loss"].get("probability", 0.0) for link in way)


def _number(text: str) -> float:
    found = quantity(text)
    return found[0] if found else math.nan


def _route(links: list[dict[str, Any]], start: str, end: str) -> list[Mapping[str, Any]]:
    """One-way links of the shortest way between two hosts; none where there is no way."""
    ways: dict[str, list[Mapping[str, Any]]] = {start: []}
    places = [start]
    for place in places:
        for link in links:
            back = {**link, **link.get("reverse", {})}
            for here, there, one in ((link["from"], link["to"], link), (link["to"], link["from"], back)):
                if here == place and there not in ways:
                    ways[there] = [*ways[place], one]
                    places.append(there)
    return ways.get(end, [])
