"""The task of the worked example: paths, observations, reward, and the score of a network on them.

Four sets of paths. The search sees `train` alone; `validation` chooses one of several searches; `test` and `beyond` judge the chosen one.
The first three are separate draws from the ranges of `learning/paths`. `beyond` is faster and longer than any path of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfat.experiment import Experiment, load
from longfat.gym import Policy, VectorEnv

OBSERVE = ("cwnd", "delivery_ratio", "rtt_ratio", "rtt_gradient", "queue", "reductions", "timeouts")
ACTION = "cwnd_factor"
REWARD = {"name": "power", "alpha": 2.0}
HIDDEN = 8
STEPS = 60
JUDGES = 64
"""Paths in each set but `train`, which has a draw of its own for each generation."""

DRAWS = {"train": 1, "validation": 2, "test": 3, "beyond": 4}
BEYOND = {
    "path.rtt": ("80 ms", "200 ms"),
    "path.bottleneck.rate": ("24 Mbit/s", "96 Mbit/s"),
    "path.bottleneck.queue.limit": ("0.25 bdp", "6 bdp"),
    "flow[0].window": "8 MiB",
}


@dataclass(frozen=True)
class Scores:
    """Scores of one control or of several networks: rows x paths."""

    power: NDArray[Any]
    """Mean reward of a step."""
    utilization: NDArray[Any]
    """Delivered per capacity, over the time of the episode."""
    delay: NDArray[Any]
    """Mean round trip of the delivered bytes per least round trip."""


def paths(which: str) -> Experiment:
    """The paths of a set, as an experiment. Its runs are one Sobol draw after the set's own seed."""
    drawn = load("learning/paths")
    drawn.set("seed", str(DRAWS[which]))
    for key, value in (BEYOND if which == "beyond" else {}).items():
        between = f'{{ between = ["{value[0]}", "{value[1]}"], points = 1024, scale = "log", sample = "sobol" }}'
        drawn.set(key, f'"{value}"' if isinstance(value, str) else between)
    return drawn


def environments(which: str, count: int, control: str | None = None, **options: Any) -> VectorEnv:
    """`count` environments over the paths of a set. With `control`, this congestion control decides, and actions do nothing."""
    experiment = paths(which)
    if control is not None:
        experiment.set("flow[0].congestion_control", f'"{control}"')
    action = ACTION if control is None else "own"
    return VectorEnv(experiment, count, observe=OBSERVE, action=action, reward=REWARD, steps=STEPS, **options)


def layers(weights: NDArray[Any], inputs: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """The network of HIDDEN neurons that has these weights; `weights` may be a stack of several."""
    first, rest = weights[..., : inputs * HIDDEN], weights[..., inputs * HIDDEN :]
    shape = weights.shape[:-1]
    return [
        (first.reshape(*shape, inputs, HIDDEN), rest[..., None, :HIDDEN]),
        (rest[..., HIDDEN : 2 * HIDDEN, None], rest[..., None, 2 * HIDDEN : 2 * HIDDEN + 1]),
    ]


def scores(env: VectorEnv, policy: Policy | None, seeds: list[int], rows: int = 1) -> Scores:
    """Scores of `rows` networks stacked in `policy`, each over the paths of `seeds`. None: the environments' own control decides."""
    seen, _ = env.reset(seed=seeds * rows)
    power, bits, time, waited, data = np.zeros((5, env.num_envs))
    capacity = np.full(env.num_envs, np.nan)
    alive = np.ones(env.num_envs, dtype=bool)
    for _ in range(STEPS):
        acted = np.zeros(env.num_envs) if policy is None else policy(seen.reshape(rows, len(seeds), -1)).reshape(-1)
        seen, reward, done, cut, infos = env.step(acted)
        one: dict[str, NDArray[Any]] = infos["measures"]
        if (done | cut).any():
            # Measures of an environment that has ended are of its next episode.
            ends: dict[str, NDArray[Any]] = infos["final_measures"]
            one = {name: np.where(done | cut, ends[name], told) for name, told in one.items()}
        power += reward * alive
        bits += np.where(alive, 8 * one["delivered"], 0.0)
        time += np.where(alive, one["step"], 0.0)
        capacity = one["capacity"]
        ratio = one["rtt"] / one["rtt_min"]
        known = alive & np.isfinite(ratio)
        waited += np.where(known, ratio * one["delivered"], 0.0)
        data += np.where(known, one["delivered"], 0.0)
        alive &= ~(done | cut)
    shape = (rows, len(seeds))
    return Scores((power / STEPS).reshape(shape), (bits / time / capacity).reshape(shape), (waited / data).reshape(shape))
