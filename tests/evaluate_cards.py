"""Writes the tables of docs/evaluate-cards.md; `--without NAME,NAME` leaves some out, and the page names them;
`--kinds slow_starts` writes the tables of one kind.

Runs and cards are kept in results/quick/evaluate, where `longfat evaluate --quick` keeps its own. A second command makes only the cards
that are not there, or lack a criterion. Delete the folder to judge all anew.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evaluate_findings import FINDINGS, claims, here
from longfat._longfat import __version__, registries
from longfat.evaluate import show
from longfat.evaluate.card import Answer, Card, OnPath, beside_of, evaluate_control, evaluate_queue, evaluate_startup
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.criteria import Suite
from longfat.evaluate.queues import QUEUES
from longfat.evaluate.rules import FAILS, JUDGE, PASSES, Estimate
from longfat.evaluate.startups import FAST_OPEN, STARTUPS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evaluate-cards.md"
FOLDER = ROOT / "results" / "quick" / "evaluate"


def names(kind: str) -> list[str]:
    """Names of a registry, in its order; Fast Open is a start-up, and no slow start."""
    return [entry["name"] for entry in registries()[kind]] + [FAST_OPEN] * (kind == "slow_starts")


def judged(suite: Suite, evaluate: Callable[..., Card], name: str) -> Card:
    """The card of `name` in short: the one that is kept if it has every criterion, else a new one, which is kept."""
    file = FOLDER / "cards" / f"{name}.json"
    if file.is_file() and (kept := read(suite, json.loads(file.read_text(encoding="utf-8")))):
        return kept
    print(name, file=sys.stderr, flush=True)
    card = evaluate(name, quick=True, folder=FOLDER, jobs=1)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(show.as_json(card), indent=2) + "\n", encoding="utf-8")
    return card


def read(suite: Suite, told: dict[str, Any]) -> Card | None:
    """A card from what `as_json` says of it, where it has every criterion of its suite and its references; else None."""
    if [one["name"] for one in told["criteria"]] != [one.name for one in suite.criteria] and not told["fault"]:
        return None
    if told["against"] != beside_of(told[suite.what], suite.against):
        return None
    answers = [
        Answer(one, list(map(path, got["paths"])), got["broken"]) for one, got in zip(suite.criteria, told["criteria"], strict=False)
    ]
    return Card(suite, told[suite.what], told["against"], told["quick"], answers, told["fault"])


def path(told: dict[str, Any]) -> OnPath:
    """An answer on one path, from what a card keeps of it."""
    others = {name: estimate_of(one) for name, one in told["others"].items()}
    return OnPath(told["path"], estimate_of(told["own"]), others, told["verdict"], float(told["is_worst"]))


def estimate_of(told: dict[str, float | None]) -> Estimate:
    """A mean with its interval."""
    return Estimate(*(math.nan if told[key] is None else float(told[key]) for key in ("mean", "half")))  # type: ignore[arg-type]


def by_subject(what: str, every: Sequence[str], cards: dict[str, Card]) -> str:
    """A row per control or queue: what it fails, with the number on the worst path, and what is to be judged."""
    count = len(next(card.answers for card in cards.values() if card.answers))
    lines = [f"| {what} | fails | judge yourself | passes, of {count} |", "|---|---|---|---|"]
    for name in every:
        card = cards.get(name)
        if card is None or card.fault:
            lines.append(f"| `{name}` | {card.fault if card else 'not judged'} | | |")
            continue
        fails, judge, passes = ([one for one in card.answers if one.verdict == word] for word in (FAILS, JUDGE, PASSES))
        cells = [", ".join(map(number, fails)), ", ".join(one.criterion.name for one in judge), str(len(passes))]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
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


def main(without: Sequence[str], kinds: Sequence[str]) -> None:
    """Makes the cards, and writes the tables."""
    text = PAGE.read_text(encoding="utf-8")
    cards: dict[str, Card] = {}
    for suite, kind, evaluate in (
        (CONTROLS, "congestion_controls", evaluate_control),
        (QUEUES, "queues", evaluate_queue),
        (STARTUPS, "slow_starts", evaluate_startup),
    ):
        if kind not in kinds:
            continue
        made = {name: judged(suite, evaluate, name) for name in names(kind) if name not in without}
        cards |= made
        text = put(text, f"{kind} by name", by_subject(suite.what, names(kind), made))
        text = put(text, f"{kind} by criterion", by_criterion(list(made.values())))
    if {"congestion_controls", "queues"} <= set(kinds):
        text = put(text, "findings", findings(cards))
    if "slow_starts" in kinds:
        text = put(text, "claims", claims(cards))
    made_on = f"{datetime.datetime.now(datetime.UTC):%-d %B %Y}, longfat {__version__}, RFC stack, three repeats."
    text = put(text, "made", made_on)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    asked = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    every = "congestion_controls,queues,slow_starts"
    main(asked.get("--without", "").split(","), asked.get("--kinds", every).split(","))
