"""`python tests/torture --time 600`: all attacks in turn. See the package for the rest."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import SystemRandom

sys.path.insert(0, str(Path(__file__).parent.parent))

from torture import BATCH, attacks, case


def child(name: str, seeds: range) -> None:
    """Cases of one attack in this process: a line before each, and one after it."""
    attack = attacks()[name]
    for seed in seeds:
        print(f"case {seed}", flush=True)
        with tempfile.TemporaryDirectory(prefix="longfat-torture-") as folder:
            try:
                case(attack, seed, Path(folder))
                print("held", flush=True)
            except Exception as error:  # whatever it is, it is what is looked for
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(last.filename).name}:{last.lineno}"
                print("broke " + " ".join(f"{type(error).__name__} at {where}: {error}".split())[:1000], flush=True)


def batch(name: str, seeds: range, patience: float) -> dict[int, str]:
    """The cases of `seeds` that broke something, and what."""
    call = [sys.executable, str(Path(__file__).parent), "--child", name, str(seeds.start), str(len(seeds))]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said, noise = process.communicate(timeout=patience)
        how = f"ended with {process.returncode}: {noise.strip()[-500:]}"
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        how = f"took more than {patience:.0f} s"
    broken: dict[int, str] = {}
    current = None
    for line in said.splitlines():
        word, _, rest = line.partition(" ")
        if word == "case":
            current = int(rest)
        elif word in ("held", "broke"):
            if current is not None and word == "broke":
                broken[current] = rest
            current = None
    if current is not None:
        broken[current] = how
    elif process.returncode:
        broken[seeds.start] = how
    return broken


def main() -> int:
    """Attacks until the time is over; 1 where anything broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=60, help="seconds")
    parser.add_argument("--seed", type=int, help="of the first case of each attack; by default another one each time")
    parser.add_argument("--only", default="", metavar="ATTACK[:SEED]", help="one attack, or one case")
    parser.add_argument("--child", nargs=3, metavar=("ATTACK", "SEED", "CASES"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        name, first, count = asked.child[0], int(asked.child[1]), int(asked.child[2])
        child(name, range(first, first + count))
        return 0
    only, _, seed = asked.only.partition(":")
    if only and only not in attacks():
        parser.error(f"there is no attack {only!r}: choose one of {', '.join(attacks())}")
    if seed:
        broken = batch(only, range(int(seed), int(seed) + 1), 600)
        print(broken.get(int(seed), "held"))
        return len(broken)
    first = SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    print(f"SEED={first}", flush=True)
    names = [only] if only else list(attacks())
    cases: Counter[str] = Counter()
    broken_cases: Counter[str] = Counter()
    end = time.monotonic() + asked.time
    while time.monotonic() < end:
        for name in names:
            seeds = range(first + cases[name], first + cases[name] + BATCH[name])
            for number, what in batch(name, seeds, 600).items():
                print(f"ONLY={name}:{number}  {what}", flush=True)
                broken_cases[name] += 1
            cases[name] += len(seeds)
            if time.monotonic() > end:
                break
    for name in names:
        print(f"{name}: {cases[name]} cases, {broken_cases[name]} broke something")
    return int(bool(broken_cases.total()))


if __name__ == "__main__":
    sys.exit(main())
