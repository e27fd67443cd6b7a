"""`evaluate_control`, `evaluate_queue` and `evaluate_startup`: run every criterion, and give a verdict on each."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from longfat._longfat import registries
from longfat.errors import ExperimentError, LongfatError, StorageError
from longfat.evaluate.alone import alone
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import Seen
from longfat.evaluate.probe import fault, one_line, probe_of
from longfat.evaluate.queues import QUEUES
from longfat.evaluate.rules import FAILS, NOT_SHOWN, PASSES, WORDS, Estimate, estimate
from longfat.evaluate.startups import FAST_OPEN, STARTUPS, keys_of
from longfat.evaluate.stuck import Stuck, Watch, watched
from longfat.evaluate.tcpeval import TCPEVAL
from longfat.evaluate.tradeoff import Tradeoff, of_sweep
from longfat.evaluate.variants import variants
from longfat.experiment import Experiment
from longfat.results.harm import by_repeat
from longfat.results.results import Results
from longfat.store import Location
from longfat.sweep.work import Work

SUBJECT, PEER = "subject", "peer"
"""Names of groups of flows: those that begin with `subject` have what is judged, `peer` has the references in turn."""
ALONE = "alone"
"""Value of the axis `control` in which the peers have the path to themselves."""
SUITES = {"rfc9743": CONTROLS, "tcpeval": TCPEVAL}
"""Suites for a congestion control, by the words of `--suite`."""
SIM, TESTBED = "sim", "testbed"
AGAINST = {SIM: CONTROLS.against, TESTBED: ("reno", "cubic", "bbr")}
"""References on each backend: Linux has no `bbr3`."""


@dataclass(frozen=True)
class OnPath:
    """The judgement of one path of a criterion."""

    labels: dict[str, str]
    """Value of each axis, but that of what is judged."""
    own: Estimate
    others: dict[str, Estimate]
    """The references on the same path."""
    verdict: str
    badness: float
    """How bad it is: the greater, the worse."""

    @property
    def name(self) -> str:
        """Name of the path: the value of each axis."""
        return ", ".join(f"{axis} {label}" for axis, label in self.labels.items()) or "its one path"


@dataclass(frozen=True)
class Answer:
    """Answer to one criterion: the verdict of its worst path."""

    criterion: Criterion
    paths: list[OnPath] = field(default_factory=list[OnPath])
    broken: str = ""
    """Error that the control raised; empty where it ran."""
    experiment: str = ""
    """Experiment of the worst path, as TOML."""
    unshown: str = ""
    """Sentence that says why the backend cannot show it; empty where it can."""
    invalid: int = 0
    """Runs left out because the testbed's verdict on them is `invalid`."""

    @property
    def worst(self) -> OnPath | None:
        """Path with the worst verdict, and there where it is worst; None where the control did not run."""
        return max(self.paths, key=lambda path: (WORDS.index(path.verdict), path.badness), default=None)

    @property
    def verdict(self) -> str:
        """`passes`, `judge yourself` or `fails`; `not shown` where the backend cannot show it."""
        if self.unshown:
            return NOT_SHOWN
        return FAILS if self.broken or self.worst is None else self.worst.verdict


@dataclass(frozen=True)
class Card:
    """Report card of a congestion control, a queue or a slow start."""

    suite: Suite
    """The criteria, and where they are from."""
    name: str
    """Name of what is judged."""
    against: list[str]
    """Names of the references."""
    quick: bool
    """True if the runs were shorter, with three repeats."""
    answers: list[Answer]
    """An answer per criterion."""
    fault: str = ""
    """Sentence that says why nothing was run; empty where it was."""
    tradeoffs: list[Tradeoff] = field(default_factory=list[Tradeoff])
    """Delay and goodput on each path of a queue's scenarios."""

    def __getitem__(self, name: str) -> Answer:
        """The answer to the criterion of this name. Raises KeyError."""
        return {answer.criterion.name: answer for answer in self.answers}[name]

    @property
    def remark(self) -> str:
        """Sentence on how it was judged; empty where it was judged as all others."""
        router = router_of(self.name) if self.suite.what == "control" else ""
        return f"{self.name} needs routers that answer it: it has the queue `{router}` wherever others have `{PLACE}`" if router else ""

    @property
    def failed(self) -> list[str]:
        """Names of the criteria that it fails."""
        return [answer.criterion.name for answer in self.answers if answer.verdict == FAILS]


def evaluate_control(
    control: str | type,
    *,
    suite: str = "rfc9743",
    against: Sequence[str] = (),
    criteria: Sequence[str] = (),
    backend: str = SIM,
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Card:
    """Judges a congestion control, a class or a name, by the criteria of RFC 9743, each of them a sweep of its own.

    `suite` is "rfc9743", or "tcpeval" for the basic scenarios of the Common TCP Evaluation Suite.

    `against` are the controls it is compared with on the same paths, and to which harm is counted; by default those of the backend in
    `AGAINST`. `criteria` names some of all. `backend` is "sim", or "testbed" for the kernel's control of that name: what the testbed cannot
    run is `not shown`, and a run that its verdict calls `invalid` does not count. `quick` takes shorter runs and three repeats. With
    `folder`, runs are kept there, a folder for each experiment, and not run twice. `tick` is called ten times a second with the share of
    all runs that is done. A control that raises, never sends or needs seconds for a call gets
    a card that says so. Raises LongfatError for a name that there is not, and where results cannot be kept.
    """
    if suite not in SUITES:
        raise LongfatError(f"there is no suite {suite!r}: choose one of {', '.join(SUITES)}")
    if backend not in AGAINST:
        raise LongfatError(f"no control is judged on the backend {backend!r}: choose one of {', '.join(AGAINST)}")
    if backend != SIM and not (isinstance(control, str) and is_ours(control)):
        raise LongfatError(f"the backend {backend} runs no control in Python: leave the backend out")
    chosen, against = SUITES[suite], against or AGAINST[backend]
    name = control if isinstance(control, str) else str(getattr(control, "congestion_control", control.__name__))
    for one in (name, *against):
        _check("control", one, lambda one=one: probe_of(one))
    beside = beside_of(name, against)
    if wrong := fault(name):
        return Card(chosen, name, beside, quick, [], wrong)
    raises = not is_ours(name)
    make = partial(put_controls, name, beside)
    return _card(chosen, name, beside, criteria, make, Running(quick, folder, jobs, executor, tick, backend), raises=raises)


def evaluate_queue(
    queue: str,
    settings: Mapping[str, str] | None = None,
    *,
    against: Sequence[str] = QUEUES.against,
    criteria: Sequence[str] = (),
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Card:
    """Judges a queue by the scenarios and metrics of RFC 7928, as `evaluate_control` judges a control.

    `settings` are parameters of the queue, as TOML or bare words (`target = "1 ms"`); the others are its defaults, as those of `against`
    are. Raises LongfatError for a name or a parameter that there is not, and where results cannot be kept.
    """
    values = queues_of(queue, settings or {}, against)
    name, *beside = values

    def make(experiment: Experiment, varies: bool) -> None:
        put_queues(variants(name, values[name], experiment.text, put_queues) if varies else values, experiment)

    return _card(QUEUES, name, beside, criteria, make, Running(quick, folder, jobs, executor, tick), raises=False)


def evaluate_startup(
    startup: str,
    *,
    against: Sequence[str] = STARTUPS.against,
    criteria: Sequence[str] = (),
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Card:
    """Judges a slow start, by the name that `slow_start` takes, or `fast_open`, as `evaluate_control` judges a control.

    Raises LongfatError for a name that there is not, and where results cannot be kept.
    """
    every = startups_of(startup, against)
    _, *beside = every
    make = partial(put_startups, every)
    return _card(STARTUPS, startup, beside, criteria, make, Running(quick, folder, jobs, executor, tick), raises=False)


@dataclass(frozen=True)
class Running:
    """How runs are made."""

    quick: bool
    folder: Location | None
    jobs: int | None
    executor: Executor | None
    tick: Callable[[float], object]
    backend: str = SIM

    def experiment(self, file: str, text: str) -> Experiment:
        """The experiment as this backend can run it. Raises ExperimentError where it cannot."""
        if self.backend != SIM:
            # The testbed's hosts are as they are.
            text = f'backend = "{self.backend}"\n' + re.sub(r"^\[\[host\]\]\n(?:\w+ = .*\n)+", "", text, flags=re.MULTILINE)
        return Experiment(text, name=file)


def _card(
    suite: Suite,
    name: str,
    beside: list[str],
    criteria: Sequence[str],
    make: Callable[[Experiment, bool], object],
    running: Running,
    *,
    raises: bool,
) -> Card:
    """Runs the experiments of the criteria. `raises` says that hooks may raise anything.

    `make` puts what is judged and the references into an experiment, or where told so what is judged and its variants.
    """
    chosen = _chosen(suite, criteria)
    experiments: dict[str, Experiment] = {}
    answers: dict[str, Answer] = {}
    for criterion in chosen:
        if criterion.experiment not in experiments:
            try:
                experiment = running.experiment(criterion.experiment, suite.file(criterion).read_text(encoding="utf-8"))
                if running.quick:
                    experiment.quicken()
                make(experiment, criterion.varies)
                experiments[criterion.experiment] = Experiment(experiment.changed_text, name=criterion.experiment)
            except ExperimentError as error:
                if running.backend == SIM:
                    raise
                answers[criterion.name] = Answer(criterion, unshown=str(error).partition("\n")[0])
    costs = {file: max(1.0, experiment.plans.whole().items.cost) for file, experiment in experiments.items()}
    watch: Watch | None = None
    done, tradeoffs = 0.0, list[Tradeoff]()
    for file, experiment in experiments.items():
        base = done

        def inner(work: Work, base: float = base) -> None:
            if watch is not None:
                watch.tell(work.current_cost)
            running.tick((base + work.current_cost) / sum(costs.values()))

        of_file = [criterion for criterion in chosen if criterion.experiment == file]
        place = suite.folder if running.backend == SIM else f"{suite.folder}-{running.backend}"
        kept = running.folder / place / file if running.folder is not None else None
        try:
            with watched(name) if raises else nullcontext() as watch:
                results = experiment.sweep(kept, jobs=running.jobs, executor=running.executor, tick=inner)
        except (Exception, SystemExit, Stuck) as error:
            # What a hook raises comes through as it is. LongfatError is also what its window and its rate raise.
            if not raises or isinstance(error, StorageError):
                raise
            answers |= {one.name: Answer(one, broken=one_line(error)) for one in of_file}
        else:
            answers |= {one.name: answer_of(suite, one, name, experiment, results) for one in of_file}
            if suite is QUEUES and not of_file[0].varies:
                tradeoffs += of_sweep(file, suite.what, results)
        done += costs[file]
        running.tick(done / sum(costs.values()))
    return Card(suite, name, beside, running.quick, [answers[one.name] for one in chosen], tradeoffs=tradeoffs)


def beside_of(name: str, against: Sequence[str]) -> list[str]:
    """The references other than what is judged. Raises LongfatError where none is left."""
    beside = [one for one in dict.fromkeys(against) if one != name]
    if not beside:
        raise LongfatError(f"against {','.join(against)}: expected something other than {name} itself")
    return beside


def _chosen(suite: Suite, names: Sequence[str]) -> list[Criterion]:
    known = {criterion.name: criterion for criterion in suite.criteria}
    if wrong := [name for name in names if name not in known]:
        raise LongfatError(f"there is no criterion {wrong[0]!r}: choose among {', '.join(known)}")
    return [known[name] for name in names] if names else list(suite.criteria)


KINDS = {
    "control": ("congestion_controls", "congestion control"),
    "queue": ("queues", "queue"),
    "startup": ("slow_starts", "slow start"),
}
"""Registry of each kind of thing, and what one of it is called."""


def _known(what: str) -> list[str]:
    names = [entry["name"] for entry in registries()[KINDS[what][0]]]
    return [*names, FAST_OPEN] if what == "startup" else names


def is_ours(control: str) -> bool:
    """True for a control of longfat, whose hooks raise nothing; False for one in Python."""
    return control in _known("control")


def _check(what: str, name: str, use: Callable[[], object] | None = None) -> None:
    """Raises LongfatError where longfat does not know `name`: a control in Python is in no registry, so `use` tries it."""
    if name in _known(what):
        return
    try:
        if use:
            use()
            return
    except ExperimentError:
        pass
    near = difflib.get_close_matches(name, _known(what), n=1)
    more = ", or a file that ends in .py" if what == "control" else ""
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(_known(what))}{more}"
    raise LongfatError(f"there is no {KINDS[what][1]} {name!r}: {hint}")


def put_controls(name: str, against: Sequence[str], experiment: Experiment, _: bool = False) -> None:
    """Puts the controls in place of those that the file has."""
    flows = tomllib.loads(experiment.changed_text)["flow"]
    groups = [str(flow.get("name", "")) for flow in flows]
    peers = [number for number, group in enumerate(groups) if group == PEER]
    subjects = [number for number, group in enumerate(groups) if group.startswith(SUBJECT)]
    controls = {one: one for one in (name, *against)} | ({ALONE: "reno"} if peers else {})
    changes: dict[str, dict[str, Any]] = {f"flow[{number}].congestion_control": dict(controls) for number in subjects}
    for number in subjects if peers else []:
        count = flows[number].get("count", 1)
        changes[f"flow[{number}].count"] = {one: 0 if one == ALONE else count for one in controls}
    experiment.vary(changes | _routers(experiment, list(controls)), name="control")
    for number in peers:
        experiment.vary(f"flow[{number}].congestion_control", list(against), name="peer")


def router_of(control: str) -> str:
    """Name of the queue that the bottlenecks of this control need; empty where any does, and for a control in Python."""
    return next((entry.get("router", "") for entry in registries()["congestion_controls"] if entry["name"] == control), "")


def _routers(experiment: Experiment, controls: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Changes by which each control has the queue that it needs, where the file has drop-tail. Empty where none needs any."""
    queues = {one: router_of(one) or PLACE for one in controls}
    queue = tomllib.loads(experiment.changed_text)["path"]["bottleneck"].get("queue", PLACE)
    if set(queues.values()) == {PLACE} or PLACE not in (queue, queue.get("kind") if isinstance(queue, dict) else ""):
        return {}
    return {"path.bottleneck.queue" + (".kind" if isinstance(queue, dict) else ""): queues}


def startups_of(startup: str, against: Sequence[str]) -> list[str]:
    """The slow start that is judged, and the references. Raises LongfatError for a name that there is not."""
    for one in (startup, *against):
        _check("startup", one)
    return [startup, *beside_of(startup, against)]


def put_startups(names: Sequence[str], experiment: Experiment, _: bool = False) -> None:
    """Puts the slow starts in place of those that the file has."""
    flows = tomllib.loads(experiment.changed_text)["flow"]
    for number, flow in enumerate(flows):
        if str(flow.get("name", "")).startswith(SUBJECT):
            keys = ("slow_start", "fast_open") if FAST_OPEN in names else ("slow_start",)
            experiment.vary({f"flow[{number}].{key}": {name: keys_of(name)[key] for name in names} for key in keys}, name="startup")


PLACE = "droptail"
"""Queue in an experiment's file that stands for the queue that is judged."""


def queues_of(queue: str, settings: Mapping[str, str], against: Sequence[str]) -> dict[str, Any]:
    """The queue that is judged, and the references, by name. Raises LongfatError for a name or a parameter that there is not."""
    for one in (queue, *against):
        _check("queue", one)
    name = " ".join([queue, *(f"{key}={value}" for key, value in settings.items())])
    values = {name: _kind(queue, settings)} | {one: _kind(one) for one in beside_of(name, against)}
    put_queues(values, Experiment(QUEUES.file(QUEUES.criteria[0]).read_text(encoding="utf-8")))
    return values


def put_queues(values: Mapping[str, Any], experiment: Experiment) -> None:
    """Puts the queues in place of each `queue = "droptail"` of the file. Where its flows ask for marks, each queue marks if it can."""
    file = tomllib.loads(experiment.changed_text)
    path = file["path"]
    if any("ecn" in flow for flow in file["flow"]):
        values = {name: MARKS | queue if queue["kind"] in _marking() else queue for name, queue in values.items()}
    links = [f"path.link[{number}]" for number, link in enumerate(path.get("link", [])) if link.get("queue") == PLACE]
    experiment.vary({f"{link}.queue": values for link in links or ["path.bottleneck"]}, name="queue")


MARKS = {"ecn": True}
"""Parameter by which queues mark in place of dropping."""


def _marking() -> set[str]:
    """Kinds of queues that mark only if they are told to."""
    return {entry["name"] for entry in registries()["queues"] if MARKS.keys() & {param["name"] for param in entry["params"]}}


def _kind(queue: str, settings: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    return {"kind": queue} | {key: _value(value) for key, value in settings.items()}


def _value(text: str) -> Any:
    """A value as TOML, or a bare word or quantity."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def answer_of(suite: Suite, criterion: Criterion, name: str, experiment: Experiment, results: Results) -> Answer:
    """The answer to a criterion from the results of its experiment."""
    if criterion.varies:
        return _of_variants(suite, criterion, name, experiment, results)
    axes = [axis for axis in experiment.axes if axis != suite.what]
    runs = results.runs
    bad = list(runs["run"][runs["verdict"] == "invalid"]) if "verdict" in runs else []
    results, invalid = results.without(bad), len(bad)
    by_path: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for labels, value in _values(suite, criterion, results):
        by_path.setdefault(tuple(labels[axis] for axis in axes), {}).setdefault(labels[suite.what], []).append(value)
    paths: list[OnPath] = []
    for key, values in by_path.items():
        if name not in values:
            continue
        own = estimate(values[name])
        others = {one: estimate(some) for one, some in values.items() if one not in (name, ALONE)}
        paths.append(OnPath(dict(zip(axes, key, strict=True)), own, others, *criterion.rule.judge(own, others)))
    if not paths and invalid:
        return Answer(criterion, unshown="the testbed calls all of its runs invalid: the machine had other work", invalid=invalid)
    answer = Answer(criterion, paths)
    worst = answer.worst
    text = alone(experiment, {suite.what: name} | worst.labels) if worst else ""
    return Answer(criterion, paths, experiment=text, invalid=invalid)


def _of_variants(suite: Suite, criterion: Criterion, name: str, experiment: Experiment, results: Results) -> Answer:
    """Answer of a criterion whose paths are what is judged with other parameters, each beside its own parameters."""
    by_variant: dict[str, list[float]] = {}
    for labels, value in _values(suite, criterion, results):
        by_variant.setdefault(labels[suite.what], []).append(value)
    usual = {name: estimate(by_variant.pop(name))}
    # Without a parameter there is nothing to be sensitive to.
    paths = [] if by_variant else [OnPath({"parameter": "none"}, usual[name], usual, PASSES, 0.0)]
    for label, values in by_variant.items():
        own = estimate(values)
        paths.append(OnPath({"parameter": label}, own, usual, *criterion.rule.judge(own, usual)))
    answer = Answer(criterion, paths)
    text = alone(experiment, {suite.what: answer.worst.labels["parameter"]}) if answer.worst and by_variant else ""
    return Answer(criterion, paths, experiment=text)


def _values(suite: Suite, criterion: Criterion, results: Results) -> Iterator[tuple[dict[str, str], float]]:
    """Labels and number of each run."""
    keys = [*results.axes, "repeat"]
    if criterion.harms:
        for row in by_repeat(results, PEER, criterion.harms, suite.what, ALONE).to_dict("records"):
            yield {axis: str(row[axis]) for axis in results.axes}, float(row["harm"])
        return
    assert criterion.measure is not None, f"{criterion.name} has a measure or is harm"
    rows = {
        tuple(row[name] for name in keys): (number, cast("dict[str, Any]", row))
        for number, row in enumerate(results.runs.to_dict("records"))
    }
    links = results.links.groupby(keys, sort=False)
    for key, flows in results.flows.groupby(keys, sort=False):
        labels = {axis: str(label) for axis, label in zip(results.axes, cast("tuple[object, ...]", key), strict=False)}
        if labels[suite.what] != ALONE:
            number, row = rows[cast("tuple[object, ...]", key)]
            yield labels, criterion.measure(Seen(row, flows, links.get_group(key), partial(results.__getitem__, number)))
