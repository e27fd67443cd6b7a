"""`longfat report`: a page and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longfat.cli.options import RESULTS, QuickOption, ResultsOption
from longfat.locate import results_home
from longfat.report import terminal
from longfat.report.page import write_report
from longfat.store import location

out = terminal.console()
err = terminal.console(stderr=True)
REPORTS = Path("reports")


def report_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of a paper or experiment.")],
    results: ResultsOption = RESULTS,
    reports: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the report; with --quick, DIR/quick.")] = REPORTS,
    quick: QuickOption = False,
    figures: Annotated[bool, typer.Option("--figures", help="Also write each figure as PNG and SVG, into DIR/NAME/figures.")] = False,
) -> None:
    """Write one HTML page with every figure; with --figures, also PNG and SVG files."""
    with terminal.share_bar(err, "reading") as tick:
        home = reports / "quick" if quick else reports
        report = write_report(what, results_home(location(results), quick=quick), home, tick, figures=figures)
    for figure in report.missing:
        err.print(f"  [yellow]not drawn:[/] {terminal.escape(f'{figure.where}: {figure.why}')}", soft_wrap=True)
    out.print(f"report: {terminal.escape(str(report.page.resolve()))}", soft_wrap=True)
