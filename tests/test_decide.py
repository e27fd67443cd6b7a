"""Sweeps that decide: what they run, what they find, and that they go on where they stopped."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import longfat
import pytest
from longfat._longfat import Document, Run
from longfat.cli.app import app
from longfat.results.repeats import half_width
from longfat.sweep.adaptive import Decider
from longfat.sweep.work import Work
from typer.testing import CliRunner

PATH = """
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = LIMIT } }
edge = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
count = COUNT
start = { random = "uniform 0 s..200 ms" }
[measure]
duration = "2 s"
warmup = "500 ms"
"""
SEARCH = '[search]\naxis = "limit"\nmetric = "bottleneck_utilization"\nat_least = 0.9\n'
PRECISION = '[precision]\nmetric = "bottleneck_utilization"\nwithin = 0.02\n'


def text(head: str = "", limit: str = '"20 packets"', count: str = "1", tail: str = "") -> str:
    return head + PATH.replace("LIMIT", limit).replace("COUNT", count) + tail


def small(head: str = "repeats = 12\n", tail: str = SEARCH + PRECISION) -> str:
    limits = '{ between = ["1 packets", "64 packets"], ratio = 1.3 }'
    return text(head, limits, '{ sweep = [1, 3], name = "flows" }', tail)


class Steps:
    """Metrics that a test makes up: of each run by its place along the axis and its repeat."""

    def __init__(self, document: Document, values: Mapping[tuple[int, int, int], float]) -> None:
        self.values, self.asked = values, set[tuple[int, int, int]]()
        self.places = {document.run(n).hash: self._place(document, n) for n in range(document.run_count)}
        self.done: set[str] = set()

    @staticmethod
    def _place(document: Document, number: int) -> tuple[int, int, int]:
        flows, limit = document.choice(number // document.repeats)[::-1]
        return flows, limit, number % document.repeats

    def __call__(self, run: str) -> Any:
        return SimpleNamespace(metrics={"bottleneck_utilization": self.values[self.places[run]]}) if run in self.done else None

    def finish(self, decider: Decider) -> list[Run]:
        """Runs what is wanted until nothing more is."""
        rounds = 0
        while True:
            wanted = [decider.document.run(number) for number in decider.wanted(self)]
            if all(run.hash in self.done for run in wanted):
                return wanted
            self.done |= {run.hash for run in wanted}
            rounds += 1
            assert rounds < 100


def axes_of(document: Document) -> dict[str, int]:
    return {name: len(labels) for name, labels in document.axes}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("is_precise", [False, True])
def test_a_search_finds_what_running_everything_finds(seed: int, is_precise: bool) -> None:
    """Over metrics that rise along the axis, with noise that repeats tell apart."""
    document = Document(small(tail=SEARCH + (PRECISION if is_precise else "")), "x.toml")
    sizes = axes_of(document)
    draw = random.Random(seed)
    values: dict[tuple[int, int, int], float] = {}
    for flows in range(sizes["flows"]):
        middle = draw.uniform(-2, sizes["limit"] + 2)
        for limit in range(sizes["limit"]):
            mean = 0.9 + 0.05 * (limit - middle)
            for repeat in range(document.repeats):
                values[flows, limit, repeat] = mean + (-1) ** repeat * draw.uniform(0, 0.001)
    steps = Steps(document, values)
    decider = Decider(document)
    wanted = steps.finish(decider)
    assert len(wanted) <= decider.most < document.run_count
    for flows in range(sizes["flows"]):
        places = {steps.places[run.hash] for run in wanted}
        here = sorted({limit for f, limit, _ in places if f == flows})

        def mean(limit: int, flows: int = flows, places: set[tuple[int, int, int]] = places) -> float:
            some = [values[p] for p in places if p[:2] == (flows, limit)]
            return sum(some) / len(some)

        found = next((limit for limit in here if mean(limit) >= 0.9), None)
        all_means = [sum(values[flows, limit, r] for r in range(12)) / 12 for limit in range(sizes["limit"])]
        if all(abs(one - 0.9) > 0.002 for one in all_means):
            assert found == next((limit for limit, one in enumerate(all_means) if one >= 0.9), None)
        assert len(here) <= 2 + math.ceil(math.log2(sizes["limit"]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.04, 0.5])
def test_repeats_go_on_until_the_interval_is_narrow(seed: int, noise: float) -> None:
    document = Document(small(head="repeats = 30\n", tail=PRECISION).replace("ratio = 1.3", "points = 2"), "x.toml")
    draw = random.Random(seed)
    values = {(f, k, r): draw.gauss(1, noise) for f in range(2) for k in range(2) for r in range(30)}
    steps = Steps(document, values)
    wanted = steps.finish(Decider(document))
    for flows in range(2):
        for limit in range(2):
            repeats = sorted(r for f, k, r in (steps.places[run.hash] for run in wanted) if (f, k) == (flows, limit))
            assert repeats == list(range(len(repeats)))
            assert len(repeats) >= 3
            some = [values[flows, limit, r] for r in repeats]
            half, mean = half_width(some), sum(some) / len(some)
            assert half <= 0.02 * abs(mean) or len(repeats) == 30


def test_without_deciding_everything_is_wanted() -> None:
    document = Document(text("repeats = 3\n", '{ sweep = ["1 packets", "2 packets"] }'), "x.toml")
    decider = Decider(document)
    assert not decider.is_adaptive
    assert decider.most == 6
    assert list(decider.wanted(lambda _: None)) == list(range(6))


@pytest.mark.slow
def test_the_runs_are_ordinary_ones_however_it_is_run(tmp_path: Path) -> None:
    """In memory, in a folder, on an executor, and stopped on its way: the same runs with the same metrics."""
    experiment = longfat.Experiment(small())
    alone = experiment.sweep()
    assert len(alone.runs) < experiment.plans.most_runs < experiment.run_count
    assert alone.runs["run"].tolist() == experiment.sweep(tmp_path / "folder").runs["run"].tolist()
    with ThreadPoolExecutor(2) as workers:
        assert alone.runs.equals(experiment.sweep(tmp_path / "executor", executor=workers).runs)

    class Stop(Exception):
        pass

    def stop(work: Work) -> None:
        if work.done > 7:
            raise Stop

    with pytest.raises(Stop):
        experiment.sweep(tmp_path / "stopped", tick=stop)
    so_far = longfat.load_results(tmp_path / "stopped")
    assert 0 < len(so_far.runs) < len(alone.runs)
    assert "it was stopped" in so_far.so_far
    assert alone.runs.equals(experiment.sweep(tmp_path / "stopped").runs)
    assert not experiment.missing(tmp_path / "stopped")
    # All of it has the same runs, and more; what it finds is what the whole sweep has.
    whole = longfat.Experiment(small(tail="")).sweep()
    assert set(alone.runs["run"]) < set(whole.runs["run"])
    found = alone.found()
    assert found.columns.tolist() == ["flows", "limit", "bottleneck_utilization", "repeats", "before", "bottleneck_utilization_before"]
    for row in found.to_dict("records"):
        cell = whole.runs[(whole.runs["flows"] == row["flows"]) & (whole.runs["limit"] == row["limit"])]
        assert cell["bottleneck_utilization"].head(row["repeats"]).mean() == pytest.approx(row["bottleneck_utilization"])


def test_what_it_came_to_is_said(tmp_path: Path) -> None:
    file = tmp_path / "least.toml"
    file.write_text(small())
    run = CliRunner().invoke(app, ["run", str(file), "--results", str(tmp_path / "r")], env={"COLUMNS": "100"})
    assert run.exit_code == 0, run.output
    assert "then those that their results ask for" in run.output
    assert "First value of limit with bottleneck_utilization ≥ 0.9:" in run.output
    assert "flows 1: " in run.output
    assert "is known within 2 % of its mean after 3" in run.output
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "r" / "least")], env={"COLUMNS": "100"})
    assert "First value of limit" in shown.output


def test_where_no_value_reaches_the_bound_that_is_said() -> None:
    results = longfat.Experiment(small(head="", tail=SEARCH.replace("at_least = 0.9", "at_most = 0.01"))).sweep()
    assert results.found()["limit"].isna().all()
    # Both ends of each line, and no more.
    assert len(results.runs) == 4


def test_a_metric_without_a_value_is_said() -> None:
    tail = '[search]\naxis = "limit"\nmetric = "ping_rtt_mean_s"\nat_least = 0.1\n'
    with pytest.raises(
        longfat.LongfatError,
        match=r"ping_rtt_mean_s decides .* in the run with limit = 1 packets, flows = 1, repeat 0",
    ):
        longfat.Experiment(small(head="", tail=tail)).sweep()


def test_shards_refuse_it(tmp_path: Path) -> None:
    with pytest.raises(longfat.LongfatError, match=r"\[search\].*no shards"):
        longfat.Experiment(small(), name="least").sweep_shard(tmp_path, 1, 2)


def test_a_quick_form_is_what_workers_get(tmp_path: Path) -> None:
    """The text of a quick form is that of the quick form: a worker that parses it makes the same runs."""
    experiment = longfat.Experiment(text(tail='[quick]\n"measure.duration" = "1 s"\n'))
    experiment.quicken()
    with ThreadPoolExecutor(1) as workers:
        results = experiment.sweep(tmp_path, executor=workers)
    assert results.runs["end_s"].tolist() == [1.0]
