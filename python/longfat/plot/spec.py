"""Specs of plots: contents apart from how they are drawn. One spec is drawn interactively and for print."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longfat.extras import need_to_draw
from longfat.lazy import np

DIVERGING = ("#0072B2", "#ffffff", "#D55E00")
"""Colours from low to high: blue and vermilion, which are told apart with any colour vision, and in grey by the numbers in the cells."""
SEQUENTIAL = ("#f2f7fb", "#56B4E9", "#00406a")
"""Colours from little to much: darker is more, also in grey."""


@dataclass(frozen=True)
class Axis:
    """One axis of a plot.

    `title` ends with its unit in parentheses, e.g. `"throughput (Mbit/s, payload)"`.
    """

    title: str
    log: bool = False
    start: float | None = None
    """Start of the axis (a data value, also when `log`); by default, where the data begins."""
    end: float | None = None
    names: Sequence[str] = ()
    """Names of the values 0, 1, 2..., where they count things (stacks) rather than measure. May be of two lines."""


@dataclass(frozen=True)
class Series:
    """One line of a plot: `x` and `y` (columns of a DataFrame will do) have the same length; NaN in `y` breaks it.

    The legend lists series by `name`. `colour`, `dash` and `marker` are indices into the palette of
    `longfat.plot.style`; left at `None` the position of the series in the plot decides, so that two series
    always differ in at least one of them. Give them to show structure: one colour a build, one dash a background.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    """Lower ends of vertical bars to `y`, as a time-sequence graph has its segments; there are no lines and markers then."""
    error: Sequence[float] | None = None
    """Half of the interval around each point, as a bar with ends; NaN where there is none."""
    line: bool = True
    markers: bool = True
    step: bool = False
    """Hold each value until the next, as counters and windows do."""
    published: bool = False
    """True for values that somebody else measured: larger hollow marks, over all lines."""
    bar: bool = False
    """A bar at each x instead of a line, on top of the bars of the series before it."""
    colour: int | None = None
    dash: int | None = None
    marker: int | None = None

    def __post_init__(self) -> None:
        # Columns of a DataFrame come in as they are; from here on a series is flat arrays, of a million values if need be.
        for name, values in (("x", self.x), ("y", self.y), ("low", self.low), ("error", self.error)):
            if values is not None:
                object.__setattr__(self, name, floats(values))
                if len(values) != len(self.x):
                    raise ValueError(f"series {self.name!r}: {len(self.x)} values of x, {len(values)} of {name}")


def floats(values: Any) -> Sequence[float]:
    """Makes a flat array of floats of anything that holds numbers (a column of a DataFrame, an array)."""
    return array("d", np.asarray(values, dtype=np.float64).tobytes())


@dataclass(frozen=True)
class Rule:
    """A labelled straight line across the plot, such as the bandwidth-delay product. Give `x` or `y`."""

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Heat:
    """A map of values, each with its number: row by row from the top, as `y` names them.

    Colours go from `low` over a neutral middle (unless `sequential`) to `high`. NaN leaves its place empty.
    """

    rows: Sequence[Sequence[float]]
    low: float
    high: float
    title: str
    sequential: bool = False
    """True for a scale from nothing to much, without a middle."""

    @property
    def colours(self) -> Sequence[str]:
        """Colours from `low` to `high`."""
        return SEQUENTIAL if self.sequential else DIVERGING

    def label(self, value: float) -> str:
        """The number in a cell."""
        if not math.isfinite(value):
            return ""
        # A value that rounds to nothing has no minus before it.
        return f"{value:.3g}" if self.sequential else f"{round(value, 2) + 0.0:.2f}"


@dataclass(frozen=True)
class Plot:
    """One plot. `id` names its files (`figure1.svg`), so it is made of letters, digits and dashes."""

    id: str
    title: str
    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    caption: str = ""
    rules: Sequence[Rule] = field(default=())
    heat: Heat | None = None
    """Map shown in the place of series; both axes have names then."""

    def save(
        self,
        file: str | Path,
        *,
        width: float | None = None,
        height: float | None = None,
        font_size: float | None = None,
        style: str | None = None,
        dark: bool = False,
    ) -> Path:
        """Writes it as SVG, PDF or PNG, by the ending of the name.

        `width` and `height` are inches: a figure of a given size is exactly that, such as a column of 3.5 inches. `font_size` is points.
        `style` is one of matplotlib's styles. Whatever you set in `matplotlib.rcParams` holds; lines keep longfat's colours. PDF has
        TrueType fonts. With `dark` it is for a dark page.

        Raises LongfatError for another ending, size or style.
        """
        need_to_draw()
        from longfat.plot.print import write

        return write(self, Path(file), width, height, font_size, style, dark)

    def _repr_svg_(self) -> str:
        need_to_draw()
        from longfat.plot.print import to_svg

        return to_svg(self)
