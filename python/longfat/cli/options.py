"""Experiments as a command line names and changes them, and where their results go."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longfat.errors import LongfatError
from longfat.experiment import Experiment, load
from longfat.locate import Source, how_to_run, results_folder, results_home, sources, variant
from longfat.store import Location, Store, Url, location

RESULTS = "results"

WhatArgument = Annotated[
    list[str],
    typer.Argument(metavar="FILE|FOLDER|NAME...", help="Experiments, folders of them, or names from `longfat list`."),
]
ResultsOption = Annotated[
    str, typer.Option("--results", metavar="DIR|URL", help="Where results are kept: a folder, or a URL (s3://, gs://, az://, file://).")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the file, e.g. 'flow[0].window=64 KiB'; results go to DIR/NAME+CHANGE."
    ),
]
ShortOption = Annotated[bool, typer.Option("--quick", help="Run the short form that each file has under `quick`; results go to DIR/quick.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="Take the results of `run --quick`, in DIR/quick.")]
BackendOption = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="Backend to use instead of the file's: see `longfat list backends`.")
]


@dataclass(frozen=True)
class Chosen:
    """An experiment, changed as asked, and where its results are."""

    source: Source
    experiment: Experiment
    folder: Location


def chosen(what: Sequence[str], results: str, changes: Sequence[str] | None, *, quick: bool, backend: str | None) -> list[Chosen]:
    """Experiments asked for, each file once. LongfatError where one is not there or not valid, before any is run."""
    changes = [*(changes or []), *([f"backend={backend}"] if backend else [])]
    found = _distinct([source for name in what for source in sources(name)])
    loaded = [(source, _changed(load(source.file), quick, changes)) for source in found]
    home = results_home(location(results), quick=quick)
    return [Chosen(source, experiment, home / variant(source.name, experiment.changes)) for source, experiment in loaded]


def _distinct(found: list[Source]) -> list[Source]:
    """Each file once. LongfatError where two files would go by one name."""
    files: dict[Path, Source] = {source.file.resolve(): source for source in found}
    named: dict[str, Path] = {}
    for file, source in files.items():
        other = named.setdefault(source.name, file)
        if other != file:
            raise LongfatError(f"the results of {other} and of {file} would both be called {source.name}: run them apart, with --results")
    return list(files.values())


def _changed(experiment: Experiment, quick: bool, changes: list[str]) -> Experiment:
    if quick:
        experiment.quicken()
    for change in changes:
        path, equals, value = change.partition("=")
        if not equals:
            raise LongfatError(f"--set {change}: expected KEY=VALUE, such as --set flow[0].window='64 KiB'")
        experiment.set(path.strip(), value.strip())
    return experiment


def results_of(what: str, home: Location) -> Location:
    """The results that `what` means. LongfatError where there are none, or more than one experiment is meant."""
    folder = results_folder(what, home)
    if folder is None and isinstance(location(what), Url):
        raise LongfatError(f"{what} holds no results")
    if folder is None and not Path(what).is_dir():
        found = [source.name for source in sources(what)]
        if len(found) > 1:
            raise LongfatError(f"{what} is {len(found)} experiments: choose one of {', '.join(found)}")
        raise LongfatError(f"no results of {found[0]} in {home}: {how_to_run(what, home)} makes them{_with_changes(found[0], home)}")
    if folder and Path(what).is_file():
        Store(folder).check_source(str(Path(what).resolve()))
    return folder or Path(what)


MOST_NAMED = 12
"""Number of folders named."""


def changed_stores(name: str, home: Location) -> list[Store]:
    """Folders of results of `name` that `--set` made."""
    if isinstance(home, Url):
        return []
    return [store for folder in sorted(home.glob(f"{glob.escape(name)}+*")) if (store := Store(folder)).is_there()]


def changed_lines(stores: Sequence[Store]) -> list[str]:
    """A line for each of these folders: what `--set` changed, and the command that shows it."""
    lines: list[str] = []
    for store in stores[:MOST_NAMED]:
        said = ", ".join(f"{key} = {value}" for key, value in store.changes_so_far().items() if key != "quick")
        lines.append(f"{said}: longfat show {shlex.quote(str(store.folder))}")
    return [*lines, f"and {len(stores) - MOST_NAMED} more beside these"] if len(stores) > MOST_NAMED else lines


def _with_changes(name: str, home: Location) -> str:
    lines = changed_lines(changed_stores(name, home))
    return "\n".join([". With `--set` there are:", *(f"  {line}" for line in lines)]) if lines else ""
