"""Should I turn ECN on?

Your routers can mark packets instead of dropping them. You ask what your users gain.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. The queue is adaptive RED, and all flows are long. Short flows gain more: for them a
lost packet may be a timeout. DCTCP and Prague make more of marks than CUBIC does ([ECN](../ecn.md))."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """Losses, throughput, delay."""
    lost, lost_half = (results.pivot(f"retransmission_rate{end}", index="flows", columns="ecn") for end in ("", "_ci"))
    rate = results.pivot("goodput_total_bps", index="flows", columns="ecn")
    delay, delay_half = (results.pivot(f"bottleneck_queue_delay_mean_s{end}", index="flows", columns="ecn") for end in ("", "_ci"))
    change = 100 * (rate["classic"] / rate["off"] - 1)

    def again(ecn: str) -> str:
        return with_interval(100 * lost.loc["64", ecn], 100 * lost_half.loc["64", ecn], "%")

    def wait(ecn: str) -> str:
        return with_interval(delay.loc["64", ecn], delay_half.loc["64", ecn], "s")

    many = lost.loc["64"]
    yield (
        f"64 flows send {again('off')} of their packets again without ECN, and {again('classic')} with it.",
        many["classic"] < many["off"] / 5,
    )
    yield f"Throughput changes by {change.abs().max():.1f} % at most.", change.abs().max() < 3
    yield (
        f"The queue stays as it is: {wait('off')} without, {wait('classic')} with.",
        abs(delay.loc["64", "classic"] / delay.loc["64", "off"] - 1) < 0.2,
    )
    yield (
        "Yes: the same rate and the same delay, without the holes that losses make in a stream.",
        (lost["classic"] <= lost["off"]).all(),
    )


def picture(results: Results) -> Plot:
    """Retransmission rate with ECN and without."""
    lost = results.pivot("retransmission_rate", index="flows", columns="ecn") * 100
    x = [float(flows) for flows in lost.index]
    series = [Series({"off": "without ECN", "classic": "with ECN"}[ecn], x, list(lost[ecn])) for ecn in lost.columns]
    return Plot("ecn", "Retransmissions behind RED", Axis("flows", start=0), Axis("retransmissions / segments (%)", start=0), series)
