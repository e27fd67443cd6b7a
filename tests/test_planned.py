"""What is known of the runs of a sweep before any is run: the same as when each is resolved, and little memory."""

from __future__ import annotations

import pytest
from conftest import ONE, SWEEP
from longfat import Experiment, ExperimentError
from longfat._longfat import Document
from longfat.experiment import before
from longfat.planned import AT_ONCE, Plan

REPEATED = f"repeats = 4\nseed = 3\n{SWEEP}"
# Windows far below the path, so that there is something to warn of, and two that are the same.
WARNED = (
    REPEATED.replace('"8 KiB"', '"2 KiB", "2048 bytes", "8 KiB"').replace("20 ms", "200 ms").replace('volume = "500 kB"', 'volume = "5 MB"')
)


@pytest.mark.parametrize("text", [SWEEP, REPEATED, WARNED])
def test_a_plan_says_of_each_run_what_resolving_it_says(text: str) -> None:
    experiment = Experiment(text)
    runs, plan = experiment.resolve_all(), experiment.plan()
    assert [tuple(item) for item in plan.every] == [(run.index, run.hash, run.cost, run.is_real_time) for run in runs]
    assert [(run.index, run.hash, run.labels, run.repeat) for run in plan.named] == [
        (run.index, run.hash, run.labels, run.repeat) for run in runs
    ]
    assert list(plan.items.hashes) == list(dict.fromkeys(run.hash for run in runs))
    assert (plan.seeds, plan.backends) == (sorted({run.seed for run in runs}), ["sim"])
    assert experiment.warnings == before(runs)
    assert experiment.warnings


def test_runs_can_be_planned_in_any_order() -> None:
    document = Document(REPEATED, "x.toml")
    numbers = [11, 0, 7, 7, 4]
    assert list(Plan.of(document, numbers).every.hashes) == [document.run(number).hash for number in numbers]
    with pytest.raises(IndexError):
        document.plan([12])


def test_a_run_that_cannot_be_is_told_of_by_its_labels() -> None:
    with pytest.raises(ExperimentError, match="window = 64 KiB"):
        Experiment(
            SWEEP.replace("count = 2", 'count = 2\nmss = { zip = "z", sweep = ["1000 bytes", "1000 bytes", "9000 bytes"] }').replace(
                '{ sweep = ["8 KiB"', '{ zip = "z", sweep = ["8 KiB"'
            )
        ).plan()


def test_items_are_sorted_and_sifted() -> None:
    items = Experiment(REPEATED).plan().items
    longest = items.longest_first()
    assert [item.cost for item in longest] == sorted((item.cost for item in items), reverse=True)
    assert sorted(longest) == sorted(items)
    some = set(list(items.hashes)[3:7])
    assert [item for item in items if item.hash not in some] == list(items.without(some))
    assert items.without(set()) == items != items.first(3)
    assert [*items.first(5), *items.after(5)] == list(items)
    assert items[4] == list(items)[4]


def test_a_run_that_is_planned_takes_some_dozen_bytes() -> None:
    """Of several pieces: a sweep of a million is planned as it is."""
    count = AT_ONCE + 10
    items = Experiment(f"repeats = {count}\n{ONE}").plan().items
    assert len(items) == len(set(items.hashes)) == count
    held = sum(column.nbytes for column in (items.numbers, items.digests, items.costs, items.alone))
    assert held <= 64 * count
