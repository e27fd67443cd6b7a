"""Survey of a path without an experiment: round trips, routers, MTU, codepoints, and the bottleneck of each direction."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from longfat._longfat import live_survey
from longfat.lazy import np
from longfat.theory.probe import Estimate

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
"""Pieces of a burst, each with a rate."""
INTERVAL = (5 / 19, 0.5, 14 / 19)
"""Median of the rates of 20 pieces, and its 95 % interval: the 6th and the 15th of them (order statistics of a binomial)."""
FULL = 0.7
"""A loss beside a packet that waited this share of the longest wait is one of a full queue."""
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
    """Memory before the bottleneck; its interval is from the 90th percentile of waits to the longest. None where no full queue lost
    anything."""
    memory_least_bytes: float
    """Bytes that waited before the bottleneck at most, where nothing was lost: it holds no less. NaN where that is not known."""
    lost_at_full_queue: int
    """Packets lost between two of which one waited nearly as long as any did."""
    lost_otherwise: int
    """Other packets that did not arrive: at random, at a policer, in the receiver, or at the end of the burst."""


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
    waited_s: float
    """Time until the server granted the survey, because others came first."""
    nat_control: str | None
    """Address and port of the control connection as the far host sees them, where NAT changed them; None: it did not."""
    nat_udp: str | None
    """Address and port of its UDP, likewise."""
    settings: tuple[dict[str, str], dict[str, str]]
    """Settings of this host and of the far one: `kernel`, and names below `/proc/sys/net`."""
    lost: str | None
    """Reason why the far host was lost before the survey was over; None: it was not."""


def survey(host: str, key: str | None) -> Survey:
    """Surveys the path to a `longfat serve` at `host`, with the key of this name, in 12 s and 12 MB at most.

    ExperimentError where the server is not there, says no or never answers, and where no UDP comes through.
    """
    return read(json.loads(live_survey(host, key)))


def read(found: dict[str, Any]) -> Survey:
    """The survey of what both hosts recorded."""

    def seconds(ns: int | None) -> float:
        return math.nan if ns is None else ns / 1e9

    def named(settings: list[dict[str, str]]) -> dict[str, str]:
        return {one["name"]: one["value"] for one in settings}

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
        waited_s=found["waited_ns"] / 1e9,
        nat_control=found["nat"][0],
        nat_udp=found["nat"][1],
        settings=(named(found["settings"][0]), named(found["settings"][1])),
        lost=found["lost"],
    )


def direction(burst: dict[str, Any] | None) -> Direction | None:
    """The bottleneck that a burst found; None without a burst.

    A burst that comes to the bottleneck faster than it leaves arrives at the rate s of the bottleneck. A packet that finds the memory M
    full waits M / s, so M is the longest wait times s (after Antony, Blom, de Laat, Lee and Sjouw, FGCS 19(6), 2003, section 2).
    Waits need no synchronised clocks: they are differences from the least delay of the burst.
    """
    if burst is None:
        return None
    sent, size = burst["sent"], burst["size"]
    number, left, came = (np.asarray(burst[name], dtype=np.float64) for name in ("numbers", "left_ns", "came_ns"))
    arrived = len(number)
    if arrived <= PIECES or came[-1] <= came[0]:
        return Direction(sent, arrived, size, None, False, None, math.nan, 0, sent - arrived)
    edges = np.linspace(0, arrived - 1, PIECES + 1).round().astype(int)
    low, value, high = (float(rate) for rate in np.quantile(8e9 * size * np.diff(edges) / np.maximum(np.diff(came[edges]), 1), INTERVAL))
    wait = (came - left) - float((came - left).min())
    fed = 8e9 * size * (float(number.max()) - float(number.min())) / max(float(left.max()) - float(left.min()), 1)
    is_bottleneck = value < (1 - SAME) * fed
    held = [float(held) * value / 8e9 for held in np.quantile(wait, (0.9, 0.95, 1))]
    order = np.argsort(number)
    number, wait = number[order], wait[order]
    lost = np.diff(number) - 1
    is_full = np.maximum(wait[:-1], wait[1:]) > FULL * held[1] * 8e9 / value
    at_full = int(lost[is_full].sum()) if is_bottleneck else 0
    memory = Estimate(held[1], held[0] - size, held[2] + size) if at_full else None
    least = math.nan if at_full or not is_bottleneck else held[2]
    return Direction(sent, arrived, size, Estimate(value, low, high), is_bottleneck, memory, least, at_full, sent - arrived - at_full)
