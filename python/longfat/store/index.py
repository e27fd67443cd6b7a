"""Index of a shard: the first 8 bytes of each hash, sorted, with the number of its row in `runs`.

It is a Parquet file like the tables, 12 bytes per run. One run of a million is found by one row group of it, and the runs that a shard
has in common with others by reading the index alone. Two runs may have the same first bytes, so the row in `runs` is checked.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longfat.lazy import np, pa
from longfat.store.arrow import cells_in, numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "index"
"""The folder of these files."""
GROUP_ROWS = 1 << 16
"""Rows of a row group: what is read to find one run."""
FEW = 16
"""Number of runs above which all row groups are read."""


def prefixes_of(digests: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """The first bytes of digests. They sort as the digests do."""
    return np.ascontiguousarray(digests).view(">u8")[:: digests.dtype.itemsize // 8].astype(np.uint64)


def table_of(prefixes: NDArray[np.uint64]) -> pa.Table:
    """The rows of the file, for runs of which these are the prefixes, row by row."""
    order = np.argsort(prefixes, kind="stable")
    return pa.table({"prefix": numbers_of(prefixes[order]), "row": numbers_of(order.astype(np.uint32))})


def groups_with(footer: Any, prefixes: NDArray[np.uint64]) -> list[int]:
    """The row groups that may have some of these prefixes, which are sorted."""
    every = range(footer.num_row_groups)
    if len(prefixes) > FEW:
        return list(every)
    found: list[int] = []
    for number in every:
        said = footer.row_group(number).column(0).statistics
        if said is None or not said.has_min_max or any(said.min <= prefix <= said.max for prefix in prefixes.tolist()):
            found.append(number)
    return found


def rows_with(part: pa.Table, prefixes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The numbers of the rows in `runs`, sorted, of those in `part` that have one of these prefixes, which are sorted."""
    here = cells_in(part["prefix"])
    place = np.searchsorted(prefixes, here)
    return np.sort(cells_in(part["row"])[prefixes.take(place, mode="clip") == here]).astype(np.int64)
