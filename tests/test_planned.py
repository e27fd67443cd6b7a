"""Plans of sweeps: they say the same of each run as when it is resolved, and take little memory."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ONE, SWEEP
from longfat import Experiment, ExperimentError
from longfat._longfat import Document
from longfat.experiment import before
from longfat.results.provenance import spans
from longfat.sweep import plan as planned
from longfat.sweep.plan import AT_ONCE, Plan

REPEATED = f"repeats = 4\nseed = 3\n{SWEEP}"
# Windows far below the path, so that there is something to warn of, and two that are the same.
WARNED = (
    REPEATED.replace('"8 KiB"', '"2 KiB", "2048 bytes", "8 KiB"').replace("20 ms", "200 ms").replace('volume = "500 kB"', 'volume = "5 MB"')
)


@pytest.mark.parametrize("text", [SWEEP, REPEATED, WARNED])
def test_a_plan_says_of_each_run_what_resolving_it_says(text: str) -> None:
    experiment = Experiment(text)
    runs, plan = experiment.resolve_all(), experiment.plans.plan()
    assert [tuple(item) for item in plan.every] == [(run.index, run.hash, run.cost, run.is_real_time) for run in runs]
    assert [(run.index, run.hash, run.labels, run.repeat) for run in plan.named] == [
        (run.index, run.hash, run.labels, run.repeat) for run in runs
    ]
    assert list(plan.items.hashes) == list(dict.fromkeys(run.hash for run in runs))
    assert (plan.seeds.tolist(), plan.backends) == (sorted({run.seed for run in runs}), ["sim"])
    assert experiment.warnings == before(runs)
    assert experiment.warnings


# A start that is drawn is another in each repeat.
DRAWN = REPEATED.replace("traffic =", 'start = { random = "uniform 0 s..500 ms" }\ntraffic =')


@pytest.mark.parametrize("text", [REPEATED, REPEATED.replace("seed = 3", "seed = 1"), DRAWN])
def test_runs_can_be_planned_in_any_order(text: str) -> None:
    document = Document(text, "x.toml")
    # Repeats before and after the one that was resolved, and the seed that is the default.
    numbers = [11, 0, 7, 7, 4, 3, 2, 0, 1]
    plan, runs = Plan.of(document, numbers), [document.run(number) for number in numbers]
    assert list(plan.every.hashes) == [run.hash for run in runs]
    assert plan.every.costs.tolist() == [run.cost for run in runs]
    assert plan.seeds.tolist() == sorted({run.seed for run in runs})
    with pytest.raises(IndexError):
        document.plan([12])


def test_a_run_that_cannot_be_is_told_of_by_its_labels() -> None:
    with pytest.raises(ExperimentError, match="window = 64 KiB"):
        Experiment(
            SWEEP.replace("count = 2", 'count = 2\nmss = { zip = "z", sweep = ["1000 bytes", "1000 bytes", "9000 bytes"] }').replace(
                '{ sweep = ["8 KiB"', '{ zip = "z", sweep = ["8 KiB"'
            )
        ).plans.plan()


def test_items_are_sorted_and_sifted() -> None:
    items = Experiment(REPEATED).plans.plan().items
    longest = items.longest_first()
    assert [item.cost for item in longest] == sorted((item.cost for item in items), reverse=True)
    assert sorted(longest) == sorted(items)
    some = set(list(items.hashes)[3:7])
    assert [item for item in items if item.hash not in some] == list(items.without(some))
    assert items.without(set()) == items != items.first(3)
    assert [*items.first(5), *items.after(5)] == list(items)
    assert items[4] == list(items)[4]


def test_the_first_fault_of_a_sweep_is_told_of_whichever_is_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores plan stretches of it at once."""
    monkeypatch.setattr(planned, "AT_ONCE", 2)
    monkeypatch.setattr(planned, "default_jobs", lambda: 4)
    # No segment of 9000 bytes fits the path.
    text = SWEEP.replace("count = 2", 'count = 2\nmss = { sweep = ["1000 bytes", "8999 bytes", "9000 bytes", "900 bytes"] }')
    with pytest.raises(ExperimentError, match="mss = 8999 bytes"):
        Experiment(text).plans.plan()
    whole = REPEATED.replace("repeats = 4", "repeats = 7")
    assert list(Experiment(whole).plans.plan().every.hashes) == [run.hash for run in Experiment(whole).resolve_all()]


def test_a_run_that_is_planned_takes_some_dozen_bytes() -> None:
    """A plan of several pieces: a sweep of a million is planned as it is."""
    count = AT_ONCE + 10
    items = Experiment(f"repeats = {count}\n{ONE}").plans.plan().items
    assert len(items) == len(set(items.hashes)) == count
    held = sum(column.nbytes for column in (items.numbers, items.digests, items.costs, items.alone))
    assert held <= 64 * count


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([], []), ([0], [0]), ([0, 1, 2], ["0..2"]), ([1, 2], [1, 2]), ([1, 2, 3, 7, 9, 10, 11, 12, 2**63], ["1..3", 7, "9..12", 2**63])],
)
def test_seeds_in_a_row_are_said_as_one(numbers: list[int], said: list[int | str]) -> None:
    assert spans(np.array(numbers, np.uint64)) == said
