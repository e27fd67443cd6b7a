"""Why does my call break up when somebody uploads?

You have 20 Mbit/s upstream. Whenever somebody sends a video, your call stutters.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval, with_unit

LIMITS = """Means of five seeds. One CUBIC upload. RED stands for what a good modem has; `longfat run home-router` has codel, pie, fq_codel and
dualpi2. A smaller buffer costs throughput on longer paths."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By the queue of the modem."""
    rows = results.means().set_index("modem")
    wait, rate = rows["ping_rtt_mean_s"], rows["goodput_total_bps"]
    yield (
        f"The modem queues 1000 packets, and the upload fills them: the call's round trip is {with_unit(wait['1000 packets'], 's')}.",
        wait["1000 packets"] > 0.3,
    )
    yield f"Without the upload it is {with_unit(0.03, 's')}.", wait.min() >= 0.03
    yield (
        f"With 50 packets it is {with_unit(wait['50 packets'], 's')}, and the upload is as fast: {with_unit(rate['50 packets'], 'bit/s')}.",
        (wait["50 packets"] < 0.2 * wait["1000 packets"] and rate["50 packets"] > 0.97 * rate["1000 packets"]),
    )
    red = with_interval(wait["RED"], rows["ping_rtt_mean_s_ci"]["RED"], "s")
    yield f"RED aims at a delay: {red}, for {with_unit(rate['RED'], 'bit/s')}.", wait["RED"] < wait["50 packets"]
    yield "The cause is not the line but the queue in front of it: shorten it, or turn queue management on.", wait.max() > 5 * wait.min()


def picture(results: Results) -> Plot:
    """The call's round trip over time, a line for each modem."""
    series: list[Series] = []
    for modem in results.runs["modem"].unique():
        result = results.select(modem=modem)[0]
        call = result.flows.loc[result.flows["group"] == "call", "flow"].iloc[0]
        table = result.flow_series[(result.flow_series["flow"] == call) & (result.flow_series["srtt_s"] > 0)]
        series.append(Series(modem, list(table["time_s"]), list(table["srtt_s"] * 1000), markers=False))
    return Plot(
        "bufferbloat", "The call's round trip during an upload", Axis("time (s)", start=0), Axis("round trip (ms)", start=0), series
    )
