"""Fewer points that look the same: what a screen or a page of paper can show of a million.

Both work by columns of pixels. JavaScript does the same in the page, at each zoom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_POINTS = 2000
"""Points of a line that a figure on paper has; more would not be seen, and make it slow."""


def thin(x: Any, y: Any, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Thins a line to about `most` points: the lowest and the highest of each stretch, so that no peak is lost."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    n, stretches = len(xs), most // 2
    if n <= most:
        return xs, ys
    starts = np.arange(stretches) * n // stretches
    # NaN is neither: where a stretch has nothing else, its first point stays, and breaks the line.
    low = _extremes(np.where(np.isnan(ys), np.inf, ys), starts, np.minimum)
    high = _extremes(np.where(np.isnan(ys), -np.inf, ys), starts, np.maximum)
    keep = np.unique(np.concatenate([low, high]))
    return xs[keep], ys[keep]


def _extremes(values: Floats, starts: NDArray[np.int64], which: Any) -> NDArray[np.int64]:
    """For each stretch the index of its first extreme value."""
    lengths = np.diff(np.append(starts, len(values)))
    hits = np.flatnonzero(values == np.repeat(which.reduceat(values, starts), lengths))
    stretch = np.searchsorted(starts, hits, side="right") - 1
    return hits[np.unique(stretch, return_index=True)[1]]


def merge(x: Floats, low: Floats, high: Floats, dx: float, dy: float) -> tuple[Floats, Floats, Floats]:
    """Bars that touch each other within a pixel (`dx` by `dy`) as one: the column of each, and from where to where it goes."""
    column = np.floor(x / dx)
    order = np.lexsort((low, column))
    column, low, high = column[order], low[order], high[order]
    # Within a column, a bar begins anew where it lies over the highest of those before it.
    base = np.unique(column, return_inverse=True)[1] * (2.0 * (np.ptp(np.concatenate([low, high])) if len(low) else 0.0) + 4 * dy)
    reach = np.maximum.accumulate(base + high)
    new = np.ones(len(low), bool)
    new[1:] = (base + low)[1:] > reach[:-1] + dy
    first = np.flatnonzero(new)
    if not len(first):
        return x[:0], low, high
    return (column[first] + 0.5) * dx, low[first], np.maximum.reduceat(high, first)
