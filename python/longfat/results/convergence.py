"""Convergence: how long flows take until each has near an equal share.

Source: RFC 5166 section 2.3.3. Its delta-fair convergence time is the time that two flows of one round trip take from shares of 100/101
and 1/101 to shares of (1 + delta)/2 and (1 - delta)/2. Its other form counts round trips, and calls rates epsilon-fair whose least is at
least 1 - epsilon of the greatest (section 2.3.1; `unfairness` is the least such epsilon). Two flows are delta-fair where they are
epsilon-fair with epsilon = 2 delta / (1 + delta).

Departs from RFC 5166: shares are of what the flows have together, not of the link, since a control that leaves a part of the link unused
may still share evenly; and n flows have (1 +- delta)/n.
"""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longfat.errors import LongfatError
from longfat.lazy import np, pd
from longfat.results import repeats

if TYPE_CHECKING:
    from longfat.results.result import Result
    from longfat.results.results import Results

DELTA = 0.1
"""Bansal, Balakrishnan, Floyd and Shenker, Dynamic Behavior of Slowly-Responsive Congestion Control Algorithms, SIGCOMM 2001."""
ROUND_TRIPS = 10
"""Round trips over which rates are taken: K of RFC 7928 section 2.7."""


@dataclass(frozen=True)
class Converged:
    """Convergence of one run."""

    time_s: float
    """Time from the last start until rates were delta-fair; NaN where they never were."""
    left_s: float
    """Time from the last start until the run ended."""
    rtt_s: float
    """Least round trip of the flows, the longest of them."""


def of_run(result: Result, groups: Sequence[str] = (), delta: float = DELTA, over_s: float | None = None) -> Converged:
    """Convergence of the flows of `groups`, or of all that have a goodput, in one run.

    Rates are taken over `over_s` seconds, by default ten mean round trips of the slowest flow. Raises LongfatError without
    `measure.interval`, for fewer than two flows, and for a delta that is not between 0 and 1.
    """
    if not 0 < delta < 1:
        raise LongfatError(f"delta={delta}: expected a number between 0 and 1, such as {DELTA}")
    if over_s is not None and not over_s > 0:
        raise LongfatError(f"over_s={over_s}: expected seconds above 0")
    flows = result.flows[result.flows["goodput_bps"].notna()]
    if groups:
        if missing := [name for name in groups if name not in set(flows["group"])]:
            known = ", ".join(dict.fromkeys(flows["group"].astype(str)))
            raise LongfatError(f"there is no group of flows {missing[0]!r} with a goodput: choose among {known}")
        flows = flows[flows["group"].isin(list(groups))]
    if len(flows) < 2:
        raise LongfatError("convergence takes two flows or more: this run has one")
    if result.flow_series.empty:
        raise LongfatError('convergence is read from the series: set `measure.interval`, such as "100 ms"')
    numbers: list[int] = flows["flow"].tolist()
    arrived = result.flow_series.pivot(index="time_s", columns="flow", values="bytes_arrived")[numbers].ffill().fillna(0.0)
    times = arrived.index.to_numpy(dtype=float)
    start = float(flows["start_s"].max())
    span = over_s if over_s is not None else ROUND_TRIPS * float(flows["rtt_mean_s"].max())
    found = _first_fair(times, arrived.to_numpy(dtype=float), start, span, delta)
    return Converged(found - start, float(times[-1]) - start, float(flows["rtt_min_s"].max()))


def _first_fair(times: Any, arrived: Any, start: float, span: float, delta: float) -> float:
    """First instant at which the rates over the `span` before it, all of it after `start`, were delta-fair; NaN if there is none."""
    count = arrived.shape[1]
    # The sample at which each span begins; half of an interval allows for the rounding of instants.
    slack = 0.5 * float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    first = np.searchsorted(times, times - span - slack)
    fits = (times - span >= start - slack) & (first < np.arange(len(times)))
    rates = arrived - arrived[first]
    total = rates.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = rates / total[:, None]
    fair = fits & (total > 0) & (np.abs(shares * count - 1.0) <= delta).all(axis=1)
    return float(times[int(np.argmax(fair))]) if fair.any() else math.nan


def table(results: Results, groups: Sequence[str], delta: float, over_s: float | None, level: float) -> pd.DataFrame:
    """One row per combination of the axes; see `Results.convergence`."""
    each = pd.DataFrame(_rows(results, groups, delta, over_s))
    rows: list[dict[str, Any]] = []
    for labels, runs in each.groupby(results.axes, sort=False) if results.axes else [((), each)]:
        times: list[float] = runs["time_s"].tolist()
        rounds: list[float] = (runs["time_s"] / runs["rtt_s"]).tolist()
        rows.append(
            dict[str, Any](zip(results.axes, labels, strict=True))
            | {"repeats": len(runs), "converged": int(runs["time_s"].notna().sum())}
            | {"convergence_s": _mean(times), "convergence_s_ci": repeats.half_width(times, level)}
            | {"convergence_rtts": _mean(rounds), "convergence_rtts_ci": repeats.half_width(rounds, level)}
        )
    return pd.DataFrame(rows)


def _rows(results: Results, groups: Sequence[str], delta: float, over_s: float | None) -> Iterator[dict[str, object]]:
    for result in results:
        one = of_run(result, groups, delta, over_s)
        yield {**result.labels, "time_s": one.time_s, "rtt_s": one.rtt_s}


def _mean(values: Sequence[float]) -> float:
    return float(pd.Series(values, dtype=float).mean())
