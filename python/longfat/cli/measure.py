"""The command `longfat measure`: TCP each way to a server and both at once, what limited it, and what to change."""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from longfat._longfat import quantity
from longfat.errors import LongfatError, Stopped
from longfat.experiment import Experiment
from longfat.live import flent, history, iperf, limit, stamp, stream
from longfat.live.greeting import Length, length
from longfat.live.seen import ends, facts, seen
from longfat.live.survey import survey
from longfat.live.ways import AROUND_S, BOTH, DIRECTIONS, PHASES, Direction, Way, retransmitted, run, way
from longfat.report import terminal
from longfat.results import Result
from longfat.text import count

out = terminal.console()
err = terminal.console(stderr=True)

REOPENS_S = 5.0
"""Time for which a server of iperf3 may refuse the next test: iperf3 3.12 closes its port after each, and opens it again."""
SURVEY_S = 12.0
"""Time of the bursts before `--out`. It only moves the progress bar."""
UNKNOWN = "unknown"
"""Word in the place of a number."""


class Phase(StrEnum):
    """Choices of `--direction`: typer takes no list of literals."""

    UP = "up"
    DOWN = "down"
    BOTH = "both"


def measure_command(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="Address of a `longfat serve`, with :PORT unless it is 5277; or iperf3://HOST:PORT.")
    ],
    key: Annotated[str | None, typer.Option("--key", metavar="NAME", help="Key of the server; without one it must be open.")] = None,
    seconds: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=3600,
            help="Duration of each run: one up, one down, one both. Default: 300 round trips, from 10 s to 40 s; iperf3: 10 s.",
            show_default=False,
        ),
    ] = None,
    control: Annotated[
        str | None, typer.Option("--control", metavar="NAME", help="Congestion control; else the one in force at the sender.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the path as an experiment, and simulate it beside what was measured."),
    ] = None,
    to_flent: Annotated[
        Path | None,
        typer.Option(
            "--flent", metavar="FILE.flent.gz", help="Write FILE-up.flent.gz, FILE-down.flent.gz and FILE-both.flent.gz, for Flent's plots."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_stream: Annotated[bool, typer.Option("--json-stream", help="Print the events of `iperf3 --json-stream` as they happen.")] = False,
    only: Annotated[
        list[Phase] | None,
        typer.Option(
            "--direction",
            metavar="up|down|both",
            help="Measure this alone; repeatable. Default: up, down, and both at once.",
            show_default=False,
        ),
    ] = None,
    capture: Annotated[
        bool, typer.Option("--capture", help="Capture the flows' headers at both hosts, for a second verdict; needs CAP_NET_RAW.")
    ] = False,
    every: Annotated[
        str | None, typer.Option("--every", metavar="TIME", help="Measure again and again, so far apart, such as 1h, and keep the history.")
    ] = None,
    kept: Annotated[
        Path | None, typer.Option("--history", metavar="FILE.jsonl", help="Add the measurement to this history, and draw FILE.html.")
    ] = None,
) -> None:
    """Measure TCP each way, then both at once, to a `longfat serve`: rate, delay, what limits it, and what to change."""
    if host.startswith(stamp.SCHEME):
        raise LongfatError(f"{host}: STAMP has no TCP. help: `longfat probe {host}`")
    if host.startswith(iperf.SCHEME):
        options = {
            "--key": key,
            "--out": to,
            "--flent": to_flent,
            "--json-stream": as_stream,
            "--capture": capture,
            "--every": every,
            "--history": kept,
        }
        for option, value in options.items():
            if value:
                raise LongfatError(f"{option}: needs `longfat serve` at the other end, and {host} is iperf3")
        if only and BOTH in only:
            raise LongfatError(f"--direction {BOTH}: needs `longfat serve` at the other end, and {host} is iperf3")
        _measure_iperf(host, seconds or iperf.SECONDS, control, [way for way in DIRECTIONS if not only or way in only], as_json)
        return
    if to and (to.suffix != ".toml" or not to.absolute().parent.is_dir()):
        raise LongfatError(f"--out {to}: expected a name that ends in .toml, in a folder that is there")
    if to_flent and (not to_flent.name.endswith(flent.SUFFIX) or not to_flent.absolute().parent.is_dir()):
        raise LongfatError(f"--flent {to_flent}: expected a name that ends in {flent.SUFFIX}, in a folder that is there")
    if as_json and as_stream:
        raise LongfatError("--json and --json-stream: expected one of them")
    if every or kept:
        if to or to_flent or as_json or as_stream or capture:
            raise LongfatError("--every and --history keep measurements: leave out --out, --flent, --json, --json-stream and --capture")
        file = kept or history.name_of(host)
        history.check(file)
        phases = [phase for phase in PHASES if phase in only] if only else PHASES
        _keep(host, key, seconds, control, phases, file, _seconds(every) if every else None)
        return
    if to and only and not set(DIRECTIONS) <= set(only):
        raise LongfatError(f"--out {to}: needs a flow up and one down: leave out --direction, or give it for both")
    phases = [phase for phase in PHASES if phase in only] if only else PHASES
    lasts = length(host, key, seconds)
    _say_limit(lasts)
    made: dict[str, dict[str, Result]] = {}
    failed: LongfatError | None = None
    with _bar(phases, lasts, survey_s=SURVEY_S if to else 0.0, is_shown=not (as_json or as_stream)) as ticks:
        looked = survey(host, key) if to else None
        for phase in phases:
            begun = datetime.datetime.now(datetime.UTC)
            told = stream.Events(host, DIRECTIONS if phase == BOTH else (phase,), lasts.seconds, begun, _tell) if as_stream else None
            try:
                made[phase], lost = run(
                    host, phase, key, lasts.seconds, control, ticks[phase], told.hear if told else None, capture=capture
                )
                failed = LongfatError(f"the measurement is not whole: {lost}") if lost else None
            except LongfatError as error:
                failed = LongfatError(f"the measurement is not whole: {error}")
                if not made:
                    failed = error
            except KeyboardInterrupt:
                # No flow had begun: nothing was measured.
                if told:
                    _tell(stream.failed(f"stopped before the run {phase!r} began"))
                raise
            if failed:
                if as_stream:
                    _tell(stream.failed(str(failed)))
                if as_stream or not made:
                    raise failed
                break
            if told:
                told.end(made[phase])
            if to_flent:
                _write_flent(flent.names(to_flent)[phase], made[phase], host, begun)
            if any(result.real_time["cut_by"] for result in made[phase].values()):
                failed = Stopped(f"Stopped in the run {phase!r}: its results are those until then")
                break
    ways = {phase: [way(direction, result) for direction, result in results.items()] for phase, results in made.items()}
    alone = [one for phase in DIRECTIONS for one in ways.get(phase, [])]
    unknown: list[str] = []
    is_written = to is not None and all(phase in made and not made[phase][phase].real_time["cut_by"] for phase in DIRECTIONS)
    if to and is_written:
        when = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
        path = seen(host, when, facts(made["up"]["up"], "up"), facts(made["down"]["down"], "down"), looked)
        unknown = path.unknown
        try:
            to.write_text(path.text, encoding="utf-8")
        except OSError as error:
            raise LongfatError(f"{to} cannot be written: {error.strerror}") from error
    if as_json:
        nat = dict(zip(("tcp_port", "udp_port"), translated(real_time(made)), strict=True))
        told = {phase: _told(phase, some) for phase, some in ways.items()}
        print(json.dumps({"host": host, "seconds": lasts.seconds, "nat": nat} | told, indent=2))
    if as_json or as_stream:
        if failed:
            raise failed
        return
    if alone:
        which = "each way" if len(alone) > 1 else alone[0].direction
        _print_ways(f"One flow {which}, {lasts.words}, to {terminal.escape(host)}:", alone)
    if BOTH in ways:
        title = f"Both at once, {lasts.seconds} s:" if alone else f"Both at once, {lasts.words}, to {terminal.escape(host)}:"
        _print_ways(title, ways[BOTH])
    real = real_time(made)
    if any(nat := translated(real)):
        out.print(nat_line(nat), soft_wrap=True, highlight=False)
    bound = next((one for some in ways.values() for one in some if not math.isnan(one.one_way_delay_most_s)), None)
    if bound:
        out.print(one_way(bound.one_way_delay_most_s, real), soft_wrap=True, highlight=False)
    for phase, some in ways.items():
        for reason, verdict in dict.fromkeys((reason, one.verdict) for one in some for reason in one.reasons):
            err.print(f"  {phase}: {terminal.escape(reason)} ({verdict})", soft_wrap=True)
    for said in dict.fromkeys(said for some in ways.values() for one in some for said in one.not_captured):
        err.print(f"  {terminal.escape(said)}", soft_wrap=True, highlight=False)
    if failed and not is_written:
        raise failed
    if to:
        with terminal.share_bar(err, "simulating") as share:
            said = _written(to, unknown, alone, share)
        for line_ in said:
            out.print(terminal.escape(line_), soft_wrap=True, highlight=False)
    if failed:
        raise failed


@contextmanager
def _bar(
    phases: Sequence[str], lasts: Length, survey_s: float = 0.0, *, is_shown: bool = True
) -> Generator[dict[str, Callable[[float], object]]]:
    """A bar over all phases, on a terminal alone; each phase tells its own share."""
    part = lasts.seconds + AROUND_S
    whole = survey_s + part * len(phases)
    with terminal.share_bar(err, f"measuring, {lasts.words} per run", is_shown=is_shown) as share:
        yield {phase: lambda done, number=number: share((survey_s + part * (number + done)) / whole) for number, phase in enumerate(phases)}


def _tell(event: str) -> None:
    # Ctrl-C within the flush of a buffer would leave the line in it, and so tell it twice.
    left = f"{event}\n".encode()
    try:
        number = sys.stdout.fileno()
    except OSError:
        print(event, flush=True)
        return
    while left:
        left = left[os.write(number, left) :]


def _say_limit(lasts: Length) -> None:
    """Says that the server grants less than is due."""
    if lasts.limit:
        err.print(terminal.escape(lasts.limit), soft_wrap=True, highlight=False)


def _print_ways(title: str, ways: Sequence[Way]) -> None:
    """The first screen's lines about flows that were measured together, or one after the other."""
    out.print(title, soft_wrap=True)
    for one in ways:
        out.print(f"  {one.direction:4} {line(one)}", soft_wrap=True, highlight=False)
        sure = limit.sure(one.limited_by_confidence)
        limits = [f"limited by: {one.limited_by}, {sure}", *by_packets(one)]
        for text in (*limits, f"to change: {one.change}", queues(one), shares(one)):
            out.print(terminal.escape(f"       {text}"), soft_wrap=True, highlight=False)


def _told(phase: str, ways: Sequence[Way]) -> dict[str, object]:
    """A phase as JSON has it: the direction itself, or both by their names."""
    return {one.direction: _plain(one) for one in ways} if phase == BOTH else _plain(ways[0])


def _seconds(every: str) -> float:
    found = quantity(re.sub(r"(?<=\d)(?=[a-z])", " ", every))
    if found is None or found[1] != "s" or found[0] < 1:
        raise LongfatError(f"--every {every}: expected a time, such as 10min or 1h")
    return found[0]


def _keep(
    host: str, key: str | None, seconds: int | None, control: str | None, phases: Sequence[str], file: Path, every_s: float | None
) -> None:
    """Measures once, or every so often until Ctrl-C, and keeps the history."""
    try:
        _kept(host, key, seconds, control, phases, file, every_s)
    except KeyboardInterrupt:
        page = history.write_page(file, host)
        raise Stopped(f"Stopped: {count(len(history.read(file)), 'measurement')} kept in {file}, and drawn in {page}") from None


def _kept(
    host: str, key: str | None, seconds: int | None, control: str | None, phases: Sequence[str], file: Path, every_s: float | None
) -> None:
    due = time.monotonic()
    said = Length(0)
    while True:
        record, said, failed, is_stopped = _measured(host, key, seconds, control, phases, said)
        if any(phase in record for phase in PHASES) or failed:
            history.append(file, record)
        page = history.write_page(file, host)
        (err if failed else out).print(terminal.escape(history.line(record)), soft_wrap=True, highlight=False)
        if every_s is None:
            out.print(f"  {terminal.escape(str(page))}", soft_wrap=True, highlight=False)
        if is_stopped:
            raise KeyboardInterrupt
        if every_s is None:
            if failed:
                raise failed
            return
        # A measurement that took longer does not make up for the ones it has missed.
        due += every_s * max(1, math.ceil((time.monotonic() - due) / every_s))
        time.sleep(max(0.0, due - time.monotonic()))


def _measured(
    host: str, key: str | None, seconds: int | None, control: str | None, phases: Sequence[str], before: Length
) -> tuple[history.Record, Length, LongfatError | None, bool]:
    """One measurement and its duration; why it failed, and whether Ctrl-C ended it. A limit is said where it was not `before`."""
    record: history.Record = {"time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "host": host}
    lasts = before
    try:
        lasts = length(host, key, seconds)
        record["seconds"] = lasts.seconds
        if lasts.limit != before.limit:
            _say_limit(lasts)
        with _bar(phases, lasts) as ticks:
            for phase in phases:
                results, lost = run(host, phase, key, lasts.seconds, control, ticks[phase])
                record[phase] = _told(phase, [way(direction, result) for direction, result in results.items()])
                result = next(iter(results.values()))
                record.setdefault("path", history.path_of(result))
                if lost:
                    return record | {"error": str(lost)}, lasts, lost, False
                if result.real_time["cut_by"]:
                    return record, lasts, None, True
    except KeyboardInterrupt:
        return record, lasts, None, True
    except LongfatError as error:
        return record | {"error": str(error)}, lasts, error, False
    return record, lasts, None, False


def _measure_iperf(host: str, seconds: int, control: str | None, only: Sequence[Direction], as_json: bool) -> None:
    """Measures against a server of iperf3. LongfatError where it is not there, or was lost: then the rest has been printed."""
    made: list[iperf.Transfer] = []
    failed: str | None = None
    for direction in only:
        try:
            made.append(iperf.transfer(host, direction, seconds, control, REOPENS_S if made else 0))
            failed = made[-1].lost
        except LongfatError as error:
            if not made:
                raise
            failed = str(error)
        if failed:
            break
    if as_json:
        found = {one.direction: _no_nan(asdict(one)) for one in made}
        print(json.dumps({"host": host, "seconds": seconds, **found, "lost": failed}, indent=2))
    else:
        which = only[0] if len(only) == 1 else "each way"
        out.print(f"One flow {which}, {seconds} s, to {terminal.escape(host)}:", soft_wrap=True)
        for one in made:
            out.print(f"  {one.direction:4} {terminal.escape(iperf.line(one))}", soft_wrap=True, highlight=False)
        out.print(terminal.escape(iperf.UNKNOWN), soft_wrap=True, highlight=False)
    if failed:
        raise LongfatError(f"the measurement is not whole: {failed}")


def _write_flent(file: Path, results: dict[str, Result], host: str, begun: datetime.datetime) -> None:
    try:
        flent.write(file, results, host, begun)
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def _written(file: Path, unknown: list[str], ways: Sequence[Way], tick: Callable[[float], object]) -> list[str]:
    """Sentences about the file of the path: its unknowns, and a simulation beside the measurement, at both ends of what is unknown."""
    said = [f"{file}: the path, without what this does not decide:", *(f"  {one}" for one in unknown)] if unknown else []
    texts = ends(file.read_text(encoding="utf-8"))
    runs: list[dict[str, Any]] = []
    for text in texts:
        swept = Experiment(text).sweep(
            tick=lambda work: tick((len(runs) + work.current_cost / max(work.total_cost, 1e-12)) / len(texts)),
        )
        runs.append({run.labels["direction"]: run.flows.iloc[0] for run in swept})
    at = "" if len(runs) == 1 else ", with the unknown at its least and at its most"
    said.append(f"{file}: the path as an experiment. Measured, and simulated over it{at}:")
    for one in ways:
        flows = [run[one.direction] for run in runs]

        def joined(values: list[float], digits: int) -> str:
            return " to ".join(dict.fromkeys(f"{value:,.{digits}f}" for value in values))

        said.append(
            f"  {one.direction:4} {one.goodput_bps / 1e6:,.1f} and {joined([flow['goodput_bps'] / 1e6 for flow in flows], 1)} Mbit/s; "
            f"RTT under load {1e3 * one.rtt_loaded_s:.1f} and {joined([1e3 * flow['rtt_p50_s'] for flow in flows], 1)} ms; "
            f"retransmitted {100 * one.retransmission_rate:.3f} and {joined([100 * retransmitted(flow) for flow in flows], 3)} %"
        )
    return said


def shares(way: Way) -> str:
    """The first screen's line with the three numbers of RFC 6349."""
    ratio = "unknown: the flow did not fill the path" if math.isnan(way.transfer_time_ratio) else f"{way.transfer_time_ratio:.3f}"
    delay = "unknown" if math.isnan(way.buffer_delay) else f"{100 * way.buffer_delay:.1f} %"
    return f"RFC 6349: efficiency {100 * way.tcp_efficiency:.3f} %; buffer delay {delay}; transfer time ratio {ratio}"


def line(way: Way) -> str:
    """The first screen's line about one direction."""
    rate = "rate unknown: stopped too early" if math.isnan(way.goodput_bps) else f"{way.goodput_bps / 1e6:,.1f} Mbit/s"
    idle, loaded = (UNKNOWN if math.isnan(rtt) else _ms(rtt) for rtt in (way.rtt_idle_s, way.rtt_loaded_s))
    again = UNKNOWN if math.isnan(way.retransmission_rate) else f"{100 * way.retransmission_rate:.3f} %"
    return f"{rate}; RTT {idle} idle, {loaded} under load; {again} retransmitted"


def _ms(seconds: float) -> str:
    """A time in ms: with a digit after the point, or two digits of a short one."""
    return f"{1e3 * seconds:.1f} ms" if seconds >= 1e-4 else f"{1e3 * seconds:.2g} ms"


def by_packets(way: Way) -> list[str]:
    """The first screen's line about the captures of a direction, if there are any."""
    ends = (
        ("sender", way.limited_by_at_sender, way.limited_by_at_sender_confidence),
        ("receiver", way.limited_by_at_receiver, way.limited_by_at_receiver_confidence),
    )
    parts = [f"{cause} at the {end}, {limit.sure(confidence)}" for end, cause, confidence in ends if cause]
    return [f"by its packets: {'; '.join(parts)}"] if parts else []


def queues(way: Way) -> str:
    """The first screen's line about queueing delays in both directions while one is loaded."""
    if math.isnan(way.queue_delay_up_p95_s) and math.isnan(way.queue_delay_down_p95_s):
        return "queueing delay unknown: no probe came through (UDP at the server's port), or the server grants none"

    def ms(seconds: float) -> str:
        return "unknown" if math.isnan(seconds) else f"{1e3 * seconds:.2f} ms"

    up, down = (
        f"{name} {ms(idle)} idle, {ms(loaded)} under load"
        for name, idle, loaded in (
            ("up", way.queue_delay_up_idle_p95_s, way.queue_delay_up_p95_s),
            ("down", way.queue_delay_down_idle_p95_s, way.queue_delay_down_p95_s),
        )
    )
    trips = "" if math.isnan(way.loaded_rtt_per_minute) else f"; {way.loaded_rtt_per_minute:,.0f} TCP round trips per minute (not RPM)"
    return f"queueing delay (95 of 100 probes) {up}; {down}{trips}"


def real_time(made: dict[str, dict[str, Result]]) -> dict[str, float]:
    """Measurements of the first run, by name; none without a run."""
    nothing: dict[str, float] = {}
    return next((result.real_time for results in made.values() for result in results.values()), nothing)


def translated(real: dict[str, float]) -> tuple[int | None, int | None]:
    """Ports of this host's control connection and of its probes, as the far host sees them behind NAT; None: there is none."""
    tcp, udp = (round(real.get(name, 0)) or None for name in ("nat_port", "nat_udp_port"))
    return tcp, udp


def nat_line(nat: tuple[int | None, int | None]) -> str:
    """The first screen's line about NAT."""
    ports = [f"{what} at port {port}" for what, port in zip(("TCP", "UDP"), nat, strict=True) if port]
    return f"NAT on the way: the far host sees this one's {' and '.join(ports)} (`longfat probe` names the address)"


def one_way(idle_s: float, real: dict[str, float]) -> str:
    """Delay of one direction without queues: by synchronised clocks with its error, else its bound, the idle round trip."""
    if real.get("one_way_delay_error_max_s"):
        up, down, error, most = (1e3 * real[f"one_way_delay_{name}_s"] for name in ("up", "down", "error", "error_max"))
        return (
            f"One-way delay without queues: {up:.2f} ms up, {down:.2f} ms down; both hosts are synchronised, and put the error "
            f"at {error:.2f} ms, {most:.2f} ms at most"
        )
    return f"One-way delay without queues: 0 to {_ms(idle_s)} each way; the clocks are not compared"


def _plain(way: Way) -> dict[str, object]:
    """A way as JSON has it: null for what is not known."""
    return {**_no_nan(asdict(way)), "change": way.change}


def _no_nan(values: dict[str, Any]) -> dict[str, object]:
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}
