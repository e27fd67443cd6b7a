"""The vectorised environment: many at once, in Rust, on all cores and without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as Base
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfat.cores import default_jobs
from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.gym.env import own, spaces
from longfat.gym.settings import Choice, Settings, measures


class VectorEnv(Base[NDArray[np.float32], Any, NDArray[Any]]):
    """`num_envs` environments as `Env` is one, stepped by one call.

    Environment i of `reset(seed=s)` does the same as `Env` after `reset(seed=s + i)`, bit for bit, whatever `threads` is (the cores of this
    machine by default). An episode that ends is followed by the next one in the same step (`AutoresetMode.SAME_STEP`): then
    `infos["final_obs"]` and `infos["final_measures"]` have its last observation and measures, in the rows that `infos["_final_obs"]` marks.
    `infos["measures"]` has an array per measure, with NaN where it is unknown, and `infos["run"]` the numbers of the runs.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        experiment: Experiment | Path | str,
        num_envs: int,
        *,
        flow: int = 0,
        observe: Sequence[str] | None = None,
        action: Choice = "cwnd_factor",
        reward: Choice | Callable[..., Any] = "power",
        decide: str = "rtt",
        steps: int | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        if num_envs < 1:
            raise LongfatError(f"num_envs = {num_envs}: expected at least 1")
        self.num_envs = num_envs
        self._settings = Settings.of(experiment, [flow], observe, action, reward, decide, steps)
        self._environments = self._settings.environments(num_envs, default_jobs() if threads is None else threads, True)
        self.names = self._settings.names
        seen, acted = spaces(self._settings)
        self.single_observation_space: gymnasium.Space[Any] = seen
        self.single_action_space: gymnasium.Space[Any] = acted
        self.observation_space: gymnasium.Space[Any] = batch_space(seen, num_envs)
        self.action_space: gymnasium.Space[Any] = batch_space(acted, num_envs)
        self._is_seeded = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode in every environment. `options={"run": N}` chooses run N of the experiment."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(2**62))
        self._is_seeded = True
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed or [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise LongfatError(f"seed has {len(seeds)} numbers: expected {self.num_envs}")
        observations, _, _, measured = self._environments.reset(list(range(self.num_envs)), list(seeds), (options or {}).get("run"))
        return observations, self._infos(measured)

    def step(self, actions: Any) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One decision in every environment, and what happened until the next."""
        numbers = np.ascontiguousarray(actions, dtype=np.float64).reshape(-1)
        (observations, rewards, ended, measured), lasts = self._environments.step(numbers)
        infos = self._infos(measured)
        if lasts:
            final = np.zeros_like(observations)
            told, marks = measured.copy(), np.zeros(self.num_envs, dtype=np.bool_)
            for i, seen, values in lasts:
                final[i], told[i], marks[i] = seen, values, True
            infos |= {"final_obs": final, "_final_obs": marks, "final_measures": self._columns(told), "_final_measures": marks}
            measured = told
        reward = rewards[:, 0] if self._settings.function is None else own(self._settings, measured)
        return observations, reward, ended == 1, ended == 2, infos

    def _infos(self, measured: NDArray[np.float64]) -> dict[str, Any]:
        return {"run": np.array(self._environments.runs()), "measures": self._columns(measured)}

    @staticmethod
    def _columns(measured: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {entry["name"]: measured[:, i] for i, entry in enumerate(measures())}
