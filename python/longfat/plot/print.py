"""A plot for paper: PNG and SVG by matplotlib, in the size of a column that is read without zooming."""

# matplotlib leaves its keyword arguments untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import style as mpl_style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from longfat.errors import LongfatError
from longfat.plot.spec import Axis, Heat, Plot, Series
from longfat.plot.style import DENSE, INK, MATPLOTLIB_DASHES, MATPLOTLIB_MARKERS, styles
from longfat.plot.thin import merge, thin
from longfat.text import clean

SETTINGS: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "ps.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "longfat",
}


PAPER, LIGHT, LINES = "#0d1117", "#e6edf3", "#30363d"
DARK: Any = {
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), PAPER),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), LIGHT),
    "grid.color": LINES,
}
"""Settings of a figure for a dark page."""

SIZE = (6.4, 3.6)
"""Width and height of a figure, in inches, before the space around it is cut off."""

NOT_OWN = ("backend", "interactive", "figure.figsize", "figure.dpi", "savefig.dpi", "figure.facecolor", "figure.edgecolor")
"""Settings that a notebook changes for its screen."""

PIXELS = 1000
"""Columns and rows that ink can tell apart in a figure of this size."""


FEW_DECADES = 2e3
"""Ratio of the ends of a logarithmic axis up to which more than the powers of ten are labelled."""


MANY_MARKS = 20
"""Number of marks without a line from which on each is small."""
LEAST = 7
"""Height of the shortest bar, in rows of `PIXELS`."""


def save(plot: Plot, folder: Path) -> list[Path]:
    """Writes `<id>.png` and `<id>.svg` into `folder`; the same plot gives the same bytes."""
    with mpl.rc_context(SETTINGS):
        figure = draw(plot)
        paths = [folder / f"{plot.id}.png", folder / f"{plot.id}.svg"]
        figure.savefig(paths[0], metadata={"Software": None}, bbox_inches="tight")
        figure.savefig(paths[1], metadata={"Date": None}, bbox_inches="tight")
    return paths


METADATA: Any = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None, "Producer": None, "Creator": None}}
"""Metadata by the file name's ending, without what differs from day to day."""


def write(
    plot: Plot,
    file: Path,
    width: float | None = None,
    height: float | None = None,
    font_size: float | None = None,
    style: str | None = None,
    dark: bool = False,
) -> Path:
    """Writes a plot as its name ends; the same plot and settings give the same bytes. `Plot.save` describes the parameters."""
    if file.suffix.lower() not in METADATA:
        raise LongfatError(f"cannot write {file}: a figure's name ends in {', '.join(METADATA)}")
    for name, inches in (("width", width), ("height", height)):
        if inches is not None and not 0.5 <= inches <= 100:
            raise LongfatError(f"{name}={inches}: expected inches from 0.5 to 100")
    if font_size is not None and not 1 <= font_size <= 100:
        raise LongfatError(f"font_size={font_size}: expected points from 1 to 100")
    if style is not None and style not in mpl_style.available:
        raise LongfatError(f"style={style!r}: expected one of matplotlib's, {', '.join(mpl_style.available)}")
    own = {name: value for name, value in mpl.rcParams.items() if name not in NOT_OWN and value != mpl.rcParamsDefault[name]}
    with mpl.rc_context(SETTINGS | own | (DARK if dark else {})):
        if style is not None:
            mpl_style.use(style)
        if font_size is not None:
            mpl.rcParams.update({"font.size": font_size, "legend.fontsize": font_size * 8 / 9})
        # A figure of a given size is that size: nothing is cut off.
        cut = "tight" if width is None and height is None else None
        try:
            figure = draw(plot, None if cut else (width or SIZE[0], height or SIZE[1]))
            figure.savefig(file, metadata=METADATA[file.suffix.lower()], bbox_inches=cut)
        except OSError as error:
            raise LongfatError(f"cannot write {file}: {error.strerror or error}") from error
    return file


LINE = 0.19
"""Height of a name on the y axis, in inches."""
PANEL = 1.9
"""Height of one panel of several, in inches."""


def write_panels(plots: Sequence[Plot], file: Path) -> Path:
    """Writes plots of one x axis below each other, as the file's name ends; the same plots give the same bytes. LongfatError."""
    if file.suffix.lower() not in METADATA:
        raise LongfatError(f"cannot write {file}: a figure's name ends in {', '.join(METADATA)}")
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(SIZE[0] * 1.25, PANEL * len(plots) + 0.6), layout="constrained")
        FigureCanvasAgg(figure)
        every = np.atleast_1d(figure.subplots(len(plots), sharex=True))
        for axes, plot in zip(every, plots, strict=True):
            _draw_into(figure, axes, replace(plot, x=replace(plot.x, title=plot.x.title if axes is every[-1] else "")))
        figure.align_ylabels(every)
        try:
            figure.savefig(file, metadata=METADATA[file.suffix.lower()], bbox_inches="tight")
        except OSError as error:
            raise LongfatError(f"cannot write {file}: {error.strerror or error}") from error
    return file


def to_svg(plot: Plot) -> str:
    """The plot as SVG."""
    file = io.StringIO()
    with mpl.rc_context(SETTINGS):
        draw(plot).savefig(file, format="svg", metadata=METADATA[".svg"], bbox_inches="tight")
    return file.getvalue()


def draw(plot: Plot, inches: tuple[float, float] | None = None) -> Figure:
    """The figure, with the legend to the right of the axes. By default it is as high as its names on y need, so that they do not touch."""
    wide, high = SIZE
    names = [line for name in plot.y.names for line in str(name).split("\n")]
    figure = Figure(figsize=inches or (wide, max(high, LINE * len(names) + 1)), layout="constrained")
    FigureCanvasAgg(figure)
    _draw_into(figure, figure.add_subplot(), plot)
    return figure


def _draw_into(figure: Figure, axes: Any, plot: Plot) -> None:
    if plot.heat:
        _map(figure, axes, plot.heat)
    below: dict[float, float] = {}
    for series, style in zip(plot.series, styles(plot.series), strict=True):
        dense = len(series.x) > (MANY_MARKS if not series.line else DENSE)
        colour = mpl.rcParams["text.color"] if style.colour == INK else style.colour
        if series.low is not None:
            _bars(axes, plot, series, colour)
            continue
        if series.bar:
            bottom = [below.get(x, 0.0) for x in series.x]
            axes.bar(
                series.x,
                series.y,
                bottom=bottom,
                label=_plain(series.name),
                color=colour,
                width=0.85,
                edgecolor=mpl.rcParams["axes.facecolor"],
                linewidth=0.4,
            )
            _errors(axes, series, mpl.rcParams["text.color"], bottom)
            below |= {x: b + y for x, y, b in zip(series.x, series.y, bottom, strict=True)}
            continue
        x, y = thin(series.x, series.y, PIXELS * 4) if series.line else (np.asarray(series.x), np.asarray(series.y))
        axes.plot(
            x,
            y,
            label=_plain(series.name),
            color=colour,
            linestyle=MATPLOTLIB_DASHES[style.dash] if series.line else "none",
            marker=MATPLOTLIB_MARKERS[style.marker] if not series.line or (series.markers and not dense) else "none",
            **_mark(series, colour, many=dense and not series.line),
            drawstyle="steps-post" if series.step else "default",
        )
        _errors(axes, series, colour)
    for rule in plot.rules:
        if rule.x is not None:
            axes.axvline(rule.x, color="#888888", linestyle=":", linewidth=1)
            axes.annotate(_plain(rule.label), (rule.x, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8)
        elif rule.y is not None:
            axes.axhline(rule.y, color="#888888", linestyle=":", linewidth=1)
            axes.annotate(_plain(rule.label), (0, rule.y), xycoords=("axes fraction", "data"), ha="left", va="bottom", fontsize=8)
    axes.set_title(_plain(plot.title), loc="left", fontweight="bold", pad=14 if any(rule.x is not None for rule in plot.rules) else 6)
    axes.set_xlabel(_plain(plot.x.title))
    axes.set_ylabel(_plain(plot.y.title))
    _scale(plot.x, axes.xaxis, axes.set_xscale, axes.set_xlim)
    _scale(plot.y, axes.yaxis, axes.set_yscale, axes.set_ylim)
    if len(plot.series) > 1:
        # Beside the axes and not beside the title, which may be longer than they are wide.
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0, frameon=False)


def _mark(series: Series, colour: str, *, many: bool) -> dict[str, Any]:
    """Size of the marks of a series, and whether they are filled."""
    if series.published:
        return {"markersize": 8, "markeredgewidth": 1.4, "markeredgecolor": colour, "markerfacecolor": "none", "zorder": 5}
    # Marks are small where there are many.
    return {"markersize": 2.4, "markeredgewidth": 0.4} if many else {}


def _errors(axes: Any, series: Series, colour: str, below: Sequence[float] = ()) -> None:
    """The intervals around the points of a series, where it has any."""
    if series.error is None:
        return
    error, y = np.asarray(series.error), np.asarray(series.y) + (np.asarray(below) if below else 0.0)
    real = np.isfinite(error) & np.isfinite(y)
    if real.any():
        axes.errorbar(np.asarray(series.x)[real], y[real], yerr=error[real], fmt="none", ecolor=colour, elinewidth=1, capsize=2.5)


def _bars(axes: Any, plot: Plot, series: Series, colour: str) -> None:
    """Vertical bars, as the segments of a time-sequence graph; those that ink would run together are one."""
    x, high, low = np.asarray(series.x), np.asarray(series.y), np.asarray(series.low)
    seen = (x >= (-np.inf if plot.x.start is None else plot.x.start)) & (x <= (np.inf if plot.x.end is None else plot.x.end))
    x, low, high = x[seen], low[seen], high[seen]
    wide, tall = _extent(plot.x, [one.x for one in plot.series]), _extent(plot.y, [one.y for one in plot.series])
    if len(x) > DENSE and wide > 0 and tall > 0:
        x, low, high = merge(x, low, high, wide / PIXELS, tall / PIXELS)
    # A segment of a long stream is less than a dot of ink: it is drawn as one that can be seen, and the stream as a thick line.
    short = np.maximum(0.0, LEAST * tall / PIXELS - (high - low)) / 2
    low, high = low - short, high + short
    lines = np.stack([np.stack([x, low], axis=1), np.stack([x, high], axis=1)], axis=1)
    axes.add_collection(LineCollection(list(lines), colors=colour, linewidths=1.4, label=_plain(series.name)), autolim=True)
    axes.autoscale_view()


def _extent(axis: Axis, values: list[Any]) -> float:
    every = np.concatenate([np.asarray(some, np.float64) for some in values]) if values else np.array([])
    every = every[np.isfinite(every)]
    if not len(every):
        return 0.0
    return float((every.max() if axis.end is None else axis.end) - (every.min() if axis.start is None else axis.start))


def _plain(text: str) -> str:
    """`text` as it is. Between dollars, matplotlib would read mathematics; what begins with an underscore, it would leave out."""
    text = clean(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _map(figure: Figure, axes: Any, heat: Heat) -> None:
    colours = LinearSegmentedColormap.from_list("longfat", list(heat.colours))
    image = axes.imshow(heat.rows, cmap=colours, vmin=heat.low, vmax=heat.high, aspect="auto")
    # A missing value has a colour of its own: it is not a value in the middle.
    axes.set_facecolor("#dddddd")
    for y, row in enumerate(heat.rows):
        for x, value in enumerate(row):
            # Relative luminance (sRGB, its curve taken as a power of 2.2), for the better contrast of the two.
            light = sum(part * colour**2.2 for part, colour in zip((0.2126, 0.7152, 0.0722), image.to_rgba(value)[:3], strict=True))
            axes.text(x, y, heat.label(value), ha="center", va="center", fontsize=8, color="white" if light < 0.18 else "black")
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, label=_plain(heat.title))


def _scale(axis: Axis, drawn: Any, set_scale: Any, set_limits: Any) -> None:
    if axis.names:
        drawn.set_ticks(range(len(axis.names)), [_plain(name) for name in axis.names])
    if axis.log:
        set_scale("log")
    if axis.start is not None or axis.end is not None:
        set_limits(axis.start, axis.end)
    if axis.start is not None and axis.end is None and not axis.log:
        # Room for a mark at the top: what was left there is a part of what the data span, which may be far from where the axis starts.
        high, top = drawn.get_view_interval()[1], drawn.get_data_interval()[1]
        set_limits(axis.start, max(high, top + 0.04 * (top - axis.start)))
    if axis.log:
        low, high = drawn.get_view_interval()
        # Over few decades 1, 2 and 5 of each, as people write numbers; powers of ten where those are shorter.
        if high / low < FEW_DECADES:
            drawn.set_major_locator(LogLocator(subs=(1, 2, 5)))
            drawn.set_minor_formatter(NullFormatter())
        if low >= 1e-4 and high <= 1e7:
            drawn.set_major_formatter(FuncFormatter(_number))


def _number(value: float, _: int | None) -> str:
    return f"{value:,.12g}" if value >= 1e4 else f"{value:.12g}"
