"""Repeats of runs in real time: their order, their distance, and those that `--again` adds."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from longfat import load_results
from longfat.cli.app import app
from longfat.sweep.hashes import FORM
from longfat.sweep.plan import Items
from longfat.sweep.work import Work, perform
from typer.testing import CliRunner

FILE = """
title = "two windows"
repeats = 2
[path]
preset = "dumbbell"
rtt = "10 ms"
bottleneck = { rate = "10 Mbit/s" }
[[flow]]
start = { random = "uniform 0 ms..10 ms" }
window = { sweep = ["8 KiB", "16 KiB"] }
[measure]
duration = "100 ms"
"""


def items(count: int, repeats: int) -> Items:
    """Runs in real time, whose hashes are in no order."""
    rng = np.random.default_rng(3)
    digests = np.frombuffer(rng.bytes(32 * count * repeats), FORM)
    numbers = np.arange(count * repeats, dtype=np.uint64)
    return Items(numbers, digests, np.ones(len(numbers)), np.ones(len(numbers), np.bool_))


def test_each_repeat_is_whole_before_the_next_and_in_an_order_of_its_own() -> None:
    order = [item.number for item in items(8, 3).in_rounds(3)]
    assert sorted(order) == list(range(24))
    assert [number % 3 for number in order] == [0] * 8 + [1] * 8 + [2] * 8
    rounds = [[number // 3 for number in order[first : first + 8]] for first in (0, 8, 16)]
    assert len({tuple(one) for one in rounds}) == 3
    assert all(one != list(range(8)) for one in rounds)
    rest = items(8, 3).where(np.arange(24) % 4 != 0)
    assert [item.number for item in rest.in_rounds(3)] == [number for number in order if number % 4], "the same when it is resumed"


def done(spread_s: float, stop_after: float | None = None) -> list[tuple[int, float]]:
    """The repeats of four runs, two each, and when each began."""
    begun: list[tuple[int, float]] = []

    class One:
        def __init__(self, number: int) -> None:
            self.repeat, self.spread_s = number % 2, spread_s

        def execute(self, _: Any, watch: Any = None) -> Any:
            begun.append((self.repeat, time.monotonic()))
            return SimpleNamespace(lost=None, is_cut=False)

    work, start = Work("spread"), time.monotonic()
    work.begin(items(2, 2))
    waits: list[float] = []

    def tick(work: Work) -> None:
        waits.append(work.waits_s)
        if stop_after is not None and time.monotonic() - start > stop_after:
            raise KeyboardInterrupt

    try:
        perform(work, cast("Any", One), lambda *_: None, 1, tick, 2)
    except KeyboardInterrupt:
        assert stop_after is not None
    assert not spread_s or max(waits) > 0
    return begun


def test_repeats_begin_so_far_apart() -> None:
    begun = done(1.0)
    assert [repeat for repeat, _ in begun] == [0, 0, 1, 1]
    assert begun[2][1] - begun[0][1] >= 1.0
    assert [repeat for repeat, _ in done(0.0)] == [0, 0, 1, 1]


def test_a_wait_for_the_next_repeat_can_be_stopped() -> None:
    before = threading.active_count()
    assert [repeat for repeat, _ in done(3600.0, stop_after=0.3)] == [0, 0]
    assert threading.active_count() == before


def test_again_adds_repeats_and_keeps_the_finished_ones(tmp_path: Path) -> None:
    file, results = tmp_path / "two.toml", str(tmp_path / "results")
    file.write_text(FILE)

    def run(*more: str) -> str:
        made = CliRunner().invoke(app, ["run", str(file), "--results", results, *more])
        assert made.exit_code == 0, made.output
        return made.output

    def kept() -> set[tuple[str, int]]:
        table = load_results(tmp_path / "results" / "two").runs
        return {(str(row["run"]), int(row["repeat"])) for _, row in table.iterrows()}

    run()
    first = kept()
    assert len(first) == 4
    run("--again")
    second = kept()
    assert len(second) == 8
    assert first < second
    assert {repeat for _, repeat in second} == {0, 1, 2, 3}
    assert "all 8 runs are finished already" in run(), "the added ones stay"
    assert kept() == second
    run("--again")
    assert len(kept()) == 12
    refused = CliRunner().invoke(app, ["run", str(file), "--again", "--shard", "1/2"])
    assert refused.exit_code != 0


@pytest.mark.parametrize("text", ["[precision]\nmetric = 'goodput_total_bps'\nwithin = 0.1\nleast = 2\n"])
def test_results_that_decide_how_many_repeats_there_are_take_no_more(tmp_path: Path, text: str) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE + text)
    made = CliRunner().invoke(app, ["run", str(file), "--results", str(tmp_path / "results"), "--again"])
    assert made.exit_code != 0
    assert "how many repeats" in str(made.exception) + made.output
