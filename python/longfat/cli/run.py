"""`longfat run`: runs of experiments, here, on workers or as one shard."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Annotated, NoReturn

import typer

from longfat.cli.options import RESULTS, BackendOption, Chosen, ResultsOption, SetOption, ShortOption, WhatArgument, chosen
from longfat.cores import default_jobs
from longfat.errors import LongfatError, LostError, Stopped
from longfat.executors import shards
from longfat.executors.named import named
from longfat.executors.named import where as named_where
from longfat.experiment import Experiment
from longfat.locate import Source, results_home
from longfat.report import tables, terminal
from longfat.report.terminal import progress_bar
from longfat.results import Results
from longfat.results.warning import Merged, RunWarning, merged, new_ones, told
from longfat.store import Store, location
from longfat.sweep.plan import Plan, nothing
from longfat.sweep.work import Work, measure_speed
from longfat.text import count, duration

out = terminal.console()
err = terminal.console(stderr=True)
SAMPLE = 32
"""Runs by which the cost of a sweep too large to start is estimated."""


def run_command(
    what: WhatArgument,
    results: ResultsOption = RESULTS,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. Default: one per core.")] = None,
    changes: SetOption = None,
    quick: ShortOption = False,
    backend: BackendOption = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|ADDRESS", help="Workers that carry out the runs: processes, dask (starts a cluster), or tcp://SCHEDULER:8786."
        ),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="N/COUNT", help="Carry out only part N of COUNT; `longfat gather` makes the tables.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Add as many repeats as the file has to those that are finished.")] = False,
    max_runs: Annotated[int, typer.Option(help="Refuse to start more runs than this.")] = 2000,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start however many runs there are.")] = False,
) -> None:
    """Run experiments; finished runs are kept."""
    if executor is not None and shard is not None:
        raise LongfatError("--executor hands runs to workers, --shard runs a part of them here: choose one")
    if again and shard is not None:
        raise LongfatError("--again adds repeats to finished ones, --shard runs a part of the file's: choose one")
    part = shards.read(shard) if shard is not None else None
    # All of them are parsed before the first is run: a mistake in the last should not wait for the others.
    asked = chosen(what, results, changes, quick=quick, backend=backend)
    for one in asked:
        _repeat(one, again=again)
    with named(executor, jobs) as workers:
        where = named_where(workers, executor) if workers and executor else count(jobs or default_jobs(), "core")
        # Runs that cannot be done are named before anything runs.
        plans = [_checked(one, part, jobs or default_jobs(), None if yes else max_runs) for one in asked]
        # A family says once what several of its experiments have in common.
        later, runs = (Merged(), sum(len(plan.items) for plan in plans)) if len(asked) > 1 else (None, 0)
        if later:
            terminal.print_warnings(
                err, merged(warning for one, plan in zip(asked, plans, strict=True) for warning in _before(one, plan)), runs
            )
        for one, plan in zip(asked, plans, strict=True):
            if part:
                place = f"{where}, of {one.experiment.run_count:,} in {part[1]:,} shards"
                _run(one, place, plan, partial(_run_shard, one, part, jobs), later)
            else:
                _run(one, where, plan, partial(one.experiment.sweep, one.folder, jobs=jobs, executor=workers), later)
        if later:
            terminal.print_warnings(err, later.all(), runs)
    if part and len(asked) == 1:
        from longfat.cli.submit import gather_with

        line = gather_with(what[0], part[1], results, changes, quick=quick, backend=backend)
        out.print(f"  when all {part[1]:,} shards have ended, make the tables:\n    {terminal.escape(line)}", soft_wrap=True)
    of_papers = Counter(one.source.file.parent for one in asked if (one.source.file.parent / "paper.py").is_file())
    for folder, asked_of in of_papers.items():
        # A changed experiment is not what the paper did.
        if asked_of > 1 and not (changes or backend or part):
            from longfat.cli.compare import print_comparison

            print_comparison(out, folder, results_home(location(results), quick=quick))


def _repeat(one: Chosen, *, again: bool) -> None:
    """Keeps the repeats that `--again` has added to the results; with `again`, adds those of the file once all are finished."""
    store, asked = Store(one.folder), one.experiment.repeats
    if again and one.experiment.plans.is_adaptive:
        raise LongfatError(f"--again: the results of {one.source.name} say how many repeats it has ([precision], [search])")
    if not store.is_there():
        return
    have = max(asked, int(store.changes_so_far().get("repeats", "0")))
    if have > asked:
        one.experiment.set("repeats", str(have))
    if again and not len(one.experiment.missing(one.folder)):
        one.experiment.set("repeats", str(have + asked))


def _checked(one: Chosen, part: tuple[int, int] | None, jobs: int, max_runs: int | None) -> Plan:
    """Plan of the runs that are left, each of which can be run here."""
    store = Store(one.folder)
    store.check_format()
    store.check_source(one.experiment.file)
    if max_runs is not None and one.experiment.plans.most_runs > max_runs:
        _refuse(one.source, one.experiment, jobs, max_runs)
    plan = one.experiment.plans.shard(*part) if part else one.experiment.plans.plan(store)
    one.experiment.plans.check(plan.items.without(store.finished()) if plan.items.alone.any() else nothing())
    return plan


def _before(one: Chosen, plan: Plan) -> list[RunWarning]:
    """The warnings that can be given before the runs, but for those that are expected."""
    return told(plan.warnings, one.experiment.expected)


def _run(one: Chosen, where: str, plan: Plan, sweep: Callable[..., Results | None], later: Merged | None) -> None:
    """Runs what is planned by `sweep`, and says so; it gives the results of all runs of the experiment, or none.

    Warnings are printed, or those after the runs are added to `later`.
    """
    store, folder, items = Store(one.folder), one.folder, plan.items
    missing = len(items.without(store.finished()))
    have = len(items) - missing
    out.print(f"[bold]{terminal.escape(one.source.name)}[/] {terminal.escape(one.experiment.title)}", soft_wrap=True)
    if missing:
        already = f" ({have:,} finished before)" if have else ""
        more = ", then those that their results ask for" if one.experiment.plans.is_adaptive else ""
        out.print(f"  {count(missing, 'run')} on {where}{already}{more}", soft_wrap=True)
    else:
        out.print(f"  all {len(items):,} runs are finished already")
    if later is None:
        terminal.print_warnings(err, _before(one, plan), len(items))
    with progress_bar(err, missing) as tick:
        try:
            made = sweep(tick=tick)
        except KeyboardInterrupt:
            done = len(items) - len(items.without(store.finished()))
            kept = f"Stopped: {done:,} of {len(items):,} runs are finished and kept in {folder}. To go on:"
            raise Stopped(f"{kept}\n  {shlex.join(['longfat', *sys.argv[1:]])}") from None
        except LostError as error:
            raise LostError(f"{error}; what was measured of this run is kept, and the same command runs it again") from None
    if made is not None:
        found = told(new_ones(made.warnings, plan.warnings), made.expected)
        if later is None:
            terminal.print_warnings(err, found, len(items))
        else:
            later.add(found)
        tables.print_decision(out, made)
    out.print(f"  results in {terminal.escape(str(folder))}", soft_wrap=True)


def _run_shard(one: Chosen, part: tuple[int, int], jobs: int | None, tick: Callable[[Work], object]) -> None:
    one.experiment.sweep_shard(one.folder, *part, jobs=jobs, tick=tick)


def _refuse(source: Source, experiment: Experiment, jobs: int, max_runs: int) -> NoReturn:
    most = experiment.plans.most_runs
    # A sweep too large to start is too large to go through: a few runs, evenly spaced, stand for it.
    sample = (
        [experiment.resolve(index * experiment.run_count // SAMPLE) for index in range(SAMPLE)]
        if most > SAMPLE
        else experiment.resolve_all()
    )
    cost = sum(run.cost for run in sample) / len(sample) * most
    seconds = cost / measure_speed(min(sample, key=lambda run: run.cost)) / jobs
    raise LongfatError(
        f"{source.name} is a sweep of {count(most, 'run')}, about {duration(seconds)} on "
        f"{count(jobs, 'core')}; the limit is {max_runs:,}. "
        f"To start it all the same, say --yes or --max-runs {most}"
    )
