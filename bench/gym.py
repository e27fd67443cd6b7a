"""Cost of a step of a learning environment: steps per CPU second of `longfat.gym`, at one decision per round trip of a full path.

`python bench/gym.py [STEPS]`. The window stays at 1.1 BDP, so the path is full, and a step is a round trip of packets. Beside it
stands what the same packets cost a run without decisions, which is the floor. Vectors are measured by the clock and by CPU time.

`python bench/gym.py --instructions` counts instructions per step by valgrind, as the difference of runs of N and 2N steps. The floor
is the same environment with one decision per 4 s.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time

import longfat
import numpy as np
from longfat.gym import Env, VectorEnv
from store import say

TEXT = """\
title = "One flow"

[path]
preset = "dumbbell"
rtt = "40 ms"
edge = {{ rate = "10 Gbit/s" }}
bottleneck = {{ rate = "{rate}", queue = {{ kind = "droptail", limit = "1 bdp" }} }}

[[flow]]
window = "16 MiB"
congestion_control = "reno"
traffic = {{ kind = "bulk" }}

[measure]
duration = "{seconds} s"
"""


def floor(rate: str) -> float:
    """Round trips per CPU second of a run without decisions, over 60 s."""
    simulation = longfat.Simulation(longfat.Experiment(TEXT.format(rate=rate, seconds=100)))
    simulation.advance(20.0)
    start = time.process_time()
    simulation.advance(80.0)
    return 60 / 0.04 / (time.process_time() - start)


def segments(rate: str) -> float:
    """The window of 1.1 BDP, in segments."""
    return 1.1 * {"100 Mbit/s": 100e6, "10 Mbit/s": 10e6, "1 Mbit/s": 1e6}[rate] * 0.04 / 8 / 1500


def child(rate: str, decide: str, count: int, steps: int) -> None:
    """Steps of one environment, or of a vector of `count`; prints the virtual time of all together."""
    window = {"name": "cwnd", "least": segments(rate), "most": segments(rate)}
    experiment = longfat.Experiment(TEXT.format(rate=rate, seconds=100_000))
    env = (
        Env(experiment, action=window, decide=decide)
        if count == 1
        else VectorEnv(experiment, count, action=window, decide=decide, threads=1)
    )
    action, infos = np.zeros((count, 1)), env.reset(seed=1)[1]
    for _ in range(steps // count):
        infos = env.step(action)[4]
    print(np.sum(infos["measures"]["time"]))


def counted(rate: str, decide: str, count: int, steps: int) -> tuple[float, float]:
    """Instructions and virtual seconds of a step: runs of twice as many `steps`, less runs of `steps`."""
    told: list[tuple[int, float]] = []
    for n in (steps, 2 * steps):
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        command = [*valgrind, sys.executable, __file__, "--child", rate, decide, str(count), str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = re.search(r"I +refs: +([\d,]+)", done.stderr)
        assert found is not None, done.stderr
        told.append((int(found[1].replace(",", "")), float(done.stdout)))
    return (told[1][0] - told[0][0]) / steps, (told[1][1] - told[0][1]) / steps


def instructions() -> None:
    """Instructions per step and of its floor, per rate."""
    for rate, steps in (("100 Mbit/s", 640), ("10 Mbit/s", 1920), ("1 Mbit/s", 3200)):
        whole, seconds = counted(rate, "4 s", 1, max(4, steps // 100))
        for count in (1, 64):
            step, lasts = counted(rate, "rtt", count, steps)
            say(f"gym {rate}, 40 ms: {count} environments", step, "instructions per step")
            say(f"gym {rate}, 40 ms: {count} environments, without decisions", whole / seconds * lasts, "instructions per step")


def main() -> None:
    """Does what the command line says."""
    if sys.argv[1:2] == ["--instructions"]:
        instructions()
    elif sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        speeds()


def speeds() -> None:
    """A few lines for each rate."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    for rate in ("100 Mbit/s", "10 Mbit/s", "1 Mbit/s"):
        experiment = longfat.Experiment(TEXT.format(rate=rate, seconds=100_000))
        say(f"gym {rate}, 40 ms: round trips without decisions", floor(rate), "per CPU s")
        window = {"name": "cwnd", "least": segments(rate), "most": segments(rate)}
        env = Env(experiment, action=window)
        env.reset(seed=1)
        action = np.zeros(1)
        for _ in range(100):
            env.step(action)
        start = time.process_time()
        for _ in range(steps):
            env.step(action)
        say(f"gym {rate}, 40 ms: steps, one environment", steps / (time.process_time() - start), "per CPU s")
        for threads in (1, 2):
            vector = VectorEnv(experiment, 64, action=window, threads=threads)
            vector.reset(seed=1)
            actions = np.zeros((64, 1))
            for _ in range(20):
                vector.step(actions)
            start, clock = time.process_time(), time.perf_counter()
            for _ in range(steps // 64):
                vector.step(actions)
            done = steps // 64 * 64
            say(f"gym {rate}, 40 ms: steps, 64 environments, {threads} threads", done / (time.process_time() - start), "per CPU s")
            say(
                f"gym {rate}, 40 ms: steps, 64 environments, {threads} threads, by the clock", done / (time.perf_counter() - clock), "per s"
            )


if __name__ == "__main__":
    main()
