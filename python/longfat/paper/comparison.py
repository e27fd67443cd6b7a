"""Every published number and every claim, judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from longfat.paper.agreement import Agreement, statistics
from longfat.paper.check import Check
from longfat.paper.kinds import Kind, Null, null_model
from longfat.paper.measured import Measured, MissingResults
from longfat.paper.model import Answer, Claim, Paper
from longfat.paper.published import Row

Verdict = Literal["holds", "differs", "not testable", "not judged"]


@dataclass(frozen=True)
class Comparison:
    """One line of the comparison: the fields of `longfat compare --json`."""

    id: str
    where: str
    published: float | str | None
    ours: float | str | None
    unit: str
    verdict: Verdict
    note: str
    kind: Kind = "simulated"


def compare(paper: Paper, rows: Sequence[Row], measured: Measured) -> list[Comparison]:
    """Every published number, what `paper.agreements` asks of them, numbers of fitted paths, and every claim, in that order."""
    seen: set[tuple[object, ...]] = set()
    numbers: list[Comparison] = []
    for row in rows:
        numbers.append(replace(_number(paper, row, measured), kind=paper.kind_of(row, seen)))
        seen.add(row.test)
    claims = [replace(_claim(claim, measured), kind=paper.kinds.get(claim.id, "simulated")) for claim in paper.claims]
    return numbers + _agreements(paper, rows, numbers) + _fitted(paper, rows, measured) + claims


def _fitted(paper: Paper, rows: Sequence[Row], measured: Measured) -> list[Comparison]:
    """Numbers on fitted paths, as lines of their own: `ID@EXPERIMENT`."""
    made: list[Comparison] = []
    for path in paper.fitted:
        try:
            inside, why = Measured({path.in_place_of: measured[path.experiment]}), ""
        except MissingResults as missing:
            inside, why = None, str(missing)
        for row in rows:
            if row.id not in path.known | path.held_out:
                continue
            if inside is None:
                line = Comparison(row.id, row.where, row.value, None, row.unit, "not testable", why)
            else:
                line = _number(paper, row, inside)
            kind: Kind = "fitted" if row.id in path.known else "held-out"
            made.append(replace(line, id=f"{row.id}@{path.experiment}", kind=kind))
    return made


def null(paper: Paper, rows: Sequence[Row], lines: Sequence[Comparison]) -> Null | None:
    """Scores null models on the numbers that the headline counts; `None` where none is judged."""
    of = {
        line.id: line
        for line in lines
        if line.kind == "simulated" and line.verdict in ("holds", "differs") and isinstance(line.ours, float)
    }
    cells = [(row, rule, float(of[row.id].ours or 0.0)) for row in rows if row.id in of and (rule := paper.rule(row))]
    return null_model(cells, paper.trivial, paper.trivial_words) if cells else None


def _agreements(paper: Paper, rows: Sequence[Row], lines: Sequence[Comparison]) -> list[Comparison]:
    def cells(asked: Agreement) -> list[tuple[Row, float]]:
        pairs = [(row, line.ours) for row, line in zip(rows, lines, strict=True) if row.where == asked.where]
        return [(row, ours) for row, ours in pairs if row.quantity == asked.quantity and row.value is not None and isinstance(ours, float)]

    return [
        Comparison(one.id, asked.where, None, one.value, one.unit, "not judged", one.what)
        for asked in paper.agreements
        for one in statistics(asked, cells(asked))
    ]


def _number(paper: Paper, row: Row, measured: Measured) -> Comparison:
    def line(ours: float | None, verdict: Verdict, *notes: str) -> Comparison:
        note = "; ".join(note for note in notes if note)
        return Comparison(row.id, row.where, row.value, ours, row.unit, verdict, note)

    function = paper.numbers.get(row.quantity)
    if function is None:
        return line(None, "not testable", row.note, f"nothing computes {row.quantity}")
    try:
        answer = measured.ask(lambda measured: function(measured, row))
    except MissingResults as missing:
        return line(None, "not testable", row.note, str(missing))
    if not isinstance(answer, Answer):
        answer = Answer(float(answer))
    if answer.value is None or math.isnan(answer.value):
        return line(None, "not testable", row.note, answer.note or "no value came out")
    rule = paper.rule(row)
    if rule is None:
        return line(answer.value, "not testable", row.note, answer.note, "the paper gives no value")
    return line(answer.value, "holds" if rule.holds(answer.value) else "differs", row.note, answer.note, rule.says)


def _claim(claim: Claim, measured: Measured) -> Comparison:
    published = f"{claim.says}: {claim.inequality}" if claim.inequality else claim.says
    try:
        answer = measured.ask(claim.check)
    except MissingResults as missing:
        answer = Answer(None, str(missing))
    if isinstance(answer, Answer):
        return Comparison(claim.id, claim.where, published, None, "", "not testable", answer.note)
    checks = [answer] if isinstance(answer, Check) else answer
    if not checks or any(math.isnan(check.left) or math.isnan(check.right) for check in checks):
        return Comparison(claim.id, claim.where, published, None, "", "not testable", "no value came out")
    verdict: Verdict = "holds" if all(check.holds for check in checks) else "differs"
    ours = "; ".join(str(check) for check in checks)
    note = "; ".join(dict.fromkeys(check.note for check in checks if check.note))
    return Comparison(claim.id, claim.where, published, ours, checks[0].unit, verdict, note)
