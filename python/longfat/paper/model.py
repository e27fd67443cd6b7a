"""A paper: what it says, and the functions that answer it from our results."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from longfat.errors import LongfatError
from longfat.paper.agreement import Agreement
from longfat.paper.cells import Cells
from longfat.paper.check import Check, checks
from longfat.paper.kinds import Bound, Kind, Rule
from longfat.paper.measured import Measured, MissingResults
from longfat.paper.published import Row

if TYPE_CHECKING:
    from longfat.plot import Plot


@dataclass(frozen=True)
class Answer:
    """Our measurement, with something to say about it; `value=None` is "not testable", and `note` says why."""

    value: float | None
    note: str = ""


NumberFunction = Callable[[Measured, Row], "float | Answer"]
ClaimFunction = Callable[[Measured], "Check | list[Check] | Answer"]
FigureFunction = Callable[[Measured], "Plot"]
TableFunction = Callable[[Measured], "Table"]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, in our own words, as an inequality written down before it is run."""

    id: str
    where: str
    says: str
    inequality: str
    check: ClaimFunction


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn from our results."""

    where: str
    draw: FigureFunction


@dataclass(frozen=True)
class Table:
    """Numbers of ours that the paper has no cells for; NaN leaves its place empty."""

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class MeasuredTable:
    """A table of what the paper tells in words or averages, from our results."""

    where: str
    make: TableFunction


@dataclass(frozen=True)
class Layout:
    """Layout of a table of the paper: which published rows it shows, and what names its rows and columns."""

    where: str
    """The `where` of its published rows: "Table 1"."""
    title: str
    quantities: Mapping[str, str]
    """Quantities to show, each with what its rows are called beside their conditions (may be empty)."""
    rows: tuple[str, ...]
    """Conditions that name a row."""
    columns: str
    """The condition that names a column."""


@dataclass(frozen=True)
class FittedPath:
    """An experiment on a path that was fitted to numbers of the paper. It answers published numbers in place of another experiment."""

    experiment: str
    """Its place in the paper's folder: `fitted/caltech`."""
    in_place_of: str
    """The experiment whose results the functions of the numbers ask for."""
    known: frozenset[str]
    """Ids of the numbers that it was fitted to."""
    held_out: frozenset[str]
    """Ids of the numbers that it was not fitted to, and answers."""


@dataclass
class Paper:
    """A paper: its numbers, claims, tables and figures. `paper.py` makes one and registers functions on it."""

    title: str
    citation: str
    numbers: dict[str, NumberFunction] = field(default_factory=dict[str, NumberFunction])
    claims: list[Claim] = field(default_factory=list[Claim])
    figures: list[Figure] = field(default_factory=list[Figure])
    tables: list[Layout] = field(default_factory=list[Layout])
    measured_tables: list[MeasuredTable] = field(default_factory=list[MeasuredTable])
    agreements: list[Agreement] = field(default_factory=list[Agreement])
    kinds: dict[str, Kind] = field(default_factory=dict[str, "Kind"])
    """Kinds by quantity, or by the id of a number or claim (which comes first); a line without an entry is simulated."""
    fitted: list[FittedPath] = field(default_factory=list[FittedPath])
    bounds: dict[str, Bound] = field(default_factory=dict[str, "Bound"])
    within: dict[str, float] = field(default_factory=dict[str, float])
    trivial: Callable[[Row], float | None] | None = None
    trivial_words: str = ""

    def number(self, quantity: str) -> Callable[[NumberFunction], NumberFunction]:
        """Registers what computes ours, in the row's unit, for every published row of `quantity`."""

        def register(function: NumberFunction) -> NumberFunction:
            if quantity in self.numbers:
                raise ValueError(f"two functions for the quantity {quantity!r}")
            self.numbers[quantity] = function
            return function

        return register

    def kind(self, kind: Kind, *names: str) -> None:
        """Says that these are no results of simulation: names of quantities, or ids of numbers and claims."""
        for name in names:
            if name in self.kinds:
                raise ValueError(f"{name!r} is {self.kinds[name]} already")
            self.kinds[name] = kind

    def fit(self, experiment: str, *, in_place_of: str, known: Collection[str], held_out: Collection[str]) -> None:
        """Registers an experiment on a fitted path. Its lines are of kind `fitted` (`known`) or `held-out`, and never count as reproduced.

        `known` and `held_out` are ids of published numbers. ValueError where an id is in both.
        """
        if both := sorted(set(known) & set(held_out)):
            raise ValueError(f"{experiment}: {both[0]!r} cannot be held out: the path was fitted to it")
        self.fitted.append(FittedPath(experiment, in_place_of, frozenset(known), frozenset(held_out)))

    def bound(self, bound: Bound, *ids: str) -> None:
        """Says that these published numbers are bounds: the paper has "18 or less", and ours is to be `<=` it."""
        self.bounds |= dict.fromkeys(ids, bound)

    def printed(self, **quantities: float) -> None:
        """Says to what these quantities are printed, absolute: they hold within that, not within 10 %."""
        self.within |= quantities

    def predicts(self, words: str) -> Callable[[Callable[[Row], float | None]], Callable[[Row], float | None]]:
        """Registers the trivial prediction of a published number, from its conditions alone, and says in words what it is."""

        def register(function: Callable[[Row], float | None]) -> Callable[[Row], float | None]:
            self.trivial, self.trivial_words = function, words
            return function

        return register

    def kind_of(self, row: Row, before: Collection[tuple[object, ...]] = ()) -> Kind:
        """The kind of a published number. A question asked of the test `before` too is a repeat."""
        kind = self.kinds.get(row.id) or self.kinds.get(row.quantity)
        return kind or ("repeat" if row.test in before else "simulated")

    def rule(self, row: Row) -> Rule | None:
        """Rule by which ours holds; `None` where the paper gives no value."""
        if row.value is None:
            return None
        return Rule(row.value, row.uncertainty, self.bounds.get(row.id), self.within.get(row.quantity))

    def not_results(self, **quantities: str) -> None:
        """Registers quantities that stand in the tables but are no results of tests, each with what it is instead."""
        for quantity, reason in quantities.items():
            self.kind("input", quantity)
            self.number(quantity)(lambda measured, row, reason=reason: Answer(None, reason))

    def claim(self, id: str, *, where: str, says: str, inequality: str) -> Callable[[ClaimFunction], ClaimFunction]:
        """Registers a claim: the paper's sentence in our words, the inequality in words, and what checks it."""

        def register(function: ClaimFunction) -> ClaimFunction:
            if any(claim.id == id for claim in self.claims):
                raise ValueError(f"two claims with the id {id!r}")
            self.claims.append(Claim(id, where, says, inequality, function))
            return function

        return register

    def claims_of(self, path: Path, cells: type[Cells]) -> None:
        """Registers the claims of a table with the columns `id, where, says, inequality` and, if some cannot be tested, `why`.

        An inequality is one or several (`a < b ; c >= d`) between Python expressions over the names of `cells`: what is written
        is what is evaluated, so the table is as much a part of the program as `paper.py` is. Where it is empty, `why` says
        why the claim is not testable.
        """
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                self._claim_of(path, row, cells)

    def _claim_of(self, path: Path, row: Mapping[str, str], cells: type[Cells]) -> None:
        @self.claim(row["id"], where=row["where"], says=row["says"], inequality=row["inequality"])
        def claim(measured: Measured) -> list[Check] | Answer:
            if not row["inequality"]:
                return Answer(None, row.get("why", ""))
            return checks(row["inequality"], cells.of(measured).names(), f"{path.name}: {row['id']}")

    def table(self, *, where: str) -> Callable[[TableFunction], TableFunction]:
        """Registers a table of ours, beside what the paper says at `where`."""

        def register(function: TableFunction) -> TableFunction:
            self.measured_tables.append(MeasuredTable(where, function))
            return function

        return register

    def made_tables(self, measured: Measured) -> tuple[list[tuple[str, Table]], list[tuple[str, str]]]:
        """Returns the tables that there are results for, by their places, and where and why others are missing."""
        made: list[tuple[str, Table]] = []
        missing: list[tuple[str, str]] = []
        for table in self.measured_tables:
            try:
                made.append((table.where, measured.ask(table.make)))
            except MissingResults as reason:
                missing.append((table.where, str(reason)))
        return made, missing

    def figure(self, *, where: str) -> Callable[[FigureFunction], FigureFunction]:
        """Registers a figure of the paper."""

        def register(function: FigureFunction) -> FigureFunction:
            self.figures.append(Figure(where, function))
            return function

        return register


def load_paper(folder: Path) -> Paper:
    """The `paper` of `folder/paper.py`. LongfatError where there is none."""
    path = folder / "paper.py"
    if not path.is_file():
        raise LongfatError(f"{folder} is not a paper: it has no paper.py")
    name = f"longfat_paper_{folder.name}"
    # It is loaded as a package, so that paper.py may import what lies beside it: `from .cells import Cells`.
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    for old in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[old]
    sys.modules[name] = module
    spec.loader.exec_module(module)
    paper = getattr(module, "paper", None)
    if not isinstance(paper, Paper):
        raise LongfatError(f"{path}: expected a module-level `paper = Paper(...)`")
    return paper
