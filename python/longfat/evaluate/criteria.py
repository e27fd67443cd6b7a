"""Criteria, and suites of them: what a document asks of a kind of thing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from longfat.evaluate.measures import Measure
from longfat.evaluate.rules import Rule

EXPERIMENTS = Path(__file__).parent / "experiments"


@dataclass(frozen=True)
class Criterion:
    """One question, and how it is answered."""

    name: str
    section: str
    """Section of the suite's document."""
    asks: str
    """Quantity that is measured, in words."""
    experiment: str
    """Name of the file in the suite's folder of `experiments/`, without its ending."""
    unit: Literal["share", "s", "bit/s", "RTT", "packets", "packets per RTT", "index", "ratio", "of a fair share", "harm"]
    rule: Rule
    measure: Measure | None = None
    """Number of one run; None where it is harm."""
    harms: str = ""
    """Column of flows by which harm to the group `peer` is counted; empty where it is no harm."""
    varies: bool = False
    """True where each parameter of what is judged is halved and doubled, and compared with its own value."""


@dataclass(frozen=True)
class Suite:
    """Criteria of one document for one kind of thing."""

    what: Literal["control", "queue", "startup"]
    """Kind of thing that is judged; also the axis of its sweeps."""
    document: str
    title: str
    """Title of a page of cards."""
    criteria: tuple[Criterion, ...]
    not_shown: tuple[tuple[str, str], ...]
    """Sections that runs do not answer, and why."""
    against: tuple[str, ...]
    """References, unless others are named."""
    folder: str
    """Folder of its experiments, and of their results."""

    def file(self, criterion: Criterion) -> Path:
        """Experiment file of a criterion."""
        return EXPERIMENTS / self.folder / f"{criterion.experiment}.toml"
