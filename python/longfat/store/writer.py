"""A writer: appends finished runs to a journal of its own, and makes shards of it as it grows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from longfat.store.finished import Finished, names_of_cut
from longfat.store.journal import FOLDER, Journal, encode
from longfat.store.place import Bucket, machine
from longfat.store.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Callable

    from longfat._longfat import Run, Trace
    from longfat.store.place import Place

JOURNAL_BYTES = 32 << 20
"""Size at which a journal becomes a shard, bytes."""
JOURNAL_RUNS = 20_000
"""Number of runs at which a journal becomes a shard."""


class Writer:
    """Keeps finished runs, from as many threads as one likes. Any number of processes may have one for the same results."""

    def __init__(self, place: Place, is_there: Callable[[str], bool]) -> None:
        self._place, self._is_there = place, is_there
        self._shards = Shards(place)
        self._journal = Journal.take(place.local / FOLDER)
        self._lock = threading.Lock()
        self._sealing = threading.Lock()
        self._here: set[str] = set()
        """The runs that this writer has put into its journal."""

    def keep(self, run: Run, title: str, trace: Trace, wall_s: float, cpu_s: float) -> None:
        """Keeps a run that has ended: whole, or OSError and nothing. One that is kept twice counts once.

        A run that was cut before its end is kept beside, under a name of its own: it is not finished.
        """
        name = next(name for name in names_of_cut(run.hash) if not self._is_there(name)) if trace.is_cut else run.hash
        self.add(Finished.of_run(run, title, trace, wall_s, cpu_s, name))

    def add(self, finished: Finished) -> None:
        """Keeps a finished run as it is at rest: a large one in a shard of its own."""
        if finished.large and self._made_a_shard(finished):
            return
        full: Journal | None = None
        data = encode(finished)  # while others write
        with self._lock:
            if finished.run in self._here:
                return
            self._journal.append(data, finished.facts["wall_s"])
            self._here.add(finished.run)
            if self._journal.size >= JOURNAL_BYTES or self._journal.runs >= JOURNAL_RUNS:
                full, self._journal, self._here = self._journal, Journal.new(self._place.local / FOLDER), set()
        if full:
            # Other threads go on meanwhile, with the new journal.
            with self._sealing:
                self._seal(full)

    def _seal(self, full: Journal) -> None:
        """Makes a shard of a journal. Rows read for that are not held: a writer does not grow with what is finished."""
        try:
            self._shards.seal(full)
            self._shards.compact(machine())
        finally:
            self._shards.unload()

    def _made_a_shard(self, finished: Finished) -> bool:
        """Makes a shard of a run; returns false if it could not be sent: it waits in the journal, as the others do. OSError."""
        try:
            with self._sealing:
                self._shards.write(iter([finished]))
                self._shards.compact(machine())
                self._shards.unload()
        except OSError:
            if not isinstance(self._place, Bucket):
                raise
            return False
        return True

    def close(self) -> None:
        """Ends it. A journal of this machine's stays for the next writer; one for an object store is sent."""
        with self._sealing, self._lock:
            if isinstance(self._place, Bucket) and self._journal.size:
                self._seal(self._journal)
            else:
                self._journal.leave()
