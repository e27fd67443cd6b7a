"""Outcomes of an adaptive sweep: the value that a search found, and the repeats that a precision took."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longfat.errors import LongfatError
from longfat.lazy import pd
from longfat.results.repeats import half_width

if TYPE_CHECKING:
    from longfat.results.results import Results


def found(results: Results) -> pd.DataFrame:
    """Table of what a `[search]` found: one row per combination of the other axes.

    It has the value of the axis that is searched (nothing where no value reaches the bound), the mean of the metric there, and its
    number of repeats. `before` is the last value that was run and does not reach the bound, and `..._before` the metric there (nothing
    where the first value reaches it). Raises LongfatError where the experiment has no `[search]`.
    """
    search = results.provenance.get("search")
    if not search:
        raise LongfatError("the experiment has no [search]: it runs all values of its axes")
    axis, metric, bound, is_floor = search["axis"], search["metric"], search["bound"], search["is_floor"]
    others = [name for name in results.axes if name != axis]
    groups = results.runs.groupby(others, sort=False) if others else [((), results.runs)]
    rows: list[dict[str, Any]] = []
    for labels, group in groups:
        # Runs are in the order of the axis.
        means = group.groupby(axis, sort=False)[metric].agg(["mean", "count"])
        reached = means["mean"] >= bound if is_floor else means["mean"] <= bound
        short, there = means[~reached], means[reached]
        row: dict[str, Any] = dict(zip(others, labels, strict=True))
        row |= {axis: there.index[0] if len(there) else None, metric: there["mean"].iloc[0] if len(there) else None}
        row |= {"repeats": int(there["count"].iloc[0]) if len(there) else 0}
        row |= {"before": short.index[-1] if len(short) else None, f"{metric}_before": short["mean"].iloc[-1] if len(short) else None}
        rows.append(row)
    return pd.DataFrame(rows)


def lines(results: Results) -> list[str]:
    """Lines that describe the outcomes."""
    return [*_of_search(results), *_of_precision(results)]


def _of_search(results: Results) -> list[str]:
    search = results.provenance.get("search")
    if not search or not len(results.runs):
        return []
    axis, metric = search["axis"], search["metric"]
    sign = "≥" if search["is_floor"] else "≤"
    said = [f"First value of {axis} with {metric} {sign} {search['bound']:g}:"]
    for row in found(results).to_dict("records"):
        where = ", ".join(f"{name} {row[name]}" for name in results.axes if name != axis)
        if not row["repeats"]:
            what = f"none: {row[f'{metric}_before']:.4g} at {row['before']}, the last"
        else:
            before = "the first" if pd.isna(row["before"]) else f"{row[f'{metric}_before']:.4g} at {row['before']}"
            what = f"{row[axis]} ({row[metric]:.4g}; {before})"
        said.append(f"  {where}: {what}" if where else f"  {what}")
    return said


def _of_precision(results: Results) -> list[str]:
    asked = results.provenance.get("precision")
    if not asked or not len(results.runs):
        return []
    metric, within = asked["metric"], asked["within"]
    groups = results.runs.groupby(results.axes, sort=False) if results.axes else [((), results.runs)]
    cells: list[list[float]] = [group[metric].tolist() for _, group in groups]

    def is_wide(values: list[float]) -> bool:
        mean = sum(values) / len(values)
        return half_width(values) > (within * abs(mean) if asked["relative"] else within)

    wide = sum(is_wide(values) for values in cells)
    counts = sorted(len(values) for values in cells)
    width = f"{100 * within:g} % of its mean" if asked["relative"] else f"{within:g}"
    repeats = f"{counts[0]} repeats" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]} repeats"
    enough = f"; in {wide} of {len(cells)} combinations {asked['most']} repeats were not enough" if wide else ""
    return [f"{metric} is known within {width} after {repeats}{enough}"]
