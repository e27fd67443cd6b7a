"""Survey of a path without an experiment: round trips, routers, MTU, codepoints, and the bottleneck of each direction."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from longfat._longfat import live_survey, student_t
from longfat.lazy import np
from longfat.results.repeats import LEVEL
from longfat.theory.probe import Estimate, Probe, probe

NAMES = {
    0: "default",
    1: "LE",
    8: "CS1",
    16: "CS2",
    24: "CS3",
    32: "CS4",
    40: "CS5",
    48: "CS6",
    56: "CS7",
    10: "AF11",
    18: "AF21",
    26: "AF31",
    34: "AF41",
    44: "VA",
    46: "EF",
}
"""Names of codepoints (RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622)."""
ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
"""Names of the two bits of ECN (RFC 3168)."""
PIECES = 20
"""Pieces of a burst for the interval of its rate."""
SAME = 0.05
"""Burst that arrives at the rate at which it was sent, within this share: it found no bottleneck."""


@dataclass(frozen=True)
class Hop:
    """A router on the way to the far host."""

    ttl: int
    """TTL that ends there, from 1."""
    address: str | None
    """None: it stayed silent."""
    rtt_s: float
    """NaN of a silent one."""


@dataclass(frozen=True)
class Codepoint:
    """Survival of one octet of DSCP and ECN."""

    sent: int
    """Octet as it was sent, each way."""
    up: int | None
    """Octet as it came to the far host; None: no packet with it came through."""
    down: int | None
    """Octet as it came back; None: no packet with it came back."""

    @staticmethod
    def name(octet: int) -> str:
        """The octet in words, such as `EF` or `AF41 with ECT(0)`."""
        dscp, ecn = NAMES.get(octet >> 2, f"DSCP {octet >> 2}"), ECN[octet & 3]
        return dscp if octet & 3 == 0 else ecn if octet >> 2 == 0 else f"{dscp} with {ecn}"


@dataclass(frozen=True)
class Direction:
    """The bottleneck of one direction, by a burst. Rates and sizes count IP packets."""

    sent: int
    """Packets of the burst."""
    arrived: int
    packet_bytes: int
    rate_bps: Estimate | None
    """Rate at which the burst arrived; None where too little of it did."""
    is_bottleneck: bool
    """False: the burst arrived as fast as it was sent, so that the bottleneck has at least this rate."""
    memory_bytes: Estimate | None
    """Memory before the bottleneck; None where nothing was lost in the network."""
    memory_least_bytes: float
    """Bytes that waited before the bottleneck at most, where nothing was lost: it holds no less. NaN where that is not known."""
    lost_in_network: int
    lost_at_receiver: int
    lost_unknown: int


@dataclass(frozen=True)
class Survey:
    """View of a path."""

    address: str
    """Address of the far host."""
    asked: int
    """Questions on the idle path."""
    rtt_s: tuple[float, ...]
    """Round trips of those that were answered, without the time at the far host."""
    base_rtt_before_s: float
    """Least round trip of three TCP handshakes before the survey; NaN: none."""
    base_rtt_after_s: float
    hops: tuple[Hop, ...]
    routers_up: int | None
    """Routers on the way to the far host, by the TTL of packets that came there; None: no answer came."""
    routers_down: int | None
    mtu_up_bytes: int | None
    """Largest packet that came to the far host in one piece; None: not found in time."""
    mtu_down_bytes: int | None
    """Largest packet that came back, of those up to `mtu_up_bytes`."""
    mtu_tried_bytes: int
    """Largest packet that was tried."""
    too_big: tuple[tuple[str | None, int], ...]
    """Routers that said that a packet was too big, and the MTU that they named; None: this host."""
    codepoints: tuple[Codepoint, ...]
    up: Direction | None
    """None: no time was left for the burst."""
    down: Direction | None
    rate_limit_bps: float
    """Bound that the server sets to bursts, in bit/s of UDP payload; NaN: none."""
    bytes: int
    """UDP payload that was sent and received here."""
    cut: tuple[str, ...]
    """Parts for which the time did not suffice."""


def survey(host: str, key: str | None) -> Survey:
    """Surveys the path to a `longfat serve` at `host`, with the key of this name, in 12 s and 12 MB at most.

    ExperimentError where the server is not there, says no or is lost, and where no UDP comes through.
    """
    return read(json.loads(live_survey(host, key)))


def read(found: dict[str, Any]) -> Survey:
    """The survey of what both hosts recorded."""

    def seconds(ns: int | None) -> float:
        return math.nan if ns is None else ns / 1e9

    before, after = found["base_rtt_ns"]
    return Survey(
        address=found["address"],
        asked=found["asked"],
        rtt_s=tuple(rtt / 1e9 for rtt in found["rtt_ns"]),
        base_rtt_before_s=seconds(before),
        base_rtt_after_s=seconds(after),
        hops=tuple(Hop(hop["ttl"], hop["address"], seconds(hop["rtt_ns"])) for hop in found["hops"]),
        routers_up=found["routers_up"],
        routers_down=found["routers_down"],
        mtu_up_bytes=found["mtu_up"],
        mtu_down_bytes=found["mtu_down"],
        mtu_tried_bytes=found["mtu_most"],
        too_big=tuple((said["from"], said["mtu"]) for said in found["too_big"]),
        codepoints=tuple(Codepoint(**one) for one in found["codepoints"]),
        up=direction(found["up"]),
        down=direction(found["down"]),
        rate_limit_bps=math.nan if found["rate_limit"] is None else float(found["rate_limit"]),
        bytes=found["bytes"],
        cut=tuple(found["cut"]),
    )


def direction(burst: dict[str, Any] | None) -> Direction | None:
    """The bottleneck that a burst found; None without a burst."""
    if burst is None:
        return None
    numbers, times, size, gap = burst["numbers"], [time / 1e9 for time in burst["came_ns"]], burst["size"], burst["gap_ns"] / 1e9
    try:
        found: Probe | None = probe(numbers, times, size=size, sent=burst["sent"])
    except ValueError:
        found = None
    if found is None:
        lost = burst["sent"] - len(numbers)
        return Direction(burst["sent"], len(numbers), size, None, False, None, math.nan, 0, 0, lost)
    rate = found.rate_bps
    if found.memory_bytes is not None and found.lost_at("receiver") == 0:
        # The full bottleneck never rests, so that what arrives says its rate, however short the stretches without loss are.
        rate = _arrived(np.sort(np.asarray(times)), 8 * size) or rate
    is_bottleneck = gap == 0 or rate.value < (1 - SAME) * 8 * size / gap
    # A packet waited for as long as it came later than it would have come without a queue.
    late = np.asarray(times) - gap * np.asarray(numbers)
    waited = float(late.max() - late.min()) if gap and is_bottleneck and found.memory_bytes is None else math.nan
    return Direction(
        sent=burst["sent"],
        arrived=found.received,
        packet_bytes=size,
        rate_bps=rate,
        is_bottleneck=is_bottleneck,
        memory_bytes=found.memory_bytes,
        memory_least_bytes=waited * rate.value / 8,
        lost_in_network=found.lost_at("network"),
        lost_at_receiver=found.lost_at("receiver"),
        lost_unknown=found.lost_at("unknown"),
    )


def _arrived(times: Any, bits: float) -> Estimate | None:
    """Rate of packets of `bits`, with the interval of the mean of its pieces (Cochran 1977); None of too few."""
    edges = np.unique(np.linspace(0, len(times) - 1, PIECES + 1).round().astype(int))
    if len(edges) < 3 or times[-1] <= times[0]:
        return None
    spacing = np.diff(times[edges]) / np.diff(edges)
    mean = float(times[-1] - times[0]) / (len(times) - 1)
    half = student_t((1 + LEVEL) / 2, len(spacing) - 1) * float(spacing.std(ddof=1)) / math.sqrt(len(spacing))
    return Estimate(bits / mean, bits / (mean + half), bits / max(mean - half, mean / 100))
