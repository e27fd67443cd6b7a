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
    source: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Experiment (.toml), capture (.pcap) or iperf3 --json (.json).", show_default=False),
    ] = None,
    rate: Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Rate of the path, such as 10Gbit/s (IP packets).")] = None,
    rtt: Annotated[
        str | None, typer.Option("--rtt", metavar="TIME", help="Base round trip, such as 150ms; 20ms,180ms: two sites that share the link.")
    ] = None,
    mtu: Annotated[str | None, typer.Option("--mtu", metavar="BYTES", help="Largest packet. Default: 1500.", show_default=False)] = None,
    buffer: Annotated[
        str | None,
        typer.Option("--buffer", metavar="SIZE", help="Buffer of the bottleneck: 64MiB, '0.5 bdp', '1000 packets', or unknown."),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option("--loss", metavar="SHARE", help="Packets that the path loses of itself: 1e-6, 0, '0,at night 1e-4', or unknown."),
    ] = None,
    streams: Annotated[int | None, typer.Option("--streams", help="Parallel streams. Default: one, and several.")] = None,
    competing: Annotated[
        str | None, typer.Option("--competing", metavar="FLOWS", help="Flows that share the path: none, cubic, '4 cubic', or unknown.")
    ] = None,
    load: Annotated[
        str | None, typer.Option("--load", metavar="SHARE", help="Share of the bottleneck that short transfers of others use: 0.5.")
    ] = None,
    policer: Annotated[
        str | None, typer.Option("--policer", metavar="RATE", help="Rate of a policer on the path, such as 2Gbit/s; with --burst.")
    ] = None,
    burst: Annotated[str | None, typer.Option("--burst", metavar="SIZE", help="Bucket of the policer, such as 50MB.")] = None,
    transfer: Annotated[str | None, typer.Option("--transfer", metavar="SIZE", help="Payload to move, such as 5TB; with --within.")] = None,
    within: Annotated[str | None, typer.Option("--within", metavar="TIME", help="Time in which it must arrive, such as 4h.")] = None,
    edge: Annotated[
        str | None,
        typer.Option("--edge", metavar="RATE", help="Rate of the hosts' interfaces. Default: the next Ethernet above the path's."),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="Duration of each run. Default: by the controls' periods and the losses."),
    ] = None,
    thorough: Annotated[bool, typer.Option("--thorough", help="Send eight times as much: longer runs, and more seeds.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Run every candidate in every case, also those that are behind already.")
    ] = False,
    file: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the experiment, to change and run again.")] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Write a page to forward: .html, .pdf, or .md for a mail.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, with every cell.")] = False,
    results: Annotated[Path, typer.Option("--results", metavar="DIR", help="Where results are kept.")] = Path("results"),
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. Default: one per core.")] = None,
) -> None:
    """Say which control, window, streams and pacing to set for a path, from runs of it."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if page is not None:
        check(page)
    asked = source.stem if source else f"{rate}_{rtt}"
    folder = results / "advice" / re.sub(r"[^\w.,-]", "", asked)
    with terminal.share_bar(err, "running") as share:
        advice = advise(
            rate,
            rtt,
            file=source,
            mtu=mtu,
            buffer=buffer,
            loss=loss,
            streams=streams,
            competing=competing,
            load=load,
            policer=policer,
            burst=burst,
            transfer=transfer,
            within=within,
            edge=edge,
            duration=duration,
            thorough=thorough,
            everything=everything,
            folder=folder,
            jobs=jobs,
            tick=share,
            first=lambda said: err.print(terminal.escape(said), soft_wrap=True) if err.is_terminal else None,
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
