"""A trace in files: one Parquet file for each table of `Trace.stored`, and JSON for what there is once for a run.

Columns, their names and what a cell means come from the native part (`columns`). A missing value is null.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

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


def write_table(name: str, table: Table, path: Path) -> int:
    """Writes the table `name` of a trace; one without rows is not written. How many rows it has."""
    arrays: dict[str, Any] = {}
    for column, values in table.items():
        form = FORMS[name][column]
        if form == "word":
            arrays[column] = pa.array(values, pa.string())
        else:
            cells = np.asarray(values)
            arrays[column] = pa.array(cells, mask=cells == NONE if form in ("time", "count or none") else None)
    made = pa.table(arrays)
    if made.num_rows:
        # Most tables are small, and their columns many: what Parquet says about columns would be larger than the columns.
        # pyarrow opens no file whose name is not text.
        with path.open("wb") as file:
            pq.write_table(made, file, compression="zstd", write_statistics=False, store_schema=False, write_page_checksum=True)
    return made.num_rows


def read_table(name: str, path: Path, rows: int) -> Table:
    """What `write_table` was given. Columns that this longfat does not know are left out. ValueError where it has not so many rows."""
    forms = FORMS[name]
    if not rows:
        return {column: _empty(form) for column, form in forms.items()}
    with path.open("rb") as file:
        table = pq.ParquetFile(file, page_checksum_verification=True).read()
    if table.num_rows != rows:
        raise ValueError(f"{path.name} has {table.num_rows} rows, and was written with {rows}")
    return {column: _cells(table[column], forms[column]) for column in table.column_names if column in forms}


def to_json(row: Table) -> dict[str, int | None]:
    """The one row of the table `run`; it has only whole numbers."""
    return {column: None if values[0] == NONE else int(values[0]) for column, values in row.items()}


def from_json(row: dict[str, int | None]) -> Table:
    """What `to_json` was given."""
    return {column: np.array([NONE if value is None else value], np.uint64) for column, value in row.items()}


def _empty(form: str) -> Any:
    return [] if form == "word" else np.empty(0, np.float64 if form == "number" else np.uint64)


def _cells(values: Any, form: str) -> Any:
    if form == "word":
        return values.to_pylist()
    return values.to_numpy() if form == "number" else values.cast(pa.uint64()).fill_null(NONE).to_numpy()
