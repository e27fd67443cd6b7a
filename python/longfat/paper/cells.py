"""Building blocks of a paper's numbers, claims and figures."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from longfat import theory
from longfat.lazy import pd
from longfat.paper.measured import Measured, MissingResults

if TYPE_CHECKING:
    from typing import Self

    from longfat.results.results import Results


class Cells:
    """Reads the results once, and answers for what was measured.

    The `cells.py` of a paper has a subclass, with a public method for each thing that a number, a claim or a figure asks for.
    """

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self._tables: dict[tuple[str, str], pd.DataFrame] = {}

    @classmethod
    def of(cls, measured: Measured) -> Self:
        """Returns the cells of `measured`, made once."""
        return measured.once(cls)

    def names(self) -> dict[str, Any]:
        """Names that an inequality may use: the subclass's public methods, what its module defines, `longfat.theory`, mean and median."""
        module = sys.modules[type(self).__module__]
        methods = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        return {"mean": mean, "median": median, **vars(theory), **vars(module), **methods}

    def prepare(self, results: Results, table: str) -> pd.DataFrame:
        """Prepares a table of an experiment for the subclass: columns of its own, fewer rows."""
        return getattr(results, table)

    def table(self, stem: str, table: str = "runs") -> pd.DataFrame:
        """A table of an experiment (`runs`, `flows`, `links`), prepared once."""
        if (stem, table) not in self._tables:
            self._tables[stem, table] = self.prepare(self.measured[stem], table)
        return self._tables[stem, table]

    def rows(self, stem: str, table: str = "runs", /, **where: Any) -> pd.DataFrame:
        """Its rows in which the columns have these values; MissingResults where there are none.

        A short form may leave the choice of a column out, and the column with it.
        """
        rows = self.table(stem, table)
        for column, value in where.items():
            if column not in rows and self.measured[stem].quick:
                raise MissingResults(f"the short form of {stem} has no choice of {column}")
            rows = rows[rows[column] == value]
        if rows.empty:
            raise MissingResults(f"no run of {stem} with {', '.join(f'{k} {v}' for k, v in where.items())}")
        return rows


def rank_correlation(x: Iterable[float], y: Iterable[float]) -> float:
    """Spearman's rank correlation; NaN where a value is missing."""
    # Pearson's correlation of ranks is Spearman's.
    ranks = pd.DataFrame({"x": list(x), "y": list(y)}).rank()
    return float(ranks["x"].corr(ranks["y"])) if ranks.notna().all(axis=None) else math.nan
