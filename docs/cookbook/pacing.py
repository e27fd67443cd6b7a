"""Does pacing help?

Your sender has 10 Gbit/s, the path has 1 Gbit/s, and somewhere on it is a switch with little memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_unit

LIMITS = """One CUBIC flow. Pacing does not make the window right. Among many flows, paced ones may lose to those that send bursts (Aggarwal,
Savage and Anderson, INFOCOM 2000). Segmentation offload makes real bursts larger than these."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By the memory of the switch."""
    got = results.pivot("goodput_total_bps", index="buffer", columns="pacing")
    small, large = got.loc["200 packets"], got.loc["6400 packets"]
    yield (
        f"With 200 packets in the switch, yes: {with_unit(small['off'], 'bit/s')} become {with_unit(small['on'], 'bit/s')}.",
        small["on"] > 1.3 * small["off"],
    )
    yield (
        "Without pacing, slow start sends bursts ten times as fast as the link, and the switch drops them.",
        small["off"] < 0.8 * large["off"],
    )
    yield (
        f"With 6400 packets it makes no difference: {with_unit(large['off'], 'bit/s')} and {with_unit(large['on'], 'bit/s')}.",
        abs(large["on"] / large["off"] - 1) < 0.05,
    )
    yield "Pace: it costs nothing where there is room, and gains much where there is none.", (got["on"] > 0.97 * got["off"]).all()


def picture(results: Results) -> Plot:
    """Throughput against the buffer, paced and not."""
    got = results.pivot("goodput_total_bps", index="buffer", columns="pacing") / 1e6
    x = [float(name.split()[0]) for name in got.index]
    series = [Series({"off": "bursts", "on": "paced"}[pacing], x, list(got[pacing])) for pacing in got.columns]
    return Plot(
        "pacing",
        "1 Gbit/s over 80 ms, from a host with 10 Gbit/s",
        Axis("buffer (packets)", log=True),
        Axis("goodput (Mbit/s, payload)", start=0),
        series,
    )
