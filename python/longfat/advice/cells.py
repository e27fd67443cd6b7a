"""Cells: the metrics of each candidate in each case."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longfat.advice import lengths
from longfat.advice.plan import OTHERS, Plan, group_of
from longfat.lazy import np
from longfat.results.repeats import half_width
from longfat.results.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELAYS = (("rtt_p95_s", "p95 RTT"), ("rtt_mean_s", "mean RTT"))
"""Columns of flows for what a candidate's round trips are, and what to call them: the first that there is."""
SHORT = ("short_run",)
"""Warnings that say that a longer run may give another number."""
SMALL = 100_000
"""Bytes of payload up to which a transfer of others is short: pFabric (SIGCOMM 2013, section 5) calls these small."""
FEWEST = 10
"""Least short transfers of which a median is told."""


@dataclass(frozen=True)
class Cell:
    """One candidate in one case, over all seeds."""

    candidate: str
    case: str
    goodput: float
    """Payload of all its streams, bit/s, after the warmup. Where several sites share the path: of the site that gets least."""
    half: float
    """Half of the goodput's 95 % interval over the seeds; NaN for one seed."""
    delay: float
    """Seconds: `delay_of` says of what."""
    retransmitted: float
    """Share of its segments."""
    rival: float
    """Payload of the flows beside it, bit/s; NaN where there are none."""
    in_flight: float
    """The most payload that one of its streams had in flight, bytes."""
    is_short: bool
    """True if the runs were too short for the control to have shown what it does."""
    dropped: int
    """Packets that the bottleneck's queues had no room for, in the whole run."""
    seeds: int = 1
    """Runs that it is the mean of."""
    jain: float = 1.0
    """Least of Jain's indices of the streams' goodput, of all runs."""
    sites: tuple[float, ...] = ()
    """Payload of each site, bit/s."""
    short_p50: float = math.nan
    """Median completion time of the short transfers of others, s; NaN without them. One that never finished took for ever."""
    short_p95: float = math.nan
    """95th percentile of the same."""
    short_between: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of the median."""
    short_count: int = 0
    """Number of these transfers."""

    def as_case(self, case: str) -> Cell:
        """Copies the cell to another case, in which the same would happen."""
        return replace(self, case=case)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.goodput - (0.0 if math.isnan(self.half) else self.half)

    @property
    def high(self) -> float:
        """The upper end of it."""
        return self.goodput + (0.0 if math.isnan(self.half) else self.half)


def delay_of(result: Result) -> tuple[str, str]:
    """The column of delay that there is, and what to call it."""
    return next(one for one in DELAYS if one[0] in result.flows.columns)


def cell_of(plan: Plan, candidate: str, case: str, runs: Sequence[Result]) -> Cell:
    """Returns the cell for these runs, one per seed."""
    delay = delay_of(runs[0])[0]
    groups = [group_of(site) for site in range(len(plan.question.rtts))]
    own = [run.flows[run.flows["group"].isin(groups)] for run in runs]
    rivals = [run.flows.loc[run.flows["group"] == "rival", "goodput_bps"] for run in runs]
    sites = [[float(flows.loc[flows["group"] == group, "goodput_bps"].sum()) for group in groups] for flows in own]
    least = [min(rates) for rates in sites]
    short = _short(plan, candidate, case, runs)
    sent = sum(int(flows["segments_sent"].sum()) for flows in own)
    again = sum(int(flows["segments_retransmitted"].sum()) for flows in own)
    return Cell(
        candidate,
        case,
        goodput=float(np.mean(least)),
        half=half_width(least),
        delay=float(np.mean([flows[delay].mean() for flows in own])),
        retransmitted=again / sent if sent else math.nan,
        rival=float(np.mean([flows.sum() for flows in rivals])) if len(rivals[0]) else math.nan,
        in_flight=max(float(flows["in_flight_max_bytes"].max()) for flows in own),
        is_short=any(warning.name in SHORT for run in runs for warning in run.warnings),
        dropped=sum(int(run.links.loc[run.links["bottleneck"], "drops_overflow"].sum()) for run in runs),
        seeds=len(runs),
        jain=min(_jain(flows["goodput_bps"].to_numpy(dtype=float)) for flows in own),
        sites=tuple(float(rate) for rate in np.mean(sites, axis=0)),
        short_p50=_quantile(short, 0.5),
        short_p95=_quantile(short, 0.95),
        short_between=_between(short),
        short_count=len(short),
    )


def _short(plan: Plan, candidate: str, case: str, runs: Sequence[Result]) -> list[float]:
    """Completion times of the short transfers of others in all runs, s, in order.

    A transfer counts if it began after the warmup, and long enough before the end that few are cut off. One that did not finish has taken
    longer than all others.
    """
    length = plan.length_of(candidate, case)
    last = length.duration - min(lengths.slow_start(plan.question), (length.duration - length.warmup) / 2)
    took: list[float] = []
    for run in runs:
        flows = run.flows[(run.flows["group"] == OTHERS) & (run.flows["bytes_delivered"] <= SMALL)]
        begun = flows["start_s"].between(length.warmup, last)
        took += flows.loc[begun, "completion_s"].fillna(math.inf).tolist()
    return sorted(took)


def _between(took: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a median by ranks, whatever the distribution, as if transfers were independent; NaN of fewer than `FEWEST`.

    Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2: the binomial ranks n / 2, less and more 1.96 sqrt(n) / 2.
    """
    if len(took) < FEWEST:
        return math.nan, math.nan
    middle, half = len(took) / 2, 1.96 * math.sqrt(len(took)) / 2
    return took[max(0, math.floor(middle - half) - 1)], took[min(len(took), math.ceil(middle + half) + 1) - 1]


def _quantile(took: Sequence[float], share: float) -> float:
    """The least value that so large a share does not exceed, as the metrics of a run have it; NaN of fewer than `FEWEST`."""
    return took[math.ceil(share * len(took)) - 1] if len(took) >= FEWEST else math.nan


def _jain(rates: NDArray[np.float64]) -> float:
    """Jain, Chiu and Hawe 1984: 1 where all are equal, 1/n where one has all."""
    squares = float((rates**2).sum())
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares else 1.0
