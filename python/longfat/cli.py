"""The command line: one function a command of `longfat`."""

from __future__ import annotations

import ast
import inspect
import json
import os
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from longfat import cc, output, prune, script, terminal, trace, traced, untouched
from longfat._longfat import __version__, registries, schema
from longfat.advice.command import advise_command
from longfat.beside import REPEATS, Row, beside
from longfat.capture import SNAP, write_capture
from longfat.chosen import (
    RESULTS,
    BackendOption,
    Chosen,
    QuickOption,
    ResultsOption,
    SetOption,
    ShortOption,
    WhatArgument,
    chosen,
    results_of,
)
from longfat.cores import default_jobs
from longfat.errors import INTERRUPTED, LongfatError
from longfat.executors import shards
from longfat.executors.command import gather_command, gather_with, submit_command
from longfat.executors.named import named
from longfat.executors.named import where as named_where
from longfat.experiment import Experiment, load_results
from longfat.locate import Source, experiments, papers, results_home, sources
from longfat.paper.command import compare_command, print_comparison
from longfat.planned import NOTHING, Plan
from longfat.report import write_report
from longfat.store import Store, location
from longfat.store.files import reason
from longfat.store.place import waits
from longfat.sweep import Work, measure_speed
from longfat.terminal import progress_bar
from longfat.testbed import testbed_app
from longfat.warned import new_ones
from longfat.watch import serve

if TYPE_CHECKING:
    from longfat._longfat import ScriptReport
    from longfat.results import Results


class Commands(TyperGroup):
    """The commands of longfat; an experiment in the place of one is answered with the command to write."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and _is_experiment(args[0]):
            what = shlex.quote(args[0])
            ctx.fail(f"{args[0]} is an experiment, not a command: write `longfat run {what}`, or `longfat show {what}` for its results.")
        return super().resolve_command(ctx, args)


def _is_experiment(what: str) -> bool:
    with suppress(LongfatError):
        return what.endswith(".toml") or bool(sources(what))
    return False


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
out = terminal.console()
err = terminal.console(stderr=True)

REPORTS = Path("reports")
SAMPLE = 32


def main() -> None:
    """Entry point: an error the user can fix is one message and exit code 1; Ctrl-C is one, too, and 130."""
    code = _called()
    if unwritten := output.failure():
        if not isinstance(unwritten, BrokenPipeError):  # whoever read it knows that
            _say_error(f"cannot write to standard output: {unwritten.strerror}")
        code = code or 1
    if code == INTERRUPTED and waits():
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    sys.exit(code)


def _called() -> str | int | None:
    """The exit code of what is asked for."""
    _restore_texts(app)
    try:
        app()
    except _Stopped as stopped:
        err.print(terminal.escape(str(stopped)), soft_wrap=True)
        return INTERRUPTED
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # that is how typer ends with Ctrl-C
            err.print("Stopped.")
        return ended.code
    except LongfatError as error:
        _say_error(str(error))
        return 1
    except OSError as error:
        _say_error(f"{error.filename or 'the system'}: {reason(error)}")
        return 1


def _restore_texts(commands: typer.Typer) -> None:
    """Texts of `--help` are docstrings. Python throws them away where `PYTHONOPTIMIZE` is 2."""
    if sys.flags.optimize < 2:
        return
    for one in filter(None, (commands.registered_callback, *commands.registered_commands)):
        if one.callback:
            one.callback.__doc__ = ast.get_docstring(ast.parse(inspect.getsource(one.callback)).body[0])  # type: ignore[arg-type]
    for group in commands.registered_groups:
        if group.typer_instance:
            _restore_texts(group.typer_instance)


def _say_error(text: str) -> None:
    err.print(f"[bold red]error:[/] {terminal.escape(text)}", soft_wrap=True)


class _Stopped(LongfatError):
    """Ctrl-C, with what there is to say of it."""


def _version(asked: bool) -> None:
    if asked:
        out.print(__version__)
        raise typer.Exit


@app.callback()
def longfat(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)] = False,
) -> None:
    """A laboratory for TCP over long fat networks."""
    del version


@app.command("run")
def run_command(
    what: WhatArgument,
    results: ResultsOption = RESULTS,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. [default: one a core]")] = None,
    changes: SetOption = None,
    quick: ShortOption = False,
    backend: BackendOption = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|ADDRESS", help="Whose workers run them: processes, dask (a cluster of its own), or tcp://SCHEDULER:8786."
        ),
    ] = None,
    shard: Annotated[str | None, typer.Option(metavar="N/COUNT", help="Only part N of so many; `longfat gather` makes the tables.")] = None,
    max_runs: Annotated[int, typer.Option(help="Refuse to start more runs than this.")] = 2000,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start however many runs there are.")] = False,
) -> None:
    """Run experiments; what is already finished is not run again."""
    if executor is not None and shard is not None:
        raise LongfatError("--executor hands runs to workers, --shard runs a part of them here: choose one")
    part = shards.read(shard) if shard is not None else None
    # All of them are parsed before the first is run: a mistake in the last should not wait for the others.
    asked = chosen(what, results, changes, quick=quick, backend=backend)
    with named(executor, jobs) as workers:
        where = named_where(workers, executor) if workers and executor else terminal.count(jobs or default_jobs(), "core")
        # Runs that cannot be done are named before anything runs.
        plans = [_checked(one, part, jobs or default_jobs(), None if yes else max_runs) for one in asked]
        for one, plan in zip(asked, plans, strict=True):
            if part:
                _run(one, f"{where}, of {one.experiment.run_count:,} in {part[1]:,} shards", plan, partial(_run_shard, one, part, jobs))
            else:
                _run(one, where, plan, partial(one.experiment.sweep, one.folder, jobs=jobs, executor=workers))
    if part and len(asked) == 1:
        line = gather_with(what[0], part[1], results, changes, quick=quick, backend=backend)
        out.print(f"  when all {part[1]:,} shards have ended, make the tables:\n    {terminal.escape(line)}", soft_wrap=True)
    of_papers = Counter(one.source.file.parent for one in asked if (one.source.file.parent / "paper.py").is_file())
    for folder, count in of_papers.items():
        # What was changed is not what the paper did.
        if count > 1 and not (changes or backend or part):
            print_comparison(out, folder, results_home(location(results), quick=quick))


def _checked(one: Chosen, part: tuple[int, int] | None, jobs: int, max_runs: int | None) -> Plan:
    """Plan of the runs that are left, each of which can be run here."""
    store = Store(one.folder)
    store.check_format()
    store.check_source(one.experiment.file)
    if max_runs is not None and one.experiment.most_runs > max_runs:
        _refuse(one.source, one.experiment, jobs, max_runs)
    plan = one.experiment.plan_shard(*part) if part else one.experiment.plan(store)
    one.experiment.check(plan.items.without(store.finished()) if plan.items.alone.any() else NOTHING)
    return plan


def _run(one: Chosen, where: str, plan: Plan, sweep: Callable[..., Results | None]) -> None:
    """Runs what is planned by `sweep`, and says so; it gives the results of all runs of the experiment, or none."""
    store, folder, items, known = Store(one.folder), one.folder, plan.items, plan.warnings
    missing = len(items.without(store.finished()))
    have = len(items) - missing
    out.print(f"[bold]{terminal.escape(one.source.name)}[/] {terminal.escape(one.experiment.title)}", soft_wrap=True)
    if missing:
        already = f" ({have:,} finished before)" if have else ""
        more = ", then those that their results ask for" if one.experiment.decides else ""
        out.print(f"  {terminal.count(missing, 'run')} on {where}{already}{more}", soft_wrap=True)
    else:
        out.print(f"  all {len(items):,} runs are finished already")
    terminal.print_warnings(err, known)
    with progress_bar(err, missing) as tick:
        try:
            made = sweep(tick=tick)
        except KeyboardInterrupt:
            done = len(items) - len(items.without(store.finished()))
            kept = f"Stopped: {done:,} of {len(items):,} runs are finished and kept in {folder}. To go on:"
            raise _Stopped(f"{kept}\n  {shlex.join(['longfat', *sys.argv[1:]])}") from None
    if made is not None:
        terminal.print_warnings(err, new_ones(made.warnings, known))
        terminal.print_decided(out, made)
    out.print(f"  results in {terminal.escape(str(folder))}", soft_wrap=True)


def _run_shard(one: Chosen, part: tuple[int, int], jobs: int | None, tick: Callable[[Work], object]) -> None:
    one.experiment.sweep_shard(one.folder, *part, jobs=jobs, tick=tick)


def _refuse(source: Source, experiment: Experiment, jobs: int, max_runs: int) -> NoReturn:
    count = experiment.most_runs
    # A sweep too large to start is too large to go through: a few runs, evenly spaced, stand for it.
    sample = (
        [experiment.resolve(index * experiment.run_count // SAMPLE) for index in range(SAMPLE)]
        if count > SAMPLE
        else experiment.resolve_all()
    )
    cost = sum(run.cost for run in sample) / len(sample) * count
    seconds = cost / measure_speed(min(sample, key=lambda run: run.cost)) / jobs
    raise LongfatError(
        f"{source.name} is a sweep of {terminal.count(count, 'run')}, about {terminal.duration(seconds)} on "
        f"{terminal.count(jobs, 'core')}; the limit is {max_runs:,}. "
        f"To start it all the same, say --yes or --max-runs {count}"
    )


app.command("advise")(advise_command)
app.command("compare")(compare_command)
app.command("gather")(gather_command)
app.command("submit")(submit_command)
app.add_typer(testbed_app, name="testbed")
app.add_typer(cc.app, name="cc")


@app.command("report")
def report_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of a paper or experiment.")],
    results: ResultsOption = RESULTS,
    reports: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the report goes; of --quick, in DIR/quick.")] = REPORTS,
    quick: QuickOption = False,
) -> None:
    """Write one HTML page with every figure, and each figure as PNG and SVG."""
    with terminal.share_bar(err, "reading") as tick:
        report = write_report(what, results_home(location(results), quick=quick), reports / "quick" if quick else reports, tick)
    for figure in report.missing:
        err.print(f"  [yellow]not drawn:[/] {terminal.escape(f'{figure.where}: {figure.why}')}", soft_wrap=True)
    out.print(f"report: {terminal.escape(str(report.page.resolve()))}", soft_wrap=True)


@app.command("watch")
def watch_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    results: ResultsOption = RESULTS,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of 127.0.0.1; 0: any that is free.")] = 0,
    quick: QuickOption = False,
) -> None:
    """Show the report of a sweep while it runs, in a browser on this machine."""
    folder = results_of(what, results_home(location(results), quick=quick))
    try:
        with serve(folder, port) as address:
            out.print(f"the report is at {address} and follows the sweep; Ctrl-C ends it", soft_wrap=True)
            with suppress(KeyboardInterrupt):
                threading.Event().wait()
    except OSError as error:
        raise LongfatError(f"cannot serve at port {port}: {error.strerror or error}") from error


@app.command("list")
def list_command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND|NAME",
            help="experiments, papers, queues, stacks, links, traffic, hosts, metrics, tcp ..., or the name of an entry.",
        ),
    ] = None,
) -> None:
    """Show everything that has a name, and its source; of a kind or one entry, parameters, too."""
    kinds = {"papers": papers, "experiments": experiments}
    tables = registries()
    for name, names in kinds.items():
        if what in (None, name):
            terminal.print_names(out, name, names())
    if what is not None and what not in tables:
        tables = {name: [entry for entry in entries if entry["name"] == what] for name, entries in tables.items()}
        if what not in kinds and not any(tables.values()):
            raise LongfatError(f"nothing to list is called {what!r}: choose one of {', '.join([*kinds, *tables])}, or a name in them")
    for name, entries in tables.items():
        if entries and (what not in tables or what == name):
            terminal.print_entries(out, name, entries, details=what is not None)


@app.command("script")
def script_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Packet scripts, or folders of them (*.pkt).")],
    versions: Annotated[
        list[str] | None,
        typer.Option(
            "--ip-version", "--ip_version", metavar="VERSION", help="ipv4, ipv6, ipv4-mapped-ipv6 or all; may be said more than once."
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="NAME=VALUE", help="As --NAME=VALUE at the head of a script that does not say it, such as push=any."
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every packet.")] = False,
    init_scripts: Annotated[
        list[Path] | None,
        typer.Option("--init-scripts", "--init_scripts", metavar="FILE", help="A shell script whose sysctls hold for all scripts."),
    ] = None,
    go_on: Annotated[bool, typer.Option("--all", help="Go on after what is not as expected, and report each expectation.")] = False,
    as_suite: Annotated[
        bool, typer.Option("--suite", help="A table by folder, and one line with the reason for each script that does not pass.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="A list of {file, ip_version, verdict, line, column, message, details, expectations, warnings, notes, printed}.",
        ),
    ] = False,
) -> None:
    """Run packet scripts against the TCP endpoint; exit code 1 where one fails or is none."""
    reports: list[ScriptReport] = []
    asked = versions or []
    if unknown := [version for version in asked if version not in (*script.VERSIONS, "all")]:
        raise LongfatError(f"--ip-version {unknown[0]}: expected {', '.join(script.VERSIONS)} or all")
    chosen = script.VERSIONS if "all" in asked else asked
    settings = [(name, value) for name, _, value in (option.partition("=") for option in options or [])]
    for file in script.scripts(files):
        done = script.run(file, chosen, settings=settings, verbose=verbose, init_scripts=init_scripts or (), go_on=go_on)
        reports += done
        if not as_json and not as_suite:
            for text in filter(None, (script.text(report, say_version=len(chosen) > 1, each=go_on) for report in done)):
                print(terminal.clean(text))
    if as_json:
        print(json.dumps(reports, indent=2))
    else:
        if as_suite:
            print(terminal.clean(script.suite(reports, files)))
        print(script.summary(reports))
    if any(report["verdict"] in ("fail", "error") for report in reports):
        raise typer.Exit(1)


@app.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    print(schema())


@app.command("show")
def show_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    every: Annotated[bool, typer.Option("--all", help="Every metric, also all of delay and of what limits.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """Print the table of runs of an experiment."""
    shown = load_results(results_of(what, results_home(location(results), quick=quick)))
    terminal.say_short(out, "Short form (--quick)." if shown.quick else "")
    terminal.say_short(out, shown.so_far)
    terminal.print_results(out, shown, details=every)
    if hint := untouched.line(shown):
        out.print(f"  [dim]{terminal.escape(hint)}[/]", soft_wrap=True)
    terminal.print_warnings(out, shown.warnings)


@app.command("capture")
def capture_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    at: Annotated[str, typer.Option("--at", metavar="HOST|LINK", help="Where: a host, a router, a link, or one way of a link (`NAME>`).")],
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The capture to write (pcapng).")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="HASH", help="Which run, where there are several: how its hash begins.")
    ] = None,
    snap: Annotated[int, typer.Option("--snap", min=20, max=65535, help="Bytes of each packet that are written.")] = SNAP,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """Write what a host or a link of a run would have captured, for Wireshark and the like."""
    count = write_capture(results_of(what, results_home(location(results), quick=quick)), at, file, run=run, snap=snap)
    out.print(f"{terminal.count(count, 'packet')} at {terminal.escape(at)} in {terminal.escape(str(file))}", soft_wrap=True)


@app.command("trace")
def trace_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Captures, pcap or pcapng, also in gzip or zstd; several are read as one.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="All there is to say, with a series for each connection.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, help="Connections that are shown, those with the most data.")] = 20,
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE", help="Write path and flow as an experiment; the connection with most data."),
    ] = None,
    connection: Annotated[int | None, typer.Option("--connection", min=0, help="Of another one: its number.")] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Simulate that experiment, and the path with other windows, pacing and controls; print them beside it."
        ),
    ] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=1000, help="Runs of each simulation that --compare makes.")] = REPEATS,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with the graphs of that connection.")] = None,
) -> None:
    """Say what captures tell of each TCP connection in them."""
    with terminal.share_bar(err, "reading") as tick:
        found = trace.read(files, progress=tick)
    rows: list[Row] = []
    if compare:
        with terminal.share_bar(err, "simulating") as tick:
            rows = beside(trace.chosen(found, connection), repeats=repeats, tick=tick)
    if as_json:
        print(json.dumps({**found, "beside": [asdict(row) for row in rows]} if compare else found, indent=2))
    else:
        traced.print_trace(out, found, most)
        if compare:
            traced.print_beside(out, rows)
        traced.print_notes(err, found)
    if html is not None:
        with terminal.share_bar(err, "reading") as tick:
            trace.write_page(files, found, html, connection, rows=rows, progress=tick)
        err.print(f"page: {terminal.escape(terminal.clean(str(html)))}", soft_wrap=True)
    if experiment is not None:
        trace.write_experiment(found, experiment, connection)
        err.print(f"experiment: {terminal.escape(terminal.clean(str(experiment)))}", soft_wrap=True)


@app.command("prune")
def prune_command(
    what: Annotated[str, typer.Argument(metavar="RESULTS|NAME", help="A results folder, or the name of an experiment.")],
    versions: Annotated[
        list[int] | None, typer.Option("--version", metavar="N", help="Runs of this results version; may be said more than once.")
    ] = None,
    gone: Annotated[bool, typer.Option("--gone", help="Runs that are no longer in the experiment.")] = False,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Runs that are damaged.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove them. Without it they are listed.")] = False,
    results: ResultsOption = RESULTS,
    quick: QuickOption = False,
) -> None:
    """List what a results folder keeps; with --yes, remove what is named."""
    folder = results_of(what, results_home(location(results), quick=quick))
    everything = prune.kept(folder)
    if not (versions or gone or unfinished):
        if yes:
            raise LongfatError("--yes removes what is named: say --version N, --gone or --unfinished")
        terminal.print_kept(out, everything)
        return
    picked = prune.chosen(everything, versions or [], gone=gone, unfinished=unfinished)
    if not picked:
        out.print("There is nothing of that kind.")
    elif yes:
        prune.remove(folder, picked)
        out.print(f"Removed {terminal.kept_summary(picked)} from {terminal.escape(str(folder))}.", soft_wrap=True)
    else:
        terminal.print_kept(out, picked)
        out.print(f"This would remove {terminal.kept_summary(picked)}; with --yes it does.", soft_wrap=True)
