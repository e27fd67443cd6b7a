"""Plots: a spec (`Plot`), a renderer for HTML and a renderer for PNG and SVG."""

from pathlib import Path

from longfat.extras import need_to_draw
from longfat.plot.defaults import default_plots
from longfat.plot.interactive import figure_of
from longfat.plot.packed import pack, unpack
from longfat.plot.sequence import sequence_series, speed, time_sequence, window_scale
from longfat.plot.spec import Axis, Heat, Plot, Rule, Series

__all__ = [
    "Axis",
    "Heat",
    "Plot",
    "Rule",
    "Series",
    "default_plots",
    "figure_of",
    "pack",
    "save",
    "sequence_series",
    "speed",
    "time_sequence",
    "unpack",
    "window_scale",
]


def save(plot: Plot, folder: Path) -> list[Path]:
    """Writes `<id>.png` and `<id>.svg` into `folder`; the same plot gives the same bytes. LongfatError without matplotlib."""
    need_to_draw()
    from longfat.plot.print import save as write

    return write(plot, folder)
