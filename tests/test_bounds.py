"""Bounds that no metric may exceed, seen from outside: in the tables of runs, by the bounds that the registry states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import longfat
import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

HEAD = """
[path]
preset = "dumbbell"
rtt = "40 ms"
bottleneck = { rate = "20 Mbit/s", %s }
edge = { rate = "1 Gbit/s" }
"""
LOSSY = 'loss = { kind = "bernoulli", probability = 0.2 }'
BOUNDS = {entry["name"]: entry["bound"] for entry in longfat.registries()["metrics"] if "bound" in entry}
RUNS = {
    "one after the other": (HEAD % 'mtu = "1500 bytes"') + '[[flow]]\ncount = 20\nstagger = "290 ms"\n[measure]\nduration = "7 s"\n',
    "senders that take turns": (HEAD % 'mtu = "1500 bytes"')
    + '[[flow]]\ncount = 4\nstagger = "1 s"\ntraffic = { kind = "ttcp", volume = "1 MB" }\n[measure]\nduration = "20 s"\n',
    "short and lossy": (HEAD % LOSSY) + '[[flow]]\ncount = 40\nstop = "30 ms"\n[measure]\nduration = "1 s"\n',
    "a span of some ms": (HEAD % LOSSY)
    + '[[flow]]\ntraffic = { kind = "ttcp", volume = "300 kB" }\n[measure]\nduration = "60 s"\nwarmup = "350 ms"\n',
    "nothing delivered": (HEAD % 'mtu = "1500 bytes"')
    + '[[host]]\nname = "left"\ncpu = "100 MHz"\nsend_packet = "10000 cycles"\n'
    + '[[flow]]\n[measure]\nduration = "30 ms"\n',
    "udp": (HEAD % 'mtu = "1500 bytes"')
    + '[[flow]]\ntraffic = { kind = "udp", rate = "30 Mbit/s", size = "1000 bytes" }\n[measure]\nduration = "3 s"\nwarmup = "1 s"\n',
}


def test_every_metric_states_its_bounds() -> None:
    entries = longfat.registries()["metrics"]
    assert len(entries) > 50
    assert [entry["name"] for entry in entries if entry["name"] not in BOUNDS] == []
    # A share is one, and what is called goodput or a rate cannot be negative.
    assert {BOUNDS[name] for name in BOUNDS if name.endswith("_share")} == {(0.0, 1.0)}
    assert all(least >= 0 for name, (least, _) in BOUNDS.items() if name.endswith(("_bps", "_s", "_rate", "_bytes")))


@pytest.mark.parametrize("name", RUNS)
def test_no_metric_says_what_cannot_be(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(RUNS[name])
    result = longfat.load(str(file)).run()
    tables: list[pd.DataFrame] = [result.flows, result.links, result.hosts]
    seen = 0
    for metric, (least, most) in BOUNDS.items():
        columns = [table[metric].to_numpy(float) for table in tables if metric in table]
        values = np.concatenate([*columns, [result.metrics[metric]] if metric in result.metrics else []])
        values = values[~np.isnan(values)]
        seen += len(values)
        assert np.isfinite(values).all(), metric
        assert not np.any((values < least - 1e-9) | (values > most + 1e-9)), (metric, values)
    assert seen > 20
    # Payload is less than what the wire carries.
    assert not result.metrics["goodput_total_bps"] > 20e6


def test_packets_of_a_run_are_a_table_that_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "packets.toml"
    file.write_text((HEAD % LOSSY) + '[[flow]]\nname = "a"\n[[flow]]\nname = "b"\n[measure]\nduration = "300 ms"\npackets = "a"\n')
    results = longfat.load(str(file)).sweep(tmp_path / "results")
    packets = results[0].packets
    assert set(packets["event"]) == {"sent", "queued", "dropped_loss", "delivered"}
    assert set(packets["flow"]) == {0}
    assert set(packets["direction"]) == {"forward", "back"}
    assert packets["time_s"].is_monotonic_increasing
    first = packets.iloc[0]
    assert (first["event"], first["flags"], first["seq_bytes"], first["len_bytes"]) == ("sent", "S", 0, 0)
    # Every packet that was sent was delivered, dropped, or is on its way at the end.
    counts = packets["event"].value_counts()
    assert 0 <= counts["sent"] - counts["delivered"] - counts["dropped_loss"] < 60
    # SACKs tell of what was lost.
    assert packets["sack1_from_bytes"].notna().any()
    again = longfat.load_results(tmp_path / "results")[0].packets
    assert again.equals(packets)
    assert len(results.packets) == len(packets)
    assert set(results.packets["run"]) == {results[0].run}
