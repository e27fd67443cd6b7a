"""What of a results folder could go, and removing what is named. Nothing else in longfat removes a finished run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from longfat._longfat import RESULTS_VERSION, read_text
from longfat.errors import LongfatError, StorageError
from longfat.experiment import Experiment
from longfat.store import Store, made_by

Kind = Literal["current", "version", "gone", "unfinished", "damaged"]
"""Of the experiment as it is now; of another results version; no longer in the experiment; never finished; without what makes a run."""


@dataclass(frozen=True)
class Kept:
    """A folder of one run."""

    path: Path
    kind: Kind
    version: int
    """Its results version; 0 where it says none."""
    size: int
    """Bytes of its files."""
    finished: str
    """When; empty where that is not known."""
    is_shown: bool
    """Whether the tables that `longfat show` prints have it."""


def kept(folder: Path) -> list[Kept]:
    """Every run's folder in a results folder, the current ones first. StorageError where there are no results."""
    store = Store(folder)
    if not (folder / "runs").is_dir():
        raise StorageError(f"{folder} holds no results: expected a folder that `longfat run` wrote")
    store.check_format()
    shown = store.shown()
    wanted = _wanted(store)
    found = [_look(path, shown, wanted) for path in sorted((folder / "runs").iterdir()) if path.is_dir()]
    order = ("current", "version", "gone", "damaged", "unfinished")
    return sorted(found, key=lambda one: (order.index(one.kind), one.version, one.path.name))


def chosen(all_kept: Sequence[Kept], versions: Sequence[int], *, gone: bool, unfinished: bool) -> list[Kept]:
    """Those that the user names. LongfatError where a version is not there, or is what `longfat show` shows."""
    there = sorted({one.version for one in all_kept if one.kind == "version"})
    for version in versions:
        if version == RESULTS_VERSION:
            raise LongfatError(
                f"version {version} is the results version of this longfat: its runs go when they are gone from the experiment"
            )
        if version not in there:
            have = f"there are {', '.join(map(str, there))}" if there else "there is no other version here"
            raise LongfatError(f"no run here is of results version {version}: {have}")
    picked = [
        one
        for one in all_kept
        if (one.kind == "version" and one.version in versions)
        or (one.kind == "gone" and gone)
        or (one.kind in ("unfinished", "damaged") and unfinished)
    ]
    if any(one.is_shown for one in picked):
        raise LongfatError("some of these are the results that `longfat show` shows: run the experiment again, and then remove them")
    return picked


def remove(folder: Path, picked: Sequence[Kept]) -> None:
    """Removes them. StorageError where another longfat is writing there, or the system refuses."""
    store = Store(folder)
    with store.writing(), store.without_writers():
        for one in picked:
            if one.path.exists():  # `writing` clears what is unfinished
                shutil.rmtree(one.path)


def _wanted(store: Store) -> set[str]:
    """The runs of the experiment as it was last run there, and of its file as it is now."""
    facts = store.provenance()
    texts = [("experiment.toml", store.text())] if facts else []
    if facts.get("file"):
        with suppress(OSError):  # it is gone, or no longer a text: then it wants nothing
            texts.append((facts["file"], read_text(facts["file"])))
    wanted: set[str] = set()
    for name, text in texts:
        try:
            experiment = Experiment(text, name)
            _change(experiment, facts.get("changes", {}))
            wanted |= {run.hash for run in experiment.resolve_all()}
        except LongfatError:
            continue  # no longer valid: then it wants nothing
    return wanted


def _change(experiment: Experiment, changes: dict[str, Any]) -> None:
    for path, value in changes.items():
        if path == "quick":
            experiment.quicken()
        else:
            experiment.set(path, value)


def _look(path: Path, shown: set[str], wanted: set[str]) -> Kept:
    facts = made_by(path)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    version = int(facts.get("results_version", 0))
    kind: Kind
    if path.name.startswith(".unfinished-"):
        kind = "unfinished"
    elif path.name.startswith(".") or not facts:
        kind = "damaged"
    elif version != RESULTS_VERSION:
        kind = "version"
    else:
        kind = "current" if path.name in wanted | shown else "gone"
    return Kept(path, kind, version, size, facts.get("finished", ""), path.name in shown)
