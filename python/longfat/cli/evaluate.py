"""The commands `longfat evaluate`: report cards."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from longfat.errors import LongfatError, Stopped
from longfat.evaluate.card import AGAINST, SIM, Card, evaluate_control, evaluate_queue, evaluate_startup
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.page import check, write_page
from longfat.evaluate.queues import QUEUES
from longfat.evaluate.show import as_json as card_as_json
from longfat.evaluate.show import print_card, print_worst, worst_as_json
from longfat.evaluate.startups import STARTUPS
from longfat.evaluate.tcpeval import TCPEVAL
from longfat.evaluate.worst import POPULATION, Worst, worst_path, worst_path_of_queue, worst_path_of_startup
from longfat.executors.named import named
from longfat.locate import results_home
from longfat.report import terminal
from longfat.store import location

evaluate_command = typer.Typer(
    no_args_is_help=True, help="Judge a congestion control, a queue or a start-up by RFC 9743 and RFC 7928: a verdict per criterion."
)

QUEUES_AGAINST, STARTUPS_AGAINST = (",".join(suite.against) for suite in (QUEUES, STARTUPS))
ControlsOption = Annotated[
    str,
    typer.Option(
        "--against",
        metavar="NAMES",
        help="References on the same paths. Default: " + "; ".join(f"{','.join(some)} on {one}" for one, some in AGAINST.items()) + ".",
    ),
]
AgainstOption = Annotated[str, typer.Option("--against", metavar="NAMES", help="References on the same paths.")]
BackendOption = Annotated[
    str, typer.Option("--backend", metavar="NAME", help="sim, or testbed: the kernel's control of that name, over an emulated path.")
]
CriteriaOption = Annotated[str, typer.Option("--criteria", metavar="NAMES", help="Some of the criteria. Default: all.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="Shorter runs, three repeats; results go to DIR/quick.")]
PageOption = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Where the page goes: .html, .pdf or .md.")]
JsonOption = Annotated[bool, typer.Option("--json", help="All of it, with every path.")]
ResultsOption = Annotated[str, typer.Option("--results", metavar="DIR|URL", help="Where results are kept.")]
JobsOption = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time. Default: one per core.")]
SuiteOption = Annotated[
    str, typer.Option("--suite", metavar="NAME", help="rfc9743, or tcpeval: the basic scenarios of draft-irtf-iccrg-tcpeval-01.")
]
WorstOption = Annotated[
    str, typer.Option("--worst", metavar="CRITERION", help="No card: search for the path on which this criterion is answered worst.")
]
RangeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="KEY=LOW..HIGH",
        help="Ends of rate, rtt, buffer, loss or peers for --worst, where it has them; may be repeated.",
    ),
]
PathsOption = Annotated[int, typer.Option("--paths", metavar="N", min=POPULATION, help="Paths that --worst tries.")]
ExecutorOption = Annotated[
    str | None,
    typer.Option("--executor", metavar="NAME", help="Who runs them, as for `longfat run`. Controls in Python need this process."),
]


@evaluate_command.command("control")
def control_command(
    what: Annotated[list[str], typer.Argument(metavar="NAME|FILE.py...", help="Controls, or files with controls in Python.")],
    suite: SuiteOption = "rfc9743",
    worst: WorstOption = "",
    ranges: RangeOption = None,
    paths: PathsOption = 4 * POPULATION,
    against: ControlsOption = "",
    criteria: CriteriaOption = "",
    backend: BackendOption = SIM,
    quick: QuickOption = False,
    page: PageOption = None,
    as_json: JsonOption = False,
    results: ResultsOption = "results",
    jobs: JobsOption = None,
    executor: ExecutorOption = None,
) -> None:
    """Judge congestion controls by RFC 9743, each criterion on paths of its own."""
    names = [name for one in what for name in _controls(one)]
    if executor is not None and (ours := [one for one in what if one.endswith(".py")]):
        raise LongfatError(f"--executor {executor}: {ours[0]} runs in this process only")
    if worst:
        if backend != SIM:
            raise LongfatError(f"--backend {backend}: --worst searches in the simulator only")
        against = against or ",".join(AGAINST[SIM])
        searched = {name: partial(worst_path, name, worst, ranges=_ranges(ranges), paths=paths) for name in names}
        _search(searched, against, quick, as_json, results, jobs, executor)
        return
    _no_ranges(ranges)
    asked = {name: partial(evaluate_control, name, suite=suite, backend=backend) for name in names}
    _evaluate(asked, against, criteria, quick, page, as_json, results, jobs, executor)


@evaluate_command.command("queue")
def queue_command(
    what: Annotated[list[str], typer.Argument(metavar="NAME...", help="Queues, as `longfat list queues` has them.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the queue; may be repeated.")
    ] = None,
    worst: WorstOption = "",
    ranges: RangeOption = None,
    paths: PathsOption = 4 * POPULATION,
    against: AgainstOption = QUEUES_AGAINST,
    criteria: CriteriaOption = "",
    quick: QuickOption = False,
    page: PageOption = None,
    as_json: JsonOption = False,
    results: ResultsOption = "results",
    jobs: JobsOption = None,
    executor: ExecutorOption = None,
) -> None:
    """Judge queues by RFC 7928, each scenario on paths of its own."""
    given: dict[str, str] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise LongfatError(f"--set {setting}: write KEY=VALUE")
        given[key.strip()] = value.strip()
    if worst:
        searched = {name: partial(worst_path_of_queue, name, worst, given, ranges=_ranges(ranges), paths=paths) for name in what}
        _search(searched, against, quick, as_json, results, jobs, executor)
        return
    _no_ranges(ranges)
    _evaluate(
        {name: partial(evaluate_queue, name, given) for name in what}, against, criteria, quick, page, as_json, results, jobs, executor
    )


@evaluate_command.command("startup")
def startup_command(
    what: Annotated[list[str], typer.Argument(metavar="NAME...", help="Slow starts, as `longfat list slow_starts` has them.")],
    worst: WorstOption = "",
    ranges: RangeOption = None,
    paths: PathsOption = 4 * POPULATION,
    against: AgainstOption = STARTUPS_AGAINST,
    criteria: CriteriaOption = "",
    quick: QuickOption = False,
    page: PageOption = None,
    as_json: JsonOption = False,
    results: ResultsOption = "results",
    jobs: JobsOption = None,
    executor: ExecutorOption = None,
) -> None:
    """Judge slow starts: completion times, overshoot, and harm to flows that are there."""
    if worst:
        searched = {name: partial(worst_path_of_startup, name, worst, ranges=_ranges(ranges), paths=paths) for name in what}
        _search(searched, against, quick, as_json, results, jobs, executor)
        return
    _no_ranges(ranges)
    asked = {name: partial(evaluate_startup, name) for name in what}
    _evaluate(asked, against, criteria, quick, page, as_json, results, jobs, executor)


@evaluate_command.command("criteria")
def criteria_command() -> None:
    """List the criteria: section, what is measured, and the bound with its source."""
    out = terminal.console()
    for suite in (CONTROLS, TCPEVAL, QUEUES, STARTUPS):
        out.print(f"[bold]{suite.what}[/], {suite.document}", soft_wrap=True)
        for one in suite.criteria:
            bound = "" if one.rule.bound is None else f"at {'most' if one.rule.better == 'less' else 'least'} {one.rule.bound:g}: "
            out.print(f"  [bold]{one.name}[/] ({one.section}) {one.asks} ({one.unit})", soft_wrap=True)
            out.print(f"    [dim]{bound}{one.rule.source}[/]", soft_wrap=True)
        for section, why in suite.not_shown:
            out.print(f"  not shown ({section}): {terminal.escape(why)}", soft_wrap=True)


def _ranges(given: list[str] | None) -> dict[str, tuple[str, str]]:
    return dict(map(_range, given or []))


def _no_ranges(given: list[str] | None) -> None:
    if given:
        raise LongfatError(f"--range {given[0]}: a range is for --worst")


def _range(text: str) -> tuple[str, tuple[str, str]]:
    key, equals, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    if not (key and equals and low and dots and high):
        raise LongfatError(f'--range {text}: write KEY=LOW..HIGH, such as "rate=1 Mbit/s..1 Gbit/s"')
    return key.strip(), (low.strip(), high.strip())


def _search(
    asked: Mapping[str, Callable[..., Worst]],
    against: str,
    quick: bool,
    as_json: bool,
    results: str,
    jobs: int | None,
    executor: str | None,
) -> None:
    """Searches for the worst path of each that is asked for, prints it and writes its experiment."""
    out, err = terminal.console(), terminal.console(stderr=True)
    home = results_home(location(results), quick=quick) / "evaluate"
    found: list[Worst] = []
    try:
        with named(executor, jobs) as workers:
            for name, search in asked.items():
                with terminal.share_bar(err, name) as share:
                    common = {"quick": quick, "folder": home, "jobs": jobs, "executor": workers, "tick": share}
                    found.append(search(against=_names(against), **common))
                if not as_json:
                    print_worst(out, found[-1])
    except KeyboardInterrupt:
        again = shlex.join(["longfat", *sys.argv[1:]])
        raise Stopped(f"Stopped: what is finished is kept in {home}. To go on:\n  {again}") from None
    if as_json:
        print(json.dumps([worst_as_json(one) for one in found], indent=2))
    if isinstance(home, Path):
        for one in found:
            file = home / "worst" / one.suite.what / one.name / f"{one.criterion.name}.toml"
            file.write_text(one.experiment, encoding="utf-8")
            err.print(f"experiment of the worst path: {terminal.escape(str(file))}", soft_wrap=True)


def _evaluate(
    asked: Mapping[str, Callable[..., Card]],
    against: str,
    criteria: str,
    quick: bool,
    page: Path | None,
    as_json: bool,
    results: str,
    jobs: int | None,
    executor: str | None,
) -> None:
    """Makes and prints the card of each that is asked for, and writes the page and the experiments of the worst paths."""
    out, err = terminal.console(), terminal.console(stderr=True)
    if page is not None:
        check(page)
    home = results_home(location(results), quick=quick) / "evaluate"
    cards: list[Card] = []
    try:
        with named(executor, jobs) as workers:
            for name, evaluate in asked.items():
                with terminal.share_bar(err, name) as share:
                    common = {"quick": quick, "folder": home, "jobs": jobs, "executor": workers, "tick": share}
                    cards.append(evaluate(against=_names(against), criteria=_names(criteria), **common))
                if not as_json:
                    print_card(out, cards[-1])
    except KeyboardInterrupt:
        again = shlex.join(["longfat", *sys.argv[1:]])
        raise Stopped(f"Stopped: what is finished is kept in {home}. To go on:\n  {again}") from None
    if as_json:
        print(json.dumps([card_as_json(card) for card in cards], indent=2))
    if isinstance(home, Path):
        _write(cards, home / "cards")
        err.print(f"experiments of the worst paths: {terminal.escape(str(home / 'cards'))}", soft_wrap=True)
        page = page or home / "cards" / f"{'-'.join(asked)[:80]}.html"
    if page is not None:
        write_page(cards, page, shlex.join(["longfat", *sys.argv[1:]]))
        err.print(f"page: {terminal.escape(terminal.clean(str(page)))}", soft_wrap=True)


def _names(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _write(cards: list[Card], folder: Path) -> None:
    """Writes the experiment of the worst path of each criterion that is not passed, to run it alone."""
    for card in cards:
        (folder / card.name).mkdir(parents=True, exist_ok=True)
        (folder / f"{card.name}.json").write_text(json.dumps(card_as_json(card), indent=2) + "\n", encoding="utf-8")
        for answer in card.answers:
            if answer.experiment and answer.verdict != "passes":
                (folder / card.name / f"{answer.criterion.name}.toml").write_text(answer.experiment, encoding="utf-8")


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
