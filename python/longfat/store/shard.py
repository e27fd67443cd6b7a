"""A shard: finished runs as rows of Parquet files, one for each table.

    shards/NAME.json               that there is the shard, and what the footers of its files are
    shards/runs/NAME.parquet       one row a run: its facts, and where its rows stand in the other tables
    shards/flows/NAME.parquet      and so on, each where there are rows
    shards/index/NAME.parquet      which run is in which row of `runs`, sorted (`index`)

A shard is there when its `NAME.json` is, which is written last; what it holds is never changed. A run's rows stand together, so that it is
read by the row groups that have them. The footers are kept twice, so that of a file that was cut short the row groups before the cut are
still read.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from longfat.errors import DamagedError
from longfat.lazy import np, pa, pq
from longfat.store import index
from longfat.store.arrow import numbers_of
from longfat.store.digests import all_digests, digests_in
from longfat.store.finished import IN_JSON, LARGE, TRACE_TABLES, Finished
from longfat.store.place import Place, is_refused, patiently
from longfat.sweep.hashes import FORM, Hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "shards"
TABLES = ("runs", *TRACE_TABLES)
FILES = (*TABLES, index.NAME)
"""The folders that have a file of a shard."""
GROUPS_KEPT = 8
"""Row groups kept in memory, in case the next run has its rows in one of them, too."""
Found = TypeVar("Found")


@cache
def unreadable() -> tuple[type[Exception], ...]:
    """Exceptions that reading a damaged file raises."""
    return OSError, ValueError, KeyError, pa.ArrowException


class GoneError(FileNotFoundError):
    """A shard has no file of runs: it has gone into another, or lost the file."""

    def __init__(self, shard: str) -> None:
        super().__init__(f"the shard {shard} has no file of its runs")
        self.shard = shard


@contextmanager
def passing_over_damage() -> Generator[None]:
    """Passes over what is damaged or gone. A refusal of the system is raised."""
    try:
        yield
    except (*unreadable(), TypeError, zlib.error) as error:
        if is_refused(error):
            raise


class Shard:
    """A shard that is there."""

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.name = name
        self.replaces: list[str] = []
        """Names of shards whose runs are in this one."""
        self.size = 0
        """Bytes of its files; 0 where that is not known."""
        self._files: tuple[str, ...] = ()
        """The tables that it has by its `NAME.json`, and the index."""
        self._packed: dict[str, bytes] | None = None
        """The footers of its files, as they are written: in memory a footer takes ten times as much. None while nobody has asked."""
        self._footers: dict[str, Any] = {}
        """Footers that are in use."""
        self._groups: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()
        self._starts: dict[str, list[int]] = {}
        """Starts of each table's row groups, and the end of the last."""
        if facts := self._said():
            self.replaces = facts["replaces"]
            self.size = sum(one["bytes"] for one in facts["tables"].values())
            self._files = tuple(facts["tables"])
        self._runs: tuple[Hashes, NDArray[np.uint32]] | None = None
        """The runs that it has, and of each of them, in that order, the number of its row in `runs`, where somebody has asked."""

    def _said(self) -> dict[str, Any]:
        """Reads `NAME.json`; nothing where it is damaged or gone: the files have footers of their own."""
        with passing_over_damage():
            said = json.loads(self.place.read(f"{FOLDER}/{self.name}.json"))
            facts: dict[str, Any] = said["shard"]
            if hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest() == said["sha256"]:
                self._packed = {table: base64.b64decode(one["footer"]) for table, one in facts["tables"].items()}
                return facts
        return {}

    def path(self, table: str) -> str:
        """The file of a table."""
        return f"{FOLDER}/{table}/{self.name}.parquet"

    def tables(self) -> list[str]:
        """The tables that it has rows in."""
        if self.size:
            return [table for table in self._files if table != index.NAME]
        return [table for table in TABLES if self.place.has(self.path(table))]

    def _read(self, table: str, what: Callable[[Any], Found]) -> Found:
        """Calls `what` with the Parquet file of a table."""

        def read() -> Found:
            with self.place.open(self.path(table)) as source:
                file = pq.ParquetFile(source, metadata=self._footer(table), page_checksum_verification=True)
                self._footers.setdefault(table, file.metadata)
                return what(file)

        return patiently(read)

    def footer(self, table: str) -> Any:
        """The footer of the file of a table."""
        return self._footer(table) or self._read(table, lambda file: file.metadata)

    def _footer(self, table: str) -> Any:
        """The footer if it is known without the file, else None."""
        if self._packed is None:
            self._packed = {}
            self._said()
        if table in self._packed and table not in self._footers:
            self._footers[table] = pq.read_metadata(pa.BufferReader(zlib.decompress(self._packed[table])))
        return self._footers.get(table)

    def columns(self, table: str) -> int:
        """Number of columns of a table."""
        return self.footer(table).num_columns

    def rows(self, table: str) -> int:
        """Number of rows of a table; 0 where that cannot be told."""
        with passing_over_damage():
            return self.footer(table).num_rows
        return 0

    def cells(self, table: str) -> int:
        """Number of cells of a table; 0 where that cannot be told."""
        with passing_over_damage():
            return self.columns(table) * self.footer(table).num_rows
        return 0

    def _rows_of_groups(self, table: str) -> list[int]:
        footer = self.footer(table)
        return [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]

    @property
    def runs(self) -> Hashes:
        """The runs that it has, in rows that can be read; held until `unload`, 36 bytes each. GoneError."""
        return self._loaded()[0]

    def _loaded(self) -> tuple[Hashes, NDArray[np.uint32]]:
        if self._runs is None:
            parts = self._digests()
            digests = np.concatenate([np.empty(0, FORM), *(some for _, some in parts)])
            rows = np.concatenate(
                [np.empty(0, np.uint32), *(np.arange(start, start + len(some), dtype=np.uint32) for start, some in parts)]
            )
            digests, first = np.unique(digests, return_index=True)
            self._runs = Hashes(digests), rows[first]
            self.forget()
        return self._runs

    def _digests(self) -> list[tuple[int, NDArray[np.bytes_]]]:
        """Digests of the runs in rows that can be read, each time with the number of the first row."""
        try:
            return [(0, self._read("runs", all_digests))]
        except FileNotFoundError as error:
            raise GoneError(self.name) from error
        except (*unreadable(), TypeError, zlib.error) as error:
            if is_refused(error):
                raise
        found: list[tuple[int, NDArray[np.bytes_]]] = []
        start = 0
        with passing_over_damage():  # without a footer there is no way to any of them
            for number, rows in enumerate(self._rows_of_groups("runs")):
                with passing_over_damage():
                    found.append((start, digests_in(self.group("runs", number, ["run"]))))
                start += rows
        return found

    def lost(self) -> None:
        """Notes that its file of runs is lost."""
        self._runs = Hashes.of(()), np.empty(0, np.uint32)

    def unload(self) -> None:
        """Lets go of all that it has read."""
        self._runs = self._packed = None
        self.forget()

    def find(self, wanted: Hashes) -> tuple[NDArray[np.int64], NDArray[np.bytes_]]:
        """Finds the runs of `wanted` that it has: the numbers of their rows in `runs`, and their digests, as they stand there. GoneError.

        It goes by the index and holds nothing, unless its runs are held already.
        """
        if self._runs is None:
            with passing_over_damage():
                if index.NAME in self._files:
                    return self._by_index(wanted)
        runs, places = self._loaded()
        here = wanted & runs
        rows = places[np.searchsorted(runs.digests, here.digests)].astype(np.int64)
        order = np.argsort(rows)
        return rows[order], here.digests[order]

    def _by_index(self, wanted: Hashes) -> tuple[NDArray[np.int64], NDArray[np.bytes_]]:
        prefixes = index.prefixes_of(wanted.digests)
        groups = index.groups_with(self.footer(index.NAME), prefixes)
        if not (len(prefixes) and groups):
            return np.empty(0, np.int64), np.empty(0, FORM)
        rows = index.rows_with(self._read(index.NAME, lambda file: file.read_row_groups(groups)), prefixes)
        starts = np.array(self._starts_of_groups("runs"))
        held = np.searchsorted(starts, rows, side="right") - 1
        parts = [digests_in(self.group("runs", int(number), ["run"]))[rows[held == number] - starts[number]] for number in np.unique(held)]
        digests = np.concatenate([np.empty(0, FORM), *parts])
        there = wanted.among(digests)
        return rows[there], digests[there]

    def prefixes(self) -> NDArray[np.uint64] | None:
        """The first bytes of its hashes, as the index has them; None where there is none."""
        with passing_over_damage():
            if index.NAME in self._files:
                return self._read(index.NAME, lambda file: file.read(columns=["prefix"]))["prefix"].to_numpy()
        return None

    def in_order(self, some: Hashes) -> tuple[NDArray[np.int64], NDArray[np.bytes_]]:
        """Finds runs as `find` does, for a caller that comes again and again: the shard's runs are held from then on."""
        self._loaded()
        return self.find(some)

    def facts(self, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns these facts of each run, as `Finished.fields` has them; without the runs whose facts are damaged."""
        found: dict[str, dict[str, Any]] = {}
        with passing_over_damage():
            for number in range(len(self._rows_of_groups("runs"))):
                with passing_over_damage():
                    for row in self.group("runs", number, ["run", *columns]).to_pylist():
                        found[row.pop("run")] = {name: json.loads(value) if name in IN_JSON else value for name, value in row.items()}
        return found

    def slice(self, table: str, start: int, count: int) -> pa.Table:
        """Rows of a table. OSError and the like where they are damaged."""
        return pa.concat_tables(self.pieces(table, start, count, partial(self.kept_group, table)))

    def _starts_of_groups(self, table: str) -> list[int]:
        if table not in self._starts:
            self._starts[table] = [0, *accumulate(self._rows_of_groups(table))]
        return self._starts[table]

    def pieces(self, table: str, start: int, count: int, group: Callable[[int], pa.Table]) -> Iterator[pa.Table]:
        """Yields rows of a table, a row group at a time. `group` reads one."""
        starts = self._starts_of_groups(table)
        found = 0
        for number in range(bisect_right(starts, start) - 1, len(starts) - 1):
            low, high = max(start, starts[number]), min(start + count, starts[number + 1])
            if low >= high:
                break
            found += high - low
            yield group(number).slice(low - starts[number], high - low)
        if found != count:
            raise ValueError(f"{self.path(table)} has fewer rows than it should")

    def group(self, table: str, number: int, columns: list[str] | None = None) -> pa.Table:
        """A row group of a table. OSError and the like where it is damaged."""
        return self._read(table, lambda file: file.read_row_group(number, columns=columns))

    def kept_group(self, table: str, number: int) -> pa.Table:
        """Reads a row group and keeps it in case the next run has rows in it, too."""
        key, groups = (table, number), self._groups
        found = groups.pop(key, None)
        groups[key] = found = self.group(table, number) if found is None else found
        while len(groups) > GROUPS_KEPT:
            groups.popitem(last=False)
        return found

    def forget(self) -> None:
        """Lets go of the row groups and footers that are kept for the next run: the reader goes on elsewhere."""
        self._groups, self._footers, self._starts = OrderedDict(), {}, {}

    def read(self, run: str, place: int | None = None) -> Finished:
        """A run, which is in this row of `runs`. DamagedError where it is not what was written; FileNotFoundError without the shard."""
        try:
            (number,) = self.find(Hashes.of([run]))[0].tolist() if place is None else [place]
            row = self.slice("runs", number, 1).to_pylist()[0]
            places: dict[str, tuple[int, int]] = {}
            for name in TRACE_TABLES:
                count, start = row.pop(f"{name}_rows", 0), row.pop(f"{name}_from", 0)  # none of a longfat without this table
                if count:
                    places[name] = (start, count)
            digest = row.pop("sha256")
            large = _InShard(self, run, places)
            if sum(count * self.columns(name) for name, (_, count) in places.items()) > LARGE:
                made = Finished(row, large=large)
            else:
                made = Finished(row, {name: pa.concat_tables(large.pieces(name, "")) for name in places})
            made.check(digest)
        except FileNotFoundError:
            raise
        except (*unreadable(), TypeError, AttributeError, DamagedError) as error:
            if is_refused(error):
                raise
            raise DamagedError(f"{self.place.where / FOLDER}: the run {run} in shard {self.name} is damaged: {error}") from error
        return made

    def parts(self, dropped: Hashes | None = None) -> Iterator[tuple[str, pa.Table]]:
        """Yields all rows but those of the runs `dropped`, by table, a row group at a time. OSError and the like where one is damaged."""
        for table in self.tables():
            for number in range(len(self._rows_of_groups(table))):
                part = self.group(table, number)
                if dropped:
                    part = part.filter(numbers_of(~dropped.among(digests_in(part))))
                yield table, part

    def schemas(self) -> dict[str, Any]:
        """The columns of its tables."""
        return {table: self.footer(table).schema.to_arrow_schema() for table in self.tables()}


@dataclass(frozen=True)
class _InShard:
    """The rows of a run in a shard."""

    shard: Shard
    run: str
    places: dict[str, tuple[int, int]]
    """First row of the run in each table, and how many rows it has."""

    def rows(self, name: str) -> int:
        return self.places.get(name, (0, 0))[1]

    def schema(self, name: str) -> pa.Schema:
        schema = self.shard.footer(name).schema.to_arrow_schema()
        return schema.remove(schema.get_field_index("run"))

    def pieces(self, name: str, column: str) -> Iterator[pa.Table]:
        if name not in self.places:
            return
        if column:
            yield from self.shard.pieces(name, *self.places[name], partial(self.shard.group, name, columns=[column]))
            return
        for found in self.shard.pieces(name, *self.places[name], partial(self.shard.kept_group, name)):
            if found["run"].unique().to_pylist() != [self.run]:
                raise ValueError(f"{self.shard.path(name)} has rows of another run in its place")
            yield found.drop_columns(["run"])
