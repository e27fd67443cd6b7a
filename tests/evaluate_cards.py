"""Writes the tables of docs/evaluate-cards.md; `--without NAME,NAME` leaves some out, and the page names them.

Runs are kept in results/quick/evaluate, and a second command makes only those that are missing.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evaluate_findings import FINDINGS, here
from longfat._longfat import __version__, registries
from longfat.evaluate import show
from longfat.evaluate.card import Answer, Card, evaluate_control, evaluate_queue
from longfat.evaluate.rules import FAILS, JUDGE, PASSES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evaluate-cards.md"
FOLDER = ROOT / "results" / "quick" / "evaluate"


def names(kind: str) -> list[str]:
    """Names of a registry, in its order."""
    return [entry["name"] for entry in registries()[kind]]


def judged(evaluate: Callable[..., Card], some: Sequence[str]) -> Iterator[Card]:
    """A card per name, in short."""
    for name in some:
        print(name, file=sys.stderr, flush=True)
        yield evaluate(name, quick=True, folder=FOLDER, jobs=1)


def by_subject(what: str, cards: Sequence[Card], left_out: Sequence[str]) -> str:
    """A row per control or queue: what it fails, with the number on the worst path, and what is to be judged."""
    count = len(next(card.answers for card in cards if card.answers))
    lines = [f"| {what} | fails | judge yourself | passes, of {count} |", "|---|---|---|---|"]
    for card in cards:
        if card.fault:
            lines.append(f"| `{card.name}` | not judged: {card.fault} | | |")
            continue
        fails, judge, passes = ([one for one in card.answers if one.verdict == word] for word in (FAILS, JUDGE, PASSES))
        cells = [", ".join(map(number, fails)), ", ".join(one.criterion.name for one in judge), str(len(passes))]
        lines.append(f"| `{card.name}` | {' | '.join(cells)} |")
    lines += [f"| `{name}` | not judged | | |" for name in left_out]
    return "\n".join(lines)


def number(answer: Answer) -> str:
    """Name of a criterion, and the number on its worst path."""
    if answer.worst is None:
        return f"{answer.criterion.name} ({answer.broken})"
    value = show.said(answer.criterion, answer.worst.own, interval=True)
    return f"**{answer.criterion.name}** {value} {show.unit_of(answer.criterion)[0]}"


def by_criterion(cards: Sequence[Card]) -> str:
    """A row per criterion: section, what is measured, and who fails it."""
    ran = [card for card in cards if card.answers]
    lines = ["| criterion | section | measured on the worst path | failed by |", "|---|---|---|---|"]
    for number, answer in enumerate(ran[0].answers):
        one = answer.criterion
        failed = ", ".join(f"`{card.name}`" for card in ran if card.answers[number].verdict == FAILS)
        lines.append(f"| {one.name} | {one.section} | {one.asks} | {failed} |")
    return "\n".join(lines)


def findings(cards: dict[str, Card]) -> str:
    """A row per known finding whose cards are there."""
    lines = ["| finding | source | published | here |", "|---|---|---|---|"]
    for one in FINDINGS:
        cell = here(one, cards[one.shows][one.criterion], cards[one.spared][one.criterion])
        lines.append(f"| {one.says} | {one.source} | {one.published} | {cell} |")
    return "\n".join(lines)


def put(text: str, name: str, table: str) -> str:
    """The page with another table between its marks."""
    found, count = re.subn(
        rf"(<!-- table {name} -->\n).*?(<!-- end -->)", lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL
    )
    assert count == 1, name
    return found


def main(without: Sequence[str]) -> None:
    """Makes the cards, and writes the tables."""
    text = PAGE.read_text(encoding="utf-8")
    cards: dict[str, Card] = {}
    for what, kind, evaluate in (("control", "congestion_controls", evaluate_control), ("queue", "queues", evaluate_queue)):
        every = names(kind)
        made = list(judged(evaluate, [name for name in every if name not in without]))
        cards |= {card.name: card for card in made}
        text = put(text, f"{kind} by name", by_subject(what, made, [name for name in every if name in without]))
        text = put(text, f"{kind} by criterion", by_criterion(made))
    text = put(text, "findings", findings(cards))
    made_on = f"{datetime.datetime.now(datetime.UTC):%-d %B %Y}, longfat {__version__}, RFC stack, three repeats."
    text = put(text, "made", made_on)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[2].split(",") if sys.argv[1:2] == ["--without"] else ())
