"""Why does one TCP flow not fill the link?

In a lab course you send one Reno flow over 50 Mbit/s and 50 ms. Nobody else is there, and yet some of the link stays unused.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_unit

LIMITS = """Reno halves its window. CUBIC keeps seven tenths, so it needs less queue. The [tutorial](../tutorial.md) goes through this sawtooth
step by step."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By the queue."""
    rows = results.runs.set_index("queue")
    busy, wait = rows["bottleneck_utilization"] * 100, rows["bottleneck_queue_delay_mean_s"]
    small = busy["0.1 bdp"]
    yield f"With a queue of a tenth of the bandwidth-delay product the link is busy {small:.1f} % of the time.", 70 < small < 90
    yield "A loss halves the window: then it is less than the path holds, and the link rests until it has grown again.", small < 95
    yield f"With a queue as large as the product, half the window still fills the path: {busy['1 bdp']:.1f} %.", busy["1 bdp"] > 99
    yield (
        f"More queue adds nothing but delay: {with_unit(wait['1 bdp'], 's')} become {with_unit(wait['2 bdp'], 's')}.",
        (wait["2 bdp"] > 1.5 * wait["1 bdp"] and busy["2 bdp"] < busy["1 bdp"] + 1),
    )
    yield "The cause is the sawtooth: one flow needs one product of queue.", small < 95 < busy["1 bdp"]


def picture(results: Results) -> Plot:
    """The congestion window over time: the sawtooth, with a small and with a large queue."""
    series: list[Series] = []
    for queue in ("0.1 bdp", "1 bdp"):
        table = results.select(queue=queue)[0].flow_series
        series.append(Series(f"queue {queue}", list(table["time_s"]), list(table["cwnd_bytes"] / 1e3), markers=False))
    return Plot(
        "sawtooth", "The congestion window of one Reno flow", Axis("time (s)", start=0), Axis("cwnd (kB)", start=0, end=1200), series
    )
