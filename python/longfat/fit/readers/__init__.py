"""Readers of measured numbers: one file each, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from longfat.errors import LongfatError
from longfat.fit.data import Measurement
from longfat.fit.readers import capture, flent, iperf3, published, results, ss, table
from longfat.fit.readers.names import Names


@dataclass(frozen=True)
class Reader:
    """A format of measured numbers."""

    name: str
    what: str
    """Its files, in a few words."""
    takes: Callable[[Path], bool]
    read: Callable[[Path, Names], list[Measurement]]


READERS = (
    Reader("results", "a folder of results, of any backend", results.takes, results.read),
    Reader("published", "a paper's folder, or its `published/*.csv`", published.takes, published.read),
    Reader("flent", "a data file of flent (.flent, .flent.gz)", flent.takes, flent.read),
    Reader("iperf3", "the output of `iperf3 --json` or `--json-stream`", iperf3.takes, iperf3.read),
    Reader("capture", "a packet capture (.pcap, .pcapng, also compressed)", capture.takes, capture.read),
    Reader("ss", "a log of `ss -ti`", ss.takes, ss.read),
    Reader("table", "a table of settings and measured values (.csv, .tsv)", table.takes, table.read),
)
"""Every reader; the first that takes a file reads it."""


def read(files: Sequence[str | Path], names: Names | None = None) -> list[Measurement]:
    """The measurements in files. Raises LongfatError for a file that is not there, of no known format, or of another form."""
    made: list[Measurement] = []
    for file in map(Path, files):
        if not file.exists():
            raise LongfatError(f"{file}: there is no such file")
        reader = next((one for one in READERS if one.takes(file)), None)
        if reader is None:
            known = "; ".join(one.what for one in READERS)
            raise LongfatError(f"{file}: the format is not known: expected {known}")
        found = reader.read(file, names or Names())
        if not found:
            raise LongfatError(f"{file}: holds no measurement")
        made += found
    return made
