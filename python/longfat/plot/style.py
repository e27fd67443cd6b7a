"""Colours, dashes and markers: ten lines that differ for the colour-blind, in print and on a phone.

Colours: M. Okabe and K. Ito, "Color Universal Design" (2002, rev. 2008), without its yellow, which is too faint for a
line on white; black follows the theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longfat.plot.spec import Series

INK = "ink"
"""Black on a light page, white on a dark one."""

DENSE = 60
"""Points above which a line goes without markers."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "triangle-left", "triangle-right")

MATPLOTLIB_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MATPLOTLIB_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "triangle-left": "<",
    "triangle-right": ">",
}


@dataclass(frozen=True)
class Style:
    """Appearance of one series."""

    colour: str
    dash: str
    marker: str


def styles(series: Sequence[Series]) -> list[Style]:
    """A style for each series: what it asks for, and else by its position, so that no two are the same."""
    chosen: list[Style] = []
    for index, one in enumerate(series):
        colour = COLOURS[(index if one.colour is None else one.colour) % len(COLOURS)]
        # The second round of colours takes the next dash.
        dash = DASHES[(index // len(COLOURS) if one.dash is None else one.dash) % len(DASHES)]
        marker = MARKERS[(index if one.marker is None else one.marker) % len(MARKERS)]
        chosen.append(Style(colour, dash, marker))
    return chosen
