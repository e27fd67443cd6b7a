"""The command `longfat measure`: TCP each way to a server, what limited it, and what to change."""

from __future__ import annotations

import datetime
import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from longfat._longfat import quantity
from longfat.errors import LongfatError, LostError, Stopped
from longfat.experiment import Experiment
from longfat.live import controls, flent, history, iperf, limit, stamp, stream
from longfat.live.seen import HEADERS, MTU, Facts, ends, facts, seen
from longfat.live.survey import survey
from longfat.report import terminal
from longfat.results import Result
from longfat.text import count

out = terminal.console()
err = terminal.console(stderr=True)

QUEUES = ("queue_delay_up_idle_p95_s", "queue_delay_up_p95_s", "queue_delay_down_idle_p95_s", "queue_delay_down_p95_s")
DIRECTIONS: tuple[Literal["up"], Literal["down"]] = ("up", "down")
REOPENS_S = 5.0
"""Time for which a server of iperf3 may refuse the next test: iperf3 3.12 closes its port after each, and opens it again."""


@dataclass(frozen=True)
class Way:
    """One flow in one direction."""

    direction: str
    """`up`: from this host to the other; `down`: back."""
    goodput_bps: float
    """Payload, after the first fifth of the run."""
    rtt_idle_s: float
    """Least round trip of three TCP handshakes before the flow."""
    rtt_loaded_s: float
    """Median of the flow's own smoothed round trips."""
    queue_delay_up_idle_p95_s: float
    """Wait in queues to the other host before the flow began, not exceeded by 95 of 100 probes; NaN where none came through."""
    queue_delay_up_p95_s: float
    """Wait in queues to the other host under load, not exceeded by 95 of 100 probes."""
    queue_delay_down_idle_p95_s: float
    """Wait in queues from the other host before the flow began, not exceeded by 95 of 100 probes."""
    queue_delay_down_p95_s: float
    """Wait in queues from the other host under load, not exceeded by 95 of 100 probes."""
    responsiveness_rpm: float
    """Round trips per minute under load: 60 s over the mean of the flow's smoothed round trips."""
    retransmission_rate: float
    """Share of the payload sent; 0 to 1."""
    tcp_efficiency: float
    """Share of the payload sent that was no retransmission; 0 to 1 (RFC 6349 section 4)."""
    buffer_delay: float
    """Mean round trip under load over the idle one, less 1 (RFC 6349 section 4)."""
    transfer_time_ratio: float
    """Time of the transfer over its time at the rate of the full path (RFC 6349 section 4); NaN where the flow did not fill the path."""
    limited_by: str
    """Cause that limited it: the verdict of the run on its flow."""
    limited_by_confidence: float
    """Confidence in that cause; 0 to 1."""
    window_bytes: int
    """Bytes that fill the path at this rate and idle round trip."""
    verdict: str
    reasons: tuple[str, ...]

    @property
    def change(self) -> str:
        """Change to try, and its host."""
        return limit.change(self.limited_by, self.direction, self.window_bytes)


def measure_command(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="Address of a `longfat serve`, with :PORT unless it is 5277; or iperf3://HOST:PORT.")
    ],
    key: Annotated[str | None, typer.Option("--key", metavar="NAME", help="Key of the server; without one it must be open.")] = None,
    seconds: Annotated[int, typer.Option(min=2, max=3600, help="Duration of each direction.")] = 10,
    control: Annotated[str | None, typer.Option("--control", metavar="NAME", help="Congestion control; else the one in force at the sender.")] = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the path as an experiment, and simulate it beside what was measured."),
    ] = None,
    to_flent: Annotated[
        Path | None,
        typer.Option("--flent", metavar="FILE.flent.gz", help="Write FILE-up.flent.gz and FILE-down.flent.gz, for Flent's plots."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_stream: Annotated[
        bool, typer.Option("--json-stream", help="Print the events of `iperf3 --json-stream`, each direction when it has ended.")
    ] = False,
    only: Annotated[Literal["up", "down"] | None, typer.Option("--direction", help="Measure this direction alone.")] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="TIME", help="Measure again and again, so far apart, such as 1h, and keep the history.")
    ] = None,
    kept: Annotated[
        Path | None, typer.Option("--history", metavar="FILE.jsonl", help="Add the measurement to this history, and draw FILE.html.")
    ] = None,
) -> None:
    """Measure TCP each way to a host that runs `longfat serve`: rate, delay, what limits it, and what to change."""
    if host.startswith(stamp.SCHEME):
        raise LongfatError(f"{host}: STAMP has no TCP. help: `longfat probe {host}`")
    if host.startswith(iperf.SCHEME):
        options = {"--key": key, "--out": to, "--flent": to_flent, "--json-stream": as_stream, "--every": every, "--history": kept}
        for option, value in options.items():
            if value:
                raise LongfatError(f"{option}: needs `longfat serve` at the other end, and {host} is iperf3")
        _measure_iperf(host, seconds, control, only, as_json)
        return
    if to and (to.suffix != ".toml" or not to.absolute().parent.is_dir()):
        raise LongfatError(f"--out {to}: expected a name that ends in .toml, in a folder that is there")
    if to_flent and (not to_flent.name.endswith(flent.SUFFIX) or not to_flent.absolute().parent.is_dir()):
        raise LongfatError(f"--flent {to_flent}: expected a name that ends in {flent.SUFFIX}, in a folder that is there")
    if as_json and as_stream:
        raise LongfatError("--json and --json-stream: expected one of them")
    if every or kept:
        if to or to_flent or as_json or as_stream:
            raise LongfatError("--every and --history keep measurements: leave out --out, --flent, --json and --json-stream")
        file = kept or history.name_of(host)
        history.check(file)
        _keep(host, key, seconds, control, DIRECTIONS if only is None else (only,), file, _seconds(every) if every else None)
        return
    if to and only:
        raise LongfatError(f"--out {to}: needs both directions: leave out --direction")
    looked = survey(host, key) if to else None
    made: dict[str, Result] = {}
    failed: LongfatError | None = None
    for direction in DIRECTIONS if only is None else (only,):
        begun = datetime.datetime.now(datetime.UTC)
        try:
            made[direction] = _run(host, direction, key, seconds, control)
        except LongfatError as error:
            if as_stream:
                print(stream.failed(str(error)), flush=True)
                raise
            if isinstance(error, LostError):
                made[direction] = error.result
            if not made:
                raise
            failed = LongfatError(f"the measurement is not whole: {error}")
            break
        if as_stream:
            for event in stream.lines(made[direction], direction, host, begun):
                print(event, flush=True)
        if to_flent:
            _write_flent(flent.names(to_flent)[direction], made[direction], direction, host, begun)
    ways = [_way(direction, result) for direction, result in made.items()]
    unknown: list[str] = []
    if to and not failed:
        path = seen(host, f"{datetime.datetime.now():%Y-%m-%d %H:%M}", facts(made["up"], "up"), facts(made["down"], "down"), looked)
        unknown = path.unknown
        try:
            to.write_text(path.text, encoding="utf-8")
        except OSError as error:
            raise LongfatError(f"{to} cannot be written: {error.strerror}") from error
    if as_stream:
        return
    if as_json:
        print(json.dumps({"host": host, "seconds": seconds, **{way.direction: _plain(way) for way in ways}}, indent=2))
        if failed:
            raise failed
        return
    out.print(f"One flow {only or 'each way'}, {seconds} s, to {terminal.escape(host)}:", soft_wrap=True)
    for way in ways:
        out.print(f"  {way.direction:4} {line(way)}", soft_wrap=True, highlight=False)
        out.print(
            terminal.escape(f"       limited by: {way.limited_by}, {limit.sure(way.limited_by_confidence)}"),
            soft_wrap=True,
            highlight=False,
        )
        out.print(terminal.escape(f"       to change: {way.change}"), soft_wrap=True, highlight=False)
        out.print(f"       {queues(way)}", soft_wrap=True, highlight=False)
        out.print(f"       {shares(way)}", soft_wrap=True, highlight=False)
    for way in ways:
        for reason in way.reasons:
            err.print(f"  {way.direction}: {terminal.escape(reason)} ({way.verdict})", soft_wrap=True)
    if failed:
        raise failed
    if to:
        for said in _written(to, unknown, ways):
            out.print(terminal.escape(said), soft_wrap=True, highlight=False)


def _seconds(every: str) -> float:
    found = quantity(re.sub(r"(?<=\d)(?=[a-z])", " ", every))
    if found is None or found[1] != "s" or found[0] < 1:
        raise LongfatError(f"--every {every}: expected a time, such as 10min or 1h")
    return found[0]


def _keep(host: str, key: str | None, seconds: int, control: str | None, ways: Sequence[str], file: Path, every_s: float | None) -> None:
    """Measures once, or every so often until Ctrl-C, and keeps the history."""
    try:
        _kept(host, key, seconds, control, ways, file, every_s)
    except KeyboardInterrupt:
        page = history.write_page(file, host)
        raise Stopped(f"Stopped: {count(len(history.read(file)), 'measurement')} kept in {file}, and drawn in {page}") from None


def _kept(host: str, key: str | None, seconds: int, control: str | None, ways: Sequence[str], file: Path, every_s: float | None) -> None:
    due = time.monotonic()
    while True:
        record, failed, is_stopped = _measured(host, key, seconds, control, ways)
        if any(way in record for way in DIRECTIONS) or failed:
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
    host: str, key: str | None, seconds: int, control: str | None, ways: Sequence[str]
) -> tuple[history.Record, LongfatError | None, bool]:
    """One measurement of these directions; why it failed, and whether Ctrl-C ended it."""
    record: history.Record = {"time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "host": host, "seconds": seconds}
    try:
        for direction in ways:
            lost = None
            try:
                result = _run(host, direction, key, seconds, control)
            except LostError as error:
                result, lost = error.result, error
            record[direction] = _plain(_way(direction, result))
            record.setdefault("path", history.path_of(result))
            if lost:
                return record | {"error": str(lost)}, lost, False
            if result.real_time["cut_by"]:
                return record, None, True
    except KeyboardInterrupt:
        return record, None, True
    except LongfatError as error:
        return record | {"error": str(error)}, error, False
    return record, None, False


def _measure_iperf(host: str, seconds: int, control: str | None, only: Literal["up", "down"] | None, as_json: bool) -> None:
    """Measures against a server of iperf3. LongfatError where it is not there, or was lost: then the rest has been printed."""
    made: list[iperf.Transfer] = []
    failed: str | None = None
    for direction in DIRECTIONS if only is None else (only,):
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
        found = {way.direction: _no_nan(asdict(way)) for way in made}
        print(json.dumps({"host": host, "seconds": seconds, **found, "lost": failed}, indent=2))
    else:
        out.print(f"One flow {only or 'each way'}, {seconds} s, to {terminal.escape(host)}:", soft_wrap=True)
        for way in made:
            out.print(f"  {way.direction:4} {terminal.escape(iperf.line(way))}", soft_wrap=True, highlight=False)
        out.print(terminal.escape(iperf.UNKNOWN), soft_wrap=True, highlight=False)
    if failed:
        raise LongfatError(f"the measurement is not whole: {failed}")


def _write_flent(file: Path, result: Result, direction: str, host: str, begun: datetime.datetime) -> None:
    try:
        flent.write(file, result, direction, host, begun)
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def _written(file: Path, unknown: list[str], ways: list[Way]) -> list[str]:
    """Sentences about the file of the path: its unknowns, and a simulation beside the measurement, at both ends of what is unknown."""
    said = [f"{file}: the path, without what this does not decide:", *(f"  {one}" for one in unknown)] if unknown else []
    runs = [
        {run.labels["direction"]: run.flows.iloc[0] for run in Experiment(text).sweep()} for text in ends(file.read_text(encoding="utf-8"))
    ]
    at = "" if len(runs) == 1 else ", with the unknown at its least and at its most"
    said.append(f"{file}: the path as an experiment. Measured, and simulated over it{at}:")
    for way in ways:
        flows = [run[way.direction] for run in runs]

        def joined(values: list[float], digits: int) -> str:
            return " to ".join(dict.fromkeys(f"{value:,.{digits}f}" for value in values))

        said.append(
            f"  {way.direction:4} {way.goodput_bps / 1e6:,.1f} and {joined([flow['goodput_bps'] / 1e6 for flow in flows], 1)} Mbit/s; "
            f"RTT under load {1e3 * way.rtt_loaded_s:.1f} and {joined([1e3 * flow['rtt_p50_s'] for flow in flows], 1)} ms; "
            f"retransmitted {100 * way.retransmission_rate:.3f} and {joined([100 * _retransmitted(flow) for flow in flows], 3)} %"
        )
    return said


def measure(host: str, direction: str, key: str | None, seconds: float) -> Way:
    """One flow `up` to `host` or `down` from it. LongfatError where the server is not there, or says no."""
    return _way(direction, _run(host, direction, key, seconds))


def _run(host: str, direction: str, key: str | None, seconds: float, control: str | None = None) -> Result:
    ends = ("here", "there") if direction == "up" else ("there", "here")
    return Experiment(_file(host, key, ends, seconds, control or controls.own(host, key)[direction])).run()


def _file(host: str, key: str | None, ends: tuple[str, str], seconds: float, control: str | None) -> str:
    # A string of JSON is one of TOML.
    named = f"key = {json.dumps(key)}" if key else ""
    controlled = f"congestion_control = {json.dumps(control)}" if control else ""
    return f"""
        backend = "live"
        [[live.host]]
        name = "here"
        at = "local"
        [[live.host]]
        name = "there"
        at = {json.dumps(host)}
        {named}
        [[flow]]
        name = "flow"
        stack = "linux"
        from = "{ends[0]}"
        to = "{ends[1]}"
        {controlled}
        [measure]
        duration = "{seconds} s"
        warmup = "{seconds / 5} s"
        interval = "100 ms"
    """


def _way(direction: str, result: Result) -> Way:
    flow = result.flows.iloc[0]
    idle = result.real_time["base_rtt_before_s"] or math.nan
    reasons = tuple(warning.text for warning in result.warnings if warning.name in ("suspect", "invalid"))
    goodput = float(flow["goodput_bps"])
    delays = {name: result.metrics.get(name, math.nan) for name in QUEUES}
    return Way(
        direction=direction,
        goodput_bps=goodput,
        rtt_idle_s=idle,
        rtt_loaded_s=float(flow["rtt_p50_s"]),
        **delays,
        responsiveness_rpm=result.metrics.get("responsiveness_rpm", math.nan),
        retransmission_rate=_retransmitted(flow),
        tcp_efficiency=1 - _retransmitted(flow),
        buffer_delay=float(flow["rtt_mean_s"]) / idle - 1,
        transfer_time_ratio=_transfer_time_ratio(float(flow["bytes_delivered"]), facts(result, direction)),
        limited_by=str(flow["limited_by"]),
        limited_by_confidence=float(flow["limited_by_confidence"]) + 0.0,
        window_bytes=0 if math.isnan(idle) else round(goodput * idle / 8),
        verdict=result.verdict or "",
        reasons=reasons,
    )


def _retransmitted(flow: Any) -> float:
    """Share of the bytes sent, slow start with it; NaN where the sender was lost."""
    sent = float(flow["bytes_sent"])
    return float(flow["bytes_retransmitted"]) / sent if sent else math.nan


def _transfer_time_ratio(delivered: float, facts: Facts) -> float:
    """Time of the whole flow over the time that its bytes take at the rate of the path; NaN where the flow did not fill it."""
    ideal = facts.rate_bps * (MTU - HEADERS) / MTU
    return ideal * facts.duration_s / (8 * delivered) if facts.fills and delivered else math.nan


def shares(way: Way) -> str:
    """The first screen's line with the three numbers of RFC 6349."""
    ratio = "unknown: the flow did not fill the path" if math.isnan(way.transfer_time_ratio) else f"{way.transfer_time_ratio:.3f}"
    delay = "unknown" if math.isnan(way.buffer_delay) else f"{100 * way.buffer_delay:.1f} %"
    efficiency = "unknown" if math.isnan(way.tcp_efficiency) else f"{100 * way.tcp_efficiency:.3f} %"
    return f"RFC 6349: efficiency {efficiency}; buffer delay {delay}; transfer time ratio {ratio}"


def line(way: Way) -> str:
    """The first screen's line about one direction."""

    def known(value: float, text: str) -> str:
        return "unknown" if math.isnan(value) else text

    parts = [
        f"{way.goodput_bps / 1e6:,.1f} Mbit/s",
        f"RTT {1e3 * way.rtt_idle_s:.1f} ms idle, {known(way.rtt_loaded_s, f'{1e3 * way.rtt_loaded_s:.1f} ms')} under load",
        f"{known(way.retransmission_rate, f'{100 * way.retransmission_rate:.3f} %')} retransmitted",
    ]
    return "; ".join(parts)


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
    return f"queueing delay (95 of 100 probes) {up}; {down}; {way.responsiveness_rpm:,.0f} round trips per minute"


def _plain(way: Way) -> dict[str, object]:
    """A way as JSON has it: null for what is not known."""
    return {**_no_nan(asdict(way)), "change": way.change}


def _no_nan(values: dict[str, Any]) -> dict[str, object]:
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}
