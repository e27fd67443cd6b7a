"""The Gymnasium environment: one flow decides, the others run their own controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from longfat.experiment import Experiment
from longfat.gym.settings import Choice, Settings, measures


class Env(gymnasium.Env[NDArray[np.float32], Any]):
    """One flow of an experiment decides.

    `experiment` is a file, its name, or an `Experiment`. Each episode is one of its runs, drawn at random: ranges, sweeps and `repeats`
    say how episodes differ. `flow` is the number of the flow that decides. `observe` names fields (`observations()`). `action` and `reward`
    are names, or `{"name": ..., parameter: ...}` (`actions()`, `rewards()`). An action `{"set": NAME, "least": ..., "most": ...}` sets a
    variable of the flow's own control, and a reward may be a function of `measures()`. `decide` is "rtt", "ack" or a time. `steps` cuts
    episodes off.

    An observation is a float32 vector: fields, scaled, then masks of fields that may be unknown (`names` says which). An action is a
    number from -1 to 1, or a choice. An episode is terminated when every volume is delivered, and truncated when its time or its steps
    are up. `info` has `run`, the number of the run (`experiment.resolve(run)`), and `measures` that are known. Equal seeds and actions
    give equal bits.

    Raises LongfatError for names, values and files that are none.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        experiment: Experiment | Path | str,
        *,
        flow: int = 0,
        observe: Sequence[str] | None = None,
        action: Choice = "cwnd_factor",
        reward: Choice | Callable[..., Any] = "power",
        decide: str = "rtt",
        steps: int | None = None,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode
        self._settings = Settings.of(experiment, [flow], observe, action, reward, decide, steps)
        self._environments = self._settings.environments(1, 1, False)
        self.names = self._settings.names
        self.observation_space: gymnasium.Space[Any]
        self.action_space: gymnasium.Space[Any]
        self.observation_space, self.action_space = spaces(self._settings)
        self._is_seeded = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode, at the first ACK of data. `options={"run": N}` chooses run N of the experiment."""
        super().reset(seed=seed)
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(2**63))
        self._is_seeded = True
        observations, _, _, measured = self._environments.reset([0], [seed], (options or {}).get("run"))
        return observations[0], self._info(measured[0])

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One decision, and what happened until the next."""
        numbers = np.asarray(action, dtype=np.float64).reshape(-1)
        (observations, rewards, ended, measured), _ = self._environments.step(numbers)
        reward = float(rewards[0, 0]) if self._settings.function is None else float(own(self._settings, measured)[0])
        return observations[0], reward, bool(ended[0] == 1), bool(ended[0] == 2), self._info(measured[0])

    def _info(self, measured: NDArray[np.float64]) -> dict[str, Any]:
        return {"run": self._environments.runs()[0], "measures": known(measured)}


def known(measured: NDArray[np.float64]) -> dict[str, float]:
    """The measures that are known, by name."""
    # Floats of Python: comparisons of numpy's cost more than the rest of a step.
    return {entry["name"]: value for entry, value in zip(measures(), measured.tolist(), strict=True) if value == value}


def own(settings: Settings, measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rewards by the user's function: one per row of `measured`. NaN is 0."""
    assert settings.function is not None
    columns = measured.reshape(-1, len(measures()))
    given = settings.function({entry["name"]: columns[:, i] for i, entry in enumerate(measures())})
    return np.nan_to_num(np.broadcast_to(np.asarray(given, dtype=np.float64), (len(columns),)))


def spaces(settings: Settings) -> tuple[gymnasium.spaces.Box, gymnasium.Space[Any]]:
    """Spaces of the observations and actions of one agent."""
    low, high = settings.bounds
    seen = gymnasium.spaces.Box(np.array(low, dtype=np.float32), np.array(high, dtype=np.float32), dtype=np.float32)
    if settings.choices is not None:
        return seen, gymnasium.spaces.Discrete(settings.choices)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
