"""The results folder.

    results/NAME/
      experiment.toml         the experiment as it was given
      provenance.json         how, where and by what code it was run; format_version
      runs.parquet            one row a run; see longfat.results for the columns of each table
      flows.parquet
      links.parquet
      hosts.parquet
      runs/<hash>/            one finished run, named by the hash of what it resolved to
        run.json              labels, seed, metrics, cost, warnings, the code that ran it
        experiment.json       the run as resolved
        flows.parquet links.parquet hosts.parquet flow_series.parquet link_series.parquet events.parquet

A run's folder is written beside its place and renamed into it, so it is there whole or not at all. The tables at the
top are put together from the runs when a sweep ends. One process at a time writes to a folder (`.lock`).
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pandas as pd

from longfat._longfat import CODE, FORMAT_VERSION
from longfat.errors import StorageError
from longfat.results import SERIES, Result, Results

RUN_TABLES = ("flows", "links", "hosts", *SERIES)
TABLES = ("runs", "flows", "links", "hosts")
ADDED = ("hosts",)
"""Tables that folders of an earlier longfat do not have."""
RENAMED = {"memory_share": "memory_proportion"}
"""Columns that have another name in folders of format 1."""


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
        """Whether the run of this hash is finished, and by the code that runs now."""
        path = self.folder / "runs" / run / "run.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))["code"] == CODE
        except (OSError, ValueError, KeyError):
            return False

    def write(self, result: Result) -> None:
        """Keeps a finished run: whole, or OSError and nothing."""
        place = self.folder / "runs" / result.run
        unfinished = place.with_name(f".unfinished-{result.run}")
        try:
            unfinished.mkdir()
            for name in RUN_TABLES:
                _write_table(getattr(result, name), unfinished / f"{name}.parquet")
            (unfinished / "experiment.json").write_text(result.resolved, encoding="utf-8")
            _write_json(unfinished / "run.json", {"code": CODE, **{name: getattr(result, name) for name in RUN_FIELDS}})
            if place.exists():  # made by other code: has() said so
                shutil.rmtree(place)
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def read(self, run: str, tables: Sequence[str] = RUN_TABLES) -> Result:
        """A finished run; the tables not named are left empty."""
        place = self.folder / "runs" / run
        try:
            stored = json.loads((place / "run.json").read_text(encoding="utf-8"))
            fields: dict[str, Any] = {name: stored[name] for name in RUN_FIELDS}
            fields["metrics"] = {name: _float(value) for name, value in fields["metrics"].items()}
            fields["resolved"] = (place / "experiment.json").read_text(encoding="utf-8")
            for name in RUN_TABLES:
                fields[name] = _read_table(place / f"{name}.parquet") if name in tables else pd.DataFrame()
            return Result(**fields)
        except (OSError, ValueError, KeyError) as error:
            raise StorageError(f"{place} is not a finished run: {error}; remove it and run the experiment again") from error

    def combine(self, title: str, axes: list[str], runs: list[Result], text: str, provenance: dict[str, Any]) -> Results:
        """Writes the tables of `runs`, in that order, and where they come from. OSError leaves the old ones."""
        results = Results.of(title, axes, runs, provenance)
        results.open = self.read
        for name in TABLES:
            _replace(self.folder / f"{name}.parquet", lambda path, name=name: _write_table(getattr(results, name), path))
        _replace(self.folder / "experiment.toml", lambda path: path.write_text(text, encoding="utf-8"))
        header = {"format_version": FORMAT_VERSION, "title": title, "axes": axes}
        _replace(self.folder / "provenance.json", lambda path: _write_json(path, header | provenance))
        return results

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
        return Results(provenance["title"], provenance["axes"], **tables, open=self.read, provenance=provenance)


RUN_FIELDS = (
    "run",
    "title",
    "labels",
    "repeat",
    "seed",
    "metrics",
    "warnings",
    "end_s",
    "steps",
    "cost",
    "wall_s",
    "cpu_s",
)


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
