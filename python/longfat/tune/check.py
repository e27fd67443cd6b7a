"""Checks: what one reads, what it wants, why, and what it found on a host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from longfat.advice.linux import Line
from longfat.tune.host import Host, UnreadableError
from longfat.tune.setting import Setting
from longfat.tune.target import Target


class State(Enum):
    """Outcome of a check."""

    CHANGE = "change"
    """A script can set it."""
    BY_HAND = "by hand"
    """A person must change it: it needs a reboot, or belongs to somebody else."""
    FINE = "fine"
    UNREADABLE = "unreadable"
    """This host does not tell, or lacks it."""


@dataclass(frozen=True)
class Found:
    """Finding of a check."""

    state: State
    now: str
    """Value of the host, or why it is not readable."""
    wanted: str = ""
    settings: tuple[Setting, ...] = ()
    line: Line | None = None
    """Line for a person, where no script can set it."""
    knob: tuple[float | str, float | str] | None = None
    """Value now and value wanted, as the simulator has them; None where it cannot express them, or they are the same."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """Lines to type."""
        return (self.line,) if self.line else tuple(setting.line for setting in self.settings)


@dataclass(frozen=True)
class Check:
    """One row of the registry."""

    name: str
    reads: str
    wants: str
    why: str
    source: str
    look: Callable[[Host, Target, Check], Found]
    knob: str = ""
    """Name of what the simulator changes (`simulate.KNOBS`); empty where it cannot express the check."""


@dataclass(frozen=True)
class Row:
    """A check and what it found."""

    check: Check
    found: Found


def look(host: Host, target: Target, checks: tuple[Check, ...]) -> list[Row]:
    """Every check on a host, in their order; one that this host does not answer is a row, too."""
    return [Row(check, _look(host, target, check)) for check in checks]


def _look(host: Host, target: Target, check: Check) -> Found:
    try:
        found = check.look(host, target, check)
    except UnreadableError as reason:
        return Found(State.UNREADABLE, str(reason))
    if any(setting.path and host.is_read_only(setting.path) for setting in found.settings):
        return replace(found, state=State.BY_HAND, now=f"{found.now} (read-only in this network namespace)", knob=None)
    return found


def fine(now: str) -> Found:
    """A value that can stay."""
    return Found(State.FINE, now)


def change(now: str, wanted: str, *settings: Setting, knob: tuple[float | str, float | str] | None = None) -> Found:
    """A value that a script can set."""
    return Found(State.CHANGE, now, wanted, settings, knob=knob)


def by_hand(now: str, wanted: str, line: Line | None = None) -> Found:
    """A value for a person to change."""
    return Found(State.BY_HAND, now, wanted, line=line)
