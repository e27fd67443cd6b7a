"""Tables of a paper in the paper's own shape: each cell our number with the published one beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longfat.paper.comparison import Comparison
from longfat.paper.model import Layout, Paper
from longfat.paper.published import Row


@dataclass(frozen=True)
class Grid:
    """A table: the names of its columns, and its rows by name; a cell that the paper does not have is None."""

    where: str
    title: str
    columns: list[str]
    rows: dict[str, list[Comparison | None]]


def grids(paper: Paper, rows: Sequence[Row], lines: Sequence[Comparison]) -> list[Grid]:
    """Every table that `paper.tables` lays out. `lines` are those of `compare(paper, rows, ...)`."""
    pairs = list(zip(rows, lines, strict=False))
    return [_grid(layout, [(row, line) for row, line in pairs if row.where == layout.where]) for layout in paper.tables]


def _grid(layout: Layout, pairs: Sequence[tuple[Row, Comparison]]) -> Grid:
    shown = [(row, line) for row, line in pairs if row.quantity in layout.quantities]
    keys = {quantity: _telling(layout.rows, [row for row, _ in shown if row.quantity == quantity]) for quantity in layout.quantities}
    columns = list(dict.fromkeys(row[layout.columns] for row, _ in shown))
    cells: dict[str, list[Comparison | None]] = {}
    for row, line in shown:
        name = " ".join(part for part in (layout.quantities[row.quantity], *(row[key] for key in keys[row.quantity])) if part)
        cells.setdefault(name, [None] * len(columns))[columns.index(row[layout.columns])] = line
    return Grid(layout.where, layout.title, columns, cells)


def _telling(conditions: Sequence[str], rows: Sequence[Row]) -> Sequence[str]:
    """`conditions` without a last one that varies but says nothing that those before it have not said ("256 KiB", then window 1)."""
    *others, last = conditions or ("",)
    repeats = others and len({row[last] for row in rows}) > 1 and len(_names(rows, others)) == len(_names(rows, conditions))
    return others if repeats else conditions


def _names(rows: Sequence[Row], conditions: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(row[key] for key in conditions) for row in rows}
