"""Measurement of a path to a reflector of STAMP (RFC 8762), which need not be longfat."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from longfat._longfat import live_stamp
from longfat.lazy import np

SCHEME = "stamp://"
LEVELS = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Stamp:
    """Round trips, queueing delay each way, and losses by direction. NaN and None: not known."""

    address: str
    """Address and port of the reflector."""
    sent: int
    """Packets of 44 bytes, one every 10 ms."""
    answered: int
    rtt_min_s: float
    """Round trip without the time at the reflector."""
    rtt_p50_s: float
    rtt_p95_s: float
    rtt_p99_s: float
    reflector_p99_s: float
    """Time at the reflector, not exceeded by 99 of 100 packets."""
    queue_delay_up_p50_s: float
    """Wait in queues on the way to the reflector. Clocks need not be synchronised."""
    queue_delay_up_p95_s: float
    queue_delay_up_p99_s: float
    queue_delay_down_p50_s: float
    queue_delay_down_p95_s: float
    queue_delay_down_p99_s: float
    lost_up: int | None
    """Packets that did not come to the reflector; None: it does not count, or nothing shows that it does."""
    lost_down: int | None
    """Answers that did not come back."""
    lost_unknown: int
    """Packets without an answer whose direction nobody knows, such as the last ones."""
    duplicates: int
    routers_up: int | None
    """Routers on the way there, for a sender's TTL of 64; None: the reflector does not tell."""
    clock_skew: float
    """Rate of the reflector's clock over this host's, less 1."""
    clock_steps: int
    clock_is_synchronised: bool
    """Claim of the reflector."""


def stamp(at: str) -> Stamp:
    """Measures for 10 s, with 1000 packets, the path to the reflector at `at`: a host, or host:port; the port is 862 by default.

    ExperimentError where nothing answers.
    """
    return read(json.loads(live_stamp(at.removeprefix(SCHEME).rstrip("/"))))


def read(found: dict[str, Any]) -> Stamp:
    """Summary of the packets that this host recorded."""

    def quantiles(values: list[float | None], levels: tuple[float, ...] = LEVELS) -> list[float]:
        known = [value / 1e9 for value in values if value is not None]
        return [float(np.quantile(known, level)) for level in levels] if known else [math.nan] * len(levels)

    rtt = quantiles(found["rtt_ns"], (0.0, *LEVELS))
    up, down = quantiles(found["wait_up_ns"]), quantiles(found["wait_down_ns"])
    return Stamp(
        found["address"],
        found["sent"],
        len(found["rtt_ns"]),
        *rtt,
        *quantiles(found["held_ns"], (0.99,)),
        *up,
        *down,
        lost_up=found["lost_up"],
        lost_down=found["lost_down"],
        lost_unknown=found["lost_unknown"],
        duplicates=found["duplicates"],
        routers_up=found["routers_up"],
        clock_skew=found["skew"],
        clock_steps=found["steps"],
        clock_is_synchronised=found["is_synchronised"],
    )


def lines(seen: Stamp) -> list[str]:
    """Everything that is known of the path, a sentence each."""

    def ms(seconds: float) -> str:
        return f"{1e3 * seconds:.2f}"

    def way(name: str, p50: float, p95: float, p99: float, lost: int | None) -> str:
        waits = "unknown" if math.isnan(p50) else f"{ms(p50)} ms (median), {ms(p95)} ms (95 of 100), {ms(p99)} ms (99 of 100)"
        return f"{name:5} queueing delay {waits}; lost {'unknown' if lost is None else lost}"

    said = [
        f"{seen.address}: RTT {ms(seen.rtt_p50_s)} ms (from {ms(seen.rtt_min_s)}; 99 of 100 under {ms(seen.rtt_p99_s)}), "
        f"{seen.answered} of {seen.sent} answered",
        way("up", seen.queue_delay_up_p50_s, seen.queue_delay_up_p95_s, seen.queue_delay_up_p99_s, seen.lost_up),
        way("down", seen.queue_delay_down_p50_s, seen.queue_delay_down_p95_s, seen.queue_delay_down_p99_s, seen.lost_down),
    ]
    if seen.lost_unknown:
        said.append(f"lost in an unknown direction: {seen.lost_unknown}")
    if seen.duplicates:
        said.append(f"answers that came twice: {seen.duplicates}")
    if seen.clock_steps:
        said.append(f"steps of a clock: {seen.clock_steps}; the waits before and after each have their own zero")
    said.append("routers up: " + ("unknown" if seen.routers_up is None else str(seen.routers_up)))
    said.append("Unknown, since only `longfat serve` tells: MTU, codepoints, rate, memory and TCP.")
    return said
