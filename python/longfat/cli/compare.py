"""The command `longfat compare`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longfat.cli.options import RESULTS, QuickOption, ResultsOption, results_of
from longfat.errors import LongfatError
from longfat.experiment import load_results
from longfat.locate import paper_folder, results_home
from longfat.paper import Comparison, compare, grids, load_measured, load_paper, load_published, null
from longfat.report import agreement, comparison, terminal
from longfat.store import Location, location
from longfat.text import count

if TYPE_CHECKING:
    from rich.console import Console


def compare_command(
    what: Annotated[
        str, typer.Argument(metavar="PAPER", help="Name or folder of a paper; with --backends, an experiment or a results folder.")
    ],
    results: ResultsOption = RESULTS,
    backends: Annotated[bool, typer.Option("--backends", help="Compare the runs of two backends instead.")] = False,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="FOLDER", help="Folder for figures of both backends over time, with --backends.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON: a list of {id, where, published, ours, unit, verdict, note, kind}; with --backends, of pairs."
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where a claim differs.")] = False,
    differs: Annotated[bool, typer.Option("--differs", help="Print only what differs.")] = False,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE", help="Print only this place of the paper: 3 is Table 3; or 'Figure 2', 'section 5'. Repeatable."),
    ] = None,
    quick: QuickOption = False,
) -> None:
    """Compare results with a paper's published numbers, or two backends with each other."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if backends:
        if strict or differs or table:
            raise LongfatError("--strict, --differs and --table are of papers: leave them out, or --backends")
        _compare_backends(out, err, results_of(what, results_home(location(results), quick=quick)), figures, as_json=as_json)
        return
    if figures is not None:
        raise LongfatError("--figures draws two backends over each other: say --backends, too; `longfat report` draws those of a paper")
    folder, home = paper_folder(what), results_home(location(results), quick=quick)
    if as_json:
        measured = load_measured(folder, home)
        terminal.say_short(err, measured.short)
        terminal.say_short(err, measured.so_far)
        lines = compare(load_paper(folder), load_published(folder), measured)
        places = _places(lines, table)
        print(json.dumps([asdict(line) for line in lines if _asked(line, places, differs)], indent=2))
    else:
        lines = print_comparison(out, folder, home, table, differs=differs)
    if strict and any(line.verdict == "differs" and isinstance(line.published, str) for line in lines):
        raise typer.Exit(1)


def _compare_backends(out: Console, err: Console, folder: Location, figures: Path | None, *, as_json: bool) -> None:
    both = load_results(folder)
    said = err if as_json else out
    terminal.say_short(said, both.so_far)
    with terminal.share_bar(err, "reading") as tick:
        runs = agreement.read(both, tick)
    if as_json:
        print(agreement.table(runs).to_json(orient="records", indent=2))
    else:
        agreement.show(out, runs)
    if figures is not None:
        files = agreement.draw(runs, figures)
        said.print(f"{count(len(files), 'file')} in {terminal.escape(str(figures))}", soft_wrap=True)


def print_comparison(
    out: Console, folder: Path, results: Location, table: list[str] | None = None, *, differs: bool = False
) -> list[Comparison]:
    """All lines; what is printed are those asked for. Tables in the paper's own shape are left out where only differences are."""
    paper, rows, measured = load_paper(folder), load_published(folder), load_measured(folder, results)
    terminal.say_short(out, measured.short)
    terminal.say_short(out, measured.so_far)
    lines = compare(paper, rows, measured)
    made = paper.made_tables(measured)[0]
    places = _places(lines, table, [where for where, _ in made])
    if not differs:
        comparison.print_grids(out, [grid for grid in grids(paper, rows, lines) if places is None or grid.where in places])
        comparison.print_tables(out, [one for one in made if places is None or one[0] in places])
    comparison.print_comparison(out, lines, [line for line in lines if _asked(line, places, differs)], null(paper, rows, lines))
    out.print(measured.made_by, soft_wrap=True)
    return lines


def _places(lines: Sequence[Comparison], asked: list[str] | None, others: Sequence[str] = ()) -> set[str] | None:
    """The places of a paper that are meant; None for all. LongfatError where one is none."""
    if not asked:
        return None
    known = list(dict.fromkeys([*(line.where for line in lines), *others]))
    meant: set[str] = set()
    for text in asked:
        words = f"table {text}" if text[:1].isdigit() else text.lower()
        found = {where for where in known if where.lower() == words.lower() or where.lower().startswith(f"{words.lower()},")}
        if not found:
            raise LongfatError(f"--table {text}: nothing of the paper stands there: choose one of {', '.join(known)}")
        meant |= found
    return meant


def _asked(line: Comparison, places: set[str] | None, differs: bool) -> bool:
    return (places is None or line.where in places) and (not differs or line.verdict == "differs")
