"""Why does a small file not get the rate of my link?

You have 1 Gbit/s, and a file of one megabyte comes with a few Mbit/s. Large files are fine. The server is 80 ms away.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_unit

LIMITS = """The connection is new each time, and includes its handshake. A connection that is kept open has its window, until it was idle ([unused
windows](../unused-window.md)). TLS adds a round trip or two."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By the size of the file."""
    rows = results.flows.set_index("file")
    time, rate = rows["completion_s"], rows["ttcp_rate_bps"]
    trips = time / 0.08
    yield (
        f"A file of 1 MB takes {with_unit(time['1 MB'], 's')}: {trips['1 MB']:.1f} round trips, and {with_unit(rate['1 MB'], 'bit/s')}.",
        5 < trips["1 MB"] < 12,
    )
    yield "TCP begins with ten packets and doubles each round trip: it is done before it is fast.", rate["1 MB"] < 0.05 * 1e9
    yield (
        f"A file of 100 kB takes {trips['100 kB']:.1f} round trips, though it is ten times smaller.",
        trips["100 kB"] > 0.3 * trips["1 MB"],
    )
    yield (
        f"100 MB come with {with_unit(rate['100 MB'], 'bit/s')}, since most of them find a window that has grown.",
        rate["100 MB"] > 10 * rate["1 MB"],
    )
    yield (
        "For small files shorten the path, or keep connections open: more bandwidth does nothing.",
        rate["100 kB"] < rate["1 MB"] < rate["100 MB"],
    )


def picture(results: Results) -> Plot:
    """The rate against the size of the file."""
    rows = results.flows.sort_values("file_bytes")
    return Plot(
        "short-transfers",
        "1 Gbit/s over 80 ms, by the size of the file",
        Axis("file (MB)", log=True),
        Axis("rate (Mbit/s, payload)", log=True),
        [Series("rate", list(rows["file_bytes"] / 1e6), list(rows["ttcp_rate_bps"] / 1e6))],
    )
