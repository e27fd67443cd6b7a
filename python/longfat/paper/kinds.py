"""Kinds of comparison lines, and how many would hold by chance: only a simulated line says anything of the simulator."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from longfat.paper.comparison import Comparison
    from longfat.paper.published import Row

Kind = Literal["simulated", "arithmetic", "input", "calibrated", "repeat", "fitted", "held-out"]
KINDS: Mapping[Kind, str] = {
    "simulated": "what our simulation gives, beside what was measured",
    "arithmetic": "follows from constants alone, the authors' own arithmetic among them",
    "input": "a condition of the test, or a constant that the experiment is given",
    "calibrated": "what a parameter of ours was chosen by",
    "repeat": "the same quantity of the same test as a line before it, or an average of such lines",
    "fitted": "our simulation on a path that was fitted to this very number",
    "held-out": "our simulation on a path that was fitted to other numbers of the paper",
}
"""Kinds of lines. The headline counts the first; the others are listed."""

Bound = Literal["<", "<=", ">", ">="]
HOLDS: Mapping[Bound, Callable[[float, float], bool]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
TOLERANCE = 0.10


@dataclass(frozen=True)
class Rule:
    """Rule by which a number holds: within the larger of 10 % of `published` and the paper's own uncertainty, or on its side of a bound."""

    published: float
    uncertainty: float | None = None
    bound: Bound | None = None
    """The paper says "18 or less": `<=`."""
    within: float | None = None
    """Tolerance in place of 10 %, in the number's unit; for an index near 1, half of the last digit that is printed."""

    def holds(self, ours: float) -> bool:
        """Returns true if `ours` holds."""
        if self.bound:
            return HOLDS[self.bound](ours, self.published)
        allowed = max(TOLERANCE * abs(self.published) if self.within is None else self.within, self.uncertainty or 0.0)
        # A relative hair so that 10 % in decimal is 10 % in binary.
        return abs(ours - self.published) <= allowed * (1 + 1e-12)

    @property
    def says(self) -> str:
        """The rule, where it is not the one for all."""
        if self.bound:
            return f"judged as a bound: {self.bound} {self.published:g}"
        return "" if self.within is None else f"judged within {self.within:g}"


@dataclass(frozen=True)
class Null:
    """Numbers that would hold by models that know nothing, beside those that do hold."""

    holds: int
    of: int
    shuffled: float
    """Expected, were our values exchanged at random among the lines of the same place and quantity."""
    trivial: int | None
    """Number that hold by the paper's trivial prediction; `None` where it has none."""
    trivial_words: str = ""

    @property
    def says(self) -> str:
        """Summary in one line."""
        trivial = "" if self.trivial is None else f"; of the trivial prediction, {self.trivial_words}, {self.trivial}"
        return f"null model: {self.holds} of {self.of} hold; shuffled within each table and quantity, {self.shuffled:.1f} would{trivial}"


def null_model(cells: Sequence[tuple[Row, Rule, float]], trivial: Callable[[Row], float | None] | None, words: str) -> Null:
    """Null model of judged `cells` (the published row, its rule, ours). A prediction that is `None` does not hold.

    The expectation is exact: of n lines that share their values at random, line i gets each value with probability 1/n.
    """
    groups: dict[tuple[str, str], list[tuple[Rule, float]]] = {}
    for row, rule, ours in cells:
        groups.setdefault((row.where, row.quantity), []).append((rule, ours))
    shuffled = sum(sum(rule.holds(other) for _, other in group) / len(group) for group in groups.values() for rule, _ in group)
    predicted = None
    if trivial is not None:
        guesses = [(rule, trivial(row)) for row, rule, _ in cells]
        predicted = sum(guess is not None and rule.holds(guess) for rule, guess in guesses)
    return Null(sum(rule.holds(ours) for _, rule, ours in cells), len(cells), shuffled, predicted, words)


def uncounted(lines: Sequence[Comparison]) -> str:
    """The lines that the headline leaves out, by kind; empty where there is none."""
    parts: list[str] = []
    for kind in KINDS:
        counts = Counter(line.verdict for line in lines if line.kind == kind)
        if kind == "simulated" or not counts.total():
            continue
        words = [f"{counts['holds']} hold"] if counts["holds"] else []
        words += [f"{counts['differs']} differ"] if counts["differs"] else []
        words += [f"{counts['not testable']} not judged"] if counts["not testable"] else []
        parts.append(f"{kind} {', '.join(words)}")
    return "; ".join(parts)
