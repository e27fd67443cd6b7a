"""Digests of files: by them damage to results is noticed.

A folder of results has a file `SHA256SUMS`, which says of its other files what they were when they were written. It is of the form that
`sha256sum --check SHA256SUMS` reads, too.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from longfat.errors import DamagedError

if TYPE_CHECKING:
    from longfat.store.place import Place

NAME = "SHA256SUMS"
LINE = re.compile(r"([0-9a-f]{64})  ([^/\n]+)")
AT_ONCE = 1 << 20


def digest(place: Place, name: str) -> str:
    """SHA-256 of what is in a file, in hexadecimal."""
    made = hashlib.sha256()
    with place.open(name) as content:
        while part := content.read(AT_ONCE):
            made.update(part)
    return made.hexdigest()


def of_bytes(content: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read(place: Place) -> dict[str, str]:
    """The digest of each file of a place by its name; empty where it has none. DamagedError where they cannot be read."""
    try:
        lines = place.read(NAME).decode("ascii").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise DamagedError(f"{place.where / NAME} is damaged") from None
    found = [LINE.fullmatch(line) for line in lines]
    sums = {match[2]: match[1] for match in found if match}
    if len(sums) != len(lines) or not sums:
        raise DamagedError(f"{place.where / NAME} is damaged")
    return sums


def text(sums: Mapping[str, str]) -> str:
    """Returns the text of `SHA256SUMS`."""
    return "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))


def check(place: Place, names: Iterable[str], sums: Mapping[str, str]) -> None:
    """DamagedError for the first file of these names that is not what was written."""
    for name in names:
        path = place.where / name
        if name not in sums:
            raise DamagedError(f"{place.where / NAME} is damaged: it does not say what {name} is")
        try:
            found = digest(place, name)
        except FileNotFoundError:
            raise DamagedError(f"{path} is gone") from None
        if found != sums[name]:
            raise DamagedError(f"{path} is damaged: it is not what was written")


def sync(path: Path) -> None:
    """Waits until a file, or the list of files of a folder, is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
