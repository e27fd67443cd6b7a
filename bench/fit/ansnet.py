"""ANSNET 1994: which hosts explain half of Tables 3 and 4, judged on the other half.

    python bench/fit/ansnet.py run --points 7     # runs points; goes on where it was stopped
    python bench/fit/ansnet.py judge --points 7   # judges halves of the cells by those runs: notebook/ansnet-fitted.md

Paths, builds and flows are those of `papers/ansnet`, the same for every point. Unknown are the hosts: a scheduler that holds each packet
for a random time, or a processor for both directions, and when the receiver acknowledges. Each curve has two of the paper's windows, near
the peak and the largest, and one seed. Points are fixed before anything is fitted, so none knows which cells a split holds out.
"""

from __future__ import annotations

import argparse
import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from longfat.experiment import toml_value
from longfat.fit.data import Measurement
from longfat.fit.runs import Runs
from longfat.fit.unknowns import Model, models
from longfat.paper import Row
from longfat.paper.published import load_published

HERE = Path(__file__).parent
ANSNET = HERE.parent.parent / "papers" / "ansnet"
STEMS = {"68 ms": "long", "20 ms": "short"}
WINDOWS = {("68 ms", 1): (384, 512), ("68 ms", 4): (96, 352), ("68 ms", 8): (48, 256)}
WINDOWS |= {("20 ms", 1): (160, 512), ("20 ms", 4): (48, 352), ("20 ms", 8): (32, 256)}
"""KiB: near the peak of build 60, and the largest of the paper's."""
HOSTS = {
    "scheduler": """
[[host]]
name = ["left", "right"]
overhead = { name = "tick", unknown = ["10 us", "10 ms"] }
""",
    # 8000 cycles per packet and 8 per byte, sent or received: at 57 MHz one direction fills at 46 Mbit/s of 4096-byte segments.
    "processor": """
[[host]]
name = ["left", "right"]
cpu = { name = "processor", unknown = ["57 MHz", "1000 MHz"] }
send_byte = 8
receive_byte = 8
send_packet = "8000 cycles"
receive_packet = "8000 cycles"
""",
}
POINTS = (
    ("scheduler", "heartbeat", 0.0),
    ("scheduler", "off", 0.0),
    ("processor", "heartbeat", 0.0),
    ("processor", "off", 0.0),
    ("scheduler", "heartbeat", 0.5),
    ("scheduler", "heartbeat", 1.0),
    ("processor", "heartbeat", 0.5),
    ("scheduler", "heartbeat", 0.75),
    ("scheduler", "off", 0.5),
    ("scheduler", "off", 1.0),
)
"""Host, ACKs and place of each point, in this order. A processor of 1000 MHz (1.0) costs about as little as a hold of 10 us."""
MBIT = 2.0**20
SPLITS = 20
SEED = 1994


@dataclass(frozen=True)
class Setting:
    """A run of a curve."""

    path: str
    build: str
    flows: int
    background: str
    window: int

    @property
    def measurement(self) -> Measurement:
        """What is set in the file."""
        base = tomllib.loads((ANSNET / "long.toml").read_text(encoding="utf-8"))
        queue = next(one for one in base["path"]["queue"]["sweep"] if one["label"] == self.build)
        values = {
            "path.queue": {key: value for key, value in queue.items() if key != "label"},
            "flow[0].count": self.flows,
            "flow[0].window": f"{self.window} KiB",
            "flow[1].count": int(self.background == "revb"),
            "flow[1].window": "256 KiB" if self.path == "68 ms" else "64 KiB",
        }
        return Measurement({path: toml_value(value) for path, value in values.items()}, {})


def settings() -> list[Setting]:
    """Every run of a point."""
    cells = itertools.product(STEMS, ("60", "r60", "224", "r200"), (1, 4, 8), ("no-b", "revb"))
    return [Setting(*cell, window) for cell in cells for window in WINDOWS[cell[0], cell[2]]]


def published() -> list[Row]:
    """The cells of Tables 3 and 4 that have a number."""
    quantities = ("peak_throughput", "degradation", "unfairness")
    return [row for row in load_published(ANSNET) if row.where in ("Table 3", "Table 4") and row.quantity in quantities and row.value]


def cells(rows: list[Row], throughput: np.ndarray, unfairness: np.ndarray) -> np.ndarray:
    """Ours for each row, from the runs of a point: peak in Mibit/s, degradation and unfairness in percent."""
    every = settings()
    made: list[float] = []
    for row in rows:
        cell = (row["path"], row["build"], int(row["flows"]), row["background"])
        some = [number for number, one in enumerate(every) if (one.path, one.build, one.flows, one.background) == cell]
        curve = throughput[some]
        if row.quantity == "peak_throughput":
            made.append(float(curve.max()))
        elif row.quantity == "degradation":
            made.append(float(100 * (1 - curve[curve.argmax() :].min() / curve.max())))
        else:
            made.append(float(unfairness[some].max()))
    return np.array(made)


def hosts(path: str) -> list[tuple[str, Model]]:
    """The kinds of host on a path."""
    text = (HERE / "ansnet.toml").read_text(encoding="utf-8")
    hops = tomllib.loads((ANSNET / f"{STEMS[path]}.toml").read_text(encoding="utf-8"))["path"]["hops"]
    there = f'\n[path]\npreset = "chain"\nrtt = "{path}"\nhops = [{", ".join(map(toml_value, hops))}]\nqueue = "droptail"\n'
    return [(kind, model) for kind, host in HOSTS.items() for model in models(text + there + host, "ansnet.toml")]


def simulated(points: int, folder: Path, jobs: int | None) -> tuple[list[str], np.ndarray]:
    """Names of the points, and ours of every cell: one row per point."""
    rows, every = published(), settings()
    names: list[str] = []
    made: list[np.ndarray] = []
    for kind, acks, place in POINTS[:points]:
        throughput, unfairness = np.full(len(every), np.nan), np.full(len(every), np.nan)
        for path in STEMS:
            model = next(model for host, model in hosts(path) if (host, model.name) == (kind, acks))
            these = [number for number, each in enumerate(every) if each.path == path]
            runs = Runs(model, folder / kind / model.slug / STEMS[path], str(HERE / "ansnet.toml"), jobs=jobs)
            results = runs.sweep([[place]], [every[number].measurement for number in these], f"at-{place:g}").runs
            at = np.array(these)[results["setting"].astype(int).to_numpy() - 1]
            throughput[at] = results["ttcp_utilization_bps"].fillna(results["goodput_total_bps"]).to_numpy() / MBIT
            unfairness[at] = 100 * results["unfairness"].fillna(0.0).to_numpy()
            name = ", ".join(f"{kind} {one.said(one.value(place))}" for one in model.unknowns)
        names.append(f"{name}, ACKs {acks}")
        made.append(cells(rows, throughput, unfairness))
        print(names[-1], flush=True)
    return names, np.array(made)


def errors(rows: list[Row], ours: np.ndarray, of: np.ndarray) -> dict[str, float]:
    """Mean error of cells, as a share of their published mean, by quantity."""
    value = np.array([row.value for row in rows], float)
    made: dict[str, float] = {}
    for quantity in dict.fromkeys(row.quantity for row in rows):
        some = of & np.array([row.quantity == quantity for row in rows])
        made[quantity] = float(np.abs(ours - value)[some].mean() / value[some].mean())
    return made


def halves(rows: list[Row]) -> list[np.ndarray]:
    """Cells that each split holds out: half of the cells of each quantity and table."""
    rng = np.random.default_rng(SEED)
    groups = [(row.where, row.quantity) for row in rows]
    made: list[np.ndarray] = []
    for _ in range(SPLITS):
        held = np.zeros(len(rows), bool)
        for group in dict.fromkeys(groups):
            these = [number for number, one in enumerate(groups) if one == group]
            held[rng.permutation(these)[: len(these) // 2]] = True
        made.append(held)
    return made


def null(rows: list[Row], held: np.ndarray) -> np.ndarray:
    """Prediction that knows no path: the mean of the known cells of a quantity with as many flows."""
    value, groups = np.array([row.value for row in rows], float), [(row.quantity, row["flows"]) for row in rows]
    return np.array([np.mean([value[n] for n in np.flatnonzero(~held) if groups[n] == group]) for group in groups])


def judged(names: list[str], ours: np.ndarray) -> str:
    """The tables."""
    rows = published()
    value, every = np.array([row.value for row in rows], float), np.ones(len(rows), bool)
    today = ours[0]  # a hold of 10 us is as near to the setting of `papers/ansnet` as a hold can be
    within: dict[str, list[int]] = {"fitted": [], "today's hosts": [], "null model": []}
    scores: dict[str, list[list[float]]] = {name: [] for name in within}
    chosen: list[str] = []
    for held in halves(rows):
        nearest = int(np.argmin([sum(errors(rows, one, ~held).values()) for one in ours]))
        chosen.append(names[nearest])
        for name, predicted in (("fitted", ours[nearest]), ("today's hosts", today), ("null model", null(rows, held))):
            scores[name].append(list(errors(rows, predicted, held).values()))
            within[name].append(int((np.abs(predicted - value)[held] <= 0.1 * value[held]).sum()))
    quantities = list(errors(rows, today, every))
    lines = [f"{len(rows)} cells, {SPLITS} splits, {len(names)} points", "", f"| held-out error | {' | '.join(quantities)} | within 10 % |"]
    lines.append("|---" * (len(quantities) + 2) + "|")
    for name, some in scores.items():
        low, middle, high = np.quantile(some, [0.1, 0.5, 0.9], axis=0)
        shown = [f"{100 * m:.0f} % ({100 * a:.0f} to {100 * b:.0f})" for a, m, b in zip(low, middle, high, strict=True)]
        lines.append(f"| {name} | {' | '.join(shown)} | {np.mean(within[name]):.1f} of {int(halves(rows)[0].sum())} |")
    lines += ["", "Chosen: " + ", ".join(f"{name} ({chosen.count(name)})" for name in dict.fromkeys(chosen)), ""]
    lines += [f"| point, all cells | {' | '.join(quantities)} | within 10 % |", "|---" * (len(quantities) + 2) + "|"]
    for at in np.argsort([sum(errors(rows, one, every).values()) for one in ours]):
        shown = [f"{100 * error:.0f} %" for error in errors(rows, ours[at], every).values()]
        lines.append(f"| {names[at]} | {' | '.join(shown)} | {int((np.abs(ours[at] - value) <= 0.1 * value).sum())} |")
    return "\n".join(lines)


def main() -> None:
    """Runs or judges."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("what", choices=("run", "judge"))
    asked.add_argument("--points", type=int, default=len(POINTS), choices=range(1, len(POINTS) + 1))
    asked.add_argument("--jobs", type=int, default=1)
    asked.add_argument("--results", type=Path, default=Path("results/fit/ansnet"))
    given = asked.parse_args()
    names, ours = simulated(given.points, given.results, given.jobs)
    if given.what == "judge":
        print(judged(names, ours))


if __name__ == "__main__":
    main()
