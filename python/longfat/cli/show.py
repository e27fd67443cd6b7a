"""`longfat show`: the metrics of a run, or of a sweep those that vary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longfat.cli.options import MOST_NAMED, RESULTS, QuickOption, ResultsOption, changed_lines, changed_stores, results_of
from longfat.experiment import load_results
from longfat.locate import results_folder, results_home, sources
from longfat.report import tables, terminal, untuned
from longfat.report.variants import print_variants
from longfat.results import Results
from longfat.results.warning import Kind, kinds, told
from longfat.store import Location, Store, Url, location

out = terminal.console()
err = terminal.console(stderr=True)


def show_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    every: Annotated[bool, typer.Option("--all", help="Print every metric, including all delays and limits.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
    warnings: Annotated[bool, typer.Option("--warnings", help="Print every warning instead, and what to do about it.")] = False,
) -> None:
    """Print the table of runs of an experiment."""
    home = results_home(location(results), quick=quick)
    if _only_changed(what, home):
        return
    folder = results_of(what, home)
    with terminal.share_bar(err, "reading") as tick:
        shown = load_results(folder, tick)
    terminal.say_short(out, "Short form (--quick)." if shown.quick else "")
    terminal.say_short(out, shown.so_far)
    if warnings:
        terminal.explain_warnings(out, shown.warnings, len(shown), shown.expected)
        return
    tables.print_results(out, shown, details=every)
    if hint := untuned.line(shown):
        out.print(f"  [dim]{terminal.escape(hint)}[/]", soft_wrap=True)
    if names := ", ".join(_with_runs(kind, len(shown)) for kind in kinds(told(shown.warnings, shown.expected))):
        out.print(f"  [yellow]warnings:[/] {terminal.escape(names)}: --warnings explains them", soft_wrap=True)
    if shown.provenance.get("changes") == {}:
        _print_changed(str(shown.provenance.get("experiment", "")), Store(folder).text_so_far(), [shown], home)


def _only_changed(what: str, home: Location) -> bool:
    """Prints what `--set` made of an experiment that was not run as it is. Returns false where there is nothing of the kind."""
    if isinstance(location(what), Url) or Path(what).is_dir() or results_folder(what, home):
        return False
    found = sources(what)
    return len(found) == 1 and _print_changed(found[0].name, found[0].file.read_text(encoding="utf-8"), [], home)


def _print_changed(name: str, text: str, beside: list[Results], home: Location) -> bool:
    """Prints what `--set` made of an experiment whose file says `text`, beside its results. Returns false where there is nothing."""
    stores = changed_stores(name, home)
    if not stores:
        return False
    out.print("\n[bold]The same file with --set[/]" if beside else f"[bold]{terminal.escape(name)}, with --set[/]")
    if len(stores) > MOST_NAMED or not print_variants(out, text, [*beside, *(store.load_so_far() for store in stores)]):
        out.print(terminal.escape("\n".join(f"  {line}" for line in changed_lines(stores))), soft_wrap=True)
    return True


def _with_runs(kind: Kind, runs: int) -> str:
    where = kind.where(runs)
    return (kind.name or kind.text) + (f" ({where})" if where else "")
