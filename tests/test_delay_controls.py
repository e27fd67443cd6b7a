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
