"""The tables of a trace as Arrow has them, one for each table of `Trace.stored`; what there is once for a run, as plain values.

Columns, their names and what a cell means come from the native part (`columns`). A missing value is null.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from longfat._longfat import columns

if TYPE_CHECKING:
    from longfat._longfat import Table

FORMS: dict[str, dict[str, str]] = {
    table: {column["stored"]: column["form"] for column in listed if column["stored"]} for table, listed in columns().items()
}
"""Stored columns by table, and what their cells mean."""
NONE = np.uint64(np.iinfo(np.uint64).max)
"""Stands for a missing whole number in what comes from a trace and goes back to it."""


def from_arrow(name: str, table: pa.Table) -> Table:
    """The table `name` of a trace as `Trace.restore` takes it. Columns that this longfat does not know are left out."""
    forms = FORMS[name]
    return {column: _cells(table[column], forms[column]) for column in table.column_names if column in forms}


def from_plain(row: dict[str, int | None]) -> Table:
    """The table `run` of a trace, from its one row; it has only whole numbers."""
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
    # Data read from the middle of a file may begin at any byte; the native part reads whole words.
    return np.require(cells, requirements="A")
