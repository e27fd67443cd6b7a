"""`longfat list`: everything that has a name."""

from __future__ import annotations

from typing import Annotated

import typer

from longfat._longfat import registries
from longfat.errors import LongfatError
from longfat.locate import experiments, papers
from longfat.report import terminal

out = terminal.console()


def list_command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND|NAME",
            help="experiments, papers, queues, stacks, links, traffic, hosts, metrics, tcp ..., or the name of an entry.",
        ),
    ] = None,
) -> None:
    """List queues, controls, metrics and everything else with a name; for one entry, its parameters."""
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
