"""Tables read some rows at a time are those that pandas reads at once, in less memory."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from longfat.store.files import read_opened


def table() -> pa.Table:
    """A column of each kind there is, with and without what is missing: in the first rows, and in others."""
    rows = 1000
    numbers = np.random.default_rng(1).standard_normal(rows)
    some = [None if 300 <= row < 310 else row for row in range(rows)]
    return pa.table(
        {
            "run": pa.array([f"{row:064x}" for row in range(rows)], pa.large_string()),
            "window": pa.array([None if row == 17 else f"{row % 7} KiB" for row in range(rows)], pa.string()),
            "number": numbers,
            "number_or_none": pa.array([None if row % 3 else numbers[row] for row in range(rows)], pa.float64()),
            "count": pa.array(range(rows), pa.int64()),
            "count_or_none": pa.array(some, pa.int64()),
            "seed": pa.array([2**64 - 1 - row for row in range(rows)], pa.uint64()),
            "nothing": pa.nulls(rows),
            "is": pa.array([row % 2 == 0 for row in range(rows)]),
        }
    )


@pytest.mark.parametrize("group", [1, 128, 310, 1000])
@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_a_table_is_read_as_pandas_reads_it(group: int, rows: int) -> None:
    file = io.BytesIO()
    pq.write_table(table().slice(0, rows), file, row_group_size=group)
    made, expected = read_opened(io.BytesIO(file.getvalue())), pd.read_parquet(io.BytesIO(file.getvalue()), engine="pyarrow")
    pd.testing.assert_frame_equal(made, expected, check_exact=True)
    made["number"] *= 2
    pd.testing.assert_series_equal(made["number"], 2 * expected["number"])


def test_a_large_table_is_in_memory_once() -> None:
    rows = 200_000
    file = io.BytesIO()
    columns = {f"metric{number}": np.random.default_rng(number).standard_normal(rows) for number in range(10)}
    pq.write_table(pa.table(columns), file, row_group_size=5000)
    del columns
    # Reading with pandas needs all of it in Arrow's memory, too.
    assert most(lambda: pd.read_parquet(io.BytesIO(file.getvalue()), engine="pyarrow")) > 8 * 10 * rows
    assert most(lambda: read_opened(io.BytesIO(file.getvalue()))) < 8 * 10 * rows / 5


def most(read: Callable[[], object]) -> int:
    """Bytes of Arrow's that it takes at most."""
    usual = pa.default_memory_pool()
    watched = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(watched)
    try:
        read()
    finally:
        pa.set_memory_pool(usual)
    return watched.max_memory()
