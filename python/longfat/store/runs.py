"""The runs of one location: writing finished ones, finding and reading them, and removing them when asked."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from longfat._longfat import Trace, columns
from longfat.errors import DamagedError, ExperimentError, StorageError
from longfat.lazy import pa
from longfat.results.result import Result, of_trace
from longfat.results.warning import RunWarning
from longfat.store import journal, locks
from longfat.store.files import reason
from longfat.store.finished import MADE_BY, Finished
from longfat.store.journal import Journal, Record
from longfat.store.many import Many, Shown
from longfat.store.place import Bucket, Location, is_refused, location, machine, place_of
from longfat.store.shard import unreadable
from longfat.store.shards import Shards
from longfat.store.top import AGAIN, Top
from longfat.store.writer import Writer
from longfat.sweep.hashes import Hashes

if TYPE_CHECKING:
    from longfat._longfat import Document, Tables

NO_NUMBERS: Mapping[str, int] = {}
JOURNALS = journal.FOLDER


@dataclass(frozen=True)
class Kept:
    """A run that is kept."""

    run: str
    """Hash of the run."""
    within: str
    """The name of its shard, or `JOURNALS`."""
    made_by: dict[str, Any]
    """Provenance, as `Result.provenance`; empty where it is damaged."""
    size: int
    """Bytes; of a run in a shard, its share by rows."""


class Runs:
    """The runs at one location. Making it touches nothing there."""

    def __init__(self, where: str | Location) -> None:
        self.folder = location(where)
        self.place = place_of(self.folder)
        self._top = Top(self.place)
        self._shards = Shards(self.place)
        self._journals: dict[str, dict[str, Record]] = {}
        self._ends: dict[str, int] = {}
        self._lock = threading.RLock()
        self._looked = False

    # Writing

    @contextmanager
    def writing(self, keep_note: Callable[[], str] = str) -> Generator[None]:
        """Keeps other sweeps out, not writers. A refusal of the system becomes a StorageError.

        `keep_note` adds to the message what was kept.
        """
        with self._telling(keep_note), locks.exclusive(self.place.local, str(self.folder), locks.SWEEP):
            self.check_format()
            yield

    @contextmanager
    def writer(self, keep_note: Callable[[], str] = str) -> Generator[Writer]:
        """Yields a writer of finished runs. Any number of processes may hold one at once, also while one is `writing`. As `writing`."""
        with self._telling(keep_note), locks.shared(self.place.local, str(self.folder), self._clear):
            self.check_format()
            writer = Writer(self.place, self.is_finished)
            try:
                yield writer
            finally:
                writer.close()

    def _as_writer(self) -> AbstractContextManager[None]:
        """Keeps others from clearing away what is not finished: a worker that comes late would, where it is the only writer."""
        return locks.shared(self.place.local, str(self.folder), self._clear)

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Locks all others on this machine out of writing. StorageError where somebody writes, or the system refuses."""
        with self.writing(), locks.exclusive(self.place.local, str(self.folder), locks.WRITERS):
            self._clear()
            yield

    @contextmanager
    def _telling(self, keep_note: Callable[[], str] = str) -> Generator[None]:
        """Turns an error of the system while writing into a StorageError."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise StorageError(f"cannot write results to {self.folder}: {why}{keep_note()}{self._unsent()}") from error

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Turns an error of the system while reading into a StorageError."""
        try:
            yield
        except OSError as error:
            raise StorageError(f"cannot read results in {self.folder}: {reason(error)}") from error

    def _clear(self) -> None:
        self._shards.clear_unfinished(self.finished, machine() if isinstance(self.place, Bucket) else "")

    def _unsent(self) -> str:
        local = self.place.local
        if not isinstance(self.place, Bucket) or not journal.there(local / journal.FOLDER):
            return ""
        return f"; finished runs that could not be sent are in {local}, and are sent by the next longfat that writes there"

    def gather(self) -> None:
        """Makes shards of the journals that nobody writes to. Others may write meanwhile."""
        with self._telling(), self._lock:
            for one in Journal.left_behind(self.place.local / journal.FOLDER):
                self._shards.seal(one)
            self._shards.compact(machine() if isinstance(self.place, Bucket) else "")

    def put_aside(self, run: str) -> None:
        """The copies of a run that are there are damaged, and do not count any more."""
        with self._lock:
            self.refresh()
            self._shards.put_aside(run)

    # Finding and reading runs

    def check_format(self) -> None:
        """StorageError if a newer longfat wrote here."""
        self._top.check_format()

    def refresh(self) -> None:
        """Looks what is there now. StorageError."""
        with self._lock, self._reading():
            folder = self.place.local / journal.FOLDER
            # Journals first: what leaves them meanwhile is in a shard then.
            there = {path.name for path in journal.there(folder)}
            for name in there:
                found = {one.run: one for one in journal.records(folder / name, self._ends.get(name, 0))}
                self._journals.setdefault(name, {}).update(found)
                self._ends[name] = max([self._ends.get(name, 0), *(one.end for one in found.values())])
            for name in self._journals.keys() - there:
                del self._journals[name], self._ends[name]
            self._shards.refresh()
            self._looked = True

    def finished(self) -> Hashes:
        """The hashes of all runs that are finished. Their contents are looked at when they are read."""
        with self._lock:
            self.refresh()
            return self._shards.finished() | chain(*self._journals.values())

    def has(self, run: str) -> bool:
        """Returns true if the run of this hash is finished, and all of it is what was written."""
        with self._lock:
            self.refresh()
            try:
                return self._find(run) is not None
            except (OSError, DamagedError):
                return False

    def is_finished(self, run: str) -> bool:
        """Returns true if the run of this hash is finished now. Its contents are not checked."""
        with self._lock:
            self.refresh()
            return self._is_there(run)

    def finished_of(self, runs: Iterable[str]) -> Hashes:
        """Returns the `runs` that are finished now. Their contents are not checked."""
        wanted = Hashes.of(runs)
        with self._lock:
            self.refresh()
            found = self._shards.finished(wanted)
            return found | (run for run in wanted - found if self._is_there(run))

    def _is_there(self, run: str) -> bool:
        return any(run in found for found in self._journals.values()) or self._shards.has(run)

    def whole(self, runs: Iterable[str]) -> Hashes:
        """Returns the `runs` that are finished and are what was written. Damaged ones are put aside."""
        return self.whole_of(self.finished() & runs, self.put_aside)

    def whole_of(self, runs: Iterable[str], damaged: Callable[[str], object] = lambda _: None) -> Hashes:
        """Returns the `runs`, finished at the last look, that are what was written; `damaged` is told of the others."""
        every = Hashes.of(runs)
        suspects: list[str] = []
        for some in self._shards.read_many(every):
            if isinstance(some, Many):
                suspects += [run for run, is_whole in zip(some.runs, some.whole(), strict=True) if not is_whole]
            else:
                suspects += some
        wrong: list[str] = []
        for run in suspects:
            try:
                self._open(run)
            except DamagedError:
                damaged(run)
                wrong.append(run)
        return every - wrong

    def _find(self, run: str) -> Finished | None:
        damage: DamagedError | None = None
        for name, found in list(self._journals.items()):
            if run in found:
                try:
                    return journal.read(self.place.local / journal.FOLDER, found[run])
                except FileNotFoundError:  # it has become a shard
                    del self._journals[name]
                    self._shards.refresh()
                except DamagedError as error:
                    damage = error
        try:
            if (whole := self._shards.read(run)) is not None:
                return whole
        except DamagedError as error:
            damage = error
        if damage:
            raise damage
        return None

    def _open(self, run: str) -> Finished:
        """A finished run. StorageError, DamagedError."""
        with self._lock:
            try:
                found = self._find(run) if self._looked else None
                if found is None:
                    self.refresh()
                    found = self._find(run)
            except DamagedError as error:
                raise DamagedError(f"{error}; {AGAIN}") from error
            except OSError as error:
                raise StorageError(f"cannot read the run {run} in {self.folder}: {reason(error)}") from error
        if found is None:
            raise DamagedError(f"{self.folder} has no finished run {run}; {AGAIN}")
        return found

    def read(self, run: str) -> Result:
        """A finished run, with the metrics of now. DamagedError where it is not what was written."""
        return _result(*self._restored(self._open(run)))

    def trace(self, run: str) -> tuple[Trace, dict[str, Any]]:
        """Trace of a finished run, and what is known of the run besides: its title, labels, seed, `resolved`. DamagedError."""
        return self._restored(self._open(run))

    def _restored(self, found: Finished) -> tuple[Trace, dict[str, Any]]:
        try:
            return found.trace(), found.fields()
        except ExperimentError as error:
            raise StorageError(
                f"this longfat cannot read the experiment of the run {found.run} in {self.folder}, which another version made:\n{error}"
            ) from error
        except (*unreadable(), TypeError, AttributeError) as error:
            if is_refused(error):
                raise StorageError(f"cannot read the run {found.run} in {self.folder}: {error}") from error
            raise DamagedError(f"{self.folder}: {found.run} is not a finished run: {error}; {AGAIN}") from error

    def tables_of(
        self, runs: Iterable[str], document: Document | None = None, numbers: Mapping[str, int] = NO_NUMBERS
    ) -> Iterator[Shown | tuple[str, Result | DamagedError]]:
        """The tables of runs, of many at once, in the order in which they are quickest to read.

        A run that is not read with others comes as its hash and the run, or a DamagedError where it is not what was written. Runs whose
        number in `document` is known are faster to read.
        """
        if not self._looked:
            self.refresh()
        alone: list[str] = []
        with ThreadPoolExecutor(1, thread_name_prefix="longfat tables") as pool:
            # The tables of some are made while the next are read and the last are put together.
            made: deque[Future[Shown]] = deque()
            for some in chain(self._shards.read_many(runs), [None]):
                if isinstance(some, Many):
                    made.append(pool.submit(some.shown, document, numbers))
                elif some:
                    alone += some
                while len(made) > (some is not None):
                    shown = made.popleft().result()
                    alone += shown.alone
                    yield shown
        for run in alone:
            try:
                yield run, self.read(run)
            except DamagedError as error:
                yield run, error

    def _cells_of_a_run(self, tables: Iterable[str]) -> int:
        """Number of cells that a run has in these tables, by the shards."""
        names, shards = list(tables), list(self._shards.there.values())
        return sum(shard.cells(name) for shard in shards for name in names) // max(sum(shard.rows("runs") for shard in shards), 1)

    def unload(self) -> None:
        """Lets go of all that was read of shards."""
        with self._lock:
            self._shards.unload()

    # Keeping house

    def kept(self) -> list[Kept]:
        """Lists all runs that are kept, finished ones and damaged ones."""
        with self._lock:
            self.refresh()
            found: list[Kept] = []
            for name, shard in self._shards.settled().items():
                aside = {run for run, of in self._shards.aside() if of == name}
                share = shard.size // max(len(shard.runs), 1)
                facts = shard.facts(MADE_BY)
                found += [Kept(run, name, {} if run in aside else facts.get(run, {}), share) for run in shard.runs]
            for records in self._journals.values():
                for one in records.values():
                    made = journal.read(self.place.local / journal.FOLDER, one).fields()["provenance"]
                    found.append(Kept(one.run, JOURNALS, made, one.end - one.start))
        return found

    def remove(self, picked: Sequence[Kept]) -> None:
        """Removes what is kept of these runs. StorageError where somebody writes, or the system refuses."""
        with self.exclusive():
            self.gather()
            self.refresh()
            named = {within: {one.run for one in picked if one.within == within} for within in {one.within for one in picked}}
            in_journals = named.pop(JOURNALS, set())
            for name, shard in self._shards.settled().items():
                named[name] = named.get(name, set()) | {run for run in in_journals if run in shard.runs}
            self._shards.drop({(run, within) for within, runs in named.items() for run in runs})


def _result(trace: Trace, fields: dict[str, Any]) -> Result:
    """A run, with the metrics of now, from its trace and what is known of it besides."""
    tables, kept = trace.tables(), fields.pop("warnings")
    return of_trace(trace, tables, also=_of_missing_columns(trace, tables, kept), **fields)


def _of_missing_columns(trace: Trace, tables: Tables, kept: list[RunWarning]) -> list[RunWarning]:
    """Returns warnings for a run whose trace lacks columns: which columns, and earlier warnings that cannot be found again now."""
    if not trace.missing:
        return []
    now = {one["text"] for one in tables["warnings"]}
    # A column that is not stored is read as 0 where it counts, and as missing where it may be missing.
    unknown = [column for column in trace.missing if _can_be_missing(column)]
    wrong = [column for column in trace.missing if column not in unknown]
    notes = [f"its trace was stored without {', '.join(unknown)}: what is made of that has no value"] if unknown else []
    notes += [f"its trace was stored without {', '.join(wrong)}: metrics made of that are not to be trusted"] if wrong else []
    return [*(one for one in kept if one.text not in now), *(RunWarning("", note) for note in notes)]


def _can_be_missing(column: str) -> bool:
    table, _, name = column.partition(".")
    return any(one["name"] == name and one["form"] in ("count or none", "number") for one in columns()[table])
