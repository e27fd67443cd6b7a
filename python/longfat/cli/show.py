"""`longfat show`: the metrics of a run, or of a sweep those that vary."""

from __future__ import annotations

from typing import Annotated

import typer

from longfat.cli.options import RESULTS, QuickOption, ResultsOption, results_of
from longfat.experiment import load_results
from longfat.locate import results_home
from longfat.report import tables, terminal, untuned
from longfat.store import location

out = terminal.console()


def show_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    every: Annotated[bool, typer.Option("--all", help="Every metric, also all of delay and of what limits.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """Print the table of runs of an experiment."""
    shown = load_results(results_of(what, results_home(location(results), quick=quick)))
    terminal.say_short(out, "Short form (--quick)." if shown.quick else "")
    terminal.say_short(out, shown.so_far)
    tables.print_results(out, shown, details=every)
    if hint := untuned.line(shown):
        out.print(f"  [dim]{terminal.escape(hint)}[/]", soft_wrap=True)
    terminal.print_warnings(out, shown.warnings)
