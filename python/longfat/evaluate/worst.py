"""Search for the worst path: rate, round trip, buffer, loss and neighbours on which a criterion is answered worst.

Arun, Alizadeh and Balakrishnan (Starvation in End-to-End Congestion Control, SIGCOMM 2022) found by proof that published controls starve
flows on some path; here a search looks for such paths. The optimizer is differential evolution (Storn and Price 1997, of SciPy): each
generation is one sweep, and its runs are ordinary runs.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.evaluate.alone import alone
from longfat.evaluate.card import (
    OnPath,
    Running,
    answer_of,
    beside_of,
    is_ours,
    put_controls,
    put_queues,
    put_startups,
    queues_of,
    startups_of,
)
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import PACKET_BYTES
from longfat.evaluate.probe import fault, one_line
from longfat.evaluate.queues import QUEUES
from longfat.evaluate.startups import STARTUPS
from longfat.experiment import Experiment
from longfat.extras import need
from longfat.lazy import np
from longfat.store import Location

PEERS, BUFFER = "peers", "buffer"


@dataclass(frozen=True)
class Range:
    """One dimension of the search, even in the logarithm."""

    low: str
    high: str
    unit: str
    """Unit of both ends, as `quantity` says it; empty for a plain number."""
    said: Callable[[float], str]
    """The value as an experiment's file has it."""
    whole: bool = False


def _share(value: float) -> str:
    return f"{value:.3g}"


RANGES: Mapping[str, Range] = MappingProxyType(
    {
        "rate": Range("1 Mbit/s", "100 Mbit/s", "bps", lambda value: f"{value * 1e-6:.4g} Mbit/s"),
        "rtt": Range("5 ms", "300 ms", "s", lambda value: f"{value * 1e3:.4g} ms"),
        BUFFER: Range("0.1", "8", "", lambda value: f"{value:.3g} bdp"),
        "loss": Range("0.000001", "0.01", "", _share),
        PEERS: Range("1", "8", "", lambda value: str(round(value)), whole=True),
    }
)
"""Ranges, unless other ends are given: buffers in bandwidth-delay products of drop-tail, losses as a share of the packets."""
QUEUE_RANGES: Mapping[str, Range] = MappingProxyType(
    {
        "rate": replace(RANGES["rate"], low="2 Mbit/s"),
        "rtt": replace(RANGES["rtt"], low="20 ms"),
        "loss": RANGES["loss"],
    }
)
"""Ranges of a queue, whose limit is its own: paths that hold three packets at least, since its default limit is one path."""
ABOUT_A_RATE = ("long-fat",)
"""Criteria of which no other rate can be asked: 1 GB at 1 Mbit/s would never be done."""
POPULATION = 16
"""Paths of a generation."""
CONFIRMED = 10
"""Repeats of the worst path, with a seed that the search did not see: the worst of many estimates is worse than it is."""
OTHER_SEED = 1_000_003
PATH = "path"
"""Name of the axis of a generation."""


@dataclass(frozen=True)
class Worst:
    """The worst path that a search found."""

    suite: Suite
    """Suite of the criterion."""
    name: str
    """Name of the congestion control, the queue or the slow start."""
    criterion: Criterion
    """The criterion that is answered worst there."""
    tried: list[OnPath]
    """Every path that was tried, the worst first."""
    confirmed: OnPath
    """The worst of them, from ten repeats with seeds that the search did not see."""
    experiment: str
    """Experiment of that path, as TOML: `longfat run` runs it alone."""


def worst_path(
    control: str | type,
    criterion: str = "harm-one",
    *,
    ranges: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    paths: int = 64,
    against: Sequence[str] = CONTROLS.against,
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Worst:
    """Searches for the path on which a congestion control answers a criterion worst, beside the standard controls on the same path.

    `ranges` has the ends of `rate`, `rtt`, `buffer` (in bandwidth-delay products), `loss` (a share) and `peers` (flows beside it, where the
    criterion has such): `{"rate": ("10 Mbit/s", "1 Gbit/s")}`; others keep theirs. `paths` are tried, in generations of 16. Paths are
    compared by how far the control is behind the standard ones of `against`, or over the criterion's bound. With `folder`, runs are kept
    there, a folder per generation. Raises LongfatError for a name or a range that cannot be, for a control that does not send, and
    without SciPy (`pip install "longfat[fit]"`).
    """
    name = control if isinstance(control, str) else str(getattr(control, "congestion_control", control.__name__))
    running = Running(quick, folder, jobs, executor, tick)
    search = _Search(CONTROLS, name, criterion, partial(put_controls, name, beside_of(name, against)), running)
    box = search.box(ranges)
    if wrong := fault(name):
        raise LongfatError(wrong)
    try:
        return search.run(box, paths)
    except LongfatError:
        raise
    except (Exception, SystemExit) as error:
        if is_ours(name):
            raise
        raise LongfatError(f"{name} raised {one_line(error)} on a path of the search") from error


def worst_path_of_queue(
    queue: str,
    criterion: str = "use",
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    ranges: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    paths: int = 64,
    against: Sequence[str] = QUEUES.against,
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Worst:
    """Searches for the path on which a queue answers a criterion worst, as `worst_path` does for a control.

    `settings` are those of `evaluate_queue`; `ranges` has the ends of `rate`, `rtt` and `loss`. The limit of the queue is its own.
    """
    values = queues_of(queue, settings, against)
    running = Running(quick, folder, jobs, executor, tick)
    search = _Search(QUEUES, next(iter(values)), criterion, partial(put_queues, values), running)
    return search.run(search.box(ranges), paths)


def worst_path_of_startup(
    startup: str,
    criterion: str = "completion",
    *,
    ranges: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    paths: int = 64,
    against: Sequence[str] = STARTUPS.against,
    quick: bool = False,
    folder: Location | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Worst:
    """Searches for the path on which a slow start answers a criterion worst, as `worst_path` does for a control.

    `ranges` has the ends of `rate`, `rtt`, `buffer` and `loss`. `saved_cwnd` is the path's bandwidth-delay product in segments.
    """
    every = startups_of(startup, against)
    running = Running(quick, folder, jobs, executor, tick)
    search = _Search(STARTUPS, startup, criterion, partial(put_startups, every), running)
    return search.run(search.box(ranges), paths)


class _Search:
    """A search: `put` puts what is judged and its references into an experiment."""

    def __init__(self, suite: Suite, name: str, criterion: str, put: Callable[[Experiment], object], running: Running) -> None:
        need("fit", "the search for the worst path")
        self.suite, self.name, self.put, self.running = suite, name, put, running
        self.criterion = _criterion(suite, criterion)
        self.text = suite.file(self.criterion).read_text(encoding="utf-8")
        flows = tomllib.loads(self.text)["flow"]
        self.peers = [number for number, flow in enumerate(flows) if flow.get("name") == "peer"]
        self.saved = [number for number, flow in enumerate(flows) if "saved_cwnd" in flow]
        self.tried: list[tuple[OnPath, dict[str, str]]] = []

    def box(self, given: Mapping[str, tuple[str, str]]) -> dict[str, tuple[float, float]]:
        """Ends of each dimension. Raises LongfatError for a range that there is not, or that cannot be."""
        every = QUEUE_RANGES if self.suite is QUEUES else RANGES
        known = {key: one for key, one in every.items() if key != PEERS or self.peers}
        if wrong := [key for key in given if key not in known]:
            raise LongfatError(f"there is no range {wrong[0]!r}: choose among {', '.join(known)}")
        return {key: _ends(key, one, given.get(key, (one.low, one.high))) for key, one in known.items()}

    def run(self, box: Mapping[str, tuple[float, float]], paths: int) -> Worst:
        from scipy.optimize import differential_evolution  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
        from scipy.stats import qmc  # pyright: ignore[reportMissingTypeStubs]

        generations, tick = max(1, paths // POPULATION), self.running.tick
        keys, low, high = list(box), *(np.array([math.log(ends[side]) for ends in box.values()]) for side in (0, 1))
        done = 0

        def judge(columns: Any) -> Any:
            nonlocal done
            some = [{key: RANGES[key].said(math.exp(value)) for key, value in zip(keys, row, strict=True)} for row in columns.T]
            bad = self.generation(some, f"generation-{done + 1}")
            done += 1
            tick(done / (generations + 1))
            return -np.array(bad)

        start: Any = low + (high - low) * qmc.Sobol(len(keys), rng=1).random(POPULATION)
        if generations == 1:
            judge(start.T)
        else:
            differential_evolution(
                judge,
                list(zip(low, high, strict=True)),
                maxiter=generations - 1,
                init=start,
                tol=0.0,
                polish=False,
                vectorized=True,
                updating="deferred",
                rng=1,
            )
        self.tried.sort(key=lambda one: -one[0].badness)
        worst = self.tried[0][1]
        experiment, confirmed = self.judged([worst], "confirmed", CONFIRMED)
        tick(1.0)
        labels = {self.suite.what: self.name} | confirmed[0].labels
        tried = [path for path, _ in self.tried]
        return Worst(self.suite, self.name, self.criterion, tried, confirmed[0], alone(experiment, labels))

    def generation(self, some: list[dict[str, str]], folder: str) -> list[float]:
        """How bad each of these paths is: the worst over what else the criterion varies."""
        _, paths = self.judged(some, folder)
        by_label: dict[str, OnPath] = {}
        for one in paths:
            label = one.labels[PATH]
            if label not in by_label or one.badness > by_label[label].badness:
                by_label[label] = one
        found = [by_label[_label(number, values)] for number, values in enumerate(some)]
        self.tried += zip(found, some, strict=True)
        # What gave no number is not what is searched for.
        return [one.badness if math.isfinite(one.badness) else -1e9 for one in found]

    def judged(self, some: list[dict[str, str]], folder: str, repeats: int = 0) -> tuple[Experiment, list[OnPath]]:
        """Runs the criterion on these paths: the experiment, and each path with its references, the worst first."""
        experiment = Experiment(self.text, name=self.criterion.experiment)
        if self.running.quick:
            experiment.quicken()
        if repeats:
            experiment["repeats"] = repeats
            experiment["seed"] = OTHER_SEED
        columns = {key: [values[key] for values in some] for key in some[0]}
        labels = [_label(number, values) for number, values in enumerate(some)]
        # The queue first: a limit of the file in bandwidth-delay products may hold no packet at another rate.
        changes: dict[str, list[Any]] = {}
        if BUFFER in columns:
            changes["path.bottleneck.queue"] = [{"kind": "droptail", "limit": f"{_packets(values)} packets"} for values in some]
        changes |= {
            "path.rtt": columns["rtt"],
            "path.bottleneck.rate": columns["rate"],
            "path.bottleneck.loss": [{"kind": "bernoulli", "probability": float(loss)} for loss in columns["loss"]],
        }
        changes |= {f"flow[{number}].count": [int(count) for count in columns[PEERS]] for number in self.peers}
        one_path = [f"{_packets(values, 1.0)} segments" for values in some]
        changes |= {f"flow[{number}].saved_cwnd": one_path for number in self.saved}
        experiment["path.bottleneck.reverse.loss"] = "none"
        for path, values in changes.items() if PATH in experiment.axes else ():
            # Paths of the file make way, one key after the other.
            experiment[path] = values[0]
        experiment.vary({path: dict(zip(labels, values, strict=True)) for path, values in changes.items()}, name=PATH)
        self.put(experiment)
        experiment = Experiment(experiment.changed_text, name=self.criterion.experiment)
        results = experiment.sweep(self.kept(folder), jobs=self.running.jobs, executor=self.running.executor)
        answer = answer_of(self.suite, self.criterion, self.name, experiment, results)
        return experiment, sorted(answer.paths, key=lambda path: -path.badness)

    def kept(self, folder: str) -> Location | None:
        """Folder of a generation."""
        home = self.running.folder
        return home / "worst" / self.suite.what / self.name / self.criterion.name / folder if home is not None else None


def _packets(values: Mapping[str, str], paths: float | None = None) -> int:
    """Full packets in the buffer, or in so many paths: two at least."""
    rate, rtt = ((quantity(values[key]) or (0.0, ""))[0] for key in ("rate", "rtt"))
    many = (quantity(values[BUFFER]) or (0.0, ""))[0] if paths is None else paths
    return max(2, round(many * rate * rtt / 8 / PACKET_BYTES))


def _label(number: int, values: Mapping[str, str]) -> str:
    """Label of a path; numbered, since two may be the same to three digits."""
    said = dict(values)
    peers = said.pop(PEERS, None)
    loss = f"loss {float(said.pop('loss')):.2g}"
    words = [*said.values(), loss, *([f"{peers} peers"] if peers else [])]
    return f"{number + 1}: {', '.join(words)}"


def _criterion(suite: Suite, name: str) -> Criterion:
    found = {criterion.name: criterion for criterion in suite.criteria if searchable(suite, criterion)}
    if name not in found:
        raise LongfatError(f"no path can be searched for criterion {name!r}: choose among {', '.join(found)}")
    return found[name]


def searchable(suite: Suite, criterion: Criterion) -> bool:
    """True where the criterion's path is a plain dumbbell, whose rate and round trip can be another."""
    path = tomllib.loads(suite.file(criterion).read_text(encoding="utf-8"))["path"]
    bottleneck = path.get("bottleneck", {})
    fixed = {"rate_trace", "delay_trace", "down", "reorder", "jitter"} & set(bottleneck)
    queue = bottleneck.get("queue", {"kind": "droptail"})
    kind = queue if isinstance(queue, str) else queue.get("kind")
    asked = criterion.unit in ("RTT", "packets per RTT") or criterion.varies or criterion.name in ABOUT_A_RATE
    # A list of round trips is what a criterion asks about; a sweep of whole paths is replaced by those of the search.
    plain = isinstance(path.get("rtt"), str) or (suite is not CONTROLS and isinstance(path.get("rtt"), dict))
    return plain and bool(bottleneck) and not fixed and kind == "droptail" and not asked


def _ends(key: str, one: Range, given: tuple[str, str]) -> tuple[float, float]:
    values: list[float] = []
    for text in given:
        found = quantity(str(text))
        if found is None or found[1] != (one.unit or "number") or not found[0] > 0:
            raise LongfatError(f"range {key}: {text!r} is not such as {one.low!r}")
        values.append(found[0])
    if not values[0] < values[1]:
        raise LongfatError(f"range {key}: {given[0]} is not below {given[1]}")
    return values[0], values[1]
