"""Cards for a pull request or an appendix: one HTML page that needs nothing else, the same as PDF, or Markdown."""

# jinja2 has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from longfat._longfat import __version__
from longfat.errors import LongfatError
from longfat.evaluate import show
from longfat.evaluate.card import Answer, Card
from longfat.evaluate.rules import FAILS
from longfat.evaluate.tradeoff import Tradeoff, figures
from longfat.plot import Axis, Plot, Series
from longfat.plot import Rule as Line
from longfat.report.page import template
from longfat.report.pdf import browser, write_pdf

ENDINGS = (".html", ".pdf", ".md")


def check(file: Path) -> None:
    """Raises LongfatError where no page can be written to `file`: another ending, no such folder, or no browser for a PDF."""
    if file.suffix not in ENDINGS:
        raise LongfatError(f"--page {file}: expected a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if not file.absolute().parent.is_dir():
        raise LongfatError(f"--page {file}: there is no folder {file.parent}")
    if file.suffix == ".pdf":
        browser()


def write_page(cards: Sequence[Card], file: Path, command: str) -> None:
    """Writes the cards, of one suite, as the ending says: `.html`, `.pdf` or `.md`.

    Raises LongfatError as `check`, or where it cannot be written.
    """
    check(file)
    if file.suffix == ".pdf":
        write_pdf(html(cards, command), file)
        return
    text = html(cards, command) if file.suffix == ".html" else markdown(cards, command)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def table(cards: Sequence[Card]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows: a row per criterion, a column per control, and in each cell a word and a number."""
    ran = [card for card in cards if not card.fault]
    titles = ["criterion", "section", *(card.name for card in ran)]
    answers = zip(*(card.answers for card in ran), strict=True)
    return titles, [[row[0].criterion.name, row[0].criterion.section, *map(show.cell, row)] for row in answers]


def sources(cards: Sequence[Card]) -> list[tuple[str, str]]:
    """Each criterion that was asked, and what is measured with the source of its bound."""
    asked = {one.criterion.name: one for card in cards for one in card.answers}
    return [(name, f"{one.criterion.asks}. {bound(one)}") for name, one in asked.items()]


def bound(answer: Answer) -> str:
    """The bound and its source, in words."""
    rule = answer.criterion.rule
    word, size = show.unit_of(answer.criterion)
    if rule.bound is None:
        return f"{rule.source}; {rule.matters * size:g} {word} matter."
    return f"At {'most' if rule.better == 'less' else 'least'} {rule.bound * size:g} {word}: {rule.source}."


def html(cards: Sequence[Card], command: str) -> str:
    """Returns the page: the table, and behind each criterion that is not passed everywhere a figure, its paths and its experiment."""
    from longfat.plot.print import to_svg

    titles, rows = table(cards)
    return template("evaluate.html.jinja").render(
        title=cards[0].suite.title,
        version=__version__,
        command=command,
        faults=[card.fault for card in cards if card.fault],
        remarks=[card.remark for card in cards if card.remark],
        titles=titles,
        rows=rows,
        sources=sources(cards),
        not_shown=cards[0].suite.not_shown,
        cards=cards,
        picture=picture,
        to_svg=to_svg,
        figures=figures,
        beside=show.beside,
        TRADED=TRADED,
        traded=traded,
        FAILS=FAILS,
    )


def markdown(cards: Sequence[Card], command: str) -> str:
    """Returns the table, the paths on which a criterion is failed, and the sources, as Markdown."""
    titles, rows = table(cards)
    lines = [
        f"# {cards[0].suite.title}",
        "",
        f"Made by longfat {__version__}, `{command}`.",
        "",
        *(f"- **{card.fault}**" for card in cards if card.fault),
    ]
    remarks = [f"- {card.remark}." for card in cards if card.remark]
    lines += [*remarks, ""] if remarks else []
    lines += [_row(titles), "|---" * len(titles) + "|", *map(_row, rows), ""] if rows else [""]
    for card in cards:
        if card.failed:
            lines += [f"## Where {card.name} fails", ""]
            failed = [(answer, answer.worst) for answer in card.answers if answer.verdict == FAILS]
            lines += [f"- {one.criterion.name}: {one.broken or (show.beside(one, worst) if worst else '')}" for one, worst in failed]
            lines.append("")
    for card in cards:
        for _, shown in figures(card.tradeoffs):
            lines += [f"## Delay and goodput of {card.name}: {shown[0].scenario}", ""]
            lines += [_row(TRADED), "|---" * len(TRADED) + "|", *(_row(traded(one)) for one in shown), ""]
    lines += ["## What is measured", "", *(f"- {name}: {what}" for name, what in sources(cards)), ""]
    lines += ["## Not shown", "", *(f"- Section {section}, {why}." for section, why in cards[0].suite.not_shown)]
    return "\n".join(lines) + "\n"


TRADED = ("path", "queue", "delay (ms)", "goodput (Mbit/s)", "correlation")


def traded(one: Tradeoff) -> list[str]:
    """Row of the table of a trade-off: medians over the repeats, each with the deviation."""
    shown = one.ellipse
    lean = "–" if math.isnan(shown.correlation) else f"{shown.correlation:.2f}"
    delay = f"{shown.x_median * 1e3:.3g} ± {shown.x_deviation * 1e3:.2g}"
    return [one.name, one.queue, delay, f"{shown.y_median * 1e-6:.3g} ± {shown.y_deviation * 1e-6:.2g}", lean]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(one.replace('|', '/') for one in cells)} |"


def picture(name: str, answer: Answer) -> Plot:
    """Draws the value of `name` and of each reference on each path of a criterion."""
    criterion, (word, size) = answer.criterion, show.unit_of(answer.criterion)
    places = [float(place) for place in range(len(answer.paths))]
    names = [textwrap.fill(path.name, 12) for path in answer.paths]
    of_all = {name: [path.own for path in answer.paths]}
    of_all |= {other: [path.others[other] for path in answer.paths] for other in answer.paths[0].others}
    series = [
        Series(who, places, [one.mean * size for one in some], error=[one.half * size or float("nan") for one in some], line=False)
        for who, some in of_all.items()
    ]
    rules = [Line("", y=criterion.rule.bound * size)] if criterion.rule.bound is not None else []
    title = f"{criterion.asks} ({word})"
    return Plot(criterion.name, title, Axis("path", names=names), Axis(f"{criterion.name} ({word})", start=0.0), series, rules=rules)
