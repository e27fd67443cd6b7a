"""Harm: what flows lose by others on their path, over what they have alone.

Source: Ware, Mukerjee, Seshan and Sherry, Beyond Jain's Fairness Index: Setting the Bar for the Deployment of Congestion Control
Algorithms, HotNets 2019, section 3. Harm is 0 where the others change nothing and 1 where they take everything.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from longfat.errors import LongfatError
from longfat.lazy import pd
from longfat.results import repeats

if TYPE_CHECKING:
    from longfat.results.results import Results

MORE_IS_BETTER = ("goodput_bps", "sender_goodput_bps", "ttcp_rate_bps", "share")
"""Metrics of flows of which less is harm; of all others, more is."""


def harm(alone: float, beside: float, *, more_is_better: bool) -> float:
    """Harm to a flow that has `alone` by itself and `beside` next to others.

    The share of `alone` that is lost, or where less is better (delay, completion time, loss), the share of `beside` that was added. At
    least 0. NaN where a value is unknown.
    """
    whole, rest = (alone, beside) if more_is_better else (beside, alone)
    if math.isnan(whole) or math.isnan(rest):
        return math.nan
    return max(0.0, (whole - rest) / whole) if whole > 0 else 0.0


def by_repeat(results: Results, group: str, metric: str, axis: str, alone: str) -> pd.DataFrame:
    """One row per run in which `group` has others beside it: the axes, `repeat`, and the `harm` to its mean flow.

    Raises LongfatError for an axis, a label, a group or a metric that there is not.
    """
    if axis not in results.axes:
        raise LongfatError(f"there is no axis {axis!r}: choose one of {', '.join(results.axes) or 'none, since nothing is swept'}")
    labels = list(dict.fromkeys(results.runs[axis].astype(str)))
    if alone not in labels:
        raise LongfatError(f"axis {axis!r} has no value {alone!r}: choose one of {', '.join(labels)}")
    if metric not in results.flows:
        raise LongfatError(f"there is no metric {metric!r} of flows: choose a number of the table of flows")
    of_group = results.flows[results.flows["group"] == group]
    if of_group.empty:
        known = ", ".join(dict.fromkeys(results.flows["group"].astype(str)))
        raise LongfatError(f"there is no group of flows {group!r}: choose among {known}")
    keys = [*results.axes, "repeat"]
    each = of_group.groupby(keys, sort=False)[metric].mean().reset_index(name="beside")
    others = [name for name in keys if name != axis]
    base = each[each[axis] == alone][[*others, "beside"]].rename(columns={"beside": "alone"})
    made = each[each[axis] != alone].merge(base, on=others, how="left")
    pairs = zip(made.pop("alone").tolist(), made.pop("beside").tolist(), strict=True)
    made["harm"] = [harm(float(one), float(other), more_is_better=metric in MORE_IS_BETTER) for one, other in pairs]
    return made


def table(results: Results, group: str, metric: str, axis: str, alone: str, level: float) -> pd.DataFrame:
    """One row per combination of the axes: `repeats`, the mean `harm` and, as `harm_ci`, half of its confidence interval."""
    by = by_repeat(results, group, metric, axis, alone).groupby(results.axes, sort=False)["harm"]
    named = {"repeats": by.size(), "harm": by.mean(), "harm_ci": by.agg(lambda values: repeats.half_width(values.tolist(), level))}
    return pd.DataFrame(named).reset_index()
