"""A finished run at rest: the facts of it, which become a row of `runs`, and the rows of the tables of its trace."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import count
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any, Protocol

from longfat._longfat import Trace
from longfat.errors import DamagedError
from longfat.lazy import np, pa
from longfat.results.provenance import of_run
from longfat.results.result import SERIES
from longfat.results.warning import of_facts
from longfat.store.arrow import FORMS, NONE, column_of, from_arrow, from_plain, numbers_of
from longfat.store.files import FORMAT_VERSION

if TYPE_CHECKING:
    from longfat._longfat import Run, Table

TRACE_TABLES = ("flows", "links", "hosts", *SERIES)
"""The tables that a run has rows in."""
LARGE = 4_000_000
"""Cells that a run has at the most to be read and written in one piece: 32 MB."""
FACTS: dict[str, str] = {
    "run": "string",
    "title": "string",
    "labels": "string",
    "repeat": "int64",
    "seed": "uint64",
    "warnings": "string",
    "cost": "float64",
    "wall_s": "float64",
    "cpu_s": "float64",
    "results_version": "int64",
    "backend": "string",
    "longfat": "string",
    "finished": "string",
    "format_version": "int64",
    "resolved": "string",
}
"""The columns of `runs` that every run has, with their types; `labels`, `warnings`, `longfat` and `resolved` are JSON. Values that a trace
has once per run stand behind them."""
IN_JSON = ("labels", "warnings", "longfat")
MADE_BY = ("results_version", "backend", "longfat", "finished")


@dataclass(frozen=True)
class Part:
    """The rows that a run has in a table, as `Trace.kept` gives them: it takes less than a table of Arrow's to make."""

    rows: int
    numbers: bytes
    """The cells of the columns that are not of words, one column behind the other: 8 bytes each, little endian."""
    words: Sequence[bytes] = ()
    """Each column of words, with a NUL between two."""


Layout = Mapping[str, str]
"""The columns of a `Part` in their order, each with what its cells mean (as in `stored.FORMS`)."""
LAYOUTS: dict[str, Layout] = {table: FORMS[table] for table in TRACE_TABLES}
KINDS = {"word": "string", "number": "float64"}


def schema_of(layout: Layout) -> pa.Schema:
    """The columns of a table as they are kept."""
    return pa.schema([(column, KINDS.get(form, "uint64")) for column, form in layout.items()])


@cache
def _schema(table: str) -> pa.Schema:
    return schema_of(LAYOUTS[table])


def stacked(parts: Sequence[Part], layout: Layout) -> pa.Table:
    """The table that these parts make, one below the other."""
    width = sum(form != "word" for form in layout.values())
    cells = iter(np.concatenate([np.frombuffer(part.numbers, "<u8").reshape(width, part.rows) for part in parts], axis=1))
    words = zip(*(part.words for part in parts), strict=True)
    made: list[Any] = []
    for form in layout.values():
        match form:
            case "word":
                made.append(column_of([word for some in next(words) for word in some.decode().split("\0")], "string"))
            case "number":
                made.append(numbers_of(next(cells).view(np.float64)))
            case "time" | "count or none":
                values = next(cells)
                made.append(numbers_of(values, values == NONE))
            case _:
                made.append(numbers_of(next(cells)))
    return pa.table(made, schema=schema_of(layout))


def unstacked(table: pa.Table) -> tuple[Part, Layout]:
    """The part that a table of one run makes, and its columns."""
    (batch,) = table.combine_chunks().to_batches()
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    forms = {pa.string(): "word", pa.float64(): "number"}
    layout = {name: forms.get(column.type, "count or none") for name, column in columns.items()}
    numbers = b"".join(bytes(_cells(column)) for column in columns.values() if column.type != pa.string())
    return Part(len(batch), numbers, [_cells(column) for column in columns.values() if column.type == pa.string()]), layout


def names_of_cut(run: str) -> Iterator[str]:
    """Names under which attempts at the run of this hash that were cut before their end are kept, in their order."""
    return (hashlib.sha256(f"{run} cut {number}".encode()).hexdigest() for number in count())


class Finished:
    """A finished run."""

    def __init__(
        self,
        facts: dict[str, Any],
        tables: Mapping[str, pa.Table] | None = None,
        *,
        parts: Mapping[str, Part] | None = None,
        layouts: Mapping[str, Layout] = LAYOUTS,
        digest: str = "",
        large: Large | None = None,
    ) -> None:
        self.facts = facts
        """A cell for each column of `FACTS`, and one for each of what its trace has once."""
        self.parts = parts
        """Rows of the run, by table, where it comes from a trace or a journal; `layouts` are their columns."""
        self.layouts = layouts
        self.large = large
        """Rows of the run where they are too many to have them in one piece."""
        self._tables = tables
        self._digest = digest

    @classmethod
    def of_run(cls, run: Run, title: str, trace: Trace, wall_s: float, cpu_s: float, name: str = "") -> Finished:
        """Makes the kept form of a run that has just ended, under this name or its hash; metrics are made of it."""
        name = name or run.hash
        facts: dict[str, Any] = {
            "run": name,
            "title": title,
            "labels": dict(run.labels),
            "repeat": run.repeat,
            "seed": run.seed,
            "warnings": [one | {"runs": [name]} for one in trace.warnings],
            "cost": run.cost,
            "wall_s": wall_s,
            "cpu_s": cpu_s,
            "resolved": run.resolved,
        }
        return cls.from_trace(facts | of_run(run), trace)

    @classmethod
    def from_trace(cls, facts: dict[str, Any], trace: Trace) -> Finished:
        """Makes it of the facts, with those of `IN_JSON` not yet in JSON, and a trace."""
        row = _row(facts) | trace.once()
        digest, parts = trace.kept(head(row), LARGE)
        if parts is None:
            return cls(row, digest=digest, large=_OfTrace(trace))
        return cls(row, parts={name: Part(*part) for name, part in parts.items()}, digest=digest)

    @property
    def run(self) -> str:
        """Hash of the run."""
        return self.facts["run"]

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Tables in which it has rows, of `TRACE_TABLES`."""
        if self.large:
            return {name: pa.concat_tables(self.pieces(name)) for name in TRACE_TABLES if self.rows(name)}
        if self._tables is None:
            self._tables = {name: stacked([part], self.layouts[name]) for name, part in (self.parts or {}).items()}
        return self._tables

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of its tables."""
        if self.large:
            return {name: self.large.schema(name) for name in TRACE_TABLES if self.rows(name)}
        if self.parts is not None and self.layouts is LAYOUTS:
            return {name: _schema(name) for name in self.parts}
        return {name: table.schema for name, table in self.tables.items()}

    def rows(self, name: str) -> int:
        """Number of rows it has in a table."""
        if self.large:
            return self.large.rows(name)
        if self.parts is not None:
            return self.parts[name].rows if name in self.parts else 0
        return self.tables[name].num_rows if name in self.tables else 0

    def pieces(self, name: str, column: str = "") -> Iterator[pa.Table]:
        """The rows of a table, or of one column of it, some at a time."""
        if self.large:
            yield from self.large.pieces(name, column)
        elif name in self.tables:
            yield self.tables[name].select([column]) if column else self.tables[name]

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, however it is kept."""
        if self._digest:
            return self._digest
        found = hashlib.sha256(head(self.facts))
        schemas = self.schemas
        for name in (name for name in TRACE_TABLES if self.rows(name)):
            for field in schemas[name]:
                found.update(f"{name}.{field.name} {self.rows(name)}\n".encode())
                chunks = (chunk for piece in self.pieces(name, field.name) for chunk in piece[field.name].chunks if len(chunk))
                for number, chunk in enumerate(chunks):
                    found.update(b"\0" if number and field.type == pa.string() else b"")
                    found.update(_cells(chunk))
        self._digest = found.hexdigest()
        return self._digest

    def check(self, digest: str) -> None:
        """DamagedError where it is not what was written, of which this is the digest."""
        if self.digest != digest:
            raise DamagedError("it is not what was written")

    def fields(self) -> dict[str, Any]:
        """Facts about the run besides its trace, by the names of `Result`."""
        return fields(self.facts)

    def trace(self) -> Trace:
        """Rebuilds the trace. ExperimentError where this longfat does not know what was run; ValueError where the tables do not fit."""
        stored: dict[str, Iterable[Table]] = {name: map(partial(from_arrow, name), self.pieces(name)) for name in TRACE_TABLES}
        stored["run"] = [from_plain({name: value for name, value in self.facts.items() if name in FORMS["run"]})]
        return Trace.restore(self.facts["resolved"], stored)


class Large(Protocol):
    """The rows of a run that are not all in memory at once."""

    def rows(self, name: str) -> int:
        """Number of rows in a table."""
        ...

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table in which it has rows."""
        ...

    def pieces(self, name: str, column: str) -> Iterator[pa.Table]:
        """Yields a table piece by piece, as `Finished.pieces` does."""
        ...


@dataclass(frozen=True)
class _OfTrace:
    trace: Trace

    def rows(self, name: str) -> int:
        return self.trace.pieces(name)[0]

    def schema(self, name: str) -> pa.Schema:
        return _schema(name)

    def pieces(self, name: str, column: str) -> Iterator[pa.Table]:
        for number in range(self.trace.pieces(name)[1]):
            piece = stacked([Part(*self.trace.piece(name, number))], LAYOUTS[name])
            yield piece.select([column]) if column else piece


def fields(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the facts in a row of `runs`, by the names of `Result`."""
    known = {name: json.loads(row[name]) if name in IN_JSON else row[name] for name in FACTS if name != "format_version"}
    known["warnings"] = [of_facts(one) for one in known["warnings"]]
    known["provenance"] = {name: known.pop(name) for name in MADE_BY}
    return known


def head(row: dict[str, Any]) -> bytes:
    """Returns the beginning of a run's digest: pairs of a name and a value as JSON, without spaces."""
    before, behind = around_resolved(row)
    return f"{before}{_quoted(row['resolved'])}{behind}".encode()


def around_resolved(row: dict[str, Any]) -> tuple[str, str]:
    """Returns that beginning in two parts: before and behind the value of `resolved`, which is most of it."""
    names = _in_order(tuple(row))
    place = names.index("resolved")
    before, behind = ([f"[{_quoted(name)},{_json_of(row[name])}]" for name in some] for some in (names[:place], names[place + 1 :]))
    return f'[{"".join(f"{pair}," for pair in before)}["resolved",', f"]{''.join(f',{pair}' for pair in behind)}]"


@lru_cache(maxsize=8)
def _in_order(names: tuple[str, ...]) -> list[str]:
    return sorted(names)


def _json_of(value: str | float | None) -> str:
    """Writes a value as `_json` does, without its preparations, which take longer than a cell."""
    if isinstance(value, str):
        return _quoted(value)
    return repr(value) if type(value) is int else _json(value)


def _row(facts: dict[str, Any]) -> dict[str, Any]:
    row = {name: _json(facts[name]) if name in IN_JSON else facts[name] for name in FACTS if name != "format_version"}
    return row | {"format_version": FORMAT_VERSION}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _cells(values: pa.Array) -> Any:
    """The cells of a column as bytes."""
    if pa.types.is_string(values.type):
        return "\0".join(values.to_pylist()).encode()
    valid, cells = values.buffers()
    here = slice(values.offset, values.offset + len(values))
    found = np.frombuffer(cells, np.uint64)[here]
    if values.null_count:
        found = np.where(np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[here], found, NONE)
    return found
