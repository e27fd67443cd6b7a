"""The verdict: conclusions from the cells, in words. Every number is of a run; nothing is known beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from longfat.advice.candidates import Candidate
from longfat.advice.cells import SMALL, Cell
from longfat.advice.plan import Plan
from longfat.advice.question import spoken
from longfat.advice.ranking import (
    INDIFFERENT,
    NEAR,
    SAME,
    Cells,
    best_of,
    is_whole,
    judged,
    kept,
    kinder_than,
    level,
    retransmits,
    short_transfers,
    top_of,
    wastes,
    worst_case,
    worst_of_all,
)
from longfat.errors import LongfatError
from longfat.plot.units import with_interval, with_unit
from longfat.report.answer import UNFAIR, WASTE


@dataclass(frozen=True)
class Verdict:
    """Candidate to set, and why."""

    best: Candidate
    stock: Candidate
    """The best that a released kernel has; often the same."""
    decided: bool
    """True if the throughput in the worst case alone tells the best from the next."""
    reasons: list[str]
    """Sentences that say what to set and why."""
    notes: list[str]
    """Sentences that say what would change the choice, and how sure it is."""

    @property
    def sentences(self) -> list[str]:
        """All of them, in order."""
        return [*self.reasons, *self.notes]


def verdict(plan: Plan, cells: Cells, delay: str) -> Verdict:
    """Chooses the candidate with the most throughput in its worst case; among ties, the one that leaves others more.

    Cells of candidates that are clearly behind need not all be known (`rounds`). LongfatError where the best gets nothing.
    """
    if top_of(plan, cells, plan.candidates).goodput <= 0:
        raise LongfatError("no candidate gets anything through in its worst case: there is nothing to advise for this path")
    worst = {one.name: worst_case(plan, cells, one) for one in plan.candidates}
    alike = level(plan, cells, plan.candidates)
    best = stock = best_of(plan, cells, alike)
    if best.kernel:
        stock = best_of(plan, cells, level(plan, cells, [one for one in plan.candidates if not one.kernel]))
    reasons = [
        *_first(plan, cells, worst, best),
        *_released(plan, cells, worst, best, stock),
        *_target(plan, cells, best),
        *_today(plan, worst, best),
        *_level(plan, worst, best, alike),
        *_waste(plan, cells, best, alike),
        *_fair(plan, cells, best, alike),
        *_short(plan, cells, best, alike),
        *_delay(plan, cells, best, delay),
        *_flags(plan, cells, best),
    ]
    notes = [
        *_kinder(plan, cells, worst, best),
        *_changes(plan, cells, best),
        *_confidence(plan, cells, worst, best, alike),
    ]
    return Verdict(best, stock, len(alike) == 1, reasons, notes)


def so_far(plan: Plan, cells: Cells) -> str:
    """Says what to set, by the cells that decide it, and how sure that is. More seeds may still change the numbers."""
    worst = {one.name: worst_case(plan, cells, one) for one in plan.candidates}
    alike = level(plan, cells, plan.candidates)
    found = _first(plan, cells, worst, best_of(plan, cells, alike))[0]
    others = f"{len(alike)} candidates are level in throughput" if len(alike) > 1 else "decided by throughput"
    return f"So far: {found} Confidence: {others}. The runs that are left complete the tables and narrow the intervals."


def rate(cell: Cell) -> str:
    """`9.32 ± 0.75 Gbit/s`."""
    return with_interval(cell.goodput, cell.half, "bit/s")


def _list(names: Sequence[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _first(plan: Plan, cells: Cells, worst: Mapping[str, Cell], best: Candidate) -> list[str]:
    own, least = worst[best.name], worst_of_all(plan, cells, best)
    where = f" in its worst case ({own.case})" if len(judged(plan)) > 1 else ""
    rest = ""
    if least.case != own.case:
        where = f" alone in its worst case ({own.case})" if where else f" alone ({own.case})"
        rest = f", and {rate(least)} in the worst of all that was run ({least.case})"
    setting = f"Leave Linux as it comes ({best.what})" if best.untouched else f"Set {best.name} ({best.what})"
    made = [f"{setting}: it gets {rate(own)}{where}{rest}."]
    if len(own.sites) > 1:
        named = [f"{with_unit(value, 'bit/s')} ({with_unit(trip, 's')})" for value, trip in zip(own.sites, plan.question.rtts, strict=True)]
        made.append(f"Rates are those of the site that gets least: the sites get {_list(named)}.")
    return made


def _released(plan: Plan, cells: Cells, worst: Mapping[str, Cell], best: Candidate, stock: Candidate) -> list[str]:
    """Says what to set where the kernel is a released one, which lacks the best."""
    if stock is best:
        return []
    most = retransmits(plan, cells, stock)
    wasted = f" and retransmits {_share(most)}" if most and wastes(plan, cells, stock) else ""
    word = "leave it as it comes" if stock.untouched else f"set {stock.name}"
    return [f"No released kernel has {best.name}: there, {word}, which gets {rate(worst[stock.name])}{wasted}."]


def _target(plan: Plan, cells: Cells, best: Candidate) -> list[str]:
    """Says what must be true for the target: the rate, the window, the candidates and the cases."""
    question = plan.question
    if question.target is None:
        return []
    size, time = question.target
    need = question.needed
    made = [
        f"{with_unit(size, 'B')} within {spoken(time)} need {with_unit(need, 'bit/s')} of payload all the time, "
        f"{100 * need / question.payload:.2g} % of what the path carries, and {with_unit(need * question.rtt / 8, 'iB')} in flight."
    ]
    lacks = {one.name: _lacking(plan, cells, one, need) for one in plan.candidates}
    own = lacks[best.name]
    if own:
        worst = min(own, key=lambda cell: cell.low)
        made.append(f"Not even {best.name} has that where the path has {_list([f'`{cell.case}` ({rate(cell)})' for cell in own])}.")
        made.append(f"With {rate(worst)} it takes {spoken(8 * size / worst.goodput) if worst.goodput else 'for ever'}.")
    else:
        made.append(f"{best.name} has that in every case that was run.")
    enough = [one.name for one in plan.candidates if one is not best and is_whole(plan, cells, one) and not lacks[one.name]]
    made += [f"{_list(enough)} {'has' if len(enough) == 1 else 'have'} it in every case, too."] if enough else []
    for one in plan.candidates:
        if one is not best and one.usual and lacks[one.name]:
            made.append(f"For {one.name} it must not be that the path has {_list([f'`{cell.case}`' for cell in lacks[one.name]], 'or')}.")
    return made


def _lacking(plan: Plan, cells: Cells, candidate: Candidate, need: float) -> list[Cell]:
    """The known cells in which a candidate may not reach a rate."""
    known = [cells[candidate.name, case.name] for case in plan.cases if (candidate.name, case.name) in cells]
    return [cell for cell in known if cell.low < need]


def _flags(plan: Plan, cells: Cells, best: Candidate) -> list[str]:
    """Names every other candidate that wastes the path, and all whose streams are unequal, in any case."""
    made: list[str] = []
    wasteful: list[str] = []
    unequal: list[str] = []
    for one in plan.candidates:
        known = [cells[one.name, case.name] for case in plan.cases if (one.name, case.name) in cells]
        most = max((cell for cell in known if cell.retransmitted > WASTE), key=lambda cell: cell.retransmitted, default=None)
        if most and not (one is best and most == retransmits(plan, cells, one)):
            wasteful.append(f"{one.name} ({_share(most)}, {most.case})")
        least = min(known, key=lambda cell: cell.jain)
        if least.jain < UNFAIR:
            unequal.append(f"{one.name} ({least.jain:.2f}, {least.case})")
    made += [f"More than {100 * WASTE:.0f} % of the segments are retransmissions with {_list(wasteful)}."] if wasteful else []
    made += [f"Jain's index is under {UNFAIR:g} (1: streams are equal) with {_list(unequal)}."] if unequal else []
    return made


def _level(plan: Plan, worst: Mapping[str, Cell], best: Candidate, alike: Sequence[Candidate]) -> list[str]:
    """Names who is level with the best, and the most that any other gets."""
    cases = judged(plan)
    made: list[str] = []
    others = sorted((one for one in plan.candidates if one not in alike), key=lambda one: -worst[one.name].goodput)
    if len(alike) > 1:
        names = [f"{one.name} ({rate(worst[one.name])})" for one in alike if one is not best]
        made.append(
            f"Throughput does not decide between it and {_list(names)}: the 95 % intervals overlap, or the rates differ by less than "
            f"{100 * SAME:.0f} %."
        )
    if others:
        first = worst[others[0].name]
        own_worst = " in its worst case" if len(cases) > 1 else ""
        named = f"{others[0].name}, {first.case}" if len(cases) > 1 else others[0].name
        made.append(f"No other gets more than {rate(first)}{own_worst} ({named}).")
    return made


def _waste(plan: Plan, cells: Cells, best: Candidate, alike: Sequence[Candidate]) -> list[str]:
    """Names what the best retransmits where that is 1 % or more, and who is level with it but wastes more."""
    own = retransmits(plan, cells, best)
    made = [f"It retransmits {_share(own)} of what it sends ({own.case})."] if own and own.retransmitted >= NEAR else []
    others = [(one, most) for one in alike if one is not best and wastes(plan, cells, one) and (most := retransmits(plan, cells, one))]
    if others and not wastes(plan, cells, best):
        names = _list([f"{one.name} ({_share(most)}, {most.case})" for one, most in others])
        made.append(f"It is set before {names}, which {'retransmits' if len(others) == 1 else 'retransmit'} more.")
    return made


def _share(cell: Cell) -> str:
    return f"{100 * cell.retransmitted:.2g} %"


def _fair(plan: Plan, cells: Cells, best: Candidate, alike: Sequence[Candidate]) -> list[str]:
    share = kept(plan, cells, best)
    if math.isnan(share):
        return []
    control = next(case.control for case in plan.cases if case.rivals)
    made = [f"A {control} flow beside it gets {100 * share:.0f} % of an equal share."]
    rest = [(one, kept(plan, cells, one)) for one in alike if one is not best]
    if rest:
        made.append(f"Beside {_list([f'{one.name} it gets {100 * other:.0f} %' for one, other in rest])}.")
    return made


def _short(plan: Plan, cells: Cells, best: Candidate, alike: Sequence[Candidate]) -> list[str]:
    """Says how long short transfers of others take beside the best, and beside who is level with it."""
    own = short_transfers(plan, cells, best)
    if own is None:
        return []
    where = f" ({own.case})" if len(judged(plan)) > 1 else ""
    low, high = (_time(value) for value in own.short_between)
    made = [
        f"Short transfers of others (up to {with_unit(SMALL, 'B')}) take {_time(own.short_p50)} beside it in the median "
        f"({low} to {high}, of {own.short_count}){where}, and {_time(own.short_p95)} at the 95th percentile.",
        f"The round trips of one take {with_unit(1.5 * plan.question.rtts[0], 's')} at least.",
    ]
    rest = [(one, other) for one in alike if one is not best and (other := short_transfers(plan, cells, one))]
    return made + ([f"Beside {_list([f'{one.name} they take {short_times(other)}' for one, other in rest])}."] if rest else [])


def short_times(cell: Cell) -> str:
    """`120 ms, 1.4 s`: the median and the 95th percentile of short transfers of others; `unfinished` where it did not end in the run."""
    return f"{_time(cell.short_p50)}, {_time(cell.short_p95)}"


def _time(seconds: float) -> str:
    return "unfinished" if math.isinf(seconds) else with_unit(seconds, "s")


def _kinder(plan: Plan, cells: Cells, worst: Mapping[str, Cell], best: Candidate) -> list[str]:
    """Names the best candidate among those that leave others clearly more."""
    kinder = [one for one in kinder_than(plan, cells, best) if is_whole(plan, cells, one)]
    if not kinder:
        return []
    one = max(kinder, key=lambda other: worst[other.name].goodput)
    return [
        f"Where others use the path, {one.name} leaves them {100 * kept(plan, cells, one):.0f} % "
        f"and gets {rate(worst[one.name])} in its worst case."
    ]


def _today(plan: Plan, worst: Mapping[str, Cell], best: Candidate) -> list[str]:
    untouched = next((one for one in plan.candidates if one.untouched), None)
    if untouched is None or untouched is best or not worst[untouched.name].goodput:
        return []
    times = worst[best.name].goodput / worst[untouched.name].goodput
    less = f"{_times(times)} times less" if times >= 1.5 else f"{100 * (1 - 1 / times):.0f} % less"
    return [f"Unchanged (as Linux comes), the host gets {rate(worst[untouched.name])}: {less}."] if times > 1 + NEAR else []


def _times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _changes(plan: Plan, cells: Cells, best: Candidate) -> list[str]:
    """The cases in which another candidate is better, or as good: what to find out about the path."""
    made: list[str] = []
    by_winner: dict[str, list[str]] = {}
    open_cases: dict[str, float] = {}
    for case in judged(plan):
        own = cells[best.name, case]
        run = [one for one in plan.candidates if (one.name, case) in cells]
        better = [one for one in run if cells[one.name, case].low > own.high * (1 + NEAR)]
        if better:
            first = max(better, key=lambda one: cells[one.name, case].goodput)
            by_winner.setdefault(first.name, []).append(case)
        most = max(cells[one.name, case].goodput for one in [*better, best])
        if len(run) < len(plan.candidates) and plan.question.due > most * (1 + NEAR):
            open_cases[case] = _gain(plan.question.due, own.goodput)
    for name, places in by_winner.items():
        gain = max(_gain(cells[name, case].goodput, cells[best.name, case].goodput) for case in places)
        up_to = "up to " if len(places) > 1 else ""
        made.append(f"Where the path has {_list([f'`{case}`' for case in places])}, {name} gets {up_to}{_percent(gain)} more.")
    if open_cases:
        names = _list([f"`{case}`" for case in open_cases])
        made.append(
            f"Where the path has {names}, a candidate that was not run there might get more, by {_percent(max(open_cases.values()))} "
            "at most: that is all the path carries (--all runs them)."
        )
    if not made and len(judged(plan)) > 1:
        made.append("In none of the cases is another candidate clearly better: what is not known of the path does not change the choice.")
    return made


def _gain(more: float, less: float) -> float:
    return more / less - 1 if less > 0 else math.inf


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share < math.inf else "any number of times"


def _delay(plan: Plan, cells: Cells, best: Candidate, delay: str) -> list[str]:
    values = [cells[best.name, case].delay for case in judged(plan)]
    low, high = with_unit(min(values), "s"), with_unit(max(values), "s")
    return [f"Its {delay} is {low if low == high else f'{low} to {high}'}; the path alone has {with_unit(plan.question.rtt, 's')}."]


def _confidence(plan: Plan, cells: Cells, worst: Mapping[str, Cell], best: Candidate, alike: Sequence[Candidate]) -> list[str]:
    short = [cell for cell in cells.values() if cell.is_short]
    of_worst = [name for name, cell in worst.items() if cell.is_short]
    made: list[str] = []
    if short:
        worse = f", among them the worst of {_list(of_worst)}" if of_worst else ""
        made.append(
            f"{len(short)} of the {len(cells)} runs below (marked *) are ones in which a control that goes by losses saw "
            f"fewer than two{worse}: longer runs may give other numbers (--duration, --thorough)."
        )
    top = max(worst.values(), key=lambda cell: cell.goodput)
    unsure = [one.name for one in plan.candidates if one not in alike and worst[one.name].high >= top.low]
    if unsure:
        made.append(
            f"{_list(unsure)} {'has' if len(unsure) == 1 else 'have'} over {100 * INDIFFERENT:.0f} % less than the most, "
            "but the 95 % interval reaches it: longer runs would tell (--duration, --thorough)."
        )
    level = "Not decided by throughput" if len(alike) > 1 else "Decided" if best.name not in of_worst else "Decided for runs of this length"
    return [" ".join([f"Confidence: {level.lower()}.", *made])]
