"""Congestion controls in force at two hosts."""

from __future__ import annotations

from longfat._longfat import registries
from longfat.errors import LongfatError
from longfat.live.greeting import met


def own(host: str, key: str | None) -> dict[str, str | None]:
    """Congestion control in force at the sender of each direction, `up` and `down`; None where its kernel does not say.

    An ordinary user need not be allowed any other (tcp(7)). LongfatError where longfat has none of that name, and where the server is
    not there, or says no.
    """
    known = {entry["name"] for entry in registries()["congestion_controls"]}
    found = met(host, key).controls
    for direction, name in found.items():
        if name and name not in known:
            at = "this host" if direction == "up" else host
            raise LongfatError(
                f"{at} has the congestion control {name} in force, which longfat lacks. Name another one by `--control` of "
                "`longfat measure`, or put one in force by sysctl net.ipv4.tcp_congestion_control"
            )
    return found


def line(name: str | None) -> str:
    """The key of a flow with this control; nothing where there is none."""
    # Names of controls are plain words.
    return f'congestion_control = "{name}"' if name else ""
