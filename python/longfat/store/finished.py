"""A finished run at rest: the facts of it, which become a row of `runs`, and the rows of the tables of its trace."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from longfat._longfat import Trace
from longfat.errors import DamagedError
from longfat.results import SERIES, Result
from longfat.store.version import BEFORE, FORMAT_VERSION
from longfat.stored import FORMS, NONE, from_arrow, from_plain, to_arrow, to_plain
from longfat.warned import of_facts

if TYPE_CHECKING:
    from longfat._longfat import Table

TRACE_TABLES = ("flows", "links", "hosts", *SERIES)
"""The tables that a run has rows in."""
FACTS: dict[str, Any] = {
    "run": pa.string(),
    "title": pa.string(),
    "labels": pa.string(),
    "repeat": pa.int64(),
    "seed": pa.uint64(),
    "warnings": pa.string(),
    "cost": pa.float64(),
    "wall_s": pa.float64(),
    "cpu_s": pa.float64(),
    "results_version": pa.int64(),
    "backend": pa.string(),
    "longfat": pa.string(),
    "finished": pa.string(),
    "format_version": pa.int64(),
    "resolved": pa.string(),
}
"""The columns of `runs` that every run has; `labels`, `warnings`, `longfat` and `resolved` are JSON. What a trace has once for a run stands
behind them."""
IN_JSON = ("labels", "warnings", "longfat")
MADE_BY = ("results_version", "backend", "longfat", "finished")


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    facts: dict[str, Any]
    """A cell for each column of `FACTS`, and one for each of what its trace has once."""
    tables: dict[str, pa.Table]
    """Of `TRACE_TABLES`, those in which it has rows."""

    @classmethod
    def of(cls, result: Result, trace: Trace) -> Finished:
        """What there is to keep of a run that has just ended."""
        facts: dict[str, Any] = {name: getattr(result, name) for name in FACTS if name in Result.__dataclass_fields__}
        facts["warnings"] = [warning.as_facts() for warning in result.warnings]
        return cls.from_stored(facts | result.provenance, trace.stored())

    @classmethod
    def from_stored(cls, facts: dict[str, Any], stored: dict[str, Table]) -> Finished:
        """Of the facts, with those of `IN_JSON` not yet in JSON, and what `Trace.stored` gave."""
        row = {name: _json(facts[name]) if name in IN_JSON else facts[name] for name in FACTS if name != "format_version"}
        row |= {"format_version": FORMAT_VERSION} | to_plain(stored["run"])
        return cls(row, {name: to_arrow(name, stored[name]) for name in TRACE_TABLES if len(next(iter(stored[name].values())))})

    @property
    def run(self) -> str:
        """Its hash."""
        return self.facts["run"]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all of it, however it is kept."""
        parts = [_json([(name, self.facts[name]) for name in sorted(self.facts)]).encode()]
        for name in TRACE_TABLES:
            if name in self.tables:
                (table,) = self.tables[name].combine_chunks().to_batches()
                rows = table.num_rows
                for column, values in zip(table.schema.names, table.columns, strict=True):
                    parts += [f"{name}.{column} {rows}\n".encode(), _cells(values)]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def check(self, digest: str) -> None:
        """DamagedError where it is not what was written, of which this is the digest."""
        if self.digest != digest:
            raise DamagedError("it is not what was written")

    def fields(self) -> dict[str, Any]:
        """What is known of the run besides its trace, by the names of `Result`."""
        known = {name: json.loads(self.facts[name]) if name in IN_JSON else self.facts[name] for name in FACTS if name != "format_version"}
        known["warnings"] = [of_facts(one) for one in known["warnings"]]
        known["provenance"] = {name: known.pop(name) for name in MADE_BY}
        return known

    def trace(self) -> Trace:
        """All that it recorded. ExperimentError where this longfat does not know what was run; ValueError where the tables do not fit."""
        stored = {name: from_arrow(name, self.tables.get(name)) for name in TRACE_TABLES}
        stored["run"] = from_plain({name: value for name, value in self.facts.items() if name in FORMS["run"]})
        return Trace.restore(self.facts["resolved"], stored)


def of_its_time(facts: dict[str, Any]) -> dict[str, Any]:
    """What made a run, by facts that may be of an earlier longfat."""
    before = {"results_version": BEFORE, "backend": "sim", "longfat": {"code": facts.get("code", "")}, "finished": ""}
    return {name: facts.get(name, default) for name, default in before.items()}


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
