"""The posterior: which points of a model explain the numbers, drawn by emcee (Goodman and Weare 2010; Foreman-Mackey and others 2013)."""

# emcee has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longfat.fit.emulator import Emulators
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STARTS = 2048
"""Points of a Sobol sequence among which the walkers begin."""
WALKERS, STEPS, BURN = 96, 90, 40
"""Many walkers that begin where the posterior is, and few steps."""
SEED = 1


def sobol(count: int, dimensions: int, seed: int = SEED) -> NDArray[np.float64]:
    """The first points of a scrambled Sobol sequence (Owen 1995), from 0 to 1."""
    from scipy.stats import qmc

    if not dimensions:
        return np.zeros((count, 0))
    power = max(0, int(np.ceil(np.log2(count))))
    return qmc.Sobol(dimensions, rng=seed).random_base2(power)[:count]


def draws(
    emulators: Emulators,
    dimensions: int,
    *,
    temperature: float = 1.0,
    without: NDArray[np.bool_] | None = None,
    seed: int = SEED,
) -> NDArray[np.float64]:
    """Points drawn from the posterior, uniform before the data. `without` leaves numbers out; a temperature above 1 flattens it."""
    import emcee

    if not dimensions:
        return np.zeros((64, 0))
    counted = np.ones(len(emulators.observed), bool) if without is None else ~without

    def logarithm(places: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = ((places >= 0) & (places <= 1)).all(axis=1)
        made = np.full(len(places), -np.inf)
        if inside.any():
            made[inside] = emulators.log_likelihoods(places[inside])[:, counted].sum(axis=1) / temperature
        return made

    rng = np.random.default_rng(seed)
    walkers = max(WALKERS, 4 * dimensions)
    starts = sobol(STARTS, dimensions, seed)
    weights = logarithm(starts)
    weights = np.exp((weights - weights.max()) / 2)  # flatter than the posterior, so that walkers begin in each of its parts
    begin = starts[rng.choice(len(starts), walkers, p=weights / weights.sum())]
    begin = np.clip(begin + rng.normal(0, 0.01, begin.shape), 1e-6, 1 - 1e-6)
    moves = [(emcee.moves.StretchMove(), 0.4), (emcee.moves.DEMove(), 0.5), (emcee.moves.DESnookerMove(), 0.1)]
    sampler = emcee.EnsembleSampler(walkers, dimensions, logarithm, vectorize=True, moves=moves)
    sampler.random_state = np.random.RandomState(seed).get_state()
    sampler.run_mcmc(begin, STEPS, skip_initial_state_check=True)
    made: Any = sampler.get_chain(discard=BURN, thin=2, flat=True)
    return made
