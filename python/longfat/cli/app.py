"""The command line: its verbs, and how it ends."""

from __future__ import annotations

import ast
import inspect
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from longfat._longfat import COMMIT, __version__
from longfat.cli import output
from longfat.errors import INTERRUPTED, LongfatError, Stopped
from longfat.report import terminal

VERBS: dict[str, dict[str, str]] = {
    "Ask": {
        "advise": "Say which control, window, streams and pacing to set for a path, from runs of it.",
        "fit": "Find the path behind measured numbers: an interval for each unknown, and what the data do not decide.",
        "evaluate": "Judge a congestion control, a queue or a start-up by RFC 9743 and RFC 7928: a verdict per criterion.",
        "list": "List queues, controls, metrics and everything else with a name; for one entry, its parameters.",
        "schema": "Print the JSON Schema of experiment files, for editors.",
    },
    "Run": {
        "run": "Run experiments; finished runs are kept.",
        "script": "Run packet scripts against the TCP endpoint; exit code 1 if one fails.",
    },
    "Look at results": {
        "show": "Print the table of runs of an experiment.",
        "explain": "Tell what happened in a run or a captured connection, and why, in a dozen sentences.",
        "report": "Write one HTML page with every figure; with --figures, each figure as PNG and SVG, too.",
        "compare": "Compare results with a paper's published numbers, or two backends with each other.",
        "watch": "Show the report of a sweep while it runs, in a browser on this machine.",
        "prune": "List the contents of a results folder; with --yes, remove the runs you name.",
    },
    "Captures": {
        "trace": "Say what limited each TCP connection of a capture.",
        "capture": "Write the capture that a host or a link of a run would have made, for Wireshark.",
    },
    "Many machines": {
        "submit": "Write the array job that runs an experiment as shards. Submits nothing.",
        "gather": "Make the tables of a sweep that ran as shards, or say which runs are missing.",
    },
    "Between two hosts": {
        "probe": "Look at the path to a `longfat serve`, in 20 s and 40 round trips: RTT, routers, MTU, codepoints, rate, memory.",
        "measure": "Measure TCP each way, then both at once, to a `longfat serve`: rate, delay, what limits it, and what to change.",
        "tune": "Say what to change on this Linux host for a path; predict the gain, write scripts, apply and revert them.",
        "key": "Make the key by which two hosts know each other, or keep the other host's.",
        "serve": "Let other hosts measure the path to this one; Ctrl-C ends it.",
    },
    "Kernel": {
        "testbed": "Run real kernels across emulated paths: check this machine, or open a shell on a path.",
        "cc": "Load the high-speed controls into this machine's kernel, as BPF programs.",
    },
}
"""Every verb of `longfat` and the first sentence of its help, by the groups of `--help`, in their order."""
EXAMPLES = {
    "advise": "longfat advise --rate 1Gbit/s --rtt 80ms --page advice.html",
    "fit": "longfat fit iperf3-*.json --out path.toml",
    "evaluate": "longfat evaluate control cubic",
    "list": "longfat list queues",
    "schema": "longfat schema > longfat.schema.json",
    "run": "longfat run small.toml --set 'flow.window=8 MiB'",
    "script": "longfat script tests/scripts",
    "show": "longfat show small.toml",
    "explain": "longfat explain small.toml --figure story.svg",
    "report": "longfat report small.toml --pdf",
    "compare": "longfat compare ansnet --table 3",
    "watch": "longfat watch small.toml",
    "prune": "longfat prune small.toml --gone --yes",
    "trace": "longfat trace transfer.pcapng",
    "capture": "longfat capture small.toml --at left1 --out left1.pcapng",
    "submit": "longfat submit small.toml --slurm --minutes 30",
    "gather": "longfat gather small.toml",
    "probe": "longfat probe dtn.example.org --key dtn",
    "measure": "longfat measure dtn.example.org --key dtn",
    "tune": "longfat tune --rate 10Gbit/s --rtt 80ms --simulate",
    "key": "longfat key new dtn",
    "serve": "longfat serve --key dtn",
    "testbed": "longfat testbed check --quick",
    "cc": "longfat cc load fast",
}
"""An example for each verb, shown at the end of its help."""
FIRST = (
    ("I have a path:", "longfat advise --rate 1Gbit/s --rtt 80ms"),
    ("I have numbers:", "longfat fit iperf3-*.json"),
    ("I have a capture:", "longfat trace transfer.pcapng"),
    ("I have a question:", "longfat run bufferbloat"),
)
"""Commands to try first, by what people come with: what `longfat` alone prints."""
HOMES = {"gather": "submit"}
"""Modules of `longfat.cli` with the function `NAME_command` of a verb, where it is not that of its name."""


class Verb(TyperCommand):
    """A verb of which the name and one sentence are known. Its parts are loaded when it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself."""
        return load(self.name or "").make_context(info_name, args, parent, **extra)


class Commands(TyperGroup):
    """The commands of longfat; an experiment in the place of one is answered with the command to write."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the verbs, in the order of `--help`."""
        return [name for verbs in VERBS.values() for name in verbs]

    def get_params(self, ctx: Any) -> Any:
        """Options of `longfat` alone."""
        params = super().get_params(ctx)
        _without_types(params)
        return params

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of this name; None without one."""
        for group, verbs in VERBS.items():
            if summary := verbs.get(cmd_name):
                return Verb(cmd_name, help=summary, rich_help_panel=group)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that `args` begin with, and what is left of them."""
        if args and self.get_command(ctx, args[0]) is None and _is_experiment(args[0]):
            what = shlex.quote(args[0])
            ctx.fail(f"{args[0]} is an experiment, not a command: write `longfat run {what}`, or `longfat show {what}` for its results.")
        return super().resolve_command(ctx, args)


def load(name: str) -> Any:
    """The command of a verb: a function's, or a group of those of an app."""
    made = getattr(import_module(f"longfat.cli.{HOMES.get(name, name)}"), f"{name}_command")
    if not isinstance(made, typer.Typer):
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        one.command(name)(made)
        made = one
    _restore_texts(made)
    command = typer.main.get_command(made)
    command.epilog = f"Example: [bold]{EXAMPLES[name]}[/]"
    _without_types(_every_param(command))
    return command


def _every_param(command: Any) -> Iterator[Any]:
    """Yields the parameters of a command and its subcommands, `--help` among them."""
    yield from (*command.params, command.get_help_option(command.context_class(command)))
    for one in getattr(command, "commands", {}).values():
        yield from _every_param(one)


def _without_types(params: Iterable[Any]) -> None:
    """Leaves `<bool>` out of the help of switches, and `<list[str]>` out of that of arguments, whose metavar says it."""
    for param in params:
        if isinstance(param, TyperArgument):
            param.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
        elif param.is_flag:
            param.metavar = ""


def _is_experiment(what: str) -> bool:
    from longfat.locate import sources

    with suppress(LongfatError):
        return what.endswith(".toml") or bool(sources(what))
    return False


app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
out = terminal.console()
err = terminal.console(stderr=True)


def main() -> None:
    """Entry point: an error the user can fix is one message and exit code 1; Ctrl-C is one, too, and 130."""
    code = _called()
    if unwritten := output.failure():
        if not isinstance(unwritten, BrokenPipeError):  # whoever read it knows that
            _say_error(f"cannot write to standard output: {unwritten.strerror}")
        code = code or 1
    if code == INTERRUPTED:
        # Libraries would make the process wait for their servers, workers and threads.
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    sys.exit(code)


def _called() -> str | int | None:
    """The exit code of what is asked for."""
    _restore_texts(app)
    try:
        app()
    except Stopped as stopped:
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
        from longfat.store.files import reason

        _say_error(f"{error.filename or 'the system'}: {reason(error)}")
        return 1


def _restore_texts(commands: typer.Typer) -> None:
    """Gives functions their docstrings back, the texts of `--help`. Python throws them away where `PYTHONOPTIMIZE` is 2."""
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


def _version(asked: bool) -> None:
    if asked:
        out.print(f"{__version__} (commit {COMMIT})" if COMMIT else __version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def longfat(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)] = False,
) -> None:
    """Simulate TCP on fast, long-distance paths: throughput, delay, loss, and what to change."""
    del version
    if context.invoked_subcommand is None:
        out.print("longfat simulates TCP on fast, long-distance paths: throughput, delay, loss, and what to change. Try:\n")
        for what, command in FIRST:
            out.print(f"  {what:18}  [bold]{command}[/]", soft_wrap=True)
        out.print("\n`longfat --help` lists every command, `longfat COMMAND --help` explains one.")
