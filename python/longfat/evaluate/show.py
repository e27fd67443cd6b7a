"""Cards as a table of 80 columns, as lines, and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from longfat.evaluate.card import Answer, Card, OnPath
from longfat.evaluate.criteria import Criterion
from longfat.evaluate.rules import FAILS, JUDGE, NOT_SHOWN, PASSES, Estimate
from longfat.evaluate.tradeoff import Tradeoff
from longfat.results.ellipse import Ellipse

if TYPE_CHECKING:
    from rich.console import Console

    from longfat.evaluate.worst import Worst

SHORT = {PASSES: "passes", JUDGE: "judge", FAILS: "FAILS", NOT_SHOWN: "–"}
"""Verdicts in the table of a terminal."""
UNITS = {
    "share": ("%", 100.0),
    "harm": ("% harm", 100.0),
    "of a fair share": ("% of fair", 100.0),
    "s": ("ms", 1e3),
    "bit/s": ("Mbit/s", 1e-6),
    "packets per RTT": ("per RTT", 1.0),
}
"""Units as shown, and by what a value is multiplied; a unit that is not here stands for itself."""


def unit_of(criterion: Criterion) -> tuple[str, float]:
    """Unit in which the values of a criterion are shown, and by what they are multiplied."""
    return UNITS.get(criterion.unit, (criterion.unit, 1.0))


def said(criterion: Criterion, one: Estimate | None, *, interval: bool = False) -> str:
    """A value in its shown unit, without the unit; with half of its interval where asked for, unless it is under 0.5 % of the mean."""
    if one is None or math.isnan(one.mean):
        return "–"
    size = unit_of(criterion)[1]
    text = _number(one.mean * size)
    if not (interval and one.half > 0.005 * abs(one.mean)):
        return text
    half = one.half * size
    return f"{text} ± {half:.2g}" if half < 100 else f"{text} ± {half:.0f}"


def _number(value: float) -> str:
    return f"{value:.3g}" if 0.001 <= abs(value) < 1000 else f"{value:.0f}"


def cell(answer: Answer) -> str:
    """A word and a number: the verdict, and the value on the worst path."""
    if answer.worst is None:
        return f"{answer.verdict}: {answer.unshown or answer.broken}"
    return f"{answer.verdict} ({said(answer.criterion, answer.worst.own, interval=True)} {unit_of(answer.criterion)[0]})"


def beside(answer: Answer, path: OnPath) -> str:
    """One path in words: the value there, and those of the references."""
    return _beside(answer.criterion, path)


def _beside(criterion: Criterion, path: OnPath) -> str:
    others = ", ".join(f"{name} {said(criterion, one)}" for name, one in path.others.items())
    return f"{said(criterion, path.own, interval=True)} {unit_of(criterion)[0]} on {path.name} ({others})"


def print_card(console: Console, card: Card) -> None:
    """Prints the table, and a line for each criterion that is not passed: where, with which numbers."""
    from longfat.report.columns import Column, print_columns
    from longfat.report.terminal import escape

    console.print(f"[bold]{escape(card.name)}[/] by {card.suite.document}{', in short' if card.quick else ''}", soft_wrap=True)
    if card.fault:
        console.print(f"  [bold red]{FAILS}[/]: {escape(card.fault)}. No criterion was run.", soft_wrap=True)
        return
    if card.remark:
        console.print(f"  {escape(card.remark)}", soft_wrap=True)
    rows: list[list[str]] = []
    for answer in card.answers:
        criterion, worst = answer.criterion, answer.worst
        others = [said(criterion, worst.others.get(name) if worst else None) for name in card.against]
        own = said(criterion, worst.own if worst else None)
        rows.append([criterion.name, SHORT[answer.verdict], own, *others, unit_of(criterion)[0]])
    titles = ["on the worst path", "verdict", card.name, *card.against, "unit"]
    columns = [Column(escape(title), [escape(row[i]) for row in rows], left=i in (0, len(titles) - 1)) for i, title in enumerate(titles)]
    print_columns(console, columns[:2], columns[2:])
    for verdict in (FAILS, JUDGE):
        for answer in card.answers:
            if answer.verdict == verdict:
                what = answer.broken or (beside(answer, answer.worst) if answer.worst else "")
                style = "bold red" if verdict == FAILS else "yellow"
                line = f"  [{style}]{verdict}[/] {escape(answer.criterion.name)}: {escape(f'{answer.criterion.asks}: {what}')}"
                console.print(line, soft_wrap=True)
    for answer in card.answers:
        if answer.unshown:
            console.print(f"  [dim]{NOT_SHOWN} {escape(f'{answer.criterion.name}: {answer.unshown}')}[/]", soft_wrap=True)
        elif answer.invalid:
            count = (
                f"{answer.invalid} run{'s' if answer.invalid > 1 else ''} of the testbed {'are' if answer.invalid > 1 else 'is'} invalid"
            )
            console.print(f"  [dim]{escape(answer.criterion.name)}: {count}, and does not count[/]", soft_wrap=True)
    sections = ", ".join(section for section, _ in card.suite.not_shown)
    console.print(f"  [dim]not shown: sections {sections}; `longfat evaluate criteria` says why[/]", soft_wrap=True)


MOST_SHOWN = 5
"""Paths of a search that are printed."""


def print_worst(console: Console, found: Worst) -> None:
    """Prints the paths of a search that are worst, and the worst of them as more repeats have it."""
    from longfat.report.terminal import escape

    criterion = found.criterion
    console.print(f"[bold]{escape(found.name)}[/], {criterion.asks}: the worst of {len(found.tried)} paths", soft_wrap=True)
    for path in found.tried[:MOST_SHOWN]:
        console.print(f"  {path.verdict}: {escape(_beside(criterion, path))}", soft_wrap=True)
    again = f"  [bold]again, with other seeds: {found.confirmed.verdict}[/]"
    console.print(f"{again}: {escape(_beside(criterion, found.confirmed))}", soft_wrap=True)


def worst_as_json(found: Worst) -> dict[str, Any]:
    """A search as a JSON object; None where there is no value."""
    return {
        found.suite.what: found.name,
        "criterion": found.criterion.name,
        "unit": found.criterion.unit,
        "confirmed": _path(found.confirmed),
        "tried": [_path(path) for path in found.tried],
        "experiment": found.experiment,
    }


def as_json(card: Card) -> dict[str, Any]:
    """The card as a JSON object; None where there is no value."""
    return {
        card.suite.what: card.name,
        "against": card.against,
        "quick": card.quick,
        "fault": card.fault,
        "remark": card.remark,
        "criteria": [_answer(card, answer) for answer in card.answers],
        "tradeoffs": [_tradeoff(one) for one in card.tradeoffs],
        "not_shown": dict(card.suite.not_shown),
    }


def _answer(card: Card, answer: Answer) -> dict[str, Any]:
    criterion = answer.criterion
    return {
        "name": criterion.name,
        "section": f"{card.suite.document} section {criterion.section}",
        "asks": criterion.asks,
        "unit": criterion.unit,
        "better": criterion.rule.better,
        "bound": criterion.rule.bound,
        "source": criterion.rule.source,
        "verdict": answer.verdict,
        "broken": answer.broken,
        "unshown": answer.unshown,
        "invalid": answer.invalid,
        "experiment": answer.experiment,
        "paths": [_path(path) | {"is_worst": path is answer.worst} for path in answer.paths],
    }


def _path(path: OnPath) -> dict[str, Any]:
    others = {name: _plain(one) for name, one in path.others.items()}
    return {"path": path.labels, "verdict": path.verdict, "own": _plain(path.own), "others": others}


def _tradeoff(one: Tradeoff) -> dict[str, Any]:
    """Medians, means and deviations of delay in seconds (x) and goodput in bit/s (y)."""
    return {"scenario": one.scenario, "path": one.path, "queue": one.queue} | _plain(one.ellipse)


def _plain(one: Estimate | Ellipse) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in asdict(one).items()}
