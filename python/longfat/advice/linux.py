"""Commands for Linux: lines of sysctl and tc, each with why and where it is documented."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from longfat.advice.candidates import Candidate
from longfat.advice.plan import Plan, maxrate

IP_SYSCTL = "https://docs.kernel.org/networking/ip-sysctl.html"
NET_SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/net.html"
TC_FQ = "https://man7.org/linux/man-pages/man8/tc-fq.8.html"
ESNET_PACING = "https://fasterdata.es.net/host-tuning/linux/packet-pacing/"
GOOGLE_BBR = "https://github.com/google/bbr/blob/v3/README.md"

INT_MAX = (1 << 31) - 1
"""Sizes of socket buffers are ints."""
RMEM, WMEM = (4096, 131072), (4096, 16384)
"""Least and initial sizes: the defaults of Linux (ip-sysctl: tcp_rmem, tcp_wmem)."""

KERNELS = ((4, 19), (5, 15), (6, 1), (6, 6), (6, 18))
"""Versions of the stack `linux` (docs/linux-versions.md)."""


@dataclass(frozen=True)
class Line:
    """One line to type, or to put into /etc/sysctl.d."""

    text: str
    why: str
    source: str


def stack_kernel(release: str) -> str:
    """The version of the stack `linux` for a kernel: the last that is not newer, or the first; empty where `release` names no version."""
    found = re.match(r"([0-9]{1,3})\.([0-9]{1,3})(?![0-9])", release, re.ASCII)
    if not found:
        return ""
    own = (int(found[1]), int(found[2]))
    return ".".join(map(str, max((one for one in KERNELS if one <= own), default=KERNELS[0])))


def sysctl(name: str, value: str, why: str, source: str) -> Line:
    """The line that sets a sysctl."""
    quoted = f'"{value}"' if re.fullmatch(r"[a-z0-9_]+( [a-z0-9_]+)+", value) else shlex.quote(value)
    return Line(f"sysctl -w {name}={quoted}", why, source)


def receive_buffer(window: int) -> int:
    """Most of `tcp_rmem` for `window` bytes in flight: twice that, since as little as half of a buffer is data."""
    return min(2 * window, INT_MAX)


def send_buffer(window: int) -> int:
    """Most of `tcp_wmem` for `window` bytes in flight: half as much again, since a writer waits until a third is free."""
    return min(3 * window // 2, INT_MAX)


def lines(plan: Plan, candidate: Candidate) -> list[Line]:
    """Returns the commands that set a candidate; none where it is what Linux does by itself."""
    made: list[Line] = []
    control = "bbr" if candidate.control == "bbr3" else candidate.control
    needs_fq = candidate.paced or candidate.maxrate is not None or control == "bbr"
    if candidate.untouched:
        return made
    where = GOOGLE_BBR if candidate.kernel else IP_SYSCTL
    needs = f"; needs {candidate.kernel}" if candidate.kernel else ""
    if control not in ("cubic", "reno"):
        made.append(Line(f"modprobe tcp_{control}", f"{control} is a module in most kernels{needs}", where))
    made.append(
        sysctl(
            "net.ipv4.tcp_congestion_control",
            control,
            "for new connections" + ("; what it is unless somebody changed it" if control == "cubic" else ""),
            where,
        )
    )
    window = plan.window(candidate)
    receive, send = receive_buffer(window), send_buffer(window)
    each = "a stream" if candidate.streams > 1 else "the flow"
    why = f"{window >> 20} MiB in flight for {each}; twice that, since as little as half of a buffer is data"
    waits = "half as much again, since a writer that waits for room is woken when a third is free"
    made += [
        sysctl("net.ipv4.tcp_rmem", f"{RMEM[0]} {RMEM[1]} {receive}", f"{why}; at the receiver", IP_SYSCTL),
        sysctl("net.ipv4.tcp_wmem", f"{WMEM[0]} {WMEM[1]} {send}", f"{waits}; at the sender", IP_SYSCTL),
        Line(
            f"sysctl -w net.core.rmem_max={receive} net.core.wmem_max={send}", "for programs that set their buffers themselves", NET_SYSCTL
        ),
    ]
    if needs_fq:
        made.append(sysctl("net.core.default_qdisc", "fq", "fq paces each flow; after the next boot on all interfaces", NET_SYSCTL))
    if candidate.maxrate is not None:
        each_rate = maxrate(plan.question, candidate) / 1e6
        share = f"{100 * candidate.maxrate:.0f} % of the path" + (f", over {candidate.streams} streams" if candidate.streams > 1 else "")
        made.append(
            Line(f"tc qdisc replace dev $ETH root fq maxrate {each_rate:.0f}mbit", f"maxrate is of each flow: {share}", ESNET_PACING)
        )
    elif needs_fq:
        made.append(Line("tc qdisc replace dev $ETH root fq", "the same, now", TC_FQ))
    if candidate.streams > 1:
        made.append(Line(f"iperf3 -P {candidate.streams} ...", "streams are a matter of the program that transfers", ESNET_PACING))
    return made


def arithmetic(plan: Plan, candidate: Candidate) -> str:
    """Arithmetic from the path to the window."""
    question, window = plan.question, plan.window(candidate)
    bdp = question.bdp / (1 << 20)
    buffer = f"or one and the buffer ({question.buffers[0]}), where that is more, " if question.buffers else ""
    shared = f"; each of {candidate.streams} streams may have twice its share" if candidate.streams > 1 else ""
    limit = "; no window is over 1 GiB (RFC 7323)" if window == 1 << 30 else ""
    product = f"the bandwidth-delay product (BDP) is {bdp:.4g} MiB"
    return f"Window: {product}; two of them {buffer}are {2 * bdp:.4g} MiB{shared}{limit}: {window >> 20} MiB."
