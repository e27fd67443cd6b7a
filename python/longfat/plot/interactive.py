"""A plot for the page: what `plots.js` draws. Colours that follow the theme are set in the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from longfat.lazy import np
from longfat.plot.spec import Axis, Plot, Series, floats
from longfat.plot.style import DENSE, Style, styles
from longfat.plot.thin import thin


def figure_of(plot: Plot, most_points: int | None = None) -> dict[str, Any]:
    """The figure, for `pack`: columns of numbers are arrays. With `most_points`, lines are thinned to about so many."""
    drawn = styles(plot.series)
    content: dict[str, Any] = {
        "id": plot.id,
        "title": plot.title,
        "caption": plot.caption,
        "x": _axis(plot.x),
        "y": _axis(plot.y),
        "series": [_series(series, style, most_points) for series, style in zip(plot.series, drawn, strict=True)],
        "rules": [{"label": rule.label, "x": rule.x, "y": rule.y} for rule in plot.rules],
    }
    if plot.heat:
        content["heat"] = {
            "rows": [floats(row) for row in plot.heat.rows],
            "text": [[plot.heat.label(value) for value in row] for row in plot.heat.rows],
            "low": plot.heat.low,
            "high": plot.heat.high,
            "title": plot.heat.title,
            "colours": list(plot.heat.colours),
        }
    return content


def _series(series: Series, style: Style, most_points: int | None) -> dict[str, Any]:
    if most_points is not None and series.line and series.low is None:
        x, y = thin(series.x, series.y, most_points)
        series = replace(series, x=floats(x), y=floats(y))
    content: dict[str, Any] = {
        "name": series.name,
        "x": series.x,
        "y": series.y,
        "colour": style.colour,
        "dash": style.dash,
        "marker": style.marker,
        "line": series.line,
        # Markers on a dense line would hide it.
        "markers": not series.line or (series.markers and len(series.x) <= DENSE),
        "step": series.step,
        "published": series.published,
        "bar": series.bar,
        # True if a part of it can be found by halving.
        "sorted": bool(np.all(np.diff(np.asarray(series.x)) >= 0)),
    }
    ends = {"low": series.low, "error": series.error}
    return content | {name: values for name, values in ends.items() if values is not None}


def _axis(axis: Axis) -> dict[str, Any]:
    return {"title": axis.title, "log": axis.log, "start": axis.start, "end": axis.end, "names": list(axis.names)}
