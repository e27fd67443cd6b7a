"""The results folder.

    results/NAME/
      experiment.toml         the experiment as it was given
      provenance.json         how, where and by what code it was run; format_version
      runs.parquet            one row a run; see longfat.results for the columns of each table
      flows.parquet
      links.parquet
      hosts.parquet
      runs/<hash>/            one finished run, named by the hash of what decides its outcome
        run.json              labels, seed, cost, warnings, what made it, and what its trace has once for a run
        experiment.json       the run as resolved
        flows.parquet links.parquet hosts.parquet flow_series.parquet link_series.parquet events.parquet packets.parquet

A run's folder holds its whole trace, exactly. Metrics are not in it: they are computed from it, and so a metric that comes later
has values for runs that were there before. The tables at the top are made from the runs, and made anew when metrics have changed.

A run's folder is written beside its place and renamed into it, so it is there whole or not at all. What is finished is
never written over or removed; `longfat.prune` does that, when asked. One process at a time writes to a folder (`.lock`).
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pandas as pd

from longfat._longfat import FORMAT_VERSION, METRICS, Trace
from longfat.errors import ExperimentError, StorageError
from longfat.results import SERIES, Result, Results, of_tables
from longfat.stored import from_json, read_table, to_json, write_table

RUN_TABLES = ("flows", "links", "hosts", *SERIES)
TABLES = ("runs", "flows", "links", "hosts")
ADDED = ("hosts",)
"""Tables that folders of an earlier longfat do not have."""
RENAMED = {"memory_share": "memory_proportion"}
"""Columns that have another name in folders of format 1."""
WITH_TRACES = 3
"""The first format whose runs are stored as traces; before, they were tables with the metrics of their time."""
BEFORE = 2
"""The results version of runs that do not say theirs."""


class Store:
    """One results folder. Making a `Store` touches nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def writing(self, keep_note: Callable[[], str] = str) -> Generator[None]:
        """Makes the folder, locks it for this process, and turns what the system refuses into StorageError.

        `keep_note` adds to the message what was kept.
        """
        try:
            (self.folder / "runs").mkdir(parents=True, exist_ok=True)
            with (self.folder / ".lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StorageError(f"another longfat is writing to {self.folder}: wait, or choose another folder (--results)") from None
                for left_behind in self.folder.glob("runs/.unfinished-*"):
                    shutil.rmtree(left_behind)
                self.check_format()
                yield
        except OSError as error:
            raise StorageError(f"cannot write results to {self.folder}: {_reason(error)}{keep_note()}") from error

    def check_format(self) -> None:
        """StorageError if a newer longfat wrote here."""
        version = self.provenance().get("format_version", FORMAT_VERSION)
        if version > FORMAT_VERSION:
            raise StorageError(
                f"{self.folder} has results of format {version}, and this longfat knows formats up to {FORMAT_VERSION}: "
                "use a newer longfat, or give another folder with --results"
            )

    def check_source(self, file: str) -> None:
        """StorageError if what is here came from another file than `file`, one that is still there and says something else."""
        other = self.provenance().get("file", "")
        if not (file and other) or other == file:
            return
        try:
            same = Path(other).read_bytes() == Path(file).read_bytes()
        except OSError:
            return  # moved, or gone: then this one is what is left of it
        if not same:
            raise StorageError(
                f"{self.folder} has the results of {other}, and {file} is another experiment of that name: "
                "give another folder with --results, or rename one of them"
            )

    def provenance(self) -> dict[str, Any]:
        """The parsed provenance.json; empty where there is none."""
        path = self.folder / "provenance.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot read {path}: {error}") from error

    def has(self, run: str) -> bool:
        """Whether the run of this hash is finished."""
        return bool(made_by(self.folder / "runs" / run))

    def write(self, result: Result, trace: Trace) -> None:
        """Keeps a finished run: whole, or OSError and nothing. One that is there stays as it is."""
        place = self.folder / "runs" / result.run
        if self.has(result.run):
            return
        unfinished = place.with_name(f".unfinished-{result.run}")
        try:
            unfinished.mkdir()
            stored = trace.stored()
            rows = {name: write_table(name, stored[name], unfinished / f"{name}.parquet") for name in RUN_TABLES}
            (unfinished / "experiment.json").write_text(result.resolved, encoding="utf-8")
            facts = result.provenance | {name: getattr(result, name) for name in RUN_FIELDS}
            facts |= {"format_version": FORMAT_VERSION, "rows": rows, "trace": to_json(stored["run"])}
            _write_json(unfinished / "run.json", facts)
            if place.exists():  # but without what makes a finished run
                place.rename(place.with_name(f".damaged-{result.run}-{time.time_ns()}"))
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def read(self, run: str) -> Result:
        """A finished run, with the metrics of now. Of a folder of format 2 or before: with those of its time."""
        place = self.folder / "runs" / run
        try:
            facts = json.loads((place / "run.json").read_text(encoding="utf-8"))
            resolved = (place / "experiment.json").read_text(encoding="utf-8")
            fields: dict[str, Any] = {name: facts[name] for name in RUN_FIELDS} | {"resolved": resolved, "provenance": made_by(place)}
            if "trace" not in facts:
                return _read_tables(place, facts, fields)
            stored = {name: read_table(name, place / f"{name}.parquet", facts["rows"].get(name, 0)) for name in RUN_TABLES}
            stored["run"] = from_json(facts["trace"])
            trace = Trace.restore(resolved, stored, facts["warnings"])
        except ExperimentError as error:
            raise StorageError(f"this longfat cannot read the experiment of {place}, which another version made:\n{error}") from error
        except (OSError, ValueError, KeyError) as error:
            raise StorageError(f"{place} is not a finished run: {error}; remove it and run the experiment again") from error
        if trace.missing:
            note = f"its trace was stored without {', '.join(trace.missing)}: metrics made of that are not to be trusted"
            fields["warnings"] = [*fields["warnings"], note]
        return of_tables(trace.tables(), **fields)

    def combine(self, title: str, axes: list[str], runs: list[Result], text: str, provenance: dict[str, Any]) -> Results:
        """Writes the tables of `runs`, in that order, and where they come from. OSError leaves the old ones."""
        header = {"format_version": FORMAT_VERSION, "metrics": METRICS, "title": title, "axes": axes}
        results = Results.of(title, axes, runs, header | provenance)
        results.open = self.read
        self._replace_tables(results)
        _replace(self.folder / "experiment.toml", lambda path: path.write_text(text, encoding="utf-8"))
        _replace(self.folder / "provenance.json", lambda path: _write_json(path, results.provenance))
        return results

    def _replace_tables(self, results: Results) -> None:
        for name in TABLES:
            _replace(self.folder / f"{name}.parquet", lambda path, name=name: _write_table(getattr(results, name), path))

    def _with_metrics_of_now(self, results: Results) -> Results:
        """The same runs, with every metric there is now; the tables in the folder, too, where they can be written."""
        labels = results.runs[[*results.axes, "repeat"]].to_dict("records")
        runs = [
            replace(self.read(run), labels={axis: row[axis] for axis in results.axes}, repeat=int(row["repeat"]))
            for run, row in zip(results.runs["run"], labels, strict=True)
        ]
        made = Results.of(results.title, results.axes, runs, results.provenance | {"metrics": METRICS})
        made.open = self.read
        with suppress(StorageError), self.writing():
            self._replace_tables(made)
            _replace(self.folder / "provenance.json", lambda path: _write_json(path, made.provenance))
        return made

    def load(self) -> Results:
        """What `combine` wrote. StorageError where there are no results, or newer ones."""
        if not (self.folder / "provenance.json").is_file():
            raise StorageError(f"{self.folder} holds no results: expected a folder that `longfat run` wrote")
        self.check_format()
        provenance = self.provenance()
        try:
            tables = {name: _read_table(self.folder / f"{name}.parquet") for name in TABLES}
        except OSError as error:
            raise StorageError(f"cannot read results in {self.folder}: {_reason(error)}") from error
        results = Results(provenance["title"], provenance["axes"], **tables, open=self.read, provenance=provenance)
        if provenance.get("format_version", 0) < WITH_TRACES or provenance.get("metrics") == METRICS:
            return results
        return self._with_metrics_of_now(results)


RUN_FIELDS = (
    "run",
    "title",
    "labels",
    "repeat",
    "seed",
    "warnings",
    "cost",
    "wall_s",
    "cpu_s",
)


def made_by(place: Path) -> dict[str, Any]:
    """What made the finished run in the folder `place`: results_version, backend, longfat, finished. Empty where none is finished."""
    try:
        facts = json.loads((place / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if "run" not in facts:
        return {}
    of_its_time = {"results_version": BEFORE, "backend": "sim", "longfat": {"code": facts.get("code", "")}, "finished": ""}
    return {name: facts.get(name, before) for name, before in of_its_time.items()}


def _read_tables(place: Path, facts: dict[str, Any], fields: dict[str, Any]) -> Result:
    """A run of format 2 or before: its tables as they are."""
    fields |= {name: _read_table(place / f"{name}.parquet") for name in RUN_TABLES}
    fields |= {"metrics": {name: _float(value) for name, value in facts["metrics"].items()}}
    return Result(**fields, end_s=facts["end_s"], steps=facts["steps"])


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{os.strerror(error.errno)}; make room and run the same command again"
    return os.strerror(error.errno) if error.errno else str(error)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    unfinished = path.with_name(f".unfinished-{path.name}")
    try:
        write(unfinished)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _write_table(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, engine="pyarrow", index=False, compression="zstd")


def _read_table(path: Path) -> pd.DataFrame:
    if path.stem in ADDED and not path.exists():
        return pd.DataFrame()
    return pd.read_parquet(path, engine="pyarrow").rename(columns=RENAMED)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _plain(value: object) -> object:
    # JSON has no NaN: null stands for it, and _float() reads it back.
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value


def _float(value: float | None) -> float:
    return float("nan") if value is None else value
