"""The commands `longfat cc`: the high-speed controls in this machine's kernel."""

from __future__ import annotations

from typing import Annotated

import typer

from longfat._longfat import HAS_BPF, cc_list, cc_load, cc_unload
from longfat.errors import LongfatError
from longfat.report import terminal

cc_command = typer.Typer(no_args_is_help=True, help="Load the high-speed controls into this machine's kernel, as BPF programs.")

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the control, as in experiments (fast) or in the kernel (lf_fast).")
]

PLACES = {"kernel": "in the kernel", "loaded": "of longfat, loaded", "set": "of longfat, not loaded"}


@cc_command.command("list")
def list_command() -> None:
    """List the controls that the kernel has, and those that it can be given."""
    out = terminal.console()
    controls = cc_list()
    for place, words in PLACES.items():
        names = [name for name, whose in controls if whose == place]
        out.print(f"{words:24}{', '.join(names) or 'none'}", soft_wrap=True)
    if not HAS_BPF:
        out.print(
            "None can be loaded: built without BPF, which needs clang and libelf (make system-packages, then make build).", soft_wrap=True
        )


@cc_command.command("load")
def load_command(
    name: NameArgument,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAM=VALUE", help="Parameter of the control, as in an experiment; repeatable."),
    ] = None,
) -> None:
    """Register a control with the kernel, for every program on this machine, until it is unloaded or the machine starts again."""
    loaded = cc_load(name, [_setting(change) for change in changes or []])
    out = terminal.console()
    out.print(f"{loaded} is loaded. A program asks for it with setsockopt(TCP_CONGESTION), all of a namespace get it with")
    out.print(f"  sysctl net.ipv4.tcp_congestion_control={loaded}")


@cc_command.command("unload")
def unload_command(
    name: NameArgument,
    force: Annotated[bool, typer.Option("--force", help="Unload it even while connections use it; they keep it to their end.")] = False,
) -> None:
    """Take a control from the kernel."""
    terminal.console().print(f"{cc_unload(name, force)} is unloaded.")


def _setting(change: str) -> tuple[str, str]:
    name, equals, value = change.partition("=")
    if not (name and equals):
        raise LongfatError(f"--set {change}: write PARAM=VALUE")
    return name.strip(), value.strip()
