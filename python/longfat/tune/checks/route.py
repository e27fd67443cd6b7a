"""Memory of the route: metrics that earlier connections left, and its MTU."""

from __future__ import annotations

import shlex
from itertools import pairwise

from longfat.advice.linux import IP_SYSCTL, Line
from longfat.tune.check import Check, Found, change, fine
from longfat.tune.host import Host, UnreadableError
from longfat.tune.setting import Setting, of_sysctl, sysctl_path
from longfat.tune.target import Target

IP_TCP_METRICS = "https://man7.org/linux/man-pages/man8/ip-tcp_metrics.8.html"
ETHERNET = 1500
"""Bytes of payload of an Ethernet frame (IEEE 802.3)."""


def _metrics(host: Host, target: Target, check: Check) -> Found:
    del target
    saves_none = host.integer(sysctl_path("net.ipv4.tcp_no_metrics_save"))
    try:
        without_ssthresh = host.integer(sysctl_path("net.ipv4.tcp_no_ssthresh_metrics_save"))
    except UnreadableError:
        # The change "Disable TCP ssthresh metrics cache by default" (December 2019) brought it: kernels before save ssthresh.
        without_ssthresh = 0
    if saves_none:
        return fine("nothing is saved")
    if without_ssthresh:
        return fine("ssthresh is not saved")
    return change("ssthresh is saved", "not saved", of_sysctl("net.ipv4.tcp_no_metrics_save", "1", check.why, check.source))


def _saved(host: Host, target: Target, check: Check) -> Found:
    address = target.route.address
    if address is None:
        raise UnreadableError("name the other host: `longfat tune HOST`")
    # The kernel answers with an error where one address has no entry, so all of them are asked for.
    lines = [line.split() for line in host.command("ip", "tcp_metrics", "show").splitlines()]
    words = next((words for words in lines if words[:1] == [address]), list[str]())
    # Words and values in turn, as ip-tcp_metrics(8) has them: `... ssthresh 12 cwnd 10 rtt 30ms ...`.
    kept = [f"{name} {value}" for name, value in pairwise(words) if name in ("ssthresh", "reordering") and value.isdecimal()]
    if not kept:
        return fine("nothing that limits" if words else "nothing")
    quoted = shlex.quote(address)
    line = Line(f"ip tcp_metrics delete {quoted}", check.why, check.source)
    return change(", ".join(kept), "deleted", Setting(f"metrics of {address}", "deleted", "", f"ip tcp_metrics delete {quoted}", line))


def _mtu_probing(host: Host, target: Target, check: Check) -> Found:
    now = host.integer(sysctl_path("net.ipv4.tcp_mtu_probing"))
    if now in (1, 2) or (target.route.mtu or 0) <= ETHERNET:
        return fine(str(now))
    return change("0", "1", of_sysctl("net.ipv4.tcp_mtu_probing", "1", check.why, check.source))


METRICS = Check(
    "saved metrics",
    "net.ipv4.tcp_no_metrics_save, tcp_no_ssthresh_metrics_save",
    "no ssthresh of the past",
    "a loss of an earlier connection ends slow start of the next ones",
    IP_SYSCTL,
    _metrics,
)
SAVED = Check(
    "metrics of HOST",
    "ip tcp_metrics show",
    "neither ssthresh nor reordering",
    "new connections begin with what this one left",
    IP_TCP_METRICS,
    _saved,
)
MTU_PROBING = Check(
    "MTU probing",
    "net.ipv4.tcp_mtu_probing, MTU of the device",
    "1 where the MTU is over 1500",
    "a router that drops jumbo frames in silence stops the connection (RFC 4821, RFC 2923 section 2.1)",
    f"{IP_SYSCTL}, RFC 4821",
    _mtu_probing,
)
