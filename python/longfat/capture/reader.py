"""Captures in: the TCP connections of captures, and what was found of each."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from longfat._longfat import Capture, Connection, trace, trace_packets
from longfat.capture.compare import Row
from longfat.capture.experiment import experiment
from longfat.capture.page import trace_page
from longfat.errors import CaptureError
from longfat.lazy import pd

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Progress = Callable[[float], object]
MOST = 4_000_000
"""Packets of a connection that `packets` gives, unless more is asked for: about 3 GB of memory."""
KEEP = 10_000
"""Connections that `read` keeps, unless more is asked for."""


def read(files: Files, *, keep: int = KEEP, progress: Progress | None = None) -> Capture:
    """Reads captures as one, whatever compresses them.

    It keeps the `keep` connections with the most data, so memory does not grow with the files. `progress` hears the share that is read.
    `notes` says what is wrong with a file; the readable part is used. CaptureError where nothing can be read.
    """
    if keep < 1:
        raise CaptureError(f"keep={keep}: expected a number of connections, 1 or more")
    return trace(_named(files), keep, progress)


def packets(files: Files, connection: int, *, most: int = MOST, progress: Progress | None = None) -> pd.DataFrame:
    """The packets of one connection of captures, a row each, in the columns of the table `packets` of a run.

    Times count from the first packet of the capture, offsets from the first byte of the stream (or the first one captured). `forward`
    is the way with more data. An event is `sent` or `delivered` where the capture was taken at an end, and else `queued`; `link` is NaN.

    CaptureError where there is no such connection, or more than `most` packets of it.
    """
    table = pd.DataFrame(trace_packets(_named(files), connection, most, progress))
    return table.astype(dict.fromkeys(("event", "direction", "flags", "ecn"), "str"))


def write_experiment(found: Capture, file: str | os.PathLike[str], connection: int | None = None) -> None:
    """Writes path and flow of a connection of what `read` found as an experiment; of the one with most data, if no number is given.

    CaptureError where it is not there, shows too little, or the file cannot be written.
    """
    _write(file, experiment(chosen(found, connection)))


def write_page(
    files: Files,
    found: Capture,
    file: str | os.PathLike[str],
    connection: int | None = None,
    *,
    rows: Sequence[Row] = (),
    progress: Progress | None = None,
) -> None:
    """Writes a page that needs nothing else: what `read` found in `files`, and the graphs of a connection.

    It is the one with most data, if no number is given. `rows` is what `longfat.capture.comparison` gave for it.

    CaptureError where it is not there, has more packets than `packets` gives, or the page cannot be written.
    """
    one = chosen(found, connection)
    _write(file, trace_page(found, one, packets(files, one.number, progress=progress), rows).html)


def chosen(found: Capture, connection: int | None) -> Connection:
    """A connection of what `read` found by its number, or the one with most data. CaptureError where it is not there."""
    among = [one for one in found.connections if connection in (None, one.number)]
    if not among:
        raise CaptureError(_missing(found, connection))
    return max(among, key=lambda one: one.data.bytes_acked)


def _missing(found: Capture, connection: int | None) -> str:
    kept = len(found.connections)
    every = kept + found.left_out
    if connection is None or not every:
        return "there is no connection in it"
    if 0 <= connection < every:
        return (
            f"connection {connection} is not among the {kept:,} with the most data of {every:,}, which alone were kept: "
            f"--keep {every} keeps all (in Python keep={every})"
        )
    return f"there is no connection {connection} in it: it has {every:,}, numbered from 0"


def _write(file: str | os.PathLike[str], text: str) -> None:
    try:
        Path(file).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CaptureError(f"cannot write {os.fspath(file)}: {error}") from error


def _named(files: Files) -> list[str]:
    return [os.fspath(files)] if isinstance(files, str | os.PathLike) else [os.fspath(file) for file in files]
