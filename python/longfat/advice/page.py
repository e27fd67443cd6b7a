"""Advice to forward: one HTML page that needs nothing else, or Markdown for a mail."""

# jinja2 has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longfat.advice import linux, show
from longfat.advice.ranking import worst_case
from longfat.errors import LongfatError
from longfat.plot import Axis, Plot, Rule, Series
from longfat.report.page import template
from longfat.report.pdf import browser, write_pdf

if TYPE_CHECKING:
    from longfat.advice.advise import Advice

ENDINGS = (".html", ".pdf", ".md")


def check(file: Path) -> None:
    """Raises LongfatError where no page can be written to `file`: another ending, no such folder, or no browser for a PDF."""
    if file.suffix not in ENDINGS:
        raise LongfatError(f"--page {file}: expected a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if not file.absolute().parent.is_dir():
        raise LongfatError(f"--page {file}: there is no folder {file.parent}")
    if file.suffix == ".pdf":
        browser()


def write_page(advice: Advice, file: Path) -> None:
    """Writes the advice as its ending says: `.html`, `.pdf` or `.md`. Raises LongfatError as `check`, or where it cannot be written."""
    check(file)
    if file.suffix == ".pdf":
        write_pdf(html(advice), file)
        return
    text = html(advice) if file.suffix == ".html" else markdown(advice)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def html(advice: Advice) -> str:
    """Returns the page: what to set and why, one picture, the table of candidates, the lines for Linux, and how sure it is."""
    from longfat.plot.print import to_svg

    return template("advice.html.jinja").render(
        title=advice.experiment.title,
        opening=2 + (advice.found.stock is not advice.found.best),
        picture=to_svg(picture(advice)),
        commands=commands(advice),
        **vars(_content(advice)),
    )


def markdown(advice: Advice) -> str:
    """Returns the same without the picture, as Markdown that a mail program shows."""

    def table(titles: list[str], rows: list[list[str]]) -> list[str]:
        return [_row(titles), "|---" * len(titles) + "|", *map(_row, rows)]

    content = _content(advice)
    lines = [f"# {advice.experiment.title}", "", *_paragraphs(content.reasons), *_paragraphs(content.warnings)]
    for title, made in commands(advice):
        lines += [f"## {title}", ""]
        lines += ["```sh", *(line.text for line in made), "```", ""] if made else [NOTHING, ""]
        lines += [*(f"- `{line.text}`: {line.why} ({line.source})" for line in made), ""]
    lines += ["## Candidates", "", *table(content.titles, content.rows), "", *(f"- {one}" for one in content.candidates), ""]
    if content.case_rows:
        lines += ["## Goodput by case", "", *table(content.case_titles, content.case_rows), ""]
    lines += ["## How sure", "", *(f"- {sentence}" for sentence in content.notes)]
    return "\n".join(lines) + "\n"


NOTHING = "Nothing: it is what Linux does by itself."


def commands(advice: Advice) -> list[tuple[str, list[linux.Line]]]:
    """Returns the lines for Linux with their titles: for the best, and for the best of a released kernel where that is another."""
    found = advice.found
    made = [("On Linux", linux.lines(advice.plan, found.best))]
    if found.stock is not found.best:
        made.append((show.released(advice), linux.lines(advice.plan, found.stock)))
    return made


def picture(advice: Advice) -> Plot:
    """Draws what each candidate gets in its worst case, best first, with its interval; the path's payload is a line."""
    plan = advice.plan
    order = sorted(plan.candidates, key=lambda one: (one is not advice.found.best, -worst_case(plan, advice.cells, one).goodput))
    cells = [worst_case(plan, advice.cells, one) for one in order]
    word, size = _unit(plan.question.payload)
    places = [float(place) for place in range(len(cells))]
    series = Series(
        "goodput", places, [cell.goodput / size for cell in cells], error=[cell.half / size for cell in cells], bar=True, colour=0
    )
    return Plot(
        "advice",
        "Goodput in the worst case, by candidate",
        Axis("candidate", names=[textwrap.fill(one.name, 8) for one in order]),
        Axis(f"goodput ({word}, payload)", start=0.0),
        [series],
        rules=[Rule("", y=plan.question.payload / size)],
    )


def _unit(rate: float) -> tuple[str, float]:
    return next(((word, size) for word, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6)) if rate >= size), ("kbit/s", 1e3))


@dataclass(frozen=True)
class Content:
    """Words and tables of the page."""

    reasons: list[str]
    warnings: list[str]
    window: str
    titles: list[str]
    rows: list[list[str]]
    candidates: list[str]
    case_titles: list[str]
    case_rows: list[list[str]]
    notes: list[str]


def _content(advice: Advice) -> Content:
    titles, rows = show.answers(advice)
    case_titles, case_rows = show.by_case(advice)
    return Content(
        reasons=advice.found.reasons,
        warnings=[f"Warning: {one}" for one in advice.warnings],
        window=linux.arithmetic(advice.plan, advice.found.best),
        titles=titles,
        rows=rows,
        candidates=[f"{one.name}: {one.what}{f' ({one.kernel})' if one.kernel else ''}" for one in advice.plan.candidates],
        case_titles=case_titles,
        case_rows=case_rows,
        notes=[*advice.found.notes, *show.supposed(advice)],
    )


def _paragraphs(sentences: list[str]) -> list[str]:
    return [part for sentence in sentences for part in (sentence, "")]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
