"""Claims of papers about Copa and CDG, on runs."""

from __future__ import annotations

from pathlib import Path

import longfat
import pytest

# A path that loses one packet of a hundred at random.
LOSSY = """
title = "Random loss"
repeats = 3

[path]
preset = "dumbbell"
rtt = "40 ms"
bottleneck = { rate = "20 Mbit/s", loss = { kind = "bernoulli", probability = 1e-2 } }
edge = { rate = "1 Gbit/s" }

[[flow]]
congestion_control = { name = "control", sweep = ["reno", "cdg", "copa"] }
traffic = "bulk"

[measure]
duration = "40 s"
warmup = "10 s"
"""

# Two flows, and a buffer of 120 ms.
DEEP = """
title = "A deep buffer"

[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "200 packets" } }
edge = { rate = "1 Gbit/s" }

[[flow]]
congestion_control = { name = "control", sweep = ["reno", "copa"] }
traffic = "bulk"
count = 2

[measure]
duration = "40 s"
warmup = "10 s"
"""


def goodput(folder: Path, text: str) -> dict[str, float]:
    """Mean goodput of each control, in bit/s."""
    file = folder / "claims.toml"
    file.write_text(text, encoding="utf-8")
    runs = longfat.load(file).sweep(jobs=1).runs
    return {str(name): float(value) for name, value in runs.groupby("control")["goodput_total_bps"].mean().items()}


def test_random_loss_costs_copa_and_cdg_less_than_reno(tmp_path: Path) -> None:
    """Copa is robust to losses that are not congestion's (NSDI 2018, abstract); CDG tolerates them (Networking 2011, abstract)."""
    got = goodput(tmp_path, LOSSY)
    # Reno's window is sqrt(3 / (2 p)) segments, by Mathis and others 1997: 3.5 Mbit/s.
    assert got["reno"] == pytest.approx(3.5e6, rel=0.3)
    assert got["copa"] > 3 * got["reno"]
    assert got["cdg"] > 1.5 * got["reno"]


def test_copa_keeps_a_short_queue_where_reno_fills_it(tmp_path: Path) -> None:
    """Arun and Balakrishnan 2018, section 3: no more than 2.5 / delta segments of each flow, 5 here."""
    file = tmp_path / "queue.toml"
    file.write_text(DEEP, encoding="utf-8")
    rows = longfat.load(file).sweep(jobs=1).runs.to_dict("records")
    runs = {row["control"]: row for row in rows}
    # Ten segments of 1500 bytes are 6 ms on 20 Mbit/s.
    assert runs["copa"]["bottleneck_queue_delay_mean_s"] < 0.006
    assert runs["reno"]["bottleneck_queue_delay_mean_s"] > 0.03
    assert runs["copa"]["goodput_total_bps"] > 0.9 * runs["reno"]["goodput_total_bps"]
