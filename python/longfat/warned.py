"""Warnings: what a run or a file should not keep to itself. `docs/warnings.md` says of each what it means and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from longfat._longfat import registries

if TYPE_CHECKING:
    from longfat.results import Result


@dataclass(frozen=True)
class RunWarning:
    """A warning of one run, or one for all of the runs that have it."""

    name: str
    """As `longfat list warnings` has it; empty in results of an earlier longfat."""
    text: str
    """What was found: the first of those that differ in numbers alone, such as one of each flow."""
    count: int = 1
    """How many there are like it in a run, at the most."""
    runs: tuple[str, ...] = ()
    """The hashes of the runs that have it; empty before they are run."""

    @property
    def advice(self) -> str:
        """What to do."""
        return _advice().get(self.name, "")

    def as_facts(self) -> dict[str, Any]:
        """It as JSON; `of_facts` reads it."""
        return {"name": self.name, "text": self.text, "count": self.count, "runs": list(self.runs)}


def of_facts(facts: Mapping[str, Any] | str) -> RunWarning:
    """What `as_facts` gave; or a warning as an earlier longfat kept it."""
    if isinstance(facts, str):
        return RunWarning("", facts)
    return RunWarning(facts.get("name", ""), facts["text"], facts.get("count", 1), tuple(facts.get("runs", ())))


def merged(warnings: Iterable[RunWarning]) -> list[RunWarning]:
    """One for all that differ in numbers and runs alone, in the order in which they first come."""
    found: dict[tuple[str, str], list[RunWarning]] = {}
    for warning in warnings:
        found.setdefault((warning.name, _form(warning.text)), []).append(warning)
    return [
        RunWarning(name, same[0].text, max(one.count for one in same), tuple(dict.fromkeys(run for one in same for run in one.runs)))
        for (name, _), same in found.items()
    ]


def of_results(results: Sequence[Result]) -> list[RunWarning]:
    """All that is to be told of the runs of a sweep together."""
    return merged([*_repeats_alike(results), *(warning for result in results for warning in result.warnings)])


def new_ones(warnings: Iterable[RunWarning], known: Iterable[RunWarning]) -> list[RunWarning]:
    """Those of `warnings` that are not among the `known`, whatever their numbers."""
    said = {(warning.name, "" if warning.name == "repeats_alike" else _form(warning.text)) for warning in known}
    return [warning for warning in warnings if (warning.name, "" if warning.name == "repeats_alike" else _form(warning.text)) not in said]


def _repeats_alike(results: Sequence[Result]) -> list[RunWarning]:
    combinations: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        combinations.setdefault(tuple(result.labels.values()), []).append(result)
    repeated = [runs for runs in combinations.values() if len(runs) > 1]
    same = [runs for runs in repeated if len({_numbers(run.metrics) for run in runs}) == 1]
    if not same:
        return []
    of_all = "" if len(repeated) == 1 else f" in {len(same):,} of {len(repeated):,} combinations"
    text = f"{len(same[0])} repeats gave the same in every metric{of_all}: nothing that matters is random"
    return [RunWarning("repeats_alike", text, 1, tuple(run.run for runs in same for run in runs))]


def _numbers(metrics: Mapping[str, float]) -> tuple[float | None, ...]:
    return tuple(None if value != value else value for value in metrics.values())


def _form(text: str) -> str:
    return re.sub(r"[\d.]", "", text)


@cache
def _advice() -> dict[str, str]:
    return {entry["name"]: entry.get("advice", "") for entry in registries()["warnings"]}
