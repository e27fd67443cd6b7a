"""`longfat.evaluate_control`: runs every criterion, and gives a verdict on each."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, cast

from longfat._longfat import registries
from longfat.errors import ExperimentError, LongfatError
from longfat.evaluate.criteria import ALONE, CRITERIA, Criterion
from longfat.evaluate.measures import Seen
from longfat.evaluate.probe import fault, probe_of
from longfat.evaluate.rules import FAILS, WORDS, Estimate, estimate
from longfat.experiment import Experiment, toml_value
from longfat.results.harm import by_repeat
from longfat.results.results import Results
from longfat.store import Location

AGAINST = ("reno", "cubic", "bbr3")
"""Controls of reference: two standards, and the successor of one that is widely deployed."""
SUBJECT, PEER = "subject", "peer"
"""Beginnings of the names of groups of flows: of the control that is judged, and of those of reference."""


@dataclass(frozen=True)
class OnPath:
    """A control on one path of a criterion."""

    labels: dict[str, str]
    """Value of each axis, without `control`."""
    own: Estimate
    others: dict[str, Estimate]
    """The controls of reference on the same path."""
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

    @property
    def worst(self) -> OnPath | None:
        """Path with the worst verdict, and there where it is worst; None where the control did not run."""
        return max(self.paths, key=lambda path: (WORDS.index(path.verdict), path.badness), default=None)

    @property
    def verdict(self) -> str:
        """`passes`, `judge yourself` or `fails`."""
        return FAILS if self.broken or self.worst is None else self.worst.verdict


@dataclass(frozen=True)
class Card:
    """Report card of a congestion control."""

    name: str
    against: list[str]
    """Controls of reference."""
    quick: bool
    answers: list[Answer]
    fault: str = ""
    """Sentence that says why nothing was run; empty where it was."""

    def __getitem__(self, name: str) -> Answer:
        """The answer to the criterion of this name. Raises KeyError."""
        return {answer.criterion.name: answer for answer in self.answers}[name]

    @property
    def failed(self) -> list[str]:
        """Names of the criteria that it fails."""
        return [answer.criterion.name for answer in self.answers if answer.verdict == FAILS]


def evaluate_control(
    control: str | type,
    *,
    against: Sequence[str] = AGAINST,
    criteria: Sequence[str] = (),
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Card:
    """Judges a congestion control, a class or a name, by the criteria of RFC 9743, each of them a sweep of its own.

    `against` are the controls it is compared with on the same paths, and to which harm is counted. `criteria` names some of all. `quick`
    takes shorter runs and three repeats. With `folder`, runs are kept there, a folder for each experiment, and not run twice. `tick` is
    called ten times a second with the share of all runs that is done. A control that raises, never sends or needs seconds for a call gets
    a card that says so. Raises LongfatError for a name that there is not, and where results cannot be kept.
    """
    name = control if isinstance(control, str) else str(getattr(control, "congestion_control", control.__name__))
    chosen = _chosen(criteria)
    for one in (name, *against):
        _check_control(one)
    beside = [one for one in dict.fromkeys(against) if one != name]
    if not beside:
        raise LongfatError(f"--against {','.join(against)}: expected a control other than {name} itself")
    if wrong := fault(name):
        return Card(name, beside, quick, [], wrong)
    files = list(dict.fromkeys(criterion.experiment for criterion in chosen))
    experiments = {file: _experiment(next(one for one in chosen if one.experiment == file), name, beside, quick) for file in files}
    costs = {file: max(1.0, experiment.plans.whole().items.cost) for file, experiment in experiments.items()}
    done, answers = 0.0, dict[str, Answer]()
    for file, experiment in experiments.items():
        base = done

        def inner(work: Any, base: float = base) -> None:
            tick((base + work.current_cost) / sum(costs.values()))

        of_file = [criterion for criterion in chosen if criterion.experiment == file]
        kept = folder / file if folder is not None else None
        try:
            results = experiment.sweep(kept, jobs=jobs, executor=executor, tick=inner)
        except Exception as error:
            # What a control in Python raises comes through as it is. LongfatError is also what its window and its rate raise.
            if name in _builtin():
                raise
            said = f"{type(error).__name__}: {error}" if not isinstance(error, LongfatError) else str(error)
            answers |= {one.name: Answer(one, broken=said) for one in of_file}
        else:
            answers |= {one.name: _answer(one, name, experiment, results) for one in of_file}
        done += costs[file]
        tick(done / sum(costs.values()))
    return Card(name, beside, quick, [answers[one.name] for one in chosen])


def _chosen(names: Sequence[str]) -> list[Criterion]:
    known = {criterion.name: criterion for criterion in CRITERIA}
    if wrong := [name for name in names if name not in known]:
        raise LongfatError(f"there is no criterion {wrong[0]!r}: choose among {', '.join(known)}")
    return [known[name] for name in names] if names else list(CRITERIA)


def _builtin() -> list[str]:
    return [entry["name"] for entry in registries()["congestion_controls"]]


def _check_control(name: str) -> None:
    try:
        probe_of(name)
    except ExperimentError:
        near = difflib.get_close_matches(name, _builtin(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(_builtin())}, or a file that ends in .py"
        raise LongfatError(f"there is no congestion control {name!r}: {hint}") from None


def _experiment(criterion: Criterion, name: str, against: Sequence[str], quick: bool) -> Experiment:
    """The experiment of a criterion, with the controls in place of those that its file has."""
    experiment = Experiment(criterion.file.read_text(encoding="utf-8"), name=criterion.experiment)
    if quick:
        experiment.quicken()
    groups = [str(flow.get("name", "")) for flow in tomllib.loads(experiment.text)["flow"]]
    peers = [number for number, group in enumerate(groups) if group == PEER]
    subjects = [number for number, group in enumerate(groups) if group.startswith(SUBJECT)]
    controls = {one: one for one in (name, *against)} | ({ALONE: "reno"} if peers else {})
    changes: dict[str, dict[str, Any]] = {f"flow[{number}].congestion_control": dict(controls) for number in subjects}
    for number in subjects if peers else []:
        count = tomllib.loads(experiment.text)["flow"][number].get("count", 1)
        changes[f"flow[{number}].count"] = {one: 0 if one == ALONE else count for one in controls}
    experiment.vary(changes, name="control")
    for number in peers:
        experiment.vary(f"flow[{number}].congestion_control", list(against), name="peer")
    return Experiment(experiment.changed_text, name=criterion.experiment)


def _answer(criterion: Criterion, name: str, experiment: Experiment, results: Results) -> Answer:
    axes = [axis for axis in experiment.axes if axis != "control"]
    by_path: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for labels, value in _values(criterion, results):
        by_path.setdefault(tuple(labels[axis] for axis in axes), {}).setdefault(labels["control"], []).append(value)
    paths: list[OnPath] = []
    for key, values in by_path.items():
        own = estimate(values[name])
        others = {one: estimate(some) for one, some in values.items() if one not in (name, ALONE)}
        paths.append(OnPath(dict(zip(axes, key, strict=True)), own, others, *criterion.rule.judge(own, others)))
    answer = Answer(criterion, paths)
    worst = answer.worst
    text = alone(experiment, {"control": name} | worst.labels) if worst else ""
    return Answer(criterion, paths, experiment=text)


def _values(criterion: Criterion, results: Results) -> Iterator[tuple[dict[str, str], float]]:
    """Labels and number of each run."""
    if criterion.harms:
        for row in by_repeat(results, PEER, criterion.harms, "control", ALONE).to_dict("records"):
            yield {axis: str(row[axis]) for axis in results.axes}, float(row["harm"])
        return
    assert criterion.measure is not None, f"{criterion.name} has a measure or is harm"
    keys = [*results.axes, "repeat"]
    rows = {tuple(row[name] for name in keys): cast("dict[str, Any]", row) for row in results.runs.to_dict("records")}
    links = results.links.groupby(keys, sort=False)
    for key, flows in results.flows.groupby(keys, sort=False):
        labels = {axis: str(label) for axis, label in zip(results.axes, cast("tuple[object, ...]", key), strict=False)}
        if labels["control"] != ALONE:
            yield labels, criterion.measure(Seen(rows[cast("tuple[object, ...]", key)], flows, links.get_group(key)))


def alone(experiment: Experiment, labels: dict[str, str]) -> str:
    """The experiment as TOML with one value of each axis, those of these labels: one path, with its repeats."""
    one = Experiment(experiment.text, name=experiment.name)
    chosen = {axis: values.index(labels[axis]) for axis, values in experiment.axes.items()}
    for path, axis, values in _sweeps(tomllib.loads(experiment.text), ""):
        one.set(path, toml_value(_without_label(values[chosen[axis]]), path.rpartition(".")[2]))
    return one.changed_text


def _without_label(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    return table["value"] if "value" in table else {key: item for key, item in table.items() if key != "label"}


def _sweeps(value: Any, path: str) -> Iterator[tuple[str, str, list[Any]]]:
    """Path, axis and values of each sweep of a file."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        if "sweep" in table:
            yield path, str(table.get("name", path.rpartition(".")[2])), table["sweep"]
            return
        for key, item in table.items():
            if key != "quick":
                yield from _sweeps(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _sweeps(item, f"{path}[{number}]")
