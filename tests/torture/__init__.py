"""Attacks on longfat: whatever is done to it, its results are right, or it says in one message what is wrong.

    make torture TIME=600            # all attacks in turn, for ten minutes; prints the seed of each case that broke something
    make torture TIME=600 SEED=7     # the same cases again
    make torture ONLY=damage         # one attack
    make torture ONLY=damage:7       # one case

An attack is a function of a generator of random numbers and an empty folder, and raises what is wrong. Each case has a seed of its own.
Cases run in processes of their own, a few to a process, so that one that takes its process with it is found, too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

Attack = Callable[[Random, Path], None]

BATCH = {
    "damage": 10,
    "stop": 4,
    "files": 50,
    "scripts": 200,
    "networks": 20,
    "shards": 10,
    "workers": 4,
    "machine": 4,
    "large": 1,
    "captures": 1,
    "protocol": 10,
}
"""Number of cases of each attack that share a process."""


def attacks() -> dict[str, Attack]:
    """Attacks, by their names."""
    from torture import captures, damage, files, large, machine, networks, protocol, scripts, shards, stop, workers

    modules = (damage, stop, files, scripts, networks, shards, workers, machine, large, captures, protocol)
    return {module.__name__.rpartition(".")[2]: module.attack for module in modules}


def case(attack: Attack, seed: int, folder: Path) -> None:
    """One case, the same for a seed each time."""
    attack(Random(seed), folder)
