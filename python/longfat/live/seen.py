"""A measured path as an experiment: each value with its origin. A value that the measurement does not decide is `unknown`."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from longfat.lazy import np
from longfat.results import Result

MTU, HEADERS = 1500, 52
"""Bytes of a packet, as most paths have it, and of IPv4 and TCP with timestamps in it (RFC 791, RFC 9293, RFC 7323)."""
STANDS_S = 1e-3
"""Wait of probes under load from which a queue stood: hosts and idle links add less."""
WINDOW_S, BUSY = 0.5, 0.9
"""Windows of rates: this long, or five round trips. While the queue stands the link is busy, with the 90th percentile of them."""
FASTEST, LONGEST_S = 10, 1.0
"""Ranges of values that are not decided: the rate up to so many times the goodput, the buffer up to this delay."""


@dataclass(frozen=True)
class Facts:
    """Measurements of one flow in one direction."""

    duration_s: float
    rates_bps: Sequence[float]
    """Payload that arrived, in each window after the warmup."""
    rtt_s: float
    """Least round trip of handshakes and of the flow."""
    idle_p95_s: float
    """Wait of probes in this direction before the flow, not exceeded by 95 of 100; NaN without probes."""
    loaded_p95_s: float
    """Wait under load, not exceeded by 95 of 100 probes."""
    loaded_p99_s: float
    retransmitted_bytes: float
    """After the warmup: start-up may fill a buffer for a moment that probes miss."""
    is_held: bool
    """True if a window or a buffer of a host held the flow for most of its time."""
    in_flight_bytes: float
    """Most in flight."""
    control: str

    @property
    def fills(self) -> bool:
        """True if the flow filled the path: its congestion window was the limit, and a queue stood."""
        return not self.is_held and self.loaded_p95_s >= max(STANDS_S, 3 * self.idle_p95_s)

    @property
    def rate_bps(self) -> float:
        """Rate of IP packets while the queue stood."""
        return float(np.quantile(self.rates_bps, BUSY)) * MTU / (MTU - HEADERS)


@dataclass(frozen=True)
class Seen:
    """The path, and how much of it is known."""

    text: str
    """An experiment of two runs, `up` and `down`; with unknowns, one for `longfat fit`."""
    unknown: list[str]
    """Values that the measurement does not decide, with the reason."""


def facts(result: Result, direction: str) -> Facts:
    """Facts of a run with one flow `up` or `down`, whose series has ten samples per second."""
    flow = result.flows.iloc[0]
    rtt = min(float(flow["rtt_min_s"]), result.real_time["base_rtt_before_s"] or math.inf)
    series = result.series.sort_values("time_s")
    series = series[series["time_s"] >= result.end_s / 5]
    times, arrived = series["time_s"].to_numpy(), series["bytes_arrived"].to_numpy()
    at = np.arange(len(times))
    end = np.searchsorted(times, times + max(WINDOW_S, 5 * rtt))
    at, end = at[end < len(times)], end[end < len(times)]
    rates = [float(rate) for rate in 8 * (arrived[end] - arrived[at]) / (times[end] - times[at])]
    retransmitted = series["bytes_retransmitted"]

    def metric(name: str) -> float:
        return result.metrics.get(f"queue_delay_{direction}_{name}_s", math.nan)

    held = float(flow["rwnd_limited_s"]) + float(flow["sndbuf_limited_s"])
    return Facts(
        duration_s=result.end_s,
        rates_bps=rates or [float(flow["goodput_bps"])],
        rtt_s=rtt,
        idle_p95_s=metric("idle_p95"),
        loaded_p95_s=metric("p95"),
        loaded_p99_s=metric("p99"),
        retransmitted_bytes=float(retransmitted.iloc[-1] - retransmitted.iloc[0]) if len(retransmitted) else 0.0,
        is_held=held > float(flow["cwnd_limited_s"]),
        in_flight_bytes=float(flow["in_flight_max_bytes"]),
        control=str(flow["congestion_control"]),
    )


def seen(host: str, when: str, up: Facts, down: Facts) -> Seen:
    """The path to `host` as two flows showed it `when`."""
    unknown: list[str] = []
    trip = min(up.rtt_s, down.rtt_s)
    there, back = (_direction(name, one, unknown) for name, one in (("up", up), ("down", down)))
    reverse = "\n".join(f"reverse.{line}" if line[0] != "#" else line for line in back)
    windows = "".join(
        f"# {name}: a host held the flow at {one.in_flight_bytes:.0f} bytes in flight.\n"
        for name, one in (("up", up), ("down", down))
        if one.is_held
    )
    window = _by_direction("window", *(f"{max(one.in_flight_bytes * (1 if one.is_held else 2), 65536):.0f} bytes" for one in (up, down)))
    text = f"""title = {json.dumps(f"Path to {host}, measured {when}")}

[path]
preset = "dumbbell"
# Least round trip of handshakes and flows.
rtt = "{_us(trip)}"

[path.bottleneck]
{chr(10).join(there)}
{reverse}

[[flow]]
name = "flow"
stack = "linux"
{_by_direction("from", "left1", "right1")}
{_by_direction("to", "right1", "left1")}
{_by_direction("congestion_control", up.control, down.control)}
{windows}# Twice what was in flight at most, unless a host held it there.
{window}

[measure]
duration = "{up.duration_s:g} s"
warmup = "{up.duration_s / 5:g} s"
"""
    return Seen(text, unknown)


def _direction(name: str, facts: Facts, unknown: list[str]) -> list[str]:
    """Lines of a link's direction, and comments; what is not known is added to `unknown`."""
    rate = facts.rate_bps
    if not facts.fills:
        why = (
            "a window or a buffer of a host held the flow"
            if facts.is_held
            else "no probe came through"
            if math.isnan(facts.loaded_p95_s)
            else "no queue stood under load"
        )
        unknown += [f"rate {name}: {why}", f"buffer {name}: {why}"]
        most = f"{math.ceil(FASTEST * rate * LONGEST_S / 8)} bytes"
        return [
            f"# {name}: {why}, so the rate is at least that of its goodput with headers, and the buffer is not known.",
            f'rate = {{ name = "rate {name}", unknown = ["{_bits(rate)}", "{_bits(FASTEST * rate)}"] }}',
            _queue(f'{{ name = "buffer {name}", unknown = ["{4 * MTU} bytes", "{most}"] }}'),
        ]
    low, high = (float(np.quantile(facts.rates_bps, part)) * MTU / (MTU - HEADERS) for part in (0.5, 1))
    lines = [
        f"# {name}: 90th percentile of what arrived in half a second, with headers, packets of {MTU} bytes; "
        f"median {_bits(low)}, most {_bits(high)}.",
        f'rate = "{_bits(rate)}"',
    ]
    held = facts.loaded_p99_s * rate / 8
    if facts.retransmitted_bytes:
        return [
            *lines,
            f"# {name}: 99 of 100 probes waited up to {1e3 * facts.loaded_p99_s:.1f} ms, 95 up to {1e3 * facts.loaded_p95_s:.1f} ms; "
            "losses show that it was full.",
            _queue(f'"{held:.0f} bytes"'),
        ]
    unknown.append(f"buffer {name}: nothing was lost, so it was never seen full")
    return [
        *lines,
        f"# {name}: it held {held:.0f} bytes, and nothing was lost: it is at least that.",
        _queue(f'{{ name = "buffer {name}", unknown = ["{held:.0f} bytes", "{rate * LONGEST_S / 8:.0f} bytes"] }}'),
    ]


def _queue(limit: str) -> str:
    return f'queue = {{ kind = "droptail", limit = {limit} }}'


def _by_direction(key: str, up: str, down: str) -> str:
    """A key with a value for each direction."""
    values = ", ".join(f'{{ label = "{label}", value = {json.dumps(value)} }}' for label, value in (("up", up), ("down", down)))
    return f'{key} = {{ name = "direction", zip = "direction", sweep = [{values}] }}'


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} us"


def _bits(rate: float) -> str:
    return f"{rate / 1e3:.0f} kbit/s"
