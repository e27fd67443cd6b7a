"""`longfat capture`: a run as a packet capture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longfat.capture.writer import SNAP, write_capture
from longfat.cli.options import RESULTS, QuickOption, ResultsOption, results_of
from longfat.locate import results_home
from longfat.report import terminal
from longfat.store import location
from longfat.text import count

out = terminal.console()


def capture_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    at: Annotated[
        str,
        typer.Option(
            "--at", metavar="HOST|LINK", help="Place of the capture: a host, a router, a link, or one direction of a link (`NAME>`)."
        ),
    ],
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The capture to write (pcapng).")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="HASH", help="Run to capture, by the beginning of its hash, where there are several.")
    ] = None,
    snap: Annotated[int, typer.Option("--snap", min=20, max=65535, help="Bytes written per packet.")] = SNAP,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """Write the capture that a host or a link of a run would have made, for Wireshark."""
    packets = write_capture(results_of(what, results_home(location(results), quick=quick)), at, file, run=run, snap=snap)
    out.print(f"{count(packets, 'packet')} at {terminal.escape(at)} in {terminal.escape(str(file))}", soft_wrap=True)
