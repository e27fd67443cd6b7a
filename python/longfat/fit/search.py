"""The search: waves of runs, each where the posterior of the last one says that it is worth it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longfat.fit.data import Data
from longfat.fit.emulator import Emulators
from longfat.fit.posterior import draws, sobol
from longfat.fit.runs import Runs
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST, FEWEST = 8, 24
"""Points of the first wave per unknown, and at least."""
NEXT, LEAST_NEXT = 3, 12
"""Points of each further wave per unknown, and at least."""
WAVES = 5
"""Most waves after the first."""
EXPLORING = 4
"""One of so many points of a wave is drawn from a posterior of temperature `HOT`: the emulator may be sure of what is wrong."""
HOT = 6.0
SURE = 0.5
"""Share of the emulator's own uncertainty in that of the numbers, from which on more runs would tell little."""
HOPELESS = 30.0
"""Excess of a model's least misfit over the best model's, from which on it gets no more runs (a chi-square of five and a half sigma)."""


@dataclass
class Searched:
    """A model, what its runs gave, and which points explain the numbers."""

    runs: Runs
    data: Data
    emulators: Emulators
    outputs: NDArray[np.float64]
    draws: NDArray[np.float64]
    """Points drawn from the posterior, from 0 to 1 per unknown. The last two waves are pooled: they differ by what the emulator missed."""
    waves: int = 0
    is_hopeless: bool = False
    sure: float = 0.0
    """Largest share of the emulator's uncertainty in that of a number."""
    _added: int = 0
    """Points of the last two waves."""
    _before: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def dimensions(self) -> int:
        """Number of unknowns."""
        return len(self.runs.model.unknowns)

    @property
    def misfits(self) -> NDArray[np.float64]:
        """Misfit of each point that was run: sum of squares, in standard deviations of what was measured and of seeds."""
        return (self.deviations**2).sum(axis=1)

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Output of each point less what was measured, in standard deviations."""
        errors, variances = self.emulators.compared(self.outputs - self.emulators.measured, self.emulators.seed_variances)
        return errors / np.sqrt(variances)

    def step(self) -> None:
        """One more wave of runs."""
        count = max(LEAST_NEXT, NEXT * self.dimensions)
        exploring = count // EXPLORING
        rng = np.random.default_rng(100 + self.waves)
        hot = draws(self.emulators, self.dimensions, temperature=HOT, seed=200 + self.waves)
        some = [self.draws[rng.integers(len(self.draws), size=count - exploring)], hot[rng.integers(len(hot), size=exploring)]]
        self.outputs = self.runs.add(np.concatenate(some).tolist(), self.data)
        self._added = count * min(2, self.waves)
        self._learn()

    def _learn(self) -> None:
        self.waves += 1
        places = np.array(self.runs.places).reshape(len(self.runs.places), self.dimensions)
        self.emulators.learn(places, self.outputs, self._added if self.waves > 1 else 0)
        fresh = draws(self.emulators, self.dimensions, seed=self.waves)
        self.draws = np.concatenate([self._before, fresh]) if len(self._before) and self.waves > 2 else fresh
        self._before = fresh
        own = self.emulators.own_variances(fresh).mean(axis=0)
        self.sure = float(np.sqrt(own / (self.emulators.sigma**2 + self.emulators.seed_variances)).max())


def begin(runs: Runs, data: Data) -> Searched:
    """The first wave of a model: points of a Sobol sequence."""
    dimensions = len(runs.model.unknowns)
    outputs = runs.add(sobol(max(FEWEST, FIRST * dimensions), dimensions).tolist(), data)
    made = Searched(runs, data, Emulators(data.observed), outputs, np.zeros((0, dimensions)))
    made._learn()  # pyright: ignore[reportPrivateUsage]
    return made


def search(every: list[Runs], data: Data, waves: int, told: Callable[[float], object] = lambda _: None) -> list[Searched]:
    """Runs each model until more runs would tell little, or `waves` are over. Models without hope get no more than two."""
    made: list[Searched] = []
    for number, runs in enumerate(every):
        told(0.4 * number / len(every))
        made.append(begin(runs, data))
    for wave in range(waves):
        for number, one in enumerate(made):
            told(0.4 + 0.6 * (wave + number / len(made)) / waves)
            if not one.is_hopeless and (wave < 1 or one.sure > SURE):
                one.step()
        least = min(float(one.misfits.min()) for one in made)
        for one in made:
            one.is_hopeless = float(one.misfits.min()) > least + HOPELESS
    return made
