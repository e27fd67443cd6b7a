"""SLAC 2004: which background, queue and host limits explain half of Table 1, judged on the other half.

    python bench/fit/slac.py run Caltech --points 64     # runs points of a Sobol sequence; goes on where it was stopped
    python bench/fit/slac.py judge Caltech               # fits halves of the cells to those runs: notebook/slac-fitted.md
    python bench/fit/slac.py equal Caltech 60            # the paper's setting in runs of 60 s, beside those of 1200 s
    python bench/fit/slac.py whole Caltech --points 3    # the points nearest to all cells, again in runs of 1200 s

One file of unknowns per path, `slac-PATH.toml`; the stack, the window and the transmit queue of a cell are set as in `papers/slac`. Points
are drawn before anything is fitted, so no point knows which cells a split holds out. The surrogate ("posterior") is bent around every
published value, so its held-out error is optimistic: the run nearest to the known half is what counts.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
from longfat.fit.data import Data, Measurement, gathered
from longfat.fit.emulator import Emulators
from longfat.fit.posterior import draws, sobol
from longfat.fit.runs import Runs
from longfat.fit.unknowns import models
from longfat.paper import rank_correlation
from longfat.paper.published import load_published

HERE = Path(__file__).parent
SLAC = HERE.parent.parent / "papers" / "slac"
CONTROLS = {
    "Reno": "reno", "P-TCP": "reno", "S-TCP": "scalable", "FAST": "fast", "HS-TCP": "highspeed", "BIC": "bic", "H-TCP": "htcp",
    "HSTCP-LP": "hstcp_lp",
}  # fmt: skip
SPREAD = 0.10
"""Standard deviation of a cell, relative: within 10 % a number of a paper holds."""
SPLITS = 20
SEED = 2004


def cells(path: str) -> Data:
    """The 24 cells of Table 1 of a path, as settings of its file."""
    made: list[Measurement] = []
    for row in load_published(SLAC):
        if row.where == "Table 1" and row.quantity == "throughput" and row["path"] == path:
            stack = row["stack"]
            setting = {
                "flow[0].congestion_control": json.dumps(CONTROLS[stack]),
                "flow[0].streams": "16" if stack == "P-TCP" else "1",
                "flow[0].window": json.dumps(row["window"]),
                "host[0].txqueuelen": '"2000 packets"' if stack == "S-TCP" else '"100 packets"',
            }
            assert row.value is not None
            made.append(Measurement(setting, {"test.goodput_bps": row.value * 1e6}, {}, row.id))
    return gathered(made, spread=SPREAD)


def runs(path: str, folder: Path, duration: str | None = None, jobs: int | None = None) -> Runs:
    """The runs of a path, in the folder of its results."""
    file = HERE / f"slac-{path.lower()}.toml"
    text = file.read_text(encoding="utf-8")
    if duration:
        text = re.sub(r'(?m)^duration = ".*"', f'duration = "{duration} s"', text)
    (model,) = models(text, str(file))
    return Runs(model, folder / path.lower() / (duration or ""), str(file), jobs=jobs)


def names(data: Data) -> tuple[list[str], list[str]]:
    """Stack and window of each cell."""
    words = [re.sub(r"^table1-\w+-", "", one.where).split("-", 1) for one in data.measurements]
    return [stack for _, stack in words], [window for window, _ in words]


def ranking(data: Data, values: np.ndarray) -> float:
    """Rank correlation of the stacks, each with the mean of windows 2 and 3, with the published ones."""
    stacks, windows = names(data)
    sizes = list(dict.fromkeys(windows))[1:]
    kept = list(dict.fromkeys(stacks))

    def means(of: np.ndarray) -> list[float]:
        return [float(np.mean([of[n] for n in range(len(of)) if stacks[n] == stack and windows[n] in sizes])) for stack in kept]

    return rank_correlation(means(values), means(np.array([one.value for one in data.observed])))


def halves(data: Data, splits: int) -> list[np.ndarray]:
    """Cells that each split holds out: half of them, and of each window half, so that no window is unknown."""
    rng = np.random.default_rng(SEED)
    _, windows = names(data)
    made: list[np.ndarray] = []
    for _ in range(splits):
        held = np.zeros(len(data.observed), bool)
        for window in dict.fromkeys(windows):
            these = [number for number, one in enumerate(windows) if one == window]
            held[rng.permutation(these)[: len(these) // 2]] = True
        made.append(held)
    return made


def null(data: Data, held: np.ndarray) -> np.ndarray:
    """Prediction that knows no path: the mean of the known cells of the same window."""
    _, windows = names(data)
    values = np.array([one.value for one in data.observed])
    return np.array([float(np.mean([values[n] for n in np.flatnonzero(~held) if windows[n] == window])) for window in windows])


def share(values: np.ndarray, published: np.ndarray, of: np.ndarray) -> float:
    """Mean error over cells, as a share of their published mean: how `papers/slac/README.md` counts."""
    return float(np.abs(values - published)[of].mean() / published[of].mean())


def judged(path: str, data: Data, places: np.ndarray, outputs: np.ndarray, model_runs: Runs) -> str:
    """The table of a path."""
    published = np.array([one.value for one in data.observed])
    simulated = np.exp(outputs)
    emulators = Emulators(data.observed)
    emulators.learn(places, outputs)
    every = np.ones(len(published), bool)
    errors = np.array([share(one, published, every) for one in simulated])
    ranks = np.array([ranking(data, one) for one in simulated])
    # The surrogate, by points it did not learn: four folds of the design.
    parts = np.arange(len(places)) % 4
    left: list[np.ndarray] = []
    for part in range(4):
        some = Emulators(data.observed)
        some.learn(places[parts != part], outputs[parts != part])
        left.append(np.abs(np.exp(some.logs(places[parts == part])[0]) - simulated[parts == part]) / simulated[parts == part])
    surrogate = float(np.median(np.concatenate(left)))
    held_errors: dict[str, list[float]] = {"posterior": [], "nearest run": [], "window": []}
    held_ranks: list[float] = []
    inside = asked = 0
    predictions = np.full((SPLITS, len(published)), np.nan)
    for number, held in enumerate(halves(data, SPLITS)):
        points = draws(emulators, places.shape[1], without=held, seed=500 + number)
        means, deviations = emulators.logs(points)
        middle = means.mean(axis=0)
        spread = np.sqrt((deviations**2).mean(axis=0) + means.var(axis=0))
        inside += int((np.abs(np.log(published) - middle)[held] <= 1.96 * spread[held]).sum())
        asked += int(held.sum())
        predictions[number, held] = np.exp(middle[held])
        misfits = (((outputs - np.log(published)) / SPREAD)[:, ~held] ** 2).sum(axis=1)
        nearest = simulated[int(misfits.argmin())]
        held_errors["posterior"].append(share(np.exp(middle), published, held))
        held_errors["nearest run"].append(share(nearest, published, held))
        held_errors["window"].append(share(null(data, held), published, held))
        held_ranks.append(ranking(data, nearest))
    out_of_sample = np.nanmean(predictions, axis=0)
    stacks, windows = names(data)
    residual = [f"{stacks[n]} {windows[n]} {published[n] / 1e6:.0f} ({out_of_sample[n] / 1e6:.0f})" for n in range(len(published))]
    best = int(errors.argmin())
    unknowns = model_runs.model.unknowns
    most = ", ".join(
        f"{one.name} {one.said(one.value(low))} to {one.said(one.value(high))}"
        for one, low, high in zip(unknowns, *np.quantile(draws(emulators, places.shape[1]), [0.025, 0.975], axis=0), strict=True)
    )
    at = ", ".join(f"{one.name} {one.said(one.value(place))}" for one, place in zip(unknowns, places[best], strict=True))
    misfit = float((((outputs - np.log(published)) / SPREAD) ** 2).sum(axis=1).min())
    near = np.median(ranks[np.argsort(errors)[: max(1, len(errors) // 10)]])
    lines = [
        f"{path}: {len(places)} points; surrogate's error on points left out {100 * surrogate:.0f} % (median)",
        f"  all cells known, nearest run: error {100 * errors[best]:.0f} %, ranking {ranks[best]:+.2f}; at {at}",
        f"  least misfit {misfit:.0f} for {len(published)} cells; 95 % of the posterior: {most}",
        f"  best ranking of any point {ranks.max():+.2f} (its error {100 * errors[int(ranks.argmax())]:.0f} %); "
        f"median {np.median(ranks):+.2f}; among the tenth with least error {near:+.2f}",
    ]
    for name, some in held_errors.items():
        low, high = np.quantile(some, [0.1, 0.9])
        lines.append(f"  held-out error, {name}: {100 * np.mean(some):.0f} % ({100 * low:.0f} to {100 * high:.0f} % over {SPLITS} splits)")
    lines += [
        f"  ranking of the nearest run to a half: {np.mean(held_ranks):+.2f}; of held-out predictions: {ranking(data, out_of_sample):+.2f}",
        f"  95 % intervals contain {inside} of {asked} held-out cells",
        f"  published (held-out prediction), Mbit/s: {', '.join(residual)}",
    ]
    return "\n".join(lines)


def whole(path: str, data: Data, places: list[list[float]], outputs: np.ndarray, long: Runs, count: int) -> None:
    """Prints what the `count` points nearest to all cells give in short runs, and in those of the paper's length."""
    published = np.array([one.value for one in data.observed])
    every = np.ones(len(published), bool)

    def misfit(outputs: np.ndarray, of: np.ndarray = every) -> np.ndarray:
        return (((outputs - np.log(published)) / SPREAD)[..., of] ** 2).sum(axis=-1)

    chosen = np.argsort(misfit(outputs))[:count]
    stacks, windows = names(data)
    all_made = outputs[:0]
    for number in chosen:
        all_made = long.add([places[number]], data)
        made = all_made[-1]
        at = ", ".join(f"{one.name} {one.said(one.value(place))}" for one, place in zip(long.model.unknowns, places[number], strict=True))
        print(f"{path}, point {number}: {at}")
        for name, logs in (("short", outputs[number]), ("1200 s", made)):
            values = np.exp(logs)
            print(
                f"  {name}: error {100 * share(values, published, every):.0f} %, misfit {misfit(logs):.0f}, "
                f"ranking {ranking(data, values):+.2f}, within 10 % {int((np.abs(values / published - 1) <= 0.1).sum())} of {len(values)}"
            )
        apart = np.abs(np.exp(outputs[number] - made) - 1)
        print(f"  short beside 1200 s: mean difference {100 * apart.mean():.1f} %, largest {100 * apart.max():.0f} %", flush=True)
        cells = (f"{stacks[n]} {windows[n]} {published[n] / 1e6:.0f} ({np.exp(made[n]) / 1e6:.0f})" for n in range(len(published)))
        print(f"  published (1200 s), Mbit/s: {', '.join(cells)}", flush=True)
    simulated = np.exp(all_made)
    errors: list[float] = []
    ranks: list[float] = []
    for held in halves(data, SPLITS):
        nearest = simulated[int(misfit(all_made, ~held).argmin())]
        errors.append(share(nearest, published, held))
        ranks.append(ranking(data, nearest))
    low, high = np.quantile(errors, [0.1, 0.9])
    print(
        f"{path}, {len(simulated)} points of 1200 s: held-out error of the nearest to a half {100 * np.mean(errors):.0f} % "
        f"({100 * low:.0f} to {100 * high:.0f}), ranking {np.mean(ranks):+.2f}"
    )


def main() -> None:
    """Runs, judges or checks a path."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("what", choices=("run", "judge", "equal", "whole"))
    asked.add_argument("path", choices=("Caltech", "UFL", "Manchester"))
    asked.add_argument("duration", nargs="?", help="seconds of a run, in place of the file's")
    asked.add_argument("--points", type=int, default=64)
    asked.add_argument("--jobs", type=int)
    asked.add_argument("--results", type=Path, default=Path("results/fit/slac"))
    given = asked.parse_args()
    data = cells(given.path)
    made = runs(given.path, given.results, given.duration, given.jobs)
    count = len(made.model.unknowns)
    if given.what == "equal":
        usual = [[one.place(USUAL[given.path][one.name]) for one in made.model.unknowns]]
        values = np.exp(made.add(usual, data)[0])
        stacks, windows = names(data)
        for number, value in enumerate(values):
            print(f"{windows[number]:>7} {stacks[number]:<9} {value / 1e6:6.1f}")
        return
    if given.what == "whole":
        every = sobol(POINTS[given.path], count).tolist()
        whole(given.path, data, every, made.add(every, data), runs(given.path, given.results, "1200", given.jobs), given.points)
        return
    every = sobol(given.points, count).tolist()
    for number in range(8, len(every) + 8, 8) if given.what == "run" else [len(every)]:
        outputs = made.add(every[len(made.places) : number], data)
        print(f"{given.path}: {len(made.places)} points", flush=True)
    print(judged(given.path, data, np.array(made.places), outputs, made))


POINTS = {"Caltech": 48, "UFL": 32, "Manchester": 24}
"""Points of short runs that were made."""
USUAL = {
    path: {"base RTT": rtt, "queue": queue, "loss": 1e-7, "bursts": 1e5, "cycles per byte": 8.0, "readers": 50}
    for path, rtt, queue in (("Caltech", 0.010, 14.2e6), ("UFL", 0.070, 584e3), ("Manchester", 0.170, 749e3))
}
"""The setting of `papers/slac`."""


if __name__ == "__main__":
    main()
