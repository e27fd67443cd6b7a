"""The limit of a flow between two hosts in words: how sure it is, and what to change."""

from __future__ import annotations

import math

SENDER, RECEIVER, NEITHER = "the sender", "the receiver", ""
LONGER = "measure for longer, with `--seconds 60`"
CHANGES: dict[str, tuple[str, str]] = {
    "receive window": (RECEIVER, 'try `sysctl -w net.ipv4.tcp_rmem="4096 131072 {most}"`, and measure again'),
    "closing window": (RECEIVER, "the process that reads is too slow: look for load there, with `top` and `mpstat`"),
    "receiver's ring": (
        RECEIVER,
        "packets are dropped on arrival: look at `ethtool -S` and /proc/net/softnet_stat, enlarge the ring with `ethtool -G`",
    ),
    "send buffer": (SENDER, 'try `sysctl -w net.ipv4.tcp_wmem="4096 16384 {most}"`, and measure again'),
    "application": (SENDER, "the process that writes is too slow: look for load there, with `top` and `mpstat`"),
    "Nagle and delayed ACKs": (SENDER, "set TCP_NODELAY, or write each message at once"),
    "congestion, by loss": (
        NEITHER,
        "the queue of the bottleneck overflows: more rate needs a faster bottleneck, less delay fq_codel there",
    ),
    "congestion, by ECN": (NEITHER, "the bottleneck marks packets: more rate needs a faster bottleneck"),
    "active queue management": (
        NEITHER,
        "the bottleneck drops early: ECN saves the losses, with `sysctl -w net.ipv4.tcp_ecn=1` at both hosts",
    ),
    "bursts over a small buffer": (
        SENDER,
        "pace packets, with `sysctl -w net.core.default_qdisc=fq`; or enlarge the buffer of the bottleneck",
    ),
    "random loss": (NEITHER, "look for errors on each link, with `ip -s link` and `ethtool -S`; try `--control bbr`"),
    "policer": (NEITHER, "ask who runs the path for the rate that it enforces"),
    "reordering": (NEITHER, "look for parallel links on the path, or queues per packet"),
    "path change": (NEITHER, "trace the route before and after, with `longfat probe`"),
    "a full path": (NEITHER, "nothing: more rate needs a faster bottleneck"),
    "a window that still grows": (NEITHER, LONGER),
    "too short to tell": (NEITHER, LONGER),
    "cannot tell": (NEITHER, f"{LONGER}, and let UDP through for probes"),
}
"""Host to look at and what to do there, for each cause of a verdict."""
AT_HOSTS = frozenset(("receive window", "closing window", "receiver's ring", "send buffer", "application", "Nagle and delayed ACKs"))
"""Causes at an end of the path: such a flow does not tell the rate of the path."""


def sure(confidence: float) -> str:
    """Confidence in words."""
    if math.isnan(confidence) or confidence <= 0:
        return "not sure at all"
    return f"{100 * confidence:.0f} % sure"


def change(cause: str, direction: str, window_bytes: int) -> str:
    """The change to make, and its host. `window_bytes` fill the path at the flow's rate; `direction` is `up` from this host, or `down`."""
    where, what = CHANGES[cause]
    # A buffer also holds headers and control information: as much again. The rate of a flow with a small one says little: four times.
    most = 2 ** math.ceil(math.log2(max(8 * window_bytes, 1 << 22)))
    host = "" if not where else "at this host, " if (where == SENDER) == (direction == "up") else "at the other host, "
    return f"{host}{what.format(most=most)}"
