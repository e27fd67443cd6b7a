"""A measured path as an experiment: each value with its origin. A value that the measurement does not decide is `unknown`."""

# pandas leaves the type of columns open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from longfat.advice.linux import stack_kernel
from longfat.lazy import np
from longfat.live.survey import Direction, Survey
from longfat.results import Result
from longfat.theory.probe import Estimate

MTU, HEADERS = 1500, 52
"""Bytes of a packet, as most paths have it, and of IPv4 and TCP with timestamps in it (RFC 791, RFC 9293, RFC 7323)."""
STANDS_S = 1e-3
"""Wait of probes under load from which a queue stood: hosts and idle links add less."""
WINDOW_S, BUSY = 0.5, 0.9
"""Windows of rates: this long, or five round trips. While the queue stands the link is busy, with the 90th percentile of them."""
FASTEST, LONGEST_S = 10, 1.0
"""Ranges of values that are not decided: the rate up to so many times the goodput, the buffer up to this delay."""
OUTSIDE, Z = 0.025, 1.959964
"""Probability beyond each end of a 95 % interval, and the quantile of the normal distribution there."""
POLICER, RANDOM = "policer", "random loss"
MANAGED = ("active queue management", "congestion, by ECN")
"""Causes of losses that say what the queue is (`limited_by`)."""


SETTINGS = {
    "kernel": "Linux",
    "ipv4/tcp_rmem": "tcp_rmem",
    "ipv4/tcp_wmem": "tcp_wmem",
    "ipv4/tcp_congestion_control": "congestion control",
    "core/default_qdisc": "default qdisc",
}
"""Settings of a host that are written, and their names there."""


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
    window_s: float
    """Length of a window of rates."""
    windows: int
    """Windows that do not overlap."""
    loaded_max_s: float
    """Longest wait of a probe under load."""
    waits_s_interval: tuple[float, float]
    """95 % interval of `waits_s`."""
    segments: float
    """Segments sent after the warmup."""
    mtu: int
    """Largest packet that came through unfragmented before the flow, bytes; `MTU` where that is not known."""
    is_mtu_known: bool
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
        return self.with_headers(float(np.quantile(self.rates_bps, BUSY)))

    def with_headers(self, rate: float) -> float:
        """Rate of IP packets that carry this rate of payload."""
        return rate * self.mtu / (self.mtu - HEADERS)

    def interval_bps(self, share: float) -> tuple[float, float]:
        """95 % interval of a quantile of the rates of IP packets."""
        low, high = (self.with_headers(rate) for rate in order_interval(self.rates_bps, share, self.windows))
        return low, high


@dataclass(frozen=True)
class Seen:
    """The path, and how much of it is known."""

    text: str
    """An experiment of two runs, `up` and `down`; with unknowns, one for `longfat fit`."""
    unknown: list[str]
    """Values that the measurement does not decide, with the reason."""


def order_interval(values: Sequence[float], share: float, independent: int) -> tuple[float, float]:
    """95 % interval of a quantile by order statistics: the ranks between which a binomial number lies in 95 of 100 cases.

    Values that overlap count as the `independent` ones among them. Where these are too few, an end is the least or the greatest value.
    """
    low, high, total = 0, independent, 0.0
    for k in range(independent + 1):
        total += math.comb(independent, k) * share**k * (1 - share) ** (independent - k)
        if total <= OUTSIDE:
            low = k + 1
        if total >= 1 - OUTSIDE:
            high = k
            break
    last = max(independent - 1, 1)
    least, most = (float(np.quantile(values, min(max((rank - 1) / last, 0.0), 1.0))) for rank in (low, high + 1))
    return least, most


def binomial_interval(share: float, count: float) -> tuple[float, float]:
    """95 % interval of a probability from its share of `count` cases (Wilson 1927, equation 9)."""
    if count < 1:
        return 0.0, 1.0
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def facts(result: Result, direction: str) -> Facts:
    """Facts of a run with one flow `up` or `down`, whose series has ten samples per second."""
    flow = result.flows.iloc[0]
    rtt = min(float(flow["rtt_min_s"]), result.real_time["base_rtt_before_s"] or math.inf)
    whole = result.series.sort_values("time_s")
    series = whole[whole["time_s"] >= result.end_s / 5]
    times, arrived = series["time_s"].to_numpy(), series["bytes_arrived"].to_numpy()
    at = np.arange(len(times))
    window = max(WINDOW_S, 5 * rtt)
    end = np.searchsorted(times, times + window)
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

    probes = result.probes
    is_loaded = (probes["direction"] == direction) & probes["time_s"].between(result.end_s / 5, result.end_s)
    windows = max(int(result.end_s * 4 / 5 / window), 1)
    trips = series["srtt_s"].dropna()
    waits = order_interval(trips.tolist(), 0.5, windows) if len(trips) else (math.nan, math.nan)
    mss = result.tcp_info.loc[result.tcp_info["end"] == "sender", "snd_mss"].max()
    mtu = result.metrics.get(f"mtu_{direction}_bytes", math.nan)
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
        window_s=window,
        windows=windows,
        loaded_max_s=float(probes.loc[is_loaded, "queue_delay_s"].max()),
        waits_s_interval=(max(waits[0] - rtt, 0.0), max(waits[1] - rtt, 0.0)),
        segments=sent / (float(mss) if mss > 0 else MTU - HEADERS),
        mtu=MTU if math.isnan(mtu) else int(mtu),
        is_mtu_known=not math.isnan(mtu),
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
    reverse = "\n".join(f"reverse.{line}" if line[0] != "#" else line for line in [*back, *_mtu("down", down)])
    windows = "".join(
        f"# {name}: a host held the flow at {one.in_flight_bytes:.0f} bytes in flight.\n"
        for name, one in (("up", up), ("down", down))
        if one.is_held
    )
    window = _by_direction("window", *(f"{_window(one, burst):.0f} bytes" for one, burst in zip((up, down), bursts, strict=True)))
    text = f"""title = {json.dumps(f"Path to {host}, measured {when}")}

[path]
preset = "dumbbell"
# Least round trip of handshakes, flows{" and UDP questions" if survey else ""}. {_spread(up, down, survey)}
rtt = "{_us(trip)}"

[path.bottleneck]
{chr(10).join([*there, *_mtu("up", up)])}
{reverse}
{_hosts(survey)}
[[flow]]
name = "flow"
stack = "linux"
{_by_direction("from", "left1", "right1")}
{_by_direction("to", "right1", "left1")}
{_by_direction("congestion_control", up.control, down.control)}
{_kernels(survey)}{windows}# Twice what was in flight at most, or what fills the path four times, unless a host held the flow.
{window}

[measure]
duration = "{up.duration_s:g} s"
warmup = "{up.duration_s / 5:g} s"
"""
    return Seen(text, unknown)


def _spread(up: Facts, down: Facts, survey: Survey | None) -> str:
    """Sentence on the round trips that were least."""
    said = f"Least of the handshakes and the flow: {1e3 * up.rtt_s:.2f} ms up, {1e3 * down.rtt_s:.2f} ms down."
    if survey and survey.rtt_s:
        said += f" {len(survey.rtt_s)} idle questions: {1e3 * min(survey.rtt_s):.2f} to {1e3 * max(survey.rtt_s):.2f} ms."
    return f"{said} A one-way delay is from 0 to the round trip."


def _mtu(name: str, facts: Facts) -> list[str]:
    """MTU of a direction."""
    known = "largest packet that came through unfragmented, before the flow" if facts.is_mtu_known else "MTU not known"
    return [f"# {name}: {known}.", f'mtu = "{facts.mtu} bytes"']


def _hosts(survey: Survey | None) -> str:
    """Comments on the hosts as they were found."""
    made = ""
    for name, of in zip(("left1, this host", "right1, the other host"), survey.settings if survey else (), strict=False):
        # The other host may say anything.
        found = [f"{word} {_clean(of[setting])}" for setting, word in SETTINGS.items() if setting in of]
        made += f"# {name}: {', '.join(found) if found else 'not known'}.\n"
    return made


def _clean(text: str) -> str:
    return "".join(one for one in text if one.isprintable())


def _kernels(survey: Survey | None) -> str:
    """The kernel of the sender, of each direction; nothing where one is not known."""
    versions = [stack_kernel(of.get("kernel", "")) for of in survey.settings] if survey else []
    if not versions or not all(versions):
        return ""
    return f"# Version of the sender's kernel whose rules are nearest.\n{_by_direction('kernel', *versions)}\n"


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
        if loss:
            low, high = binomial_interval(loss, facts.segments)
            lines += [
                f"# {name}: share of the payload that was retransmitted, with losses at random; 95 % interval {low:.2g} to {high:.2g} "
                f"(binomial, {facts.segments:.0f} segments)."
            ]
        lines += [f'loss = {{ kind = "bernoulli", probability = {loss:.2g} }}' if loss else 'loss = { kind = "none" }']
    return lines


def _rate(name: str, facts: Facts, burst: Direction | None, unknown: list[str]) -> tuple[float, list[str]]:
    """Rate of the link, or where it is not known the least that it can be; its lines."""
    rate = facts.rate_bps
    # Losses at random keep a flow from standing at the rate.
    is_burst = burst is not None and burst.rate_bps is not None and burst.is_bottleneck
    if facts.fills and not (is_burst and facts.cause == RANDOM):
        low, high = facts.interval_bps(BUSY)
        return rate, [
            f"# {name}: 90th percentile of what arrived in {facts.window_s:g} s, with headers, packets of {facts.mtu} bytes; "
            f"95 % interval {_bits(low)} to {_bits(high)} ({facts.windows} windows apart).",
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


def buffer_of(facts: Facts, burst: Direction | None, rate: float) -> Estimate | None:
    """Bytes of the buffer before a link of this rate, if it is a plain one that was seen full.

    Its interval is from the wait of 95 of 100 probes to the longest, or that of the burst.
    """
    if facts.cause in (RANDOM, POLICER, *MANAGED):
        return None
    if facts.fills and facts.retransmitted_bytes:
        longest = max(facts.loaded_max_s, facts.loaded_p99_s)
        return Estimate(*(wait * rate / 8 for wait in (facts.loaded_p99_s, facts.loaded_p95_s, longest)))
    return burst.memory_bytes if burst else None


def _droptail(name: str, facts: Facts, burst: Direction | None, rate: float, unknown: list[str]) -> list[str]:
    """Buffer before the link."""
    memory = buffer_of(facts, burst, rate)
    if memory:
        how = (
            f"99 of 100 probes waited up to {1e3 * facts.loaded_p99_s:.1f} ms, and losses show that it was full; "
            "by the wait of 95 of 100, and by the longest:"
            if facts.fills and facts.retransmitted_bytes
            else "memory that a burst found;"
        )
        return [f"# {name}: {how} {_bytes(memory.low, facts)} to {_bytes(memory.high, facts)}.", _queue(f'"{_bytes(memory.value, facts)}"')]
    held = max(facts.loaded_p99_s * rate / 8 if facts.fills else 0.0, burst.memory_least_bytes if burst and burst.is_bottleneck else 0.0)
    if burst and burst.memory_bytes:
        # Losses at random look like those of a full queue: it holds what waited, and maybe more.
        held = max(held, burst.memory_bytes.value)
    why = "nothing was lost, so it was never seen full" if facts.fills and not facts.retransmitted_bytes else facts.why_not_full
    if facts.cause == RANDOM:
        why = "losses at random hide those of a full queue"
    unknown.append(f"buffer {name}: {why}")
    least, most = (
        _bytes(0.0 if math.isnan(held) else held, facts),
        _bytes(FASTEST * rate * LONGEST_S / 8 if not facts.fills else rate * LONGEST_S / 8, facts),
    )
    said = f"# {name}: it held {least}, and {why}: it is at least that." if held > 0 else f"# {name}: {why}, so the buffer is not known."
    return [said, _queue(f'{{ name = "buffer {name}", unknown = ["{least}", "{most}"] }}')]


def _managed(name: str, facts: Facts) -> list[str]:
    """Queue management: PIE keeps any mean wait that it is told, and no flow shows which kind it is."""
    return [
        f"# {name}: early drops or marks kept the flow's median wait at {1e3 * facts.waits_s:.1f} ms; 95 % interval "
        f"{1e3 * facts.waits_s_interval[0]:.1f} to {1e3 * facts.waits_s_interval[1]:.1f} ms. PIE stands for every kind that does.",
        f'queue = {{ kind = "pie", target = "{max(1e6 * facts.waits_s, 1000):.0f} us" }}',
    ]


def _policer(name: str, facts: Facts) -> list[str]:
    """Bucket of tokens: losses without a wait, at a steady rate."""
    # What the bucket saved up raises high quantiles, and no median.
    rate = facts.with_headers(float(np.quantile(facts.rates_bps, 0.5)))
    low, high = facts.interval_bps(0.5)
    faster = max(facts.with_headers(facts.peak_bps), 1.5 * rate)
    burst = max(facts.with_headers(facts.excess_bytes), 10 * facts.mtu)
    return [
        f"# {name}: losses without a wait, at a steady rate: median of what arrived in {facts.window_s:g} s, with headers; 95 % interval "
        f"{_bits(low)} to {_bits(high)} ({facts.windows} windows apart).",
        f"# {name}: the link before it is at least as fast as packets arrived at most, and the bucket holds at least this burst.",
        f'rate = "{_bits(faster)}"',
        f'queue = {{ kind = "policer", rate = "{_bits(rate)}", burst = "{_bytes(burst, facts)}" }}',
    ]


def _bytes(size: float, facts: Facts) -> str:
    """A size of a buffer, which holds some packets."""
    return f"{max(size, 4 * facts.mtu):.0f} bytes"


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
