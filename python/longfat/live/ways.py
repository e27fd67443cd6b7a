"""Flows up, down and both at once between this host and a server: their runs, and the numbers of each direction."""

# pandas leaves the type of cells open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from longfat.errors import LostError
from longfat.experiment import Experiment
from longfat.live import controls, limit
from longfat.results.result import Result, changed
from longfat.sweep.work import Watch, execute

Direction = Literal["up", "down"]
DIRECTIONS: tuple[Direction, Direction] = ("up", "down")
BOTH = "both"
PHASES = (*DIRECTIONS, BOTH)
"""Runs of a measurement, one after the other: a flow up, a flow down, and both at once."""
AROUND_S = 8.0
"""Time of a run beyond its flows: probes before and after, routers and MTU. It only moves the progress bar."""
QUEUES = ("queue_delay_up_idle_p95_s", "queue_delay_up_p95_s", "queue_delay_down_idle_p95_s", "queue_delay_down_p95_s")
Tick = Callable[[float], object]


@dataclass(frozen=True)
class Way:
    """One flow in one direction."""

    direction: str
    """`up`: from this host to the other; `down`: back."""
    goodput_bps: float
    """Payload, after the first fifth of the run; NaN where it was stopped before."""
    rtt_idle_s: float
    """Least round trip of three TCP handshakes before the flow."""
    rtt_loaded_s: float
    """Median of the flow's own smoothed round trips."""
    one_way_delay_most_s: float
    """Delay of one direction without queues is from 0 to this, the idle round trip: the two clocks are not compared."""
    queue_delay_up_idle_p95_s: float
    """Wait in queues to the other host before the flow began, not exceeded by 95 of 100 probes; NaN where none came through."""
    queue_delay_up_p95_s: float
    """Wait in queues to the other host under load, not exceeded by 95 of 100 probes."""
    queue_delay_down_idle_p95_s: float
    """Wait in queues from the other host before the flow began, not exceeded by 95 of 100 probes."""
    queue_delay_down_p95_s: float
    """Wait in queues from the other host under load, not exceeded by 95 of 100 probes."""
    loaded_rtt_per_minute: float
    """60 s over the mean of the flow's smoothed round trips. It is not the RPM of draft-ietf-ippm-responsiveness."""
    retransmission_rate: float
    """Share of the payload sent; 0 to 1."""
    tcp_efficiency: float
    """Share of the payload sent that was no retransmission; 0 to 1 (RFC 6349 section 4.2)."""
    buffer_delay: float
    """Mean round trip under load over the idle one, less 1 (RFC 6349 section 4.3)."""
    transfer_time_ratio: float
    """Time of the transfer over its time at the rate of the full path (RFC 6349 section 4.1); NaN where the flow did not fill the path."""
    limited_by: str
    """Cause that limited it: the verdict of the run on its flow."""
    limited_by_confidence: float
    """Confidence in that cause; 0 to 1. It is lower where a capture names another."""
    limited_by_at_sender: str
    """Cause by the packets captured at the sender; empty where none were."""
    limited_by_at_sender_confidence: float
    """Confidence in that cause; 0 to 1."""
    limited_by_at_receiver: str
    """Cause by the packets captured at the receiver; empty where none were."""
    limited_by_at_receiver_confidence: float
    """Confidence in that cause; 0 to 1."""
    window_bytes: int
    """Bytes that fill the path at this rate and idle round trip."""
    verdict: str
    reasons: tuple[str, ...]
    not_captured: tuple[str, ...]
    """Why a capture is missing, or not whole."""

    @property
    def change(self) -> str:
        """Change to try, and its host."""
        return limit.change(self.limited_by, self.direction, self.window_bytes)


def run(
    host: str,
    phase: str,
    key: str | None,
    seconds: float,
    control: str | None = None,
    tick: Tick = lambda share: None,
    watch: Watch | None = None,
    *,
    capture: bool = False,
) -> tuple[dict[str, Result], LostError | None]:
    """Results of one phase by direction, each as of a run with its flow alone. `tick` hears the share that is done.

    `watch` hears the flows at this host (`Run.execute`). With `capture` both hosts capture the flows' headers. Where the far host was lost,
    results are of the time until then, with the error. LongfatError where the server is not there, or says no.
    """
    directions = DIRECTIONS if phase == BOTH else (phase,)
    lost = None
    try:
        result = execute(Experiment(_file(host, key, directions, seconds, control, capture=capture)).resolve(0), "", tick, watch)[0]
    except LostError as error:
        result, lost = error.result, error
    return {direction: _of_flow(result, number) for number, direction in enumerate(directions)}, lost


def whole(host: str, direction: str, key: str | None, seconds: float, tick: Tick = lambda share: None) -> Result:
    """Result of a flow in one direction. LongfatError where the server is not there, says no, or is lost."""
    results, lost = run(host, direction, key, seconds, tick=tick)
    if lost:
        raise lost
    return results[direction]


def _of_flow(result: Result, number: int) -> Result:
    """The run as it is for one of its flows: the rows of others are left out."""
    if len(result.flows) == 1:
        return result
    series, samples = result.flow_series, result.tcp_info
    return changed(
        result,
        flows=result.flows.iloc[[number]],
        flow_series=series[series["flow"] == number],
        tcp_info=samples[samples["flow"] == number],
    )


def _file(host: str, key: str | None, directions: tuple[str, ...], seconds: float, control: str | None, *, capture: bool) -> str:
    # A string of JSON is one of TOML.
    named = f"key = {json.dumps(key)}" if key else ""
    flows = "".join(_flow(direction, control or controls.own(host, key)[direction]) for direction in directions)
    return f"""
        backend = "live"
        [live]
        capture = {json.dumps(capture)}
        [[live.host]]
        name = "here"
        at = "local"
        [[live.host]]
        name = "there"
        at = {json.dumps(host)}
        {named}
        {flows}
        [measure]
        duration = "{seconds} s"
        warmup = "{seconds / 5} s"
        interval = "100 ms"
    """


def _flow(direction: str, control: str | None) -> str:
    sender, receiver = ("here", "there") if direction == "up" else ("there", "here")
    return f"""
        [[flow]]
        name = "{direction}"
        stack = "linux"
        from = "{sender}"
        to = "{receiver}"
        {controls.line(control)}
    """


def way(direction: str, result: Result) -> Way:
    """Numbers of the flow in this direction."""
    flow = result.flows.iloc[0]
    idle = result.real_time["base_rtt_before_s"] or math.nan
    reasons = tuple(warning.text for warning in result.warnings if warning.name in ("suspect", "invalid"))
    goodput, loaded = float(flow["goodput_bps"]), float(flow["rtt_mean_s"])
    # A run that was stopped in its warmup has no goodput.
    window = goodput * idle / 8

    def metric(name: str) -> float:
        return result.metrics.get(name, math.nan)

    def seen(end: str) -> tuple[str, float]:
        cause = str(flow.get(f"limited_by_at_{end}", ""))
        return cause, float(flow[f"limited_by_at_{end}_confidence"]) + 0.0 if cause else math.nan

    (at_sender, sure_at_sender), (at_receiver, sure_at_receiver) = seen("sender"), seen("receiver")
    return Way(
        direction=direction,
        goodput_bps=goodput,
        rtt_idle_s=idle,
        rtt_loaded_s=float(flow["rtt_p50_s"]),
        one_way_delay_most_s=idle,
        **{name: metric(name) for name in QUEUES},
        loaded_rtt_per_minute=60 / loaded if loaded > 0 else math.nan,
        retransmission_rate=retransmitted(flow),
        tcp_efficiency=metric(f"tcp_efficiency_{direction}"),
        buffer_delay=metric(f"buffer_delay_{direction}"),
        transfer_time_ratio=metric(f"transfer_time_ratio_{direction}"),
        limited_by=str(flow["limited_by"]),
        limited_by_confidence=float(flow["limited_by_confidence"]) + 0.0,
        limited_by_at_sender=at_sender,
        limited_by_at_sender_confidence=sure_at_sender,
        limited_by_at_receiver=at_receiver,
        limited_by_at_receiver_confidence=sure_at_receiver,
        window_bytes=0 if math.isnan(window) else round(window),
        verdict=result.verdict or "",
        reasons=reasons,
        not_captured=tuple(warning.text for warning in result.warnings if warning.name == "not_captured"),
    )


def retransmitted(flow: Any) -> float:
    """Share of the bytes sent, slow start with it; NaN where the sender was lost."""
    sent = float(flow["bytes_sent"])
    return float(flow["bytes_retransmitted"]) / sent if sent else math.nan
