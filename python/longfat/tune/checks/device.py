"""The network interface of the route, as ethtool(8) tells: rings, coalescing, offloads, pause."""

from __future__ import annotations

import re
import shlex

from longfat.advice.linux import Line
from longfat.tune.check import Check, Found, State, by_hand, change, fine
from longfat.tune.host import Host, UnreadableError
from longfat.tune.setting import Setting, of_ethtool
from longfat.tune.target import Target

ETHTOOL = "https://man7.org/linux/man-pages/man8/ethtool.8.html"
ESNET_100G = "https://fasterdata.es.net/host-tuning/linux/100g-tuning/"
SEGMENTATION = "https://docs.kernel.org/networking/segmentation-offloads.html"
STATISTICS = "https://docs.kernel.org/networking/statistics.html"
FAST = 10e9
"""Rate in bit/s from which a ring of the usual size is short: 512 frames of 1500 bytes are 0.6 ms at 10 Gbit/s."""
LOST = ("rx_missed_errors", "rx_fifo_errors", "rx_over_errors")
"""Counters of frames that found no room (Documentation/networking/statistics)."""
OFFLOADS = {"tso": "tcp-segmentation-offload", "gso": "generic-segmentation-offload", "gro": "generic-receive-offload"}
LATE = 0.05
"""Share of the round trip that coalescing may add."""


def _fields(text: str) -> list[tuple[str, str]]:
    """Names and values of lines such as `rx-usecs: 3`."""
    pairs = [line.partition(":") for line in text.splitlines()]
    return [(name.strip(), value.strip()) for name, colon, value in pairs if colon and name.strip()]


def _number(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else None


def _lost(host: Host, device: str) -> int:
    lost = 0
    for name in LOST:
        try:
            lost += max(0, host.integer(f"/sys/class/net/{device}/statistics/{name}"))
        except UnreadableError:
            continue
    return lost


def _rings(host: Host, target: Target, check: Check) -> Found:
    device = target.route.device
    most, _, now = host.command("ethtool", "-g", device).partition("Current hardware settings")
    sizes = [(name, _number(value)) for part in (most, now) for name, value in _fields(part) if name == "RX"]
    if len(sizes) != 2 or sizes[0][1] is None or sizes[1][1] is None:
        raise UnreadableError(f"`ethtool -g {device}` tells no receive ring")
    largest, size = sizes[0][1], sizes[1][1]
    lost = _lost(host, device)
    said = f"{size} of {largest}" + (f", {lost} lost" if lost else "")
    if size >= largest or not (lost or target.question.rate >= FAST):
        return fine(said)
    line = Line(f"ethtool -G {shlex.quote(device)} rx {largest}", f"{check.why}; the link may go down for a moment", check.source)
    pattern = '/^Current/ { now = 1 } now && $1 == "RX:" { print $2; exit }'
    return change(said, str(largest), of_ethtool(device, "receive ring", "-g", pattern, "-G", "rx", str(largest), line))


def _coalescing(host: Host, target: Target, check: Check) -> Found:
    device = target.route.device
    fields = dict(_fields(host.command("ethtool", "-c", device)))
    adaptive, micros = (fields.get("Adaptive RX", "").split() or [""])[0], _number(fields.get("rx-usecs", ""))
    if adaptive == "on":
        return fine("adaptive")
    if micros is None:
        raise UnreadableError(f"`ethtool -c {device}` tells no rx-usecs")
    if micros > LATE * 1e6 * target.question.rtt:
        line = Line(f"ethtool -C {shlex.quote(device)} rx-usecs ...", check.why, check.source)
        return by_hand(f"{micros} us", f"under {100 * LATE:.0f} % of RTT", line)
    if micros or adaptive != "off" or target.question.rate < FAST:
        return fine(f"{micros} us")
    # Few drivers of virtual machines can do this, so no script tries.
    return by_hand("none", "adaptive", Line(f"ethtool -C {shlex.quote(device)} adaptive-rx on", check.why, check.source))


def _offloads(host: Host, target: Target, check: Check) -> Found:
    device = target.route.device
    fields = dict(_fields(host.command("ethtool", "-k", device)))
    states = {short: fields.get(name, "").split() for short, name in OFFLOADS.items()}
    if not any(states.values()):
        raise UnreadableError(f"`ethtool -k {device}` tells no offload")
    off = [short for short, state in states.items() if state and state[0] == "off"]
    open_to_change = [short for short in off if "[fixed]" not in states[short]]
    said = f"{', '.join(off)} off" if off else "on"
    if not open_to_change:
        return fine(said + (" (fixed)" if off else ""))
    return change(said, "on", *(_of_offload(device, short, check) for short in open_to_change))


def _of_offload(device: str, short: str, check: Check) -> Setting:
    pattern = f'$1 == "{OFFLOADS[short]}:" {{ print $2; exit }}'
    line = Line(f"ethtool -K {shlex.quote(device)} {short} on", check.why, check.source)
    return of_ethtool(device, short, "-k", pattern, "-K", short, "on", line)


def _pause(host: Host, target: Target, check: Check) -> Found:
    device = target.route.device
    fields = dict(_fields(host.command("ethtool", "-a", device)))
    states = {name: fields.get(name, "") for name in ("RX", "TX")}
    if not all(re.fullmatch(r"on|off", state) for state in states.values()):
        raise UnreadableError(f"`ethtool -a {device}` tells no pause")
    said = ", ".join(f"{name} {state}" for name, state in states.items())
    if states["RX"] == "off":
        return fine(said)
    # Whether PAUSE helps depends on the switch, so no script decides it.
    return Found(State.FINE, f"{said}: a switch may stop all flows")


RINGS = Check(
    "receive ring",
    "ethtool -g, rx_missed_errors",
    "the largest from 10 Gbit/s, or if frames were lost",
    "a burst overflows a short ring",
    ESNET_100G,
    _rings,
)
COALESCING = Check(
    "coalescing",
    "ethtool -c",
    "adaptive or some us, under 5 % of the round trip",
    "an interrupt per frame uses up a core; a long wait adds to each round trip",
    ETHTOOL,
    _coalescing,
)
OFFLOADS_ON = Check(
    "offloads", "ethtool -k", "TSO, GSO and GRO on", "without them each packet costs its own way through TCP", SEGMENTATION, _offloads
)
PAUSE = Check(
    "pause frames", "ethtool -a", "nothing; they are told", "PAUSE stops all flows of a link (IEEE 802.3 annex 31B)", ETHTOOL, _pause
)
