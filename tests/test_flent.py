"""Data files for Flent: worked out by hand, and opened by Flent where it is installed."""

from __future__ import annotations

import datetime
import gzip
import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from longfat.live import flent
from longfat.results import Result

BEGUN = datetime.datetime(2026, 11, 28, 3, 0, tzinfo=datetime.UTC)


def result(base: float = 0.040) -> Result:
    """2 s of a flow: 10 Mbit/s in the first, 20 Mbit/s in the second. Probes wait 3 ms up and 1 ms down, from second 0 on."""
    times = [step / 10 for step in range(21)]
    arrived = [1.25e6 * min(time, 1) + 2.5e6 * max(time - 1, 0) for time in times]
    probes = [
        {"time_s": at / 10 + 0.005, "direction": way, "queue_delay_s": (wait if at >= 0 else 0.0) if at != 5 else math.nan}
        for way, wait in (("up", 3e-3), ("down", 1e-3))
        for at in range(-10, 30)
        if (way, at) != ("down", 6)
    ]
    row = {"flow": 0, "snd_cwnd": 30, "rtt": 41_000, "pacing_rate": math.nan, "delivery_rate": 1.25e6}
    made = SimpleNamespace(
        end_s=2.0,
        series=pd.DataFrame({"time_s": times, "bytes_arrived": arrived}).sample(frac=1, random_state=1),
        probes=pd.DataFrame(probes),
        tcp_info=pd.DataFrame([{"time_s": 0.5, "end": "sender", **row}, {"time_s": 0.5, "end": "receiver", **row}]),
        real_time={"base_rtt_before_s": base},
    )
    return cast("Result", made)


def test_rates_and_round_trips_stand_at_their_times() -> None:
    data = flent.content({"up": result()}, "dtn", BEGUN)
    at = {x: place for place, x in enumerate(data["x_values"])}
    assert (len(at), data["x_values"][0], data["x_values"][-1]) == (20, 0.2, 4.0)
    rates, trips = data["results"]["TCP upload"], data["results"][flent.PING]
    # The flow begins at 1 s: a step before it is unknown.
    assert (rates[at[1.0]], rates[at[1.2]], rates[at[2.0]], rates[at[2.2]], rates[at[3.2]]) == (None, 10.0, 10.0, 20.0, None)
    assert (trips[at[0.4]], trips[at[2.0]]) == (40.0, 44.0)
    # The probes of 0.5 s did not arrive, and one of 0.6 s down neither: no probe down in the step from 1.6 s to 1.8 s but that of 0.7 s.
    assert trips[at[1.6]] == trips[at[1.8]] == 44.0
    assert data["raw_values"]["TCP upload"] == [
        {"t": 1.5, "tcp_cwnd": 30.0, "tcp_rtt": 41.0, "tcp_pacing_rate": None, "tcp_delivery_rate": 10.0}
    ]
    assert data["metadata"]["NAME"] == "tcp_upload"
    assert data["metadata"]["T0"] == "2026-11-28T03:00:00.000000Z"
    json.dumps(data, allow_nan=False)


def test_what_is_not_known_is_null() -> None:
    data = flent.content({"down": result(base=0.0)}, "dtn", BEGUN)
    assert set(data["results"]) == {"TCP download", flent.PING}
    assert set(data["results"][flent.PING]) == {None}
    without = cast("Any", result())
    without.probes = without.probes.iloc[:0]
    assert set(flent.content({"up": without}, "dtn", BEGUN)["results"][flent.PING]) == {None}


def test_each_run_has_a_file(tmp_path: Path) -> None:
    there = flent.names(tmp_path / "dtn.flent.gz")
    assert {phase: path.name for phase, path in there.items()} == {phase: f"dtn-{phase}.flent.gz" for phase in ("up", "down", "both")}
    flent.write(there["up"], {"up": result()}, "dtn", BEGUN)
    assert json.loads(gzip.decompress(there["up"].read_bytes())) == flent.content({"up": result()}, "dtn", BEGUN)


def test_both_directions_at_once_are_one_file() -> None:
    data = flent.content({"up": result(), "down": result()}, "dtn", BEGUN)
    assert data["metadata"]["NAME"] == "tcp_bidirectional"
    assert set(data["results"]) == {"TCP upload", "TCP download", flent.PING}
    assert (
        data["results"]["TCP upload"]
        == data["results"]["TCP download"]
        == flent.content({"up": result()}, "dtn", BEGUN)["results"]["TCP upload"]
    )
    assert set(data["raw_values"]) == set(data["metadata"]["SERIES_META"]) - {flent.PING}


@pytest.mark.skipif(shutil.which("flent") is None, reason="Flent is not installed (pip install flent)")
@pytest.mark.parametrize("phase", ["up", "down", "both"])
def test_flent_opens_it(tmp_path: Path, phase: str) -> None:
    file = flent.names(tmp_path / "dtn.flent.gz")[phase]
    flent.write(file, {one: result() for one in (("up", "down") if phase == "both" else (phase,))}, "dtn", BEGUN)
    print(subprocess.run(["flent", "--version"], capture_output=True, text=True, check=False).stdout)

    def shown(form: str) -> str:
        words = ["flent", "-i", str(file), "-f", form, "-o", str(tmp_path / form)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return (tmp_path / form).read_text()

    lines = shown("csv").splitlines()
    assert len(lines) == 21
    assert any("10.0" in line and "44.0" in line for line in lines), lines
    # Means, 99th percentiles and counts of what is known in `result`: 5 round trips of 40 ms, and 15 of 44 ms.
    summary = shown("summary")
    assert f"Summary of {flent.TESTS[phase]} test run" in summary
    found = dict(re.findall(r"^ (.+?) +: +(.+)$", summary, re.MULTILINE))
    flows = [flent.FLOWS[one] for one in (("up", "down") if phase == "both" else (phase,))]
    assert set(found) == {flent.PING, *flows}, summary
    for name, (mean, most, unit, count) in {flent.PING: (43, 44, "ms", 20), **dict.fromkeys(flows, (15, 20, "Mbits/s", 10))}.items():
        average, _, high, said, points = found[name].split()
        assert (float(average), float(high), said, int(points)) == (mean, most, unit, count), summary
