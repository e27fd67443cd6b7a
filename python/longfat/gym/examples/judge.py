"""Chooses one of several trained policies by its validation score, and judges it beside known controls on paths that chose nothing.

    python -m longfat.gym.examples.judge learned-*.json --keep learned.json --out judged.json

Every policy, and each control, runs over the same paths of `test` and `beyond`. Numbers are means over these paths with 95 % intervals
(Student's t). `--keep` copies the chosen policy; `--out` writes all numbers as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from longfat._longfat import student_t
from longfat.gym import Policy
from longfat.gym.examples.task import JUDGES, Scores, environments, scores

CONTROLS = ("bbr3", "vegas", "reno", "cubic")


def estimate(values: NDArray[Any]) -> list[float]:
    """Mean, and half of its 95 % interval."""
    half = student_t(0.975, len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return [round(float(values.mean()), 4), round(half, 4)]


def main() -> None:
    """Prints and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("policies", nargs="+", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    policies = {path: Policy.load(path) for path in asked.policies}
    chosen = max(policies, key=lambda path: policies[path].notes["validation"][-1][1])
    told: dict[str, Any] = {"chosen": policies[chosen].notes["seed"]}
    told["curves"] = {policy.notes["seed"]: policy.notes["validation"] for policy in policies.values()}
    print(f"chosen by validation: {chosen}")
    for which in ("test", "beyond"):
        env, seeds = environments(which, JUDGES), list(range(JUDGES))
        got: dict[str, Scores] = {f"seed {policy.notes['seed']}": scores(env, policy, seeds) for policy in policies.values()}
        got["learned"] = got[f"seed {policies[chosen].notes['seed']}"]
        got |= {name: scores(environments(which, JUDGES, name), None, seeds) for name in CONTROLS}
        told[which] = {name: {key: estimate(values[0]) for key, values in vars(one).items()} for name, one in got.items()}
        told[which]["learned less"] = {name: estimate((got["learned"].power - got[name].power)[0]) for name in CONTROLS}
        print(f"{which:12} power          utilization    round trips")
        for name in got:
            print(f"{name:12}", *(f"{mean:.3f} ± {half:.3f}" for mean, half in told[which][name].values()))
    if asked.keep is not None and asked.keep.resolve() != chosen.resolve():
        shutil.copyfile(chosen, asked.keep)
    if asked.out is not None:
        asked.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
