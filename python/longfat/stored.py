"""The tables of a trace as Arrow has them, one for each table of `Trace.stored`; what there is once for a run, as plain values.

Columns, their names and what a cell means come from the native part (`columns`). A missing value is null.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longfat._longfat import columns

if TYPE_CHECKING:
    from longfat._longfat import Table

FORMS: dict[str, dict[str, str]] = {
    table: {column["stored"]: column["form"] for column in listed if column["stored"]} for table, listed in columns().items()
}
"""By table, the columns that are stored, and what their cells mean."""
NONE = np.uint64(np.iinfo(np.uint64).max)
"""Stands for a missing whole number in what comes from a trace and goes back to it."""


def to_arrow(name: str, table: Table) -> pa.Table:
    """The table `name` of a trace, for Parquet."""
    arrays: dict[str, Any] = {}
    for column, values in table.items():
        form = FORMS[name][column]
        if form == "word":
            arrays[column] = pa.array(values, pa.string())
        else:
            cells = np.asarray(values)
            arrays[column] = pa.array(cells, mask=cells == NONE if form in ("time", "count or none") else None)
    return pa.table(arrays)


def from_arrow(name: str, table: pa.Table | None) -> Table:
    """What `to_arrow` was given; of None, a table without rows. Columns that this longfat does not know are left out."""
    forms = FORMS[name]
    if table is None:
        return EMPTY[name].copy()
    return {column: _cells(table[column], forms[column]) for column in table.column_names if column in forms}


def read_table(name: str, path: Path, rows: int) -> Table:
    """A table of a run that has a folder of its own (format 3 or 4). ValueError where it has not so many rows."""
    if not rows:
        return from_arrow(name, None)
    with path.open("rb") as file:
        table = pq.ParquetFile(file, page_checksum_verification=True).read()
    if table.num_rows != rows:
        raise ValueError(f"{path.name} has {table.num_rows} rows, and was written with {rows}")
    return from_arrow(name, table)


def to_plain(row: Table) -> dict[str, int | None]:
    """The one row of the table `run`; it has only whole numbers."""
    return {column: None if values[0] == NONE else int(values[0]) for column, values in row.items()}


def from_plain(row: dict[str, int | None]) -> Table:
    """What `to_plain` was given."""
    return {column: np.array([NONE if value is None else value], np.uint64) for column, value in row.items()}


EMPTY: dict[str, dict[str, Any]] = {
    name: {column: [] if form == "word" else np.empty(0, np.float64 if form == "number" else np.uint64) for column, form in forms.items()}
    for name, forms in FORMS.items()
}


def _cells(values: Any, form: str) -> Any:
    if form == "word":
        return values.to_pylist()
    if form != "number" and values.type != pa.uint64():
        values = values.cast(pa.uint64())
    cells = values.fill_null(NONE).to_numpy() if values.null_count else values.to_numpy()
    # What was read from the middle of a file may begin at any byte; the native part reads whole words.
    return np.require(cells, requirements="A")
