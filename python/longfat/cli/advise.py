"""The command `longfat advise`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from longfat.advice.advise import advise
from longfat.advice.page import check, write_page
from longfat.advice.show import print_advice
from longfat.report import terminal


def advise_command(
    rate: Annotated[str, typer.Option("--rate", metavar="RATE", help="Of the path, such as 10Gbit/s (IP packets).")],
    rtt: Annotated[str, typer.Option("--rtt", metavar="TIME", help="Base round trip, such as 150ms.")],
    mtu: Annotated[str, typer.Option("--mtu", metavar="BYTES", help="Largest packet.")] = "1500",
    buffer: Annotated[
        str, typer.Option("--buffer", metavar="SIZE", help="Of the bottleneck: 64MiB, '0.5 bdp', '1000 packets', or unknown.")
    ] = "unknown",
    loss: Annotated[str, typer.Option("--loss", metavar="SHARE", help="What the path loses of itself: 1e-6, 0, or unknown.")] = "unknown",
    streams: Annotated[int | None, typer.Option("--streams", help="Parallel streams. [default: one, and several]")] = None,
    competing: Annotated[
        str, typer.Option("--competing", metavar="FLOWS", help="What else crosses the path: none, cubic, '4 cubic', or unknown.")
    ] = "unknown",
    edge: Annotated[
        str | None, typer.Option("--edge", metavar="RATE", help="Of the hosts' interfaces. [default: the next Ethernet above the path's]")
    ] = None,
    duration: Annotated[str | None, typer.Option("--duration", metavar="TIME", help="Of each run. [default: as the time allows]")] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Send eight times as much: longer runs, and three seeds for losses.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Run every candidate in every case, also those that are behind already.")
    ] = False,
    file: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the experiment, to change and run again.")] = None,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Write a page to forward: .html, or .md for a mail.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, with every cell.")] = False,
    results: Annotated[Path, typer.Option("--results", metavar="DIR", help="Where results are kept.")] = Path("results"),
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. [default: one a core]")] = None,
) -> None:
    """Say which control, window, streams and pacing to set for a path, from runs of it."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if page is not None:
        check(page)
    folder = results / "advice" / re.sub(r"[^\w.]", "", f"{rate}_{rtt}")
    with terminal.share_bar(err, "running") as share:
        advice = advise(
            rate,
            rtt,
            mtu=mtu,
            buffer=buffer,
            loss=loss,
            streams=streams,
            competing=competing,
            edge=edge,
            duration=duration,
            thorough=thorough,
            everything=everything,
            folder=folder,
            jobs=jobs,
            tick=share,
        )
    if as_json:
        print(json.dumps(advice.as_json(), indent=2))
    else:
        print_advice(out, advice)
        out.print(
            f"\n  [dim]runs in {terminal.escape(str(folder))}: `longfat report {terminal.escape(str(folder))}` draws them[/]",
            soft_wrap=True,
        )
    if page is not None:
        write_page(advice, page)
        err.print(f"page: {terminal.escape(terminal.clean(str(page)))}", soft_wrap=True)
    if file is not None:
        advice.save(file)
        err.print(f"experiment: {terminal.escape(terminal.clean(str(file)))}", soft_wrap=True)
