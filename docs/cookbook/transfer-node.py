"""I run a transfer node with 100 Gbit/s over 80 ms. What do I set?

You move large files between two sites. Your provider says that the path is clean, and you cannot know how clean. The hosts have faster
interfaces than the path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from longfat import Results
from longfat.plot import Plot
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. Runs last 12 s, the first seconds of a long transfer; after a loss CUBIC climbs for
most of a minute. Hosts take no time here. At 100 Gbit/s real ones do. [Advice](../advise.md) tries more settings, and prints the
lines for Linux."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """The control, the streams and the buffers."""
    got, half = (results.pivot(name, index="setting", columns="loss") for name in ("goodput_total_bps", "goodput_total_bps_ci"))

    def said(setting: str, loss: str) -> str:
        return with_interval(got.loc[setting, loss], half.loc[setting, loss], "bit/s")

    dirty = got["1e-5"]
    yield (
        f"Left as Linux comes you get {said('CUBIC as it comes', 'none')}: its send buffer ends at 4 MiB.",
        got.loc["CUBIC as it comes", "none"] < 0.05 * got.loc["CUBIC", "none"],
    )
    yield (
        f"With large buffers and no loss, one CUBIC flow gets {said('CUBIC', 'none')}.",
        got.loc["CUBIC", "none"] > 50 * got.loc["CUBIC as it comes", "none"],
    )
    yield (
        f"If the path loses one packet in 100,000, that falls to {said('CUBIC', '1e-5')}.",
        dirty["CUBIC"] < 0.6 * got.loc["CUBIC", "none"],
    )
    yield f"Eight streams then get {said('8 x CUBIC', '1e-5')}.", dirty["8 x CUBIC"] > 1.5 * dirty["CUBIC"]
    yield (
        f"BBR gets {said('BBR', '1e-5')} with one stream, and BBR3 {said('BBR3', '1e-5')}.",
        min(dirty["BBR"], dirty["BBR3"]) > dirty["8 x CUBIC"],
    )
    yield "Set BBR if you do not know what the path loses, and large buffers in any case.", dirty[["BBR", "BBR3"]].max() == dirty.max()


def picture(results: Results) -> Plot:
    """Throughput by loss, a dot for each setting."""
    plot = results.plot()
    series = [replace(one, name=f"loss: {one.name}") for one in plot.series]
    return replace(plot, title="100 Gbit/s over 80 ms, by what the path loses", series=series)
