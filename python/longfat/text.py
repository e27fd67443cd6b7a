"""Text: titles, names and paths that other people wrote; counts and times in words."""

from __future__ import annotations

import re

from longfat.errors import LongfatError

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that tell a terminal to do something (but new lines and tabs), or turn the direction of what follows."""

NOT_IN_NAMES = re.compile(f"[\t\n]|{CONTROL.pattern}")


def clean(text: str) -> str:
    """`text` without what a terminal would obey."""
    return CONTROL.sub("", text)


def check_name(what: str, name: str) -> str:
    """`name`, unless it has control characters: LongfatError, which calls it `what`."""
    if NOT_IN_NAMES.search(name):
        raise LongfatError(f"{what} {name!r} has control characters: rename it")
    return name


def encodable(name: str) -> str:
    """A file's name for a message, with question marks for bytes that are no text."""
    return name.encode("utf-8", "replace").decode("utf-8")


def duration(seconds: float) -> str:
    """A time in words, as exact as an estimate is."""
    if seconds < 1:
        return "a second"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            return count(round(seconds / size), unit)
    raise AssertionError(seconds)


def count(number: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
