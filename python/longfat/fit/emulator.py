"""Emulators: each number observed as a Gaussian process over the unknowns, learnt from the runs so far.

A run costs far more than a guess, so runs teach a surrogate, and the surrogate says where to run next and what the data leave open
(Kennedy and O'Hagan 2001; Craig and others 1997, "history matching"). The processes are scikit-learn's (Rasmussen and Williams 2006).
"""

# scikit-learn has no complete types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from longfat.fit.data import Observed
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

REACH = 1.5
"""Distance from what was measured, on the logarithmic scale, from which it matters little how far off a run is (a factor of 4.5)."""
LEAST_REACH = 6.0
"""Least such distance, in standard deviations of what was measured."""


GROWTH = 1.4
"""The scales of the processes are sought anew when there are so many times as many points as last time."""
ITERATIONS = 20
"""Most steps of that search: the scales need be about right."""


@dataclass(frozen=True)
class Process:
    """A fitted process, in the form in which many places can be predicted at once."""

    scales: NDArray[np.float64]
    amplitude: float
    noise: float
    weights: NDArray[np.float64]
    inverse: NDArray[np.float64]
    """Inverse of the Cholesky factor of the covariance of the points."""
    mean: float
    deviation: float
    surprise: float
    """Variance of what left-out recent points gave over what was expected of them, at least 1: noise may be larger where the data are."""

    def predict(self, points: NDArray[np.float64], places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance (with the noise of seeds) at places, learnt from points (Rasmussen and Williams 2006, eq. 2.25 and 2.26)."""
        from scipy.spatial.distance import cdist

        far = cdist(places / self.scales, points / self.scales) * np.sqrt(5)
        covariance = self.amplitude * (1 + far + far * far / 3) * np.exp(-far)  # Matern 5/2, eq. 4.17
        known = covariance @ self.inverse.T
        variance = self.amplitude + self.noise - (known * known).sum(axis=1)
        spread = np.maximum(variance, self.noise) * self.deviation**2 * self.surprise
        return covariance @ self.weights * self.deviation + self.mean, spread


@dataclass
class Emulators:
    """One process per number observed. Values are residuals: what a run gave, less what was measured, bent towards `reach`."""

    observed: Sequence[Observed]
    _processes: list[Process] = field(default_factory=list[Process])
    _kernels: list[Any] = field(default_factory=list[Any])
    _sought: int = 0
    """Number of points when the scales were sought."""

    def __post_init__(self) -> None:
        self.reach = np.array([max(REACH, LEAST_REACH * one.sigma) for one in self.observed])
        self.measured = np.array([one.log for one in self.observed])
        self.sigma = np.array([one.sigma for one in self.observed])
        self.relative = np.array([one.relative for one in self.observed])
        self._points = np.zeros((0, 0))

    def residuals(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Outputs of runs less what was measured, in the bent scale: far off is far off, however far."""
        return self.reach * np.tanh((outputs - self.measured) / self.reach)

    def learn(self, places: NDArray[np.float64], outputs: NDArray[np.float64], recent: int = 0) -> None:
        """Learns from every run so far. The last `recent` points say how far to trust it.

        Without unknowns, all that is learnt is how runs with different seeds spread.
        """
        self._points = places if places.shape[1] else np.zeros((len(places), 1))
        residuals = self.residuals(outputs)
        seek = len(places) >= GROWTH * self._sought
        kernels, self._processes = self._kernels, []
        self._kernels = []
        for number in range(len(self.observed)):
            process = _fitted(self._points, residuals[:, number], kernels[number] if kernels else None, seek=seek)
            self._kernels.append(process.kernel_)
            self._processes.append(_plain(process, recent))
        self._sought = len(places) if seek else self._sought

    def predict(self, places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the residuals at places; the variance holds what the emulator does not know, and that of the seeds."""
        places = places if places.shape[1] else np.zeros((len(places), 1))
        every = [process.predict(self._points, places) for process in self._processes]
        return np.stack([mean for mean, _ in every], axis=1), np.stack([variance for _, variance in every], axis=1)

    @property
    def seed_variances(self) -> NDArray[np.float64]:
        """Variance of each number over seeds, which no run can tell from its setting."""
        return np.array([process.noise * process.deviation**2 * process.surprise for process in self._processes])

    def own_variances(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of what the emulator itself does not know, at each place."""
        return np.maximum(self.predict(places)[1] - self.seed_variances, 0.0)

    def compared(self, differences: NDArray[np.float64], variances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Errors of predictions and their variances, with the spread of what was measured, from differences of logarithms.

        A share with a stated spread is compared on its own scale, in units of the measured share plus `FLOOR`: its spread is symmetric
        there. On the scale of logarithms, a share near 0 would count as more exact the higher it was measured.
        """
        own, ratios = self.relative > 0, np.exp(np.where(self.relative > 0, differences, 0.0))
        errors = np.where(own, ratios - 1, differences)
        return errors, np.where(own, self.relative**2, self.sigma**2) + variances * ratios**2

    def log_likelihoods(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the likelihood of each number at each place."""
        means, variances = self.predict(places)
        errors, variances = self.compared(np.where(self.relative > 0, self._straight(means), means), variances)
        return -0.5 * (errors**2 / variances + np.log(2 * np.pi * variances))

    def logs(self, places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each number at places, on the logarithmic scale, as somebody would measure it again."""
        means, variances = self.predict(places)
        straight = self._straight(means)
        spread = np.where(self.relative > 0, np.log1p(self.relative * np.exp(-np.where(self.relative > 0, straight, 0.0))), self.sigma)
        return self.measured + straight, np.sqrt(variances + spread**2)

    def _straight(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Residuals on the scale that is not bent."""
        return np.arctanh(np.clip(means / self.reach, -0.999, 0.999)) * self.reach


def _fitted(points: NDArray[np.float64], values: NDArray[np.float64], kernel: Any, *, seek: bool) -> Any:
    """The process of one number. Its scales begin at those of `kernel`, and stay there unless it is to `seek`."""
    from scipy.optimize import minimize
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    def search(objective: Any, start: Any, bounds: Any) -> Any:
        # A scale at the end of its range says that an unknown does not matter to this number, which is an answer.
        found = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": ITERATIONS})
        return found.x, found.fun

    begin = ConstantKernel(1.0, (0.05, 100.0)) * Matern([1.0] * points.shape[1], (0.1, 20.0), nu=2.5) + WhiteKernel(1e-2, (1e-6, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        optimizer: Any = search if seek else None
        process = GaussianProcessRegressor(kernel or begin, normalize_y=True, optimizer=optimizer)
        return process.fit(points, values)


def _plain(process: Any, recent: int) -> Process:
    from scipy.linalg import solve_triangular

    product, noise = process.kernel_.k1, process.kernel_.k2
    inverse = solve_triangular(process.L_, np.eye(len(process.L_)), lower=True)
    weights = np.asarray(process.alpha_).ravel()
    # A point that is left out is off by weight / precision, and should be by one over the root of precision (eq. 5.12 there).
    precision = (inverse * inverse).sum(axis=0)
    surprises = (weights**2 / precision)[len(precision) - recent :]
    return Process(
        scales=np.atleast_1d(product.k2.length_scale),
        amplitude=float(product.k1.constant_value),
        noise=float(noise.noise_level),
        weights=weights,
        inverse=inverse,
        mean=float(np.ravel(process._y_train_mean)[0]),
        deviation=float(np.ravel(process._y_train_std)[0]),
        surprise=max(1.0, float(surprises.mean())) if recent else 1.0,
    )
