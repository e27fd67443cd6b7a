"""Choice of the cells to run.

A candidate that is behind in one case cannot win in another: the rest of its cells are not run, unless people ask about it
(`Candidate.usual`).

The worst case of a candidate is at most as good as the worst of its cells so far. A candidate behind the best by that is behind for
good. Leaving out its other runs changes neither who is set nor who is level (`tests/test_advice.py` compares both on random cells).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from longfat.advice import cases, ranking
from longfat.advice.candidates import Candidate
from longfat.advice.cells import Cell, cell_of
from longfat.advice.plan import Plan
from longfat.advice.ranking import Cells, Key
from longfat.experiment import Experiment
from longfat.results.result import Result


def wanted(plan: Plan, cells: Cells) -> list[Key]:
    """Cells on which the answer may still depend; none where it is settled."""
    hardest = _hardest_first(plan)

    def missing(one: Candidate, names: Sequence[str]) -> list[Key]:
        return [(one.name, name) for name in names if (one.name, name) not in cells]

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
    if best.kernel and (rest := contest([one for one in plan.candidates if not one.kernel])):
        return rest
    every = [case.name for case in plan.cases]
    if rest := [key for one in plan.candidates for key in missing(one, every if one.usual else hardest if one.untouched else [])]:
        return rest
    return _kinder(plan, cells, best, missing)


def _kinder(plan: Plan, cells: Cells, best: Candidate, missing: Callable[[Candidate, Sequence[str]], list[Key]]) -> list[Key]:
    """Until it is known who of those that leave others clearly more gets the most."""
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

    def __init__(self, plan: Plan, experiment: Experiment, *, everything: bool) -> None:
        self.plan = plan
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
                if more := wanted(self.plan, self.cells):
                    self._ask(more)
                    continue
                if unsure := ranking.unsure(self.plan, self.cells):
                    self._repeat(unsure)
                    continue
            return sorted(number for key, seeds in self._asked.items() for number, _ in self._runs[key][:seeds])

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
