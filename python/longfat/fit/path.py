"""`longfat.fit_path`: reads numbers and a file with unknowns, runs, and says what explains the numbers."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from longfat._longfat import read_text
from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.extras import need
from longfat.fit import judge
from longfat.fit.data import Data, Measurement, gathered
from longfat.fit.further import Further, further
from longfat.fit.general import general, placed
from longfat.fit.judge import HeldOut, Interval
from longfat.fit.losses import Losses, losses
from longfat.fit.readers import read
from longfat.fit.readers.names import Names
from longfat.fit.runs import Runs
from longfat.fit.search import WAVES, Searched, search
from longfat.fit.unknowns import models, split
from longfat.lazy import np, pd

if TYPE_CHECKING:
    from longfat.plot import Plot

KEYS = ("data", "metrics", "hold_out", "spread", "columns", "words", "rows", "next")
"""Keys of the table `[fit]`."""
HOLD_OUT = 0.25
"""Share of the settings that a fold holds out, unless the file says another."""


@dataclass(frozen=True)
class Fitted:
    """A model, fitted: its unknowns, and how well it predicts what it did not know."""

    searched: Searched
    intervals: list[Interval]
    held_out: list[HeldOut]
    score: float
    chance: float
    """Probability of a misfit this large, were the model true."""

    @property
    def name(self) -> str:
        """Labels of its choices."""
        return self.searched.runs.model.name

    @property
    def explains(self) -> bool:
        """False where the numbers refuse it."""
        return self.chance >= judge.REFUSED

    @property
    def place(self) -> list[float]:
        """The draw that explains the numbers best; from 0 to 1 per unknown."""
        if not self.searched.dimensions:
            return []
        scores = self.searched.emulators.log_likelihoods(self.searched.draws).sum(axis=1)
        return [float(value) for value in self.searched.draws[int(scores.argmax())]]

    def error(self, data: Data, what: str = "_bps") -> float:
        """Median relative error of held-out numbers whose names end with `what`."""
        return judge.error(data, [(one.number, one.predicted) for one in self.held_out], what)


@dataclass(frozen=True)
class Fit:
    """The path behind measured numbers."""

    data: Data
    """The measured numbers, and the files they are from."""
    models: list[Fitted]
    """Every model, the one that predicts best first."""
    next: list[Further]
    """Measurements that were not made, the one that would tell most first."""
    file: str
    """The file with unknowns, or `general model`."""
    notes: list[str] = field(default_factory=list[str])
    """Remarks on the data and the answer, as sentences."""
    losses: Losses | None = None
    """Random losses at the likeliest point; None where no rate of loss is unknown, or no model explains the numbers."""

    @property
    def best(self) -> Fitted:
        """The model that predicts best."""
        return self.models[0]

    @property
    def explains(self) -> bool:
        """False where no model explains the numbers."""
        return any(one.explains for one in self.models)

    @property
    def intervals(self) -> dict[str, Interval]:
        """Interval of each unknown of the best model, by name."""
        return {one.unknown.name: one for one in self.best.intervals}

    @property
    def decided(self) -> bool:
        """True if the best model predicts better than every other by two standard errors over settings, and by 3 nats."""
        best = self.best
        for one in self.models[1:]:
            if one.searched.is_hopeless:
                continue
            if not best.held_out:
                return False
            ahead, deviation = judge.lead(self.data, best.held_out, one.held_out)
            if ahead <= max(judge.AHEAD, 2 * deviation):
                return False
        return True

    @property
    def trades(self) -> list[tuple[str, str, float]]:
        """Pairs of unknowns of the best model that trade off, with their rank correlation."""
        return judge.trades(self.best.searched)

    @property
    def posterior(self) -> pd.DataFrame:
        """Draws from the posterior of the best model: one column per unknown, in its unit (bit/s, s, bytes or none)."""
        unknowns = self.best.searched.runs.model.unknowns
        points = self.best.searched.draws
        return pd.DataFrame({one.name: [one.value(place) for place in points[:, at]] for at, one in enumerate(unknowns)})

    @property
    def errors(self) -> dict[str, float]:
        """Median relative error of held-out goodputs: of the best model, and of the null models `mean` and `window`."""
        held = self.best.held_out
        return {
            "fit": self.best.error(self.data),
            "mean": judge.error(self.data, [(one.number, one.mean) for one in held]),
            "window": judge.error(self.data, [(one.number, one.window) for one in held]),
        }

    @property
    def place(self) -> list[float]:
        """The point of the best model that explains the numbers best, among the draws; from 0 to 1 per unknown."""
        return self.best.place

    @property
    def experiment(self) -> Experiment:
        """The experiment at that point: what `longfat run` and `longfat advise` take."""
        from longfat.fit.show import comments

        text = self.best.searched.runs.model.at(self.place).strip("\n")
        return Experiment(f"{comments(self)}{text}\n", name="fitted")

    def save(self, file: str | Path) -> None:
        """Writes the experiment. Raises LongfatError where it cannot be written."""
        try:
            Path(file).write_text(self.experiment.text, encoding="utf-8")
        except OSError as error:
            raise LongfatError(f"{file} cannot be written: {error.strerror}") from error

    def plot(self) -> Plot:
        """Predictions of the best model over what was measured, with their intervals."""
        from longfat.fit.page import measured

        return measured(self)

    def as_json(self) -> dict[str, Any]:
        """Returns the whole fit as a JSON object."""
        from longfat.fit.show import as_json

        return as_json(self)

    def __str__(self) -> str:
        from longfat.fit.show import text

        return text(self)


def fit_path(
    *files: str | Path,
    folder: str | Path | None = None,
    waves: int = WAVES,
    jobs: int | None = None,
    executor: Executor | None = None,
    tick: Callable[[float], object] = lambda _: None,
) -> Fit:
    """The path behind measured numbers.

    `files` are one experiment file with unknowns (`.toml`) and files of numbers, or files of numbers alone: then a general model of a path
    is fitted, to transfers of one flow (iperf3, flent, ss, captures). `[fit] data` of the file names more of them. `waves` is how often
    runs may be added where the numbers leave most open. Runs are kept in `folder`, and none is made twice. `executor` is as in
    `Experiment.sweep`. `tick` is told the share of the work that is done. Raises LongfatError.
    """
    need("fit", "a fit")
    if not 0 <= waves <= 50:
        raise LongfatError(f"waves {waves}: expected from 0 to 50")
    experiments = [Path(file) for file in files if Path(file).suffix == ".toml"]
    if len(experiments) > 1:
        raise LongfatError(f"{experiments[1]}: expected one experiment file, and {experiments[0]} is one already")
    numbers: list[Path] = [Path(file) for file in files if Path(file).suffix != ".toml"]
    table: dict[str, Any] = {}
    text, shown = "", "general model"
    if experiments:
        shown = str(experiments[0])
        text, table = _file(experiments[0])
        numbers = [*_data(table, experiments[0]), *numbers]
    if not numbers:
        raise LongfatError(f"{shown}: nothing to fit: name files of numbers, or write [fit] data")
    names = Names(*(_words(table, key, shown) for key in ("columns", "words", "rows")))
    measurements = read(numbers, names)
    if not experiments:
        measurements = placed(_of_transfers(measurements))
        text = general(measurements)
    data = gathered(measurements, _metrics(table, shown), _number(table, "spread", shown, 1e-4, 2.0))
    hold_out = _number(table, "hold_out", shown, 0.0, 0.9)
    found = models(text, shown)
    unknowns = max(len(model.unknowns) for model in found)
    notes = list(data.notes)
    if len(data.observed) < unknowns:
        notes.append(f"{len(data.observed)} numbers cannot decide {unknowns} unknowns: some stay open.")
    home = Path(folder) if folder else None
    every = [Runs(model, home / model.slug if home else None, shown, jobs, executor) for model in found]
    searched = search(every, data, waves, lambda share: tick(0.9 * share))
    fitted = [_fitted(one, HOLD_OUT if hold_out is None else hold_out) for one in searched]
    fitted.sort(key=lambda one: (one.searched.is_hopeless, -one.score))
    if not fitted[0].held_out:
        notes.append("Too few settings to hold any out: models are ranked by how well they explain what they know.")
    tick(0.95)
    best = fitted[0]
    more = further(best.searched, _next(table, shown)) if best.explains else []
    counted = losses(best.searched.runs, best.place, data.measurements) if best.explains else None
    tick(1.0)
    return Fit(data, fitted, more, shown, notes, counted)


def _fitted(one: Searched, hold_out: float) -> Fitted:
    held = judge.held_out(one, hold_out)
    return Fitted(one, judge.intervals(one), held, judge.score(one, held), judge.explains(one))


def _file(file: Path) -> tuple[str, dict[str, Any]]:
    """Text and table `[fit]` of a file with unknowns."""
    if not file.is_file():
        raise LongfatError(f"{file}: there is no such file")
    try:
        text, table = split(read_text(file), str(file))
    except OSError as error:
        raise LongfatError(f"cannot read {file}: {error}") from error
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            raise LongfatError(f"{file}: [fit] has no key {key!r}: {f'did you mean {near[0]}?' if near else 'expected ' + ', '.join(KEYS)}")
    return text, table


def _data(table: dict[str, Any], file: Path) -> list[Path]:
    """Files of numbers that the file names, from its own folder."""
    said = table.get("data", [])
    some = [said] if isinstance(said, str) else said
    if not isinstance(some, list) or not all(isinstance(one, str) for one in cast("list[object]", some)):
        raise LongfatError(f'{file}: [fit] data: expected a file or a list of them, such as data = ["iperf3-1.json"]')
    return [file.parent / one for one in cast("list[str]", some)]


def _metrics(table: dict[str, Any], shown: str) -> list[str] | None:
    said = table.get("metrics")
    if said is None:
        return None
    if not isinstance(said, list) or not all(isinstance(one, str) for one in cast("list[object]", said)):
        raise LongfatError(f'{shown}: [fit] metrics: expected a list of names, such as ["goodput_total_bps"]')
    return cast("list[str]", said)


def _number(table: dict[str, Any], key: str, shown: str, low: float, high: float) -> float | None:
    said = table.get(key)
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int | float) or not low <= said <= high:
        raise LongfatError(f"{shown}: [fit] {key} = {said!r}: expected a number from {low:g} to {high:g}")
    return float(said)


def _words(table: dict[str, Any], key: str, shown: str) -> dict[str, str]:
    said = table.get(key, {})
    if not isinstance(said, dict) or not all(isinstance(one, str) for one in cast("dict[str, object]", said).values()):
        raise LongfatError(f'{shown}: [fit.{key}]: expected words in quotes, such as "S-TCP" = "scalable"')
    return cast("dict[str, str]", said)


def _next(table: dict[str, Any], shown: str) -> list[dict[str, str]] | None:
    from longfat.experiment import toml_value

    said = table.get("next")
    if said is None:
        return None
    if not isinstance(said, list) or not all(isinstance(one, dict) for one in cast("list[object]", said)):
        raise LongfatError(f'{shown}: [fit] next: expected a list of settings, such as next = [{{ "flow.count" = 8 }}]')
    return [{path: toml_value(value) for path, value in one.items()} for one in cast("list[dict[str, Any]]", said)]


def _of_transfers(measurements: Sequence[Measurement]) -> list[Measurement]:
    for one in measurements:
        if "measure.duration" not in one.setting or not any(name.startswith("measured.") for name in one.values):
            raise LongfatError(
                f"{one.where}: a table or results need a file with unknowns: longfat fit FILE.toml {one.where.partition(':')[0]}"
            )
    return list(measurements)


def summary(fit: Fit) -> str:
    """The answer in a sentence."""
    best = fit.best
    if not fit.explains:
        worst = best.searched.deviations[int(best.searched.misfits.argmin())]
        number = int(np.abs(worst).argmax())
        one = fit.data.observed[number]
        setting = fit.data.measurements[one.setting].name
        return (
            f"No path of this kind explains your numbers: {one.observable} with {setting} is {abs(worst[number]):.1f} standard deviations "
            "from the nearest path."
        )
    known = [f"{name} {one}" for name, one in fit.intervals.items() if one.verdict in ("decided", "roughly")]
    rest = [name for name, one in fit.intervals.items() if one.verdict not in ("decided", "roughly")]
    which = "" if len(fit.models) == 1 else f"{best.name}: " if fit.decided else f"{best.name} (the data do not decide it): "
    decided = ", ".join(known) if known else "no unknown is decided"
    return f"{which}{decided}{f'; not decided: {chr(44).join(rest)}'.replace(',', ', ') if rest and known else ''}."


def finite(value: float) -> float | None:
    """None in the place of NaN, which JSON does not have."""
    return None if math.isnan(value) or math.isinf(value) else value
