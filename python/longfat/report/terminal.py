"""The terminal: its consoles, progress bars, numbers in cells, and lists of names, entries and warnings."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from longfat.results.warning import kinds
from longfat.text import clean, duration

if TYPE_CHECKING:
    from longfat._longfat import Entry
    from longfat.results.warning import RunWarning
    from longfat.sweep.work import Work

__all__ = [
    "clean",
    "console",
    "escape",
    "explain_warnings",
    "number",
    "print_entries",
    "print_hanging",
    "print_names",
    "print_warnings",
    "progress_bar",
    "share_bar",
    "short",
    "size",
]


@contextmanager
def progress_bar(console: Console, runs: int) -> Generator[Callable[[Work], object]]:
    """A bar that moves with the work done, not with the number of runs, so that its time left is right. One for the tables follows it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.fields[runs]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, visible=runs > 0, runs=f"0/{runs} runs")
        tables = bar.add_task("", start=False, visible=False, total=1.0, runs="making the tables")

        def tick(work: Work) -> None:
            if work.tables is not None:
                if not bar.tasks[tables].started:
                    bar.update(task, visible=False)
                    bar.start_task(tables)
                bar.update(tables, visible=True, completed=work.tables)
                return
            waits = f", the next repeat begins in {duration(work.waits_s)}" if work.waits_s else ""
            bar.update(task, total=work.total_cost, completed=work.current_cost, runs=f"{work.done}/{work.planned} runs{waits}")

        yield tick


@contextmanager
def share_bar(console: Console, what: str, *, is_shown: bool = True) -> Generator[Callable[[float], object]]:
    """A bar that is told the share that is done; only on a terminal, and if `is_shown`."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not (is_shown and console.is_terminal)) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def number(value: float | str | None) -> str:
    """A number for a table: four digits, or all before the point."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return "–"
    if abs(value) < 1e4:
        return f"{value:.4g}"
    return f"{value:.0f}" if abs(value) < 1e6 else f"{value:.3e}"


def short(value: float | str | None) -> str:
    """A number for a cell of a grid: three digits."""
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else number(value)


ENDLESS = 10_000
"""Columns of what is no terminal: as many as any table needs."""


class Terminal(Console):
    """A console that passes on no control characters but its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of `renderable`, their texts cleaned."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else clean(text), style, control)


def console(*, stderr: bool = False) -> Console:
    """Makes a console as wide as the terminal, or as `COLUMNS` says; into a file or a pipe, as wide as it takes."""
    bounded = stderr or sys.stdout.isatty() or "COLUMNS" in os.environ
    return Terminal(stderr=stderr, highlight=False, width=None if bounded else ENDLESS)


def print_warnings(console: Console, warnings: Iterable[RunWarning], runs: int) -> None:
    """Prints one line per name, with how many of the `runs` have it."""
    for kind in kinds(warnings):
        facts = ", ".join(part for part in (kind.name, kind.where(runs)) if part)
        console.print(f"  [yellow]warning:[/] {escape(kind.text)}{f' ({facts})' if facts else ''}", soft_wrap=True)


def explain_warnings(console: Console, warnings: Sequence[RunWarning], runs: int, expected: Mapping[str, str]) -> None:
    """Prints every warning under its name, with what to do, and why those that are `expected` are not printed elsewhere."""
    for kind in kinds(warnings):
        facts = ", ".join(part for part in (kind.where(runs), expected.get(kind.name, "")) if part)
        console.print(f"[bold]{escape(kind.name or 'as stored')}[/]{escape(f': {facts}' if facts else '')}", soft_wrap=True)
        for warning in kind.warnings:
            more = f", and {warning.count - 1:,} more like it" if warning.count > 1 else ""
            console.print(f"  {escape(warning.text)}{more}", soft_wrap=True)
        if kind.advice:
            console.print(f"  [dim]help: {escape(kind.advice)}[/]", soft_wrap=True)
    if not warnings:
        console.print("No warnings.")


def print_names(console: Console, title: str, names: Sequence[str]) -> None:
    """A list of names."""
    console.print("\n".join([f"[bold]{title}[/]", *(f"  {escape(name)}" for name in names)]), soft_wrap=True)


def print_hanging(console: Console, markup: str, indent: int) -> None:
    """Prints a line; where the console is bounded, cut between words, and further lines begin at column `indent`."""
    if console.width >= ENDLESS:
        console.print(markup, soft_wrap=True)
        return
    text = Text.from_markup(markup)
    first = text.wrap(console, console.width)[0]
    rest = text[len(first) :]
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    console.print(first, soft_wrap=True)
    for line in rest.wrap(console, max(20, console.width - indent)) if rest else ():
        console.print(Text(" " * indent) + line, soft_wrap=True)


def print_entries(console: Console, title: str, entries: Sequence[Entry], *, details: bool) -> None:
    """Entries of a registry and their sources; with `details`, their parameters."""
    lines = [(f"[bold]{title}[/]", 0)]
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        lines.append((f"  {escape(entry['name']):{width}}  {escape(entry['summary'])}", width + 4))
        if details and "advice" in entry:
            lines.append((f"  {'':{width}}  {escape(entry['advice'])}", width + 4))
        if entry["source"]:
            lines.append((f"  {'':{width}}  [dim]{escape(entry['source'])}[/]", width + 4))
        for claim, source in entry.get("promises", ()) if details else ():
            lines.append((f"    promises: {escape(claim)} [dim]({escape(source)})[/]", 6))
        for param in entry["params"] if details else ():
            given = f" [dim]({escape(param['kind'])}; default {escape(param['default'])})[/]"
            lines.append((f"    {escape(param['name'])}: {escape(param['doc'])}{given}", 6))
    for line, indent in lines:
        print_hanging(console, line, indent)


def size(n: int) -> str:
    """Bytes for people: 1.5 MB."""
    value = float(n)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def say_short(console: Console, line: str) -> None:
    """`line`, if there is one, so that nobody overlooks it."""
    if line:
        console.print(f"[bold yellow]{escape(line)}[/]", soft_wrap=True)
