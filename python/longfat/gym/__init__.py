"""Environments to learn a congestion control in: Gymnasium (`Env`, `VectorEnv`) and PettingZoo (`ParallelEnv`).

    import longfat.gym
    env = longfat.gym.Env("my-paths.toml", action="cwnd_factor", reward="power", decide="rtt")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

`observations`, `actions`, `rewards` and `measures` list what there is. `Policy` is a network in numpy, and `control` makes it a congestion
control that experiments know by its name. Needs `pip install "longfat[gym]"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longfat.gym.env import Env
    from longfat.gym.parallel import ParallelEnv
    from longfat.gym.policy import Policy, control
    from longfat.gym.settings import actions, measures, observations, rewards
    from longfat.gym.vector import VectorEnv

__all__ = ["Env", "ParallelEnv", "Policy", "VectorEnv", "actions", "control", "measures", "observations", "rewards"]

_HOMES = {
    "longfat.gym.env": ("Env",),
    "longfat.gym.parallel": ("ParallelEnv",),
    "longfat.gym.policy": ("Policy", "control"),
    "longfat.gym.settings": ("actions", "measures", "observations", "rewards"),
    "longfat.gym.vector": ("VectorEnv",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    from longfat.extras import need

    for home, names in _HOMES.items():
        if name in names:
            if name in ("Env", "ParallelEnv", "VectorEnv"):
                need("gym", f"longfat.gym.{name}")
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
