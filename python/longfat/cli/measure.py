"""The command `longfat measure`: TCP each way to a server, what limited it, and what to change."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.live import flent, limit, stream
from longfat.live.seen import HEADERS, MTU, Facts, facts, seen
from longfat.report import terminal
from longfat.results import Result

out = terminal.console()
err = terminal.console(stderr=True)

QUEUES = ("queue_delay_up_idle_p95_s", "queue_delay_up_p95_s", "queue_delay_down_idle_p95_s", "queue_delay_down_p95_s")
DIRECTIONS = ("up", "down")


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
    host: Annotated[str, typer.Argument(metavar="HOST", help="Address of a `longfat serve`, with :PORT unless it is 5277.")],
    key: Annotated[str | None, typer.Option("--key", metavar="NAME", help="Key of the server; without one it must be open.")] = None,
    seconds: Annotated[int, typer.Option(min=2, max=3600, help="Duration of each direction.")] = 10,
    control: Annotated[str | None, typer.Option("--control", metavar="NAME", help="Congestion control; else the sender's own.")] = None,
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
) -> None:
    """Measure TCP each way to a host that runs `longfat serve`: rate, delay, what limits it, and what to change."""
    if to and (to.suffix != ".toml" or not to.absolute().parent.is_dir()):
        raise LongfatError(f"--out {to}: expected a name that ends in .toml, in a folder that is there")
    if to_flent and (not to_flent.name.endswith(flent.SUFFIX) or not to_flent.absolute().parent.is_dir()):
        raise LongfatError(f"--flent {to_flent}: expected a name that ends in {flent.SUFFIX}, in a folder that is there")
    if as_json and as_stream:
        raise LongfatError("--json and --json-stream: expected one of them")
    if to and only:
        raise LongfatError(f"--out {to}: needs both directions: leave out --direction")
    made: dict[str, Result] = {}
    for direction in DIRECTIONS if only is None else (only,):
        begun = datetime.datetime.now(datetime.UTC)
        try:
            made[direction] = _run(host, direction, key, seconds, control)
        except LongfatError as error:
            if as_stream:
                print(stream.failed(str(error)), flush=True)
            raise
        if as_stream:
            for event in stream.lines(made[direction], direction, host, begun):
                print(event, flush=True)
        if to_flent:
            _write_flent(flent.names(to_flent)[direction], made[direction], direction, host, begun)
    ways = [_way(direction, result) for direction, result in made.items()]
    unknown: list[str] = []
    if to:
        path = seen(host, f"{datetime.datetime.now():%Y-%m-%d %H:%M}", *(facts(result, direction) for direction, result in made.items()))
        unknown = path.unknown
        try:
            to.write_text(path.text, encoding="utf-8")
        except OSError as error:
            raise LongfatError(f"{to} cannot be written: {error.strerror}") from error
    if as_stream:
        return
    if as_json:
        print(json.dumps({"host": host, "seconds": seconds, **{way.direction: _plain(way) for way in ways}}, indent=2))
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
    if to:
        for said in _written(to, unknown, ways):
            out.print(terminal.escape(said), soft_wrap=True, highlight=False)


def _write_flent(file: Path, result: Result, direction: str, host: str, begun: datetime.datetime) -> None:
    try:
        flent.write(file, result, direction, host, begun)
    except OSError as error:
        raise LongfatError(f"{file} cannot be written: {error.strerror}") from error


def _written(file: Path, unknown: list[str], ways: list[Way]) -> list[str]:
    """Sentences about the file of the path: its unknowns, or with none a simulation of it beside the measurement."""
    if unknown:
        return [f"{file}: the path, without what one flow each way does not decide:", *(f"  {one}" for one in unknown)]
    runs = {run.labels["direction"]: run.flows.iloc[0] for run in Experiment(file.read_text(encoding="utf-8")).sweep()}
    lines = [f"{file}: the path as an experiment. Measured, and simulated over it:"]
    for way in ways:
        flow = runs[way.direction]
        lines.append(
            f"  {way.direction:4} {way.goodput_bps / 1e6:,.1f} and {flow['goodput_bps'] / 1e6:,.1f} Mbit/s; RTT under load "
            f"{1e3 * way.rtt_loaded_s:.1f} and {1e3 * flow['rtt_p50_s']:.1f} ms; retransmitted "
            f"{100 * way.retransmission_rate:.3f} and {100 * _retransmitted(flow):.3f} %"
        )
    return lines


def measure(host: str, direction: str, key: str | None, seconds: float) -> Way:
    """One flow `up` to `host` or `down` from it. LongfatError where the server is not there, or says no."""
    return _way(direction, _run(host, direction, key, seconds))


def _run(host: str, direction: str, key: str | None, seconds: float, control: str | None = None) -> Result:
    ends = ("here", "there") if direction == "up" else ("there", "here")
    return Experiment(_file(host, key, ends, seconds, control)).run()


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
        responsiveness_rpm=result.metrics["responsiveness_rpm"],
        retransmission_rate=_retransmitted(flow),
        tcp_efficiency=1 - _retransmitted(flow),
        buffer_delay=float(flow["rtt_mean_s"]) / idle - 1,
        transfer_time_ratio=_transfer_time_ratio(float(flow["bytes_delivered"]), facts(result, direction)),
        limited_by=str(flow["limited_by"]),
        limited_by_confidence=float(flow["limited_by_confidence"]),
        window_bytes=0 if math.isnan(idle) else round(goodput * idle / 8),
        verdict=result.verdict or "",
        reasons=reasons,
    )


def _retransmitted(flow: Any) -> float:
    """Share of the bytes sent, slow start with it."""
    return float(flow["bytes_retransmitted"]) / max(float(flow["bytes_sent"]), 1.0)


def _transfer_time_ratio(delivered: float, facts: Facts) -> float:
    """Time of the whole flow over the time that its bytes take at the rate of the path; NaN where the flow did not fill it."""
    ideal = facts.rate_bps * (MTU - HEADERS) / MTU
    return ideal * facts.duration_s / (8 * delivered) if facts.fills and delivered else math.nan


def shares(way: Way) -> str:
    """The first screen's line with the three numbers of RFC 6349."""
    ratio = "unknown: the flow did not fill the path" if math.isnan(way.transfer_time_ratio) else f"{way.transfer_time_ratio:.3f}"
    delay = "unknown" if math.isnan(way.buffer_delay) else f"{100 * way.buffer_delay:.1f} %"
    return f"RFC 6349: efficiency {100 * way.tcp_efficiency:.3f} %; buffer delay {delay}; transfer time ratio {ratio}"


def line(way: Way) -> str:
    """The first screen's line about one direction."""
    parts = [
        f"{way.goodput_bps / 1e6:,.1f} Mbit/s",
        f"RTT {1e3 * way.rtt_idle_s:.1f} ms idle, {1e3 * way.rtt_loaded_s:.1f} ms under load",
        f"{100 * way.retransmission_rate:.3f} % retransmitted",
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
    plain = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in asdict(way).items()}
    return {**plain, "change": way.change}
