"""The tables of a trace as Arrow has them, one for each table of `Trace.stored`; what there is once for a run, as plain values.

Columns, their names and what a cell means come from the native part (`columns`). A missing value is null.

`pyarrow.array` and `to_numpy` import pandas, which takes longer than many a run. `column_of`, `numbers_of` and `cells_in` do without: they
make and read the buffers of the columnar format (Apache Arrow, Columnar Format, "Fixed-size Primitive Layout" and "Variable-size Binary
Layout").
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from longfat._longfat import columns
from longfat.lazy import np, pa

if TYPE_CHECKING:
    from longfat._longfat import Table

FORMS: dict[str, dict[str, str]] = {
    table: {column["stored"]: column["form"] for column in listed if column["stored"]} for table, listed in columns().items()
}
"""Stored columns by table, and what their cells mean."""
NONE = 2**64 - 1
"""Stands for a missing whole number in what comes from a trace and goes back to it."""


def column_of(values: Sequence[Any], kind: str) -> pa.Array:
    """A column of a type that has the name `kind`: words, or numbers. None is null."""
    there = [value is not None for value in values]
    missing = None if all(there) else ~np.array(there)
    if "string" not in kind:
        return numbers_of(np.array([0 if value is None else value for value in values], kind), missing)
    texts = [(value or "").encode() for value in values]
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int64 if kind == "large_string" else np.int32)
    of_kind = pa.large_string() if kind == "large_string" else pa.string()
    return pa.Array.from_buffers(of_kind, len(texts), [_bits(missing), pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])


def numbers_of(values: Any, missing: Any = None) -> pa.Array:
    """A column of the numbers or truths in an array, null where they are `missing`."""
    held = [np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)]
    kind = pa.bool_() if values.dtype == np.bool_ else pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_bits(missing), *map(pa.py_buffer, held)])


def cells_in(found: Any) -> Any:
    """The numbers of a column or an array as numpy has them: NONE, or NaN, in the place of a null."""
    kind = np.dtype(str(found.type))  # Arrow calls float64 "double", as numpy does
    parts = [_cells_of_chunk(chunk, kind) for chunk in getattr(found, "chunks", [found]) if len(chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, kind), *parts])


def _cells_of_chunk(chunk: Any, kind: Any) -> Any:
    bits, held = chunk.buffers()
    values = np.frombuffer(held, kind, len(chunk), kind.itemsize * chunk.offset)
    if not chunk.null_count:
        return values
    there = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[chunk.offset :][: len(chunk)].astype(np.bool_)
    return np.where(there, values, math.nan if kind.kind == "f" else NONE).astype(kind)


def _bits(missing: Any) -> Any:
    return None if missing is None or not missing.any() else pa.py_buffer(np.packbits(~missing, bitorder="little"))


def from_arrow(name: str, table: pa.Table) -> Table:
    """The table `name` of a trace as `Trace.restore` takes it. Columns that this longfat does not know are left out."""
    forms = FORMS[name]
    return {column: _cells(table[column], forms[column]) for column in table.column_names if column in forms}


def from_plain(row: dict[str, int | None]) -> Table:
    """The table `run` of a trace, from its one row; it has only whole numbers."""
    return {column: np.array([NONE if value is None else value], np.uint64) for column, value in row.items()}


def empty(name: str) -> dict[str, Any]:
    """The columns of the table `name` without rows."""
    kinds = {"number": np.float64}
    return {column: [] if form == "word" else np.empty(0, kinds.get(form, np.uint64)) for column, form in FORMS[name].items()}


def _cells(values: Any, form: str) -> Any:
    if form == "word":
        return values.to_pylist()
    if form != "number" and values.type != pa.uint64():
        values = values.cast(pa.uint64())
    # Data read from the middle of a file may begin at any byte; the native part reads whole words.
    return np.require(cells_in(values), requirements="A")
