"""One TCP flow to or from a server of iperf3, which need not be longfat."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import Any, Literal

from longfat._longfat import live_iperf
from longfat.errors import ExperimentError

SCHEME = "iperf3://"
SECONDS = 10
"""Duration of a run whose length nobody chose: a handshake that would tell the round trip could end iperf3."""
AGAIN_S = 0.2


@dataclass(frozen=True)
class Transfer:
    """One flow. NaN and None: not known, most of a flow that the other host sends."""

    direction: Literal["up", "down"]
    """`up`: from this host to the other."""
    address: str
    """Address and port of the server."""
    goodput_bps: float
    """Payload after the first fifth: read here, or acknowledged by the server's kernel."""
    goodput_far_bps: float
    """Payload of the whole flow by iperf3's own count at the server."""
    rtt_idle_s: float
    """Round trip of the handshake before the flow."""
    rtt_loaded_s: float
    """Median of the flow's smoothed round trips."""
    retransmission_rate: float
    """Share of the payload sent; 0 to 1."""
    segments_retransmitted: int | None
    """Segments that the sender retransmitted."""
    tcp_efficiency: float
    """Share of the payload sent that was no retransmission; 0 to 1 (RFC 6349 section 4)."""
    buffer_delay: float
    """Mean round trip under load over the idle one, less 1 (RFC 6349 section 4)."""
    cwnd_limited_share: float
    """Share of the time with data to send in which the congestion window was the limit; 0 to 1."""
    rwnd_limited_share: float
    """Share in which the receiver's window was the limit."""
    sndbuf_limited_share: float
    """Share in which the send buffer was the limit."""
    control: str | None
    """Congestion control of the sender."""
    far_cpu_share: float
    """CPU of the server, as it says: share of one core."""
    lost: str | None
    """Reason why the server was lost before it told its results; None: it was not."""


def transfer(at: str, direction: Literal["up", "down"], seconds: int, control: str | None = None, patience_s: float = 0.0) -> Transfer:
    """Runs one flow for `seconds`, to or from the server at `at`: a host, or host:port; the port is 5201 by default.

    A server that is not there, or is busy, is asked again for `patience_s` seconds.

    ExperimentError where the server is not there, is busy, or is lost before anything was measured.
    """
    end = time.monotonic() + patience_s
    while True:
        try:
            return read(json.loads(live_iperf(at.removeprefix(SCHEME).rstrip("/"), direction == "up", seconds, control)))
        except ExperimentError:
            if time.monotonic() > end:
                raise
        time.sleep(AGAIN_S)


def read(found: dict[str, Any]) -> Transfer:
    """Summary of the flow that this host recorded."""

    def number(value: float | None, scale: float = 1.0) -> float:
        return math.nan if value is None else value * scale

    def ratio(over: float, under: float) -> float:
        return over / under if under > 0 else math.nan

    retransmitted = ratio(number(found["bytes_retransmitted"]), number(found["bytes_sent"]))
    idle = number(found["rtt_idle_ns"], 1e-9)
    rwnd, sndbuf = (ratio(number(found[f"{name}_limited_ns"]), number(found["busy_ns"])) for name in ("rwnd", "sndbuf"))
    return Transfer(
        direction="up" if found["is_up"] else "down",
        address=found["address"],
        goodput_bps=number(found["goodput_bps"]),
        goodput_far_bps=ratio(8 * number(found["far_bytes"]), number(found["far_s"])),
        rtt_idle_s=idle,
        rtt_loaded_s=number(found["rtt_p50_ns"], 1e-9),
        retransmission_rate=retransmitted,
        segments_retransmitted=found["segments_retransmitted"],
        tcp_efficiency=1 - retransmitted,
        buffer_delay=ratio(number(found["rtt_mean_ns"], 1e-9), idle) - 1,
        cwnd_limited_share=1 - rwnd - sndbuf,
        rwnd_limited_share=rwnd,
        sndbuf_limited_share=sndbuf,
        control=found["control"],
        far_cpu_share=number(found["far_cpu_percent"], 0.01),
        lost=found["lost"],
    )


UNKNOWN = (
    "Unknown, since only `longfat serve` tells: queueing delay each way, and of a flow down the sender's round trips, windows and limits. "
    "A flow up counts acknowledged payload."
)


def line(seen: Transfer) -> str:
    """The first screen's line about one direction."""
    parts = [f"{seen.goodput_bps / 1e6:,.1f} Mbit/s"]
    if not math.isnan(seen.goodput_far_bps):
        parts[0] += f" ({seen.goodput_far_bps / 1e6:,.1f} by iperf3's count)"
    parts.append(
        f"RTT {1e3 * seen.rtt_idle_s:.1f} ms idle" + ("" if seen.direction == "down" else f", {1e3 * seen.rtt_loaded_s:.1f} ms under load")
    )
    if not math.isnan(seen.retransmission_rate):
        parts.append(f"{100 * seen.retransmission_rate:.3f} % retransmitted")
    elif seen.segments_retransmitted is not None:
        parts.append(f"{seen.segments_retransmitted:,} segments retransmitted")
    if not math.isnan(seen.cwnd_limited_share):
        parts.append(
            f"limited by the congestion window for {100 * seen.cwnd_limited_share:.0f} % of the time, the receiver's window "
            f"{100 * seen.rwnd_limited_share:.0f} %, the send buffer {100 * seen.sndbuf_limited_share:.0f} %"
        )
    if seen.control:
        parts.append(seen.control)
    return "; ".join(parts)
