"""Claims of papers about Copa, CDG, Vivace and NV, on runs."""

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


VIVACE = """
title = "Vivace and random loss"
repeats = 2

[path]
preset = "dumbbell"
rtt = "30 ms"
bottleneck = { rate = "100 Mbit/s", loss = { kind = "bernoulli", probability = 1e-2 } }
edge = { rate = "1 Gbit/s" }

[[flow]]
congestion_control = { name = "control", sweep = ["vivace", "cubic"] }
recovery = "rack"
traffic = "bulk"

[measure]
duration = "30 s"
warmup = "10 s"
"""

NV = """
title = "NV in a data center"

[path]
preset = "dumbbell"
rtt = "200 us"
bottleneck = { rate = "1 Gbit/s", queue = { kind = "droptail", limit = "300 packets" } }
edge = { rate = "10 Gbit/s" }

[[flow]]
congestion_control = { name = "control", sweep = ["nv", "cubic"] }
traffic = "bulk"

[measure]
duration = "400 ms"
warmup = "200 ms"
"""


def test_vivace_bears_random_loss_that_stops_cubic(tmp_path: Path) -> None:
    """Its weight of 11.35 withstands 5 % (NSDI 2018, section 4.1, from memory): 1 % costs it little, where CUBIC has a tenth."""
    got = goodput(tmp_path, VIVACE)
    assert got["vivace"] > 0.7 * 100e6
    assert got["vivace"] > 10 * got["cubic"]


def test_nv_queues_no_more_than_its_pad_and_drops_nothing(tmp_path: Path) -> None:
    """At most `pad` segments of a flow are queued, 10 by default, and none is lost (LPC 2010, from memory)."""
    file = tmp_path / "nv.toml"
    file.write_text(NV, encoding="utf-8")
    results = longfat.load(file).sweep(jobs=1)
    links = results.links[results.links["name"] == "bottleneck>"].set_index("control")
    packets = results.runs.set_index("control")["bottleneck_queue_delay_mean_s"] / (1514 * 8 / 1e9)
    assert packets["nv"] <= 11
    assert packets["cubic"] > 20 * packets["nv"]
    assert links["drops_overflow"]["nv"] == 0
    assert links["drops_overflow"]["cubic"] > 0
