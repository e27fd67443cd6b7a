"""Switches of TCP: a sysctl each, and the values that suit a long fat path."""

from __future__ import annotations

from longfat.advice.linux import IP_SYSCTL
from longfat.tune.check import Check, Found, change, fine
from longfat.tune.host import Host
from longfat.tune.setting import of_sysctl, sysctl_path
from longfat.tune.target import Target


def _flag(name: str, sysctl: str, good: tuple[int, ...], why: str, source: str, knob: str = "") -> Check:
    """A check that `sysctl` has one of the `good` values, of which the first is set."""

    def look(host: Host, target: Target, check: Check) -> Found:
        del target
        now = host.integer(sysctl_path(sysctl))
        if now in good:
            return fine(str(now))
        setting = of_sysctl(sysctl, str(good[0]), check.why, check.source)
        return change(str(now), str(good[0]), setting, knob=(now, good[0]) if knob else None)

    return Check(name, sysctl, " or ".join(map(str, good)), why, source, look, knob)


FLAGS = (
    _flag(
        "idle restart",
        "net.ipv4.tcp_slow_start_after_idle",
        (0,),
        "a program that pauses begins again with a small window: RFC 2861, which RFC 7661 replaced",
        f"{IP_SYSCTL}, RFC 7661",
        "idle restart",
    ),
    _flag("receive autotuning", "net.ipv4.tcp_moderate_rcvbuf", (1,), "without it the buffer stays at its initial size", IP_SYSCTL),
    _flag(
        "window scaling",
        "net.ipv4.tcp_window_scaling",
        (1,),
        "without it no window is over 64 KiB (RFC 7323 section 2)",
        f"{IP_SYSCTL}, RFC 7323",
    ),
    _flag("SACK", "net.ipv4.tcp_sack", (1,), "without it one round trip repairs one loss (RFC 6675 section 1)", f"{IP_SYSCTL}, RFC 2018"),
    _flag(
        "timestamps",
        "net.ipv4.tcp_timestamps",
        (1, 2),
        "sequence numbers wrap within seconds at high rates (PAWS, RFC 7323 section 5)",
        f"{IP_SYSCTL}, RFC 7323",
    ),
)
