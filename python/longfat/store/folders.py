"""Older forms of results: formats 1 to 4 have a folder for each run. They are read, and `longfat pack` makes shards of them.

runs/HASH/run.json           labels, seed, cost, warnings, what made it, and what its trace has once for a run
runs/HASH/experiment.json    the run as resolved
runs/HASH/*.parquet          its trace; of format 2 and before, tables with the metrics of their time
runs/HASH/SHA256SUMS         what these files were when they were written; from format 4 on
"""

# pyarrow and pandas leave types open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longfat import sums
from longfat.errors import DamagedError
from longfat.result import Result
from longfat.store.files import read_json, read_table, version_of
from longfat.store.finished import TRACE_TABLES, Finished, of_its_time
from longfat.store.place import Folder, Place
from longfat.store.version import WITH_SUMS
from longfat.stored import from_plain
from longfat.stored import read_table as read_trace_table
from longfat.warned import of_facts

FOLDER = "runs"
DAMAGED = ".damaged-"
RUN_FIELDS = ("run", "title", "labels", "repeat", "seed", "warnings", "cost", "wall_s", "cpu_s")


class Folders:
    """The runs of a place that have folders of their own. Only folders of this machine's file system have such runs."""

    def __init__(self, place: Place) -> None:
        self._home = place.path / FOLDER if isinstance(place, Folder) else None

    def paths(self) -> list[Path]:
        """The folders, those of damaged and unfinished runs among them."""
        return [path for path in sorted(self._home.iterdir()) if path.is_dir()] if self._home and self._home.is_dir() else []

    def finished(self) -> set[str]:
        """The runs that are finished."""
        return {path.name for path in self.paths() if not path.name.startswith(".") and made_by(path)}

    def has(self, run: str) -> bool:
        """Whether a run is finished."""
        path = self.path(run)
        return path is not None and bool(made_by(path))

    def path(self, run: str) -> Path | None:
        """The folder of a run."""
        return self._home / run if self._home and run and (self._home / run).is_dir() else None

    def read(self, run: str) -> Finished | Result | None:
        """A run; of format 2 or before a Result. None where there is no folder. DamagedError."""
        place = self.path(run)
        if place is None:
            return None
        try:
            return _read(place)
        except DamagedError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
                raise
            raise DamagedError(f"{place} is not a finished run: {error}") from error

    def put_aside(self, run: str) -> None:
        """Gives the folder of a damaged run another name."""
        place = self.path(run)
        if place:
            place.rename(place.with_name(f"{DAMAGED}{run}-{time.time_ns()}"))

    def remove(self, path: Path) -> None:
        """Removes a folder, and with the last one the folder of them all."""
        if path.exists():
            shutil.rmtree(path)
        if self._home and not any(self._home.iterdir()):
            self._home.rmdir()


def _read(place: Path) -> Finished | Result:
    facts = read_json(Folder(place), "run.json")
    _check(place, facts)
    facts["resolved"] = (place / "experiment.json").read_text(encoding="utf-8")
    if "trace" in facts:
        stored = {name: read_trace_table(name, place / f"{name}.parquet", facts["rows"].get(name, 0)) for name in TRACE_TABLES}
        stored["run"] = from_plain(facts["trace"])
        facts["warnings"] = [of_facts(one).as_facts() for one in facts["warnings"]]
        return Finished.from_stored(facts | of_its_time(facts), stored)
    fields: dict[str, Any] = {name: facts[name] for name in (*RUN_FIELDS, "end_s", "steps", "resolved")}
    fields |= {name: read_table(Folder(place), f"{name}.parquet") for name in TRACE_TABLES}
    fields["warnings"] = [of_facts(one) for one in facts["warnings"]]
    metrics = {name: float("nan") if value is None else value for name, value in facts["metrics"].items()}
    return Result(**fields, metrics=metrics, provenance=made_by(place))


def made_by(place: Path) -> dict[str, Any]:
    """What made the finished run in a folder: results_version, backend, longfat, finished. Empty where none is finished."""
    try:
        facts = read_json(Folder(place), "run.json")
        _check(place, facts, [])
    except (OSError, DamagedError):
        return {}
    return of_its_time(facts) if "run" in facts else {}


def _check(path: Path, facts: dict[str, Any], names: Sequence[str] | None = None) -> None:
    """DamagedError where a file of the run (or of these `names`) is not what was written. A run of format 3 or before cannot tell."""
    place = Folder(path)
    known = sums.read(place)
    if known or version_of(facts) >= WITH_SUMS:
        sums.check(place, ["run.json"], known)
        rows: dict[str, int] = facts.get("rows", {})
        tables = [f"{name}.parquet" for name, count in rows.items() if count]
        sums.check(place, ["experiment.json", *tables] if names is None else names, known)
        if names is None and facts.get("run") != path.name:
            raise DamagedError(f"{path} holds another run")
