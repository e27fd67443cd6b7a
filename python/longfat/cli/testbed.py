"""`longfat testbed`: what this machine can carry in real time, and any program as the endpoint of a path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from longfat._longfat import testbed_facts, testbed_findings, testbed_shell
from longfat.cli.options import RESULTS, SetOption, chosen
from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.extras import need_to_draw
from longfat.plot.style import COLOURS
from longfat.report import terminal

testbed_command = typer.Typer(
    no_args_is_help=True, help="Run real kernels across emulated paths: check this machine, or open a shell on a path."
)
out = terminal.console()
err = terminal.console(stderr=True)

RATES_MBPS = (10, 44.21, 100, 300, 622, 1000, 1500, 2000, 3000, 4000, 6000, 9000)
"""Rates of the calibration, in Mb/s of IP packets."""
MTUS = (1500, 9000)
SECONDS = 3
LATE_S = 100e-6
"""Above it a run is suspect (`docs/testbed.md`)."""


@dataclass(frozen=True)
class Measured:
    """One rate of the calibration."""

    rate_bps: float
    """Asked for, of IP packets."""
    mtu: int
    share: float
    """Share of that rate that the bottleneck carried while its queue was busy."""
    packets_per_s: float
    """Data and acknowledgments, all hops counted once."""
    late_p99_s: float
    """99 of 100 packets were handed over no later than so long after their time."""
    verdict: str
    reasons: tuple[str, ...]


def permitted() -> bool:
    """Whether this process has what the testbed needs."""
    return all(is_good for _, _, is_good in testbed_findings())


def calibrate(rates_mbps: tuple[float, ...] = RATES_MBPS, mtus: tuple[int, ...] = MTUS, seconds: float = SECONDS) -> list[Measured]:
    """Runs one CUBIC flow at each rate, until a run is invalid. LongfatError where the testbed cannot be had."""
    found: list[Measured] = []
    for mtu in mtus:
        for rate in rates_mbps:
            measured = _measure(rate, mtu, seconds)
            found.append(measured)
            if measured.verdict == "invalid":
                break
    return found


def _measure(rate_mbps: float, mtu: int, seconds: float) -> Measured:
    text = f"""
        backend = "testbed"
        [path]
        preset = "dumbbell"
        rtt = "10 ms"
        bottleneck = {{ mtu = "{mtu} bytes", rate = "{rate_mbps} Mbit/s", queue = {{ kind = "droptail", limit = "2 bdp" }} }}
        edge = {{ mtu = "{mtu} bytes", rate = "40 Gbit/s", delay = "1 ms" }}
        [[flow]]
        stack = "linux"
        [measure]
        duration = "{seconds} s"
        warmup = "1 s"
    """
    result = Experiment(text).run()
    link = result.links.iloc[0]
    late = result.real_time["late_p99_s"]
    carried = float(link["busy_s"]) / (result.end_s - 1.0)
    packets = result.real_time["handed_over"] / result.end_s
    reasons = tuple(warning.text for warning in result.warnings if warning.name in ("suspect", "invalid"))
    return Measured(rate_mbps * 1e6, mtu, carried, packets, late, result.verdict or "", reasons)


def draw(measured: list[Measured], file: Path) -> None:
    """Draws the rates reached: SVG, PNG or PDF, by the name of the file. LongfatError without matplotlib."""
    need_to_draw()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    carried, late = figure.subplots(1, 2)
    for mtu, colour, marker in zip(MTUS, COLOURS, "os", strict=False):
        of = [one for one in measured if one.mtu == mtu]
        rates = [one.rate_bps / 1e6 for one in of]
        for axes, values in ((carried, [100 * one.share for one in of]), (late, [1e3 * one.late_p99_s for one in of])):
            axes.plot(rates, values, color=colour, linewidth=1, label=f"MTU {mtu}")
            for rate, value, one in zip(rates, values, of, strict=True):
                axes.plot(rate, value, **_marker(one.verdict, colour, marker))
    for verdict in ("valid", "suspect", "invalid"):
        carried.plot([], [], label=verdict, **_marker(verdict, "0.3", "o"))
    for axes in (carried, late):
        axes.set_xscale("log")
        axes.set_xlabel("rate of the bottleneck (Mbit/s, IP)")
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    carried.legend(frameon=False, loc="lower left")
    carried.set_ylabel("carried (% of that rate)")
    late.set_yscale("log")
    late.axhline(LATE_S * 1e3, color="0.3", linewidth=1, linestyle="--")
    late.set_ylabel("lateness, 99th percentile (ms)")
    figure.savefig(file)  # pyright: ignore[reportUnknownMemberType]


def _marker(verdict: str, colour: str, shape: str) -> dict[str, Any]:
    """Filled where a run is valid, open where it is suspect, a cross where it is invalid: to be told apart without colours."""
    if verdict == "invalid":
        return {"marker": "x", "color": colour, "linestyle": "none"}
    return {"marker": shape, "color": colour, "markerfacecolor": colour if verdict == "valid" else "white", "linestyle": "none"}


@testbed_command.command("check")
def check_command(
    quick: Annotated[bool, typer.Option("--quick", help="Look only, without a run.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="File for a plot of what was reached: .svg, .png or .pdf.")] = None,
) -> None:
    """Say what the testbed needs of this machine, and what it can carry."""
    for what, value in testbed_facts():
        out.print(f"{what}: {terminal.escape(value)}", soft_wrap=True)
    for what, found, is_good in testbed_findings():
        out.print(f"{'[green]ok[/]' if is_good else '[red]missing[/]'}  {terminal.escape(what)}: {terminal.escape(found)}", soft_wrap=True)
    if not permitted():
        raise LongfatError("the testbed cannot run here: run it as root, or in a container with these rights and /dev/net/tun")
    if quick:
        return
    out.print("One CUBIC flow of 10 ms at each rate, 3 s each:", soft_wrap=True)
    measured = calibrate()
    for one in measured:
        out.print(
            f"  {one.rate_bps / 1e6:8,.2f} Mb/s, MTU {one.mtu}: carried {100 * one.share:6.2f} %, {one.packets_per_s:9,.0f} packets/s,"
            f" late by {1e3 * one.late_p99_s:.3f} ms (p99): {one.verdict}",
            soft_wrap=True,
        )
    for mtu in MTUS:
        good = [one.rate_bps for one in measured if one.mtu == mtu and one.verdict == "valid"]
        out.print(f"valid with MTU {mtu}: up to {max(good) / 1e6:,.2f} Mb/s" if good else f"valid with MTU {mtu}: no rate", soft_wrap=True)
    if plot:
        draw(measured, plot)
        out.print(f"drawn in {terminal.escape(str(plot))}", soft_wrap=True)


@testbed_command.command("shell", context_settings={"allow_interspersed_args": False})
def shell_command(
    what: Annotated[str, typer.Argument(metavar="FILE|NAME", help="An experiment of one run; its flows stay away.")],
    command: Annotated[list[str] | None, typer.Argument(metavar="-- CMD...", help="Command to run. Default: your shell.")] = None,
    host: Annotated[str | None, typer.Option(metavar="NAME", help="Host to run it in. Default: the first.")] = None,
    changes: SetOption = None,
) -> None:
    """Run a command inside a host of an experiment's path, as mahimahi does; then say what the links did."""
    [one] = chosen([what], RESULTS, changes, quick=False, backend="testbed")
    if one.experiment.run_count != 1:
        raise LongfatError(f"{what} has {one.experiment.run_count} runs: choose one with --set, such as --set 'flow[0].window=64 KiB'")
    asked = command[1:] if command and command[0] == "--" else command
    code, trace = testbed_shell(one.experiment.resolve(0), host, asked or [os.environ.get("SHELL", "/bin/sh")])
    tables = trace.tables()
    links = tables["links"]
    for row in range(len(links["name"])):
        said = (
            f"{links[name][row]:,} {text}"
            for name, text in (
                ("packets_in", "packets in"),
                ("packets_delivered", "delivered"),
                ("drops_overflow", "dropped"),
                ("marks", "marked"),
            )
        )
        err.print(f"{terminal.escape(links['name'][row])}: {', '.join(said)}", soft_wrap=True)
    late = tables["real_time"]["late_p99_s"]
    err.print(f"{tables['verdict']}: 99 of 100 packets were late by less than {1e3 * late:.3f} ms", soft_wrap=True)
    for warning in tables["warnings"]:
        if warning["name"] in ("suspect", "invalid"):
            err.print(f"  {terminal.escape(warning['text'])}", soft_wrap=True)
    raise typer.Exit(code)
