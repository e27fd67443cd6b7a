"""Control and queueing discipline in force on the route."""

from __future__ import annotations

import re
import shlex

from longfat._longfat import registries
from longfat.advice.linux import IP_SYSCTL, NET_SYSCTL, TC_FQ, Line
from longfat.tune.check import Check, Found, by_hand, change, fine
from longfat.tune.host import CONTROL_NAME, Host, UnreadableError
from longfat.tune.setting import Setting, of_sysctl, sysctl_path
from longfat.tune.target import Target

TC_MQ = "https://man7.org/linux/man-pages/man8/tc-mq.8.html"
IP_ROUTE = "https://man7.org/linux/man-pages/man8/ip-route.8.html"
SLOW = ("reno", "vegas", "lp", "nv")
"""Controls that recover by one segment per round trip, or give way to others."""


def controls(host: Host, name: str) -> list[str]:
    """The names of controls that a sysctl lists."""
    words = host.words(sysctl_path(name))
    if not words or not all(CONTROL_NAME.fullmatch(word) for word in words):
        raise UnreadableError(f"{sysctl_path(name)}: expected names of controls, found {' '.join(words)[:40]!r}")
    return words


def _control(host: Host, target: Target, check: Check) -> Found:
    own = target.route.control
    now = own or controls(host, "net.ipv4.tcp_congestion_control")[0]
    if now not in SLOW:
        return fine(f"{now} (of the route)" if own else now)
    if own:
        line = Line(
            "ip route change ... congctl cubic", f"the route to {target.route.address or 'the default'} has its own control", IP_ROUTE
        )
        return by_hand(f"{now} (of the route)", "cubic", line)
    simulated = now in {entry["name"] for entry in registries()["congestion_controls"]}
    setting = of_sysctl("net.ipv4.tcp_congestion_control", "cubic", check.why, check.source)
    return change(now, "cubic", setting, knob=(now, "cubic") if simulated else None)


def _allowed(host: Host, target: Target, check: Check) -> Found:
    del target
    available, allowed = (controls(host, f"net.ipv4.tcp_{which}_congestion_control") for which in ("available", "allowed"))
    missing = [name for name in available if name not in allowed]
    if not missing:
        return fine(" ".join(allowed))
    wanted = [*allowed, *missing]
    setting = of_sysctl("net.ipv4.tcp_allowed_congestion_control", " ".join(wanted), check.why, check.source)
    return change(" ".join(allowed), " ".join(wanted), setting)


def _qdisc(host: Host, target: Target, check: Check) -> Found:
    device = target.route.device
    found = host.tables("tc", "-j", "qdisc", "show", "dev", device)
    roots = [one for one in found if one.get("root") is True]
    if not roots:
        # tc leaves out `noqueue`, which queues nothing (tc(8)).
        return fine("noqueue")
    kind, handle = roots[0].get("kind"), roots[0].get("handle")
    if not isinstance(kind, str) or not re.fullmatch(r"[a-z0-9_]{1,16}", kind, re.ASCII):
        raise UnreadableError(f"`tc qdisc show dev {device}` names no kind of queue")
    below = {one.get("kind") for one in found if one.get("root") is not True}
    if kind in ("fq", "noqueue", "cake") or (kind == "mq" and below == {"fq"}):
        return fine(f"{kind} of fq" if kind == "mq" else kind)
    # A discipline that nobody set has the handle 0 (tc(8)); deleting another's gives back the default one.
    if handle != "0:":
        line = Line(f"tc qdisc replace dev {shlex.quote(device)} root fq", f"somebody set {kind} there, with options of its own", TC_FQ)
        return by_hand(f"{kind}, set by hand", "fq", line)
    wanted = "mq" if kind == "mq" else "fq"
    settings = (
        (of_sysctl("net.core.default_qdisc", "fq", f"{check.why}; for new interfaces, and below mq", NET_SYSCTL),) if kind == "mq" else ()
    )
    settings += (_of_qdisc(device, wanted, check.why if kind != "mq" else f"one fq per transmit queue: {check.why}"),)
    said = "mq of fq" if kind == "mq" else "fq"
    return change(f"{kind} of {', '.join(sorted(map(str, below)))}"[:30] if kind == "mq" else kind, said, *settings, knob=("off", "on"))


def _of_qdisc(device: str, kind: str, why: str) -> Setting:
    own = shlex.quote(device)
    read = f'tc qdisc show dev {own} | awk \'/ root /{{ print ($3 == "0:" ? "default" : $2); exit }}\''
    # Options of a discipline that somebody set meanwhile could not be given back.
    change_it = f'[ "$1" = default ] && tc qdisc del dev {own} root || tc qdisc replace dev {own} root "$1"'
    write = f'case $({read}) in "$1") ;; default | {kind}) {change_it} ;; *) return 1 ;; esac'
    return Setting(
        f"{device}: qdisc", kind, read, write, Line(f"tc qdisc replace dev {own} root {kind}", why, TC_MQ if kind == "mq" else TC_FQ)
    )


CONTROL = Check(
    "control",
    "net.ipv4.tcp_congestion_control, congctl of the route",
    f"none of {', '.join(SLOW)}",
    "one segment per round trip takes minutes to refill a long path (RFC 9438 section 1)",
    f"{IP_SYSCTL}, RFC 9438",
    _control,
    knob="control",
)
QDISC = Check(
    "qdisc",
    "tc qdisc show",
    "fq, or mq of fq",
    "fq spaces the packets of each flow, which spares shallow buffers",
    TC_FQ,
    _qdisc,
    knob="qdisc",
)
ALLOWED = Check(
    "allowed controls",
    "net.ipv4.tcp_allowed_congestion_control",
    "every available one",
    "programs without root may choose no other (EPERM), `longfat run` among them",
    IP_SYSCTL,
    _allowed,
)
