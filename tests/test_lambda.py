"""The paper on transatlantic lambdas: what its README says of bursts, slow start and cures, from runs of our own."""

from __future__ import annotations

import longfat
import pytest
from longfat import theory
from longfat.locate import paper_folder
from longfat.paper import Comparison, Measured, compare, load_paper, load_published

# Experiments that take a second or less, and the flows in their short form.
WHOLE = ("burst", "slow-start", "gaps", "equation1")
SHORT = ("stream", "cure-nic", "cure-pause", "upgraded-stall")


@pytest.fixture(scope="module")
def lines() -> dict[str, Comparison]:
    found: dict[str, longfat.Results] = {}
    for name in (*WHOLE, *SHORT):
        experiment = longfat.load(f"lambda/{name}")
        if name in SHORT:
            experiment.quicken()
        found[name] = experiment.sweep()
    folder = paper_folder("lambda")
    paper = load_paper(folder)
    return {line.id: line for line in compare(paper, load_published(folder), Measured(found))}


def ours(line: Comparison) -> float:
    assert isinstance(line.ours, float)
    return line.ours


def test_the_first_loss_is_where_equation_1_has_it(lines: dict[str, Comparison]) -> None:
    # Rates of IP, between the packets on the wire: 1028 of 1066 bytes at 1 Gb/s, and 1028 of 1056 at 599.04 Mb/s.
    fast, slow = 1e9 * 1028 / 1066, 599.04e6 * 1028 / 1056
    assert abs(ours(lines["2-first-loss"]) - theory.burst_packets(1028, fast, slow, 500e3)) < 3
    assert ours(lines["2-one-in-three"]) == pytest.approx(100 * (1 - slow / fast), abs=0.1)


def test_the_probe_finds_the_memory_and_the_block(lines: dict[str, Comparison]) -> None:
    assert ours(lines["2-memory"]) == pytest.approx(0.5, rel=0.01)
    assert lines["2-receiver-block"].verdict == "holds"


def test_a_window_that_doubles_loses_in_the_tenth_round(lines: dict[str, Comparison]) -> None:
    assert [ours(lines[id]) for id in ("3-window-before", "3-window-at-loss", "3-round")] == [512, 1024, 10]
    assert lines["3-slow-sender"].verdict == "holds"


def test_gaps(lines: dict[str, Comparison]) -> None:
    assert [lines[id].verdict for id in ("9-gap", "9-rate", "4-gap", "4-asymmetric")] == ["holds"] * 4


def test_cures_and_the_puzzle(lines: dict[str, Comparison]) -> None:
    # The upgraded channel: a reduction without a loss.
    assert lines["3-upgrade"].verdict == "holds"
    short = longfat.load("lambda/cure-pause")
    short.quicken()
    assert float(short.sweep().flows["packets_dropped"].sum()) == 0
