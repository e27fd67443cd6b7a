"""All shards of a place: where a run is, making shards of journals, and one of several.

Shards are merged as they become many: of each size class at most `FAN - 1` stay. A merged shard names those that it replaces, and from the
moment it is there they no longer count, whether or not they are removed yet. A reader may come at any time, and a writer be killed.
"""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import ctypes
import fcntl
import gc
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from longfat.errors import DamagedError
from longfat.lazy import np, pa
from longfat.store import journal
from longfat.store.finished import TRACE_TABLES, Finished
from longfat.store.journal import Journal
from longfat.store.many import Many
from longfat.store.many import read as read_together
from longfat.store.place import UNFINISHED, Place, is_refused
from longfat.store.shard import FILES, FOLDER, GoneError, Shard, unreadable
from longfat.store.shard_writer import ShardWriter, announce_again, rows_of, tables_of
from longfat.sweep.hashes import Hashes, in_hexadecimal

ASIDE = f"{FOLDER}/aside"
"""Files whose names say which run of which shard is damaged."""
FAN = 4
SMALL = 16 << 20
"""Bytes of the largest shards of the first size class; each further class is `FAN` times as large."""
LARGEST_CLASS = 6
TOGETHER = 512
"""Runs that are handed to a shard at once."""

Found = TypeVar("Found")


class Shards:
    """The shards of a place, as they were at the last `refresh`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.there: dict[str, Shard] = {}
        """Shards that count, by name."""
        self._known: dict[str, Shard] = {}
        self._aside: set[tuple[str, str]] = set()
        self._unmergeable: set[str] = set()

    def refresh(self) -> None:
        """Looks which shards there are now."""
        names = [name.removesuffix(".json") for name, _ in self.place.names(FOLDER) if name.endswith(".json")]
        known = {name: self._known.get(name) or Shard(self.place, name) for name in names}
        replaced = {name for shard in known.values() for name in shard.replaces}
        self._known = known
        self.there = {name: shard for name, shard in known.items() if name not in replaced}
        pairs = (name.partition("@") for name, _ in self.place.names(ASIDE))
        self._aside = {(run, shard) for run, _, shard in pairs}

    def finished(self, of: Hashes | None = None) -> Hashes:
        """The runs that are there and not put aside; of these."""

        def look() -> Hashes:
            found: list[Any] = []
            for name, shard in self.there.items():
                here = shard.runs.digests if of is None else shard.find(of)[1]
                aside = [run for run, within in self._aside if within == name]
                found.append(here[~Hashes.of(aside).among(here)] if aside else here)
            return Hashes.joined(found)

        return self._settled(look)

    def _settled(self, look: Callable[[], Found]) -> Found:
        """Returns what a look at the shards gives. Where one has gone into another meanwhile, it looks again."""
        while True:
            try:
                return look()
            except GoneError as gone:
                self.refresh()
                if gone.shard in self.there:
                    self.there[gone.shard].lost()

    def settled(self) -> dict[str, Shard]:
        """Shards that count, by name, all of whose runs are known; a shard that has lost its runs has none."""
        self.finished()
        return self.there

    def unload(self) -> None:
        """Lets go of all that was read of shards. Memory then does not grow with the runs in them."""
        for shard in self._known.values():
            shard.unload()
        if self._known:
            _give_back()

    def has(self, run: str) -> bool:
        """Returns true if there is a run that is not put aside."""
        return bool(self._with(run))

    def aside(self) -> list[tuple[str, str]]:
        """The runs that were put aside, each with its shard."""
        return sorted((run, name) for run, name in self._aside if name in self.there)

    def _with(self, run: str) -> list[tuple[Shard, int]]:
        """The shards that have a run, and the rows in which they have it."""
        wanted = Hashes.of([run])

        def look() -> list[tuple[Shard, int]]:
            some = [shard for shard in self.there.values() if (run, shard.name) not in self._aside]
            return [(shard, row) for shard in some for row in shard.find(wanted)[0].tolist()]

        return self._settled(look)

    def read(self, run: str) -> Finished | None:
        """A run; None where there is none of that hash. DamagedError where no copy of it is whole."""
        for attempt in range(3):
            damage: DamagedError | None = None
            try:
                for shard, row in self._with(run):
                    try:
                        return shard.read(run, row)
                    except DamagedError as error:
                        damage = error
            except FileNotFoundError as error:  # merged into another meanwhile, or lost
                if attempt == 2:
                    raise DamagedError(f"{self.place.where}: the shard of the run {run} has lost a file: {error}") from error
                self._known = {}
                self.refresh()
                continue
            if damage:
                raise damage
            break
        return None

    def read_many(self, runs: Iterable[str]) -> Iterator[Many | list[str]]:
        """Runs, some at a time, in the order in which they are quickest to read; the hashes of those that have to be read one by one."""
        every = Hashes.of(runs)
        alone = every & (run for run, _ in self._aside)
        left = every - alone
        shards = list(self.there.values())
        while shards:
            shard = shards.pop(0)
            try:
                rows, digests = shard.in_order(left)
            except GoneError:
                before = set(self.there)
                self.refresh()
                if shard.name in self.there:
                    shard.lost()
                shards += [other for name, other in self.there.items() if name not in before]
                continue
            if not len(rows):
                continue
            left -= Hashes.joined([digests])
            done = 0
            try:
                for many in read_together(shard, rows):
                    done += len(many.facts) if isinstance(many, Many) else len(many)
                    yield many
            except (*unreadable(), TypeError, AttributeError):  # which run it is, and what is wrong, is told when each is read
                yield list(in_hexadecimal(digests[done:]))
            # Row groups of one shard at a time are held, and not of all shards at once.
            shard.forget()
        yield [*alone, *left]

    def put_aside(self, run: str) -> None:
        """Puts the copies of a run that are there aside: from now on they do not count."""
        for shard, _ in self._with(run):
            self.place.put(f"{ASIDE}/{run}@{shard.name}", b"")
            self._aside.add((run, shard.name))

    def seal(self, held: Journal) -> None:
        """Makes shards of what is in a journal, and removes it. Where that fails, it stays, for whoever comes next."""
        try:
            self.refresh()
            folder, found = held.path.parent, {one.run: one for one in journal.records(held.path)}
            have = self.finished(Hashes.of(found))
            self.write(journal.read(folder, one) for run, one in found.items() if run not in have)
            held.path.unlink()
        finally:
            held.close()

    def write(self, runs: Iterator[Finished]) -> None:
        """Makes shards of runs: one, where all of them have tables of the same columns."""
        writers: list[ShardWriter] = []
        together: dict[int, list[Finished]] = {}

        def add(number: int) -> None:
            some = together.pop(number)
            writer = writers[number]
            writer.add(rows_of(some))
            for name in TRACE_TABLES:
                for table in tables_of(name, some):
                    writer.append(name, table)

        try:
            shapes: list[tuple[list[str], dict[str, Any]]] = []
            for run in runs:
                number = _shape(shapes, run)
                if number == len(writers):
                    writers.append(ShardWriter(self.place))
                together.setdefault(number, []).append(run)
                if len(together[number]) == TOGETHER:
                    add(number)
            for number in list(together):
                add(number)
            for writer in writers:
                writer.commit()
        except BaseException:
            for writer in writers:
                writer.abandon()
            raise

    def compact(self, mine: str = "") -> None:
        """Merges shards where there are `FAN` of a size class: those whose names begin with `mine`. Nothing where another is at it."""
        with _alone(self.place.local / ".compact") as alone:
            while alone and self._merge_some(mine):
                pass
        _give_back()

    def _merge_some(self, mine: str) -> bool:
        """Merges shards. Returns true if there were some to be merged, and they were."""
        self.refresh()
        self._clear(mine)
        some = self._too_many(mine)
        for shard in self.there.values():
            shard.forget()
        return bool(some) and self.merge(some)

    def _too_many(self, mine: str) -> list[Shard]:
        marked = {name for _, name in self._aside} | self._unmergeable
        classes: dict[int, list[Shard]] = {}
        for shard in self.there.values():
            if shard.name.startswith(mine) and shard.name not in marked:
                classes.setdefault(_class(shard.size), []).append(shard)
        for number in sorted(classes):
            some = classes[number]
            for shard in some:
                alike = [other for other in some if _fit(shard, other)]
                if number < LARGEST_CLASS and len(alike) >= FAN:
                    return alike
        return []

    def merge(self, some: list[Shard], dropped: Iterable[str] = ()) -> bool:
        """One shard in the place of `some`, without the runs `dropped`; whether it was made. Where one is damaged, all stay.

        Runs that were put aside in one of them are put aside in the new one.
        """
        away, names = Hashes.of(dropped), {shard.name for shard in some}
        try:
            left_out = list(_left_out(some, away))
        except GoneError as gone:
            self._unmergeable.add(gone.shard)
            return False
        writer = ShardWriter(self.place, [shard.name for shard in some])
        try:
            for shard, out in zip(some, left_out, strict=True):
                try:
                    for table, part in shard.parts(out):
                        if table == "runs":
                            writer.add(part)
                        else:
                            writer.append(table, part)
                except unreadable() as error:
                    if is_refused(error):
                        raise
                    self._unmergeable.add(shard.name)
                    writer.abandon()
                    return False
            writer.commit()
        except BaseException:
            writer.abandon()
            raise
        for run, name in sorted(self._aside):
            if name in names and run not in away:
                self.place.put(f"{ASIDE}/{run}@{writer.name}", b"")
        for shard in some:
            shard.unload()
            self.remove(shard.name)
        self.refresh()
        return True

    def drop(self, picked: set[tuple[str, str]]) -> None:
        """Takes runs, each with its shard, out for good. Nobody else may write meanwhile."""
        for shard in list(self.settled().values()):
            out = {run for run, name in picked if name == shard.name}
            rest = shard.runs - out
            if out and not rest:
                self.remove(shard.name)
            elif out and not self.merge([shard], out):
                self.write(one for one in map(_whole(shard), rest) if one)
                self.remove(shard.name)
        self.refresh()

    def remove(self, name: str) -> None:
        """Removes the files of a shard, that of its runs first: without it nothing is taken for a shard that has lost its `NAME.json`."""
        self.place.remove(f"{FOLDER}/runs/{name}.parquet")
        self.place.remove(f"{FOLDER}/{name}.json")
        self._remove_tables(name)
        for run, shard in list(self._aside):
            if shard == name:
                self.place.remove(f"{ASIDE}/{run}@{shard}")

    def _remove_tables(self, name: str) -> None:
        for table in FILES:
            self.place.remove(f"{FOLDER}/{table}/{name}.parquet")

    def _clear(self, mine: str) -> None:
        """Removes shards that have been replaced, where a kill had left them."""
        for name in self._known.keys() - self.there.keys():
            if name.startswith(mine):
                self.remove(name)

    def clear_unfinished(self, finished: Callable[[], Hashes], mine: str = "") -> None:
        """Removes what kills have left of shards that never were, of those whose names begin with `mine`. Nobody may make one meanwhile.

        `finished`: the runs that are there. A shard that is whole but for its `NAME.json`, and has runs that are nowhere else, has lost it,
        and gets another.
        """
        self.refresh()
        self._clear(mine)
        files = {(table, name.removesuffix(".parquet")) for table in FILES for name, _ in self.place.names(f"{FOLDER}/{table}")}
        orphans = sorted({name for _, name in files if name.startswith(mine) and name not in self._known})
        elsewhere = finished() if orphans else Hashes.of(())
        for shard in orphans:
            if not (("runs", shard) in files and announce_again(self.place, shard, elsewhere)):
                self._remove_tables(shard)
        if orphans:
            self.refresh()
        local = self.place.local
        for left in (*local.glob(f"{UNFINISHED}*"), *local.glob(f"{FOLDER}/**/{UNFINISHED}*")):
            with suppress(FileNotFoundError):
                left.unlink()


def _left_out(some: list[Shard], dropped: Hashes) -> Iterator[Hashes]:
    """Yields for each shard the runs that the merged shard does not take from it: those `dropped`, and those that an earlier shard has."""
    prefixes = [shard.prefixes() for shard in some]
    known = np.concatenate([np.empty(0, np.uint64), *(one for one in prefixes if one is not None)])
    if not dropped and len(np.unique(known)) == len(known) and not any(one is None for one in prefixes):
        yield from (dropped for _ in some)
        return
    seen = dropped
    for shard in some:
        runs = shard.runs
        shard.unload()
        yield runs & seen
        seen |= runs


def _whole(shard: Shard) -> Callable[[str], Finished | None]:
    def read(run: str) -> Finished | None:
        with suppress(DamagedError):
            return shard.read(run)
        return None

    return read


def _class(size: int) -> int:
    number = 0
    while size > SMALL * FAN**number:
        number += 1
    return number


def _fit(one: Shard, other: Shard) -> bool:
    """Returns true if the tables that both have are of the same columns."""
    try:
        mine, others = one.schemas(), other.schemas()
    except unreadable():
        return False
    return all(others[name].equals(schema) for name, schema in mine.items() if name in others)


def _shape(shapes: list[tuple[list[str], dict[str, Any]]], run: Finished) -> int:
    """The number of the first of `shapes` that a run fits, which may be a new one."""
    facts, schemas = list(run.facts), run.schemas
    for number, (known, columns) in enumerate(shapes):
        if known == facts and all((here := columns.get(name, schema)) is schema or here.equals(schema) for name, schema in schemas.items()):
            columns.update(schemas)
            return number
    shapes.append((facts, schemas))
    return len(shapes) - 1


def _give_back() -> None:
    """Gives memory that nothing uses any more back to the system.

    pyarrow leaves some in cycles of references, Arrow has a pool, and the C library keeps some: a hundred MB after the footers of a
    large merge (malloc_trim(3), of glibc).
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


@contextmanager
def _alone(lock: Path) -> Generator[bool]:
    """Takes the lock until the end. Yields true if nobody else on this machine holds it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
