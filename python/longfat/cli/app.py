"""The command line: its verbs, and how it ends."""

from __future__ import annotations

import ast
import inspect
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from longfat._longfat import COMMIT, __version__
from longfat.cli import output
from longfat.cli.advise import advise_command
from longfat.cli.capture import capture_command
from longfat.cli.cc import app as cc_app
from longfat.cli.compare import compare_command
from longfat.cli.list import list_command
from longfat.cli.prune import prune_command
from longfat.cli.report import report_command
from longfat.cli.run import run_command
from longfat.cli.schema import schema_command
from longfat.cli.script import script_command
from longfat.cli.show import show_command
from longfat.cli.submit import gather_command, submit_command
from longfat.cli.testbed import testbed_app
from longfat.cli.trace import trace_command
from longfat.cli.watch import watch_command
from longfat.errors import INTERRUPTED, LongfatError, Stopped
from longfat.locate import sources
from longfat.report import terminal
from longfat.store.files import reason
from longfat.store.place import waits


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

VERBS: dict[str, Callable[..., None] | typer.Typer] = {
    "run": run_command,
    "advise": advise_command,
    "compare": compare_command,
    "gather": gather_command,
    "submit": submit_command,
    "report": report_command,
    "watch": watch_command,
    "list": list_command,
    "script": script_command,
    "schema": schema_command,
    "show": show_command,
    "capture": capture_command,
    "trace": trace_command,
    "prune": prune_command,
    "testbed": testbed_app,
    "cc": cc_app,
}
"""Every verb of `longfat`, in the order of `--help`: a function, or an app with verbs of its own."""


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


def _version(asked: bool) -> None:
    if asked:
        out.print(f"{__version__} (commit {COMMIT})" if COMMIT else __version__)
        raise typer.Exit


@app.callback()
def longfat(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)] = False,
) -> None:
    """A laboratory for TCP over long fat networks."""
    del version


for name, verb in VERBS.items():
    if isinstance(verb, typer.Typer):
        app.add_typer(verb, name=name)
    else:
        app.command(name)(verb)
