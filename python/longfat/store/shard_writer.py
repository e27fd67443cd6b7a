"""Writing a shard: its files first, and last `NAME.json`, with which it is there (`shard` says what they are)."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import base64
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any

from longfat.lazy import np, pa, pq
from longfat.store import index
from longfat.store.arrow import cells_in, column_of, numbers_of
from longfat.store.digests import digests_in
from longfat.store.files import FORMAT_VERSION
from longfat.store.finished import FACTS, TRACE_TABLES, Finished, stacked
from longfat.store.place import UNFINISHED, Place, new_name
from longfat.store.shard import FOLDER, Shard, passing_over_damage
from longfat.sweep.hashes import Hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUP_CELLS = 500_000
"""Cells of a row group, about: what has to be read for one run of many."""
GROUP_RUNS = 2048
"""Rows of a row group of `runs`, whose cells are larger."""
PARTS = 256
"""Pieces of a row group that are kept apart until it is written."""


class ShardWriter:
    """A shard that is being made. It is there after `commit`."""

    def __init__(self, place: Place, replaces: Iterable[str] = ()) -> None:
        self.place = place
        self.name = new_name()
        self.replaces = sorted(replaces)
        self._tables: dict[str, _TableWriter] = {}
        self._rows = dict.fromkeys(TRACE_TABLES, 0)
        self._prefixes: list[NDArray[np.uint64]] = []

    def add(self, runs: pa.Table) -> None:
        """Adds rows of `runs`, which say how many rows these runs have in other tables. They are appended in the same order."""
        for name in TRACE_TABLES:
            if f"{name}_rows" not in runs.column_names:
                continue  # of a longfat that did not have this table
            counts = cells_in(runs[f"{name}_rows"])
            starts = self._rows[name] + np.cumsum(counts) - counts
            column = f"{name}_from"
            at = runs.column_names.index(column) if column in runs.column_names else None
            made = numbers_of(starts.astype(np.int64))
            runs = runs.append_column(column, made) if at is None else runs.set_column(at, column, made)
            self._rows[name] += int(counts.sum())
        self._prefixes.append(index.prefixes_of(digests_in(runs)))
        self.append("runs", runs)

    def append(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table."""
        if table.num_rows:
            if name not in self._tables:
                self._tables[name] = _TableWriter(self.place, self.name, name)
            self._tables[name].append(table)

    def commit(self) -> None:
        """Puts the files in their place, and says that they are there. Without runs there is nothing to put."""
        if not self._tables:
            return
        self.append(index.NAME, index.table_of(np.concatenate(self._prefixes)))
        files = {name: writer.close() for name, writer in self._tables.items()}
        tables: dict[str, tuple[Any, int]] = {}
        for name, path in files.items():
            with path.open("rb") as file:
                tables[name] = (pq.read_metadata(file), path.stat().st_size)
        for name, path in files.items():
            self.place.put(f"{FOLDER}/{name}/{self.name}.parquet", path)
        _announce(self.place, self.name, self.replaces, tables)

    def abandon(self) -> None:
        """Removes what was written."""
        for writer in self._tables.values():
            writer.abandon()


def _announce(place: Place, shard: str, replaces: list[str], tables: dict[str, tuple[Any, int]]) -> None:
    """Says that there is a shard, with the footer and the size of each of its files."""
    facts: dict[str, Any] = {"format_version": FORMAT_VERSION, "replaces": replaces, "tables": {}}
    for name, (metadata, size) in tables.items():
        footer = io.BytesIO()
        metadata.write_metadata_file(footer)
        packed = base64.b64encode(zlib.compress(footer.getvalue())).decode()
        facts["tables"][name] = {"rows": metadata.num_rows, "bytes": size, "footer": packed}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    place.put(f"{FOLDER}/{shard}.json", json.dumps({"sha256": digest, "shard": facts}, sort_keys=True).encode())


def announce_again(place: Place, shard: str, elsewhere: Hashes) -> bool:
    """Says that there is a shard whose `NAME.json` was lost; whether that was right.

    It is where all files of the shard are there and whole, and not all its runs are `elsewhere`: then it is what a kill has left.
    """
    with passing_over_damage():
        found = Shard(place, shard)
        if not found.runs - elsewhere:
            return False
        there = [*found.tables(), *([index.NAME] if place.has(found.path(index.NAME)) else [])]
        sizes = {table: dict(place.names(f"{FOLDER}/{table}")).get(f"{shard}.parquet", 0) for table in there}
        runs = pa.concat_tables(part for table, part in found.parts() if table == "runs")
        tables = {table: (found.footer(table), size) for table, size in sizes.items()}
        for table in TRACE_TABLES:
            counted = sum(runs[f"{table}_rows"].to_pylist()) if f"{table}_rows" in runs.column_names else 0
            if counted != (tables[table][0].num_rows if table in tables else 0):
                return False
        _announce(place, shard, [], tables)
        return True
    return False


class _TableWriter:
    """A Parquet file that grows by whole row groups."""

    def __init__(self, place: Place, shard: str, name: str) -> None:
        place.local.mkdir(parents=True, exist_ok=True)
        self.path = place.local / f"{UNFINISHED}{shard}-{name}.parquet"
        self._name = name
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._sink: Any = None
        self._writer: Any = None

    def append(self, table: pa.Table) -> None:
        self._parts.append(table)
        self._rows += table.num_rows
        if len(self._parts) == PARTS:  # a row takes far less room in a large table
            self._parts = [pa.concat_tables(self._parts).combine_chunks()]
        if self._rows >= group_rows(self._name, table.num_columns):
            self._flush()

    def _flush(self) -> None:
        whole = pa.concat_tables(self._parts)
        if self._writer is None:
            self._sink = self.path.open("wb")
            # Statistics of columns that are not sorted help nobody, and are much where row groups are many.
            # What is sorted by hash has no two alike, and is as random as the hashes.
            is_sorted = self._name == index.NAME
            how: dict[str, Any] = {"compression": "zstd", "write_statistics": False}
            if is_sorted:
                how = {"compression": "none", "write_statistics": ["prefix"], "use_dictionary": False}
            self._writer = pq.ParquetWriter(self._sink, whole.schema, store_schema=False, write_page_checksum=True, **how)
        self._writer.write_table(whole, row_group_size=group_rows(self._name, whole.num_columns))
        self._parts, self._rows = [], 0

    def abandon(self) -> None:
        self._parts = []
        with suppress(OSError, pa.ArrowException):
            self.close()
        with suppress(OSError):
            self.path.unlink()

    def close(self) -> Any:
        if self._parts:
            self._flush()
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
        return self.path


def group_rows(name: str, columns: int) -> int:
    """Number of rows per row group."""
    if name == index.NAME:
        return index.GROUP_ROWS
    return GROUP_RUNS if name == "runs" else max(GROUP_CELLS // columns, 1)


def rows_of(runs: list[Finished]) -> pa.Table:
    """Rows of `runs`, for `ShardWriter.add`."""
    columns: dict[str, Any] = {name: column_of([run.facts[name] for run in runs], form) for name, form in FACTS.items()}
    columns |= {name: column_of([run.facts[name] for run in runs], "uint64") for name in runs[0].facts if name not in FACTS}
    for name in TRACE_TABLES:
        columns[f"{name}_rows"] = column_of([run.rows(name) for run in runs], "int64")
    return pa.table(columns | {"sha256": column_of([run.digest for run in runs], "string")})


def tables_of(name: str, runs: list[Finished]) -> Iterator[pa.Table]:
    """The rows of these runs in a table, each with the run before it, some at a time."""
    for is_large, some in groupby(runs, lambda run: run.large is not None):
        if is_large:
            for run in some:
                for piece in run.pieces(name):
                    yield piece.add_column(0, "run", pa.repeat(run.run, piece.num_rows))
        elif (table := _table_of(name, list(some))) is not None:
            yield table


def _table_of(name: str, runs: list[Finished]) -> pa.Table | None:
    tables: list[pa.Table] = []
    for layout, some in groupby((run for run in runs if run.rows(name)), lambda run: run.layouts[name] if run.parts else None):
        here = list(some)
        parts = [run.parts[name] for run in here if run.parts]
        tables.append(stacked(parts, layout) if layout else pa.concat_tables(run.tables[name] for run in here))
    if not tables:
        return None
    whole = pa.concat_tables(tables)
    there = np.repeat(np.arange(len(runs)), [run.rows(name) for run in runs])
    return whole.add_column(0, "run", column_of([run.run for run in runs], "string").take(numbers_of(there)))
