"""Results as a table of LaTeX."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from longfat.errors import LongfatError
from longfat.extras import need
from longfat.plot.units import Unit, scaled, with_half
from longfat.results.repeats import LEVEL

if TYPE_CHECKING:
    from longfat.results.results import Results

ENDINGS: dict[str, Unit] = {"_bps": "bit/s", "_bytes": "B", "_s": "s"}
"""Units of a column, by the end of its name."""


def to_latex(results: Results, metrics: Sequence[str], level: float = LEVEL, by: Literal["run", "group"] = "run") -> str:
    """Makes the table of `Results.to_latex`."""
    need("report", "a table of LaTeX")
    means = results.means(level, by=by)
    keys = [*results.axes, "group"] if by == "group" else results.axes
    known = [str(column) for column in means if f"{column}_ci" in means]
    for metric in metrics:
        if metric not in known:
            raise LongfatError(f"there is no metric {metric!r} of a {by}: choose of {', '.join(known)}")
    table = means[keys].astype(str)
    varied = [key for key in keys if table[key].nunique() > 1]
    table = table[varied] if varied else table
    for metric in metrics:
        title, size = _unit(metric, float(means[metric].abs().max()))
        pairs = zip(means[metric] / size, means[f"{metric}_ci"] / size, strict=True)
        table = table.assign(**{title: [with_half(mean, half) for mean, half in pairs]})
    columns = "l" * len(varied or keys) + "r" * len(metrics)
    return table.to_latex(index=False, escape=True, column_format=columns)


def _unit(metric: str, most: float) -> tuple[str, float]:
    """The title of a column and what its values are divided by."""
    for ending, unit in ENDINGS.items():
        if metric.endswith(ending):
            word, size = scaled(unit, most)
            return f"{metric.removesuffix(ending).replace('_', ' ')} ({word})", size
    return metric.replace("_", " "), 1.0
