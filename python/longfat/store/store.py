"""The results of one experiment: its runs, and the tables made of them."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from longfat._longfat import METRICS, Document, Run
from longfat.errors import DamagedError, LongfatError, NoResultsError, StorageError
from longfat.lazy import pa, pd
from longfat.results.result import WITHOUT_SERIES, Result, changed
from longfat.results.results import Results
from longfat.store import checksums, locks
from longfat.store.combined import AT_ONCE, STRETCH, STRETCH_CELLS, Combined, Row
from longfat.store.files import FORMAT_VERSION, read_opened
from longfat.store.finished import names_of_cut
from longfat.store.many import Shown
from longfat.store.place import Folder
from longfat.store.runs import NO_NUMBERS, Runs
from longfat.store.top import PROVENANCE, SWEEP, TABLES
from longfat.sweep.adaptive import Decider
from longfat.sweep.plan import Named, Plan
from longfat.sweep.summary import SweepSummary
from longfat.sweep.work import share_of


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

    def document(self) -> Document:
        """The experiment of the last sweep, with the changes that `--set` and `--quick` made. ExperimentError, DamagedError."""
        return _document(self.text_so_far(), self.changes_so_far())

    def changes_so_far(self) -> dict[str, str]:
        """Changes that `--set` made to the file of the sweep that is under way or was stopped; else of the last one."""
        return (self._top.note() or self.provenance()).get("changes", {})

    def begin(self, title: str, axes: list[str], text: str, facts: dict[str, Any]) -> None:
        """A sweep starts: notes what it is of, so that what is finished of it can be shown before its end. `facts` as for `combine`.

        StorageError as `check_source` has it, where another one began since that was asked.
        """
        with self._telling():
            self.check_source(facts.get("file", ""))
            self._top.begin({"title": title, "axes": axes, "text": text} | facts)

    def combine(
        self,
        title: str,
        axes: list[str],
        runs: Iterable[Run | Named],
        text: str,
        facts: Callable[[SweepSummary], dict[str, Any]],
        document: Document | None = None,
        tick: Callable[[int], object] = lambda _: None,
    ) -> Results:
        """Writes the tables of `runs`, in that order, and where they come from: `facts` of them all. Others may write meanwhile.

        `document` is what they are runs of: with it this is faster. `tick` is told how many are in the tables. A StorageError leaves the
        old tables. DamagedError where runs are missing or damaged; these have been put aside then.
        """
        tick(0)
        with self._telling(), self._as_writer():
            self.gather()
            fill = partial(self._fill, rows=_rows(runs), document=document, damaged=self.put_aside, tick=tick)
            provenance = self._write_top(title, axes, fill, facts, text)
            self._top.end()
        return self._results(provenance)

    def _stretch(self) -> int:
        """Number of runs of a sweep that make a stretch of `Combined`."""
        return max(AT_ONCE, min(STRETCH, STRETCH_CELLS // max(self._cells_of_a_run(TABLES[1:]), 1)))

    def _fill(
        self,
        made: Combined,
        rows: Iterable[Row],
        document: Document | None = None,
        damaged: Callable[[str], object] = lambda _: None,
        tick: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Adds runs of the sweep. Where some are damaged, a DamagedError for the first, when `damaged` has been told of all of them."""
        failed: DamagedError | None = None
        done, every = 0, iter(rows)
        while stretch := list(islice(every, self._stretch())):
            by_run: dict[str, list[Row]] = {}
            for row in stretch:
                by_run.setdefault(row.run, []).append(row)
            numbers = {run: some[0].number for run, some in by_run.items()} if document else NO_NUMBERS
            places: list[int] = []
            found: list[Result] = []
            for one in self.tables_of(by_run, document, numbers):
                done += len(one.facts) if isinstance(one, Shown) else 1
                tick(done)
                if isinstance(one, Shown):
                    made.add_shown(one, by_run)
                    continue
                run, result = one
                if isinstance(result, DamagedError):
                    failed = failed or result
                    damaged(run)
                    continue
                for row in by_run[run]:
                    places.append(row.place)
                    found.append(changed(result, labels=dict(row.labels), repeat=row.repeat, **WITHOUT_SERIES))
                if len(found) >= AT_ONCE:
                    made.add(found, places)
                    places, found = [], []
            made.add(found, places)
            made.end_stretch()
        if failed:
            raise failed

    def _write_top(
        self,
        title: str,
        axes: list[str],
        fill: Callable[[Combined], object],
        facts: Callable[[SweepSummary], dict[str, Any]],
        text: str | None = None,
    ) -> dict[str, Any]:
        """Makes the tables that `fill` adds runs to, and puts them and where they come from at the top; gives the latter."""
        made = Combined(axes, self.place.local)
        try:
            fill(made)
            provenance = {"format_version": FORMAT_VERSION, "metrics": METRICS, "title": title, "axes": axes} | facts(made.summary)
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
        return self._of_files(provenance, held)

    def _of_files(self, provenance: dict[str, Any], held: Mapping[str, Any]) -> Results:
        tables: dict[str, Any] = {name: partial(read_opened, file) for name, file in held.items()}
        results = Results(provenance["title"], provenance["axes"], **tables, open=self.read, provenance=provenance)
        for file in held.values():
            weakref.finalize(results, file.close)
        return results

    def _only_made(
        self,
        provenance: dict[str, Any],
        rows: Iterable[Row],
        document: Document | None = None,
        tick: Callable[[int], object] = lambda _: None,
    ) -> Results:
        """The tables of these runs, which are not kept: they are in files that are gone when nobody has them open."""
        with tempfile.TemporaryDirectory(prefix="longfat-") as home:
            made = Combined(provenance["axes"], Path(home))
            self._fill(made, rows, document, tick=tick)
            now = provenance | {"warnings": [warning.as_facts() for warning in made.summary.warnings]}
            return self._of_files(now, {name: path.open("rb") for name, path in made.files().items()})

    def _made_anew(self, provenance: dict[str, Any], rows: Sequence[Row]) -> Results:
        """The tables of these runs, with every metric there is now; those at the top, too, where they can be written."""
        now = provenance | {"metrics": METRICS}
        with suppress(StorageError), self._telling(), self._as_writer():
            title, axes = provenance["title"], provenance["axes"]

            def facts(summary: SweepSummary) -> dict[str, Any]:
                return now | {"warnings": [one.as_facts() for one in summary.warnings]}

            return self._results(self._write_top(title, axes, lambda made: self._fill(made, rows), facts))
        return self._only_made(now, rows)

    def is_written_to(self) -> bool:
        """Returns true if a process of this machine is writing here now."""
        return locks.is_held(self.place.local)

    def is_there(self) -> bool:
        """Returns true if there are results, of a whole sweep or of a part of one."""
        with self._reading():
            return any(self.place.has(name) for name in (PROVENANCE, SWEEP))

    def state(self) -> list[str]:
        """Changes when a sweep begins or ends, or its tables are made anew."""
        found: list[str] = []
        for name in (SWEEP, PROVENANCE):
            try:
                found.append(checksums.of_bytes(self.place.read(name)))
            except OSError:
                found.append("")
        return found

    def load_so_far(self, tick: Callable[[float], object] = lambda _: None) -> Results:
        """Loads the finished runs of a sweep that is under way or was stopped: `Results.so_far` says how many. Else as `load`.

        The last attempt at a run that was cut before its end stands in its place. A run that is damaged counts as not finished. `tick` is
        told the share of the finished runs that is read.
        """
        note = self._top.note()
        if not note:
            return self.load()
        self.check_format()
        document = _document(note["text"], note.get("changes", {}))
        finished = self.finished()
        count, done, place = 0, list[Row](), dict[str, bool]()
        for row in _rows(_wanted(document, self)):
            count += 1
            is_whole = row.run in finished
            *_, name = [row.run, *takewhile(finished.__contains__, names_of_cut(row.run))] if not is_whole else [row.run]
            if name in finished:
                done.append(row._replace(run=name))
                place[name] = is_whole
        whole = self.whole_of(place)
        done = [row for row in done if row.run in whole]
        if not done:
            if self.place.has(PROVENANCE):
                return self.load()
            raise NoResultsError(f"{self.folder} has no results yet: none of the {count:,} runs of its sweep is finished")
        cut = sum(not place[row.run] for row in done)
        so_far = {"finished": len(done) - cut, "cut": cut, "runs": count, "under_way": self.is_written_to()}
        return self._only_made(note | {"so_far": so_far}, done, document, share_of(len(done), tick))

    def load(self) -> Results:
        """Loads the tables that `combine` wrote; where they are damaged, they are made anew.

        All tables but `runs` are read when they are asked for.
        StorageError where there are no results, or newer ones; DamagedError where there is no way back.
        """
        if not self.place.has(PROVENANCE):
            raise NoResultsError(f"{self.folder} holds no results: expected a folder that `longfat run` wrote")
        self.check_format()
        provenance = self.provenance()
        anew: list[Results] = []

        def table(name: str) -> pd.DataFrame:
            try:
                return self._top.table(name)
            except DamagedError as error:
                if not anew:
                    anew.append(self._again(provenance, error))
                return getattr(anew[0], name)

        later = {name: (lambda name=name: table(name)) for name in TABLES[1:]}
        results = Results(provenance["title"], provenance["axes"], table("runs"), **later, open=self.read, provenance=provenance)
        if anew:
            return anew[0]
        if provenance.get("metrics") == METRICS:
            return results
        labels = results.runs[["run", *results.axes, "repeat"]].to_dict("records")
        rows = [
            Row(place, 0, row["run"], [(axis, row[axis]) for axis in results.axes], int(row["repeat"])) for place, row in enumerate(labels)
        ]
        return self._made_anew(provenance, rows)

    def _again(self, provenance: dict[str, Any], error: DamagedError) -> Results:
        """The tables made anew, since one is damaged. Runs by the experiment kept beside them."""
        try:
            document = _document(self.text(), provenance.get("changes", {}))
            return self._made_anew(provenance, list(_rows(_wanted(document, self))))
        except LongfatError as why:
            raise DamagedError(f"{error}; it cannot be made anew, since {why}") from why

    def shown(self) -> set[str]:
        """The runs that the tables at the top are of; none where there are no tables."""
        return set(self.load().runs["run"]) if self.place.has("runs.parquet") else set()


def _rows(runs: Iterable[Run | Named]) -> Iterator[Row]:
    """A row for each run."""
    return (Row(place, run.index, run.hash, run.labels, run.repeat) for place, run in enumerate(runs))


def _document(text: str, changes: dict[str, Any]) -> Document:
    """The experiment that `text` says, with these changes."""
    document = Document(text, "experiment.toml")
    for path, value in changes.items():
        if path == "quick":
            document = document.quick() or document
        else:
            document.set(path, value)
    return document


def _wanted(document: Document, store: Store) -> Iterator[Named]:
    """The runs that it wants, by what is finished in the store."""
    return Plan.of(document, Decider(document).wanted(partial(finished_in, store))).named


def finished_in(store: Store, run: str) -> Result | None:
    """The run of this hash, where it is finished in `store` and whole."""
    if store.is_finished(run):
        with suppress(DamagedError):
            return store.read(run)
    return None


def labelled(result: Result, run: Run | Named) -> Result:
    """`result` as the outcome of `run`: it may have been made for another sweep, under other labels."""
    return changed(result, labels=dict(run.labels), repeat=run.repeat)
