"""Numbers and claims of a paper beside ours, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from longfat.paper import Comparison, Grid, Null, Verdict, uncounted
from longfat.paper import Table as PaperTable
from longfat.report.columns import Column, print_columns, print_whole
from longfat.report.terminal import escape, number, short

STYLE: dict[Verdict, str] = {"holds": "green", "differs": "red", "not testable": "dim", "not judged": "cyan"}


WIDE = 130
"""Columns of a terminal from which on notes fit beside the numbers."""


def difference(line: Comparison) -> str:
    """Difference between ours and the published number, in percent of the published one."""
    if isinstance(line.published, float) and isinstance(line.ours, float) and line.published:
        return f"{100 * (line.ours - line.published) / abs(line.published):+.1f} %"
    return ""


def summary(lines: Sequence[Comparison]) -> str:
    """Number of simulated lines that hold, differ and are not testable; a line that is not judged does not count."""
    counts = Counter(line.verdict for line in lines if line.kind == "simulated")
    words: dict[Verdict, str] = {"holds": "hold", "differs": "differ", "not testable": "not testable"}
    return ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())


def print_grids(console: Console, tables: Sequence[Grid]) -> None:
    """Tables of a paper: ours, and the published number in parentheses."""
    for grid in tables:
        console.print(f"{escape(grid.where)}: {escape(grid.title)}: ours (published)", soft_wrap=True)
        names = Column("", [escape(name) for name in grid.rows], left=True)
        columns = zip(grid.columns, zip(*grid.rows.values(), strict=True), strict=True)
        print_columns(console, [names], [Column(escape(title), [_cell(line) for line in lines]) for title, lines in columns])


def print_tables(console: Console, tables: Sequence[tuple[str, PaperTable]]) -> None:
    """Tables of ours beside a paper."""
    for where, table in tables:
        console.print(f"{escape(where)}: {escape(table.title)}", soft_wrap=True)
        names = Column("", [escape(name) for name in table.rows], left=True)
        columns = zip(table.columns, zip(*table.rows.values(), strict=True), strict=True)
        print_columns(console, [names], [Column(escape(title), [short(value) for value in values]) for title, values in columns])


def _cell(line: Comparison | None) -> str:
    if line is None:
        return ""
    return f"[{STYLE[line.verdict]}]{short(line.ours)} ({short(line.published)})[/]"


def print_comparison(
    console: Console, lines: Sequence[Comparison], shown: Sequence[Comparison] | None = None, null: Null | None = None
) -> None:
    """Numbers as a table, claims as a list (they are sentences), and how many of all hold; of the lines those in `shown`, or all."""
    numbers = [line for line in lines if not isinstance(line.published, str)]
    claims = [line for line in lines if isinstance(line.published, str)]
    shown = lines if shown is None else shown
    listed = [line for line in shown if not isinstance(line.published, str)]
    if listed:
        if console.width >= WIDE:
            print_whole(console, _number_table(listed), WIDE)
        else:
            _print_numbers(console, listed)
    for line in (line for line in shown if isinstance(line.published, str)):
        verdict = f"[{STYLE[line.verdict]}]{line.verdict}[/]"
        console.print(f"{verdict}  {escape(line.where)}: {escape(str(line.published))}", soft_wrap=True)
        ours = f"{number(line.ours)} {line.unit}".strip() if line.ours is not None else ""
        found = "; ".join(part for part in (ours, line.note) if part)
        console.print(f"  [dim]ours:[/] {escape(found or '–')}", soft_wrap=True)
    if claims:
        console.print()
    if numbers:
        console.print(f"numbers: {summary(numbers)} (within the larger of 10 % and the paper's own uncertainty)", soft_wrap=True)
        if null:
            console.print(f"  {null.says}", soft_wrap=True)
        if left_out := uncounted(numbers):
            console.print(f"  not counted: {left_out}", soft_wrap=True)
    if claims:
        console.print(f"claims: {summary(claims)}")
        if left_out := uncounted(claims):
            console.print(f"  not counted: {left_out}", soft_wrap=True)


def _number_table(lines: Sequence[Comparison]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("what", overflow="fold", min_width=12)
    for title in ("published", "ours"):
        table.add_column(title, justify="right", overflow="fold", min_width=len("-1.234e+06"))
    table.add_column("unit", overflow="fold")
    table.add_column("off by", justify="right", overflow="fold", min_width=len("+100.0 %"), max_width=len("+1000.0 %"))
    table.add_column("verdict", width=len("not testable"))
    table.add_column("note")
    for cells, note in _rows(lines):
        table.add_row(*cells, note)
    return table


def _print_numbers(console: Console, lines: Sequence[Comparison]) -> None:
    """The numbers in a narrow terminal: without notes, and split by columns before a name is cut."""
    what, published, ours, unit, off, verdict = zip(*(cells for cells, _ in _rows(lines)), strict=True)
    columns = [Column("published", published), Column("ours", ours), Column("unit", unit, left=True)]
    print_columns(console, [Column("what", what, left=True)], [*columns, Column("off by", off), Column("verdict", verdict, left=True)])


def _rows(lines: Sequence[Comparison]) -> Iterator[tuple[list[str], str]]:
    """Yields cells and notes, and a row for each place of the paper."""
    where = None
    for line in lines:
        if line.where != where:
            where = line.where
            yield [f"[bold]{escape(where)}[/]", "", "", "", "", ""], ""
        cells = [line.id, number(line.published), number(line.ours), line.unit, difference(line)]
        yield [*map(escape, cells), f"[{STYLE[line.verdict]}]{line.verdict}[/]"], escape(line.note)
