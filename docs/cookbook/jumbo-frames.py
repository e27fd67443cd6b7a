"""1500 or 9000 bytes?

Your switches can do jumbo frames. You ask whether TCP gains from them. The path has 10 Gbit/s and 80 ms.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. Both lose the same share of packets. Where a line damages bits, a large packet is
six times as likely to be hit, and the gain is smaller. Work that [hosts](../hosts.md) save is not counted."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By loss."""
    got, half = (results.pivot(name, index="loss", columns="mtu") for name in ("goodput_total_bps", "goodput_total_bps_ci"))
    small, large = got["1500 bytes"], got["9000 bytes"]
    times = large / small

    def said(mtu: str, loss: str) -> str:
        return with_interval(got.loc[loss, mtu], half.loc[loss, mtu], "bit/s")

    yield (
        f"If one packet in 100,000 is lost, CUBIC gets {said('1500 bytes', '1e-5')} with 1500 bytes, and {said('9000 bytes', '1e-5')} with 9000.",
        times["1e-5"] > 3,
    )
    yield f"At one in 10,000 it is {said('1500 bytes', '1e-4')} and {said('9000 bytes', '1e-4')}.", times["1e-4"] > 3
    yield (
        "A window that losses allow is counted in packets: six times the packet is about six times the rate.",
        times[["1e-5", "1e-4"]].between(3, 15).all(),
    )
    yield "Take 9000, if every device on the path can.", (times > 1).all()


def picture(results: Results) -> Plot:
    """Throughput against loss."""
    got = results.pivot("goodput_total_bps", index="loss", columns="mtu") / 1e9
    x = [float(loss) for loss in got.index]
    series = [Series(str(mtu), x, list(got[mtu])) for mtu in got.columns]
    return Plot(
        "jumbo-frames",
        "10 Gbit/s over 80 ms, by the largest packet",
        Axis("share of packets lost", log=True),
        Axis("goodput (Gbit/s, payload)", log=True),
        series,
    )
