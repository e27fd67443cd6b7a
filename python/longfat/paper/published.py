"""The published numbers: tables in `published/*.csv`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from longfat.errors import LongfatError

COLUMNS = ("id", "where", "page", "quantity", "value", "unit", "uncertainty", "note")


@dataclass(frozen=True)
class Row:
    """One published number. `row["build"]` is the text of the condition `build`."""

    id: str
    where: str
    page: str
    quantity: str
    conditions: Mapping[str, str]
    value: float | None
    unit: str
    uncertainty: float | None
    note: str

    @property
    def test(self) -> tuple[object, ...]:
        """Quantity and conditions: rows with the same are of one result."""
        return (self.quantity, *sorted((name, text) for name, text in self.conditions.items() if text))

    def __getitem__(self, condition: str) -> str:
        """The text of a condition; KeyError where the table has no such column."""
        return self.conditions[condition]


def load_published(folder: Path) -> list[Row]:
    """Every row of `folder/published/*.csv`, in the order of file names and lines."""
    rows: list[Row] = []
    seen: dict[str, str] = {}
    for path in sorted((folder / "published").glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise LongfatError(f"{path}:1: missing column {', '.join(missing)}")
            for line in reader:
                where = f"{path}:{reader.line_num}"
                if None in line or None in line.values():
                    raise LongfatError(f"{where}: not as many cells as there are columns")
                if line["id"] in seen:
                    raise LongfatError(f"{where}: the id {line['id']!r} is already at {seen[line['id']]}")
                seen[line["id"]] = where
                rows.append(_row(cast("dict[str, str]", line), where))
    return rows


def _row(line: dict[str, str], where: str) -> Row:
    def number(column: str) -> float | None:
        try:
            return float(line[column]) if line[column].strip() else None
        except ValueError:
            raise LongfatError(f"{where}: {column} is {line[column]!r}, expected a number or nothing") from None

    return Row(
        id=line["id"],
        where=line["where"],
        page=line["page"],
        quantity=line["quantity"],
        conditions={name: text for name, text in line.items() if name not in COLUMNS},
        value=number("value"),
        unit=line["unit"],
        uncertainty=number("uncertainty"),
        note=line["note"],
    )
