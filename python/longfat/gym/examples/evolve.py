"""Trains a policy by CMA-ES (Hansen and Ostermeier 2001, by the library `cma`) on the paths of `learning/paths`.

    python -m longfat.gym.examples.evolve --seed 1 --out learned-1.json

A candidate is the weights of a small network. Each generation runs every candidate over the same paths, all in one `VectorEnv`, and its
score is the mean reward. Every tenth generation the mean of the search is scored on validation paths, which the search does not learn of.
Equal seeds give equal policies. `python -m longfat.gym.examples.judge` chooses and judges. Needs `pip install cma`.
"""

# cma comes without types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import time
from typing import Any

import cma
import numpy as np
from numpy.typing import NDArray

from longfat.gym import Policy
from longfat.gym.examples.task import ACTION, HIDDEN, JUDGES, OBSERVE, REWARD, environments, layers, scores

CANDIDATES, PATHS = 16, 3


def main() -> None:
    """Trains, prints the validation scores, and writes the policy with them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generations", type=int, default=120)
    parser.add_argument("--threads", type=int, help="all cores, unless you say so; the result is the same")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    env = environments("train", CANDIDATES * PATHS, threads=asked.threads)
    validation = environments("validation", JUDGES, threads=asked.threads)
    inputs = len(env.names)

    def policy(weights: NDArray[Any]) -> Policy:
        return Policy(layers(weights, inputs), OBSERVE)

    size = (inputs + 2) * HIDDEN + 1
    search = cma.CMAEvolutionStrategy(size * [0.0], 0.2, {"seed": asked.seed, "popsize": CANDIDATES, "verbose": -9})
    curve: list[tuple[int, float]] = []
    start = time.monotonic()
    for generation in range(asked.generations + 1):
        if generation % 10 == 0 or generation == asked.generations:
            score = scores(validation, policy(np.array([search.mean])), list(range(JUDGES))).power.mean()
            curve.append((generation, round(float(score), 4)))
            print(f"generation {generation}: {score:.4f} on validation paths, {time.monotonic() - start:.0f} s", flush=True)
        if generation < asked.generations:
            asks = np.array(search.ask())
            seeds = [10_000 * asked.seed + generation * PATHS + i for i in range(PATHS)]
            search.tell(list(asks), list(-scores(env, policy(asks), seeds, CANDIDATES).power.mean(axis=1)))
    network = [(weights, bias[0]) for weights, bias in layers(np.asarray(search.mean), inputs)]
    notes = {"seed": asked.seed, "reward": REWARD, "generations": asked.generations, "validation": curve}
    Policy(network, OBSERVE, ACTION, "rtt", notes).save(asked.out)


if __name__ == "__main__":
    main()
