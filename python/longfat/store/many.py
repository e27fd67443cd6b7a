"""Many runs of a shard at once: what it takes to read one is mostly for each table and column, and not for what is in it."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longfat._longfat import check_all, tables_of_all
from longfat.lazy import np, pa
from longfat.results.warning import RunWarning
from longfat.store.arrow import FORMS, cells_in, column_of, empty, numbers_of
from longfat.store.finished import LARGE, TRACE_TABLES, around_resolved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longfat._longfat import Document, Given, Table
    from longfat.store.shard import Shard

TOGETHER = 512
"""Runs that are read at once, unless they have more than `LARGE` cells together."""
OWN = ("sha256", *(f"{name}_{what}" for name in TRACE_TABLES for what in ("from", "rows")))
"""Columns of `runs` that are not facts of a run."""


@dataclass(frozen=True)
class Many:
    """Runs of one shard, with their rows."""

    facts: list[dict[str, Any]]
    """Facts of each run, as `Finished.facts`."""
    digests: list[str]
    """Digests of the runs as written."""
    tables: list[tuple[str, Table, list[int]]]
    """Tables: name, columns, and how many rows each run has. The table `run` has one row per run."""

    @property
    def runs(self) -> list[str]:
        """Their hashes."""
        return [facts["run"] for facts in self.facts]

    def whole(self) -> list[bool]:
        """True for each run that is what was written."""
        return check_all(self._heads({}), self.tables)

    def shown(self, document: Document | None, numbers: Mapping[str, int]) -> Shown:
        """The tables that users see of them. Runs that have a number in `document`, by hash, are faster."""
        return Shown(self.facts, *tables_of_all(self._heads(numbers), self.tables, document))

    def _heads(self, numbers: Mapping[str, int]) -> list[tuple[int | None, str, str, str, str]]:
        pairs = zip(self.facts, self.digests, strict=True)
        return [(numbers.get(facts["run"]), facts["resolved"], digest, *around_resolved(facts)) for facts, digest in pairs]


@dataclass(frozen=True)
class Shown:
    """The tables that users see, of runs that stand one behind the other: `runs`, `flows`, `links`, `hosts`."""

    facts: list[dict[str, Any]]
    said: list[tuple[bytes, list[Given]] | None]
    """Digest of each run's metrics, and its warnings. None for a run that has no rows here, and has to be read alone."""
    tables: dict[str, dict[str, Any]]
    """Columns by table, without those that say which run a row is of."""
    counts: dict[str, NDArray[np.int64]]
    """Rows of each run, by table."""

    @property
    def alone(self) -> list[str]:
        """The hashes of those that have to be read alone."""
        return [facts["run"] for facts, said in zip(self.facts, self.said, strict=True) if said is None]

    def warnings(self, number: int) -> tuple[RunWarning, ...]:
        """Warnings of a run."""
        said, run = self.said[number], self.facts[number]["run"]
        return tuple(RunWarning(one["name"], one["text"], one["count"], (run,)) for one in said[1]) if said else ()

    def column(self, table: str, name: str, rows: NDArray[np.int64]) -> pa.Array:
        """A column of a table, of these rows. A missing value is null."""
        values = self.tables[table][name]
        if isinstance(values, tuple):
            places, words = values
            if not len(places):  # as pandas has a list without values
                return numbers_of(np.empty(0))
            return column_of(words, "large_string").take(numbers_of(places[rows], places[rows] < 0))
        found = values[rows]
        return numbers_of(found, np.isnan(found) if found.dtype.kind == "f" else None)

    def rows(self, table: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of a table that these runs have, one run after the other."""
        counts = self.counts[table]
        starts, counts = (np.cumsum(counts) - counts)[numbers], counts[numbers]
        return np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


def read(shard: Shard, places: NDArray[np.int64]) -> Iterator[Many | list[str]]:
    """The runs in these rows of a shard, as they stand there; of one that is large its hash. OSError and the like where it is damaged."""
    start = 0
    while start < len(places):
        here = places[start : start + TOGETHER]
        rows = _rows(shard, "runs", here, np.ones(len(here), np.int64))
        counts = {name: _numbers(rows, f"{name}_rows") for name in TRACE_TABLES}
        cells = sum(count * (shard.columns(name) if count.any() else 0) for name, count in counts.items())
        most = int(np.searchsorted(np.cumsum(cells), LARGE, side="right"))
        if most:
            yield _many(shard, rows.slice(0, most), {name: count[:most] for name, count in counts.items()})
        else:
            most = 1
            yield rows["run"][:1].to_pylist()
        start += min(most, len(here))


def _many(shard: Shard, rows: pa.Table, counts: dict[str, NDArray[np.int64]]) -> Many:
    facts = rows.drop_columns([name for name in OWN if name in rows.column_names])
    runs = facts["run"]
    once = {name: facts[name] for name in facts.column_names if name in FORMS["run"]}
    tables: list[tuple[str, Table, list[int]]] = [("run", {name: _cells(values) for name, values in once.items()}, [1] * len(runs))]
    for name, count in counts.items():
        if count.any():
            found = _rows(shard, name, _numbers(rows, f"{name}_from"), count)
            if not found["run"].equals(pa.chunked_array([runs.combine_chunks().take(numbers_of(np.repeat(np.arange(len(count)), count)))])):
                raise ValueError(f"{shard.path(name)} has rows of other runs in their place")
            columns = {column: _cells(found[column]) for column in found.column_names if column != "run"}
        else:
            columns = empty(name)
        tables.append((name, columns, count.tolist()))
    return Many(facts.to_pylist(), rows["sha256"].to_pylist(), tables)


def _rows(shard: Shard, name: str, starts: NDArray[np.int64], counts: NDArray[np.int64]) -> pa.Table:
    """Rows of a table from where each run's begin, so many of each."""
    there = counts > 0
    starts, counts = starts[there], counts[there]
    # Runs that stand together are read together.
    firsts = np.flatnonzero(np.r_[True, starts[1:] != starts[:-1] + counts[:-1]])
    sizes = np.add.reduceat(counts, firsts)
    return pa.concat_tables([shard.slice(name, int(start), int(size)) for start, size in zip(starts[firsts], sizes, strict=True)])


def _numbers(rows: pa.Table, name: str) -> NDArray[np.int64]:
    # None of a longfat that did not have this table.
    return cells_in(rows[name]) if name in rows.column_names else np.zeros(rows.num_rows, np.int64)


def _cells(values: Any) -> Any:
    if values.type == pa.string():
        return values.to_pylist()
    if values.type not in (pa.uint64(), pa.float64()):
        values = values.cast(pa.uint64())
    return np.require(cells_in(values), requirements=["ALIGNED", "C_CONTIGUOUS"])
