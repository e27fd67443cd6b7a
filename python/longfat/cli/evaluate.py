"""The commands `longfat evaluate`: report cards."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from longfat.errors import LongfatError, Stopped
from longfat.evaluate.control import AGAINST, Card, evaluate_control
from longfat.evaluate.criteria import CRITERIA, NOT_SHOWN
from longfat.evaluate.page import check, write_page
from longfat.evaluate.show import as_json, print_card
from longfat.executors.named import named
from longfat.locate import results_home
from longfat.report import terminal
from longfat.store import location

SUMMARY = "Judge a congestion control by the criteria of RFC 9743: a verdict for each, with its evidence."
evaluate_command = typer.Typer(no_args_is_help=True, help=SUMMARY)


@evaluate_command.callback()
def group() -> None:
    """Judge a congestion control by the criteria of RFC 9743: a verdict for each, with its evidence."""


@evaluate_command.command("control")
def control_command(
    what: Annotated[list[str], typer.Argument(metavar="NAME|FILE.py...", help="Controls, or files with controls in Python.")],
    against: Annotated[str, typer.Option("--against", metavar="NAMES", help="Controls of reference.")] = ",".join(AGAINST),
    criteria: Annotated[str, typer.Option("--criteria", metavar="NAMES", help="Some of the criteria. [default: all]")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, three repeats; results go to DIR/quick.")] = False,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Where the page goes: .html or .md.")] = None,
    json_out: Annotated[bool, typer.Option("--json", help="All of it, with every path.")] = False,
    results: Annotated[str, typer.Option("--results", metavar="DIR", help="Where results are kept.")] = "results",
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. [default: one a core]")] = None,
    executor: Annotated[
        str | None, typer.Option("--executor", metavar="NAME", help="Who runs them, as for `longfat run`. Controls in Python run here.")
    ] = None,
) -> None:
    """Judge congestion controls by RFC 9743, each criterion on paths of its own."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if page is not None:
        check(page)
    names = [name for one in what for name in _controls(one)]
    home = results_home(location(results), quick=quick) / "evaluate"
    asked = [one.strip() for one in criteria.split(",") if one.strip()]
    beside = [one.strip() for one in against.split(",") if one.strip()]
    cards: list[Card] = []
    try:
        with named(executor, jobs) as workers:
            for name in names:
                with terminal.share_bar(err, name) as share:
                    cards.append(
                        evaluate_control(
                            name, against=beside, criteria=asked, quick=quick, folder=home, jobs=jobs, executor=workers, tick=share
                        )
                    )
                if not json_out:
                    print_card(out, cards[-1])
    except KeyboardInterrupt:
        again = shlex.join(["longfat", *sys.argv[1:]])
        raise Stopped(f"Stopped: what is finished is kept in {home}. To go on:\n  {again}") from None
    if json_out:
        print(json.dumps([as_json(card) for card in cards], indent=2))
    if isinstance(home, Path):
        _write(cards, home / "cards")
        err.print(f"experiments of the worst paths: {terminal.escape(str(home / 'cards'))}", soft_wrap=True)
    command = shlex.join(["longfat", *sys.argv[1:]])
    file = page or (home / "cards" / f"{'-'.join(names)[:80]}.html" if isinstance(home, Path) else None)
    if file is not None:
        write_page(cards, file, command)
        err.print(f"page: {terminal.escape(terminal.clean(str(file)))}", soft_wrap=True)


def _write(cards: list[Card], folder: Path) -> None:
    """Writes the experiment of the worst path of each criterion that is not passed, to run it alone."""
    for card in cards:
        (folder / card.name).mkdir(parents=True, exist_ok=True)
        (folder / f"{card.name}.json").write_text(json.dumps(as_json(card), indent=2) + "\n", encoding="utf-8")
        for answer in card.answers:
            if answer.experiment and answer.verdict != "passes":
                (folder / card.name / f"{answer.criterion.name}.toml").write_text(answer.experiment, encoding="utf-8")


@evaluate_command.command("criteria")
def criteria_command() -> None:
    """List the criteria: section, what is measured, and the bound with its source."""
    out = terminal.console()
    for one in CRITERIA:
        bound = "" if one.rule.bound is None else f"at {'most' if one.rule.better == 'less' else 'least'} {one.rule.bound:g}: "
        out.print(f"  [bold]{one.name}[/] ({one.section}) {one.asks} ({one.unit})", soft_wrap=True)
        out.print(f"    [dim]{bound}{one.rule.source}[/]", soft_wrap=True)
    for section, why in NOT_SHOWN:
        out.print(f"  not shown ({section}): {why}", soft_wrap=True)


def _controls(what: str) -> list[str]:
    """The control of this name, or those that a Python file defines. Raises LongfatError where it has none or cannot be imported."""
    if not what.endswith(".py"):
        return [what]
    file = Path(what)
    if not file.is_file():
        raise LongfatError(f"there is no file {what!r}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise LongfatError(f"{what} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except LongfatError:
        raise
    except Exception as error:
        raise LongfatError(f"{what} cannot be imported: {type(error).__name__}: {error}") from error
    found = [str(getattr(value, "congestion_control", "")) for value in vars(module).values() if isinstance(value, type)]
    names = list(dict.fromkeys(name for name in found if name))
    if not names:
        raise LongfatError(f"{what} defines no congestion control: decorate a class with @longfat.congestion_control")
    return names
