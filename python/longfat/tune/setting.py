"""Settings: how the shell reads one, writes one, and shows one as a line to type."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from longfat.advice.linux import Line, sysctl


@dataclass(frozen=True)
class Setting:
    """One value of a host, and the value it should have."""

    name: str
    """Name, as people know it: a sysctl, or a device and its parameter."""
    value: str
    read: str
    """Shell command that prints the value; empty: there is nothing to give back."""
    write: str
    """Shell command that sets the value `"$1"`."""
    line: Line
    path: str = ""
    """Its file; empty: it is none."""


def of_file(name: str, path: str, value: str, line: Line) -> Setting:
    """A setting that is a file."""
    place = shlex.quote(path)
    return Setting(name, value, f"cat {place}", f"printf '%s\\n' \"$1\" >{place}", line, path)


def of_sysctl(name: str, value: str, why: str, source: str) -> Setting:
    """A setting of sysctl, by its name with dots."""
    return of_file(name, sysctl_path(name), value, sysctl(name, value, why, source))


def sysctl_path(name: str) -> str:
    """The file of a sysctl."""
    return f"/proc/sys/{name.replace('.', '/')}"


def of_ethtool(device: str, what: str, ask: str, pattern: str, change: str, parameter: str, value: str, line: Line) -> Setting:
    """A setting of a device: `ethtool ask` prints it in the line that `pattern` (awk) prints, `ethtool change` sets `parameter`."""
    own = shlex.quote(device)
    read = f"ethtool {ask} {own} | awk {shlex.quote(pattern)}"
    return Setting(f"{device}: {what}", value, read, f'ethtool {change} {own} {parameter} "$1"', line)
