"""Ranking of candidates by their cells. A candidate may lack cells: it is then as good as its worst so far, and so at best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from longfat.advice.candidates import Candidate
from longfat.advice.cells import Cell
from longfat.advice.plan import Plan
from longfat.report.answer import WASTE

NEAR = 0.01
"""Shares and gains below this are not worth a sentence."""
SAME = 0.05
"""Rates within this fraction of the most are level with it, whatever their intervals: simulator and kernel differ by as much
(`docs/agreement.md`)."""
INDIFFERENT = 0.1
"""Largest lag of a candidate that only its own wide interval brings level with the best: it may have been measured badly.
(An indifference zone, as in ranking and selection: Bechhofer 1954.)"""
ENOUGH = 0.5
"""Fraction of an equal share: a candidate that leaves rivals less is compared with those that leave more."""
PRECISE = 0.05
"""Half of an interval as a share of its mean, from which on more seeds would tell little."""
ROUGH = 0.5
"""Half of the interval, as a share of the mean, that one seed is taken to have where packets are lost at random."""
STEP = 0.1
"""Differences of fairness and delay that count where throughput does not decide."""

Key = tuple[str, str]
"""The names of a candidate and of a case."""
Cells = Mapping[Key, Cell]
"""Known cells."""


def judged(plan: Plan) -> list[str]:
    """The cases whose throughput is compared: beside a rival who takes more is not better, unless there always is one."""
    names = [case.name for case in plan.cases if not case.rivals]
    return names or [case.name for case in plan.cases]


def worst_of_all(plan: Plan, cells: Cells, candidate: Candidate) -> Cell:
    """The cell with the least throughput, of all that are known."""
    known = [cells[candidate.name, case.name] for case in plan.cases if (candidate.name, case.name) in cells]
    return min(known, key=lambda cell: cell.goodput)


def worst_case(plan: Plan, cells: Cells, candidate: Candidate) -> Cell:
    """The judged cell with the least throughput, of those that are known."""
    known = [cells[candidate.name, case] for case in judged(plan) if (candidate.name, case) in cells]
    return min(known, key=lambda cell: cell.goodput)


def unsure(plan: Plan, cells: Cells) -> list[Key]:
    """Cells in which more seeds may change who is level: the worst cases of the candidates whose intervals reach the most.

    One seed of several has no interval. It is then taken to be `ROUGH` where packets are lost at random, and else the zone of indifference.
    """
    worst = [worst_case(plan, cells, one) for one in plan.candidates]
    top = max(worst, key=lambda cell: cell.goodput)
    return [
        (one.name, cell.case)
        for one, cell in zip(plan.candidates, worst, strict=True)
        if cell.seeds < _most(plan, cell)
        and not cell.half <= PRECISE * cell.goodput
        and cell.goodput + _width(plan, cell) >= top.goodput - _width(plan, top)
    ]


def _most(plan: Plan, cell: Cell) -> int:
    """Most seeds of a cell."""
    candidate = next(one for one in plan.candidates if one.name == cell.candidate)
    return plan.seeds(candidate, next(case for case in plan.cases if case.name == cell.case))[1]


def _width(plan: Plan, cell: Cell) -> float:
    """Half of an interval, or what it is taken to be. Several streams are a mean of as many: it is narrower by the root of their number."""
    if not math.isnan(cell.half) or _most(plan, cell) == 1:
        return cell.high - cell.goodput
    streams = next(one.streams for one in plan.candidates if one.name == cell.candidate)
    loses = next(case.loss for case in plan.cases if case.name == cell.case) > 0
    return (ROUGH / math.sqrt(streams) if loses else INDIFFERENT) * cell.goodput


def is_whole(plan: Plan, cells: Cells, candidate: Candidate) -> bool:
    """Returns true if every judged case of the candidate is known, so that its worst case is."""
    return all((candidate.name, case) in cells for case in judged(plan))


def kept(plan: Plan, cells: Cells, candidate: Candidate) -> float:
    """Fraction of an equal share that a rival beside the candidate gets; NaN where no case has one, and where it is not known."""
    case = rival_case(plan)
    cell = cells.get((candidate.name, case)) if case else None
    if cell is None:
        return math.nan
    rivals = next(one.rivals for one in plan.cases if one.name == case)
    # All streams of a site are one sender: an equal share is by senders.
    return cell.rival / (plan.question.payload * rivals / (rivals + len(plan.question.rtts)))


def short_transfers(plan: Plan, cells: Cells, candidate: Candidate) -> Cell | None:
    """The judged cell in which short transfers of others take longest in the median, of those that are known; None without any."""
    known = [cells[candidate.name, case] for case in judged(plan) if (candidate.name, case) in cells]
    return max((cell for cell in known if not math.isnan(cell.short_p50)), key=lambda cell: cell.short_p50, default=None)


def delays(plan: Plan, cells: Cells, candidate: Candidate, among: Sequence[Candidate]) -> bool:
    """Returns true if short transfers of others take longer beside it than beside one of `among`, and the intervals do not overlap."""
    own = short_transfers(plan, cells, candidate)
    rest = [cell for one in among if (cell := short_transfers(plan, cells, one))]
    return own is not None and any(own.short_between[0] > cell.short_between[1] for cell in rest)


def retransmits(plan: Plan, cells: Cells, candidate: Candidate) -> Cell | None:
    """The judged cell with the largest share of retransmissions, of those that are known; None where nothing was sent."""
    known = [cells[candidate.name, case] for case in judged(plan) if (candidate.name, case) in cells]
    return max((cell for cell in known if not math.isnan(cell.retransmitted)), key=lambda cell: cell.retransmitted, default=None)


def wastes(plan: Plan, cells: Cells, candidate: Candidate) -> bool:
    """Returns true if more than `WASTE` of the candidate's segments are retransmissions in some case."""
    most = retransmits(plan, cells, candidate)
    return most is not None and most.retransmitted > WASTE


def rival_case(plan: Plan) -> str | None:
    """The case that says what is left to others."""
    return next((case.name for case in plan.cases if case.rivals), None)


def least(top: Cell) -> float:
    """Throughput below which a candidate is not level with the top, whatever its own interval."""
    return min(top.low, top.goodput * (1 - INDIFFERENT))


def top_of(plan: Plan, cells: Cells, among: Sequence[Candidate]) -> Cell:
    """The most that one of them has in its worst case."""
    return max((worst_case(plan, cells, one) for one in among), key=lambda cell: cell.goodput)


def level(plan: Plan, cells: Cells, among: Sequence[Candidate]) -> list[Candidate]:
    """Returns the candidates tied on worst-case throughput, of those whose worst case is known."""
    top = top_of(plan, cells, among)
    return [one for one in among if is_whole(plan, cells, one) and _is_level(worst_case(plan, cells, one), top)]


def best_of(plan: Plan, cells: Cells, alike: Sequence[Candidate]) -> Candidate:
    """Picks among ties: wastes less, then needs no unreleased kernel, then leaves others more, then delay, then the least change.

    Where short transfers of others cross the path, whether it delays them stands between the share and the delay.
    """
    return min(alike, key=lambda one: _order(plan, cells, one, alike))


def kinder_than(plan: Plan, cells: Cells, best: Candidate) -> list[Candidate]:
    """Returns the candidates that take clearly less, where the best takes more than half of what is due to others."""
    share = kept(plan, cells, best)
    if math.isnan(share) or share >= ENOUGH:
        return []
    return [one for one in plan.candidates if kept(plan, cells, one) >= share + 2 * STEP]


def _is_level(one: Cell, top: Cell) -> bool:
    near = min(top.low, top.goodput * (1 - SAME))
    return one.goodput >= near or (one.high >= top.low and one.goodput >= top.goodput * (1 - INDIFFERENT))


def _order(plan: Plan, cells: Cells, candidate: Candidate, alike: Sequence[Candidate]) -> tuple[bool, bool, float, bool, float, int]:
    share = min(1.0, kept(plan, cells, candidate))
    longer = cells[candidate.name, judged(plan)[0]].delay / plan.question.rtt / STEP
    return (
        wastes(plan, cells, candidate),
        bool(candidate.kernel),
        0.0 if math.isnan(share) else -round(share / STEP),
        delays(plan, cells, candidate, alike),
        math.inf if math.isnan(longer) else round(longer),
        plan.candidates.index(candidate),
    )
