"""Queues and links beside what was published of them: CoDel's rate steps, sparse flows, PIE's target, policers, changing links, L4S.

A folder of experiments kept as a paper is, so that `longfat run queues`, `compare` and `report` do for them what they do for a paper.
`docs/queues-published.md` says what came out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from longfat.paper import Measured, Paper, Row
from longfat.paper.published import load_published
from longfat.plot import Axis, Heat, Plot, Rule, Series

from .cells import L4S_QUEUES, PAIRS, QUEUES, RTTS, SHARES, Cells

FOLDER = Path(__file__).parent

paper = Paper(
    title="Queues and links beside what was published of them",
    citation="Nichols and Jacobson 2012; RFC 8290; RFC 8033; Flach et al. 2016; Cardwell et al. 2017; Heist and Morton, L4S Tests, 2021",
)
cells = Cells.of

paper.bound("<=", "codel-p95", "droptail-most")


@paper.number("delay_of_packets")
def delay_of_packets(measured: Measured, row: Row) -> float:
    """A quantile over packets."""
    return 1e3 * cells(measured).delay(row["queue"], int(row["quantile"]))


@paper.number("delay_over_time")
def delay_over_time(measured: Measured, row: Row) -> float:
    """A quantile over time."""
    return 1e3 * cells(measured).delay_over_time(row["queue"], float(row["quantile"]))


@paper.number("delay_most")
def delay_most(measured: Measured, row: Row) -> float:
    """The longest wait."""
    return cells(measured).delay_over_time(row["queue"], 100)


@paper.number("small_buffer")
def small_buffer(measured: Measured, row: Row) -> float:
    """What a small buffer leaves."""
    return cells(measured).small_buffer(row["queue"])


def _rate_ratio(measured: Measured, row: Row) -> float:
    return cells(measured).rate_ratio(row["rate"], row["queue"], row["rtts"], row["first"], row["second"])


@paper.number("rate_ratio")
def rate_ratio(measured: Measured, row: Row) -> float:
    """One flow's rate over the other's."""
    return _rate_ratio(measured, row)


@paper.predicts("equal rates; packets wait for nothing; a small buffer costs nothing")
def equal(row: Row) -> float | None:
    """What one would say who knew nothing of queues."""
    return 1.0 if row.quantity in ("rate_ratio", "small_buffer") else 0.0


paper.claims_of(FOLDER / "claims.csv", Cells)


# Figures


@paper.figure(where="CoDel's rate steps")
def codel_steps(measured: Measured) -> Plot:
    """Nichols and Jacobson 2012, figure 7."""
    waits = {queue: cells(measured).wait_over_time(queue) for queue in QUEUES}
    series = [
        Series(queue, each["time_s"].tolist(), (1e3 * each["wait_s"].clip(lower=1e-4)).tolist(), markers=False)
        for queue, each in waits.items()
    ]
    return Plot(
        "codel-steps",
        "100, 10, 1, 50, 1, 100 Mb/s, 50 s each",
        Axis("time (s)"),
        Axis("wait of what is held, at the rate of the instant (ms)", log=True, start=0.1),
        series,
    )


@paper.figure(where="A sparse flow")
def sparse(measured: Measured) -> Plot:
    """The wait against what a flow sends of its share."""
    queues = ("droptail", "codel", "fq_codel", "fq_pie", "drr", "sfq")
    x = [float(share.removesuffix(" %")) for share in SHARES]
    series = [Series(queue, x, [1e3 * cells(measured).sparse_wait(queue, share) for share in SHARES]) for queue in queues]
    rules = [Rule("its share", x=100), Rule("a packet in transmission", y=1.2)]
    y = Axis("longer than on the empty path (ms)", log=True)
    return Plot("sparse", "Echo requests beside nine bulk flows", Axis("what the flow sends of its share (%)"), y, series, rules=rules)


@paper.figure(where="CUBIC and BBR over a step in rate")
def rate_step(measured: Measured) -> Plot:
    """Cardwell et al. 2017, figure 3."""
    controls = ("cubic", "bbr", "bbr3")
    carried = {control: cells(measured).carried("droptail, 8 bdp", control) for control in controls}
    series = [Series(control, each["time_s"].tolist(), (1e3 * each["wait_s"]).tolist(), markers=False) for control, each in carried.items()]
    y = Axis("wait of what is held (ms)")
    return Plot("rate-step", "10, 20, 10 Mb/s, 40 ms, a buffer of 8 BDP", Axis("time (s)"), y, series)


def _log2(ratio: float) -> float:
    return math.copysign(10, ratio - 1) if ratio in (0, math.inf) else math.log2(ratio)


def _l4s(rate: str) -> None:
    @paper.figure(where="L4S")
    def heat(measured: Measured) -> Plot:
        of: Callable[..., float] = cells(measured).rate_ratio
        rows = [[_log2(of(rate, queue, rtts, *pair)) for rtts in RTTS] for queue in L4S_QUEUES for pair in PAIRS]
        y = Axis("", names=[f"{queue}: {first} / {second}" for queue in L4S_QUEUES for first, second in PAIRS])
        x = Axis("round trips of the first and the second flow", names=[rtts.replace(", ", ",\n") for rtts in RTTS])
        title = f"Rate of the first flow over the second's, {rate.removesuffix('m')} Mb/s"
        return Plot(f"l4s-{rate}", title, x, y, heat=Heat(rows, -4, 4, "log2 of the ratio: 0 is equal, 1 twice as much"))


_l4s("10m")
_l4s("50m")


@paper.figure(where="L4S")
def l4s(measured: Measured) -> Plot:
    """Ours against theirs."""
    points: dict[str, list[tuple[float, float]]] = {queue: [] for queue in L4S_QUEUES}
    for row in load_published(FOLDER):
        if row.quantity == "rate_ratio" and row.value is not None:
            points[row["queue"]].append((row.value, _rate_ratio(measured, row)))
    series = [Series(queue, *map(list, zip(*each, strict=True)), line=False) for queue, each in points.items()]
    series.append(Series("equal", [0.02, 20], [0.02, 20], markers=False, dash=1))
    x, y = Axis("L4S Tests 2021", log=True), Axis("ours", log=True)
    return Plot("l4s-published", "Rate of the first flow over the second's, 144 cells", x, y, series)
