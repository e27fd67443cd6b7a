"""Papers: published numbers beside those that longfat measures.

A paper is a folder `papers/NAME/` that holds

- `*.toml`: its experiments. `longfat run papers/NAME` runs them all, each into `results/NAME/<stem>/`.
- `published/*.csv`: its numbers, one row each, with the columns `id, where, page, quantity, value, unit,
  uncertainty, note` and as many columns of conditions as it takes (`rtt`, `flows`, `build`...). `id` is unique in the
  paper; `where` is a table, figure or section; `page` may be empty; `uncertainty` is absolute, in `unit`, and empty
  where the paper states none; an empty `value` is a cell the paper leaves open (listed, not judged).
- `cells.py`: a subclass of `Cells` with a method for each thing that is measured, and the constants that go with them.
- `claims.csv`: its sentences as inequalities between these, with the columns `id, where, says, inequality, why`.
- `paper.py`: one module-level object `paper = Paper(...)` and the functions registered on it:

      from longfat.paper import Answer, Check, Layout, Measured, Paper, Row
      from longfat.plot import Axis, Plot, Series

      from .cells import Cells

      paper = Paper(title="High Performance TCP in ANSNET", citation="C. Villamizar, C. Song: ... 1994")
      cells = Cells.of

      @paper.number("peak_throughput")            # every published row whose `quantity` is this
      def peak(measured: Measured, row: Row) -> float | Answer:
          return cells(measured).peak(row["build"], int(row["flows"]))   # in the unit of the row

      paper.not_results(condition="a condition of the test")

      paper.claims_of(FOLDER / "claims.csv", Cells)

      @paper.claim("5.4-red-avoids-collapse", where="section 5.4, page 12",     # or one at a time
                   says="with RED and more queue than BDP no window is too large",
                   inequality="r200 at 512 KiB > 0.9 x its peak")
      def red_avoids_collapse(measured: Measured) -> Check | list[Check] | Answer:
          return Check(at_512, ">", 0.9 * peak, unit="Mbit/s")

      paper.tables.append(Layout("Table 3", "Peak throughput", {"peak_throughput": ""}, rows=("flows",), columns="build"))

      paper.agreements.append(Agreement("Table 3", "peak_throughput", by="build"))   # rows of the comparison that are not judged

      @paper.figure(where="Figure 1, page 9")
      def figure1(measured: Measured) -> Plot: ...

  `measured["flows-68ms"].runs` is the DataFrame of `papers/NAME/flows-68ms.toml`, `measured["beyond/server"].runs` that of
  `papers/NAME/beyond/server.toml` (see `longfat.results.results`): a small paper needs neither `cells.py` nor `claims.csv`.

The rule of judgement is one for all (there is no tolerance by cell): a number holds within the larger of 10 % of the
published value and the paper's own stated uncertainty; a claim holds when all of its checks do. A number that the paper gives as
a bound (`paper.bound("<=", id)`) holds on its side of it; an index holds within what is printed (`paper.printed(jain=0.005)`). A row
without results yet, or that cannot be answered (`Answer(None, note=...)`), is "not testable", with the reason in the note.

Only what is simulated counts in the headline. `paper.kind("arithmetic", ...)` says of quantities, numbers and claims that
they are something else (`KINDS`); a number of the same quantity and conditions as one before it is a `repeat` by itself.
`paper.fit(experiment, in_place_of=..., known=..., held_out=...)` adds lines of a path fitted to published numbers (`longfat fit`). They
are of kind `fitted` or `held-out`, and never count in the headline.
Beside the headline stands what null models score: our values shuffled within each table and quantity, and a trivial
prediction (`@paper.predicts("...")`).
"""

from longfat.paper.agreement import Agreement
from longfat.paper.cells import Cells, rank_correlation
from longfat.paper.check import Check
from longfat.paper.comparison import Comparison, Verdict, compare, null
from longfat.paper.grid import Grid, grids
from longfat.paper.kinds import KINDS, Kind, Null, Rule, null_model, uncounted
from longfat.paper.measured import Measured, MissingResults, load_measured
from longfat.paper.model import Answer, Claim, Figure, FittedPath, Layout, Paper, Table, load_paper
from longfat.paper.published import Row, load_published

__all__ = [
    "KINDS",
    "Agreement",
    "Answer",
    "Cells",
    "Check",
    "Claim",
    "Comparison",
    "Figure",
    "FittedPath",
    "Grid",
    "Kind",
    "Layout",
    "Measured",
    "MissingResults",
    "Null",
    "Paper",
    "Row",
    "Rule",
    "Table",
    "Verdict",
    "compare",
    "grids",
    "load_measured",
    "load_paper",
    "load_published",
    "null",
    "null_model",
    "rank_correlation",
    "uncounted",
]
