"""Answer of a server before a measurement: its controls, the distance to it, and how long a run may be."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from longfat._longfat import live_greet

SHORTEST_S = 10
LONGEST_S = 40
"""Bounds of a run whose length nobody chose."""
ROUND_TRIPS = 300
"""Round trips of such a run. In 110 of them a flow has one to four losses, too few to tell what limited it."""
LEAST_S = 2
"""Shortest run."""


@dataclass(frozen=True)
class Greeting:
    """Answer of a server to a run that is planned."""

    controls: dict[str, str | None]
    """Congestion control in force at the sender of each direction, `up` and `down`; None where its kernel does not say."""
    base_rtt_s: float
    """Least round trip of three TCP handshakes; NaN where none was answered in time."""
    granted_s: int
    """Whole seconds of a run that the server grants, of those asked for."""
    bytes: int
    """Bytes of payload that a run may send."""
    rate_bps: float
    """Bound of the rate of all flows together, payload; infinite where there is none."""


@dataclass(frozen=True)
class Length:
    """Duration of a run, and its reason."""

    seconds: int
    why: str = ""
    """Round trips that fit; empty where the user chose the duration."""
    limit: str = ""
    """Sentence about a server that grants less."""

    @property
    def words(self) -> str:
        """The duration and its reason, such as `27 s (300 round trips of 90 ms)`."""
        return f"{self.seconds} s ({self.why})" if self.why else f"{self.seconds} s"


_met: dict[tuple[str, str | None], Greeting] = {}
"""The last answer of each server."""


def greet(host: str, key: str | None, seconds: int = LONGEST_S) -> Greeting:
    """Asks a server for a run of so many seconds, and lets it be. LongfatError where it is not there, or says no."""
    told = json.loads(live_greet(host, key, seconds))
    rtt, rate = told["base_rtt_ns"], told["rate"]
    found = Greeting(
        controls=dict(zip(("up", "down"), told["controls"], strict=True)),
        base_rtt_s=math.nan if rtt is None else rtt / 1e9,
        granted_s=told["seconds"],
        bytes=told["bytes"],
        rate_bps=math.inf if rate is None else float(rate),
    )
    _met[host, key] = found
    return found


def met(host: str, key: str | None) -> Greeting:
    """The last answer of a server, which is asked if it never was."""
    return _met.get((host, key)) or greet(host, key)


def length(host: str, key: str | None, asked_s: int | None) -> Length:
    """Duration of a run to a server, which is asked: `asked_s`, or else ROUND_TRIPS within their bounds; no more than the server grants."""
    return _length(host, greet(host, key, asked_s or LONGEST_S), asked_s)


def _length(host: str, found: Greeting, asked_s: int | None) -> Length:
    rtt = found.base_rtt_s
    wanted = asked_s or (SHORTEST_S if math.isnan(rtt) else min(max(math.ceil(ROUND_TRIPS * rtt), SHORTEST_S), LONGEST_S))
    # At the granted rate the bytes last so long, and the last second is kept free: probes count as well.
    by_bytes = math.inf if math.isinf(found.rate_bps) else math.ceil(8 * found.bytes / found.rate_bps) - 1
    most = max(LEAST_S, min(found.granted_s, by_bytes))
    seconds, limit = wanted, ""
    if most < wanted:
        seconds = int(most)
        # A run is within the time of its session, which has a second before and one after.
        why = "limit `seconds` allows" if found.granted_s <= by_bytes else "limits `bytes` and `rate` allow"
        limit = f"{host} grants {seconds} of {wanted} s: its {why} no more"
    if asked_s:
        return Length(seconds, limit=limit)
    if math.isnan(rtt) or rtt <= 0:
        return Length(seconds, "the round trip is unknown", limit)
    many = seconds / rtt > 2 * ROUND_TRIPS
    return Length(seconds, f"over {ROUND_TRIPS} round trips" if many else f"{seconds / rtt:,.0f} round trips of {1e3 * rtt:.3g} ms", limit)
