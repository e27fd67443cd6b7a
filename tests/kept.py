"""Results as another longfat would have left them, for the tests that read them."""

# pyarrow comes without types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from longfat.store import Store
from longfat.store import checksums as sums
from longfat.store.finished import Finished
from longfat.store.place import place_of
from longfat.store.shards import Shards


def seal(folder: Path) -> None:
    """Writes the `SHA256SUMS` of what is in the folder now, as if longfat had written it there."""
    place = place_of(folder)
    there = {name: sums.digest(place, name) for name in sums.read(place) if (folder / name).exists()}
    (folder / sums.NAME).write_text(sums.text(there))


def edit(file: Path, **facts: object) -> None:
    """Puts other facts into a file of JSON, as if longfat had written them there."""
    file.write_text(json.dumps(json.loads(file.read_text()) | facts))
    seal(file.parent)


def finished(folder: Path) -> list[Finished]:
    """The runs in the shards of a folder."""
    shards = Shards(place_of(folder))
    shards.refresh()
    return [run for run in map(shards.read, sorted(shards.finished())) if run]


def changed(run: Finished, /, *, without: Iterable[str] = (), **facts: object) -> Finished:
    """The run as a longfat keeps it that has no columns `without` (as `flows.timeouts`), with other facts."""
    gone = [column.split(".") for column in without]
    tables = {name: table.drop_columns([column for of, column in gone if of == name]) for name, table in run.tables.items()}
    return Finished(run.facts | facts, tables)


def keep(folder: Path, runs: Iterable[Finished], form: str = "shard") -> None:
    """Makes these the runs that are kept in the folder, and no others: in a `shard` or in a `journal`."""
    for name in ("shards", "journals"):
        shutil.rmtree(folder / name, ignore_errors=True)
    if form == "shard":
        Shards(place_of(folder)).write(iter(runs))
        return
    with Store(folder).writer() as writer:
        for run in runs:
            writer.add(run)
