"""A plot for the HTML report: a figure for plotly.js, as JSON. Colours that follow the theme are set in the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from longfat.plot.spec import Axis, Heat, Plot, Series
from longfat.plot.style import DENSE, DIVERGING, Style, styles
from longfat.plot.thin import thin


def plotly_figure(plot: Plot) -> dict[str, Any]:
    """The `data` and `layout` of plotly.js. NaN becomes null, which breaks the line."""
    if plot.heat:
        return _map(plot, plot.heat)
    drawn = styles(plot.series)
    return {
        "data": [_trace(series, style) for series, style in zip(plot.series, drawn, strict=True)],
        "layout": {
            "xaxis": _axis(plot.x),
            "yaxis": _axis(plot.y),
            "showlegend": len(plot.series) > 1,
            "barmode": "stack",
            "shapes": [_rule(rule.x, rule.y) for rule in plot.rules],
            "annotations": [_label(rule.label, rule.x, rule.y, plot) for rule in plot.rules],
        },
    }


def _map(plot: Plot, heat: Heat) -> dict[str, Any]:
    trace = {
        "type": "heatmap",
        "z": [_numbers(row) for row in heat.rows],
        "text": [[label(value) for value in row] for row in heat.rows],
        "texttemplate": "%{text}",
        "hovertemplate": "%{z:.3g}<extra></extra>",
        "zmin": heat.low,
        "zmax": heat.high,
        "colorscale": [[i / (len(DIVERGING) - 1), colour] for i, colour in enumerate(DIVERGING)],
        "colorbar": {"title": {"text": heat.title}},
        "xgap": 2,
        "ygap": 2,
    }
    grid = {"showgrid": False, "automargin": True}
    return {
        "data": [trace],
        "layout": {
            "xaxis": _axis(plot.x) | grid,
            "yaxis": _axis(plot.y) | grid | {"autorange": "reversed"},
            "showlegend": False,
            "shapes": [],
            "annotations": [],
        },
    }


def label(value: float) -> str:
    """The number in a cell of a map."""
    # Without a minus before what is rounded to nothing.
    return f"{round(value, 2) + 0.0:.2f}" if math.isfinite(value) else ""


def _trace(series: Series, style: Style) -> dict[str, Any]:
    if series.bar:
        bars = {"type": "bar", "name": series.name, "x": _numbers(series.x), "y": _numbers(series.y)}
        return bars | {"marker": {"color": style.colour}}
    x, y = thin(series.x, series.y)
    # Markers on a dense line would hide it.
    markers = not series.line or (series.markers and len(x) <= DENSE)
    mode = "+".join(part for part, on in (("lines", series.line), ("markers", markers)) if on)
    return {
        "type": "scatter",
        "name": series.name,
        "x": _numbers(list(x)),
        "y": _numbers(list(y)),
        "mode": mode,
        "line": {"color": style.colour, "dash": style.dash, "width": 2, "shape": "hv" if series.step else "linear"},
        "marker": {"color": style.colour, "symbol": style.marker, "size": 7},
    }


def _numbers(values: Sequence[float]) -> list[float | None]:
    # Seven digits are more than a screen shows, and half the page.
    return [float(f"{value:.7g}") if math.isfinite(value) else None for value in values]


def _axis(axis: Axis) -> dict[str, Any]:
    layout: dict[str, Any] = {"title": {"text": axis.title}, "type": "log" if axis.log else "linear"}
    if axis.names:
        layout |= {"tickvals": list(range(len(axis.names))), "ticktext": [name.replace("\n", "<br>") for name in axis.names]}
    if axis.start is not None or axis.end is not None:
        ends = [None if end is None else math.log10(end) if axis.log else end for end in (axis.start, axis.end)]
        layout |= {"range": ends, "autorange": _autorange(axis)}
    return layout


def _autorange(axis: Axis) -> bool | str:
    if axis.start is not None and axis.end is not None:
        return False
    return "max" if axis.end is None else "min"


def _rule(x: float | None, y: float | None) -> dict[str, Any]:
    line = {"dash": "dot", "width": 1}
    if x is not None:
        return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}
    return {"type": "line", "y0": y, "y1": y, "xref": "paper", "x0": 0, "x1": 1, "line": line}


def _label(text: str, x: float | None, y: float | None, plot: Plot) -> dict[str, Any]:
    common = {"text": text, "showarrow": False, "font": {"size": 11}}
    if x is not None:
        at = math.log10(x) if plot.x.log else x
        return common | {"x": at, "yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "center"}
    assert y is not None
    at = math.log10(y) if plot.y.log else y
    return common | {"y": at, "xref": "paper", "x": 0, "xanchor": "left", "yanchor": "bottom"}
