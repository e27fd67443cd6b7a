"""Warnings: what a run or a file should not keep to itself. `docs/warnings.md` says of each what it means and what to do."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any

from longfat._longfat import registries
from longfat.lazy import np

DECLARED = "named by `expect`"
ASKED = "the sweep is about it"
"""Reasons not to print a warning."""
SPOILT = "invalid"
"""Warning that the numbers are not those of the experiment."""
MOST_RUNS = 10
"""Runs that a warning in a file names."""


@dataclass(frozen=True)
class RunWarning:
    """A warning of one run, or one for all of the runs that have it."""

    name: str
    """Name of the warning in `longfat list warnings`; empty where it says how the run is kept."""
    text: str
    """Finding in words: the first of those that differ in numbers alone, such as one of each flow."""
    count: int = 1
    """Number of warnings like it in a run, at the most."""
    runs: tuple[str, ...] = ()
    """The hashes of runs that have it; empty before they are run."""
    more_runs: int = 0
    """Number of further runs that have it."""

    @property
    def advice(self) -> str:
        """Advice: what to do."""
        return _advice().get(self.name, "")

    def as_facts(self) -> dict[str, Any]:
        """Makes a JSON object, with the first `MOST_RUNS` of its runs; `of_facts` reads it."""
        facts = {"name": self.name, "text": self.text, "count": self.count, "runs": list(self.runs[:MOST_RUNS])}
        more = self.more_runs + len(self.runs[MOST_RUNS:])
        return facts | ({"more_runs": more} if more else {})


@dataclass(frozen=True)
class Kind:
    """The warnings of one name: a line for a reader."""

    warnings: tuple[RunWarning, ...]

    @property
    def name(self) -> str:
        """Name of them all."""
        return self.warnings[0].name

    @property
    def advice(self) -> str:
        """Advice: what to do."""
        return self.warnings[0].advice

    @property
    def text(self) -> str:
        """The first in words, and how many more there are."""
        more = sum(warning.count for warning in self.warnings) - 1
        return self.warnings[0].text + (f", and {more:,} more like it" if more else "")

    def where(self, total: int) -> str:
        """The runs that have them, of `total`: `11 of 24 runs`; empty before there are runs, and of one run."""
        named = {run for warning in self.warnings for run in warning.runs}
        if not named or total == 1:
            return ""
        if any(warning.more_runs for warning in self.warnings):
            most = max(len(warning.runs) + warning.more_runs for warning in self.warnings)
            return f"{'at least ' if len(self.warnings) > 1 else ''}{most:,} of {total:,} runs"
        return f"{len(named):,} of {total:,} runs"


def kinds(warnings: Iterable[RunWarning]) -> list[Kind]:
    """Folds warnings of one name; a warning without a name stays alone. `SPOILT` is first, the others keep their order."""
    found: dict[str, list[RunWarning]] = {}
    for number, warning in enumerate(warnings):
        found.setdefault(warning.name or f"{number}", []).append(warning)
    return sorted((Kind(tuple(some)) for some in found.values()), key=lambda kind: kind.name != SPOILT)


def told(warnings: Iterable[RunWarning], expected: Container[str]) -> list[RunWarning]:
    """Returns the warnings whose names are not `expected`."""
    return [warning for warning in warnings if warning.name not in expected]


def unmet(expect: Iterable[str], warnings: Iterable[RunWarning]) -> list[RunWarning]:
    """Returns a warning for each name in `expect` that none of the `warnings` has."""
    given = {warning.name for warning in warnings}
    return [RunWarning("not_as_expected", f"no run gave {name}, which `expect` names") for name in expect if name not in given]


def of_facts(facts: Mapping[str, Any]) -> RunWarning:
    """The warning of which `as_facts` gave these."""
    return RunWarning(facts["name"], facts["text"], facts["count"], tuple(facts["runs"]), facts.get("more_runs", 0))


class Merged:
    """One warning for all that differ in numbers and runs alone, in the order in which they first come.

    With `most`, it names so many of the runs, counts the others, and holds 16 bytes of each.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._found: dict[tuple[str, str], tuple[str, dict[str, None]]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._others: dict[tuple[str, str], bytearray] = {}

    def add(self, warnings: Iterable[RunWarning]) -> None:
        """These come next."""
        for warning in warnings:
            key = (warning.name, _form(warning.text))
            named = self._found.setdefault(key, (warning.text, {}))[1]
            self._counts[key] = max(self._counts.get(key, 0), warning.count)
            for run in warning.runs:
                if self._most is None or len(named) < self._most:
                    named[run] = None
                elif run not in named:
                    self._others.setdefault(key, bytearray()).extend(blake2b(run.encode(), digest_size=16).digest())

    def all(self) -> list[RunWarning]:
        """Returns the merged warnings."""
        return [RunWarning(key[0], text, self._counts[key], tuple(runs), self._more(key)) for key, (text, runs) in self._found.items()]

    def _more(self, key: tuple[str, str]) -> int:
        """Number of runs that are not named; a run that came again counts once."""
        return len(np.unique(np.frombuffer(self._others.get(key, b""), "S16")))


def merged(warnings: Iterable[RunWarning]) -> list[RunWarning]:
    """One for all that differ in numbers and runs alone, in the order in which they first come."""
    made = Merged()
    made.add(warnings)
    return made.all()


def new_ones(warnings: Iterable[RunWarning], known: Iterable[RunWarning]) -> list[RunWarning]:
    """Returns the `warnings` that are not among the `known`, whatever their numbers."""
    said = {(warning.name, "" if warning.name == "repeats_alike" else _form(warning.text)) for warning in known}
    return [warning for warning in warnings if (warning.name, "" if warning.name == "repeats_alike" else _form(warning.text)) not in said]


@lru_cache(maxsize=4096)
def _form(text: str) -> str:
    return re.sub(r"[\d.]", "", text)


@cache
def _advice() -> dict[str, str]:
    return {entry["name"]: entry.get("advice", "") for entry in registries()["warnings"]}
