"""Trains a policy by CMA-ES (Hansen and Ostermeier 2001, by the library `cma`) on the paths of `learning/paths`.

    python -m longfat.gym.examples.evolve --seed 1 --minutes 1.5 --out learned-1.json

A candidate is the weights of a small network. Each generation runs every candidate over the same paths, all in one `VectorEnv`, and its
score is the mean reward. Needs `pip install cma`.
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

from longfat.gym import Policy, VectorEnv

OBSERVE = ("cwnd", "delivery_ratio", "rtt_ratio", "rtt_gradient", "queue", "reductions", "timeouts")
ACTION = "cwnd_factor"
REWARD = {"name": "power", "alpha": 2.0}
HIDDEN = 8
CANDIDATES, PATHS, STEPS = 16, 3, 60
TEST, UNSEEN = 1_000_000, 32
"""Seeds from here on are of paths that judge, and never train: so many."""


def layers(weights: NDArray[Any], inputs: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """The network of HIDDEN neurons whose weights are these; `weights` may be a stack of several."""
    first, rest = weights[..., : inputs * HIDDEN], weights[..., inputs * HIDDEN :]
    shape = weights.shape[:-1]
    return [
        (first.reshape(*shape, inputs, HIDDEN), rest[..., None, :HIDDEN]),
        (rest[..., HIDDEN : 2 * HIDDEN, None], rest[..., None, 2 * HIDDEN : 2 * HIDDEN + 1]),
    ]


def scores(env: VectorEnv, weights: NDArray[Any], seeds: list[int]) -> NDArray[Any]:
    """Mean reward of each candidate: rows of `weights`, each over the paths of `seeds`."""
    rows, inputs = len(weights), len(env.names)
    policy = Policy(layers(weights, inputs), OBSERVE)
    seen, _ = env.reset(seed=seeds * rows)
    total = np.zeros(env.num_envs)
    alive = np.ones(env.num_envs, dtype=bool)
    for _ in range(STEPS):
        seen, reward, done, cut, _ = env.step(policy(seen.reshape(rows, len(seeds), inputs)).reshape(-1))
        total += reward * alive
        alive &= ~(done | cut)
    return total.reshape(rows, -1).mean(axis=1) / STEPS


def main() -> None:
    """Trains, writes the policy, and prints the score on paths that were not trained on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1.5, help="by the clock; --generations for equal results everywhere")
    parser.add_argument("--generations", type=int)
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    options: dict[str, Any] = {"observe": OBSERVE, "action": ACTION, "reward": REWARD, "steps": STEPS}
    env = VectorEnv("learning/paths", CANDIDATES * PATHS, **options)
    judge = VectorEnv("learning/paths", UNSEEN, **options)
    size = (len(env.names) + 2) * HIDDEN + 1
    search = cma.CMAEvolutionStrategy(size * [0.0], 0.2, {"seed": asked.seed, "popsize": CANDIDATES, "verbose": -9})
    curve: list[tuple[int, float, float]] = []
    start, generation = time.monotonic(), 0
    while time.monotonic() - start < 60 * asked.minutes if asked.generations is None else generation < asked.generations:
        if generation % 10 == 0:
            unseen = float(scores(judge, np.array([search.mean]), list(range(TEST, TEST + UNSEEN)))[0])
            curve.append((generation, round(time.monotonic() - start, 1), round(unseen, 4)))
            print(*curve[-1], flush=True)
        asks = np.array(search.ask())
        seeds = [10_000 * asked.seed + generation * PATHS + i for i in range(PATHS)]
        search.tell(list(asks), list(-scores(env, asks, seeds)))
        generation += 1
    unseen = float(scores(judge, np.array([search.mean]), list(range(TEST, TEST + UNSEEN)))[0])
    curve.append((generation, round(time.monotonic() - start, 1), round(unseen, 4)))
    network = [(weights, bias[0]) for weights, bias in layers(np.asarray(search.mean), len(env.names))]
    notes = {"seed": asked.seed, "reward": REWARD, "generations": generation, "score": unseen, "curve": curve}
    Policy(network, OBSERVE, ACTION, "rtt", notes).save(asked.out)
    print(f"{generation} generations, {unseen:.4f} on unseen paths")


if __name__ == "__main__":
    main()
