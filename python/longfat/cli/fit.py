"""The command `longfat fit`."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from longfat.errors import LongfatError, Stopped
from longfat.executors.named import named
from longfat.fit.page import check, write_page
from longfat.fit.path import fit_path
from longfat.fit.search import WAVES
from longfat.fit.show import print_fit
from longfat.report import terminal


def fit_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="An experiment with unknowns (.toml), and files of numbers: iperf3 --json, flent, ss -ti, captures, tables (.csv), "
            "results. Without an experiment, a general model of a path is fitted.",
            show_default=False,
        ),
    ],
    file: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the fitted experiment, for run and advise.")] = None,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Write a page with figures: .html or .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, with every number.")] = False,
    waves: Annotated[int, typer.Option("--waves", min=0, max=50, help="Most waves of runs after the first.")] = WAVES,
    results: Annotated[Path, typer.Option("--results", metavar="DIR", help="Where results are kept.")] = Path("results"),
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. Default: one per core.")] = None,
    executor: Annotated[
        str | None,
        typer.Option(metavar="NAME|ADDRESS", help="Workers that carry out the runs: processes, dask, or tcp://SCHEDULER:8786."),
    ] = None,
) -> None:
    """Find the path behind measured numbers: an interval for each unknown, and what the data do not decide."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if page is not None:
        check(page)
    if file is not None and not file.absolute().parent.is_dir():
        raise LongfatError(f"--out {file}: there is no folder {file.parent}")
    asked = next((one for one in files if one.suffix == ".toml"), files[0])
    folder = results / "fit" / re.sub(r"[^\w.,-]", "", asked.stem)
    try:
        with named(executor, jobs) as workers, terminal.share_bar(err, "fitting") as share:
            found = fit_path(*files, folder=folder, waves=waves, jobs=jobs, executor=workers, tick=share)
    except KeyboardInterrupt:
        again = shlex.join(["longfat", *sys.argv[1:]])
        raise Stopped(f"Stopped: finished runs are kept in {folder}. To go on:\n  {again}") from None
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        print_fit(out, found)
    if page is not None:
        write_page(found, page)
        err.print(f"page: {terminal.escape(terminal.clean(str(page)))}", soft_wrap=True)
    if file is not None:
        found.save(file)
        err.print(f"experiment: {terminal.escape(terminal.clean(str(file)))}", soft_wrap=True)
