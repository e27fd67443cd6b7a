"""A measured path as an experiment: each value with its origin. A value that the measurement does not decide is `unknown`."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from longfat.lazy import np
from longfat.live.survey import Direction, Survey
from longfat.results import Result

MTU, HEADERS = 1500, 52
"""Bytes of a packet, as most paths have it, and of IPv4 and TCP with timestamps in it (RFC 791, RFC 9293, RFC 7323)."""
STANDS_S = 1e-3
"""Wait of probes under load from which a queue stood: hosts and idle links add less."""
WINDOW_S, BUSY = 0.5, 0.9
"""Windows of rates: this long, or five round trips. While the queue stands the link is busy, with the 90th percentile of them."""
FASTEST, LONGEST_S = 10, 1.0
"""Ranges of values that are not decided: the rate up to so many times the goodput, the buffer up to this delay."""
POLICER, RANDOM = "policer", "random loss"
MANAGED = ("active queue management", "congestion, by ECN")
"""Causes of losses that say what the queue is (`limited_by`)."""


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
    loss: float
    """Share of the payload sent after the warmup that was a retransmission."""
    waits_s: float
    """Median of the flow's smoothed round trips less the least one: its own wait, also behind fair queueing."""
    excess_bytes: float
    """Most payload that arrived in any stretch beyond that of the rate: a bucket of tokens, emptied."""
    peak_bps: float
    """Fastest arrival of payload between two samples."""
    cause: str
    """The limit of the flow by the rules of captures; empty: not known."""
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
    def why_not_full(self) -> str:
        """Reason why the flow did not fill the path."""
        if self.is_held:
            return "a window or a buffer of a host held the flow"
        return "no probe came through" if math.isnan(self.loaded_p95_s) else "no queue stood under load"

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
    whole = result.series.sort_values("time_s")
    series = whole[whole["time_s"] >= result.end_s / 5]
    times, arrived = series["time_s"].to_numpy(), series["bytes_arrived"].to_numpy()
    at = np.arange(len(times))
    end = np.searchsorted(times, times + max(WINDOW_S, 5 * rtt))
    at, end = at[end < len(times)], end[end < len(times)]
    rates = [float(rate) for rate in 8 * (arrived[end] - arrived[at]) / (times[end] - times[at])]
    rates = rates or [float(flow["goodput_bps"])]
    retransmitted = _grown(series["bytes_retransmitted"].to_numpy())
    sent = _grown(arrived) + retransmitted
    times, arrived = whole["time_s"].to_numpy(), whole["bytes_arrived"].to_numpy()
    beyond = arrived - float(np.quantile(rates, 0.5)) * times / 8
    peaks = 8 * np.diff(arrived) / np.diff(times)

    def metric(name: str) -> float:
        return result.metrics.get(f"queue_delay_{direction}_{name}_s", math.nan)

    held = float(flow["rwnd_limited_s"]) + float(flow["sndbuf_limited_s"])
    return Facts(
        duration_s=result.end_s,
        rates_bps=rates,
        rtt_s=rtt,
        idle_p95_s=metric("idle_p95"),
        loaded_p95_s=metric("p95"),
        loaded_p99_s=metric("p99"),
        retransmitted_bytes=retransmitted,
        loss=retransmitted / max(sent, 1.0),
        waits_s=max(float(flow["rtt_p50_s"]) - rtt, 0.0),
        excess_bytes=float((beyond - np.minimum.accumulate(beyond)).max()) if len(beyond) else 0.0,
        peak_bps=float(peaks.max()) if len(peaks) else max(rates),
        cause=str(flow["limited_by"]),
        is_held=held > float(flow["cwnd_limited_s"]),
        in_flight_bytes=float(flow["in_flight_max_bytes"]),
        control=str(flow["congestion_control"]),
    )


def _grown(counts: Sequence[float]) -> float:
    return float(counts[-1] - counts[0]) if len(counts) else 0.0


def seen(host: str, when: str, up: Facts, down: Facts, survey: Survey | None = None) -> Seen:
    """The path to `host` as two flows showed it `when`, and the bursts of a survey where the flows do not decide."""
    unknown: list[str] = []
    trips = [up.rtt_s, down.rtt_s, *(survey.rtt_s if survey else ())]
    trip = min(trips)
    bursts = (survey.up, survey.down) if survey else (None, None)
    is_lossy = RANDOM in (up.cause, down.cause)
    there, back = (
        _direction(name, one, burst, is_lossy, unknown) for name, one, burst in (("up", up, bursts[0]), ("down", down, bursts[1]))
    )
    reverse = "\n".join(f"reverse.{line}" if line[0] != "#" else line for line in back)
    windows = "".join(
        f"# {name}: a host held the flow at {one.in_flight_bytes:.0f} bytes in flight.\n"
        for name, one in (("up", up), ("down", down))
        if one.is_held
    )
    window = _by_direction("window", *(f"{_window(one, burst):.0f} bytes" for one, burst in zip((up, down), bursts, strict=True)))
    text = f"""title = {json.dumps(f"Path to {host}, measured {when}")}

[path]
preset = "dumbbell"
# Least round trip of handshakes, flows{" and UDP questions" if survey else ""}.
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
{windows}# Twice what was in flight at most, or what fills the path four times, unless a host held the flow.
{window}

[measure]
duration = "{up.duration_s:g} s"
warmup = "{up.duration_s / 5:g} s"
"""
    return Seen(text, unknown)


def _window(facts: Facts, burst: Direction | None) -> float:
    """Bytes of a window that hosts gave, or one that does not limit a flow."""
    if facts.is_held:
        return max(facts.in_flight_bytes, 65536)
    rate = max(facts.rate_bps, burst.rate_bps.value if burst and burst.rate_bps else 0.0)
    return max(2 * facts.in_flight_bytes, 4 * rate * facts.rtt_s / 8, 65536)


def ends(text: str) -> list[str]:
    """The file as it is, or where values are unknown, with all of them at their least and at their most."""
    found = [UNKNOWN.sub(lambda one, place=place: f'"{one[place]}"', text) for place in (1, 2)]
    return found if found[0] != found[1] else found[:1]


UNKNOWN = re.compile(r'\{ name = "[^"]*", unknown = \["([^"]*)", "([^"]*)"\] \}')


def _direction(name: str, facts: Facts, burst: Direction | None, is_lossy: bool, unknown: list[str]) -> list[str]:
    """Lines of a link's direction, and comments; what is not known is added to `unknown`."""
    loss = facts.loss if facts.cause == RANDOM else 0.0
    if facts.cause == POLICER:
        lines = _policer(name, facts)
    else:
        rate, lines = _rate(name, facts, burst, unknown)
        lines += _managed(name, facts) if facts.cause in MANAGED else _droptail(name, facts, burst, rate, unknown)
    if is_lossy:
        lines += [f"# {name}: share of the payload that was retransmitted, with losses at random."] if loss else []
        lines += [f'loss = {{ kind = "bernoulli", probability = {loss:.2g} }}' if loss else 'loss = { kind = "none" }']
    return lines


def _rate(name: str, facts: Facts, burst: Direction | None, unknown: list[str]) -> tuple[float, list[str]]:
    """Rate of the link, or where it is not known the least that it can be; its lines."""
    rate = facts.rate_bps
    # Losses at random keep a flow from standing at the rate.
    is_burst = burst is not None and burst.rate_bps is not None and burst.is_bottleneck
    if facts.fills and not (is_burst and facts.cause == RANDOM):
        low, high = (float(np.quantile(facts.rates_bps, part)) * MTU / (MTU - HEADERS) for part in (0.5, 1))
        return rate, [
            f"# {name}: 90th percentile of what arrived in half a second, with headers, packets of {MTU} bytes; "
            f"median {_bits(low)}, most {_bits(high)}.",
            f'rate = "{_bits(rate)}"',
        ]
    why = "losses at random keep the flow below the rate" if facts.cause == RANDOM else facts.why_not_full
    if burst and burst.rate_bps and burst.is_bottleneck:
        rate = max(burst.rate_bps.value, rate)
        low, high = burst.rate_bps.low, burst.rate_bps.high
        return rate, [
            f"# {name}: {why}. A burst of {burst.sent} packets arrived at this rate; 95 % interval {_bits(low)} to {_bits(high)}.",
            f'rate = "{_bits(rate)}"',
        ]
    unknown.append(f"rate {name}: {why}")
    return rate, [
        f"# {name}: {why}, so the rate is at least that of its goodput with headers.",
        f'rate = {{ name = "rate {name}", unknown = ["{_bits(rate)}", "{_bits(FASTEST * rate)}"] }}',
    ]


def _droptail(name: str, facts: Facts, burst: Direction | None, rate: float, unknown: list[str]) -> list[str]:
    """Buffer before the link."""
    if facts.fills and facts.retransmitted_bytes and facts.cause != RANDOM:
        return [
            f"# {name}: 99 of 100 probes waited up to {1e3 * facts.loaded_p99_s:.1f} ms, 95 up to {1e3 * facts.loaded_p95_s:.1f} ms; "
            "losses show that it was full.",
            _queue(f'"{_bytes(facts.loaded_p99_s * rate / 8)}"'),
        ]
    if burst and burst.memory_bytes and facts.cause != RANDOM:
        memory = burst.memory_bytes
        return [
            f"# {name}: memory that a burst found; {_bytes(memory.low)} to {_bytes(memory.high)}.",
            _queue(f'"{_bytes(memory.value)}"'),
        ]
    held = max(facts.loaded_p99_s * rate / 8 if facts.fills else 0.0, burst.memory_least_bytes if burst and burst.is_bottleneck else 0.0)
    if burst and burst.memory_bytes:
        # Losses at random look like those of a full queue: it holds what waited, and maybe more.
        held = max(held, burst.memory_bytes.value)
    why = "nothing was lost, so it was never seen full" if facts.fills and not facts.retransmitted_bytes else facts.why_not_full
    if facts.cause == RANDOM:
        why = "losses at random hide those of a full queue"
    unknown.append(f"buffer {name}: {why}")
    least, most = (
        _bytes(0.0 if math.isnan(held) else held),
        _bytes(FASTEST * rate * LONGEST_S / 8 if not facts.fills else rate * LONGEST_S / 8),
    )
    said = f"# {name}: it held {least}, and {why}: it is at least that." if held > 0 else f"# {name}: {why}, so the buffer is not known."
    return [said, _queue(f'{{ name = "buffer {name}", unknown = ["{least}", "{most}"] }}')]


def _managed(name: str, facts: Facts) -> list[str]:
    """Queue management: PIE keeps any mean wait that it is told, and no flow shows which kind it is."""
    return [
        f"# {name}: early drops or marks kept the flow's median wait at {1e3 * facts.waits_s:.1f} ms. PIE stands for every kind that does.",
        f'queue = {{ kind = "pie", target = "{max(1e6 * facts.waits_s, 1000):.0f} us" }}',
    ]


def _policer(name: str, facts: Facts) -> list[str]:
    """Bucket of tokens: losses without a wait, at a steady rate."""
    # What the bucket saved up raises high quantiles, and no median.
    rate = float(np.quantile(facts.rates_bps, 0.5)) * MTU / (MTU - HEADERS)
    faster = max(facts.peak_bps * MTU / (MTU - HEADERS), 1.5 * rate)
    burst = max(facts.excess_bytes * MTU / (MTU - HEADERS), 10 * MTU)
    return [
        f"# {name}: losses without a wait, at a steady rate: median of what arrived in half a second, with headers. The link before it "
        "is at least as fast as packets arrived at most.",
        f'rate = "{_bits(faster)}"',
        f'queue = {{ kind = "policer", rate = "{_bits(rate)}", burst = "{_bytes(burst)}" }}',
    ]


def _bytes(size: float) -> str:
    """A size of a buffer, which holds some packets."""
    return f"{max(size, 4 * MTU):.0f} bytes"


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
