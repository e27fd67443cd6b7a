"""Data files of flent: a transfer beside pings, over time (https://flent.org/data-file-format.html)."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from longfat.errors import LongfatError
from longfat.fit.data import Measurement
from longfat.fit.readers.names import Names

FLOW = "measured"
VERSIONS = range(3, 5)
"""Versions of the format that are read."""
ENDINGS = (".flent", ".flent.gz")


def takes(path: Path) -> bool:
    """True for a file that is called as flent calls its own."""
    return path.name.endswith(ENDINGS)


def read(path: Path, _: Names) -> list[Measurement]:
    """Reads uploads and pings of one test. Raises LongfatError for another version, and where no transfer is in it."""
    try:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        told: Any = json.loads(text)
        version = int(told["version"])
        results = cast("dict[str, list[float | None]]", told["results"])
        meta = cast("dict[str, Any]", told.get("metadata", {}))
        times = cast("list[float]", told["x_values"])
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise LongfatError(f"{path}: expected a data file of flent: {type(error).__name__} {error}") from error
    if version not in VERSIONS:
        raise LongfatError(f"{path}: is version {version} of flent's format: expected {VERSIONS.start} or {VERSIONS.stop - 1}")
    ups = [name for name in results if re.fullmatch(r"TCP upload( BE|::\d+|\d*)?", name)]
    if downs := [name for name in results if re.match(r"TCP download", name)]:
        raise LongfatError(f"{path}: has {downs[0]!r}: expected a test of uploads alone, such as tcp_nup")
    series = [_numbers(results[name]) for name in ups]
    if not series or not all(series):
        raise LongfatError(f"{path}: has no series 'TCP upload': expected a test of uploads, such as tcp_1up or tcp_nup")
    pings = _numbers(results.get("Ping (ms) ICMP") or results.get("Ping (ms)") or [])
    length = float(meta.get("LENGTH") or (max(times) - min(times)))
    # flent measures the idle path for DELAY seconds before and after: the ping's least is of the empty path.
    control = str(meta.get("TEST_PARAMETERS", {}).get("tcp_cong_control") or meta.get("CONG_CONTROL") or "cubic")
    setting = {
        "flow.congestion_control": json.dumps(control.split(",")[0]),
        "flow.streams": str(len(series)),
        "measure.duration": f'"{length:g} s"',
        "measure.warmup": '"0 s"',
    }
    values = {f"{FLOW}.goodput_bps": 1e6 * sum(fmean(one) for one in series)}
    if pings:
        values |= {f"{FLOW}.rtt_min_s": min(pings) / 1e3}
        loaded = [
            one
            for at, one in zip(times, results.get("Ping (ms) ICMP") or results["Ping (ms)"], strict=False)
            if one is not None and _busy(at, times, length)
        ]
        if loaded:
            values |= {f"{FLOW}.rtt_mean_s": fmean(loaded) / 1e3}
    return [Measurement(setting, values, {}, str(path))]


def _busy(at: float, times: list[float], length: float) -> bool:
    """True while the transfer runs: flent waits as long before it as after it."""
    idle = max(0.0, (max(times) - min(times) - length) / 2)
    return min(times) + idle <= at <= max(times) - idle


def _numbers(series: list[float | None]) -> list[float]:
    return [float(one) for one in series if one is not None and math.isfinite(one)]
