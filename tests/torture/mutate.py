"""Texts that are nearly right."""

from __future__ import annotations

import re
from random import Random

NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "3.5",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
]
UNITS = ["ps", "us", "ms", "s", "h", "bit/s", "kbit/s", "Mbit/s", "Tbit/s", "bytes", "KiB", "GiB", "TiB", "packets", "bdp", "segments", ""]
ODD = [
    "",
    "\x00",
    "\x1b[31m",
    "…",
    "\u202e",
    "\U0001f600",
    "'",
    '"',
    "\\",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "#",
    "=",
    ",",
    "\n",
    "$\\bad$",
    "x" * 5000,
]
TOKEN = re.compile(r'"[^"\n]*"|\d+(?:\.\d+)?|\w+|[^\w\s]')


def mutate(random: Random, text: str) -> str:
    """`text` after one to four small changes."""
    for _ in range(random.randrange(1, 5)):
        text = random.choice((_token, _token, _token, _number, _number, _line, _swap, _piece))(random, text)
    return text


def _token(random: Random, text: str) -> str:
    """Another token of the same text, or nothing, or something odd, in the place of one."""
    found = list(TOKEN.finditer(text))
    if not found:
        return text + random.choice(ODD)
    one = random.choice(found)
    return text[: one.start()] + random.choice((random.choice(found)[0], "", random.choice(ODD), one[0] * 2)) + text[one.end() :]


def _number(random: Random, text: str) -> str:
    """Another number, or unit, in the place of one."""
    found = list(re.finditer(r"(\d[\d_.]*)( ?)([A-Za-z/]*)", text))
    if not found:
        return text
    one = random.choice(found)
    number = random.choice((one[1], random.choice(NUMBERS), str(random.randrange(10 ** random.randrange(1, 20)))))
    unit = random.choice((one[3], one[3], random.choice(UNITS)))
    return text[: one.start()] + number + one[2] + unit + text[one.end() :]


def _line(random: Random, text: str) -> str:
    """A line less, or twice, or elsewhere."""
    lines = text.splitlines(keepends=True) or [""]
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.choice((0, 1, 2))):
        lines.insert(random.randrange(len(lines) + 1), line)
    return "".join(lines)


def _swap(random: Random, text: str) -> str:
    """Two tokens change places."""
    found = list(TOKEN.finditer(text))
    if len(found) < 2:
        return text
    one, other = sorted(random.sample(found, 2), key=lambda token: token.start())
    return text[: one.start()] + other[0] + text[one.end() : other.start()] + one[0] + text[other.end() :]


def _piece(random: Random, text: str) -> str:
    """A piece less, or many times."""
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.randrange(1, 80))
    return text[:start] + text[start:end] * random.choice((0, 2, 50)) + text[end:]
