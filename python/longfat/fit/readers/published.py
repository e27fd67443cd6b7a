"""Published tables of papers: rows of `published/*.csv`, whose conditions are set."""

from __future__ import annotations

from pathlib import Path

from longfat.errors import LongfatError
from longfat.fit.data import Measurement, check_observable
from longfat.fit.readers.names import Names
from longfat.fit.readers.table import SET, toml
from longfat.paper.published import load_published

UNITS = {
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "kb/s": 1e3, "Mb/s": 1e6, "Mbps": 1e6, "Gb/s": 1e9,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "%": 0.01, "1": 1.0, "": 1.0,
}  # fmt: skip
"""Units of published values, each as one of the observable's."""


def takes(path: Path) -> bool:
    """True for the folder of a paper, or of its published tables."""
    return path.is_dir() and any((path if path.name == "published" else path / "published").glob("*.csv"))


def read(path: Path, said: Names) -> list[Measurement]:
    """Reads rows whose quantity is an observable and whose conditions are places in the file. LongfatError where there is none."""
    made: list[Measurement] = []
    for row in load_published(path.parent if path.name == "published" else path):
        quantity = said.column(row.quantity)
        conditions = {said.column(name): said.word(text) for name, text in row.conditions.items() if text and name not in said.rows}
        wanted = said.wanted({"where": row.where, "quantity": row.quantity, **row.conditions})
        if row.value is None or not wanted or not _is_observable(quantity) or not all(map(SET.fullmatch, conditions)):
            continue
        if row.unit not in UNITS:
            raise LongfatError(f"{path}: {row.id}: the unit {row.unit!r} is not known: expected one of {', '.join(UNITS)}")
        scale = UNITS[row.unit]
        spreads = {quantity: row.uncertainty * scale} if row.uncertainty else {}
        made.append(Measurement({name: toml(text) for name, text in conditions.items()}, {quantity: row.value * scale}, spreads, row.id))
    if not made:
        raise LongfatError(
            f"{path}: no row can be fitted: expected quantities that are metrics (goodput_total_bps) and conditions that are places in "
            "the file (flow.window); [fit.columns] says what those of the table are"
        )
    return made


def _is_observable(name: str) -> bool:
    try:
        check_observable(name, "")
    except LongfatError:
        return False
    return True
