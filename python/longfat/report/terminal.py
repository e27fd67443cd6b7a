"""What the command line prints: tables, the progress bar, times in words."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table

from longfat.paper import Comparison, Grid, Null, Verdict, besides
from longfat.paper import Table as PaperTable
from longfat.report.columns import Column, print_columns, print_whole
from longfat.results import adaptive as decided
from longfat.results import repeats
from longfat.results.results import Results, quantities
from longfat.results.warning import RunWarning
from longfat.sweep.work import Work
from longfat.text import clean, count

if TYPE_CHECKING:
    import pandas as pd

    from longfat._longfat import Entry

__all__ = [
    "clean",
    "console",
    "escape",
    "print_comparison",
    "print_entries",
    "print_grids",
    "print_names",
    "print_results",
    "print_tables",
    "print_warnings",
    "progress_bar",
    "share_bar",
    "size",
]

STYLE: dict[Verdict, str] = {"holds": "green", "differs": "red", "not testable": "dim", "not judged": "cyan"}


@contextmanager
def progress_bar(console: Console, runs: int) -> Generator[Callable[[Work], object]]:
    """A bar that moves with the work done, not with the number of runs, so that its time left is right."""
    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.fields[runs]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=runs == 0) as bar:
        task = bar.add_task("", total=None, runs=f"0/{runs} runs")

        def tick(work: Work) -> None:
            bar.update(task, total=work.total_cost, completed=work.current_cost, runs=f"{work.done}/{work.planned} runs")

        yield tick


@contextmanager
def share_bar(console: Console, what: str) -> Generator[Callable[[float], object]]:
    """A bar that is told the share that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def number(value: float | str | None) -> str:
    """A number for a table: four digits, without noise."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.3e}"


def short(value: float | str | None) -> str:
    """A number for a cell of a grid: three digits."""
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else number(value)


def difference(line: Comparison) -> str:
    """By how much ours is off, in percent of the published number."""
    if isinstance(line.published, float) and isinstance(line.ours, float) and line.published:
        return f"{100 * (line.ours - line.published) / abs(line.published):+.1f} %"
    return ""


def summary(lines: Sequence[Comparison]) -> str:
    """How many hold, differ and are not testable of what is simulated; what is not judged does not count."""
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
        print_whole(console, _number_table(listed, notes=console.width >= WIDE), NARROW)
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
        if left_out := besides(numbers):
            console.print(f"  not counted: {left_out}", soft_wrap=True)
    if claims:
        console.print(f"claims: {summary(claims)}")
        if left_out := besides(claims):
            console.print(f"  not counted: {left_out}", soft_wrap=True)


def _number_table(lines: Sequence[Comparison], *, notes: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("what", overflow="fold", min_width=12)
    for title in ("published", "ours"):
        table.add_column(title, justify="right", overflow="fold", min_width=len("-1.234e+06"))
    table.add_column("unit", overflow="fold")
    table.add_column("off by", justify="right", overflow="fold", min_width=len("+100.0 %"), max_width=len("+1000.0 %"))
    table.add_column("verdict", width=len("not testable"))
    if notes:
        table.add_column("note")
    where = None
    for line in lines:
        if line.where != where:
            where = line.where
            table.add_row(f"[bold]{escape(where)}[/]")
        cells = [line.id, number(line.published), number(line.ours), line.unit, difference(line)]
        rest = [escape(line.note)] if notes else []
        table.add_row(*map(escape, cells), f"[{STYLE[line.verdict]}]{line.verdict}[/]", *rest)
    return table


NARROW = 80
"""Columns that the numbers take at least."""
WIDE = 130
"""Columns of a terminal from which on notes fit beside the numbers."""

FIRST = (
    "slowdown_p99",
    "slowdown_p50",
    "completion_p50_s",
    "completion_p99_s",
    "ttcp_utilization_bps",
    "goodput_total_bps",
    "bottleneck_utilization",
    "flow_rtt_p95_s",
    "bottleneck_queue_delay_mean_s",
    "retransmission_rate",
    "limited by",
    "jain_index",
)
"""Metrics in the order in which they are asked for; the others follow in that of the registry."""

DETAILS = frozenset(
    {
        "goodput_deviation_bps",
        "stability",
        "completion_p95_s",
        "effective_throughput",
        "memory_fairness",
        "bottleneck_queue_delay_p50_s",
        "bottleneck_queue_delay_p95_s",
        "bottleneck_queue_delay_p99_s",
        "bottleneck_queue_delay_max_s",
        "flow_rtt_mean_s",
        "flow_rtt_p50_s",
        "flow_rtt_p99_s",
        "flow_rtt_max_s",
        "responsiveness_rpm",
        "cwnd_limited_share",
        "rwnd_limited_share",
        "sndbuf_limited_share",
        "pacing_limited_share",
        "host_limited_share",
        "application_limited_share",
    }
)
"""Metrics that nearly every run has, and that a first look does without."""

LIMITED = "limited by"
"""The column of what the senders waited for most."""

ENDLESS = 10_000
"""Columns of what is no terminal: as many as any table needs."""


class Terminal(Console):
    """A console that passes on no control characters but its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of `renderable`, their texts cleaned."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else clean(text), style, control)


def console(*, stderr: bool = False) -> Console:
    """As wide as the terminal, or as `COLUMNS` says; into a file or a pipe, as wide as it takes."""
    bounded = stderr or sys.stdout.isatty() or "COLUMNS" in os.environ
    return Terminal(stderr=stderr, highlight=False, width=None if bounded else ENDLESS)


def print_warnings(console: Console, warnings: Iterable[RunWarning]) -> None:
    """Prints warnings, each with what to do and the name under which `docs/warnings.md` says more; of many of one name, some."""
    seen: Counter[str] = Counter()
    for warning in warnings:
        seen[warning.name] += 1
        if warning.name and seen[warning.name] > MOST_ALIKE:
            continue
        more = f", and {warning.count - 1:,} more like it" if warning.count > 1 else ""
        of = f" ({count(len(warning.runs) + warning.more_runs, 'run')})" if warning.runs else ""
        console.print(f"  [yellow]warning:[/] {escape(warning.text)}{more}{of}", soft_wrap=True)
        if warning.name:
            console.print(f"    [dim]{escape(warning.advice)} ({warning.name})[/]", soft_wrap=True)
    for name, number in seen.items():
        if name and number > MOST_ALIKE:
            console.print(f"  [dim]{number - MOST_ALIKE:,} more like these ({name}): the report has them all[/]", soft_wrap=True)


MOST_ALIKE = 3
"""Warnings of one name that are printed: a sweep over windows has one for each that is small."""


def print_names(console: Console, title: str, names: Sequence[str]) -> None:
    """A list of names."""
    console.print(f"[bold]{title}[/]")
    for name in names:
        console.print(f"  {escape(name)}", soft_wrap=True)


def print_entries(console: Console, title: str, entries: Sequence[Entry], *, details: bool) -> None:
    """Entries of a registry and their sources; with `details`, their parameters."""
    console.print(f"[bold]{title}[/]")
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        console.print(f"  {escape(entry['name']):{width}}  {escape(entry['summary'])}", soft_wrap=True)
        if details and "advice" in entry:
            console.print(f"  {'':{width}}  {escape(entry['advice'])}", soft_wrap=True)
        if entry["source"]:
            console.print(f"  {'':{width}}  [dim]{escape(entry['source'])}[/]", soft_wrap=True)
        for param in entry["params"] if details else ():
            given = f" [dim]({escape(param['kind'])}; default {escape(param['default'])})[/]"
            console.print(f"    {escape(param['name'])}: {escape(param['doc'])}{given}", soft_wrap=True)


def print_results(console: Console, results: Results, *, details: bool = True) -> None:
    """The table of runs: axes, then the metrics in which they differ. What is the same in all, or of one run everything, is a list.

    Without `details`, `DETAILS` are left out, and a last line says how many.
    """
    console.print(f"[bold]{escape(results.title)}[/]", soft_wrap=True)
    _print_table(console, *run_table(results, details=details), len(results.axes))
    titles, rows = mean_table(results, details=details)
    if rows:
        console.print("\n[bold]Means over the repeats[/], ± half of the 95 % confidence interval (Student's t)", soft_wrap=True)
        _print_table(console, titles, rows, len(results.axes))
    print_decided(console, results)
    titles, rows = host_table(results)
    if rows:
        console.print("\n[bold]Each host[/]")
        _print_table(console, titles, rows, len(results.axes) + 1)
    left_out = [] if details else [name for name in results.runs if name in DETAILS and results.runs[name].notna().any()]
    if left_out:
        console.print(f"  [dim]{count(len(left_out), 'more metric')}, of delay and of what limits: --all[/]", soft_wrap=True)


def print_decided(console: Console, results: Results) -> None:
    """What a sweep that decides came to."""
    for line in decided.lines(results):
        console.print(escape(line), soft_wrap=True)


def _print_table(console: Console, titles: list[str], rows: list[list[str]], width: int) -> None:
    differ = [i for i in range(width, len(titles)) if len({row[i] for row in rows}) > 1]
    if differ:
        shown = [*range(width), *differ]
        columns = [Column(escape(titles[i]), [escape(row[i]) for row in rows], left=i < width) for i in shown]
        print_columns(console, columns[:width], columns[width:])
    same = [i for i in range(len(titles)) if i not in differ and (i >= width or not differ)]
    if differ and same:
        console.print("  in all of them:")
    margin = max((len(titles[i]) for i in same), default=0)
    for i in same:
        console.print(f"  {escape(titles[i]):{margin}}  {escape(rows[0][i])}", soft_wrap=True)


def run_table(results: Results, *, details: bool = True) -> tuple[list[str], list[list[str]]]:
    """Titles and cells of the table of runs for people: axes, then metrics, in the units people use."""
    runs = results.runs
    if not details:
        limits = limited_by(runs)
        runs = runs.drop(columns=[name for name in DETAILS if name in runs and name not in results.axes])
        if limits is not None and LIMITED not in runs:
            runs = runs.assign(**{LIMITED: limits})
    return _table(runs, results.axes)


def limited_by(runs: pd.DataFrame) -> pd.Series | None:
    """What the senders of each run waited for most, and for how much of the time: `cwnd 98 %`. `None` where that was not recorded."""
    names = {f"{name}_limited_share": name for name in ("cwnd", "rwnd", "sndbuf", "pacing", "host", "application")}
    if not set(names) <= set(runs) or runs[[*names]].isna().all(axis=None):
        return None

    def said(row: pd.Series) -> str:
        if row.isna().any():
            return "–"
        name = str(row.astype(float).idxmax())
        return f"{names[name]} {100 * float(row[name]):.0f} %"

    return runs[[*names]].apply(said, axis=1)


def mean_table(results: Results, *, details: bool = True) -> tuple[list[str], list[list[str]]]:
    """Titles and cells of the means over repeats, where there are any: axes, how many, and mean ± half of the 95 % confidence interval."""
    if results.runs["repeat"].nunique() < 2:
        return [], []
    table = results.means()
    shown = [name for name in repeats.metrics(results) if not table[name].isna().all() and (details or name not in DETAILS)]
    titles, columns = [*results.axes], [[str(value) for value in table[axis]] for axis in results.axes]
    titles.append("repeats")
    columns.append([number(value) for value in table["repeats"]])
    for name in shown:
        title, scale = _for_people(name)
        titles.append(title)
        columns.append([_interval(mean * scale, half * scale) for mean, half in zip(table[name], table[f"{name}_ci"], strict=True)])
    return titles, [list(row) for row in zip(*columns, strict=True)]


def _interval(mean: float, half: float) -> str:
    return number(mean) if math.isnan(half) else f"{number(mean)} ± {half:.2g}"


def host_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """The same of the hosts, where a run has several with bounded memory: of one alone, the table of runs says all."""
    hosts = results.hosts
    # An axis called `name` leaves the hosts' own column another name.
    name = "host_name" if "host_name" in hosts else "name"
    if hosts.empty or (hosts := hosts[hosts["memory_bytes"].notna()])[name].nunique() < 2:
        return [], []
    return _table(hosts, [*results.axes, name])


def _table(table: pd.DataFrame, axes: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    # Warnings are told in full below the table.
    hidden = {"run", "seed", "run_seed", "steps", "host", "warnings", *(() if table["repeat"].nunique() > 1 else ("repeat",))} - set(axes)
    twins = quantities(table, axes).keys()
    # A column without a single value (no probe, no second sender) says nothing.
    shown = [name for name in table.columns if name not in hidden | twins and (name in axes or not table[name].isna().all())]
    # What is asked most comes first: of a table that is split for want of room, it is in the first part.
    shown.sort(key=lambda name: (name not in axes, FIRST.index(name) if name in FIRST and name not in axes else len(FIRST)))
    titles: list[str] = []
    cells: list[list[str]] = []
    for name in shown:
        title, scale = (name, None) if name in axes else _for_people(name)
        titles.append(title)
        cells.append([number(value if scale is None or isinstance(value, str) else float(value) * scale) for value in table[name]])
    return titles, [list(row) for row in zip(*cells, strict=True)]


def size(n: int) -> str:
    """Bytes for people: 1.5 MB."""
    value = float(n)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _for_people(column: str) -> tuple[str, float]:
    words = column.replace("_", " ")
    if column.endswith("_bps"):
        return words.removesuffix("bps") + "(Mbit/s)", 1e-6
    if not column.endswith("_s"):
        return words, 1.0
    # Delays are milliseconds, the times of a run seconds.
    is_delay = "_delay_" in column or "rtt_" in column
    return words.removesuffix("s") + ("(ms)" if is_delay else "(s)"), 1e3 if is_delay else 1.0


def say_short(console: Console, line: str) -> None:
    """`line`, if there is one, so that nobody overlooks it."""
    if line:
        console.print(f"[bold yellow]{escape(line)}[/]", soft_wrap=True)
