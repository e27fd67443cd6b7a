"""The commands `longfat key`: keys by which two hosts know each other."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from longfat._longfat import live_key_add, live_key_new
from longfat.errors import LongfatError
from longfat.report import terminal

key_command = typer.Typer(no_args_is_help=True, help="Make the key by which two hosts know each other, or keep the other host's.")
out = terminal.console()
err = terminal.console(stderr=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key: letters, digits, `_`, `-` and `.`.")]


@key_command.command("new")
def new_command(name: NameArgument) -> None:
    """Make a key of 256 random bits, and print it once, for the other host."""
    file, text = live_key_new(name)
    err.print(f"The key `{name}` is in {terminal.escape(file)}, which only you can read.", soft_wrap=True)
    err.print(f"Keep it at the other host, too: run `longfat key add {name}` there, and paste this line:", soft_wrap=True)
    out.print(text, soft_wrap=True, highlight=False)


@key_command.command("add")
def add_command(name: NameArgument) -> None:
    """Keep the key of another host: its text is read from the standard input."""
    if sys.stdin.isatty():
        err.print(f"Paste the line that `longfat key new {name}` printed at the other host, and press Enter:", soft_wrap=True)
    text = sys.stdin.readline()
    if not text.strip():
        raise LongfatError("no key came: paste the line that `longfat key new` printed at the other host")
    file = live_key_add(name, text)
    out.print(f"The key `{name}` is in {terminal.escape(file)}, which only you can read.", soft_wrap=True)
