"""Listing what a results folder could lose, and removing what is named. Nothing else in longfat removes a finished run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from longfat import store
from longfat._longfat import RESULTS_VERSION, read_text
from longfat.cli.options import RESULTS, QuickOption, ResultsOption, results_of
from longfat.errors import LongfatError, StorageError
from longfat.experiment import Experiment
from longfat.locate import results_home
from longfat.report import terminal
from longfat.report.columns import Column, print_columns
from longfat.store import Location, Store, location
from longfat.text import count

Kind = Literal["current", "version", "gone", "damaged"]
"""Kinds of runs: in the experiment as it is now; from another results version; no longer in the experiment; damaged."""


@dataclass(frozen=True)
class Kept:
    """A run that is kept."""

    what: store.Kept
    kind: Kind
    is_shown: bool
    """Whether the tables that `longfat show` prints have it."""

    @property
    def run(self) -> str:
        """Its hash."""
        return self.what.run

    @property
    def version(self) -> int:
        """Its results version; 0 where it is damaged."""
        return int(self.what.made_by.get("results_version", 0))

    @property
    def size(self) -> int:
        """Bytes."""
        return self.what.size

    @property
    def finished(self) -> str:
        """When; empty where that is not known."""
        return self.what.made_by.get("finished", "")


def kept(folder: str | Location, tick: Callable[[float], object] = lambda _: None) -> list[Kept]:
    """Every run that is kept, the current ones first. StorageError where there are no results.

    `tick` is told the share of the experiment's runs that is planned, to tell which are kept of it.
    """
    results = Store(folder)
    every = results.kept()
    if not every and not results.is_there():
        raise StorageError(f"{folder} holds no results: expected a folder that `longfat run` wrote")
    results.check_format()
    shown = results.shown()
    current = _wanted(results, tick) | shown
    found = [Kept(one, _kind(one, current), bool(one.made_by) and one.run in shown) for one in every]
    order = ("current", "version", "gone", "damaged")
    return sorted(found, key=lambda one: (order.index(one.kind), one.version, one.run))


def chosen(all_kept: Sequence[Kept], versions: Sequence[int], *, gone: bool, unfinished: bool) -> list[Kept]:
    """Runs that the user names. LongfatError where a version is not there, or is what `longfat show` shows."""
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
        if (one.kind == "version" and one.version in versions) or (one.kind == "gone" and gone) or (one.kind == "damaged" and unfinished)
    ]
    if any(one.is_shown for one in picked):
        raise LongfatError("some of these are the results that `longfat show` shows: run the experiment again, and then remove them")
    return picked


def remove(folder: str | Location, picked: Sequence[Kept]) -> None:
    """Removes them. StorageError where another longfat is writing there, or the system refuses."""
    Store(folder).remove([one.what for one in picked])


def _wanted(results: Store, tick: Callable[[float], object]) -> set[str]:
    """The runs of the experiment as it was last run there, and of its file as it is now."""
    facts = results.provenance()
    texts = [("experiment.toml", results.text())] if facts else []
    if facts.get("file"):
        with suppress(OSError):  # it is gone, or no longer a text: then it wants nothing
            now = read_text(facts["file"])
            texts += [(facts["file"], now)] if now != results.text() else []
    wanted: set[str] = set()
    for name, text in texts:
        try:
            experiment = Experiment(text, name)
            _change(experiment, facts.get("changes", {}))
            wanted.update(experiment.plans.whole(tick).items.hashes)
        except LongfatError:
            continue  # no longer valid: then it wants nothing
    return wanted


def _change(experiment: Experiment, changes: dict[str, Any]) -> None:
    for path, value in changes.items():
        if path == "quick":
            experiment.quicken()
        else:
            experiment.set(path, value)


def _kind(one: store.Kept, current: set[str]) -> Kind:
    if not one.made_by:
        return "damaged"
    if one.made_by["results_version"] != RESULTS_VERSION:
        return "version"
    return "current" if one.run in current else "gone"


out = terminal.console()
err = terminal.console(stderr=True)


def print_kept(console: Console, kept: Sequence[Kept]) -> None:
    """Prints the runs that are kept by kind: how many there are, how large, and what `longfat prune` needs to be told to remove them."""
    kinds: dict[tuple[str, str], list[Kept]] = {}
    for one in kept:
        kinds.setdefault(_what_kept(one), []).append(one)
    rows = [
        (what, f"{len(some):,}", terminal.size(sum(one.size for one in some)), _dates(some), how) for (what, how), some in kinds.items()
    ]
    titles = ("what", "runs", "size", "finished", "removed by")
    cells = list(zip(*rows, strict=True)) or [()] * len(titles)
    print_columns(
        console,
        [Column(titles[0], cells[0], left=True)],
        [Column(title, column, left=title in ("finished", "removed by")) for title, column in list(zip(titles, cells, strict=True))[1:]],
    )


def kept_summary(kept: Sequence[Kept]) -> str:
    """How many runs, and how large."""
    return f"{count(len(kept), 'run')} ({terminal.size(sum(one.size for one in kept))})"


def _what_kept(one: Kept) -> tuple[str, str]:
    """Kind of a kept run, and the option of `longfat prune` that removes it."""
    match one.kind:
        case "current":
            return f"of the experiment (version {one.version})", ""
        case "version":
            return f"of results version {one.version}", f"--version {one.version}"
        case "gone":
            return "no longer in the experiment", "--gone"
        case "damaged":
            return one.kind, "--unfinished"


def _dates(kept: Sequence[Kept]) -> str:
    days = sorted({one.finished[:10] for one in kept if one.finished})
    return " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""


def prune_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    versions: Annotated[
        list[int] | None, typer.Option("--version", metavar="N", help="Choose runs of this results version; repeatable.")
    ] = None,
    gone: Annotated[bool, typer.Option("--gone", help="Choose runs that are no longer in the experiment.")] = False,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Choose runs that are damaged.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove the chosen runs instead of listing them.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """List the contents of a results folder; with --yes, remove the runs you name."""
    folder = results_of(what, results_home(location(results), quick=quick))
    with terminal.share_bar(err, "planning the runs") as tick:
        everything = kept(folder, tick)
    if not (versions or gone or unfinished):
        if yes:
            raise LongfatError("--yes removes what is named: say --version N, --gone or --unfinished")
        print_kept(out, everything)
        return
    picked = chosen(everything, versions or [], gone=gone, unfinished=unfinished)
    if not picked:
        out.print("There is nothing of that kind.")
    elif yes:
        remove(folder, picked)
        out.print(f"Removed {kept_summary(picked)} from {terminal.escape(str(folder))}.", soft_wrap=True)
    else:
        print_kept(out, picked)
        out.print(f"This would remove {kept_summary(picked)}; with --yes it does.", soft_wrap=True)
