"""The target: which path a host is tuned for, and by which device it leaves."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, cast

from longfat.advice.plan import window_of
from longfat.advice.question import Question
from longfat.errors import LongfatError
from longfat.tune.host import CONTROL_NAME, Host, UnreadableError, device_name


@dataclass(frozen=True)
class Route:
    """The way that packets to the other host leave."""

    device: str
    address: str | None = None
    """Address of the other host; None where none was named."""
    control: str | None = None
    """Control that the route itself has (`congctl`, ip-route(8)); None without one."""
    mtu: int | None = None
    """MTU of the device in bytes; None where it is not known."""
    speed: float | None = None
    """Speed of the device in bit/s; None where it tells none."""


@dataclass(frozen=True)
class Target:
    """A path, and the route to it."""

    question: Question
    route: Route

    @property
    def window(self) -> int:
        """Bytes in flight that one flow must be able to have: two bandwidth-delay products, in whole MiB."""
        return window_of(self.question, 1)


def address_of(host: str) -> str:
    """The address of a host that is written as for `longfat measure`. LongfatError where it has none."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] if host.count(":") == 1 else host
    try:
        return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        raise LongfatError(f"{host}: no address is known for it; expected a name or an address such as dtn.example.org") from None


def route(host: Host, address: str | None = None, device: str | None = None) -> Route:
    """The route to `address`, or the default one; `device` overrides its own. LongfatError where the host has none."""
    family = ("-6",) if address and ":" in address else ()
    asked = ("get", address) if address else ("show", "default")
    control = None
    try:
        if device is None or address:
            found = next(iter(host.tables("ip", "-j", *family, "route", *asked)), None)
            control = _control(found or {})
            device = device or device_name(found.get("dev") if found else None)
        device_name(device)
    except UnreadableError as reason:
        raise LongfatError(f"no interface to tune: {reason}. Name one: --device eth0") from None
    if device not in host.names("/sys/class/net"):
        raise LongfatError(f"--device {device}: there is no such interface; see /sys/class/net")
    return Route(device, address, control, _positive(host, device, "mtu"), _speed(host, device))


def _control(found: dict[str, Any]) -> str | None:
    """The control of a route: `congctl` of ip-route(8), which `ip -j` calls `congestion`."""
    metrics = found.get("metrics")
    for one in cast("list[object]", metrics) if isinstance(metrics, list) else []:
        named = cast("dict[str, object]", one).get("congestion") if isinstance(one, dict) else None
        if isinstance(named, str) and CONTROL_NAME.fullmatch(named):
            return named
    return None


def _positive(host: Host, device: str, name: str) -> int | None:
    try:
        value = host.integer(f"/sys/class/net/{device}/{name}")
    except UnreadableError:
        return None
    return value if value > 0 else None


def _speed(host: Host, device: str) -> float | None:
    # Documentation/ABI/testing/sysfs-class-net: Mbit/s; -1 where it is not known.
    found = _positive(host, device, "speed")
    return 1e6 * found if found and found < 10_000_000 else None
