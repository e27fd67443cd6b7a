"""`longfat explain`: what happened in a run or a captured connection, and why."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from longfat.cli.options import RESULTS, QuickOption, ResultsOption, results_of
from longfat.errors import LongfatError
from longfat.experiment import load_results
from longfat.explain import Explanation, explain, explain_capture
from longfat.explain.of_run import traced
from longfat.locate import results_home
from longfat.report import terminal
from longfat.results.results import Results
from longfat.store import Location, Store, location

out = terminal.console()
err = terminal.console(stderr=True)

CAPTURES = (".pcap", ".pcapng", ".cap")
PACKED = (".gz", ".zst")
MOST_NAMED = 8
"""Runs named where one is to be chosen."""


def explain_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME|CAPTURE", help="Results, the name of an experiment, or a packet capture.")],
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run", metavar="HASH|AXIS=VALUE", help="Run of a sweep: first digits of its hash, or a value of an axis; repeatable."
        ),
    ] = None,
    connection: Annotated[int | None, typer.Option("--connection", min=0, help="Connection of a capture; by default, the largest.")] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Write the figure with the numbered moments: SVG, PDF or PNG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print sentences with their times as JSON.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """Tell what happened in a run or a captured connection, and why, in a dozen sentences."""
    if _is_capture(what):
        if run:
            raise LongfatError(f"--run chooses a run of results, and {what} is a capture: choose a connection with --connection NUMBER")
        with terminal.share_bar(err, "reading") as tick:
            told = explain_capture(what, connection, progress=tick)
    else:
        if connection is not None:
            raise LongfatError(f"--connection chooses a connection of a capture, and {what} are results: choose a run with --run")
        told = _of_results(results_of(what, results_home(location(results), quick=quick)), run or [])
    _print(told, as_json=as_json)
    if figure is not None:
        err.print(f"figure: {terminal.escape(terminal.clean(str(told.save(figure))))}", soft_wrap=True)


def _is_capture(what: str) -> bool:
    path = Path(what)
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix in CAPTURES


def _of_results(folder: Location, asked: list[str]) -> Explanation:
    found = chosen_run(load_results(folder), asked)
    return explain(*traced(found[0], Store(folder).document()))


def chosen_run(results: Results, asked: list[str]) -> Results:
    """Results of the one run that is asked for. LongfatError where it is none or several."""
    axes = dict(one.split("=", 1) for one in asked if "=" in one)
    hashes = [one for one in asked if "=" not in one]
    left = results.select(**{name.strip(): value.strip() for name, value in axes.items()}) if axes else results
    runs = left.runs["run"]
    wanted = [one for one in dict.fromkeys(runs) if all(one.startswith(start) for start in hashes)]
    if len(wanted) == 1:
        return left.without(set(runs) - set(wanted))
    if not wanted:
        raise LongfatError(f"no run begins with {' or '.join(hashes)}: `longfat show --all` lists them")
    lines = [f"--run {shlex.quote(run[:8])}  {_labels(left, run)}" for run in wanted[:MOST_NAMED]]
    more = [f"and {len(wanted) - MOST_NAMED:,} more"] if len(wanted) > MOST_NAMED else []
    raise LongfatError("\n  ".join([f"there are {len(wanted):,} runs: choose one, by its hash or as --run AXIS=VALUE", *lines, *more]))


def _labels(results: Results, run: str) -> str:
    row = results.runs[results.runs["run"] == run].iloc[0]
    return ", ".join([*(f"{axis} = {row[axis]}" for axis in results.axes), f"repeat {row['repeat']}"])


def _print(told: Explanation, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(told.as_json(), indent=2))
        return
    out.print(f"[bold]{terminal.escape(terminal.clean(told.story.title))}[/]", soft_wrap=True)
    for one in told.told:
        number = f"[{one.number}]" if one.number else ""
        _line(f"{number:>5} {one.sentence.text}")
    for note in told.story.notes:
        err.print(f"[dim]note: {terminal.escape(terminal.clean(note))}[/]", soft_wrap=True)


def _line(text: str) -> None:
    """A sentence, cut between words where the terminal ends, behind its number."""
    if out.width >= terminal.ENDLESS:
        out.print(terminal.escape(terminal.clean(text)), soft_wrap=True)
    else:
        number, words = text[:5], terminal.escape(terminal.clean(text[6:]))
        from rich.table import Table

        row = Table.grid(padding=(0, 1))
        row.add_column(width=5, no_wrap=True)
        row.add_column()
        row.add_row(terminal.escape(number), words)
        out.print(row)
