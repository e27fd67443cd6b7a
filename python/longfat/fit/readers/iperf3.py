"""Output of `iperf3 --json` and `iperf3 --json-stream`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longfat.errors import LongfatError
from longfat.fit.data import Measurement
from longfat.fit.readers.names import Names
from longfat.iperf3 import SUFFIXES, tests

FLOW = "measured"
"""Group of the flow that iperf3 was, in the general model of a path."""


def takes(path: Path) -> bool:
    """True for JSON, whole or one event per line."""
    return path.is_file() and path.suffix in SUFFIXES


def read(path: Path, _: Names) -> list[Measurement]:
    """Reads the tests of a file. Raises LongfatError for what is no TCP test of iperf3, failed, or was measured at the wrong end."""
    return [_read(told, path) for told in tests(path)]


def _read(told: dict[str, Any], path: Path) -> Measurement:
    try:
        return _measurement(told, str(path))
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, StopIteration) as error:
        version = told.get("start", {}).get("version", "unknown") if isinstance(told.get("start"), dict) else "unknown"
        raise LongfatError(
            f"{path}: expected a TCP test that `iperf3 --json` wrote (its version here: {version}): {type(error).__name__} {error}"
        ) from error


def _measurement(told: dict[str, Any], where: str) -> Measurement:
    start, end = told["start"], told["end"]
    test = start["test_start"]
    if test["protocol"] != "TCP":
        raise LongfatError(f"{where}: is a test of {test['protocol']}: expected TCP")
    senders = [stream["sender"] for stream in end["streams"]]
    if test.get("reverse") and not any(one.get("min_rtt") for one in senders):
        raise LongfatError(f"{where}: was measured with --reverse, so round trips are missing: run iperf3 on the sending host")
    omit = float(test.get("omit", 0))
    received, sent = end["sum_received"], end["sum_sent"]
    mss = int(start["tcp_mss_default"])
    setting = {
        f"flow.{name}": value
        for name, value in {
            "congestion_control": json.dumps(str(end.get("sender_tcp_congestion") or "cubic")),
            "streams": str(int(test["num_streams"])),
        }.items()
    }
    setting["measure.duration"] = f'"{float(test["duration"] or sent["seconds"]) + omit:g} s"'
    setting["measure.warmup"] = f'"{omit:g} s"'
    if window := int(start.get("sock_bufsize") or 0):
        setting["flow.window"] = f'"{window} bytes"'
    if cap := int(start.get("target_bitrate") or 0):
        raise LongfatError(f"{where}: was limited to {cap} bit/s by --bitrate: such a test tells little of the path")
    values = {f"{FLOW}.goodput_bps": float(received["bits_per_second"])}
    spreads: dict[str, float] = {}
    again, segments = float(sent.get("retransmits", 0)), max(1.0, float(sent["bytes"]) / mss)
    if "retransmits" in sent:
        share = min(1.0, again / (segments + again))
        values[f"{FLOW}.retransmit_share"] = share
        # Losses come in bursts: a count of n scatters by more than its root, and hosts count differently.
        spreads[f"{FLOW}.retransmit_share"] = max(0.3 * share, 3 * max(1.0, again) ** 0.5 / segments)
    for name, key, fold in (("rtt_min_s", "min_rtt", min), ("rtt_mean_s", "mean_rtt", _mean)):
        trips = [float(one[key]) for one in senders if one.get(key)]
        if trips:
            values[f"{FLOW}.{name}"] = fold(trips) / 1e6
    if not values[f"{FLOW}.goodput_bps"]:
        raise LongfatError(f"{where}: nothing arrived in this test")
    return Measurement(setting, values, spreads, where)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
