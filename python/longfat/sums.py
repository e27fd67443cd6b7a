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

from longfat.errors import DamagedError

NAME = "SHA256SUMS"
LINE = re.compile(r"([0-9a-f]{64})  ([^/\n]+)")


def digest(file: Path) -> str:
    """SHA-256 of what is in `file`, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read(folder: Path) -> dict[str, str]:
    """The digest of each file of a folder by its name; empty where the folder has none. DamagedError where they cannot be read."""
    path = folder / NAME
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise DamagedError(f"{path} is damaged") from None
    found = [LINE.fullmatch(line) for line in lines]
    sums = {match[2]: match[1] for match in found if match}
    if len(sums) != len(lines) or not sums:
        raise DamagedError(f"{path} is damaged")
    return sums


def text(sums: Mapping[str, str]) -> str:
    """What stands in `SHA256SUMS`."""
    return "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))


def check(folder: Path, names: Iterable[str], sums: Mapping[str, str]) -> None:
    """DamagedError for the first file of these names that is not what was written."""
    for name in names:
        path = folder / name
        if name not in sums:
            raise DamagedError(f"{folder / NAME} is damaged: it does not say what {name} is")
        try:
            found = digest(path)
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
