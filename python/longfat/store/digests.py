"""Digests of the runs that the rows of a table are of, without a Python string for each."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longfat.lazy import np, pa
from longfat.sweep.hashes import BYTES, digests_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUPS_AT_ONCE = 32
"""Row groups whose hashes are read at once: what is asked for at once is in memory at once."""


def digests_in(rows: Any) -> NDArray[np.bytes_]:
    """The digest of the run of each row of a table or batch. ValueError where one is no hash."""
    parts = rows["run"].chunks if isinstance(rows, pa.Table) else [rows["run"]]
    size = 2 * BYTES
    texts = [part.cast(pa.binary(size)) for part in parts]  # of another length none is a hash
    return digests_of(b"".join(memoryview(one.buffers()[1])[size * one.offset :][: size * len(one)] for one in texts))


def all_digests(file: Any) -> NDArray[np.bytes_]:
    """Returns the digests of all rows of a Parquet file, as `digests_in` does for some."""
    parts: list[NDArray[np.bytes_]] = []
    for start in range(0, file.num_row_groups, GROUPS_AT_ONCE):
        groups = range(start, min(start + GROUPS_AT_ONCE, file.num_row_groups))
        parts += [digests_in(some) for some in file.iter_batches(row_groups=groups, columns=["run"])]
    return np.concatenate(parts)
