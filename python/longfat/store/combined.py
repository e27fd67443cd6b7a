"""The tables at the top of results, put together from runs that come some at a time: only a stretch of the sweep is in memory.

Within a stretch runs come in any order, as they are quickest to read. Columns, and what is in them, are those of `Results.of` for all runs
at once; their order is that of `in_order`, whatever came first. The rows of a stretch are put away as a Parquet file of its own; when the
last has come and all columns are known, these become row groups of one.
"""

# pyarrow and pandas leave types open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longfat.lazy import np, pa, pd, pq
from longfat.results.result import Result
from longfat.results.results import Results, axis_quantity, in_order
from longfat.store.arrow import cells_in, column_of, numbers_of
from longfat.store.place import UNFINISHED
from longfat.store.top import TABLES
from longfat.sweep.summary import RunSummary, SweepSummary

if TYPE_CHECKING:
    from longfat.results.warning import RunWarning
    from longfat.store.many import Shown

STRETCH = 10_000
"""Runs of a stretch, at the most. Runs that are together in the shards and not in the sweep are read again for each stretch."""
STRETCH_CELLS = 4_000_000
"""Cells of a stretch, about."""
AT_ONCE = 500
"""Runs of which the tables are made at once."""
PLACE = "longfat place"
"""A column that no table has: where in the sweep the run is."""


class Row(NamedTuple):
    """A row of `runs`, as little of it as there is before the run is read."""

    place: int
    """In the sweep."""
    number: int
    run: str
    labels: list[tuple[str, str]]
    repeat: int


class Combined:
    """Tables that are being put together. `remove` takes away what was written for it."""

    def __init__(self, axes: Sequence[str], local: Path) -> None:
        self.axes = list(axes)
        self.summary = SweepSummary()
        self._parts: dict[str, list[Path]] = {name: [] for name in TABLES}
        self._values: dict[str, dict[str, set[str]]] = {name: {axis: set() for axis in axes} for name in TABLES}
        self._schemas: dict[str, Any] = {}
        self._local = local
        self._made: list[Path] = []
        self._stretch: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
        self._summaries: list[tuple[int, RunSummary]] = []

    def add(self, results: Sequence[Result], places: Sequence[int] | None = None) -> None:
        """Runs of the stretch, with their places in the sweep; without, they come in its order, and are all of the stretch."""
        if not results:
            return
        there = list(range(len(results))) if places is None else list(places)
        order = sorted(range(len(results)), key=there.__getitem__)
        results = [results[number] for number in order]
        by_run = {
            (result.run, *result.labels.values(), result.repeat): there[number] for result, number in zip(results, order, strict=True)
        }
        self._summaries += zip(sorted(there), map(RunSummary.of, results), strict=True)
        some = Results.of("", [], results, {})
        for name in TABLES:
            table: pd.DataFrame = getattr(some, name)
            made = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
            keys = zip(*(table[key].tolist() for key in ("run", *results[0].labels, "repeat")), strict=True) if len(table) else ()
            self._take(name, made, column_of([by_run[key] for key in keys], "int64"))
        if places is None:
            self.end_stretch()

    def add_shown(self, shown: Shown, by_run: Mapping[str, Sequence[Row]]) -> None:
        """Runs of the stretch in one piece, each for as many rows of the sweep as it stands for. Runs without rows come otherwise."""
        runs = [(number, row) for number, said in enumerate(shown.said) if said for row in by_run[shown.facts[number]["run"]]]
        if not runs:
            return
        numbers = np.array([number for number, _ in runs])
        for number, row in runs:
            facts, (digest, _) = shown.facts[number], shown.said[number] or (b"", [])
            labels = tuple(label for _, label in row.labels)
            one = RunSummary(row.run, labels, digest, shown.warnings(number), facts["wall_s"], facts["cpu_s"], facts["cost"])
            self._summaries.append((row.place, one))
        keys = _keys([row for _, row in runs])
        places = np.array([row.place for _, row in runs])
        of_run = {"seed": _whole_numbers([shown.facts[number]["seed"] for number, _ in runs])}
        of_run["warnings"] = column_of([_names(one.warnings) for _, one in self._summaries[-len(runs) :]], "large_string")
        for name in TABLES:
            rows = shown.rows(name, numbers)
            whose = np.repeat(np.arange(len(runs)), shown.counts[name][numbers])
            columns = {key: values.take(numbers_of(whose)) if len(rows) else _no_rows(values) for key, values in keys.items()}
            own = {column: shown.column(name, column, rows) for column in shown.tables[name]}
            for column, values in ({**of_run, **own} if name == "runs" else own).items():
                columns[f"{name.removesuffix('s')}_{column}" if column in keys else column] = values
            self._take(name, pa.table(columns), numbers_of(places[whose].astype(np.int64)))

    def _take(self, name: str, made: pa.Table, places: Any) -> None:
        """Rows of a table, and where in the sweep their runs are."""
        if not made.num_rows and name in self._schemas:
            return
        if name in self._schemas and not self._parts[name] and not self._stretch[name]:
            del self._schemas[name]  # of a table without rows, which says little
        self._schemas[name] = _both(self._schemas[name], made.schema) if name in self._schemas else made.schema
        if made.num_rows:
            self._stretch[name].append(made.append_column(PLACE, places))

    def end_stretch(self) -> None:
        """All runs of the stretch have come."""
        self.summary.add_all(one for _, one in sorted(self._summaries, key=itemgetter(0)))
        self._summaries = []
        for name, tables in self._stretch.items():
            if not tables:
                continue
            schema = self._schemas[name].append(pa.field(PLACE, pa.int64()))
            whole = pa.concat_tables([_fitted(table, schema) for table in tables])
            tables.clear()
            whole = whole.take(numbers_of(np.argsort(cells_in(whole[PLACE]), kind="stable"))).drop_columns([PLACE])
            for axis, values in self._values[name].items():
                values.update(whole[axis].unique().to_pylist())
            path = self._path(f"{name}-{len(self._parts[name])}")
            with path.open("wb") as sink:  # a name need not be text, which Arrow takes it for
                pq.write_table(whole, sink, compression="lz4")
            self._parts[name].append(path)

    def files(self) -> dict[str, Path]:
        """The tables, by name, each in a file that whoever asks moves away."""
        return {name: self._whole(name) for name in TABLES}

    def _whole(self, name: str) -> Path:
        inner = self._schemas.get(name, pa.schema([]))
        inner = pa.schema([inner.field(column) for column in in_order(name, inner.names)])
        found = {axis: axis_quantity(axis, values) for axis, values in self._values[name].items()}
        fields = list(inner)
        for axis, quantity in found.items():
            if quantity and quantity[0] not in [field.name for field in fields]:
                place = [field.name for field in fields].index(axis) + 1
                fields.insert(place, pa.field(quantity[0], pa.float64()))
        schema = pa.schema(fields)
        path = self._path(name)
        options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
        with path.open("wb") as sink, pq.ParquetWriter(sink, schema.with_metadata(for_pandas(schema)), **options) as writer:
            if not self._parts[name]:
                writer.write_table(pa.table([pa.nulls(0, field.type) for field in schema], schema=schema))
            for part in self._parts[name]:
                with part.open("rb") as source:
                    table = pq.ParquetFile(source).read(use_threads=False)
                columns: list[Any] = []
                for field in schema:
                    if field.name in table.column_names:
                        columns.append(table[field.name].cast(field.type))
                    elif axis := next((axis for axis, quantity in found.items() if quantity and quantity[0] == field.name), None):
                        known = found[axis][1]  # type: ignore[index]
                        columns.append(column_of([known[text] for text in table[axis].to_pylist()], "float64"))
                    else:
                        columns.append(pa.nulls(table.num_rows, field.type))
                writer.write_table(pa.table(columns, schema=schema))
                part.unlink()
        return path

    def _path(self, name: str) -> Path:
        self._local.mkdir(parents=True, exist_ok=True)
        self._made.append(self._local / f"{UNFINISHED}{os.getpid()}-{name}.parquet")
        return self._made[-1]

    def remove(self) -> None:
        """Removes what is left of it."""
        for path in self._made:
            with suppress(OSError):
                path.unlink()


def for_pandas(schema: Any) -> dict[str, str]:
    """Metadata by which pandas reads a table as one of its own, the same that pandas writes.

    See the pandas documentation, "Storing pandas DataFrame objects in Apache Parquet format".
    """
    kinds = {"large_string": ("object", "str"), "string": ("object", "str"), "double": ("float64", "float64"), "null": ("empty", "object")}
    columns: list[dict[str, str | None]] = []
    for field in schema:
        pandas_type, numpy_type = kinds.get(str(field.type), (str(field.type), str(field.type)))
        columns.append(
            {"name": field.name, "field_name": field.name, "pandas_type": pandas_type, "numpy_type": numpy_type, "metadata": None}
        )
    facts = {"index_columns": [], "column_indexes": [], "columns": columns, "attributes": {}}
    made_by = {"creator": {"library": "pyarrow", "version": pa.__version__}, "pandas_version": version("pandas")}
    return {"pandas": json.dumps(facts | made_by)}


def _keys(rows: Sequence[Row]) -> dict[str, Any]:
    """The columns that say which run a row is of."""
    keys: dict[str, Any] = {"run": column_of([row.run for row in rows], "large_string")}
    for number, (axis, _) in enumerate(rows[0].labels):
        keys[axis] = column_of([row.labels[number][1] for row in rows], "large_string")
    return keys | {"repeat": column_of([row.repeat for row in rows], "int64")}


def _no_rows(values: Any) -> Any:
    """Returns the column of a table without rows; a column of words is made of nulls, since it cannot be sliced."""
    return pa.nulls(0) if pa.types.is_large_string(values.type) else values.slice(0, 0)


def _whole_numbers(values: Sequence[int]) -> Any:
    """Makes a column of the type that pandas would use."""
    return column_of(values, "int64" if max(values) < 2**63 else "uint64")


def _names(warnings: Sequence[RunWarning]) -> str:
    """Joins the names of warnings as `Result.row` does."""
    return ", ".join(dict.fromkeys(warning.name for warning in warnings if warning.name))


def _fitted(table: pa.Table, schema: Any) -> pa.Table:
    """The table with the columns of a schema that has all of its."""
    there = set(table.column_names)
    columns = [table[field.name].cast(field.type) if field.name in there else pa.nulls(table.num_rows, field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _both(one: Any, other: Any) -> Any:
    """The columns of both, those of the first before what only the second has, each of a type that holds what either has."""
    names = dict.fromkeys([*one.names, *other.names])
    return pa.schema([_field(name, one, other) for name in names])


def _field(name: str, one: Any, other: Any) -> Any:
    types = [schema.field(name).type for schema in (one, other) if name in schema.names]
    kinds = set(types)
    if len(kinds) > 1:
        kinds -= {pa.null()}
    if len(types) == 1 and pa.types.is_integer(types[0]):
        return pa.field(name, pa.float64())  # a whole number that is missing is NaN, as pandas has it
    if kinds == {pa.int64(), pa.uint64()}:
        return pa.field(name, pa.uint64())
    if len(kinds) > 1:
        return pa.unify_schemas([pa.schema([(name, kind)]) for kind in kinds], promote_options="permissive").field(0)
    return pa.field(name, kinds.pop())
