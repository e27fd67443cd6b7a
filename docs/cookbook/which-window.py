"""Which window do I need?

You can set socket buffers, and want one number. The path has 1 Gbit/s; your users are 10, 50 and 150 ms away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from longfat import Results
from longfat.plot import Plot
from longfat.plot.units import with_unit

LIMITS = """A receive buffer of Linux holds half to two thirds of its size as window: `tcp_rmem` must be twice the number, and `tcp_wmem` half as
much again. A larger window costs only the queue that it fills, where Linux sizes buffers by itself."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """The bandwidth-delay product, and what less gives."""
    got = results.pivot("goodput_total_bps", index="window", columns="rtt")
    half = got.loc["3 MiB", "50 ms"]
    most = got.max().max()
    yield (
        f"The window over the round trip is your rate: 3 MiB over 50 ms are {with_unit(half, 'bit/s')}.",
        abs(half / (3 * 2**20 * 8 / 0.05) - 1) < 0.05,
    )
    yield f"3 MiB are enough for 10 ms ({with_unit(got.loc['3 MiB', '10 ms'], 'bit/s')}).", got.loc["3 MiB", "10 ms"] > 0.98 * most
    yield f"Over 150 ms they give {with_unit(got.loc['3 MiB', '150 ms'], 'bit/s')}.", got.loc["3 MiB", "150 ms"] < 0.2 * most
    yield (
        f"24 MiB are more than 1 Gbit/s times 150 ms, and give {with_unit(got.loc['24 MiB', '150 ms'], 'bit/s')} there.",
        got.loc["24 MiB", "150 ms"] > 0.95 * most,
    )
    yield (
        "Multiply your rate by the longest round trip, and allow that much: here 18 MiB, or 24 to be sure.",
        got.loc["24 MiB"].min() > 0.95 * most,
    )


def picture(results: Results) -> Plot:
    """Throughput against the window."""
    return replace(results.plot(), title="1 Gbit/s, by window and round trip")
