"""Agreement of a whole table of a paper: listed beside its numbers, and not judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from longfat.paper.cells import rank_correlation
from longfat.paper.published import Row


@dataclass(frozen=True)
class Agreement:
    """A table for `Paper.agreements`: its published rows of a quantity, all together and for each value of a condition."""

    where: str
    quantity: str
    by: str = ""
    """The condition; empty for none."""


@dataclass(frozen=True)
class Statistic:
    """One number about a table."""

    id: str
    value: float
    unit: str
    what: str


def statistics(asked: Agreement, cells: Sequence[tuple[Row, float]]) -> Iterator[Statistic]:
    """Compares published `cells` with ours: how many are within one and two published deviations, mean error, rank correlation.

    The mean error is the mean of |ours - published|, in the table's unit, and as a fraction of the published mean.
    """
    parts = {"": list(cells)}
    for row, ours in cells if asked.by else ():
        parts.setdefault(row[asked.by], []).append((row, ours))
    for name, part in parts.items():
        id, of = f"{asked.quantity}-{name or 'all'}".lower().replace(" ", "-"), f" ({name})" if name else ""
        bounded = [(row.uncertainty, abs(ours - row.value)) for row, ours in part if row.uncertainty and row.value is not None]
        for times, word in ((1, "the published deviation"), (2, "two published deviations")):
            if bounded:
                # A relative hair, as in the judgement of a number.
                met = sum(off <= times * deviation * (1 + 1e-12) for deviation, off in bounded)
                yield Statistic(f"{id}-within-{times}", float(met), f"of {len(bounded)}", f"cells within {word}{of}")
        published = [row.value if row.value is not None else math.nan for row, _ in part]
        if part:
            error = sum(abs(ours - value) for (_, ours), value in zip(part, published, strict=True)) / len(part)
            size = sum(abs(value) for value in published) / len(part)
            of_mean = f", {error / size:.1%} of the mean that is published" if size else ""
            yield Statistic(f"{id}-mean-error", error, part[0][0].unit, f"mean error of {len(part)} cells{of}{of_mean}")
        correlation = rank_correlation([ours for _, ours in part], published)
        if not math.isnan(correlation):
            yield Statistic(f"{id}-rank-correlation", correlation, "", f"rank correlation (Spearman) of {len(part)} cells{of}")
