"""What a paper published, beside what longfat measures.

A paper is a folder `papers/NAME/` that holds

- `*.toml`: its experiments. `longfat run papers/NAME` runs them all, each into `results/NAME/<stem>/`.
- `published/*.csv`: its numbers, one row each, with the columns `id, where, page, quantity, value, unit,
  uncertainty, note` and as many columns of conditions as it takes (`rtt`, `flows`, `build`...). `id` is unique in the
  paper; `where` is a table, figure or section; `page` may be empty; `uncertainty` is absolute, in `unit`, and empty
  where the paper states none; an empty `value` is a cell the paper leaves open (listed, not judged).
- `paper.py`: one module-level object `paper = Paper(...)` and the functions registered on it (what lies beside it is
  imported as `from .cells import cells`):

      from longfat.paper import Answer, Check, Measured, Paper, Row
      from longfat.plot import Axis, Plot, Series

      paper = Paper(title="High Performance TCP in ANSNET", citation="C. Villamizar, C. Song: ... 1994")

      @paper.number("peak_throughput")            # every published row whose `quantity` is this
      def peak(measured: Measured, row: Row) -> float | Answer:
          runs = measured["flows-68ms"].runs      # DataFrame of papers/NAME/flows-68ms.toml; see longfat.Results
          runs = runs[runs["build"] == row["build"]]
          return runs["ttcp_utilization_bps"].max() / 1e6   # in the unit of the row

      @paper.claim("5.4-red-avoids-collapse", where="section 5.4, page 12",
                   says="with RED and more queue than BDP no window is too large",
                   inequality="r200 at 512 KiB > 0.9 x its peak")
      def red_avoids_collapse(measured: Measured) -> Check | list[Check] | Answer:
          return Check(at_512, ">", 0.9 * peak, unit="Mbit/s")

      paper.claims_of(FOLDER / "claims.csv", names)   # or many at once, as a table of inequalities

      paper.tables.append(Layout("Table 3", "Peak throughput", {"peak_throughput": ""}, rows=("flows",), columns="build"))

      @paper.figure(where="Figure 1, page 9")
      def figure1(measured: Measured) -> Plot: ...

The rule of judgement is one for all (there is no tolerance by cell): a number holds within the larger of 10 % of the
published value and the paper's own stated uncertainty; a claim holds when all of its checks do. What has no results
yet, or cannot be answered (`Answer(None, note=...)`), is "not testable", with the reason in the note.
"""

from __future__ import annotations

import ast
import csv
import importlib.util
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from longfat.errors import LongfatError
from longfat.store import Store

if TYPE_CHECKING:
    from longfat.plot import Plot
    from longfat.results import Results

Verdict = Literal["holds", "differs", "not testable"]
Operator = Literal["<", "<=", ">", ">="]

OPERATORS: dict[Operator, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COLUMNS = ("id", "where", "page", "quantity", "value", "unit", "uncertainty", "note")
TOLERANCE = 0.10


class MissingResults(LongfatError):
    """An experiment of the paper has no results (yet)."""


@dataclass(frozen=True)
class Row:
    """One published number. `row["build"]` is the text of the condition `build`."""

    id: str
    where: str
    page: str
    quantity: str
    conditions: Mapping[str, str]
    value: float | None
    unit: str
    uncertainty: float | None
    note: str

    def __getitem__(self, condition: str) -> str:
        """The text of a condition; KeyError where the table has no such column."""
        return self.conditions[condition]


@dataclass(frozen=True)
class Answer:
    """What we measured, with something to say about it; `value=None` is "not testable", and `note` says why."""

    value: float | None
    note: str = ""


@dataclass(frozen=True)
class Check:
    """One inequality between two measured numbers (or one and a bound the paper states)."""

    left: float
    op: Operator
    right: float
    unit: str = ""
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is so; NaN on either side is not."""
        return OPERATORS[self.op](self.left, self.right)

    def __str__(self) -> str:
        """The inequality with its numbers."""
        return f"{self.left:.4g} {self.op} {self.right:.4g}"


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


class Measured(Mapping[str, "Results"]):
    """The results of a paper's experiments by the stem of their file: `measured["flows-68ms"].runs`.

    An experiment without results raises `MissingResults`, which `compare` turns into "not testable".
    """

    def __init__(self, results: Mapping[str, Results]) -> None:
        self._results = results

    def __getitem__(self, stem: str) -> Results:
        """The results of one experiment."""
        try:
            return self._results[stem]
        except KeyError:
            raise MissingResults(f"no results of experiment {stem!r}") from None

    def __iter__(self) -> Iterator[str]:
        """The stems that have results."""
        return iter(self._results)

    def __len__(self) -> int:
        """How many experiments have results."""
        return len(self._results)


NumberFunction = Callable[[Measured, Row], "float | Answer"]
ClaimFunction = Callable[[Measured], "Check | list[Check] | Answer"]
FigureFunction = Callable[[Measured], "Plot"]


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
class Layout:
    """How a table of the paper is laid out: which published rows it shows, and what names its rows and columns."""

    where: str
    """The `where` of its published rows: "Table 1"."""
    title: str
    quantities: Mapping[str, str]
    """Quantities to show, each with what its rows are called beside their conditions (may be empty)."""
    rows: tuple[str, ...]
    """Conditions that name a row."""
    columns: str
    """The condition that names a column."""


@dataclass
class Paper:
    """A paper: its numbers, claims, tables and figures. `paper.py` makes one and registers functions on it."""

    title: str
    citation: str
    numbers: dict[str, NumberFunction] = field(default_factory=dict[str, NumberFunction])
    claims: list[Claim] = field(default_factory=list[Claim])
    figures: list[Figure] = field(default_factory=list[Figure])
    tables: list[Layout] = field(default_factory=list[Layout])

    def number(self, quantity: str) -> Callable[[NumberFunction], NumberFunction]:
        """Registers what computes ours, in the row's unit, for every published row of `quantity`."""

        def register(function: NumberFunction) -> NumberFunction:
            if quantity in self.numbers:
                raise ValueError(f"two functions for the quantity {quantity!r}")
            self.numbers[quantity] = function
            return function

        return register

    def claim(self, id: str, *, where: str, says: str, inequality: str) -> Callable[[ClaimFunction], ClaimFunction]:
        """Registers a claim: the paper's sentence in our words, the inequality in words, and what checks it."""

        def register(function: ClaimFunction) -> ClaimFunction:
            if any(claim.id == id for claim in self.claims):
                raise ValueError(f"two claims with the id {id!r}")
            self.claims.append(Claim(id, where, says, inequality, function))
            return function

        return register

    def claims_of(self, path: Path, names: Callable[[Measured], Mapping[str, Any]]) -> None:
        """Registers the claims of a table with the columns `id, where, says, inequality` and, if some cannot be tested, `why`.

        An inequality is one or several (`a < b ; c >= d`) between Python expressions over `names(measured)`: what is written
        is what is evaluated, so the table is as much a part of the program as `paper.py` is. Where it is empty, `why` says
        why the claim is not testable.
        """
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                self._claim_of(path, row, names)

    def _claim_of(self, path: Path, row: Mapping[str, str], names: Callable[[Measured], Mapping[str, Any]]) -> None:
        @self.claim(row["id"], where=row["where"], says=row["says"], inequality=row["inequality"])
        def claim(measured: Measured) -> list[Check] | Answer:
            if not row["inequality"]:
                return Answer(None, row.get("why", ""))
            return _checks(row["inequality"], names(measured), f"{path.name}: {row['id']}")

    def figure(self, *, where: str) -> Callable[[FigureFunction], FigureFunction]:
        """Registers a figure of the paper."""

        def register(function: FigureFunction) -> FigureFunction:
            self.figures.append(Figure(where, function))
            return function

        return register


COMPARISONS: dict[type[ast.cmpop], Operator] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def _checks(inequality: str, names: Mapping[str, Any], where: str) -> list[Check]:
    def value(side: ast.expr) -> float:
        return float(eval(compile(ast.Expression(side), where, "eval"), dict(names)))

    checks = list[Check]()
    for part in inequality.split(" ; "):
        comparison = ast.parse(part, where, mode="eval").body
        if not isinstance(comparison, ast.Compare) or len(comparison.ops) != 1 or type(comparison.ops[0]) not in COMPARISONS:
            raise LongfatError(f"{where}: {part!r} is not one inequality")
        checks.append(Check(value(comparison.left), COMPARISONS[type(comparison.ops[0])], value(comparison.comparators[0])))
    return checks


def load_paper(folder: Path) -> Paper:
    """The `paper` of `folder/paper.py`. LongfatError where there is none."""
    path = folder / "paper.py"
    if not path.is_file():
        raise LongfatError(f"{folder} is not a paper: it has no paper.py")
    name = f"longfat_paper_{folder.name}"
    # As a package, so that paper.py may import what lies beside it: `from .cells import cells`.
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


def load_published(folder: Path) -> list[Row]:
    """Every row of `folder/published/*.csv`, in the order of file names and lines."""
    rows: list[Row] = []
    seen: dict[str, str] = {}
    for path in sorted((folder / "published").glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise LongfatError(f"{path}:1: missing column {', '.join(missing)}")
            for line in reader:
                where = f"{path}:{reader.line_num}"
                if None in line or None in line.values():
                    raise LongfatError(f"{where}: not as many cells as there are columns")
                if line["id"] in seen:
                    raise LongfatError(f"{where}: the id {line['id']!r} is already at {seen[line['id']]}")
                seen[line["id"]] = where
                rows.append(_row(cast("dict[str, str]", line), where))
    return rows


def _row(line: dict[str, str], where: str) -> Row:
    def number(column: str) -> float | None:
        try:
            return float(line[column]) if line[column].strip() else None
        except ValueError:
            raise LongfatError(f"{where}: {column} is {line[column]!r}, expected a number or nothing") from None

    return Row(
        id=line["id"],
        where=line["where"],
        page=line["page"],
        quantity=line["quantity"],
        conditions={name: text for name, text in line.items() if name not in COLUMNS},
        value=number("value"),
        unit=line["unit"],
        uncertainty=number("uncertainty"),
        note=line["note"],
    )


def load_measured(folder: Path, root: Path) -> Measured:
    """The results under `root` of every experiment in the paper's folder; those without results are left out."""
    stores = {path.stem: Store(root / folder.name / path.stem) for path in sorted(folder.glob("*.toml"))}
    measured = {stem: store.load() for stem, store in stores.items() if store.provenance()}
    if not measured:
        raise LongfatError(f"no results of {folder.name} in {root}: `longfat run {folder.name}` makes them")
    return Measured(measured)


def judge(published: float, ours: float, uncertainty: float | None) -> Verdict:
    """`holds` within the larger of 10 % of `published` and the paper's own `uncertainty`, else `differs`."""
    allowed = max(TOLERANCE * abs(published), uncertainty or 0.0)
    # A relative hair so that 10 % in decimal is 10 % in binary.
    return "holds" if abs(ours - published) <= allowed * (1 + 1e-12) else "differs"


def compare(paper: Paper, rows: Sequence[Row], measured: Measured) -> list[Comparison]:
    """Every published number and every claim, judged, in that order."""
    return [_number(paper, row, measured) for row in rows] + [_claim(claim, measured) for claim in paper.claims]


def _number(paper: Paper, row: Row, measured: Measured) -> Comparison:
    def line(ours: float | None, verdict: Verdict, *notes: str) -> Comparison:
        note = "; ".join(note for note in notes if note)
        return Comparison(row.id, row.where, row.value, ours, row.unit, verdict, note)

    function = paper.numbers.get(row.quantity)
    if function is None:
        return line(None, "not testable", row.note, f"nothing computes {row.quantity}")
    try:
        answer = function(measured, row)
    except MissingResults as missing:
        return line(None, "not testable", row.note, str(missing))
    if not isinstance(answer, Answer):
        answer = Answer(float(answer))
    if answer.value is None or math.isnan(answer.value):
        return line(None, "not testable", row.note, answer.note or "no value came out")
    if row.value is None:
        return line(answer.value, "not testable", row.note, answer.note, "the paper gives no value")
    return line(answer.value, judge(row.value, answer.value, row.uncertainty), row.note, answer.note)


def _claim(claim: Claim, measured: Measured) -> Comparison:
    published = f"{claim.says}: {claim.inequality}" if claim.inequality else claim.says
    try:
        answer = claim.check(measured)
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
