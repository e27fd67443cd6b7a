"""The journal of a writer: finished runs, one behind the other, until there are enough of them for a shard.

A record is `MAGIC`, the length of what follows the digest (4 bytes, little endian), the SHA-256 of it, and the run. A line that a kill
cut short is no record, and nothing but the run that was being written is lost. A journal belongs to whoever holds its lock, and the
next writer of this machine goes on with one that nobody holds.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from longfat.errors import DamagedError
from longfat.lazy import pa
from longfat.store.checksums import sync
from longfat.store.finished import LAYOUTS, Finished, Part, unstacked
from longfat.store.place import machine, new_name

FOLDER = "journals"
ENDING = ".journal"
MAGIC = b"\nlongfat1"
HEAD = struct.Struct("<9sI32s")
SYNC_EVERY_S = 1.0
MOST_BYTES = 2**32 - 2**24
"""Bytes of the rows of a run that a record has room for."""
_LAYOUTS = json.dumps(LAYOUTS).encode()


@cache
def _codec() -> Any:
    return pa.Codec("zstd", 1)


@dataclass(frozen=True)
class Record:
    """Place of a run in a journal."""

    run: str
    journal: str
    start: int
    end: int


class Journal:
    """A journal that this process writes to."""

    def __init__(self, folder: Path, name: str, how: int = os.O_RDWR | os.O_CREAT | os.O_APPEND) -> None:
        self.path = folder / name
        self._file = os.open(self.path, how, 0o666)
        self.size = 0
        self.runs = 0
        self._synced = time.monotonic()

    @classmethod
    def take(cls, folder: Path) -> Journal:
        """One of this machine that nobody holds, or a new one."""
        folder.mkdir(parents=True, exist_ok=True)
        free = next(cls.left_behind(folder, only=machine()), None)
        return free or cls.new(folder)

    @classmethod
    def new(cls, folder: Path) -> Journal:
        """A new one. It is on the disk before anything is in it."""
        made = cls(folder, f"{new_name()}{ENDING}")
        if not made._lock():
            raise AssertionError("a name that nobody has cannot be held")
        sync(folder)
        return made

    @classmethod
    def left_behind(cls, folder: Path, only: str = "") -> Iterator[Journal]:
        """The journals of this machine or of every one that nobody holds, each held from now on and cut to its records."""
        for path in there(folder, only):
            try:
                journal = cls(folder, path.name, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:
                continue
            if not journal._lock():
                journal.close()
                continue
            found = list(records(path))
            journal.size, journal.runs = (found[-1].end if found else 0), len(found)
            os.ftruncate(journal._file, journal.size)
            yield journal

    def _lock(self) -> bool:
        """Takes the lock. False if another process holds it, or if the journal has been turned into a shard meanwhile."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return os.fstat(self._file).st_nlink > 0

    def append(self, data: bytes, wall_s: float = 0.0) -> None:
        """Adds the record of a run that took so long: all of it, or OSError and nothing.

        A record outlives the process that wrote it. It survives a power cut once it is on the disk, where it is put at most once a second
        but at once for a run that took longer: a power cut takes a second's work at the most.
        """
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
        except BaseException:
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(data)
        self.runs += 1
        if wall_s > SYNC_EVERY_S or time.monotonic() - self._synced > SYNC_EVERY_S:
            self.sync()

    def sync(self) -> None:
        """Waits until it is on the disk."""
        getattr(os, "fdatasync", os.fsync)(self._file)  # macOS has no fdatasync
        self._synced = time.monotonic()

    def leave(self) -> None:
        """Leaves it to the next writer; an empty one is removed."""
        try:
            if self.size:
                self.sync()
            else:
                self.path.unlink(missing_ok=True)
        finally:
            self.close()

    def close(self) -> None:
        """Lets go of it."""
        os.close(self._file)


def there(folder: Path, only: str = "") -> list[Path]:
    """The journals in a folder, or those whose names begin with `only`."""
    return sorted(folder.glob(f"{only}*{ENDING}")) if folder.is_dir() else []


def encode(finished: Finished) -> bytes:
    """A record."""
    parts, layouts = finished.parts, _LAYOUTS
    if parts is None:
        pairs = {name: unstacked(table) for name, table in finished.tables.items()}
        parts, layouts = (
            {name: pair[0] for name, pair in pairs.items()},
            json.dumps({name: pair[1] for name, pair in pairs.items()}).encode(),
        )
    elif finished.layouts is not LAYOUTS:
        layouts = json.dumps(finished.layouts).encode()
    said = {name: [part.rows, len(part.numbers), *map(len, part.words)] for name, part in parts.items()}
    head = json.dumps({"facts": finished.facts, "digest": finished.digest, "parts": said}).encode()
    cells = [cells for part in parts.values() for cells in (part.numbers, *part.words)]
    size = sum(map(len, cells))
    if size >= MOST_BYTES:
        raise OSError(errno.EFBIG, f"the run has {size:,} bytes, and a journal takes {MOST_BYTES:,}")
    raw = b"".join([struct.pack("<II", len(head), len(layouts)), head, layouts, *cells])
    run = finished.run.encode()
    body = struct.pack("<HI", len(run), len(raw)) + run + _codec().compress(raw, asbytes=True)
    return HEAD.pack(MAGIC, len(body), hashlib.sha256(body).digest()) + body


def records(path: Path, start: int = 0) -> Iterator[Record]:
    """Yields the whole records of a journal from `start` on. Damaged ones are skipped."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
    except FileNotFoundError:
        return
    data, at = memoryview(text), 0
    while (at := text.find(MAGIC, at)) >= 0:
        body = _body(data[at:])
        if body is None:
            at += 1
            continue
        length, _ = struct.unpack_from("<HI", body)
        end = at + HEAD.size + len(body)
        yield Record(bytes(body[6 : 6 + length]).decode(errors="replace"), path.name, start + at, start + end)
        at = end


def _body(data: memoryview) -> memoryview | None:
    if len(data) < HEAD.size:
        return None
    _, length, digest = HEAD.unpack_from(data)
    body = data[HEAD.size : HEAD.size + length]
    return body if len(body) == length >= 6 and hashlib.sha256(body).digest() == digest else None


def read(folder: Path, record: Record) -> Finished:
    """The run of a record. DamagedError where it is not what was written; FileNotFoundError where the journal is a shard by now."""
    with (folder / record.journal).open("rb") as file:
        file.seek(record.start)
        data = file.read(record.end - record.start)
    body = _body(memoryview(data)) if data.startswith(MAGIC) else None
    if body is None:
        raise DamagedError(f"{folder / record.journal} is damaged: it does not hold the run {record.run}")
    name, size = struct.unpack_from("<HI", body)
    return _decoded(memoryview(_codec().decompress(bytes(body[6 + name :]), decompressed_size=size, asbytes=True)))


def _decoded(raw: memoryview) -> Finished:
    length, described = struct.unpack_from("<II", raw)
    head = json.loads(bytes(raw[8 : 8 + length]))
    start = 8 + length
    said = bytes(raw[start : start + described])
    layouts = LAYOUTS if said == _LAYOUTS else json.loads(said)
    start += described
    parts: dict[str, Part] = {}
    for name, (rows, *sizes) in head["parts"].items():
        ends = list(accumulate(sizes, initial=start))
        cells = [bytes(raw[low:high]) for low, high in pairwise(ends)]
        parts[name] = Part(rows, cells[0], cells[1:])
        start = ends[-1]
    return Finished(head["facts"], parts=parts, layouts=layouts, digest=head["digest"])
