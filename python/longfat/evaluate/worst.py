"""Search for the worst path: rate, round trip, buffer, loss and neighbours on which a control answers a criterion worst.

Arun, Alizadeh and Balakrishnan (Starvation in End-to-End Congestion Control, SIGCOMM 2022) found by proof that published controls starve
flows on some path; here a search looks for such paths. The optimizer is differential evolution (Storn and Price 1997, of SciPy): each
generation is one sweep, and its runs are ordinary runs.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.evaluate.alone import alone
from longfat.evaluate.card import OnPath, answer_of, beside_of, is_ours, put_controls
from longfat.evaluate.controls import CONTROLS
from longfat.evaluate.criteria import Criterion
from longfat.evaluate.measures import PACKET_BYTES
from longfat.evaluate.probe import fault, one_line
from longfat.experiment import Experiment
from longfat.extras import need
from longfat.lazy import np
from longfat.store import Location

PEERS = "peers"


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
        "buffer": Range("0.1", "8", "", lambda value: f"{value:.3g} bdp"),
        "loss": Range("0.000001", "0.01", "", _share),
        PEERS: Range("1", "8", "", lambda value: str(round(value)), whole=True),
    }
)
"""Ranges, unless other ends are given: buffers in bandwidth-delay products of drop-tail, losses as a share of the packets."""
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

    control: str
    """Name of the congestion control."""
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
    need("fit", "the search for the worst path")
    name = control if isinstance(control, str) else str(getattr(control, "congestion_control", control.__name__))
    search = _Search(name, beside_of(name, against), _criterion(criterion), quick, folder, jobs, executor)
    if wrong := fault(name):
        raise LongfatError(wrong)
    box = {key: _ends(key, RANGES[key], given) for key, given in _checked(ranges, search).items()}
    try:
        return search.run(box, max(1, paths // POPULATION), tick)
    except LongfatError:
        raise
    except (Exception, SystemExit) as error:
        if is_ours(name):
            raise
        raise LongfatError(f"{name} raised {one_line(error)} on a path of the search") from error


class _Search:
    def __init__(
        self,
        name: str,
        beside: list[str],
        criterion: Criterion,
        quick: bool,
        folder: Location | None,
        jobs: int | None,
        executor: Executor | None,
    ) -> None:
        self.name, self.beside, self.criterion = name, beside, criterion
        self.quick, self.folder, self.jobs, self.executor = quick, folder, jobs, executor
        self.text = CONTROLS.file(criterion).read_text(encoding="utf-8")
        self.peers = [number for number, flow in enumerate(tomllib.loads(self.text)["flow"]) if flow.get("name") == "peer"]
        self.tried: list[tuple[OnPath, dict[str, str]]] = []

    def run(self, box: Mapping[str, tuple[float, float]], generations: int, tick: Callable[[float], object]) -> Worst:
        from scipy.optimize import differential_evolution  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
        from scipy.stats import qmc  # pyright: ignore[reportMissingTypeStubs]

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
        labels = {CONTROLS.what: self.name} | confirmed[0].labels
        return Worst(self.name, self.criterion, [path for path, _ in self.tried], confirmed[0], alone(experiment, labels))

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
        if self.quick:
            experiment.quicken()
        if repeats:
            experiment["repeats"] = repeats
            experiment["seed"] = OTHER_SEED
        columns = {key: [values[key] for values in some] for key in some[0]}
        labels = [_label(number, values) for number, values in enumerate(some)]
        # The queue first: a limit of the file in bandwidth-delay products may hold no packet at another rate.
        changes: dict[str, list[Any]] = {
            "path.bottleneck.queue": [{"kind": "droptail", "limit": _limit(values)} for values in some],
            "path.rtt": columns["rtt"],
            "path.bottleneck.rate": columns["rate"],
            "path.bottleneck.loss": [{"kind": "bernoulli", "probability": float(loss)} for loss in columns["loss"]],
        }
        changes |= {f"flow[{number}].count": [int(count) for count in columns[PEERS]] for number in self.peers}
        experiment["path.bottleneck.reverse.loss"] = "none"
        experiment.vary({path: dict(zip(labels, values, strict=True)) for path, values in changes.items()}, name=PATH)
        put_controls(self.name, self.beside, experiment)
        experiment = Experiment(experiment.changed_text, name=self.criterion.experiment)
        kept = self.folder / "worst" / self.name / self.criterion.name / folder if self.folder is not None else None
        results = experiment.sweep(kept, jobs=self.jobs, executor=self.executor)
        answer = answer_of(CONTROLS, self.criterion, self.name, experiment, results)
        return experiment, sorted(answer.paths, key=lambda path: -path.badness)


def _limit(values: Mapping[str, str]) -> str:
    """Limit of the queue in full packets: as many as the buffer has room for, and two at least."""
    rate, rtt, buffer = ((quantity(values[key]) or (0.0, ""))[0] for key in ("rate", "rtt", "buffer"))
    return f"{max(2, round(buffer * rate * rtt / 8 / PACKET_BYTES))} packets"


def _label(number: int, values: Mapping[str, str]) -> str:
    """Label of a path; numbered, since two may be the same to three digits."""
    said = dict(values)
    peers = said.pop(PEERS, None)
    loss = f"loss {float(said.pop('loss')):.2g}"
    words = [*said.values(), loss, *([f"{peers} peers"] if peers else [])]
    return f"{number + 1}: {', '.join(words)}"


def _criterion(name: str) -> Criterion:
    found = {criterion.name: criterion for criterion in CONTROLS.criteria if _searchable(criterion)}
    if name not in found:
        raise LongfatError(f"no path can be searched for criterion {name!r}: choose among {', '.join(found)}")
    return found[name]


def _searchable(criterion: Criterion) -> bool:
    """True where the criterion's path is a plain dumbbell, whose rate and round trip can be another."""
    path = tomllib.loads(CONTROLS.file(criterion).read_text(encoding="utf-8"))["path"]
    bottleneck = path["bottleneck"]
    fixed = {"rate_trace", "delay_trace", "down", "reorder", "jitter"} & set(bottleneck)
    queue = bottleneck.get("queue", {"kind": "droptail"})
    in_round_trips = criterion.unit in ("RTT", "packets per RTT")
    return isinstance(path.get("rtt"), str) and not fixed and queue.get("kind") == "droptail" and not in_round_trips


def _checked(ranges: Mapping[str, tuple[str, str]], search: _Search) -> dict[str, tuple[str, str]]:
    known = {key: (one.low, one.high) for key, one in RANGES.items() if key != PEERS or search.peers}
    if wrong := [key for key in ranges if key not in known]:
        raise LongfatError(f"there is no range {wrong[0]!r}: choose among {', '.join(known)}")
    return known | dict(ranges)


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
