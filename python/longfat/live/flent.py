"""Measured directions as data files of Flent (https://flent.org/data-format.html), which its plots and its GUI open."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import datetime
import gzip
import json
import math
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longfat._longfat import __version__
from longfat.lazy import np

if TYPE_CHECKING:
    from longfat.results import Result

VERSION = 4
"""Format version of Flent 2.x."""
STEP_S = 0.2
"""Step of `x_values`, Flent's own default."""
IDLE_S = 1.0
"""Time for which probes cross the path before the flow, and after it."""
SUFFIX = ".flent.gz"
TESTS = {"up": "tcp_upload", "down": "tcp_download", "both": "tcp_bidirectional"}
"""Flent's test of a flow up, of one down, and of both at once."""
FLOWS = {"up": "TCP upload", "down": "TCP download"}
"""Flent's series of a flow."""
PING = "Ping (ms) ICMP"
NOTE = f"measured by longfat {__version__}; {PING!r} is the idle round trip plus the waits of UDP probes in both directions"


def names(file: Path) -> dict[str, Path]:
    """The file of each run: `dtn.flent.gz` becomes `dtn-up.flent.gz`, `dtn-down.flent.gz` and `dtn-both.flent.gz`."""
    stem = file.name.removesuffix(SUFFIX)
    return {phase: file.with_name(f"{stem}-{phase}{SUFFIX}") for phase in TESTS}


def write(file: Path, results: Mapping[str, Result], host: str, begun: datetime.datetime) -> None:
    """Writes a run that began at `begun`, by its directions. OSError where that is not possible."""
    data = json.dumps(content(results, host, begun), allow_nan=False).encode()
    file.write_bytes(gzip.compress(data, mtime=0))


def content(results: Mapping[str, Result], host: str, begun: datetime.datetime) -> dict[str, Any]:
    """The data file of a run: rates in Mbit/s of payload, round trips in ms, null where nothing is known. Flows begin at 1 s."""
    result = next(iter(results.values()))
    test = TESTS["both" if len(results) > 1 else next(iter(results))]
    length = result.end_s + 2 * IDLE_S
    edges = np.arange(0, length + STEP_S / 2, STEP_S)
    rates = {FLOWS[direction]: _known(_rates(one, edges)) for direction, one in results.items()}
    time = f"{begun.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {
        "version": VERSION,
        "x_values": [round(float(edge), 6) for edge in edges[1:]],
        "results": {**rates, PING: _known(_round_trips(result, edges))},
        "raw_values": {FLOWS[direction]: _raw(one) for direction, one in results.items()},
        "metadata": {
            "NAME": test,
            "TITLE": "",
            "HOST": host,
            "HOSTS": [host],
            "LOCAL_HOST": platform.node(),
            "LENGTH": round(result.end_s),
            "TOTAL_LENGTH": round(length),
            "STEP_SIZE": STEP_S,
            "TIME": time,
            "T0": time,
            "NOTE": NOTE,
            "KERNEL_NAME": platform.system(),
            "KERNEL_RELEASE": platform.release(),
            "SERIES_META": {**{flow: {"UNITS": "Mbits/s"} for flow in rates}, PING: {"UNITS": "ms"}},
        },
    }


def _rates(result: Result, edges: Any) -> Any:
    """Payload that arrived in each step, in Mbit/s; NaN for a step that reaches beyond the samples."""
    series = result.series.sort_values("time_s")
    times, arrived = series["time_s"].to_numpy() + IDLE_S, series["bytes_arrived"].to_numpy(dtype=float)
    return 8e-6 * np.diff(np.interp(edges, times, arrived, left=math.nan, right=math.nan)) / STEP_S


def _round_trips(result: Result, edges: Any) -> Any:
    """Idle round trip plus the mean waits of the probes in each step, in ms; NaN where a direction has none."""
    total = np.full(len(edges) - 1, 1e3 * (result.real_time["base_rtt_before_s"] or math.nan))
    probes = result.probes.dropna(subset=["queue_delay_s"])
    for direction in FLOWS:
        those = probes[probes["direction"] == direction]
        at, waits = those["time_s"].to_numpy() + IDLE_S, 1e3 * those["queue_delay_s"].to_numpy()
        count, _ = np.histogram(at, edges)
        waited, _ = np.histogram(at, edges, weights=waits)
        total += np.divide(waited, count, out=np.full(len(count), math.nan), where=count > 0)
    return total


def _raw(result: Result) -> list[dict[str, float | None]]:
    """Samples of the sender, under the names and in the units that Flent gives the output of `ss`."""
    rows = result.tcp_info[result.tcp_info["end"] == "sender"]
    columns = {
        "t": rows["time_s"].to_numpy() + IDLE_S,
        "tcp_cwnd": rows["snd_cwnd"].to_numpy(dtype=float),
        "tcp_rtt": rows["rtt"].to_numpy(dtype=float) / 1e3,
        "tcp_pacing_rate": 8e-6 * rows["pacing_rate"].to_numpy(dtype=float),
        "tcp_delivery_rate": 8e-6 * rows["delivery_rate"].to_numpy(dtype=float),
    }
    known = {name: _known(values) for name, values in columns.items()}
    return [dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True)]


def _known(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 6) for value in values]
