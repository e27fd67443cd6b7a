"""The results folder.

    results/NAME/
      experiment.toml         the experiment as it was given
      provenance.json         how, where and by what code it was run; format_version
      sweep.json              while a sweep is under way, or was stopped: what it is of
      runs.parquet            one row a run; see longfat.results for the columns of each table
      flows.parquet
      links.parquet
      hosts.parquet
      SHA256SUMS              what these files were when they were written
      runs/<hash>/            one finished run, named by the hash of what decides its outcome
        run.json              labels, seed, cost, warnings, what made it, and what its trace has once for a run
        experiment.json       the run as resolved
        flows.parquet links.parquet hosts.parquet flow_series.parquet link_series.parquet events.parquet packets.parquet
        SHA256SUMS

A run's folder holds its whole trace, exactly. Metrics are not in it: they are computed from it, and so a metric that comes later
has values for runs that were there before. The tables at the top are made from the runs, and made anew when metrics have changed.

A run's folder is written beside its place, put on the disk, and renamed into its place, so it is there whole or not at all. What is
finished is never written over or removed; `longfat.prune` does that, when asked. One process at a time makes the tables at the top or
removes anything (`.lock`); any number write runs (`.writers`).

What is read is checked by `SHA256SUMS`. A damaged table at the top is made anew from the runs; a damaged run is put aside, and made again
the next time the experiment is run; anything else is a DamagedError.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from longfat import sums
from longfat._longfat import FORMAT_VERSION, METRICS, Document, Run, Trace, columns
from longfat.errors import DamagedError, ExperimentError, LongfatError, StorageError
from longfat.results import SERIES, Result, Results, of_tables, without_series
from longfat.stored import from_json, read_table, to_json, write_table
from longfat.warned import RunWarning, of_facts, of_results

if TYPE_CHECKING:
    from longfat._longfat import Tables

RUN_TABLES = ("flows", "links", "hosts", *SERIES)
TABLES = ("runs", "flows", "links", "hosts")
ADDED = ("hosts",)
"""Tables that folders of an earlier longfat do not have."""
RENAMED = {"memory_share": "memory_proportion"}
"""Columns that have another name in folders of format 1."""
WITH_TRACES = 3
"""The first format whose runs are stored as traces; before, they were tables with the metrics of their time."""
WITH_SUMS = 4
"""The first format whose folders have `SHA256SUMS`."""
BEFORE = 2
"""The results version of runs that do not say theirs."""
SWEEP = "sweep.json"
AGAIN = "run the experiment again: what is whole is kept, and is not run again"


class Store:
    """One results folder. Making a `Store` touches nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def writing(self, keep_note: Callable[[], str] = str) -> Generator[None]:
        """Makes the folder, locks it against other sweeps, and turns what the system refuses into StorageError.

        `keep_note` adds to the message what was kept.
        """
        with self._made(keep_note), self._locked(".lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
            with suppress(StorageError), self.without_writers():
                for left_behind in self.folder.glob("runs/.unfinished-*"):
                    shutil.rmtree(left_behind)
                for left_behind in self.folder.glob(".unfinished-*"):
                    left_behind.unlink()
            self.check_format()
            yield

    @contextmanager
    def writer(self, keep_note: Callable[[], str] = str) -> Generator[Store]:
        """What writes finished runs. Any number of processes may hold one at once, also while one is `writing`. As `writing`."""
        with self._made(keep_note), self._locked(".writers", fcntl.LOCK_SH):
            self.check_format()
            yield self

    def without_writers(self) -> AbstractContextManager[None]:
        """Keeps writers out. StorageError where there are any."""
        return self._locked(".writers", fcntl.LOCK_EX | fcntl.LOCK_NB)

    @contextmanager
    def _made(self, keep_note: Callable[[], str] = str) -> Generator[None]:
        try:
            (self.folder / "runs").mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise StorageError(f"cannot write results to {self.folder}: {_reason(error)}{keep_note()}") from error

    @contextmanager
    def _locked(self, name: str, how: int) -> Generator[None]:
        with (self.folder / name).open("w") as lock:
            try:
                fcntl.flock(lock, how)
            except BlockingIOError:
                raise StorageError(f"another longfat is writing to {self.folder}: wait, or choose another folder (--results)") from None
            yield

    def check_format(self) -> None:
        """StorageError if a newer longfat wrote here."""
        version = _version(self._provenance_if_whole())
        if version > FORMAT_VERSION:
            raise StorageError(
                f"{self.folder} has results of format {version}, and this longfat knows formats up to {FORMAT_VERSION}: "
                "use a newer longfat, or give another folder with --results"
            )

    def check_source(self, file: str) -> None:
        """StorageError if what is here came from another file than `file`, one that is still there and says something else."""
        other = self._provenance_if_whole().get("file", "")
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
        """The parsed provenance.json; empty where there is none. DamagedError where it is not what was written."""
        path = self.folder / "provenance.json"
        try:
            known = sums.read(self.folder)
            facts = _read_json(path, "title", "axes")
            if known or _version(facts) >= WITH_SUMS:
                sums.check(self.folder, [path.name], known)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(f"cannot read {path}: {_reason(error)}") from error
        except DamagedError as error:
            raise DamagedError(f"{error}; {AGAIN}") from error
        return facts

    def _provenance_if_whole(self) -> dict[str, Any]:
        try:
            return self.provenance()
        except DamagedError:
            return {}

    def text(self) -> str:
        """The experiment as it was given. DamagedError where that is not what was written."""
        path = self.folder / "experiment.toml"
        try:
            if known := sums.read(self.folder):
                sums.check(self.folder, [path.name], known)
            return path.read_text(encoding="utf-8")
        except DamagedError as error:
            raise DamagedError(f"{error}; {AGAIN}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise DamagedError(f"cannot read {path}: {error}; {AGAIN}") from error

    def text_so_far(self) -> str:
        """The experiment of the sweep that is under way or was stopped; else as `text`."""
        try:
            return str(_read_json(self.folder / SWEEP, "text")["text"])
        except (OSError, DamagedError):
            return self.text()

    def has(self, run: str) -> bool:
        """Whether the run of this hash is finished, and all of it is what was written."""
        place = self.folder / "runs" / run
        try:
            _check_run(place, _read_json(place / "run.json"))
        except (OSError, DamagedError):
            return False
        return bool(made_by(place))

    def write(self, result: Result, trace: Trace) -> None:
        """Keeps a finished run: whole, or OSError and nothing. One that is there stays as it is."""
        place = self.folder / "runs" / result.run
        if made_by(place):
            return
        unfinished = place.with_name(f".unfinished-{result.run}-{secrets.token_hex(4)}")
        try:
            unfinished.mkdir()
            stored = trace.stored()
            rows = {name: write_table(name, stored[name], unfinished / f"{name}.parquet") for name in RUN_TABLES}
            (unfinished / "experiment.json").write_text(result.resolved, encoding="utf-8")
            facts = result.provenance | {name: getattr(result, name) for name in RUN_FIELDS}
            facts["warnings"] = [warning.as_facts() for warning in result.warnings]
            facts |= {"format_version": FORMAT_VERSION, "rows": rows, "trace": to_json(stored["run"])}
            _write_json(facts, unfinished / "run.json")
            digests = {file.name: sums.digest(file) for file in unfinished.iterdir()}
            (unfinished / sums.NAME).write_text(sums.text(digests), encoding="ascii")
            for path in (*unfinished.iterdir(), unfinished):
                sums.sync(path)
            if not made_by(place):  # else another process was faster
                self.put_aside(result.run)
                unfinished.rename(place)
                sums.sync(place.parent)
        except OSError:
            if not made_by(place):
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def put_aside(self, run: str) -> None:
        """Gives a damaged run another name, so that it can be made again."""
        place = self.folder / "runs" / run
        if place.exists():
            place.rename(place.with_name(f".damaged-{run}-{time.time_ns()}"))

    def read(self, run: str) -> Result:
        """A finished run, with the metrics of now. Of a folder of format 2 or before: with those of its time.

        DamagedError where it is not what was written.
        """
        opened, fields = self._open(run)
        if isinstance(opened, Result):
            return opened
        tables, kept = opened.tables(), fields.pop("warnings")
        return of_tables(tables, also=_of_an_earlier_longfat(opened, tables, kept), **fields)

    def trace(self, run: str) -> tuple[Trace, dict[str, Any]]:
        """All that a finished run recorded, and what is known of the run besides: its title, labels, seed, `resolved`.

        StorageError of a folder of format 2 or before, which has no traces; DamagedError.
        """
        opened, fields = self._open(run)
        if isinstance(opened, Result):
            raise StorageError(f"{self.folder / 'runs' / run} was made by an older longfat, which kept no traces: run the experiment again")
        return opened, fields

    def _open(self, run: str) -> tuple[Trace | Result, dict[str, Any]]:
        """The trace of a run, or its tables where there is no trace; and what is known of it besides."""
        place = self.folder / "runs" / run
        try:
            facts = _read_json(place / "run.json")
            _check_run(place, facts)
            resolved = (place / "experiment.json").read_text(encoding="utf-8")
            fields: dict[str, Any] = {name: facts[name] for name in RUN_FIELDS} | {"resolved": resolved, "provenance": made_by(place)}
            fields["warnings"] = [of_facts(one) for one in fields["warnings"]]
            if "trace" not in facts:
                return _read_tables(place, facts, fields), fields
            stored = {name: read_table(name, place / f"{name}.parquet", facts["rows"].get(name, 0)) for name in RUN_TABLES}
            stored["run"] = from_json(facts["trace"])
            return Trace.restore(resolved, stored), fields
        except ExperimentError as error:
            raise StorageError(f"this longfat cannot read the experiment of {place}, which another version made:\n{error}") from error
        except DamagedError as error:
            raise DamagedError(f"{error}; {AGAIN}") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
                raise StorageError(f"cannot read {place}: {_reason(error)}") from error
            raise DamagedError(f"{place} is not a finished run: {error}; {AGAIN}") from error

    def begin(self, title: str, axes: list[str], text: str, facts: dict[str, Any]) -> None:
        """A sweep starts: notes what it is of, so that what is finished of it can be shown before its end. `facts` as for `combine`."""
        note = {"format_version": FORMAT_VERSION, "title": title, "axes": axes, "text": text} | facts
        unfinished = self.folder / f".unfinished-{SWEEP}-{secrets.token_hex(4)}"
        _write_json(note, unfinished)
        unfinished.replace(self.folder / SWEEP)

    def combine(self, title: str, axes: list[str], runs: list[Result], text: str, provenance: dict[str, Any]) -> Results:
        """Writes the tables of `runs`, in that order, and where they come from. OSError leaves the old ones."""
        header = {"format_version": FORMAT_VERSION, "metrics": METRICS, "title": title, "axes": axes}
        results = Results.of(title, axes, runs, header | provenance)
        results.open = self.read
        self._replace(results, {"experiment.toml": lambda path: path.write_text(text, encoding="utf-8")})
        (self.folder / SWEEP).unlink(missing_ok=True)
        return results

    def _replace(self, results: Results, also: dict[str, Callable[[Path], object]]) -> None:
        """Writes the tables of `results`, their provenance, and the files `also`. Only when all are written, they replace those before."""
        writers: dict[str, Callable[[Path], object]] = {f"{name}.parquet": partial(_write_table, getattr(results, name)) for name in TABLES}
        writers |= {"provenance.json": partial(_write_json, results.provenance)} | also
        try:
            digests = sums.read(self.folder)
        except DamagedError:
            digests = {}
        unfinished = {name: self.folder / f".unfinished-{name}" for name in writers}
        try:
            for name, write in writers.items():
                write(unfinished[name])
                digests[name] = sums.digest(unfinished[name])
            if _version(results.provenance) >= WITH_SUMS:
                unfinished[sums.NAME] = self.folder / f".unfinished-{sums.NAME}"
                unfinished[sums.NAME].write_text(sums.text(digests), encoding="ascii")
            for path in unfinished.values():
                sums.sync(path)
            for name, path in unfinished.items():
                path.replace(self.folder / name)
            sums.sync(self.folder)
        except BaseException:
            for path in unfinished.values():
                with suppress(OSError):
                    path.unlink()
            raise

    def _made_anew(self, provenance: dict[str, Any], runs: Sequence[Result]) -> Results:
        """The tables of `runs`, with every metric there is now; those in the folder, too, where they can be written."""
        now = {"metrics": METRICS, "warnings": [warning.as_facts() for warning in of_results(runs)]}
        made = Results.of(provenance["title"], provenance["axes"], runs, provenance | now)
        made.open = self.read
        with suppress(StorageError), self.writing():
            self._replace(made, {})
        return made

    def is_written_to(self) -> bool:
        """Whether a process is writing here now."""
        try:
            for name in (".lock", ".writers"):
                if (self.folder / name).exists():
                    with self._locked(name, fcntl.LOCK_EX | fcntl.LOCK_NB):
                        pass
        except StorageError:
            return True
        except OSError:
            return False
        return False

    def load_so_far(self) -> Results:
        """Of a sweep that is under way or was stopped, the runs that are finished: `Results.so_far` says how many. Else as `load`.

        A run that is damaged counts as not finished.
        """
        note: dict[str, Any] = {}
        with suppress(OSError, DamagedError):
            note = _read_json(self.folder / SWEEP, "title", "axes", "text")
        if not note:
            return self.load()
        self.check_format()
        runs = _runs(note["text"], note.get("changes", {}))
        done: list[Result] = []
        for run in runs:
            with suppress(DamagedError):
                if made_by(self.folder / "runs" / run.hash):
                    done.append(labelled(without_series(self.read(run.hash)), run))
        if not done:
            if (self.folder / "provenance.json").is_file():
                return self.load()
            raise StorageError(f"{self.folder} has no results yet: none of the {len(runs):,} runs of its sweep is finished")
        so_far = {"finished": len(done), "runs": len(runs), "under_way": self.is_written_to()}
        warnings = [warning.as_facts() for warning in of_results(done)]
        made = Results.of(note["title"], note["axes"], done, note | {"warnings": warnings, "so_far": so_far})
        made.open = self.read
        return made

    def load(self) -> Results:
        """What `combine` wrote, or where its tables are damaged, what it would write.

        StorageError where there are no results, or newer ones; DamagedError where there is no way back.
        """
        if not (self.folder / "provenance.json").is_file():
            raise StorageError(f"{self.folder} holds no results: expected a folder that `longfat run` wrote")
        self.check_format()
        provenance = self.provenance()
        version = _version(provenance)
        try:
            tables = self._tables(version)
        except DamagedError as error:
            if version < WITH_TRACES:
                raise
            try:
                return self._made_anew(provenance, self._runs_of(provenance))
            except LongfatError as why:
                raise DamagedError(f"{error}; it cannot be made anew, since {why}") from why
        results = Results(provenance["title"], provenance["axes"], **tables, open=self.read, provenance=provenance)
        if version < WITH_TRACES or provenance.get("metrics") == METRICS:
            return results
        labels = results.runs[[*results.axes, "repeat"]].to_dict("records")
        runs = [
            replace(self.read(run), labels={axis: row[axis] for axis in results.axes}, repeat=int(row["repeat"]))
            for run, row in zip(results.runs["run"], labels, strict=True)
        ]
        return self._made_anew(provenance, runs)

    def shown(self) -> set[str]:
        """The runs that the tables at the top are of; none where there are no tables."""
        if not (self.folder / "runs.parquet").exists():
            return set()
        try:
            return set(self._tables(_version(self.provenance()))["runs"]["run"])
        except DamagedError:
            return set(self.load().runs["run"])

    def _tables(self, version: int) -> dict[str, pd.DataFrame]:
        """The tables at the top. DamagedError where one is not what was written."""
        if version >= WITH_SUMS:
            sums.check(self.folder, [f"{name}.parquet" for name in TABLES], sums.read(self.folder))
        tables: dict[str, pd.DataFrame] = {}
        for name in TABLES:
            path = self.folder / f"{name}.parquet"
            try:
                tables[name] = _read_table(path)
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
                    raise StorageError(f"cannot read {path}: {_reason(error)}") from error
                raise DamagedError(f"{path} is damaged: {error}") from error
        return tables

    def _runs_of(self, provenance: dict[str, Any]) -> list[Result]:
        """The runs that the tables are of, by the experiment that is kept beside them. LongfatError where one is not to be had."""
        runs = _runs(self.text(), provenance.get("changes", {}))
        return [labelled(self.read(run.hash), run) for run in runs]


def _runs(text: str, changes: dict[str, Any]) -> list[Run]:
    """The runs of the experiment that `text` says, with these changes."""
    document = Document(text, "experiment.toml")
    for path, value in changes.items():
        if path == "quick":
            document = document.quick() or document
        else:
            document.set(path, value)
    return [document.run(index) for index in range(document.run_count)]


def labelled(result: Result, run: Run) -> Result:
    """`result` as the outcome of `run`: it may have been made for another sweep, under other labels."""
    return replace(result, labels=dict(run.labels), repeat=run.repeat)


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
        facts = _read_json(place / "run.json")
        _check_run(place, facts, [])
    except (OSError, DamagedError):
        return {}
    if "run" not in facts:
        return {}
    of_its_time = {"results_version": BEFORE, "backend": "sim", "longfat": {"code": facts.get("code", "")}, "finished": ""}
    return {name: facts.get(name, before) for name, before in of_its_time.items()}


def _check_run(place: Path, facts: dict[str, Any], names: Sequence[str] | None = None) -> None:
    """DamagedError where a file of the run in `place` (or of these `names`) is not what was written. A run of an old format cannot tell."""
    known = sums.read(place)
    if known or _version(facts) >= WITH_SUMS:
        sums.check(place, ["run.json"], known)
        rows: dict[str, int] = facts.get("rows", {})
        tables = [f"{name}.parquet" for name, count in rows.items() if count]
        sums.check(place, ["experiment.json", *tables] if names is None else names, known)
        if names is None and facts.get("run") != place.name:
            raise DamagedError(f"{place} holds another run")


def _version(facts: dict[str, Any]) -> int:
    version = facts.get("format_version", 0)
    return version if isinstance(version, int) else 0


def _read_json(path: Path, *needed: str) -> dict[str, Any]:
    """The table of facts in a file. DamagedError where there is none in it, or one without what is needed."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    if not (isinstance(facts, dict) and all(name in facts for name in needed)):
        raise DamagedError(f"{path} is damaged: it does not hold what it should")
    return cast("dict[str, Any]", facts)


def _read_tables(place: Path, facts: dict[str, Any], fields: dict[str, Any]) -> Result:
    """A run of format 2 or before: its tables as they are."""
    fields |= {name: _read_table(place / f"{name}.parquet") for name in RUN_TABLES}
    fields |= {"metrics": {name: _float(value) for name, value in facts["metrics"].items()}}
    return Result(**fields, end_s=facts["end_s"], steps=facts["steps"])


def _of_an_earlier_longfat(trace: Trace, tables: Tables, kept: list[RunWarning]) -> list[RunWarning]:
    """What is to be told of a run whose trace lacks columns: which, and what was told of it then and cannot be told now."""
    if not trace.missing:
        return []
    now = {one["text"] for one in tables["warnings"]}
    # Where nothing is stored, a count is read as 0; a value that may be missing is.
    unknown = [column for column in trace.missing if _can_be_missing(column)]
    wrong = [column for column in trace.missing if column not in unknown]
    notes = [f"its trace was stored without {', '.join(unknown)}: what is made of that has no value"] if unknown else []
    notes += [f"its trace was stored without {', '.join(wrong)}: metrics made of that are not to be trusted"] if wrong else []
    return [*(one for one in kept if one.text not in now), *(RunWarning("", note) for note in notes)]


def _can_be_missing(column: str) -> bool:
    table, _, name = column.partition(".")
    return any(one["name"] == name and one["form"] in ("count or none", "number") for one in columns()[table])


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{os.strerror(error.errno)}; make room and run the same command again"
    return os.strerror(error.errno) if error.errno else str(error)


def _write_table(table: pd.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        table.to_parquet(file, engine="pyarrow", index=False, compression="zstd", write_page_checksum=True)


def _read_table(path: Path) -> pd.DataFrame:
    if path.stem in ADDED and not path.exists():
        return pd.DataFrame()
    with path.open("rb") as file:
        return pd.read_parquet(file, engine="pyarrow", page_checksum_verification=True).rename(columns=RENAMED)


def _write_json(value: object, path: Path) -> None:
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
