"""`longfat show`: the metrics of a run, or of a sweep those that vary."""

from __future__ import annotations

from typing import Annotated

import typer

from longfat.cli.options import RESULTS, QuickOption, ResultsOption, changed_results, results_of
from longfat.experiment import load_results
from longfat.locate import results_home
from longfat.report import tables, terminal, untuned
from longfat.store import location

out = terminal.console()
err = terminal.console(stderr=True)


def show_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    every: Annotated[bool, typer.Option("--all", help="Print every metric, with all of delay and of limits.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """Print the table of runs of an experiment."""
    home = results_home(location(results), quick=quick)
    with terminal.share_bar(err, "reading") as tick:
        shown = load_results(results_of(what, home), tick)
    terminal.say_short(out, "Short form (--quick)." if shown.quick else "")
    terminal.say_short(out, shown.so_far)
    tables.print_results(out, shown, details=every)
    if hint := untuned.line(shown):
        out.print(f"  [dim]{terminal.escape(hint)}[/]", soft_wrap=True)
    terminal.print_warnings(out, shown.warnings)
    if others := changed_results(str(shown.provenance.get("experiment", "")), home) if shown.provenance.get("changes") == {} else []:
        out.print(terminal.escape("\n".join(["  This file with `--set`:", *(f"    {line}" for line in others)])), soft_wrap=True)
