"""What does a loss of one in a million cost?

The counters say that one packet in a million is lost. The path has 10 Gbit/s and 100 ms, with packets of 9000 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval

LIMITS = """One flow, and 30 s of runs of 40 s. Means of five seeds, ± half of the 95 % interval. At 1e-7 a run sees few losses or none, so that
column says little of a day. The means of many flows follow the response functions ([validation](../validation.md))."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By control."""
    got, half = (results.pivot(name, index="loss", columns="control") for name in ("goodput_total_bps", "goodput_total_bps_ci"))

    def said(control: str, loss: str) -> str:
        return with_interval(got.loc[loss, control], half.loc[loss, control], "bit/s")

    yield (
        f"For Reno it is much: {said('reno', '1e-7')} become {said('reno', '1e-6')}.",
        got.loc["1e-6", "reno"] < 0.8 * got.loc["1e-7", "reno"],
    )
    yield f"CUBIC keeps {said('cubic', '1e-6')}.", got.loc["1e-6", "cubic"] > 1.2 * got.loc["1e-6", "reno"]
    yield (
        f"At one in 100,000 CUBIC has {said('cubic', '1e-5')}, and at one in 10,000 {said('cubic', '1e-4')}.",
        got.loc["1e-4", "cubic"] < 0.3 * got.loc["1e-5", "cubic"],
    )
    yield f"BBR3 does not go by single losses: it still has {said('bbr3', '1e-4')}.", got.loc["1e-4", "bbr3"] > 5 * got.loc["1e-4", "cubic"]
    yield "Clean the fibre, or take BBR until somebody does.", got.loc["1e-5", "bbr3"] > got.loc["1e-5", "cubic"]


def picture(results: Results) -> Plot:
    """Throughput against loss, both logarithmic."""
    got = results.pivot("goodput_total_bps", index="loss", columns="control") / 1e9
    x = [float(loss) for loss in got.index]
    series = [Series({"reno": "Reno", "cubic": "CUBIC", "bbr3": "BBR3"}[control], x, list(got[control])) for control in got.columns]
    return Plot(
        "one-in-a-million",
        "10 Gbit/s over 100 ms, by what the path loses",
        Axis("share of packets lost", log=True),
        Axis("goodput (Gbit/s, payload)", log=True),
        series,
    )
