"""Files of facts (JSON) and tables (Parquet) in a place."""

# pandas leaves the type of cells open, and pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import errno
import json
import os
from typing import Any, cast

from longfat.errors import DamagedError
from longfat.lazy import np, pa, pd, pq
from longfat.store.place import Place

FORMAT_VERSION = 1
"""Version of the layout of results (docs/results-shards.md): longfat writes it, and reads no newer one."""
NUMBERS = ("double", "int64", "uint64")
"""Kinds of columns that are put into arrays as they are read; words are kept as Arrow has them."""


def read_json(place: Place, name: str, *needed: str) -> dict[str, Any]:
    """The table of facts in a file. DamagedError where there is none in it, or one without what is needed."""
    path = place.where / name
    try:
        facts = json.loads(place.read(name).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    if not (isinstance(facts, dict) and all(one in facts for one in needed)):
        raise DamagedError(f"{path} is damaged: it does not hold what it should")
    return cast("dict[str, Any]", facts)


def json_bytes(value: object) -> bytes:
    """Makes the bytes that `read_json` reads; null for NaN, which JSON has not."""
    return (json.dumps(_plain(value), indent=2, allow_nan=False) + "\n").encode()


def read_table(place: Place, name: str) -> pd.DataFrame:
    """A table of users' columns. OSError, ValueError where it is damaged."""
    with place.open(name) as file:
        return read_opened(file)


def read_opened(file: Any) -> pd.DataFrame:
    """Reads a table of users' columns from an open file, as `pandas.read_parquet` would.

    Row groups are read one after the other, so that reading a table of a million rows needs little more memory than the table.
    """
    # No threads are used: a thread that still runs when the process ends aborts it.
    with pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False) as source:
        rows, schema = source.metadata.num_rows, source.schema_arrow
        columns: dict[str, Any] = {
            field.name: np.empty(rows, field.type.to_pandas_dtype()) if str(field.type) in NUMBERS else [] for field in schema
        }
        start = 0
        for number in range(source.num_row_groups):
            some = source.read_row_group(number, use_threads=False)
            for name, column in list(columns.items()):
                here = some[name]
                if isinstance(column, list):
                    column.append(here)
                    continue
                if here.null_count and column.dtype != np.float64:
                    # A whole number that is missing is NaN, as pandas has it.
                    column = columns[name] = column.astype(np.float64)
                column[start : start + len(here)] = here.to_numpy()
            start += len(some)
        made = {
            name: pa.chunked_array([chunk for part in column for chunk in part.chunks], schema.field(name).type).to_pandas()
            if isinstance(column, list)
            else column
            for name, column in columns.items()
        }
    return pd.DataFrame(made, index=pd.RangeIndex(rows), copy=False)


def version_of(facts: dict[str, Any]) -> int:
    """The format that facts are of; 0 where they do not say."""
    version = facts.get("format_version", 0)
    return version if isinstance(version, int) else 0


def reason(error: OSError) -> str:
    """Why the system refuses, in a line."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{os.strerror(error.errno)}; make room and run the same command again"
    return os.strerror(error.errno) if error.errno else str(error)


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
