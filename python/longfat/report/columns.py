"""Tables for a terminal of any width: one too wide is split by columns, and no cell is ever cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
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
    return cell_len(markup if _is_plain(markup) else Text.from_markup(markup).plain)


def _is_plain(markup: str) -> bool:
    """Returns true if rich's markup is only text: without a style, an escape or the name of an emoji."""
    return not ("[" in markup or ":" in markup)


LONG = 200
"""Rows from which on they are put together here: rich takes a millisecond for each."""


@dataclass(frozen=True)
class _Long:
    """A table of many rows of plain text, drawn as rich draws it: `head` is the table without rows."""

    head: Table
    lines: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        *above, below = console.render_lines(self.head, options, pad=False)
        for line in above:
            yield from line
            yield Segment.line()
        for line in self.lines:
            yield Segment(line)
            yield Segment.line()
        yield from below
        yield Segment.line()


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    """A row as `box.SIMPLE_HEAD` has it: a space at both edges, between columns and on both sides of each cell."""
    pairs = zip(cells, columns, widths, strict=True)
    padded = [(" " * (width - cell_len(cell)), cell, column.left) for cell, column, width in pairs]
    return f"  {'   '.join(cell + room if left else room + cell for room, cell, left in padded)}  "


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
        rows = list(zip(*(column.cells for column in (*labels, *part)), strict=True))
        if len(rows) > LONG and all(_is_plain(cell) for cells in rows for cell in cells):
            print_whole(console, _Long(table, [_line(cells, (*labels, *part), widths) for cells in rows]), _total(widths))
            continue
        for cells in rows:
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


def print_whole(console: Console, table: RenderableType, width: int) -> None:
    """Prints `table` at least `width` wide, even where the console is not."""
    usual = console.width
    console.width = max(usual, width)
    try:
        console.print(table)
    finally:
        console.width = usual
