"""`longfat trace`: packet captures, judged."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from longfat.capture import reader, text
from longfat.capture.compare import REPEATS, Row, comparison
from longfat.report import terminal

out = terminal.console()
err = terminal.console(stderr=True)


def trace_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Captures, pcap or pcapng, also in gzip or zstd; several are read as one.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, with a series per connection.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, help="Number of connections to show, those with the most data first.")] = 20,
    keep: Annotated[int, typer.Option("--keep", min=1, help="Number of connections to analyse, those with the most data.")] = reader.KEEP,
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE", help="Write path and flow of a connection as an experiment."),
    ] = None,
    connection: Annotated[
        int | None,
        typer.Option("--connection", min=0, help="Number of the connection for --experiment, --compare and --html. Default: most data."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Simulate that experiment, and the path with other windows, pacing and controls; print all beside the capture.",
        ),
    ] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=1000, help="Runs of each simulation that --compare makes.")] = REPEATS,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with the graphs of a connection.")] = None,
) -> None:
    """Say what limited each TCP connection of a capture."""
    with terminal.share_bar(err, "reading") as tick:
        found = reader.read(files, keep=keep, progress=tick)
    rows: list[Row] = []
    if compare:
        with terminal.share_bar(err, "simulating") as tick:
            rows = comparison(reader.chosen(found, connection), repeats=repeats, tick=tick)
    if as_json:
        record = json.loads(found.json())
        print(json.dumps({**record, "beside": [asdict(row) for row in rows]} if compare else record, indent=2))
    else:
        text.print_trace(out, found, most)
        if compare:
            text.print_comparison(out, rows)
        text.print_notes(err, found)
    if html is not None:
        with terminal.share_bar(err, "reading") as tick:
            reader.write_page(files, found, html, connection, rows=rows, progress=tick)
        err.print(f"page: {terminal.escape(terminal.clean(str(html)))}", soft_wrap=True)
    if experiment is not None:
        reader.write_experiment(found, experiment, connection)
        err.print(f"experiment: {terminal.escape(terminal.clean(str(experiment)))}", soft_wrap=True)
