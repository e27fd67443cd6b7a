"""Repeats: means with confidence intervals, and how many repeats a narrower one takes.

Intervals are two-sided, by Student's t: half of one is t(n - 1) s / sqrt(n), with s the standard deviation of n repeats (n - 1 in the
denominator). They hold for means of independent values that are not too far from normal. A repeat in which a metric has no value (NaN) does
not count in its n. One value has a mean and no interval.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

from longfat._longfat import student_t
from longfat.errors import LongfatError
from longfat.lazy import pd

if TYPE_CHECKING:
    from longfat.results.results import Results

LEVEL = 0.95
MOST = 1_000_000
"""Most repeats that an experiment file may ask for."""


def half_width(values: Sequence[float], level: float = LEVEL) -> float:
    """Half of the confidence interval of the mean of `values`; NaN for fewer than two. NaN among them does not count."""
    known = pd.Series(values, dtype=float).dropna()
    if len(known) < 2:
        return math.nan
    return _t(len(known), level) * float(known.std(ddof=1)) / math.sqrt(len(known))


def spread(values: Sequence[float], level: float = LEVEL) -> float:
    """`half_width` for a figure: NaN, which draws no bar, also where all of `values` are the same."""
    half = half_width(values, level)
    return half if half > 0 else math.nan


def share_interval(count: float, of: float, level: float = LEVEL) -> tuple[float, float]:
    """Confidence interval of a share, of which `count` among `of` independent trials are known.

    It is the score interval (E. B. Wilson, Probable inference, Journal of the American Statistical Association 22, 1927), which stays
    within 0 and 1 and holds for few of either; (0, 1) without a trial.
    """
    _check(level)
    if of <= 0:
        return 0.0, 1.0
    square = NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (count + square / 2) / (of + square)
    half = math.sqrt(square * (count * (of - count) / of + square / 4)) / (of + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def means(results: Results, level: float = LEVEL) -> pd.DataFrame:
    """One row per combination of the axes: `repeats`; for each metric of the run its mean, and as `..._ci` half of its interval."""
    _check(level)
    names = metrics(results)
    rows: list[dict[str, object]] = []
    for labels, group in _combinations(results):
        row: dict[str, object] = labels | {"repeats": len(group)}
        for name in names:
            values: list[float] = group[name].astype(float).tolist()
            row |= {name: _mean(values), f"{name}_ci": half_width(values, level)}
        rows.append(row)
    return pd.DataFrame(rows)


def group_means(results: Results, level: float = LEVEL) -> pd.DataFrame:
    """One row per combination of the axes and group of flows: `repeats`, `flows`, and means over repeats, with intervals as in `means`.

    A group's `goodput_bps` is the sum of its flows, `share` its part of what all groups have together; other metrics of flows are means
    over the group's flows.
    """
    _check(level)
    rows: list[dict[str, object]] = []
    for labels, runs in _combinations(results):
        table = _of_groups(results, runs)
        columns = [name for name in table.columns if name != "flows"]
        for group in dict.fromkeys(table.index.get_level_values("group")):
            each = table.xs(group, level="group")
            row: dict[str, object] = labels | {"group": group, "repeats": len(each), "flows": int(each["flows"].iloc[0])}
            for name in columns:
                values: list[float] = each[name].astype(float).tolist()
                row |= {name: _mean(values), f"{name}_ci": half_width(values, level)}
            rows.append(row)
    return pd.DataFrame(rows)


def group_ratios(results: Results, first: str, second: str, metric: str = "goodput_bps", level: float = LEVEL) -> pd.DataFrame:
    """One row per combination of the axes: `repeats`, `ratio` of a flow of group `first` to one of `second`, `ratio_low`, `ratio_high`.

    Each repeat gives the quotient of the means over the flows of both groups. `ratio` is their geometric mean, since a ratio and its
    inverse are then one answer; the interval is by Student's t on logarithms. NaN where a group has a metric of 0.

    Raises LongfatError for a group that no run has, and for what is no metric of flows.
    """
    _check(level)
    rows: list[dict[str, object]] = []
    for labels, runs in _combinations(results):
        table = _of_groups(results, runs)
        known = list(dict.fromkeys(table.index.get_level_values("group")))
        if wrong := [name for name in (first, second) if name not in known]:
            raise LongfatError(f"there is no group of flows {wrong[0]!r}: choose among {', '.join(map(str, known))}")
        if metric not in table:
            raise LongfatError(f"there is no metric {metric!r} of flows: choose one of {', '.join(table.columns)}")
        # Rates of groups are sums.
        of_one = table[metric] / table["flows"] if metric == "goodput_bps" else table[metric]
        quotient = of_one.xs(first, level="group") / of_one.xs(second, level="group")
        logs = [math.log(value) if 0 < value < math.inf else math.nan for value in quotient.tolist()]
        middle, half = _mean(logs), half_width(logs, level)
        if any(value != value for value in logs):
            middle = half = math.nan
        limits = {"ratio": math.exp(middle), "ratio_low": math.exp(middle - half), "ratio_high": math.exp(middle + half)}
        rows.append(labels | {"repeats": len(quotient)} | limits)
    return pd.DataFrame(rows)


def goodput_by_group(results: Results) -> Any:
    """The goodputs of the flows that have one, grouped by run and group of flows: `sum()` or `mean()` makes one value of each."""
    flows = results.flows
    # An axis of the name of a column leaves the flows' own another name. A run that stands twice in a sweep has its flows twice.
    flow, group = (f"flow_{name}" if f"flow_{name}" in flows else name for name in ("flow", "group"))
    real = flows[flows["goodput_bps"].notna()].drop_duplicates(["run", flow])
    return real.groupby(["run", group], sort=False)["goodput_bps"]


def _of_groups(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """One row per repeat and group of flows: how many flows, the sum of their goodput, its share, and means of their other metrics."""
    # Two combinations may be the same run: a flow's row is known by its labels, too.
    keys = [name for name in ("run", *results.axes, "repeat") if name in results.flows]
    flows = results.flows.merge(runs[keys].drop_duplicates(), on=keys)
    by = flows.groupby(["repeat", "group"], sort=False)
    # Metrics stand behind the number of the flow.
    behind = list(flows.columns)[list(flows.columns).index("flow") + 1 :]
    table = by[[name for name in behind if name != "sender" and pd.api.types.is_numeric_dtype(flows[name])]].mean()
    table["goodput_bps"] = by["goodput_bps"].sum()
    whole = table["goodput_bps"].groupby(level="repeat").transform("sum")
    table.insert(0, "flows", by.size())
    table.insert(1, "share", table["goodput_bps"] / whole.where(whole > 0))
    return table


def needed(results: Results, metric: str, within: float, *, relative: bool = True, level: float = LEVEL) -> pd.DataFrame:
    """How many repeats make half of the confidence interval of `metric` at most `within`: of the mean, or where not `relative` in its unit.

    One row per combination of the axes, with `repeats` (there are), the mean, `..._ci` and `repeats_needed`: the least n, from the repeats
    there are on, with t(n - 1) s / sqrt(n) <= `within` (Law and Kelton, Simulation Modeling and Analysis, 2000, section 9.4.1). It goes by
    the deviation s of the repeats there are, so with few of them it is rough. NaN where there are fewer than two, or a million are not
    enough.

    Raises LongfatError for what is no metric of the run, and a width that is not positive.
    """
    _check(level)
    if metric not in metrics(results):
        raise LongfatError(f"there is no metric {metric!r} of a run: choose one of {', '.join(metrics(results))}")
    if not within > 0:
        raise LongfatError(f"within={within}: expected a positive number, such as 0.05 for 5 % of the mean")
    rows: list[dict[str, object]] = []
    for labels, group in _combinations(results):
        values: list[float] = group[metric].astype(float).tolist()
        mean, half = _mean(values), half_width(values, level)
        width = within * abs(mean) if relative else within
        count = repeats_needed(sum(value == value for value in values), half, width, level)
        rows.append(labels | {"repeats": len(group), metric: mean, f"{metric}_ci": half, "repeats_needed": count})
    return pd.DataFrame(rows)


def repeats_needed(n: int, half: float, width: float, level: float = LEVEL) -> float:
    """The least n, from `n` on, that brings half of an interval from `half` to `width`, by the deviation of those `n`; see `needed`."""
    if math.isnan(half) or math.isnan(width):
        return math.nan
    deviation = half * math.sqrt(n) / _t(n, level)

    def is_enough(count: int) -> bool:
        return _t(count, level) * deviation / math.sqrt(count) <= width

    if is_enough(n):
        return n
    if not is_enough(MOST):
        return math.nan
    low, high = n, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def metrics(results: Results) -> list[str]:
    """The columns of `runs` that are metrics, and the time at which a run ended."""
    columns = list(results.runs.columns)
    # They stand behind the axes, their numbers and the repeat.
    behind = columns[columns.index("repeat") + 1 :]
    left_out = {*results.axes, "seed", "run_seed", "steps", "warnings"}
    return [name for name in behind if name not in left_out and pd.api.types.is_numeric_dtype(results.runs[name])]


def _combinations(results: Results) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    """The runs of each combination of the axes, with its labels."""
    if not results.axes:
        yield {}, results.runs
        return
    for labels, group in results.runs.groupby(results.axes, sort=False):
        yield dict(zip(results.axes, cast("tuple[object, ...]", labels), strict=True)), group


def _mean(values: Sequence[float]) -> float:
    return float(pd.Series(values, dtype=float).mean())


def _t(n: int, level: float) -> float:
    return student_t((1 + level) / 2, n - 1)


def _check(level: float) -> None:
    if not 0 < level < 1:
        raise LongfatError(f"level={level}: expected a number between 0 and 1, such as 0.95")
