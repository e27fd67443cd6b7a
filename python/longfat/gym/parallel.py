"""The PettingZoo environment: several flows decide, at the same times."""

# pettingzoo types its base class in part.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import numpy as np
import pettingzoo
from numpy.typing import NDArray

from longfat.errors import LongfatError
from longfat.experiment import Experiment
from longfat.gym.env import known, own, spaces
from longfat.gym.settings import Choice, Settings

T = TypeVar("T")


class ParallelEnv(pettingzoo.ParallelEnv[str, NDArray[np.float32], Any]):
    """Several flows of an experiment decide, each as the flow of an `Env` does.

    `flows` are their numbers; flow 2 is the agent `flow2`. All decide at equal distances in time, `decide`, since each has a round trip of
    its own. An episode begins when each of them has had its first ACK of data.
    """

    metadata = {"name": "longfat", "render_modes": [], "is_parallelizable": True}  # noqa: RUF012
    render_mode = None

    def __init__(
        self,
        experiment: Experiment | Path | str,
        *,
        flows: Sequence[int] = (0, 1),
        observe: Sequence[str] | None = None,
        action: Choice = "cwnd_factor",
        reward: Choice | Callable[..., Any] = "fairness",
        decide: str = "100 ms",
        steps: int | None = None,
    ) -> None:
        self._settings = Settings.of(experiment, flows, observe, action, reward, decide, steps)
        if self._settings.clock <= 0:
            raise LongfatError(f'decide = {decide!r}: several flows decide by time, such as "100 ms"')
        self._environments = self._settings.environments(1, 1, False)
        self.names = self._settings.names
        self.possible_agents = [f"flow{flow}" for flow in self._settings.flows]
        self.agents: list[str] = []
        self.observation_spaces: dict[str, gymnasium.Space[Any]] = {}
        self.action_spaces: dict[str, gymnasium.Space[Any]] = {}
        for agent in self.possible_agents:
            self.observation_spaces[agent], self.action_spaces[agent] = spaces(self._settings)
        self._is_seeded = False

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Space of the observations of `agent`."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Space of the actions of `agent`."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, dict[str, Any]]]:
        """Begins an episode. `options={"run": N}` chooses run N of the experiment."""
        if seed is None and not self._is_seeded:
            seed = int(np.random.default_rng().integers(2**63))
        self._is_seeded = True
        self.agents = list(self.possible_agents)
        observations, _, _, measured = self._environments.reset([0], [seed], (options or {}).get("run"))
        return self._by_agent(self._rows(observations)), self._infos(measured)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One decision of every agent, and what happened until the next."""
        missing = set(self.agents) - set(actions)
        if missing or not self.agents:
            raise LongfatError(f"no action of {', '.join(sorted(missing))}" if missing else "there is no episode: reset first")
        numbers = np.concatenate([np.asarray(actions[agent], dtype=np.float64).reshape(-1) for agent in self.agents])
        (observations, rewards, ended, measured), _ = self._environments.step(numbers)
        given = rewards[0] if self._settings.function is None else own(self._settings, measured)
        told = (
            self._by_agent(self._rows(observations)),
            self._by_agent([float(reward) for reward in given]),
            self._by_agent([bool(ended[0] == 1)] * len(self.agents)),
            self._by_agent([bool(ended[0] == 2)] * len(self.agents)),
            self._infos(measured),
        )
        if ended[0]:
            self.agents = []
        return told

    def render(self) -> None:
        """Draws nothing."""

    def _rows(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        return list(array.reshape(len(self.possible_agents), -1))

    def _by_agent(self, values: list[T]) -> dict[str, T]:
        return dict(zip(self.possible_agents, values, strict=True))

    def _infos(self, measured: NDArray[np.float64]) -> dict[str, dict[str, Any]]:
        run = self._environments.runs()[0]
        return self._by_agent([{"run": run, "measures": known(row)} for row in self._rows(measured)])
