"""Plots: a spec (`Plot`), a renderer for HTML and a renderer for PNG and SVG."""

from longfat.plot.spec import Axis, Plot, Rule, Series

__all__ = ["Axis", "Plot", "Rule", "Series"]
