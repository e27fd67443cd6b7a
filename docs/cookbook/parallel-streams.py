"""How many parallel streams should I use?

Your transfer tool has an option for parallel streams, and you ask how many are enough. The path has 10 Gbit/s and 100 ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from longfat import Results
from longfat.plot import Plot
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. Nobody else uses the path. Beside others, n streams take n shares, which is not
fair. Streams also spread work over processors, which have no cost here."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """Clean and lossy."""
    got, half = (results.pivot(name, index="streams", columns="loss") for name in ("goodput_total_bps", "goodput_total_bps_ci"))
    clean, lossy = got["none"], got["1e-5"]
    top = lossy.max()

    def said(streams: str, loss: str) -> str:
        return with_interval(got.loc[streams, loss], half.loc[streams, loss], "bit/s")

    enough = next(streams for streams in lossy.index if lossy[streams] > 0.8 * top)
    yield f"On a clean path one stream gets {said('1', 'none')}: more of them help little.", clean["1"] > 0.9 * clean.max()
    yield f"With one packet in 100,000 lost, one stream gets {said('1', '1e-5')}.", lossy["1"] < 0.6 * clean["1"]
    yield f"Eight get {said('8', '1e-5')}: each loss halts only an eighth of the data.", lossy["8"] > 1.8 * lossy["1"]
    yield f"From {enough} on you have four fifths of what any number gives.", 1 < int(enough) <= 16


def picture(results: Results) -> Plot:
    """Throughput against the number of streams."""
    plot = results.plot()
    series = [replace(one, name=f"loss: {one.name}") for one in plot.series]
    return replace(plot, title="10 Gbit/s over 100 ms, by the number of streams", series=series)
