"""The results of one experiment: its runs, and the tables made of them."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import pandas as pd
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from longfat import sums
from longfat._longfat import METRICS, Document, Run
from longfat.decide import Decider, Metrics
from longfat.errors import DamagedError, LongfatError, NoResultsError, StorageError
from longfat.results import Result, Results, changed, without_series
from longfat.store import locks
from longfat.store.combined import TOGETHER, Combined
from longfat.store.files import read_opened, version_of
from longfat.store.place import Folder
from longfat.store.runs import Runs
from longfat.store.top import PROVENANCE, SWEEP, TABLES
from longfat.store.version import FORMAT_VERSION, WITH_TRACES
from longfat.totals import Totals


class Store(Runs):
    """The results at one location. Making a `Store` touches nothing there."""

    def check_source(self, file: str) -> None:
        """StorageError if what is here came from another file than `file`, one that is still there and says something else."""
        self._top.check_source(file)

    def provenance(self) -> dict[str, Any]:
        """The parsed provenance.json; empty where there is none. DamagedError where it is not what was written."""
        return self._top.provenance()

    def text(self) -> str:
        """The experiment as it was given. DamagedError where that is not what was written."""
        return self._top.text()

    def text_so_far(self) -> str:
        """The experiment of the sweep that is under way or was stopped; else as `text`."""
        note = self._top.note()
        return str(note["text"]) if note else self.text()

    def begin(self, title: str, axes: list[str], text: str, facts: dict[str, Any]) -> None:
        """A sweep starts: notes what it is of, so that what is finished of it can be shown before its end. `facts` as for `combine`."""
        with self._telling():
            self._top.begin({"title": title, "axes": axes, "text": text} | facts)

    def combine(self, title: str, axes: list[str], runs: Iterable[Run], text: str, facts: Callable[[Totals], dict[str, Any]]) -> Results:
        """Writes the tables of `runs`, in that order, and where they come from: `facts` of them all. Others may write meanwhile.

        A StorageError leaves the old ones. DamagedError where runs are missing or damaged; these have been put aside then.
        """
        with self._telling(), self._as_writer():
            self.gather()
            provenance = self._write_top(title, axes, self._in_parts(runs), facts, text)
            self._top.end()
        return self._results(provenance)

    def _in_parts(self, runs: Iterable[Run]) -> Iterator[list[Result]]:
        """The results of runs, in order, some at a time. DamagedError for the first that is damaged, when all have been put aside."""
        failed: DamagedError | None = None
        every = iter(runs)
        while some := list(islice(every, TOGETHER)):
            found = dict(self.read_all(run.hash for run in some))
            for run, result in found.items():
                if isinstance(result, DamagedError):
                    failed = failed or result
                    self.put_aside(run)
            if not failed:
                yield [labelled(found[run.hash], run) for run in some]  # type: ignore[arg-type]
        if failed:
            raise failed

    def _write_top(
        self,
        title: str,
        axes: list[str],
        parts: Iterable[list[Result]],
        facts: Callable[[Totals], dict[str, Any]],
        text: str | None = None,
    ) -> dict[str, Any]:
        """Makes the tables of these runs, and puts them and where they come from at the top; gives the latter."""
        made = Combined(axes, self.place.local)
        try:
            for some in parts:
                made.add(some)
            provenance = {"format_version": FORMAT_VERSION, "metrics": METRICS, "title": title, "axes": axes} | facts(made.totals)
            with locks.exclusive(self.place.local, str(self.folder), locks.TOP):
                self._top.write(made.files(), provenance, text)
        finally:
            made.remove()
        return provenance

    def _results(self, provenance: dict[str, Any]) -> Results:
        """The tables that were just written, each read when it is asked for, whatever is written in their place until then."""
        held: dict[str, Any] = {}
        for name in TABLES:
            file = f"{name}.parquet"
            # The file of a folder stays as long as it is open; an object does not.
            held[name] = self.place.open(file) if isinstance(self.place, Folder) else pa.BufferReader(self.place.read(file))
        tables: dict[str, Any] = {name: partial(read_opened, file) for name, file in held.items()}
        results = Results(provenance["title"], provenance["axes"], **tables, open=self.read, provenance=provenance)
        for file in held.values():
            weakref.finalize(results, file.close)
        return results

    def _made_anew(self, provenance: dict[str, Any], runs: Sequence[Result]) -> Results:
        """The tables of `runs`, with every metric there is now; those at the top, too, where they can be written."""
        totals = Totals()
        totals.add(runs)
        now = provenance | {"metrics": METRICS, "warnings": [warning.as_facts() for warning in totals.warnings]}
        made = Results.of(provenance["title"], provenance["axes"], runs, now)
        made.open = self.read
        with suppress(StorageError), self._telling(), self._as_writer():
            self._write_top(provenance["title"], provenance["axes"], [list(runs)], lambda _: now)
        return made

    def is_written_to(self) -> bool:
        """Whether a process of this machine is writing here now."""
        return locks.is_held(self.place.local)

    def is_there(self) -> bool:
        """Whether there are results, of a whole sweep or of a part of one."""
        return any(self.place.has(name) for name in (PROVENANCE, SWEEP))

    def state(self) -> list[str]:
        """Changes when a sweep begins or ends, or its tables are made anew."""
        found: list[str] = []
        for name in (SWEEP, PROVENANCE):
            try:
                found.append(sums.of_bytes(self.place.read(name)))
            except OSError:
                found.append("")
        return found

    def load_so_far(self) -> Results:
        """Of a sweep that is under way or was stopped, the runs that are finished: `Results.so_far` says how many. Else as `load`.

        A run that is damaged counts as not finished.
        """
        note = self._top.note()
        if not note:
            return self.load()
        self.check_format()
        runs = list(Decider(_document(note["text"], note.get("changes", {}))).wanted(metrics_in(self)))
        wanted = {run.hash for run in runs} & self.finished()
        found = {run: without_series(result) for run, result in self.read_all(wanted) if isinstance(result, Result)}
        done = [labelled(found[run.hash], run) for run in runs if run.hash in found]
        if not done:
            if self.place.has(PROVENANCE):
                return self.load()
            raise NoResultsError(f"{self.folder} has no results yet: none of the {len(runs):,} runs of its sweep is finished")
        so_far = {"finished": len(done), "runs": len(runs), "under_way": self.is_written_to()}
        totals = Totals()
        totals.add(done)
        warnings = [warning.as_facts() for warning in totals.warnings]
        made = Results.of(note["title"], note["axes"], done, note | {"warnings": warnings, "so_far": so_far})
        made.open = self.read
        return made

    def load(self) -> Results:
        """What `combine` wrote, or where its tables are damaged, what it would write.

        All tables but `runs` are read when they are asked for.
        StorageError where there are no results, or newer ones; DamagedError where there is no way back.
        """
        if not self.place.has(PROVENANCE):
            raise NoResultsError(f"{self.folder} holds no results: expected a folder that `longfat run` wrote")
        self.check_format()
        provenance = self.provenance()
        version = version_of(provenance)
        anew: list[Results] = []

        def table(name: str) -> pd.DataFrame:
            try:
                return self._top.table(name, version)
            except DamagedError as error:
                if version < WITH_TRACES:
                    raise
                if not anew:
                    anew.append(self._again(provenance, error))
                return getattr(anew[0], name)

        later = {name: (lambda name=name: table(name)) for name in TABLES[1:]}
        results = Results(provenance["title"], provenance["axes"], table("runs"), **later, open=self.read, provenance=provenance)
        if anew:
            return anew[0]
        if version < WITH_TRACES or provenance.get("metrics") == METRICS:
            return results
        found = dict(self.read_all(results.runs["run"]))
        labels = results.runs[["run", *results.axes, "repeat"]].to_dict("records")
        runs: list[Result] = []
        for row in labels:
            result = found[row["run"]]
            if isinstance(result, DamagedError):
                raise result
            runs.append(changed(result, labels={axis: row[axis] for axis in results.axes}, repeat=int(row["repeat"])))
        return self._made_anew(provenance, runs)

    def _again(self, provenance: dict[str, Any], error: DamagedError) -> Results:
        """The tables made anew, since one is damaged. By the experiment that is kept beside them."""
        try:
            runs = Decider(_document(self.text(), provenance.get("changes", {}))).wanted(metrics_in(self))
            return self._made_anew(provenance, [labelled(self.read(run.hash), run) for run in runs])
        except LongfatError as why:
            raise DamagedError(f"{error}; it cannot be made anew, since {why}") from why

    def shown(self) -> set[str]:
        """The runs that the tables at the top are of; none where there are no tables."""
        return set(self.load().runs["run"]) if self.place.has("runs.parquet") else set()


def _document(text: str, changes: dict[str, Any]) -> Document:
    """The experiment that `text` says, with these changes."""
    document = Document(text, "experiment.toml")
    for path, value in changes.items():
        if path == "quick":
            document = document.quick() or document
        else:
            document.set(path, value)
    return document


def metrics_in(store: Store) -> Metrics:
    """The metrics of the runs that are finished in `store`, each read once."""
    known: dict[str, Mapping[str, float]] = {}

    def metrics(run: str) -> Mapping[str, float] | None:
        if run not in known and store.is_finished(run):
            with suppress(DamagedError):
                known[run] = store.read(run).metrics
        return known.get(run)

    return metrics


def labelled(result: Result, run: Run) -> Result:
    """`result` as the outcome of `run`: it may have been made for another sweep, under other labels."""
    return changed(result, labels=dict(run.labels), repeat=run.repeat)
