"""`longfat report`: a page and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longfat.advice.advise import ASKED, kept
from longfat.advice.page import write_page
from longfat.cli.options import RESULTS, QuickOption, ResultsOption
from longfat.errors import LongfatError
from longfat.locate import results_folder, results_home
from longfat.report import terminal
from longfat.report.page import PAGE, write_report
from longfat.report.pdf import browser, write_pdf
from longfat.store import location

out = terminal.console()
err = terminal.console(stderr=True)
REPORTS = Path("reports")


def report_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of a paper or experiment.")],
    results: ResultsOption = RESULTS,
    reports: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the report; with --quick, DIR/quick.")] = REPORTS,
    quick: QuickOption = False,
    figures: Annotated[bool, typer.Option("--figures", help="Write each figure as PNG and SVG, too, in DIR/NAME/figures.")] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write the page as PDF, too; needs Chromium or Chrome.")] = False,
) -> None:
    """Write one HTML page with every figure; with --figures, each figure as PNG and SVG, too."""
    if pdf:
        browser()
    home, reports = results_home(location(results), quick=quick), reports / "quick" if quick else reports
    found = results_folder(what, home)
    if isinstance(found, Path) and (found / ASKED).is_file():
        if figures:
            raise LongfatError(f"{what} is an advice, whose one picture is in its page: leave out --figures")
        page = _advice(found, reports / found.name)
    else:
        with terminal.share_bar(err, "reading") as tick:
            report = write_report(what, home, reports, tick, figures=figures)
        page = report.page
        for figure in report.missing:
            err.print(f"  [yellow]not drawn:[/] {terminal.escape(f'{figure.where}: {figure.why}')}", soft_wrap=True)
    out.print(f"report: {terminal.escape(str(page.resolve()))}", soft_wrap=True)
    if pdf:
        file = page.with_suffix(".pdf")
        write_pdf(page.read_text(encoding="utf-8"), file)
        out.print(f"PDF: {terminal.escape(str(file.resolve()))}", soft_wrap=True)


def _advice(found: Path, folder: Path) -> Path:
    """Writes the page of an advice into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with terminal.share_bar(err, "reading") as tick:
        write_page(kept(found, tick), folder / PAGE)
    return folder / PAGE
