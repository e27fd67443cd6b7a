"""Choice of the cells to run.

A candidate that is behind in one case cannot win in another: the rest of its cells are not run, unless people ask about it
(`Candidate.usual`).

The worst case of a candidate is at most as good as the worst of its cells so far. A candidate behind the best by that is behind for
good. Leaving out its other runs changes neither who is set nor who is level (`tests/test_advice.py` compares both on random cells).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from longfat.advice import cases, ranking
from longfat.advice.candidates import Candidate
from longfat.advice.cells import Cell, cell_of
from longfat.advice.plan import Plan
from longfat.advice.ranking import Cells, Key
from longfat.experiment import Experiment
from longfat.results.result import Result


def wanted(plan: Plan, cells: Cells) -> list[Key]:
    """Cells on which the answer may still depend; none where it is settled."""
    return deciding(plan, cells) or completing(plan, cells)


def deciding(plan: Plan, cells: Cells) -> list[Key]:
    """Cells on which it may still depend who is set; none where that is settled."""
    hardest = _hardest_first(plan)
    missing = partial(_missing, cells)

    def contest(among: Sequence[Candidate]) -> list[Key]:
        """Until it is known who is level."""
        leader = max(among, key=lambda one: ranking.worst_case(plan, cells, one).goodput)
        if rest := missing(leader, hardest):
            return rest
        least = ranking.least(ranking.worst_case(plan, cells, leader))
        near = [one for one in among if ranking.worst_case(plan, cells, one).goodput >= least]
        if rest := [key for one in near for key in missing(one, hardest)[:1]]:
            return rest
        alike, rival = ranking.level(plan, cells, among), ranking.rival_case(plan)
        return [key for one in alike for key in missing(one, [rival])] if rival else []

    if first := [key for one in plan.candidates for key in missing(one, hardest[:1])]:
        return first
    if rest := contest(plan.candidates):
        return rest
    best = ranking.best_of(plan, cells, ranking.level(plan, cells, plan.candidates))
    return contest([one for one in plan.candidates if not one.kernel]) if best.kernel else []


def completing(plan: Plan, cells: Cells) -> list[Key]:
    """Cells that are in the answer beside who is set, once that is settled: those that people ask about, and kinder candidates."""
    return [key for key in always(plan) if key not in cells] or _kinder(plan, cells)


def always(plan: Plan) -> list[Key]:
    """Cells that are run whatever the others give."""
    every, judged = [case.name for case in plan.cases], _hardest_first(plan)
    return [(one.name, name) for one in plan.candidates for name in (every if one.usual else judged if one.untouched else [])]


def _missing(cells: Cells, one: Candidate, names: Sequence[str]) -> list[Key]:
    return [(one.name, name) for name in names if (one.name, name) not in cells]


def _kinder(plan: Plan, cells: Cells) -> list[Key]:
    """Until it is known who of those that leave others clearly more gets the most."""
    best, missing = ranking.best_of(plan, cells, ranking.level(plan, cells, plan.candidates)), partial(_missing, cells)
    rival, share = ranking.rival_case(plan), ranking.kept(plan, cells, best)
    if rival is None or math.isnan(share) or share >= ranking.ENOUGH:
        return []
    for one in sorted(plan.candidates, key=lambda one: -ranking.worst_case(plan, cells, one).goodput):
        if rest := missing(one, [rival]):
            return rest
        if one in ranking.kinder_than(plan, cells, best):
            return missing(one, _hardest_first(plan))
    return []


def _hardest_first(plan: Plan) -> list[str]:
    """The judged cases: losses first, then small buffers. There most candidates fall behind, and those that do send little."""
    judged = set(ranking.judged(plan))
    return [case.name for case in sorted(plan.cases, key=lambda case: (-case.loss, cases.size_of(case))) if case.name in judged]


SEVERAL = 3
"""Least seeds of a cell that is repeated."""


class Rounds:
    """Decides for `Experiment.sweep` which runs are wanted, by what those before gave."""

    def __init__(
        self,
        plan: Plan,
        experiment: Experiment,
        *,
        everything: bool,
        jobs: int = 1,
        settled: Callable[[Cells], object] = lambda _: None,
    ) -> None:
        """`settled` is told the cells once it is known who is set, if more runs are to come. Fewer runs than `jobs` leave cores idle."""
        self.plan = plan
        self._jobs = jobs
        self._settled = settled
        self.cells: dict[Key, Cell] = {}
        """Known cells."""
        self.copied: set[Key] = set()
        """Cells without a run of their own: the queue of the same run with a smaller buffer dropped nothing."""
        self._cases = {case.name: case for case in plan.cases}
        self._candidates = {one.name: one for one in plan.candidates}
        only = {"candidate": plan.candidates[0].name, "case": plan.cases[0].name}
        self._runs: dict[Key, list[tuple[int, str]]] = {}
        for run in experiment.plans.whole().named:
            labels = only | dict(run.labels)
            self._runs.setdefault((labels["candidate"], labels["case"]), []).append((run.index, run.hash))
        self._asked: dict[Key, int] = {}
        """Seeds that are wanted of each cell."""
        self._early: set[Key] = set()
        """Cells that are run before they are asked for, on cores that have nothing else to do."""
        self._is_settled = everything
        for key in self._runs if everything else ():
            self._asked[key] = self._seeds(key)[0]

    def wanted(self, finished: Callable[[str], Result | None]) -> list[int]:
        """The numbers of the runs that are wanted by what is finished; when all of them are, there are no more."""
        while True:
            for key, seeds in sorted(self._asked.items()):
                if key in self.cells and self.cells[key].seeds == seeds:
                    continue
                runs = [finished(run) for _, run in self._runs[key][:seeds]]
                some = [run for run in runs if run]
                if len(some) == len(runs):
                    self.cells[key] = cell_of(self.plan, *key, some)
            if all(key in self.cells and self.cells[key].seeds == seeds for key, seeds in self._asked.items()):
                if more := deciding(self.plan, self.cells):
                    self._ask(more)
                    self._fill()
                    continue
                if more := completing(self.plan, self.cells):
                    self._ask(more)
                    new = [run for key in self._asked if key not in self.cells for _, run in self._runs[key][: self._asked[key]]]
                    if not self._is_settled and any(finished(run) is None for run in new):
                        self._settled(self.cells)
                    self._is_settled = True
                    continue
                if unsure := ranking.unsure(self.plan, self.cells):
                    self._repeat(unsure)
                    continue
            early = {key: self._seeds(key)[0] for key in self._early}
            return sorted(number for key, seeds in (early | self._asked).items() for number, _ in self._runs[key][:seeds])

    def _fill(self) -> None:
        """Gives cores that would be idle cells that are run in any case. Nothing is decided by them before they are asked for."""
        idle = self._jobs - sum(seeds for key, seeds in self._asked.items() if key not in self.cells)
        for key in always(self.plan):
            if idle > 0 and key not in self._asked and key not in self._early and key not in self.cells and not self._may_copy(key):
                self._early.add(key)
                idle -= self._seeds(key)[0]

    def _may_copy(self, key: Key) -> bool:
        """Returns true if the cell may turn out to be a copy of that with a smaller buffer."""
        smaller = cases.smaller(self.plan.cases, self._cases[key[1]])
        before = self.cells.get((key[0], smaller.name)) if smaller else None
        return smaller is not None and (before is None or not before.dropped)

    def _seeds(self, key: Key) -> tuple[int, int]:
        return self.plan.seeds(self._candidates[key[0]], self._cases[key[1]])

    def _ask(self, more: Sequence[Key]) -> None:
        for candidate, name in more:
            smaller = cases.smaller(self.plan.cases, self._cases[name])
            before = (candidate, smaller.name) if smaller else None
            if before in self.cells and not self.cells[before].dropped:
                self.cells[candidate, name] = self.cells[before].as_case(name)
                self.copied.add((candidate, name))
            elif before not in more:
                self._asked[candidate, name] = self._seeds((candidate, name))[0]

    def _repeat(self, unsure: Sequence[Key]) -> None:
        """Asks for more seeds. A cell that is a copy becomes one of its own."""
        for key in unsure:
            self.copied.discard(key)
            count = self.cells[key].seeds
            self._asked[key] = min(self._seeds(key)[1], max(SEVERAL, count + 2))
