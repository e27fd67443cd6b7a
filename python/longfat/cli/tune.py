"""The command `longfat tune`."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from longfat.advice import question
from longfat.advice.question import HEADERS, Question
from longfat.cli.measure import SURVEY_S
from longfat.errors import LongfatError
from longfat.live.limit import AT_HOSTS
from longfat.live.seen import POLICER, RANDOM, Facts, buffer_of, facts
from longfat.live.survey import Direction, Survey, survey
from longfat.live.ways import AROUND_S, DIRECTIONS, Way, whole
from longfat.live.ways import way as way_of
from longfat.plot.units import with_unit
from longfat.report import terminal
from longfat.tune import compare as comparison
from longfat.tune import script, show
from longfat.tune.check import look
from longfat.tune.checks import CHECKS
from longfat.tune.host import Host
from longfat.tune.simulate import check_one, simulate
from longfat.tune.target import Route, Target, address_of, route


def tune_command(
    host: Annotated[
        str | None, typer.Argument(metavar="HOST", help="The other end: tells the route and, by `longfat serve` there, the path.")
    ] = None,
    rate: Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Rate of the path, such as 10Gbit/s (IP packets).")] = None,
    rtt: Annotated[str | None, typer.Option("--rtt", metavar="TIME", help="Base round trip, such as 150ms.")] = None,
    device: Annotated[
        str | None, typer.Option("--device", metavar="NAME", help="Interface to tune. Default: that of the route.", show_default=False)
    ] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="NAME", help="Key of the server at HOST.")] = None,
    seconds: Annotated[int, typer.Option(min=2, max=3600, help="Duration of each measurement and direction.")] = 10,
    predicted: Annotated[bool, typer.Option("--simulate", help="Predict the gain of each change from runs of the path.")] = False,
    buffer: Annotated[
        str | None, typer.Option("--buffer", metavar="SIZE", help="Buffer of the bottleneck, for --simulate. Default: 1 bdp.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option("--loss", metavar="SHARE", help="Packets that the path loses of itself, for --simulate: 1e-6.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--script", metavar="DIR", help="Write apply.sh and revert.sh there.", show_default=False)
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the scripts and run apply.sh (root).")] = False,
    revert: Annotated[bool, typer.Option("--revert", help="Run revert.sh: every value as it was (root).")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Measure before and after in turn, five times each (root).")] = False,
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="Read a recorded host below DIR, not this one.", show_default=False)
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Print why, and the source, below each line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. Default: one per core.")] = None,
) -> None:
    """Say what to change on this Linux host for a path; predict the gain, write scripts, apply and revert them."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if sum((apply, revert, compare)) > 1:
        raise LongfatError("--apply, --revert and --compare: expected one of them")
    if root is not None and (apply or revert or compare):
        raise LongfatError("--root reads another host: expected neither --apply, --revert nor --compare")
    home = folder or script.HOME
    if revert:
        raise typer.Exit(0 if script.run(home, "revert.sh") else 1)
    if compare and host is None:
        raise LongfatError("--compare measures the path to another host: longfat tune HOST --compare")
    if apply or compare:
        script.check_root("apply" if apply else "compare")
    if root is not None and not root.is_dir():
        raise LongfatError(f"--root {root}: expected a folder that holds proc and sys")

    here = Host(root or Path("/"))
    way = route(here, address_of(host) if host else None, device)
    with terminal.share_bar(err, "measuring", is_shown=not as_json) as share:
        asked, told = _question(host, rate, rtt, way, key, seconds, buffer=buffer, loss=loss, predicted=predicted, tick=share)
    target = Target(asked, way)
    rows = look(here, target, CHECKS)
    simulated = None
    if predicted:
        with terminal.share_bar(err, "simulating", is_shown=not as_json) as share:
            simulated = simulate(asked, rows, share, jobs)
    if as_json:
        print(json.dumps(show.as_json(target, rows, simulated, told), indent=2))
    else:
        show.print_rows(out, target, rows, simulated, told, why=why)
    if not (folder or apply or compare):
        return
    settings = script.settings_of(rows)
    if not settings:
        err.print("no script is written, since there is nothing to change")
        return
    script.write(home, settings, show.title(target))
    err.print(
        f"scripts: {terminal.escape(shlex.quote(str(home / 'apply.sh')))} and revert.sh; they last until the next boot", soft_wrap=True
    )
    if apply and not script.run(home, "apply.sh"):
        raise typer.Exit(1)
    if compare:
        assert host is not None
        with terminal.share_bar(err, "measuring", is_shown=not as_json) as share:
            compared = comparison.compare(home, lambda: {one: _way(host, one, key, seconds).goodput_bps for one in DIRECTIONS}, tick=share)
        for line in comparison.lines(compared):
            out.print(terminal.escape(line), soft_wrap=True)


@dataclass(frozen=True)
class Measured:
    """The path to a host as flows and bursts showed it."""

    ways: dict[str, Way]
    facts: dict[str, Facts]
    survey: Survey | None
    """None: it was not asked for, or `why` says why there is none."""
    why: str = ""


def _way(host: str, direction: str, key: str | None, seconds: float) -> Way:
    return way_of(direction, whole(host, direction, key, seconds))


def _measure(host: str, key: str | None, seconds: float, *, burst: bool, tick: Callable[[float], object]) -> Measured:
    """One flow each way, and before them bursts. LongfatError where the server is not there, or says no to the flows."""
    before = SURVEY_S if burst else 0.0
    part = seconds + AROUND_S
    every = before + 2 * part
    found, why = None, ""
    if burst:
        try:
            found = survey(host, key)
        except LongfatError as error:
            why = str(error)
    ways: dict[str, Way] = {}
    seen: dict[str, Facts] = {}
    for number, direction in enumerate(DIRECTIONS):
        result = whole(host, direction, key, seconds, lambda done, number=number: tick((before + part * (number + done)) / every))
        ways[direction], seen[direction] = way_of(direction, result), facts(result, direction)
    return Measured(ways, seen, found, why)


def _burst(best: Way, measured: Measured) -> Direction | None:
    """The burst in the direction of the faster flow."""
    if measured.survey is None:
        return None
    return measured.survey.up if best.direction == "up" else measured.survey.down


def _buffer(best: Way, measured: Measured) -> tuple[str | None, str]:
    """Buffer of the path in the words of the experiment file, where it was found, and a sentence on it."""
    seen = measured.facts[best.direction]
    found = buffer_of(seen, _burst(best, measured), seen.rate_bps)
    if found:
        how = "by waits of probes while a flow filled it" if seen.fills and seen.retransmitted_bytes else "by a burst that overflowed it"
        sizes = f"{found.value:.0f} bytes {best.direction} ({found.low:.0f} to {found.high:.0f})"
        return f"{found.value:.0f} bytes", f"Buffer: {sizes}, {how}."
    why = measured.why or ("a policer has none" if seen.cause == POLICER else "it was not seen full, or other losses hide its own")
    return None, f"Buffer: not found ({why}): --buffer says it."


def _loss(best: Way, measured: Measured) -> tuple[str | None, str]:
    """Loss of the path, where losses at random limited the flow, and a sentence on it."""
    seen = measured.facts[best.direction]
    if seen.cause != RANDOM:
        return None, "Loss: none but at a full queue or a policer was seen."
    return f"{seen.loss:.2g}", f"Loss: {seen.loss:.2g}, the share that the flow {best.direction} retransmitted, with losses at random."


def _question(
    host: str | None,
    rate: str | None,
    rtt: str | None,
    way: Route,
    key: str | None,
    seconds: float,
    *,
    buffer: str | None,
    loss: str | None,
    predicted: bool = False,
    tick: Callable[[float], object] = lambda share: None,
) -> tuple[Question, list[str]]:
    """The path as given or as measured, and where each of its numbers comes from."""
    told: list[str] = []
    mtu = min(max(way.mtu or 1500, 576), 65535)
    if host is not None and (rate is None or rtt is None):
        measured = _measure(host, key, seconds, burst=predicted and buffer is None, tick=tick)
        ways = list(measured.ways.values())
        idle = min((one.rtt_idle_s for one in ways if not math.isnan(one.rtt_idle_s)), default=math.nan)
        best = max(ways, key=lambda one: one.goodput_bps)
        if rtt is None:
            if math.isnan(idle):
                raise LongfatError(f"no round trip to {host} was measured: expected --rtt")
            rtt = f"{max(100, 1e6 * idle):.0f} us"
            told.append(f"RTT: the least of the handshakes with {host}.")
        if rate is None:
            seen = best.goodput_bps * mtu / (mtu - HEADERS)
            told.append(f"Rate: one flow to {host} carried {with_unit(seen, 'bit/s', 3)} of IP, limited by {best.limited_by}.")
            if best.limited_by in AT_HOSTS:
                # A flow that its buffers limit says nothing of the path, which would make them look large enough.
                burst = _burst(best, measured)
                if burst and burst.rate_bps and burst.is_bottleneck:
                    seen = max(seen, burst.rate_bps.value)
                    fast = f"the {with_unit(seen, 'bit/s', 3)} of a burst are taken"
                else:
                    seen = max(seen, way.speed or 0.0)
                    fast = f"the {with_unit(seen, 'bit/s')} of {way.device} are taken" if way.speed else "the path may carry more"
                told.append(f"A host is the limit there, so {fast}: --rate says better.")
            rate = f"{seen:.0f} bit/s"
        if predicted and buffer is None:
            buffer, said = _buffer(best, measured)
            told.append(said)
        if predicted and loss is None:
            loss, said = _loss(best, measured)
            told.append(said)
    if rtt is None:
        raise LongfatError("the round trip is not known: expected --rtt 80ms, or the HOST of a `longfat serve`")
    if rate is None:
        if way.speed is None:
            raise LongfatError(f"the rate is not known, and {way.device} tells no speed: expected --rate 10Gbit/s, or HOST")
        rate = f"{way.speed:.0f} bit/s"
        told.append(f"Rate: the speed of {way.device}.")
    if "," in rtt:
        raise LongfatError(f"--rtt {rtt}: expected one round trip")
    made = question.read(rate, rtt, mtu=mtu, buffer=buffer or question.UNKNOWN, loss=loss or question.UNKNOWN)
    if way.speed and made.rate > way.speed:
        told.append(f"The speed of {way.device} is less: {with_unit(way.speed, 'bit/s')}.")
    return check_one(replace(made, edge=max(made.edge, way.speed or 0.0))), told
