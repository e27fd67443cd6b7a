"""The pictures of `docs/learning.md`, from the numbers of `longfat.gym.examples.judge`.

python docs/site/learning.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from longfat._longfat import student_t
from longfat.plot import Axis, Plot, Series

ROOT = Path(__file__).parent.parent.parent
JUDGED = ROOT / "python" / "longfat" / "gym" / "examples" / "judged.json"
NAMES = ("bbr3", "vegas", "learned", "reno", "cubic")


def curves(told: dict[str, Any]) -> Plot:
    """Validation power by generation: each seed, and the mean of the seeds with its 95 % interval."""
    curves = {seed: np.array(curve) for seed, curve in told["curves"].items()}
    each = [
        Series(f"seed {seed}", curve[:, 0].tolist(), curve[:, 1].tolist(), markers=False, colour=5 - number // 4, dash=number % 4)
        for number, (seed, curve) in enumerate(curves.items())
    ]
    generations = next(iter(curves.values()))[:, 0]
    powers = np.array([curve[:, 1] for curve in curves.values()])
    half = student_t(0.975, len(powers) - 1) * powers.std(axis=0, ddof=1) / np.sqrt(len(powers))
    mean = Series("mean of 5", generations.tolist(), powers.mean(axis=0).tolist(), error=half.tolist(), colour=6, marker=0)
    return Plot(
        "learning-curves", "Five searches", Axis("generation"), Axis("power on validation paths (1)", start=0, end=1), [*each, mean]
    )


def controls(told: dict[str, Any]) -> Plot:
    """Power of each control on the test paths and beyond them."""
    series: list[Series] = []
    for number, (which, label, shift) in enumerate((("test", "paths as trained on", -0.08), ("beyond", "faster and longer paths", 0.08))):
        powers = [told[which][name]["power"] for name in NAMES]
        x = [place + shift for place in range(len(NAMES))]
        series.append(Series(label, x, [p[0] for p in powers], error=[p[1] for p in powers], line=False, colour=number, marker=number))
    return Plot("learning-controls", "Power on paths that chose nothing", Axis("", names=NAMES), Axis("power (1)", start=0, end=1), series)


def main() -> None:
    """Draws both, for light and dark pages."""
    told = json.loads(JUDGED.read_text(encoding="utf-8"))
    for plot in (curves(told), controls(told)):
        for dark in (False, True):
            plot.save(ROOT / "docs" / "images" / f"{plot.id}{'-dark' if dark else ''}.svg", dark=dark)


if __name__ == "__main__":
    main()
