"""Trade-off of two metrics: the ellipse of a normal distribution over repeats, as RFC 7928 section 2.7 draws delay and goodput.

Each run is a point. The distribution is the maximum-likelihood one, so deviations divide by n. RFC 7928 takes the picture from Winstein,
Transport Architectures for an Evolving Internet, MIT 2014 (WINS2014 there): the median as a circle, and the contour of one standard
deviation, whose orientation is the covariance.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from longfat.errors import LongfatError
from longfat.lazy import np, pd
from longfat.results import repeats

if TYPE_CHECKING:
    from longfat.results.results import Results

DELAY, GOODPUT = "bottleneck_queue_delay_mean_s", "goodput_total_bps"


@dataclass(frozen=True)
class Ellipse:
    """Normal distribution of points (x, y)."""

    repeats: int
    x_median: float
    y_median: float
    x_mean: float
    y_mean: float
    x_deviation: float
    y_deviation: float
    correlation: float
    """NaN where x or y does not vary."""

    def contour(self, corners: int = 48) -> tuple[list[float], list[float]]:
        """Closed contour of one standard deviation, as x and y."""
        turn = np.linspace(0.0, 2 * math.pi, corners + 1)
        lean = 0.0 if math.isnan(self.correlation) else self.correlation
        x = self.x_mean + self.x_deviation * np.cos(turn)
        y = self.y_mean + self.y_deviation * (lean * np.cos(turn) + math.sqrt(max(0.0, 1 - lean * lean)) * np.sin(turn))
        return x.tolist(), y.tolist()


def ellipse(points: Sequence[tuple[float, float]]) -> Ellipse:
    """Ellipse of `points`; points with a NaN do not count."""
    known = np.array([(x, y) for x, y in points if x == x and y == y], dtype=float).reshape(-1, 2)
    if not len(known):
        return Ellipse(0, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)
    x, y = known[:, 0], known[:, 1]
    spread = float(x.std() * y.std())
    both = float(((x - x.mean()) * (y - y.mean())).mean())
    lean = max(-1.0, min(1.0, both / spread)) if spread > 0 else math.nan
    middle = float(np.median(x)), float(np.median(y))
    return Ellipse(len(known), *middle, float(x.mean()), float(y.mean()), float(x.std()), float(y.std()), lean)


def table(results: Results, x: str, y: str) -> pd.DataFrame:
    """One row per combination of the axes: the fields of `Ellipse`."""
    known = repeats.metrics(results)
    for name in (x, y):
        if name not in known:
            raise LongfatError(f"there is no metric {name!r} of a run: choose one of {', '.join(known)}")
    groups = results.runs.groupby(results.axes, sort=False) if results.axes else [((), results.runs)]
    rows = [
        dict(zip(results.axes, labels, strict=True)) | asdict(ellipse(list(zip(runs[x].tolist(), runs[y].tolist(), strict=True))))
        for labels, runs in groups
    ]
    return pd.DataFrame(rows)
