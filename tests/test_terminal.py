"""Tables on terminals of every width: whatever they hold can be read."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ONE, SWEEP
from longfat import Experiment, Results, registries
from longfat.cli import prune
from longfat.experiment import load_results
from longfat.paper import Comparison, Grid, Layout, Measured, Paper, Row, compare, grids
from longfat.paper.comparison import Verdict
from longfat.plot.units import with_half
from longfat.report import columns, comparison, tables, terminal
from longfat.results.warning import RunWarning
from longfat.store import Store
from longfat.sweep.work import Work
from rich.console import Console

STACKS = [f"stack-{i}" for i in range(8)]


def line(id: str, ours: float, published: float, verdict: Verdict = "differs") -> Comparison:
    return Comparison(id, "Table 1", published, ours, "Mbit/s", verdict, "a note that is longer than anything else in this table")


def printed(width: int, show: object, *what: object) -> str:
    text = io.StringIO()
    show(Console(file=text, width=width), *what)  # type: ignore[operator]
    return text.getvalue()


@pytest.mark.parametrize("width", [20, 60, 80, 110, terminal.ENDLESS])
def test_a_grid_is_split_by_columns_and_no_value_is_cut(width: int) -> None:
    cells = {f"path-{row}": [line(f"{row}{i}", 100.25 + i, 2345.0 + row) for i in range(8)] for row in range(3)}
    text = printed(width, comparison.print_grids, [Grid("Table 1", "throughput", STACKS, cells)])
    assert "…" not in text
    for values in cells.values():
        for one in values:
            assert f"{terminal.short(one.ours)} ({terminal.short(one.published)})" in text
    parts = text.count("path-0")
    assert parts == text.count("path-2") == sum("stack-" in row for row in text.splitlines())
    assert (parts == 1) == (width == terminal.ENDLESS)
    # Too narrow for one column beside the labels, lines are longer than the terminal, but whole.
    assert width == 20 or max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 110, 160])
def test_no_number_of_the_comparison_is_cut(width: int) -> None:
    lines = [line("one-with-a-name-that-is-long", -1.2345e-5, 123456.0), line("b", -2.345e12, -8.765e-300)]
    lines.append(replace(line("c", -1.2345e6, 1.0, "not testable"), unit="packets"))
    text = printed(width, comparison.print_comparison, lines)
    assert "…" not in text
    for one in lines:
        assert terminal.number(one.ours) in text
        assert terminal.number(one.published) in text
        assert one.id in text
    # The last four of 80 columns were missing, and "not testable" was "not test".
    assert "not testable" in text.replace("numbers: 0 hold, 2 differ, 1 not testable", "")


@pytest.mark.parametrize("width", [40, 80])
def test_no_cell_of_the_runs_is_cut(width: int, results: Results) -> None:
    text = printed(width, tables.print_results, results)
    titles, rows = tables.run_table(results)
    assert "…" not in text
    assert all(word in text for title in titles for word in title.split())
    assert all(cell in text for row in rows for cell in row)


def test_a_condition_that_says_nothing_new_is_no_part_of_a_row_s_name() -> None:
    def row(id: str, quantity: str, window: str, size: str) -> Row:
        return Row(id, "Table 1", "", quantity, {"window": window, "size": size, "stack": "Reno"}, 1.0, "", None, "")

    rows = [
        row("a", "rate", "256 KiB", "1"),
        row("b", "rate", "512 KiB", "2"),
        row("c", "average", "", "1"),
        row("d", "average", "", "1 and 2"),
    ]
    paper = Paper("t", "c")
    paper.tables.append(Layout("Table 1", "rates", {"rate": "", "average": "average, window"}, ("window", "size"), "stack"))
    (grid,) = grids(paper, rows, compare(paper, rows, Measured({})))
    assert list(grid.rows) == ["256 KiB", "512 KiB", "average, window 1", "average, window 1 and 2"]


def test_many_warnings_of_one_name_are_one_line() -> None:
    many = [RunWarning("short_run", f"run {i} is short", 1, (f"{i}",)) for i in range(9)]
    other = [RunWarning("", f"note {i}", 1, ()) for i in range(5)]
    with (console := Console(width=200)).capture() as printed:
        terminal.print_warnings(console, [*many, *other], 24)
    text = printed.get()
    assert text.splitlines()[0] == "  warning: run 0 is short, and 8 more like it (short_run, 9 of 24 runs)"
    assert text.count("is short") == 1
    assert text.count("note ") == 5
    with console.capture() as printed:
        terminal.explain_warnings(console, many, 24, {"short_run": "the sweep is about it"})
    text = printed.get()
    assert text.splitlines()[0] == "short_run: 9 of 24 runs, the sweep is about it"
    assert text.count("is short") == 9
    assert text.count("help: raise `measure.duration`") == 1


@pytest.mark.parametrize("width", [60, 80])
def test_the_lists_keep_to_the_terminal(width: int) -> None:
    """`list queues` printed 200 columns."""
    for kind, entries in registries().items():
        text = printed(width, lambda console, kind=kind, entries=entries: terminal.print_entries(console, kind, entries, details=True))
        names = max(len(entry["name"]) for entry in entries)
        assert max(len(line) for line in text.splitlines() if " " in line.strip()) <= max(width, names + 24), kind
        words = " ".join(text.split())
        assert all(" ".join(entry["summary"].split()) in words for entry in entries)


@pytest.mark.parametrize(
    ("rates", "title", "cells"),
    [
        ([1.19e10, 2.5e9, 0.0], "goodput total (Gbit/s)", ["11.9", "2.5", "0"]),
        ([9.397e8, 4.1e8, 1e8], "goodput total (Mbit/s)", ["939.7", "410", "100"]),
        ([9.1e9, 4.681e5, 7.5e6], "goodput total (Mbit/s)", ["9100", "0.4681", "7.5"]),
        ([2.5e13, 2.5e10, 2.5e9], "goodput total (Gbit/s)", ["25000", "25", "2.5"]),
    ],
)
def test_rates_have_the_unit_that_reads_best(rates: list[float], title: str, cells: list[str], results: Results) -> None:
    titles, rows = tables.run_table(replace(results, runs=results.runs.assign(goodput_total_bps=rates)))
    assert [row[titles.index(title)] for row in rows] == cells


def test_the_index_of_fairness_says_that_streams_are_one_sender() -> None:
    note = "jain index: of senders, so the 3 streams of one sender count as one"
    for streams, is_said in (("streams = 3", True), ("count = 3", False)):
        experiment = Experiment(ONE.replace("count = 2", streams))
        assert (note in printed(200, tables.print_results, experiment.sweep(jobs=1))) == is_said


def test_a_mean_has_one_digit_more_than_its_interval_resolves() -> None:
    assert with_half(11934.6, 310.0) == "11935 ± 310"
    assert with_half(9.32111, 0.0213) == "9.321 ± 0.021"


@pytest.mark.parametrize("width", [40, 80, 10_000])
def test_a_long_table_is_that_of_rich(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a long table are put together without rich, which takes a millisecond for each: by the same widths, spaces and sides."""
    words = ["", "a", "wide 漢字", "1.5 ± 0.2", "longer than its heading"]
    cells = [words[number % len(words)] for number in range(columns.LONG + 1)]
    some = [
        columns.Column(title, cells[shift:] + cells[:shift], left=left)
        for shift, title, left in ((0, "run", True), (1, "two words", False))
    ]

    def printed() -> str:
        file = io.StringIO()
        columns.print_columns(Console(file=file, width=width), some[:1], some[1:])
        return file.getvalue()

    by_hand = printed()
    monkeypatch.setattr(columns, "LONG", 10**9)
    assert by_hand == printed()


def test_the_bar_of_runs_becomes_one_of_the_tables() -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, force_terminal=True)
    work = Work("")
    with terminal.progress_bar(console, 2) as tick:
        work.planned, work.total_cost = 2, 1.0
        tick(work)
        runs = len(text.getvalue())
        work.tables = 0.5
        tick(work)
        time.sleep(0.2)  # rich draws ten times a second
    assert "runs" in text.getvalue()[: runs + 2000]
    assert "making the tables" in text.getvalue()


def test_what_is_read_and_planned_is_told_in_shares(tmp_path: Path) -> None:
    experiment = Experiment(SWEEP, name="small")
    works: list[float | None] = []
    experiment.sweep(tmp_path, tick=lambda work: works.append(work.tables))
    made = [share for share in works if share is not None]
    assert (made[0], made[-1], made) == (0, 1, sorted(made))
    planned: list[float] = []
    prune.kept(str(tmp_path), planned.append)
    assert planned[-1] == 1
    # Of a sweep that was stopped, the tables are made to be shown.
    note = {"title": "", "axes": list(experiment.axes), "text": experiment.text, "changes": {}, "file": ""}
    Store(tmp_path).begin(note["title"], note["axes"], note["text"], note)
    read: list[float] = []
    assert load_results(tmp_path, read.append).so_far
    assert read[-1] == 1
