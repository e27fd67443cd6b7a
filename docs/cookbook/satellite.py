"""My satellite link has 50 Mbit/s. Why do I get 3?

The satellite is geostationary: 600 ms there and back. Rain loses a packet in 10,000, and downloads crawl.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. Many operators split the connection with proxies: your control does not cross the
satellite then. Runs of five minutes are too short for a second loss of Reno without rain. Losses come one by one here; rain makes
bursts (`gilbert_elliott`). Hybla is unkind to others on short paths."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By control."""
    got, half = rates(results), rates(results, "effective_throughput_ci")
    again = results.pivot("retransmission_rate", index="control", columns="loss")
    lossy, clean = got["1e-4"], got["none"]

    def said(control: str, loss: str) -> str:
        return with_interval(got.loc[control, loss], half.loc[control, loss], "bit/s")

    yield f"With Reno, {said('reno', '1e-4')} is all that this loss allows over 600 ms.", lossy["reno"] < 0.15 * 50e6
    yield (
        f"Without the losses it gets {said('reno', 'none')}. Each loss halves its window, and it grows by a packet in 600 ms.",
        clean["reno"] > 10 * lossy["reno"],
    )
    yield f"CUBIC gets {said('cubic', '1e-4')} with the losses.", 2 * lossy["reno"] < lossy["cubic"] < 0.7 * clean["cubic"]
    yield (
        f"BBR gets {said('bbr', '1e-4')}, and Hybla, which was made for satellites, {said('hybla', '1e-4')}.",
        min(lossy["bbr"], lossy["hybla"]) > 1.5 * lossy["cubic"],
    )
    yield (
        f"Hybla pays for it: for each packet that arrives it sends {1 + again.loc['hybla', '1e-4']:.1f}, and fills every queue.",
        again.loc["hybla", "1e-4"] > 0.5,
    )
    yield "Change the control of the sender, to BBR if you can: the link is fine.", lossy["bbr"] > 5 * lossy["reno"]


def rates(results: Results, metric: str = "effective_throughput") -> pd.DataFrame:
    """Payload that arrived for the first time, bit/s: what is in order says less where holes stay open for long."""
    return results.pivot(metric, index="control", columns="loss") * 50e6 * 1448 / 1500


def picture(results: Results) -> Plot:
    """Throughput by control."""
    got = rates(results) / 1e6
    names = [{"reno": "Reno", "cubic": "CUBIC", "hybla": "Hybla", "bbr": "BBR"}[name] for name in got.index]
    x = [float(i) for i in range(len(names))]
    labels = {"none": "no loss", "1e-4": "one in 10,000 lost"}
    series = [Series(labels[loss], x, list(got[loss]), line=False) for loss in got.columns]
    return Plot("satellite", "50 Mbit/s over 600 ms", Axis("control", names=names), Axis("throughput (Mbit/s, payload)", start=0), series)
