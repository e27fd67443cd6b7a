"""The commands `longfat gather` and `longfat submit`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from longfat.cli.options import RESULTS, BackendOption, Chosen, ResultsOption, SetOption, ShortOption, chosen
from longfat.errors import LongfatError, StorageError
from longfat.executors import batch, shards
from longfat.report import terminal
from longfat.sweep.plan import Item, Items
from longfat.sweep.work import measure_speed
from longfat.text import count, duration

OneArgument = Annotated[str, typer.Argument(metavar="FILE|NAME", help="An experiment, or a name from `longfat list`.")]
SHOWN = 5
SAMPLE = 3


def gather_command(
    what: OneArgument,
    results: ResultsOption = RESULTS,
    changes: SetOption = None,
    quick: ShortOption = False,
    backend: BackendOption = None,
    of: Annotated[
        int | None, typer.Option("--shards", min=1, max=shards.MOST, help="Number of shards, to name those with missing runs.")
    ] = None,
) -> None:
    """Make the tables of a sweep that ran as shards, or say which runs are missing."""
    out = terminal.console()
    one = _one(what, results, changes, quick=quick, backend=backend)
    try:
        made = one.experiment.gather(one.folder)
    except StorageError:
        if not len(missing := one.experiment.missing(one.folder)):
            raise
    else:
        out.print(f"{count(made.provenance['runs'], 'run')} in {terminal.escape(str(one.folder))}", soft_wrap=True)
        return
    lines = [f"{len(missing):,} of {len(one.experiment.plans.plan().items):,} runs are missing in {one.folder}:"]
    lines += [f"  {_labels(one, item)}" for item in missing.first(SHOWN)]
    lines += [f"  and {len(missing) - SHOWN:,} more"] if len(missing) > SHOWN else []
    again = shlex.join(["longfat", "run", *_arguments(what, results, changes, quick=quick, backend=backend)])
    lines += ["To make only those:", f"  {again}"]
    if of:
        gone = missing.as_set
        numbers = [str(number) for number, part in enumerate(one.experiment.plans.shards(of), 1) if gone.among(part.digests).any()]
        if len(numbers) == 1:
            lines += ["or again this shard:", f"  {again} --shard {numbers[0]}/{of}"]
        else:
            lines += ["or again these shards:", f"  {again} --shard N/{of}  for N in {','.join(numbers)}"]
    raise LongfatError("\n".join(lines))


def gather_with(what: str, of: int, results: str, changes: Sequence[str] | None, *, quick: bool, backend: str | None) -> str:
    """The command that makes the tables when all of so many shards have ended."""
    return shlex.join(["longfat", "gather", *_arguments(what, results, changes, quick=quick, backend=backend), "--shards", str(of)])


def submit_command(
    what: OneArgument,
    slurm: Annotated[bool, typer.Option("--slurm", help="Write a Slurm script for `sbatch`.")] = False,
    htcondor: Annotated[bool, typer.Option("--htcondor", help="Write a description for `condor_submit`.")] = False,
    kubernetes: Annotated[bool, typer.Option("--kubernetes", help="Write a job for `kubectl apply`; needs --image and --claim.")] = False,
    tasks: Annotated[int | None, typer.Option("--tasks", min=1, help="Number of tasks. Default: by --minutes.")] = None,
    minutes: Annotated[float, typer.Option("--minutes", min=1, help="Minutes that a task should take.")] = 30,
    cores: Annotated[int, typer.Option("--cores", min=1, help="CPU cores per task.")] = 1,
    file: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File to write. Default: NAME.slurm and so on.")] = None,
    image: Annotated[str | None, typer.Option("--image", help="Container image with longfat, for --kubernetes.")] = None,
    claim: Annotated[
        str | None, typer.Option("--claim", help="Volume claim with the experiment and its results, for --kubernetes.")
    ] = None,
    results: ResultsOption = RESULTS,
    changes: SetOption = None,
    quick: ShortOption = False,
    backend: BackendOption = None,
) -> None:
    """Write the array job that runs an experiment as shards. Submits nothing."""
    out = terminal.console()
    systems = [name for name, asked in (("slurm", slurm), ("htcondor", htcondor), ("kubernetes", kubernetes)) if asked]
    if len(systems) != 1:
        raise LongfatError("say for which batch system: one of --slurm, --htcondor, --kubernetes")
    system = systems[0]
    if system == "kubernetes" and not (image and claim):
        raise LongfatError("--kubernetes needs --image IMAGE, which has longfat, and --claim NAME, the volume that all tasks share")
    one = _one(what, results, changes, quick=quick, backend=backend)
    items = one.experiment.plans.plan().items
    speed = _speed(one, items) * cores
    total = items.cost / speed
    parts = min(tasks or max(1, round(total / (60 * minutes))), len(items), batch.MOST_TASKS)
    longest = max(part.cost for part in one.experiment.plans.shards(parts)) / speed
    rest = _arguments(what, results, changes, quick=quick, backend=backend)
    job = batch.Job(one.source.name, ["run", *rest, "--yes"], parts, longest, cores, Path.cwd(), image or "", claim or "")
    path = file or Path(f"{batch.plain(one.source.name)}.{batch.SUFFIX[system]}")
    try:
        with path.open("x", encoding="utf-8") as script:
            script.write(batch.WRITERS[system](job))
    except FileExistsError:
        raise LongfatError(f"{path} is there already, and you may have changed it: remove it, or say --out FILE") from None
    except OSError as error:
        raise LongfatError(f"cannot write {path}: {error.strerror}") from error
    each = f"about {duration(longest)} each" if parts > 1 else f"about {duration(longest)}"
    say = [
        f"{path}: {count(len(items), 'run')} in {count(parts, 'task')} of {count(cores, 'core')}, {each}",
        "Submit it:",
        f"  {batch.SUBMIT[system]} {shlex.quote(str(path))}",
        "When its tasks have ended, make the tables:",
        f"  {gather_with(what, parts, results, changes, quick=quick, backend=backend)}",
    ]
    for line in say:
        out.print(terminal.escape(line), soft_wrap=True)


def _one(what: str, results: str, changes: Sequence[str] | None, *, quick: bool, backend: str | None) -> Chosen:
    found = chosen([what], results, changes, quick=quick, backend=backend)
    if len(found) > 1:
        raise LongfatError(f"{what} is {len(found)} experiments: choose one of {', '.join(one.source.name for one in found)}")
    return found[0]


def _arguments(what: str, results: str, changes: Sequence[str] | None, *, quick: bool, backend: str | None) -> list[str]:
    """Options that make this choice on another command line."""
    said = [what, *(["--results", results] if results != RESULTS else [])]
    said += [word for change in changes or [] for word in ("--set", change)]
    return [*said, *(["--quick"] if quick else []), *(["--backend", backend] if backend else [])]


def _labels(one: Chosen, item: Item) -> str:
    run = one.experiment.resolve(item.number)
    words = [f"{axis} = {value}" for axis, value in run.labels]
    return ", ".join([*words, f"repeat {run.repeat}", f"run {run.hash[:12]}"])


def _speed(one: Chosen, items: Items) -> float:
    """Cost that a core of this machine does in a second, by the slowest of some runs of different costs."""
    ordered = items.longest_first()
    picked = {ordered[index * (len(ordered) - 1) // (SAMPLE - 1)].number for index in range(SAMPLE)}
    return min(measure_speed(one.experiment.resolve(number)) for number in picked)
