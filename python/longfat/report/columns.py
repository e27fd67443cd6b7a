"""Tables for a terminal of any width: one too wide is split by columns, and no cell is ever cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True)
class Column:
    """A heading and the cells under it, in rich's markup."""

    title: str
    cells: Sequence[str]
    left: bool = False

    @property
    def width(self) -> int:
        """Width of its widest cell, or of its heading on one line."""
        return max(self.least, _length(self.title))

    @property
    def least(self) -> int:
        """Width with the heading on as many lines as it has words."""
        return max(map(_length, (*self.title.split(), *self.cells)), default=0)


def _length(markup: str) -> int:
    return cell_len(Text.from_markup(markup).plain)


def print_columns(console: Console, labels: Sequence[Column], columns: Sequence[Column]) -> None:
    """Prints `columns`, each part of them that fits the console after `labels`, which say what a row is.

    Lines are longer than the console where not even one column fits beside the labels: wrapped by the terminal, but whole.
    """
    for part in _parts(labels, columns, console.width):
        table = Table(box=box.SIMPLE_HEAD)
        widths = [column.width for column in (*labels, *part)]
        if _total(widths) > console.width:
            widths = [column.least for column in (*labels, *part)]
        for column, width in zip((*labels, *part), widths, strict=True):
            table.add_column(column.title, justify="left" if column.left else "right", width=width)
        for cells in zip(*(column.cells for column in (*labels, *part)), strict=True):
            table.add_row(*cells)
        print_whole(console, table, _total(widths))


def _parts(labels: Sequence[Column], columns: Sequence[Column], room: int) -> Iterator[list[Column]]:
    part: list[Column] = []
    for column in columns:
        if part and _total([one.least for one in (*labels, *part, column)]) > room:
            yield part
            part = []
        part.append(column)
    yield part


def _total(widths: Sequence[int]) -> int:
    # An edge left and right, a space on both sides of each cell, and one between two columns.
    return 2 + sum(width + 2 for width in widths) + len(widths) - 1


def print_whole(console: Console, table: Table, width: int) -> None:
    """Prints `table` at least `width` wide, even where the console is not."""
    usual = console.width
    console.width = max(usual, width)
    try:
        console.print(table)
    finally:
        console.width = usual
