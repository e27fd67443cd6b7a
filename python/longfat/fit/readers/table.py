"""Tables: one row per measurement. Columns with the place of a value in the experiment file are set, the others are measured."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.fit.data import Measurement, check_observable
from longfat.fit.readers.names import Names

SPREAD = "_sd"
"""End of the name of a column with standard deviations."""
SET = re.compile(r"(path|flow|host|router|measure|backend|seed)\b.*")
"""Names of columns that are set: places in the experiment file."""
UNITS = {"bps": "bps", "s": "s", "bytes": "bytes", "packets": "packets"}


def takes(path: Path) -> bool:
    """True for a file that is called as a table is."""
    return path.suffix in (".csv", ".tsv")


def read(path: Path, said: Names) -> list[Measurement]:
    """Reads a table. Raises LongfatError with the line of what is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LongfatError(f"{path}: cannot be read as text: {error}") from error
    rows = csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix == ".tsv" else ",")
    columns = [name.strip() for name in rows.fieldnames or []]
    names = [said.column(name) for name in columns]
    rows.fieldnames = names
    if wrong := [name for name in said.rows if said.column(name) not in names]:
        raise LongfatError(f"{path}:1: has no column {wrong[0]!r}, by which [fit.rows] chooses")
    chosen = {said.column(name) for name in said.rows}
    known = [name for name in names if not SET.fullmatch(name) and not name.endswith(SPREAD) and name not in chosen]
    if not known:
        raise LongfatError(f"{path}:1: no column of measured values: expected names of metrics, such as goodput_total_bps")
    for name in known:
        check_observable(name, f"{path}:1")
    for name in (name for name in names if name.endswith(SPREAD)):
        if name.removesuffix(SPREAD) not in known:
            raise LongfatError(f"{path}:1: the column {name} has no column {name.removesuffix(SPREAD)} beside it")
    made: list[Measurement] = []
    for row in rows:
        where = f"{path}:{rows.line_num}"
        if None in row or None in row.values():
            raise LongfatError(f"{where}: not as many cells as there are columns")
        cells = {name: str(cell).strip() for name, cell in row.items()}
        if not any(cells.values()) or not said.wanted(dict(zip(columns, cells.values(), strict=True))):
            continue
        setting = {name: toml(said.word(cells[name])) for name in names if SET.fullmatch(name) and name not in chosen and cells[name]}
        values = {name: _number(name, cells[name], where) for name in known if cells[name]}
        spreads = {name: _number(name, cells[name + SPREAD], where) for name in known if cells.get(name + SPREAD)}
        made.append(Measurement(setting, values, {name: one for name, one in spreads.items() if name in values}, where))
    return made


def toml(cell: str) -> str:
    """A cell as a value of the experiment file: numbers, `true` and tables as they are, all else as text."""
    plain = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|[{\[].*[}\]]", cell)
    return cell if plain else json.dumps(cell)


def _number(name: str, cell: str, where: str) -> float:
    """A cell in the unit of its column: a plain number, or a quantity with its unit."""
    try:
        value = float(cell)
    except ValueError:
        found = quantity(cell)
        unit = UNITS.get(name.removesuffix(SPREAD).rpartition("_")[2])
        if not found or found[1] != unit:
            what = {"bps": "bit/s, or with its unit: 94 Mbit/s", "s": "seconds, or with its unit: 20 ms"}.get(unit or "", "plain")
            raise LongfatError(f"{where}: {name} is {cell!r}: expected a number ({what})") from None
        value = found[0]
    if not math.isfinite(value):
        raise LongfatError(f"{where}: {name} is {cell!r}: expected a number")
    return value
